"""What a run left in its folder, read for the report: answers by minute, load, meters, the road, the verdict.

Response times come from the output file itself, so they cover the whole run, also one that was broken off and went on. Of
the other files each may be missing; then the report goes without.
"""

from __future__ import annotations

import csv
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import duckdb
import numpy as np
import numpy.typing as npt

import millpond
from linear_road.application import ANSWERS
from linear_road.driver import Handed, read_journal
from linear_road.records import SEGMENTS
from linear_road.road import FILE

Floats = npt.NDArray[np.float64]

_TIMES: Final = """
WITH lines AS (
  SELECT * FROM read_csv(?, header = false, auto_detect = false, delim = ',', null_padding = true,
    columns = {'type': 'INTEGER', 'a': 'BIGINT', 'b': 'DOUBLE', 'c': 'DOUBLE', 'd': 'BIGINT', 'e': 'DOUBLE'})),
answers AS (
  SELECT type, CASE type WHEN 0 THEN b ELSE a END AS t, CASE type WHEN 0 THEN c - b ELSE b - a END AS response,
         CASE type WHEN 0 THEN e ELSE 0 END AS toll
  FROM lines)
"""
_BY_MINUTE: Final = (
    _TIMES + "SELECT type, CAST(FLOOR(t / 60) AS INTEGER), COUNT(*), AVG(response), MAX(response), SUM(toll) "
    "FROM answers GROUP BY ALL ORDER BY ALL"
)
_IN_ALL: Final = _TIMES + (
    "SELECT type, COUNT(*), AVG(response), QUANTILE_DISC(response, 0.99), MAX(response), COUNT(*) FILTER (response > "
    "CASE type WHEN 3 THEN 10 WHEN 4 THEN 30 ELSE 5 END) FROM answers WHERE t >= ? GROUP BY ALL ORDER BY ALL"
)


@dataclass(frozen=True)
class Answers:
    """The answers of one type: by minute and in all. Those before the timed part are in `minutes` but not in the sums."""

    minutes: Floats
    counts: Floats
    means: Floats
    most: Floats
    count: int = 0
    mean: float | None = None
    p99: float | None = None
    max: float | None = None
    late: int = 0


@dataclass(frozen=True)
class Strip:
    """One direction of an expressway over time: Lav and toll by minute and segment (NaN: nothing known), and accidents."""

    name: str
    first: int
    lav: Floats
    toll: Floats
    accidents: list[tuple[float, float]]


@dataclass(frozen=True)
class Record:
    folder: Path
    run: dict[str, Any]
    begun: dict[str, Any]
    answers: dict[int, Answers]
    handed: list[Handed]
    meters: dict[str, Floats]
    verdict: dict[str, Any] | None
    strips: list[Strip]
    one_time: list[tuple[str, int, float]]

    @property
    def xways(self) -> float | None:
        """L, if the run noted it."""
        facts = self.begun.get("facts")
        return float(facts["xways"]) if facts else None

    @property
    def timed_from(self) -> int:
        """The first second that was handed over in real time."""
        return int(self.run.get("config", {}).get("fast_until") or 0)


def read_record(folder: Path) -> Record:
    output = folder / "output.csv"
    if not output.exists():
        raise millpond.PondError(
            f'there is no run in "{folder}"', detail="It has no output.csv.", hint="Give the --out folder of a run."
        )
    run = _json(folder / "run.json") or {}
    timed = int(run.get("config", {}).get("fast_until") or 0)
    return Record(
        folder=folder,
        run=run,
        begun=_json(folder / "begun.json") or {},
        answers=_answers(output, timed),
        handed=read_journal(folder / "driver.csv"),
        meters=_meters(folder / "meters.csv"),
        verdict=_json(folder / "verdict.json"),
        strips=_strips(folder / FILE),
        one_time=_one_time(folder / "one_time.csv"),
    )


def load_by_minute(handed: list[Handed]) -> tuple[Floats, Floats]:
    """Minutes and the tuples handed over for each. A file of several seconds counts evenly for each of them."""
    if not handed:
        return np.empty(0), np.empty(0)
    first, last = handed[0].first // 60, handed[-1].last // 60
    tuples = np.zeros((last - first + 1) * 60)
    for item in handed:
        span = slice(item.first - first * 60, item.last - first * 60 + 1)
        tuples[span] += item.tuples / (item.last - item.first + 1)
    return np.arange(first, last + 1, dtype=float), tuples.reshape(-1, 60).sum(axis=1)


def _answers(output: Path, timed: int) -> dict[int, Answers]:
    none = np.empty(0)
    found = {a.type: Answers(none, none, none, none) for a in ANSWERS}
    if not output.stat().st_size:
        return found
    with duckdb.connect() as db:
        by_minute = np.array(db.execute(_BY_MINUTE, [str(output)]).fetchall(), float)
        in_all = db.execute(_IN_ALL, [str(output), timed]).fetchall()
    sums = {row[0]: row[1:] for row in in_all}
    for kind in found:
        rows = by_minute[by_minute[:, 0] == kind]
        found[kind] = Answers(rows[:, 1], rows[:, 2], rows[:, 3], rows[:, 4], *sums.get(kind, ()))
    return found


def _meters(path: Path) -> dict[str, Floats]:
    if not path.exists():
        return {}
    with path.open(encoding="ascii") as file:
        rows = [row for row in csv.DictReader(file) if None not in row.values()]
    return {name: np.array([float(row[name]) for row in rows]) for name in rows[0]} if rows else {}


def _strips(path: Path) -> list[Strip]:
    """Both directions of the first expressway that is in the file."""
    if not path.exists():
        return []
    with path.open(encoding="ascii") as file:
        rows = [[int(v) if v else -1 for v in row] for row in csv.reader(file) if row and row[0].isdigit()]
    if not rows:
        return []
    first, last = min(r[0] for r in rows), max(r[0] for r in rows)
    xway = min(r[1] for r in rows)
    found = []
    for direction, name in ((0, "eastbound"), (1, "westbound")):
        here = [r for r in rows if (r[1], r[2]) == (xway, direction)]
        lav, toll = (np.full((last - first + 1, SEGMENTS), np.nan) for _ in range(2))
        for minute, _, _, seg, speed, price, _ in here:
            lav[minute - first, seg], toll[minute - first, seg] = speed, price
        accidents = sorted({(r[0] + 0.5, r[3] + 0.5) for r in here if r[6] == 0})
        if here:
            found.append(Strip(f"expressway {xway} {name}", first, lav, toll, accidents))
    return found


def _one_time(path: Path) -> list[tuple[str, int, float]]:
    if not path.exists():
        return []
    lines = [line.split(",") for line in path.read_text("ascii").splitlines()]
    return [(line[1], int(line[2]), float(line[3])) for line in lines if len(line) == 4]


def _json(path: Path) -> dict[str, Any] | None:
    return dict(json.loads(path.read_text("utf-8"))) if path.exists() else None
