"""Partitioned windows before and after each instant, for the keys that change at it.

All queries over the same partitioned window of a stream share its slots and, in a step, one computation of what
changed. For every key and instant with new rows there is the window's content after the instant and before it; rows, and
the rows before them that PREV asks for, are found in the layout of `keyed_rows` by arithmetic. Where each row is an instant, it
is the same with every new row.
"""

from __future__ import annotations

import copy
from collections.abc import Iterable
from functools import cached_property

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from millpond.arrow import distinct
from millpond.event_time import NEVER
from millpond.network.buffers.keyed_rows import KeyedRows, Layout
from millpond.network.time.inlet import Inlet
from millpond.predicate.vector import Columns
from millpond.query.binding.uses import Previous

Ints = npt.NDArray[np.int64]
_LEAST = np.iinfo(np.int64).min


class Side:
    """Window contents, one after another: `at` are rows of the layout, `low` where each row's window begins."""

    def __init__(self, layout: Layout, at: Ints, low: Ints, moments: Ints) -> None:
        self._layout = layout
        self.at, self.low, self.moments = at, low, moments
        self._columns: dict[str, pa.ChunkedArray] = {}
        self.columns = Columns(self)

    @classmethod
    def of_windows(cls, layout: Layout, ends: Ints, lows: Ints, moments: Ints, k: int) -> Side:
        """The windows of at most k rows that end at `ends` and do not begin before `lows`."""
        at = ends[:, None] - np.arange(k - 1, -1, -1)[None, :]
        low = np.maximum(lows, ends - k + 1)
        inside = at >= low[:, None]
        wide = at.shape
        return cls(
            layout,
            at[inside],
            np.broadcast_to(low[:, None], wide)[inside],
            np.broadcast_to(moments[:, None], wide)[inside],
        )

    def during(self, first: int, end: int) -> Side:
        """The contents at the instants from `first` up to, not with, `end`."""
        one = copy.copy(self)
        here = (self.moments >= first) & (self.moments < end)
        one.at, one.low, one.moments = self.at[here], self.low[here], self.moments[here]
        one._columns = {}
        one.columns = Columns(one)
        return one

    @property
    def size(self) -> int:
        return len(self.at)

    def column(self, name: str) -> pa.ChunkedArray:
        """A column of all rows; `__prev_1_seg` is that of the rows before them."""
        if name not in self._columns:
            self._columns[name] = self._taken(name, slice(None))
        return self._columns[name]

    def rows(self, names: Iterable[str], places: Ints | None) -> pa.Table:
        """Some of the rows (None: all), with these columns."""
        if places is None:
            return pa.table({name: self.column(name) for name in names})
        return pa.table({name: self._taken(name, places) for name in names})

    def _taken(self, name: str, places: Ints | slice) -> pa.ChunkedArray:
        at = self.at[places]
        previous = Previous.of(name)
        if previous is None:
            return self._layout.rows.column(name).take(pa.array(at))
        back = at - previous.back
        return self._layout.rows.column(previous.column).take(
            pa.array(np.maximum(back, 0), mask=back < self.low[places])
        )


class Change:
    """What a step changed: contents of the touched windows after and before each instant, made when asked for. An instant is a
    time or, `by_row`, a new row, known by its rank."""

    def __init__(self, layout: Layout, k: int, *, by_row: bool = False) -> None:
        self._layout, self._k, self._by_row = layout, k, by_row
        self._newest: dict[int | None, Side] = {}
        self._after: dict[int | None, Side] = {}
        self._before: dict[tuple[int, int | None] | None, Side] = {}
        times, first, new = layout.times, layout.first, layout.new
        if by_row:
            self._ends = self._begins = np.flatnonzero(new)
            self._moments = layout.ranks
        elif len(times):
            differs = (first[1:] != first[:-1]) | (times[1:] != times[:-1])
            self._ends = np.flatnonzero(new & np.r_[differs, True])
            self._begins = np.flatnonzero(new & np.r_[True, differs])
            self._moments = times[self._ends]
        else:
            self._ends = self._begins = self._moments = np.zeros(0, dtype=np.int64)

    @cached_property
    def each_row(self) -> Change:
        """The same step with each row as an instant."""
        return Change(self._layout, self._k, by_row=True)

    def after(self, interval: int | None) -> Side:
        """The windows after each instant. No row of a window is older than `interval`."""
        if interval not in self._after:
            self._after[interval] = self._windows(self._ends, interval, self._times)
        return self._after[interval]

    def before(self, interval: int | None, last: int | None) -> Side:
        """The windows before it, thus at the instant before, which is `last` for the first of the step."""
        key = None if interval is None else (interval, last)
        if key not in self._before:
            self._before[key] = self._windows(self._begins - 1, interval, self._times_before(last))
        return self._before[key]

    def _windows(self, ends: Ints, interval: int | None, times: Ints) -> Side:
        layout = self._layout
        lows = layout.first[self._ends]
        if interval is not None:
            lows = _reaching(layout.times, lows, ends, _back(times, interval))
        return Side.of_windows(layout, ends, lows, self._moments, self._k)

    @cached_property
    def _times(self) -> Ints:
        """The times of the instants."""
        return self._layout.times[self._ends]

    def _times_before(self, last: int | None) -> Ints:
        """The times of the instants before them."""
        layout = self._layout
        first = NEVER if last is None else last
        if self._by_row:
            times = np.empty(len(layout.ranks), dtype=np.int64)
            times[layout.ranks] = layout.times[layout.new]
            known: Ints = np.r_[first, times][self._moments]
            return known
        different = distinct(self._times)
        found: Ints = np.r_[first, different][np.searchsorted(different, self._times)]
        return found

    def newest(self, interval: int | None) -> Side:
        """Of the windows after each instant the rows of the instant, in the order of the instants. No row of a window is
        older than `interval`."""
        if interval not in self._newest:
            self._newest[interval] = self._make_newest(interval)
        return self._newest[interval]

    def _make_newest(self, interval: int | None) -> Side:
        layout = self._layout
        at = np.flatnonzero(layout.new)
        end = self._ends[np.searchsorted(self._ends, at)]
        low = np.maximum(layout.first[at], end - self._k + 1)
        moments = layout.ranks if self._by_row else layout.times[at]
        inside = at >= low
        if not inside.all():
            at, low, moments = at[inside], low[inside], moments[inside]
        if (moments[1:] < moments[:-1]).any():
            order = np.argsort(moments, kind="stable")
            at, low, moments = at[order], low[order], moments[order]
        if interval is not None:
            low = _reaching(layout.times, low, at, _back(layout.times[at], interval))
        return Side(layout, at, low, moments)


def _back(times: Ints, interval: int) -> Ints:
    """So much earlier, or the earliest time there is."""
    return np.maximum(times, _LEAST + interval) - interval


def _reaching(times: Ints, low: Ints, end: Ints, least: Ints) -> Ints:
    """Of each run of rows from `low` up to `end`, which is in order of time, the first that is not earlier than `least`; what
    follows its end if there is none."""
    if not len(times) or times.min() >= least.max(initial=_LEAST):
        return low
    low, high = low.copy(), np.maximum(end + 1, low)
    while (open_ := low < high).any():
        middle = (low + high) // 2
        early = open_ & (times[np.minimum(middle, len(times) - 1)] < least)
        low, high = np.where(early, middle + 1, low), np.where(open_ & ~early, middle, high)
    return low


class Neighbours:
    """The slots of one partitioned window, up to `upto`."""

    def __init__(self, inlet: Inlet, keys: tuple[str, ...], k: int, upto: int) -> None:
        self.rows = KeyedRows(inlet.schema, inlet.time_column, keys, k)
        self.upto = upto
        self._step: tuple[int, int, Change] | None = None

    def fill(self, rows: pa.Table) -> None:
        self.rows.fill(rows)

    def advance(self, inlet: Inlet, begin: int, frontier: int) -> Change:
        """Bring in the rows with begin <= time < frontier; asked again for the same, the same answer."""
        if self._step is not None and self._step[:2] == (begin, frontier):
            return self._step[2]
        assert begin == self.upto + 1, "a partitioned window goes on where it stands"
        rows = inlet.between(begin, frontier - 1)
        layout = self.rows.take_in(rows)
        self.upto = frontier - 1
        self._step = (begin, frontier, Change(layout, self.rows.k))
        return self._step[2]

    def stands_at(self, upto: int) -> bool:
        """Whether it holds the rows up to `upto`, or did at the beginning of this step."""
        return self.upto == upto or (self._step is not None and self._step[0] == upto + 1)

    def forget_step(self) -> None:
        self._step = None
