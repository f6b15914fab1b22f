"""The L-rating of this machine: the largest number of expressways whose answers are all right and all in time.

A trial at L generates minutes 160-180 of a city of L expressways (or another stretch), loads the histories, replays the first
part fast, hands the rest, the busiest, over in real time, and lets the validator judge: every answer right, those of the timed
part within their limits, every report kept, and the driver never behind. The search doubles L until a trial fails, then
halves the gap. Every trial leaves a folder with its run, verdict and result; the result says which part ran in real time.
Trials that were made in the folder before, under the same conditions, stay in the result beside the new ones.
"""

from __future__ import annotations

import json
import shutil
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

from linear_road import generate, validator
from linear_road.driver import BEHIND
from linear_road.load import TrafficConfig
from linear_road.records import HISTORY_DAYS
from linear_road.run import Moment, Run, RunConfig, machine
from linear_road.wording import counted

RESULT: Final = "rating.json"


@dataclass(frozen=True)
class RateConfig:
    """`start` to `end` are minutes of the run, of which those from `timed` on go in real time. `otq` are one-time queries
    a minute (L++). `keep` leaves inputs and ponds in place, which are large."""

    out: Path
    first: float = 1.0
    most: float = 128.0
    step: float = 0.0
    """The search ends when the gap is this small; 0 means a tenth of L."""
    start: int = 160
    timed: int = 170
    end: int = 180
    seed: int = 7
    days: int = HISTORY_DAYS
    otq: int = 0
    keep: bool = False


@dataclass(frozen=True)
class Trial:
    """One L. `why` says what was not right if it was not accepted. Answers, ticks, cores and memory are of the timed part."""

    xways: float
    accepted: bool
    why: str
    answers: dict[str, Any]
    ticks: dict[str, float]
    cores: float
    memory_mb: float
    one_time: dict[str, Any]
    reports: int
    seconds: float
    folder: str


Tell = Callable[[str], None]
Watch = Callable[[Moment, Run], None]


def rate(config: RateConfig, tell: Tell = print, watch: Watch = lambda moment, run: None) -> dict[str, Any]:
    """Search, and write `rating.json`; its content."""
    config.out.mkdir(parents=True, exist_ok=True)
    trials: list[dict[str, Any]] = _made_before(config)
    good, bad, size = 0.0, float("inf"), config.first
    while size <= config.most:
        trial = run_trial(config, size, tell, watch)
        trials = [t for t in trials if t["xways"] != size] + [asdict(trial)]
        tell(f"L = {size:g}: {'accepted' if trial.accepted else trial.why}")
        if trial.accepted:
            good = size
        else:
            bad = size
        found = _write(config, trials)
        gap = config.step or max(0.5, good / 10)
        size = min(2 * good, config.most) if bad == float("inf") else _half((good + bad) / 2)
        if size <= good or size >= bad or bad - good <= gap:
            break
    return found


def _half(size: float) -> float:
    """Half expressways count, beyond ten only whole ones."""
    return round(size) if size > 10 else round(2 * size) / 2


def run_trial(config: RateConfig, xways: float, tell: Tell, watch: Watch) -> Trial:
    """One trial, in a folder of its own."""
    begin = time.monotonic()
    folder = config.out / f"L{xways:g}"
    shutil.rmtree(folder, ignore_errors=True)
    data = folder / "data"
    data.mkdir(parents=True)
    traffic = TrafficConfig(xways=xways, minutes=config.end - config.start, start_minute=config.start, seed=config.seed)
    tell(f"L = {xways:g}: generating minutes {config.start} to {config.end}")
    paths: dict[str, Path | None] = {"input": generate.write_input(traffic, data), "tolls": None, "segments": None}
    if config.days:
        tell(f"L = {xways:g}: generating {counted(config.days, 'day')} of history")
        paths["tolls"] = generate.write_tolls(traffic, data, days=config.days)
        paths["segments"] = generate.write_segments(traffic, data, days=config.days)
    source = paths["input"]
    assert source is not None
    run_config = RunConfig(
        input=source, out=folder / "run", tolls=paths["tolls"], segments=paths["segments"],
        speed="1", fast_until=config.timed * 60, otq=config.otq,
    )  # fmt: skip
    with Run(run_config) as run:
        run.prepare(lambda text: tell(f"L = {xways:g}: {text}"))
        run.drive(watch)
        summary = run.finish()
    tell(f"L = {xways:g}: validating")
    verdict = validator.validate(
        source, run_config.out / "output.csv", tolls=paths["tolls"], segments=paths["segments"], start=config.timed * 60
    )
    (run_config.out / "verdict.json").write_text(verdict.to_json())
    (run_config.out / "verdict.txt").write_text(str(verdict) + "\n")
    why = _objection(verdict, summary)
    if not config.keep:
        shutil.rmtree(data)
        shutil.rmtree(run_config.out / "pond")
        shutil.rmtree(run_config.out / "input")
    return Trial(
        xways, not why, why, _responses(verdict), summary["ticks"], summary["cores"], summary["memory_mb"],
        summary["one_time"], summary["kept_reports"], time.monotonic() - begin, folder.name,
    )  # fmt: skip


def _responses(verdict: validator.Verdict) -> dict[str, Any]:
    """By type, how many answers were timed, and how long they took."""
    return {
        str(t.type): {"answers": t.timed, "mean": t.mean, "p99": t.p99, "max": t.max, "late": t.late}
        for t in verdict.types
    }


def _objection(verdict: validator.Verdict, summary: dict[str, Any]) -> str:
    """Why a trial is not accepted; nothing if it is."""
    if not verdict.ok:
        return str(verdict).splitlines()[-1]
    if summary["kept_reports"] != verdict.reports:
        kept = counted(summary["kept_reports"], "report was", "reports were")
        return f"{kept} kept of {verdict.reports:,}"
    if summary["driver_behind"] > BEHIND:
        return f"the driver was {summary['driver_behind']:.1f} s behind"
    return ""


def _conditions(config: RateConfig) -> dict[str, Any]:
    """What must be the same for two trials to be compared."""
    return {
        "minutes": {"replayed": [config.start, config.timed], "real_time": [config.timed, config.end]},
        "history_days": config.days,
        "one_time_queries_a_minute": config.otq,
        "machine": machine(),
    }


def _made_before(config: RateConfig) -> list[dict[str, Any]]:
    path = config.out / RESULT
    found: dict[str, Any] = json.loads(path.read_text("utf-8")) if path.exists() else {}
    same = found and all(found.get(name) == value for name, value in _conditions(config).items())
    return found["trials"] if same else []


def _write(config: RateConfig, trials: list[dict[str, Any]]) -> dict[str, Any]:
    good = max((t["xways"] for t in trials if t["accepted"]), default=0.0)
    found = {"rating": good, **_conditions(config), "trials": sorted(trials, key=lambda t: t["xways"])}
    (config.out / RESULT).write_text(json.dumps(found, indent=1))
    return found
