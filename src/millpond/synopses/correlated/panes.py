"""The window as a row of panes: what is kept of each besides its curve.

A landmark window is one pane that never ends. A sliding window has panes of equal length; the last one grows, the first
one leaves row by row, and is dropped when its last row has left. Of a pane we keep the sums that an average needs, its
extremes, and where its lowest value stands (the last place, so that we know when it leaves).
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from millpond.synopses.base import Floats, Ints, StateReader, StateWriter
from millpond.synopses.correlated.answer import Weights

_EXACT = 2.0**53  # whole numbers below it are exact
_WHOLE = ("start", "rows", "lowest_at")
_REAL = ("sum1", "sum2", "lowest", "highest", "y_lowest", "y_highest")
_EMPTY = {"lowest": math.inf, "highest": -math.inf, "y_lowest": math.inf, "y_highest": -math.inf}


class Panes:
    """Arrays with an entry for each pane, the oldest first.

    `start` is the number in the stream of a pane's first row, `rows` how many came. `sum1` and `sum2` add up x - origin
    and its square: near the data, they lose little to rounding. `totals` is [pane, channel]. Where rows are known to
    leave, sums and totals of the first pane are of what is left of it.
    """

    __slots__ = (*_WHOLE, *_REAL, "origin", "totals")

    start: Ints
    rows: Ints
    lowest_at: Ints
    sum1: Floats
    sum2: Floats
    lowest: Floats
    highest: Floats
    y_lowest: Floats
    y_highest: Floats
    totals: Floats

    def __init__(self, channels: int) -> None:
        self.origin = 0.0
        for name in _WHOLE:
            setattr(self, name, np.zeros(0, dtype=np.int64))
        for name in _REAL:
            setattr(self, name, np.zeros(0))
        self.totals = np.zeros((0, channels))
        self.begin(0)

    def __len__(self) -> int:
        return len(self.start)

    def begin(self, start: int) -> None:
        """A new last pane."""
        for name in _WHOLE:
            setattr(self, name, np.append(getattr(self, name), start if name == "start" else 0))
        for name in _REAL:
            setattr(self, name, np.append(getattr(self, name), _EMPTY.get(name, 0.0)))
        self.totals = np.concatenate((self.totals, np.zeros((1, self.totals.shape[1]))))

    def drop(self) -> None:
        """Forget the first pane."""
        for name in (*_WHOLE, *_REAL, "totals"):
            setattr(self, name, getattr(self, name)[1:])

    def end_of_first(self) -> int:
        """The number of the row after the first pane."""
        return int(self.start[0] + self.rows[0])

    def add(self, x: Floats, y: Floats, weights: Weights, at: int) -> None:
        """Rows of the last pane, the first of them row `at` of the stream. `Means.keep` does sum1 and sum2."""
        self.rows[-1] += len(x)
        low = float(x.min())
        if low <= self.lowest[-1]:
            self.lowest[-1], self.lowest_at[-1] = low, at + len(x) - 1 - int(x[::-1].argmin())
        self.highest[-1] = max(self.highest[-1], x.max())
        self.y_lowest[-1] = np.fmin(self.y_lowest[-1], np.fmin.reduce(y))  # a y that is not a number does not count
        self.y_highest[-1] = np.fmax(self.y_highest[-1], np.fmax.reduce(y))
        for channel, weight in enumerate(weights):
            self.totals[-1, channel] = _added(self.totals[-1, channel], weight, len(x))

    def leave(self, weights: Weights, count: int) -> None:
        """Rows that are known to leave the first pane."""
        for channel, weight in enumerate(weights):
            gone = None if weight is None else -weight
            self.totals[0, channel] = _added(self.totals[0, channel], gone, -count)

    # -- extremes ------------------------------------------------------------------------------------------------------

    def living_lowest(self, left: int) -> float:
        """The lowest value, after `left` rows have left; when that of the first pane is among them, its others are taken to
        be above those of the other panes."""
        return self.lowest_with_bounds(left)[0]

    def lowest_with_bounds(self, left: int) -> tuple[float, float, float]:
        if len(self) == 1:
            return (float(self.lowest[0]),) * 3
        first, others = float(self.lowest[0]), float(self.lowest[1:].min())
        if self.lowest_at[0] >= left or others <= first:
            return (min(first, others),) * 3
        most = min(others, float(self.highest[0]))
        return most, first, most

    def highest_lowest(self) -> float:
        """The largest of the lowest values of full panes: the lowest value may become that without any new row."""
        return float(self.lowest[:-1].max() if len(self) > 1 else self.lowest[0])

    # -- averages ------------------------------------------------------------------------------------------------------

    def means(self, x: Floats, gone: Floats | None, left: int, full: bool) -> Means:
        """The averages after each of some rows of the last pane. `left` rows have left so far; when the window is full each
        row pushes one out of the first pane: those in `gone`, or else a share of it."""
        steps = np.arange(1, len(x) + 1)
        last = _accumulated(self.sum1[-1], self.sum2[-1], x - self.origin, 1.0)
        first = None
        held = int(self.rows.sum()) - (left - int(self.start[0]))
        count = np.full(len(x), held) if full else held + steps
        others = slice(1 if full else 0, -1)
        sums = [last[0][1:] + self.sum1[others].sum(), last[1][1:] + self.sum2[others].sum()]
        if full and gone is not None:
            first = _accumulated(self.sum1[0], self.sum2[0], gone - self.origin, -1.0)
            sums = [sums[0] + first[0][1:], sums[1] + first[1][1:]]
        elif full:
            share = (self.end_of_first() - left - steps) / self.rows[0]
            sums = [sums[0] + self.sum1[0] * share, sums[1] + self.sum2[0] * share]
        return Means(*_mean_and_spread(count, sums[0], sums[1], self.origin), last, first)

    def mean(self, left: int, given: bool) -> tuple[float, float, float]:
        """The average of what has not left, and bounds; exact but for the part of the first pane that is still there."""
        rows, gone = int(self.rows[0]), max(0, left - int(self.start[0]))
        live = rows - gone
        count = int(self.rows.sum()) - gone
        first, others = float(self.sum1[0]), float(self.sum1[1:].sum())
        if given or not gone:
            return (float(mean_above(self.origin, first + others, count)),) * 3
        low, high = self.lowest[0] - self.origin, self.highest[0] - self.origin
        least, most = max(live * low, first - gone * high), min(live * high, first - gone * low)
        value = min(max(first * live / rows, least), most)
        value, least, most = (self.origin + (part + others) / count for part in (value, least, most))
        return float(value), float(least), float(most)

    def mean_and_spread(self) -> tuple[float, float]:
        """The average of all rows, and the deviation of such an average."""
        mean, spread = _mean_and_spread(self.rows.sum(), self.sum1.sum(), self.sum2.sum(), self.origin)
        return float(mean), float(spread)

    # -- holding -------------------------------------------------------------------------------------------------------

    def join(self, other: Panes) -> None:
        """Take in the rows of another landmark window."""
        apart = other.origin - self.origin
        self.sum2 += other.sum2 + 2 * apart * other.sum1 + other.rows * apart**2
        self.sum1 += other.sum1 + other.rows * apart
        self.rows += other.rows
        self.totals += other.totals
        for name in ("lowest", "y_lowest"):
            setattr(self, name, np.minimum(getattr(self, name), getattr(other, name)))
        for name in ("highest", "y_highest"):
            setattr(self, name, np.maximum(getattr(self, name), getattr(other, name)))

    @property
    def nbytes(self) -> int:
        return sum(getattr(self, name).nbytes for name in (*_WHOLE, *_REAL, "totals"))

    def write(self, writer: StateWriter) -> None:
        writer.real(self.origin)
        for name in (*_WHOLE, *_REAL, "totals"):
            writer.array(getattr(self, name))

    def read(self, reader: StateReader) -> None:
        self.origin = reader.real()
        for name in (*_WHOLE, *_REAL, "totals"):
            setattr(self, name, reader.array())


_Sums = tuple[Floats, Floats]


class Means:
    """Averages and their deviations after each of some rows, and the sums they come from."""

    __slots__ = ("_first", "_last", "mean", "spread")

    def __init__(self, mean: Floats, spread: Floats, last: _Sums, first: _Sums | None) -> None:
        self.mean, self.spread = mean, spread
        self._last, self._first = last, first

    def at(self, rows: Any) -> tuple[Any, Any]:
        return self.mean[rows], self.spread[rows]

    def keep(self, panes: Panes, until: int) -> None:
        """Set the sums of the panes to those after so many rows."""
        panes.sum1[-1], panes.sum2[-1] = self._last[0][until], self._last[1][until]
        if self._first is not None:
            panes.sum1[0], panes.sum2[0] = self._first[0][until], self._first[1][until]


def _accumulated(sum1: Any, sum2: Any, x: Floats, sign: float) -> _Sums:
    """Sums before and after each row, added one after the other, so that they are the same in any batches."""
    return (
        np.add.accumulate(np.concatenate(([sum1], sign * x))),
        np.add.accumulate(np.concatenate(([sum2], sign * (x * x)))),
    )


def _mean_and_spread(count: Any, sum1: Any, sum2: Any, origin: float) -> tuple[Any, Any]:
    mean = sum1 / count
    return origin + mean, np.sqrt(np.maximum(sum2 / count - mean * mean, 0.0) / count)


def mean_above(origin: Any, above: Any, count: Any) -> Any:
    """The average of numbers that are `above` more than `origin`, all together. Of whole numbers it is the nearest double, as who
    adds them up and divides finds it; others are added to the origin last, so that equal ones have themselves as average."""
    total = origin * count + above
    whole = (np.floor(origin) == origin) & (np.floor(above) == above)
    whole &= (np.abs(origin * count) < _EXACT) & (np.abs(above) < _EXACT) & (np.abs(total) < _EXACT)
    return np.where(whole, total / count, origin + above / count)


def _added(start: Any, weight: Floats | None, count: int) -> float:
    """`start` plus all weights (one each, when None), one after the other."""
    if weight is None:
        return float(start) + count
    return float(np.add.accumulate(np.concatenate(([start], weight)))[-1])
