"""One-time queries during a run (the scenario L++): reports of one direction of one expressway in a stretch of the past.

Stretches are chosen so that the results have about 10,000, 30,000 and 60,000 rows at the density the road then had. Queries are
asked at an even rate, each in its turn; one that cannot be asked in time because another still runs is asked as soon as that
one ends, and its response time counts from when it was due.
"""

from __future__ import annotations

import threading
import time
from pathlib import Path
from typing import Any, Final

import numpy as np

import millpond

SIZES: Final = {"high": 10_000, "medium": 30_000, "low": 62_000}
"""Rows of a result by selectivity, as the paper calls it."""
_QUERY: Final = "SELECT * FROM reports WHERE xway = {xway} AND dir = {dir} AND t BETWEEN {low} AND {high}"


class OneTimeQueries:
    """Asks `per_minute` queries a minute in a thread of its own, from `start` to `stop`."""

    def __init__(self, db: millpond.Pond, per_minute: int, path: Path, seed: int = 0) -> None:
        self._db = db
        self._pause = 60 / per_minute
        self._path = path
        self._random = np.random.default_rng(seed)
        self._ended = threading.Event()
        self._begun = False
        self._thread = threading.Thread(target=self._ask_all, name="one-time queries", daemon=True)
        self.asked: list[tuple[str, int, float]] = []
        self.error: Exception | None = None

    def start(self) -> None:
        """Begin, unless that was done."""
        if not self._begun:
            self._begun = True
            self._thread.start()

    def stop(self) -> None:
        self._ended.set()
        if self._begun:
            self._thread.join(30)

    def summary(self) -> dict[str, Any]:
        """By selectivity: how many, rows of a result, and response times."""
        found = {}
        for name in SIZES:
            mine = [(rows, seconds) for kind, rows, seconds in self.asked if kind == name]
            if mine:
                rows, seconds = np.array([m[0] for m in mine]), np.array([m[1] for m in mine])
                found[name] = {
                    "queries": len(mine), "rows": float(rows.mean()), "min": float(seconds.min()),
                    "mean": float(seconds.mean()), "p99": float(np.quantile(seconds, 0.99)), "max": float(seconds.max()),
                }  # fmt: skip
        return found

    def _ask_all(self) -> None:
        try:
            bounds = self._db.sql("SELECT MIN(t), MAX(xway) FROM reports").rows()[0]
            while bounds[0] is None and not self._ended.wait(1):
                bounds = self._db.sql("SELECT MIN(t), MAX(xway) FROM reports").rows()[0]
            due = time.time()
            with self._path.open("a", encoding="ascii") as file:
                while not self._ended.wait(max(0.0, due - time.time())):
                    kind = list(SIZES)[len(self.asked) % len(SIZES)]
                    rows = self._ask(int(bounds[0]), int(bounds[1]), SIZES[kind])
                    self.asked.append((kind, rows, time.time() - due))
                    file.write(f"{due:.3f},{kind},{rows},{time.time() - due:.4f}\n")
                    due += self._pause
        except Exception as error:
            self.error = error

    def _ask(self, first: int, most_xway: int, size: int) -> int:
        now = int(self._db.now("reports"))
        density = 100_000 / 60 / 2 * (now / 10_800)  # reports a second of one direction, by the load curve
        seconds = max(1, round(size / max(density, 1.0)))
        low = int(self._random.integers(first, max(first + 1, now - seconds)))
        xway, direction = self._random.integers(0, most_xway + 1), self._random.integers(0, 2)
        query = _QUERY.format(xway=xway, dir=direction, low=low, high=low + seconds - 1)
        return int(self._db.sql(query).arrow().num_rows)
