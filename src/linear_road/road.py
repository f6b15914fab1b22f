"""The state of the road while a run goes on: what the view `conditions` says of each segment, minute by minute.

It is read by a cursor, as any subscriber would, kept for the screen, and written to `road.csv` for the report: minute,
expressway, direction, segment, Lav, toll, and how far ahead an accident is (empty: none).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt

import millpond
from linear_road.records import SEGMENTS

FILE: Final = "road.csv"
COLUMNS: Final = ("minute", "xway", "dir", "seg", "lav", "toll", "ahead")
Ints = npt.NDArray[np.int64]


def _unknown() -> Ints:
    return np.full(SEGMENTS, -1, np.int64)


@dataclass
class Direction:
    """One direction of an expressway, an entry for each segment: -1 where nothing is known, or no accident is ahead."""

    lav: Ints = field(default_factory=_unknown)
    toll: Ints = field(default_factory=_unknown)
    ahead: Ints = field(default_factory=_unknown)

    @property
    def accidents(self) -> list[int]:
        """The segments with an accident."""
        return [int(seg) for seg in np.flatnonzero(self.ahead == 0)]


class Road:
    """Call `look` now and then. `directions` is the newest minute, by expressway and direction."""

    def __init__(self, db: millpond.Pond, folder: Path) -> None:
        self._db = db
        self._cursor = db.resume("conditions")
        path = folder / FILE
        new = not path.exists()
        self._file = path.open("a", encoding="ascii")
        if new:
            self._file.write(",".join(COLUMNS) + "\n")
        self.minute = -1
        self.directions: dict[tuple[int, int], Direction] = {}

    def look(self) -> None:
        """Take in what is new."""
        try:
            rows = self._cursor.fetch()
        except millpond.MillpondError:  # more was sent since the last look than is kept: go on with what there is
            self._cursor = self._db.resume("conditions")
            rows = self._cursor.fetch()
        if len(rows):
            self.take([rows.arrow().column(name).to_pylist() for name in ("instant", *COLUMNS[1:])])

    def take(self, columns: Sequence[list[Any]]) -> None:
        """Rows of the view: instant, xway, dir, seg, lav, toll, ahead."""
        for instant, xway, direction, seg, lav, toll, ahead in zip(*columns, strict=True):
            minute = instant // 60
            if not 0 <= seg < SEGMENTS:  # of an accident at the end of the road, a segment ahead of it may be beyond
                continue
            if minute > self.minute:
                self.minute, self.directions = minute, {}
            self._file.write(f"{minute},{xway},{direction},{seg},{lav},{toll},{'' if ahead is None else ahead}\n")
            if minute == self.minute:
                here = self.directions.setdefault((xway, direction), Direction())
                here.lav[seg], here.toll[seg], here.ahead[seg] = lav, toll, -1 if ahead is None else ahead
        self._file.flush()

    def close(self) -> None:
        self._file.close()
