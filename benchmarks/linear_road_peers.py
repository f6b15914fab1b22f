"""Bar 5: the L-rating of PostgreSQL by polling and of plain Spark, by the same driver and validator as ours.

Our own rating is `millpond linearroad rate`; give its file as MILLPOND_RATING to have it in the same table. Levels other than the
usual ones: LINEAR_ROAD_LEVELS=4,8,12. Shorter: LINEAR_ROAD_MINUTES=168,170,172 (start, from when in real time, end) and
LINEAR_ROAD_DAYS=7.
"""

from __future__ import annotations

import json
import os
from pathlib import Path

from benchmarks.harness import Options, Report
from benchmarks.linear_road.postgres_peer import PostgresPeer
from benchmarks.linear_road.rating import Stretch, rate_peers, ratings
from benchmarks.linear_road.spark_peer import SparkPeer

LEVELS = (0.5, 1.0, 2.0, 4.0, 6.0, 8.0, 12.0, 16.0, 24.0, 32.0, 48.0, 64.0)
PEERS = {"postgres": PostgresPeer, "spark": SparkPeer}


def run(options: Options, report: Report) -> None:
    report.issue = 4
    stretch, levels = _stretch(options), _levels(options)
    chosen = os.environ.get("LINEAR_ROAD_PEERS", ",".join(PEERS)).split(",")
    trials = rate_peers([PEERS[name] for name in chosen], levels, stretch, options.workdir, report.say)
    report.add(stretch=str(stretch), levels=list(levels))
    report.table(f"Trials: {stretch}", [t.row() for t in trials])
    rows = [{"system": name, "L": rated, "minutes": str(stretch)} for name, rated in ratings(trials).items()]
    report.table("L-rating", [*_ours(), *rows])


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
    """The result of a rating of ours, if there is one to read."""
    path = os.environ.get("MILLPOND_RATING")
    if path is None:
        return []
    found = json.loads(Path(path).read_text())
    part = found["minutes"]
    told = f"minutes {part['replayed'][0]} to {part['replayed'][1]} replayed, to {part['real_time'][1]} in real time"
    told += f", {found['history_days']} days of history"
    return [{"system": "millpond", "L": found["rating"], "minutes": told}]
