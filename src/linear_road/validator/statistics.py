"""Cars and latest average velocity of every segment in every minute, in one direction of an expressway.

`Lav` is a whole number cut from a mean of means of means, and a toll hangs on whether it is below 40: a mean of exactly
40 must not become 39 by rounding. The means are computed in floating point, and wherever the result is next to a whole
number, again in fractions.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Final

import numpy as np
import numpy.typing as npt

from linear_road import records
from linear_road.validator.vehicles import Indices, Ints, Vehicles

Floats = npt.NDArray[np.float64]

LAV_MINUTES: Final = 5
NEAR: Final = 1e-6
"""Far above the error of the floating point means, and so near that few means need fractions."""


@dataclass(frozen=True)
class Statistics:
    """Grids of minutes x segments."""

    cars: Ints
    """Vehicles that reported in the minute."""
    lav: Ints
    """Lav as it is told in the minute: of the five minutes before."""


@dataclass(frozen=True)
class _Means:
    cars: npt.NDArray[np.int64]
    sums: dict[int, npt.NDArray[np.int64]]
    """By n: the sum of the speeds of the vehicles that reported n times."""

    def minute_averages(self) -> Floats:
        total = sum((sums / n for n, sums in self.sums.items()), np.zeros(self.cars.shape))
        return np.asarray(total / np.maximum(self.cars, 1), np.float64)

    def exact(self, row: int, segment: int) -> int:
        """Lav told in minute `row`, from whole numbers alone."""
        averages = [
            sum((Fraction(int(sums[before, segment]), n) for n, sums in self.sums.items()), Fraction())
            / int(self.cars[before, segment])
            for before in range(max(row - LAV_MINUTES, 0), row)
            if self.cars[before, segment]
        ]
        return int(sum(averages, Fraction()) / len(averages) // 1)


def statistics(vehicles: Vehicles) -> Statistics:
    means = _means(vehicles)
    averages, reported = means.minute_averages(), means.cars > 0
    averages[~reported] = 0
    total, number = np.zeros_like(averages), np.zeros(means.cars.shape, np.int64)
    for back in range(1, LAV_MINUTES + 1):
        total[back:] += averages[:-back]
        number[back:] += reported[:-back]
    mean = total / np.maximum(number, 1)
    lav = np.floor(mean).astype(np.int32)
    for row, segment in np.argwhere((number > 0) & (np.abs(mean - np.rint(mean)) < NEAR)):
        lav[row, segment] = means.exact(int(row), int(segment))
    return Statistics(means.cars.astype(np.int32), lav)


def _means(vehicles: Vehicles) -> _Means:
    shape = (vehicles.minutes, records.SEGMENTS)
    size = shape[0] * shape[1]
    # A cell of a vehicle: what it reported from one segment in one minute. Its reports are neighbours.
    cell = vehicles.minute.astype(np.int64) * records.SEGMENTS + vehicles.segment
    vid, speed = vehicles.vid, vehicles.speed
    order = _scattered(vehicles, cell)
    if order is not None:
        cell, vid, speed = cell[order], vid[order], speed[order]
    begins = np.ones(len(cell), np.bool_)
    begins[1:] = (cell[1:] != cell[:-1]) | (vid[1:] != vid[:-1])
    starts = np.flatnonzero(begins)
    times = np.diff(starts, append=len(cell))
    totals = np.add.reduceat(speed, starts, dtype=np.int64) if len(starts) else np.empty(0, np.int64)
    cell = cell[starts]
    sums = {}
    for n in np.flatnonzero(np.bincount(times)):
        some = times == n
        sums[int(n)] = np.rint(np.bincount(cell[some], totals[some], size)).astype(np.int64).reshape(shape)
    return _Means(np.bincount(cell, minlength=size).reshape(shape), sums)


def _scattered(vehicles: Vehicles, cell: npt.NDArray[np.int64]) -> Indices | None:
    """An order in which the reports of a cell are neighbours; None if they are, as two in a minute always are."""
    vid, minute = vehicles.vid, vehicles.minute
    three = (vid[2:] == vid[:-2]) & (minute[2:] == minute[:-2])
    return np.lexsort((cell, vid)) if three.any() else None
