"""Travel times from ten weeks of segment statistics: the one answer SQL cannot say, because each step starts where the last
one ended.

A journey starts in segment `sinit` at minute `tod` of a day of the week and ends where `send` begins. In each segment it takes
60 / v minutes, v being the mean Lav at the minute it gets there, over the history days with that day of the week; the toll is
the formula on the mean Lav and the mean count. Past midnight the next day's figures count. A segment without history, or
where nothing moved, adds nothing.

`summarise` writes the means as arrays into a folder, once; the functions map them into memory in whatever process
evaluates them. Their values depend on the arguments and these files alone.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

import millpond
from linear_road.history import day_of_week
from linear_road.records import DAY_MINUTES, EAST, HISTORY_DAYS, SEGMENTS, WEEK_DAYS, WEST

_TOLL_SPEED: Final = 40
_FREE_CARS: Final = 50
_ROUNDING: Final = 1e-9
"""Far more than sums of a hundred numbers are off by, far less than they differ from whole ones if they do."""

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]


def summarise(batches: Iterable[pa.RecordBatch], folder: Path, today: int = 1) -> int:
    """Write the means of a segment history; `today` is the day of the week of the simulated day. Returns the rows."""
    days = np.array([day_of_week(day, today) - 1 for day in range(WEEK_DAYS)])
    sums = np.zeros((0, 3, WEEK_DAYS, 2, SEGMENTS, DAY_MINUTES), np.int32)
    rows = 0
    for batch in batches:
        batch = batch.filter(pc.less_equal(batch.column(0), HISTORY_DAYS))
        day, minute, xway, direction, segment, lav, cnt = (batch.column(i).to_numpy() for i in range(7))
        rows += batch.num_rows
        expressways = int(xway.max()) + 1 if len(xway) else 0
        if expressways > len(sums):
            sums = np.concatenate((sums, np.zeros((expressways - len(sums), *sums.shape[1:]), np.int32)))
        cell = (((days[day % WEEK_DAYS] * 2 + direction) * SEGMENTS + segment) * DAY_MINUTES + (minute - 1)).astype(
            np.int64
        )
        cells = sums[0, 0].size
        for number in np.unique(xway):
            here = slice(None) if (xway == number).all() else np.flatnonzero(xway == number)
            low = int(cell[here].min())
            for part, weights in enumerate((lav, cnt, None)):
                found = np.bincount(cell[here] - low, None if weights is None else weights[here])
                sums[number, part].reshape(cells)[low : low + len(found)] += found.astype(np.int32)
    folder.mkdir(parents=True, exist_ok=True)
    for part, name in enumerate(("lav", "cnt")):
        with (folder / f"{name}.npy").open("wb") as file:  # not through a map: a full disk would end the process
            shape = (len(sums), *sums.shape[2:])
            np.lib.format.write_array_header_1_0(file, {"descr": "<f8", "fortran_order": False, "shape": shape})
            for one in sums:
                with np.errstate(invalid="ignore"):
                    file.write((one[part] / one[2]).astype("<f8").tobytes())
    return rows


@lru_cache(maxsize=4)
def _means(folder: str) -> tuple[Floats, Floats]:
    return tuple(np.load(Path(folder) / f"{name}.npy", mmap_mode="r") for name in ("lav", "cnt"))


@millpond.vectorized
def seconds(
    folder: pa.Array, xway: pa.Array, sinit: pa.Array, send: pa.Array, dow: pa.Array, tod: pa.Array
) -> pa.Array:
    """How long each journey takes, in whole seconds."""
    minutes, _ = _journeys(folder, xway, sinit, send, dow, tod)
    return pa.array(np.floor(minutes * 60 + 0.5).astype(np.int64))


@millpond.vectorized
def toll(folder: pa.Array, xway: pa.Array, sinit: pa.Array, send: pa.Array, dow: pa.Array, tod: pa.Array) -> pa.Array:
    """What each journey costs, rounded to a whole number."""
    _, tolls = _journeys(folder, xway, sinit, send, dow, tod)
    return pa.array(np.floor(tolls + 0.5).astype(np.int64))


def _journeys(folder: pa.Array, *columns: pa.Array) -> tuple[Floats, Floats]:
    """Minutes and tolls; all journeys go forward together, a segment a step."""
    xway, start, end, dow, tod = (np.asarray(c.to_numpy(zero_copy_only=False), np.int64) for c in columns)
    lav, cnt = _means(folder[0].as_py())
    direction = np.where(end > start, EAST, WEST)
    step = np.where(end > start, 1, -1)
    length = np.abs(end - start)
    minutes, tolls = np.zeros(len(start)), np.zeros(len(start))
    known = (xway >= 0) & (xway < len(lav)) & (start >= 0) & (start < SEGMENTS)
    for number in range(int(length.max(initial=0))):
        going = np.flatnonzero(length > number)
        clock = tod[going] - 1 + np.floor(minutes[going] + _ROUNDING).astype(np.int64)
        day = (dow[going] - 1 + clock // DAY_MINUTES) % WEEK_DAYS
        segment = start[going] + number * step[going]
        there = known[going] & (segment >= 0) & (segment < SEGMENTS)
        place = tuple(
            np.where(there, index, 0) for index in (xway[going], day, direction[going], segment, clock % DAY_MINUTES)
        )
        speed = np.where(there, lav[place], np.nan) if len(lav) else np.full(len(going), np.nan)
        cars = np.where(there, cnt[place], np.nan) if len(lav) else speed
        moves = speed > 0
        minutes[going] += np.where(moves, 60 / np.where(moves, speed, 1), 0)
        due = moves & (speed < _TOLL_SPEED) & (cars > _FREE_CARS)
        tolls[going] += np.where(due, 2 * (np.where(due, cars, 0) - _FREE_CARS) ** 2, 0)
    return minutes, tolls
