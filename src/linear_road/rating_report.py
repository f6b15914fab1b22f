"""The HTML report of a rating: the trials, and response and tick times against L."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

import numpy as np

from linear_road import page, plots, published
from linear_road.application import ANSWERS
from linear_road.plots import Series, axis_over
from linear_road.screen import NAMES
from linear_road.wording import counted

RESULT: Final = "rating.json"


def rating_page(path: Path) -> str:
    found = json.loads(path.read_text("utf-8"))
    trials = sorted(found["trials"], key=lambda trial: trial["xways"])
    title = f"Linear Road: L-rating {found['rating']:g}"
    replayed, real = found["minutes"]["replayed"], found["minutes"]["real_time"]
    what = (
        f"Each trial ran minutes {real[0]} to {real[1]} of the three hours in real time, after a fast replay of minutes "
        f"{replayed[0]} to {replayed[1]}; every answer was validated. History: {counted(found['history_days'], 'day')}. "
        f"One-time queries a minute: {found['one_time_queries_a_minute']}."
    )
    machine = found["machine"]
    own = [
        "millpond (this rating)", "", f"{found['rating']:g}",
        f"{counted(machine['cores'], 'core')}, {machine['memory'] / 1e9:.0f} GB",
        f"minutes {real[0]}-{real[1]} in real time",
    ]  # fmt: skip
    parts = [f"<h1>{title}</h1>", page.paragraph(what, "soft")]
    parts.append(page.section("Against L", page.figures(_against(trials)), _trials(trials)))
    single = [(p.system.split(",")[0], p.one_machine) for p in published.RATINGS if p.one_machine is not None]
    single.append(("millpond", float(found["rating"])))
    names, ratings = [name for name, _ in single], np.array([rating for _, rating in single])
    chart = plots.bars("L on one machine, as published (SQLstream: a claim)", names, ratings, "")
    parts.append(page.section("Beside the papers", page.figures([chart]), *comparison(own)))
    rows = [[name, str(value)] for name, value in machine.items() if name != "segments"]
    parts.append(page.section("Machine and versions", page.table(["machine", ""], rows, left=2)))
    return page.page(title, parts)


def _against(trials: list[dict[str, Any]]) -> list[str]:
    size = np.array([trial["xways"] for trial in trials], float)
    x = axis_over("L", size, low=0.0)
    drawn = []
    for part, title in (("max", "longest response (s)"), ("mean", "mean response (s)")):
        series = [Series(NAMES[a.type], size, _figures(trials, str(a.type), part), f"s{a.type}") for a in ANSWERS]
        y = axis_over("s", *(s.y for s in series), low=0.0)
        drawn.append(plots.lines(title, x, y, series, 5.0 if part == "max" else None))
    ticks = [
        Series(name, size, np.array([t["ticks"].get(name, np.nan) for t in trials], float), f"s{i}")
        for i, name in enumerate(("median", "p99", "max"))
    ]
    drawn.append(plots.lines("tick (s)", x, axis_over("s", *(t.y for t in ticks), low=0.0), ticks))
    cores = Series("cores", size, np.array([trial["cores"] for trial in trials], float), "s0")
    drawn.append(plots.lines("processor (cores)", x, axis_over("", cores.y, low=0.0), [cores]))
    return drawn


def _figures(trials: list[dict[str, Any]], kind: str, part: str) -> Any:
    values = [trial["answers"].get(kind, {}).get(part) for trial in trials]
    return np.array([np.nan if v is None else v for v in values], float)


def _trials(trials: list[dict[str, Any]]) -> str:
    rows = []
    for trial in trials:
        toll = trial["answers"]["0"]
        times = [toll["mean"], toll["p99"], toll["max"], trial["ticks"].get("median"), trial["ticks"].get("max")]
        cells = ["-" if t is None else f"{t:.2f}" for t in times]
        outcome = "accepted" if trial["accepted"] else trial["why"]
        costs = [f"{trial['cores']:.2f}", f"{trial['memory_mb'] / 1000:.1f}"]
        rows.append(
            [f"{trial['xways']:g}", outcome, *cells, *costs, f"{trial['reports']:,}", f"{trial['seconds']:,.0f}"]
        )
    head = ["L", "outcome", "toll mean s", "p99", "max", "tick median s", "max", "cores", "GB"]
    head += ["reports kept", "seconds in all"]
    return page.table(head, rows, left=2)


def comparison(own: list[str] | None) -> list[str]:
    """What was published, and a row of ours if there is one."""
    rows = [[p.system, p.year, p.rating, p.hardware, p.source] for p in published.RATINGS]
    rows += [own] if own else []
    head = ["system", "year", "L", "hardware", "source, or what was run"]
    return [page.table(head, rows, left=5, own=len(rows) - 1 if own else None)]
