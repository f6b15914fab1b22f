"""Answers from the ten weeks before: a day's expenditure, and the time and toll of a journey.

Both files are read a piece at a time and only what the requests need is kept: the toll rows asked for, and of the
segments the sums over the days of one day of the week (20 MB an expressway asked for).
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np
import numpy.typing as npt

from linear_road import records
from linear_road.validator.progress import OnProgress, Progress
from linear_road.validator.read import Ints, Longs, Pieces, Requests
from linear_road.validator.tolls import FREE_CARS, FREE_SPEED

Floats = npt.NDArray[np.float64]

WEEK: Final = records.WEEK_DAYS * records.DAY_MINUTES
CELLS: Final = WEEK * 2 * records.SEGMENTS
NUDGE: Final = 1e-7
"""Minutes. More than a sum of a hundred floating point numbers is off by, and far less than anyone could notice."""


def expenditures(requests: Requests, path: Path | None, on_progress: OnProgress) -> Longs:
    """The answer to each daily expenditure request."""
    fields = (requests["VID"], requests["Day"], requests["XWay"])
    asked, which = np.unique(_toll_key(*fields), return_inverse=True)
    paid = np.zeros(len(asked), np.int64)
    if path is not None and len(asked):
        for share, columns in Pieces(path, records.TOLLS):
            keys = _toll_key(columns["VID"], columns["Day"], columns["XWay"])
            at = np.minimum(np.searchsorted(asked, keys), len(asked) - 1)
            found = asked[at] == keys
            np.add.at(paid, at[found], columns["Tolls"][found])
            on_progress(Progress("reading the toll history", share))
    answers = paid[which.reshape(-1)]
    answers[~_packable(*fields)] = 0
    return np.asarray(answers, np.int64)


def _packable(vid: Ints, day: Ints, xway: Ints) -> npt.NDArray[np.bool_]:
    return np.asarray((vid >= 0) & (day >= 0) & (day < 1 << 10) & (xway >= 0) & (xway < 1 << 20), np.bool_)


def _toll_key(vid: Ints, day: Ints, xway: Ints) -> Longs:
    """One number for the three, -1 for what no history has."""
    key = (vid.astype(np.int64) << 30) + (day.astype(np.int64) << 20) + xway
    return np.where(_packable(vid, day, xway), key, -1)


@dataclass(frozen=True)
class Journeys:
    """Time and toll of each journey, unrounded.

    The `other` ones differ where an arrival is on the very border of two minutes: there they take the earlier.
    """

    seconds: Floats
    toll: Floats
    other_seconds: Floats
    other_toll: Floats


def journeys(requests: Requests, path: Path | None, today: int, on_progress: OnProgress) -> Journeys:
    """The answer to each travel time request; `today` is the day of the week of the simulated day."""
    table = _Table(np.unique(requests["XWay"]) if path is not None else np.empty(0, np.int32))
    if path is not None and len(requests):
        for share, columns in Pieces(path, records.SEGMENT_STATISTICS):
            table.add(columns, today)
            on_progress(Progress("reading the segment history", share))
    return Journeys(*_travel(requests, table, NUDGE), *_travel(requests, table, -NUDGE))


class _Table:
    """Sums of Lav and Cnt, and the number of rows in them, by expressway, day of week, minute, direction and segment."""

    def __init__(self, xways: Ints) -> None:
        self._xways = xways
        self.lav = np.zeros(len(xways) * CELLS, np.int32)
        self.cnt = np.zeros(len(xways) * CELLS, np.int32)
        self.rows = np.zeros(len(xways) * CELLS, np.uint16)

    def cell(self, xway: Ints, minute: Longs, direction: Ints, segment: Ints) -> Longs:
        """Index into the sums, -1 where there are none. `minute` is of the week, from 0."""
        slot = np.searchsorted(self._xways, xway)
        known = np.append(self._xways, records.NONE)[slot] == xway
        known &= (direction >= 0) & (direction <= 1) & (segment >= 0) & (segment < records.SEGMENTS)
        place = direction.astype(np.int64) * records.SEGMENTS + segment
        return np.where(known, slot * CELLS + minute * (2 * records.SEGMENTS) + place, -1)

    def add(self, columns: dict[str, Ints], today: int) -> None:
        day, minute = columns["Day"].astype(np.int64), columns["Min"].astype(np.int64)
        weekday = (today - day - 1) % records.WEEK_DAYS
        cell = self.cell(columns["XWay"], weekday * records.DAY_MINUTES + minute - 1, columns["Dir"], columns["Seg"])
        counts = (cell >= 0) & (day >= 1) & (day <= records.HISTORY_DAYS)
        counts &= (minute >= 1) & (minute <= records.DAY_MINUTES)
        cell = cell[counts]
        np.add.at(self.lav, cell, columns["Lav"][counts])
        np.add.at(self.cnt, cell, columns["Cnt"][counts])
        np.add.at(self.rows, cell, np.uint16(1))


def _travel(requests: Requests, table: _Table, nudge: float) -> tuple[Floats, Floats]:
    """All journeys at once, a segment at a time: seconds and toll of each."""
    start, end = requests["Sinit"], requests["Send"]
    east = end > start
    # Outside the city there is no history, so a journey may as well begin and end at its border.
    start = np.where(east, np.maximum(start, 0), np.minimum(start, records.SEGMENTS - 1))
    end = np.where(east, np.minimum(end, records.SEGMENTS), np.maximum(end, -1))
    length = np.where(east, end - start, start - end)
    direction = np.where(east, records.EAST, records.WEST)
    setting_out = requests["TOD"].astype(np.int64)
    clock, toll = setting_out.astype(np.float64), np.zeros(len(requests))
    for step in range(int(length.max(initial=0))):
        on = np.flatnonzero(step < length)
        minute = np.floor(clock[on] + nudge).astype(np.int64) if step else setting_out[on]
        minute = ((requests["DOW"][on].astype(np.int64) - 1) * records.DAY_MINUTES + minute - 1) % WEEK
        segment = start[on] + np.where(east[on], step, -step)
        cell = table.cell(requests["XWay"][on], minute, direction[on], segment)
        known = cell >= 0
        known[known] = table.lav[cell[known]] > 0
        on, cell = on[known], cell[known]
        lav, cnt, rows = (sums[cell].astype(np.float64) for sums in (table.lav, table.cnt, table.rows))
        clock[on] += 60 * rows / lav
        priced = (lav < FREE_SPEED * rows) & (cnt > FREE_CARS * rows)
        toll[on] += np.where(priced, 2 * (cnt / rows - FREE_CARS) ** 2, 0.0)
    return (clock - setting_out) * 60, toll
