"""Bar 5: the L-rating of PostgreSQL by polling and of plain Spark, by the same driver and validator as ours.

Our own rating is `millpond linearroad rate`; give its file as MILLPOND_RATING to have it in the same table. Levels other than the
usual ones: LINEAR_ROAD_LEVELS=4,8,12. Shorter: LINEAR_ROAD_MINUTES=168,170,172 (start, from when in real time, end) and
LINEAR_ROAD_DAYS=7.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from benchmarks.harness import Options, Report
from benchmarks.linear_road.postgres_peer import LoggedPostgresPeer, PostgresPeer
from benchmarks.linear_road.rating import Stretch, Trial, rate_peers, ratings
from benchmarks.linear_road.spark_peer import SparkPeer

LEVELS = (0.5, 1.0, 2.0, 4.0, 6.0, 8.0, 12.0, 16.0, 24.0, 32.0, 48.0, 64.0, 100.0)
PEERS = {"postgres": PostgresPeer, "logged": LoggedPostgresPeer, "spark": SparkPeer}


def run(options: Options, report: Report) -> None:
    report.issue = 4
    stretch, levels = _stretch(options), _levels(options)
    chosen = os.environ.get("LINEAR_ROAD_PEERS", ",".join(PEERS)).split(",")
    trials = rate_peers([PEERS[name] for name in chosen], levels, stretch, options.workdir, report.say)
    report.add(stretch=str(stretch), levels=list(levels))
    report.table(f"Trials: {stretch}", [t.row() for t in trials])
    rows = [{"system": name, "L": rated, "minutes": str(stretch)} for name, rated in ratings(trials).items()]
    report.table("L-rating", [*_ours(), *rows])
    _draw(report, trials)


def _draw(report: Report, trials: list[Trial]) -> None:
    """Longest answer and median tick or batch against L, of all that were tried."""
    axes = report.draw(2)
    if axes is None:
        return
    points: dict[str, list[tuple[float, float, float]]] = {}
    for trial in trials:
        found = (trial.xways, trial.summary.worst, trial.summary.batch_median)
        points.setdefault(trial.peer, []).append(found)
    if (rating := _rating()) is not None:
        points["millpond"] = [
            (t["xways"], max(a["max"] or 0.0 for a in t["answers"].values()), t["ticks"]["median"])
            for t in rating["trials"]
        ]
    for name, found in points.items():
        size, worst, batch = zip(*sorted(found), strict=True)
        axes[0].plot(size, worst, "o-", label=name)
        axes[1].plot(size, batch, "o-", label=name)
    axes[0].axhline(5, color="grey", linewidth=0.8, linestyle="--")
    for axis, title in zip(axes, ("longest answer (s)", "tick or batch, median (s)"), strict=True):
        axis.set(xlabel="L", title=title, xscale="log", yscale="log")
        axis.legend(fontsize=7)


def _stretch(options: Options) -> Stretch:
    if options.quick:
        return Stretch(start=100, timed=101, end=102, days=7, seed=5)
    start, timed, end = map(int, os.environ.get("LINEAR_ROAD_MINUTES", "160,170,180").split(","))
    return Stretch(start, timed, end, int(os.environ.get("LINEAR_ROAD_DAYS", "70")))


def _levels(options: Options) -> tuple[float, ...]:
    if options.quick:
        return (0.5,)
    given = os.environ.get("LINEAR_ROAD_LEVELS")
    return tuple(map(float, given.split(","))) if given else LEVELS


def _ours() -> list[dict[str, object]]:
    found = _rating()
    if found is None:
        return []
    part = found["minutes"]
    told = f"minutes {part['replayed'][0]} to {part['replayed'][1]} replayed, to {part['real_time'][1]} in real time"
    told += f", {found['history_days']} days of history"
    return [{"system": "millpond", "L": found["rating"], "minutes": told}]


def _rating() -> dict[str, Any] | None:
    """The result of a rating of ours, if there is one to read."""
    path = os.environ.get("MILLPOND_RATING")
    return json.loads(Path(path).read_text()) if path is not None else None
