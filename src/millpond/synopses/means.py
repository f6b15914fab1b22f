"""Averages and variance over windows, from sums and counts with bounds."""

from __future__ import annotations

import math
from abc import abstractmethod
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from millpond.synopses.base import Estimate, Synopsis, amounts, check_eps, whole
from millpond.synopses.canonical import error_ratio, ratio_error
from millpond.synopses.counting import ExponentialHistogram, SlidingSum
from millpond.synopses.layout import StateReader, StateWriter

NOTHING = Estimate(math.nan, math.nan, math.nan)


def mean_part(eps: float) -> float:
    """The error of a sum and of a count whose quotient has the error eps."""
    return ratio_error(math.sqrt(error_ratio(eps)))


def variance_part(eps: float) -> float:
    """The error of sums and of a count that leaves the variance within eps times the mean of the squares.

    Parts with upper / lower <= r leave bounds at most (r**4 - r**-2) times the mean square from the truth, which is below
    eps for r = 1 + eps / 7.
    """
    return ratio_error(1 + eps / 7)


def mean_bounds(count: Any, total: Any, most: int) -> tuple[Any, Any]:
    """Of what is between the bounds of a count, more than 0, and of a sum; numbers or arrays."""
    return total.lower / count.upper, np.minimum(total.upper / count.lower, most)


def variance_bounds(count: Any, total: Any, squares: Any, most: int) -> tuple[Any, Any]:
    """The same for the variance, which is not larger than that of values at the two ends."""
    least, largest = mean_bounds(count, total, most)
    lower = np.maximum(0.0, squares.lower / count.upper - largest**2)
    upper = np.minimum(squares.upper / count.lower - least**2, most**2 / 4)
    return lower, np.maximum(upper, lower)


class _Moments(Synopsis):
    """Sums of the first powers of the values, and their number; each part with the relative error `part_eps`."""

    POWERS: tuple[int, ...]

    def __init__(self, eps: float, window: int, max_value: int = (1 << 31) - 1, rows: bool = False) -> None:
        self.eps = check_eps(eps)
        part = self._part_eps()
        self.number = ExponentialHistogram(part, window, rows)
        self.sums = [SlidingSum(part, window, max_value**power, rows) for power in self.POWERS]
        self.max_value = self.sums[0].max_value

    @abstractmethod
    def _part_eps(self) -> float:
        """The error of each part that gives `eps` in all."""

    def parameters(self) -> tuple[Any, ...]:
        return (self.eps, self.number.window, self.max_value, self.number.timeline.rows)

    def add(self, time: int | None = None, value: Any = 1) -> None:
        number = whole("a value", value, 0, self.max_value)
        for one, power in reversed(list(zip(self.sums, self.POWERS, strict=True))):
            one.add(time, number**power)
        self.number.add(time)

    def add_many(self, times: npt.ArrayLike | None, values: npt.ArrayLike | None = None) -> None:
        numbers = amounts([] if values is None else values, self.max_value)
        # The highest power first: where a total is too large it is that one's, and then nothing has been taken.
        for one, power in reversed(list(zip(self.sums, self.POWERS, strict=True))):
            one.add_many(times, numbers**power)
        self.number.add_many(times, np.ones(len(numbers), dtype=bool))

    def _count(self, window: int | None, now: int | None) -> Estimate:
        timeline = self.number.timeline
        if timeline.rows:
            return Estimate.exactly(min(timeline.now, timeline.now - timeline.begin(window, now)))
        return self.number.estimate(window, now)

    def mean(self, window: int | None = None, now: int | None = None) -> Estimate:
        """The average; not a number where the window is empty."""
        count, total = self._count(window, now), self.sums[0].estimate(window, now)
        if not count.upper:
            return NOTHING
        return Estimate.between(*map(float, mean_bounds(count, total, self.max_value)))

    def merge(self, other: Self) -> Self:
        self._check_mergeable(other)
        both = type(self)(*self.parameters())
        both.number = self.number.merge(other.number)
        both.sums = [mine.merge(theirs) for mine, theirs in zip(self.sums, other.sums, strict=True)]
        return both

    def _part_ratio(self) -> float:
        """Upper / lower of the worst part."""
        return max(part.buckets.ratio for part in (self.number, *self.sums))

    @property
    def nbytes(self) -> int:
        return sum(part.nbytes for part in (self.number, *self.sums))

    def _write(self, writer: StateWriter) -> None:
        eps, window, max_value, rows = self.parameters()
        writer.real(eps)
        writer.number(window, max_value, rows)
        for part in (self.number, *self.sums):
            writer.raw(part.to_bytes())

    @classmethod
    def _read(cls, reader: StateReader, version: int) -> Self:
        made = cls(reader.real(), reader.number(), reader.number(), bool(reader.number()))
        made.number = ExponentialHistogram.from_bytes(reader.raw())
        made.sums = [SlidingSum.from_bytes(reader.raw()) for _ in cls.POWERS]
        return made


class SlidingMean(_Moments):
    """The average of whole numbers from 0 to `max_value`: relative error at most eps, for any window up to `window`.

    A sum and a count, each with about half of eps (over rows the count is exact). Merging costs both a generation.
    """

    KIND = b"SMEA"
    POWERS = (1,)

    def _part_eps(self) -> float:
        return mean_part(self.eps)

    @property
    def error(self) -> float:
        return ratio_error(self._part_ratio() ** 2)

    def estimate(self, window: int | None = None, now: int | None = None) -> Estimate:
        return self.mean(window, now)


class SlidingVariance(_Moments):
    """The variance of whole numbers from 0 to `max_value`: off by at most eps times **the mean of the squares**.

    It comes from the sums of the values and of their squares, and the two cancel where the values are large against their
    spread: take it when the deviation is not small against the mean, or subtract what the values have in common. The bounds
    tell: they are true in any case. `error` is relative to the mean of the squares as well.
    """

    KIND = b"SVAR"
    POWERS = (1, 2)

    def _part_eps(self) -> float:
        return variance_part(self.eps)

    @property
    def error(self) -> float:
        ratio = self._part_ratio()
        return float(ratio**4 - ratio**-2)

    def variance(self, window: int | None = None, now: int | None = None) -> Estimate:
        """Of the values as they are (divided by their number)."""
        return self.estimate(window, now)

    def deviation(self, window: int | None = None, now: int | None = None) -> Estimate:
        variance = self.estimate(window, now)
        return Estimate(*(math.sqrt(number) for number in variance))

    def estimate(self, window: int | None = None, now: int | None = None) -> Estimate:
        count, squares = self._count(window, now), self.sums[1].estimate(window, now)
        if not count.upper:
            return NOTHING
        total = self.sums[0].estimate(window, now)
        lower, upper = map(float, variance_bounds(count, total, squares, self.max_value))
        return Estimate((lower + upper) / 2, lower, upper)
