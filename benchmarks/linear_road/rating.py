"""The L of a peer: the largest number of expressways it answers rightly and in time, by the same validator as ours.

A trial replays the first minutes as fast as they are taken and hands the rest over in real time. Levels are tried in order, up to
the first that is not accepted; all peers get the same files.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.linear_road.running import Peer, Summary, Task, run, summary_row
from linear_road import generate, validator
from linear_road.driver import BEHIND
from linear_road.load import TrafficConfig


@dataclass(frozen=True)
class Stretch:
    """Minutes `start` to `end` of the run, from `timed` on in real time, with `days` of history."""

    start: int = 160
    timed: int = 170
    end: int = 180
    days: int = 70
    seed: int = 7

    def __str__(self) -> str:
        return f"minutes {self.start} to {self.timed} replayed, to {self.end} in real time, {self.days} days of history"


@dataclass(frozen=True)
class Trial:
    """One L of one peer. `why` says what was not right if it was not accepted."""

    peer: str
    xways: float
    why: str
    summary: Summary

    @property
    def accepted(self) -> bool:
        return not self.why

    def row(self) -> dict[str, Any]:
        verdict = "accepted" if self.accepted else self.why
        return {"peer": self.peer, "L": self.xways, **summary_row(self.summary), "verdict": verdict}


def write_data(stretch: Stretch, xways: float, folder: Path) -> dict[str, Path]:
    """Input and histories of a city of that size."""
    minutes = stretch.end - stretch.start
    traffic = TrafficConfig(xways=xways, minutes=minutes, start_minute=stretch.start, seed=stretch.seed)
    return generate.generate(traffic, folder, days=stretch.days)


def try_level(
    make: Callable[[], Peer],
    stretch: Stretch,
    xways: float,
    data: dict[str, Path],
    out: Path,
    tell: Callable[[str], None],
) -> Trial:
    """One trial, in a folder of its own, of which the files that were handed over and the tables are removed."""
    out.mkdir(parents=True)
    task = Task(data["input"], data["tolls"], data["segments"], out, timed=stretch.timed * 60)
    peer = make()
    summary = run(lambda: peer, task, tell)
    why = "lost: answers were a minute late" if summary.lost else _objection(task, summary)
    shutil.rmtree(out)
    return Trial(peer.name, xways, why, summary)


def _objection(task: Task, summary: Summary) -> str:
    verdict = validator.validate(
        task.input, task.out / "output.csv", tolls=task.tolls, segments=task.segments, start=task.timed
    )
    if not verdict.ok:
        bad = [t for t in verdict.types if not t.correct]
        wrong = [f"{t.name}: {t.missing} missing, {t.unexpected} unexpected, {t.wrong} wrong" for t in bad]
        late = sum(t.late for t in verdict.types)
        return "; ".join([*wrong, f"{late:,} answers late"] if late else wrong)
    if summary.kept != verdict.reports:
        return f"{summary.kept} reports were kept of {verdict.reports}"
    if summary.behind > BEHIND:
        return f"the driver was {summary.behind:.1f} s behind"
    return ""


def rate_peers(
    peers: Sequence[Callable[[], Peer]],
    levels: Sequence[float],
    stretch: Stretch,
    folder: Path,
    tell: Callable[[str], None] = print,
) -> list[Trial]:
    """Try each level with every peer that passed the one before; all trials, in the order they were made."""
    trials: list[Trial] = []
    going = list(peers)
    for xways in levels:
        if not going:
            break
        tell(f"L = {xways:g}: generating minutes {stretch.start} to {stretch.end}, {stretch.days} days of history")
        data = write_data(stretch, xways, folder / f"L{xways:g}")
        passed = []
        for number, make in enumerate(going):
            trial = try_level(make, stretch, xways, data, folder / f"L{xways:g}" / f"run{number}", tell)
            tell(f"L = {xways:g}, {trial.peer}: {'accepted' if trial.accepted else trial.why}")
            trials.append(trial)
            if trial.accepted:
                passed.append(make)
        shutil.rmtree(folder / f"L{xways:g}")
        going = passed
    return trials


def ratings(trials: Sequence[Trial]) -> dict[str, float]:
    """By peer, the largest L accepted; 0 if none was."""
    return {t.peer: max((u.xways for u in trials if u.peer == t.peer and u.accepted), default=0.0) for t in trials}
