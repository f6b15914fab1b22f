"""How many, and how much, in any window up to a declared one: exponential histograms."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
import numpy.typing as npt

from millpond.synopses.base import (
    TOO_LARGE,
    Estimate,
    Synopsis,
    SynopsisError,
    Timeline,
    amounts,
    check_eps,
    which_count,
    whole,
)
from millpond.synopses.canonical import Canonical, bucket_bound, ratio_error, spread_for
from millpond.synopses.layout import Ints, StateReader, StateWriter

# Single values wait here until there are enough to go in together: at least log2 of any number of rows.
BUFFER = 64


class _Bucketed(Synopsis):
    """What counting and summing share: canonical buckets, a timeline, and merging.

    Merging moves the units of a bucket to its newest time. The ratio of the bounds, 1 + 1/s with s = floor(ceil(1/eps) / 2),
    is multiplied by itself once more for each generation of merging; `error` says what that leaves. Merged two by two in a
    tree, 2**g parts take g generations. A window that reaches back to the very first element is exact, merged or not.
    """

    def __init__(self, eps: float, window: int, rows: bool = False) -> None:
        self.eps = check_eps(eps)
        self.timeline = Timeline(window, rows)
        self.buckets = Canonical(spread_for(self.eps))

    @property
    def window(self) -> int:
        return self.timeline.window

    @property
    def error(self) -> float:
        return ratio_error(self.buckets.ratio)

    def advance(self, now: int) -> None:
        """Nothing older than `now` will come; what has left the window is forgotten."""
        if self.timeline.rows:
            raise SynopsisError("the time of a synopsis over rows is its number of rows", hint="Add the rows.")
        self.timeline.now = self.timeline.one(now)
        self.buckets.expire(self.timeline.now - self.window)

    def estimate(self, window: int | None = None, now: int | None = None) -> Estimate:
        return Estimate.between(*self.buckets.within(self.timeline.begin(window, now)))

    def merge(self, other: Self) -> Self:
        self._check_mergeable(other)
        if self.timeline.rows:
            raise SynopsisError(
                f"two {type(self).__name__} over rows do not merge",
                detail="Nobody knows in which order the rows of the two streams came.",
                hint="Use a window of time.",
            )
        both = self._empty()
        both.timeline.now = max(self.timeline.now, other.timeline.now)
        both.buckets = self.buckets.merged(other.buckets)
        both.buckets.expire(both.timeline.now - both.window)
        return both

    def _empty(self) -> Self:
        return type(self)(*self.parameters())

    def _admit(self, times: Ints, weights: Ints | None) -> None:
        """Checked units into the buckets, without those that leave the window before the batch ends."""
        begin = int(times[-1]) - self.window
        self.buckets.expire(begin)
        gone = int(np.searchsorted(times, begin, side="right"))
        self.buckets.extend(times[gone:], None if weights is None else weights[gone:])

    @property
    def nbytes(self) -> int:
        return self.buckets.nbytes + 4 * 8

    def _write(self, writer: StateWriter) -> None:
        writer.real(self.eps)
        writer.number(self.window, self.timeline.rows, self.timeline.now)
        self.buckets.write(writer)


class ExponentialHistogram(_Bucketed):
    """How many ones, in any window up to `window`.

    The relative error is at most eps, for every window, and windows with few ones are exact. There are never more than
    (k/2 + 1)(log2(2N/k + 1) + 1) buckets, where k = ceil(1/eps) and N is the number of ones in the window. Adding one costs O(1)
    on average, asking O(1): a number of steps that follows the logarithm of the number of buckets.

    >>> histogram = ExponentialHistogram(eps=0.1, window=60)
    >>> histogram.add_many([1, 2, 2, 50, 70], [1, 0, 1, 1, 1])
    >>> histogram.count(), histogram.count(window=10)
    (Estimate(value=2, lower=2, upper=2), Estimate(value=1, lower=1, upper=1))
    """

    KIND = b"EHIS"

    def parameters(self) -> tuple[Any, ...]:
        return (self.eps, self.window, self.timeline.rows)

    def count(self, window: int | None = None, now: int | None = None) -> Estimate:
        return self.estimate(window, now)

    @property
    def bucket_bound(self) -> float:
        """The most buckets it may have for the ones it now counts."""
        return bucket_bound(self.eps, self.buckets.within(self.timeline.now - self.window)[0])

    def add(self, time: int | None = None, value: Any = 1) -> None:
        time = self.timeline.one(time)
        self.timeline.now = time
        buckets = self.buckets
        if buckets.levels and buckets.levels[-1][0] <= time - self.timeline.window:
            buckets.expire(time - self.timeline.window)
        if value:
            buckets.push(time)

    def add_many(self, times: npt.ArrayLike | None, values: npt.ArrayLike | None = None) -> None:
        """`values`: 1 or true for a row that counts, 0 or false for one that does not; left out, all count."""
        bits = None if values is None else which_count(values)
        stamps = self.timeline.many(times, None if bits is None else len(bits))
        if not len(stamps):
            return
        now = int(stamps[-1])
        if bits is not None:
            ones = np.flatnonzero(bits)
            if len(ones) < len(stamps):
                stamps = stamps[ones]
        if len(stamps):
            self._admit(stamps, None)
        self.timeline.now = now
        self.buckets.expire(now - self.window)

    @classmethod
    def _read(cls, reader: StateReader, version: int) -> Self:
        made = cls(reader.real(), reader.number(), bool(reader.number()))
        made.timeline.now = reader.number()
        made.buckets = Canonical.read(reader, made.buckets.spread)
        return made


class SlidingSum(_Bucketed):
    """The sum of whole numbers from 0 to `max_value`, in any window up to `window`.

    The relative error is at most eps, for every window. A value v counts as v units at one time, so there are at most
    (k/2 + 1)(log2(2NR/k + 1) + 1) buckets for N rows of at most R = `max_value`; a buffer of 64 values holds those that were
    added singly. Adding costs O(1) on average while R is polynomial in N.
    """

    KIND = b"SSUM"

    def __init__(self, eps: float, window: int, max_value: int = (1 << 31) - 1, rows: bool = False) -> None:
        super().__init__(eps, window, rows)
        self.max_value = whole("max_value", max_value, 1)
        self._times: list[int] = []
        self._values: list[int] = []
        self._buffered = 0

    def parameters(self) -> tuple[Any, ...]:
        return (self.eps, self.window, self.max_value, self.timeline.rows)

    def sum(self, window: int | None = None, now: int | None = None) -> Estimate:
        return self.estimate(window, now)

    def estimate(self, window: int | None = None, now: int | None = None) -> Estimate:
        begin = self.timeline.begin(window, now)
        lower, upper = self.buckets.within(begin)
        if self._times:
            if self._times[0] > begin:
                fresh = self._buffered
            else:
                fresh = sum(v for t, v in zip(self._times, self._values, strict=True) if t > begin)
            lower, upper = lower + fresh, upper + fresh
        return Estimate.between(lower, upper)

    def add(self, time: int | None = None, value: Any = 1) -> None:
        value = whole("a value", value, 0, self.max_value)
        time = self.timeline.one(time)
        if len(self._times) == BUFFER:
            self.flush()
        self.timeline.now = time
        if value:
            self._times.append(time)
            self._values.append(value)
            self._buffered += value

    def add_many(self, times: npt.ArrayLike | None, values: npt.ArrayLike | None = None) -> None:
        """`values` left out are all 1."""
        numbers = None if values is None else amounts(values, self.max_value)
        stamps = self.timeline.many(times, None if numbers is None else len(numbers))
        if not len(stamps):
            return
        now = int(stamps[-1])
        if numbers is not None:
            if int(numbers.max()) * len(numbers) + self.buckets.total + self._buffered >= TOO_LARGE:
                raise SynopsisError("the total of this window is too large", detail="Totals have at most 62 bits.")
            some = np.flatnonzero(numbers)
            if len(some) < len(numbers):
                stamps, numbers = stamps[some], numbers[some]
        self.flush()
        if len(stamps):
            self._admit(stamps, numbers)
        self.timeline.now = now
        self.buckets.expire(now - self.window)

    def advance(self, now: int) -> None:
        self.flush()
        super().advance(now)

    def flush(self) -> None:
        """The buffer into the buckets."""
        if self._times:
            self._admit(np.array(self._times, dtype=np.int64), np.array(self._values, dtype=np.int64))
            self._times, self._values, self._buffered = [], [], 0

    def merge(self, other: Self) -> Self:
        self.flush()
        if isinstance(other, SlidingSum):
            other.flush()
        return super().merge(other)

    @property
    def nbytes(self) -> int:
        return super().nbytes + 2 * 8 + 16 * len(self._times)

    def _write(self, writer: StateWriter) -> None:
        self.flush()
        writer.number(self.max_value)
        super()._write(writer)

    @classmethod
    def _read(cls, reader: StateReader, version: int) -> Self:
        max_value = reader.number()
        made = cls(reader.real(), reader.number(), max_value, bool(reader.number()))
        made.timeline.now = reader.number()
        made.buckets = Canonical.read(reader, made.buckets.spread)
        return made
