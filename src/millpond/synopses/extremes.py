"""The smallest and largest value in a window, exactly."""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from millpond.synopses.base import Estimate, Synopsis, SynopsisError, Timeline, in_a_row, whole_numbers
from millpond.synopses.layout import Ints, StateReader, StateWriter

# Whole numbers up to this are exact as floats.
EXACT = 1 << 53


class _Minima:
    """Values that are smaller than everything after them, oldest first: both times and values increase.

    The smallest value of a window is the first of these inside it. What has left the window is taken away when it is half of all,
    so that taking away costs O(1) on average.
    """

    __slots__ = ("times", "values")

    def __init__(self, code: str) -> None:
        self.times = array("q")
        self.values: array[Any] = array(code)

    def push(self, time: int, value: Any) -> None:
        keep = bisect_left(self.values, value)
        del self.times[keep:], self.values[keep:]
        self.times.append(time)
        self.values.append(value)

    def extend(self, times: Ints, values: npt.NDArray[Any]) -> None:
        least_after = np.minimum.accumulate(values[::-1])[::-1]
        keep = np.flatnonzero(np.append(values[:-1] < least_after[1:], True))
        before = bisect_left(self.values, least_after[0])
        del self.times[before:], self.values[before:]
        self.times.frombytes(times[keep].astype(np.int64, copy=False).tobytes())
        self.values.frombytes(values[keep].tobytes())

    def expire(self, begin: int) -> None:
        if self.times and self.times[len(self.times) // 2] <= begin:
            gone = bisect_right(self.times, begin)
            del self.times[:gone], self.values[:gone]

    def least(self, begin: int) -> Any:
        """The smallest value after `begin`, or None."""
        at = bisect_right(self.times, begin)
        return self.values[at] if at < len(self.values) else None


class SlidingExtremes(Synopsis):
    """The smallest and the largest value in any window up to `window`: exact, merged or not.

    No synopsis of bounded size can do this. It holds the values that are smaller (larger) than all after them: of values in
    random order about ln N of them, of values that only rise or fall all N. Adding costs O(1) on average, asking O(log N). Equal
    values count once, the newest. With `integers=True` values are whole numbers of up to 62 bits, else floats.
    """

    KIND = b"SEXT"

    def __init__(self, window: int, rows: bool = False, integers: bool = False) -> None:
        self.timeline = Timeline(window, rows)
        self.integers = bool(integers)
        code = "q" if integers else "d"
        self._ends = (_Minima(code), _Minima(code))
        """Of the values, and of the values times -1."""

    def parameters(self) -> tuple[Any, ...]:
        return (self.timeline.window, self.timeline.rows, self.integers)

    @property
    def error(self) -> float:
        return 0.0

    def min(self, window: int | None = None, now: int | None = None) -> float | int | None:
        """The smallest value; None where the window is empty."""
        least: float | int | None = self._ends[0].least(self.timeline.begin(window, now))
        return least

    def max(self, window: int | None = None, now: int | None = None) -> float | int | None:
        """The largest value; None where the window is empty."""
        least: float | int | None = self._ends[1].least(self.timeline.begin(window, now))
        return None if least is None else -least

    def estimate(self, window: int | None = None, now: int | None = None) -> Estimate:
        """Largest minus smallest; 0 where the window is empty."""
        low, high = self.min(window, now), self.max(window, now)
        return Estimate.exactly(0 if low is None or high is None else high - low)

    def _numbers(self, values: npt.ArrayLike) -> npt.NDArray[Any]:
        if self.integers:
            return whole_numbers("values", values)
        given = in_a_row("values", values)
        if given.dtype.kind in "iu" and given.size and max(-int(given.min()), int(given.max())) > EXACT:
            raise SynopsisError("a value is not exact as a float", hint="Make it with integers=True.")
        if given.dtype.kind not in "iufb" and given.size:
            raise SynopsisError(f"values must be numbers, not {given.dtype}")
        numbers = given.astype(np.float64)
        if np.isnan(numbers).any():
            raise SynopsisError("a value is not a number")
        return numbers + 0.0  # minus zero is zero

    def add(self, time: int | None = None, value: Any = 1) -> None:
        number = self._numbers([value]).item()
        stamp = self.timeline.one(time)
        for end, signed in zip(self._ends, (number, -number), strict=True):
            end.push(stamp, signed)
            end.expire(stamp - self.timeline.window)
        self.timeline.now = stamp

    def add_many(self, times: npt.ArrayLike | None, values: npt.ArrayLike | None = None) -> None:
        if values is None:
            raise SynopsisError("extremes need the values")
        numbers = self._numbers(values)
        stamps = self.timeline.many(times, len(numbers))
        if not len(stamps):
            return
        self._take(stamps, numbers, -numbers)
        self.timeline.now = int(stamps[-1])

    def _take(self, stamps: Ints, *signed: npt.NDArray[Any]) -> None:
        begin = int(stamps[-1]) - self.timeline.window
        first = int(np.searchsorted(stamps, begin, side="right"))
        for end, numbers in zip(self._ends, signed, strict=True):
            end.extend(stamps[first:], numbers[first:])
            end.expire(begin)

    def merge(self, other: Self) -> Self:
        self._check_mergeable(other)
        if self.timeline.rows:
            raise SynopsisError("extremes over rows do not merge", hint="Use a window of time.")
        both = type(self)(*self.parameters())
        both.timeline.now = max(self.timeline.now, other.timeline.now)
        for end, mine, theirs in zip(both._ends, self._ends, other._ends, strict=True):
            times = np.array(mine.times + theirs.times, dtype=np.int64)
            if len(times):
                order = np.argsort(times, kind="stable")
                end.extend(times[order], np.array(mine.values + theirs.values)[order])
                end.expire(both.timeline.now - both.timeline.window)
        return both

    @property
    def nbytes(self) -> int:
        return sum(16 * len(end.times) for end in self._ends) + 3 * 8

    def _write(self, writer: StateWriter) -> None:
        writer.number(*self.parameters(), self.timeline.now)
        for end in self._ends:
            writer.numbers(np.array(end.times, dtype=np.int64))
            writer.array(np.array(end.values, dtype=np.int64 if self.integers else np.float64))

    @classmethod
    def _read(cls, reader: StateReader, version: int) -> Self:
        made = cls(reader.number(), bool(reader.number()), bool(reader.number()))
        made.timeline.now = reader.number()
        for end in made._ends:
            end.times.frombytes(reader.numbers().tobytes())
            end.values.frombytes(reader.array().tobytes())
        return made
