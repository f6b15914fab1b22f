"""Approximate aggregates: groups over a window of time, each held as a synopsis instead of its rows.

    SELECT seg, APPROX_COUNT(*, 0.01) AS n FROM tolls [INTERVAL '24' HOUR] GROUP BY seg SAMPLE INTERVAL '1' SECOND

Invariant. `Approximated` has taken in the rows up to `upto`, those of the window ending there at least. Which groups appear, and
where a sum is NULL, is exact: it follows from the time of a group's newest row, and of its newest value. Counts and sums are
within the error that was given; which number within it may depend on batches and on rows that have left the window.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from sqlglot import exp

from millpond.arrow import integers
from millpond.network.groups import Groups
from millpond.network.prepare import Prepared
from millpond.network.shapes import Item, Shape, by_time, shape_of_items, stretches
from millpond.query.approximate import mark_of
from millpond.schema import Schema
from millpond.synopses import GroupedExponentialHistogram, GroupedSlidingSum

Ints = npt.NDArray[np.int64]

MOST = 1 << 53
"""The largest value that is summed."""
_FEW = 1024  # groups that are kept in any case
_NEVER = -(1 << 62)


@dataclass(frozen=True)
class Measure:
    """What a synopsis is of: `column` None is COUNT(*)."""

    function: str
    column: str | None
    eps: float

    @property
    def columns(self) -> tuple[str, ...]:
        return () if self.column is None else (self.column,)


def approximate_shape(prepared: Prepared) -> Shape[Measure] | None:
    """What a query asks that synopses can answer; None if it is of another form."""
    tree, use = prepared.bound.tree, prepared.streams[0]
    if not by_time(use.window) or use.window is None or use.window.interval is None:
        return None
    return shape_of_items(prepared, tree, lambda node: _measured(node, use.columns))


def _measured(node: exp.Expr, columns: Schema) -> Item[Measure] | None:
    mark = mark_of(node)
    if mark is None:
        return None
    inner = node.this.this
    if mark.function == "count" and isinstance(inner, (exp.Star, exp.Literal)):
        return Item("", Measure("count", None, mark.eps), mark.shown)
    if not isinstance(inner, exp.Column):
        return None
    if mark.function == "sum" and not columns.find(inner.name, "it").type.is_integer:
        return None
    return Item("", Measure(mark.function, inner.name, mark.eps), mark.shown)


class Clock:
    """Times as the synopses count them. A window [t - interval, t] holds both ends.

    Where instants and the window are multiples of a slide, time is counted in halves of it: 2k at k slides, 2k - 1 between there
    and the slide before. That is all a window can tell apart, and small numbers take less memory.
    """

    def __init__(self, interval: int, slide: int | None) -> None:
        self._slide = slide if slide is not None and interval % slide == 0 else None
        self.window = interval + 1 if self._slide is None else 2 * (interval // self._slide) + 1

    def __call__(self, ticks: Ints) -> Ints:
        if self._slide is None:
            return ticks
        halves: Ints = -(-ticks // self._slide) * 2 - (ticks % self._slide != 0)
        return halves


class Approximated:
    """The synopses of all groups, up to `upto`."""

    def __init__(self, shape: Shape[Measure], schema: pa.Schema, upto: int, interval: int, slide: int | None) -> None:
        self.shape = shape
        self.upto = upto
        self._interval = interval
        self._clock = Clock(interval, slide)
        self._groups = Groups(schema, shape.groups)
        # A group's number changes when others are let go, its place in the synopses does not.
        self._place: Ints = np.zeros(0, dtype=np.int64)
        self._free: Ints = np.zeros(0, dtype=np.int64)
        self._used = 0
        self._last: Ints = np.zeros(0, dtype=np.int64)
        self._last_value: dict[str, Ints] = {c: np.zeros(0, dtype=np.int64) for c in shape.needs}
        self._made: dict[Measure, GroupedExponentialHistogram | GroupedSlidingSum] = {}
        for measure in shape.measures:
            if measure.function == "count":
                self._made[measure] = GroupedExponentialHistogram(measure.eps, self._clock.window)
            else:
                self._made[measure] = GroupedSlidingSum(measure.eps, self._clock.window, MOST)
        self._make_room()

    @property
    def rows(self) -> int:
        return self._groups.size

    @property
    def bytes(self) -> int:
        arrays = [self._place, self._free, self._last, *self._last_value.values()]
        return sum(a.nbytes for a in arrays) + sum(m.nbytes for m in self._made.values()) + self._groups.bytes

    def past(self) -> Iterator[tuple[int, int]]:
        """The stretches of time that the window at `upto` has, in order; both ends belong to them."""
        return stretches(self.upto - self._interval, self.upto)

    def take_in(self, rows: pa.Table, moments: Ints) -> None:
        """Bring in rows, which come after all that were brought in."""
        if not len(moments):
            return
        if (moments[1:] < moments[:-1]).any():
            order = np.argsort(moments, kind="stable")
            rows, moments = rows.take(pa.array(order)) if rows.num_columns else rows, moments[order]
        times = self._clock(moments)
        groups = self._groups.find(rows, len(moments))
        self._make_room()
        self._last[groups] = times  # of equal groups the last one, the newest, stays
        places = self._place[groups]
        valid: dict[str, npt.NDArray[np.bool_] | None] = {}
        for name in self.shape.needs:
            column = rows.column(name)
            known = column.is_valid().to_numpy() if column.null_count else None
            valid[name] = known
            if known is None:
                self._last_value[name][groups] = times
            else:
                self._last_value[name][groups[known]] = times[known]
        for measure, synopsis in self._made.items():
            if measure.column is None:
                synopsis.add_many(places, times)
            elif measure.function == "count":
                synopsis.add_many(places, times, valid[measure.column])
            else:
                column = rows.column(measure.column)
                values = integers(column.fill_null(0) if column.null_count else column)
                synopsis.add_many(places, times, values.astype(np.int64, copy=False))

    def content(self) -> pa.Table:
        """All groups with rows in the window, as they are at `upto`."""
        now = int(self._clock(np.array([self.upto], dtype=np.int64))[0])
        begin = now - self._clock.window
        live = np.flatnonzero(self._last[: self._groups.size] > begin)
        if not self.shape.groups:
            live = np.zeros(1, dtype=np.int64)
        elif self._groups.size > max(_FEW, 2 * len(live)):
            live = self._let_go(live)
        found = {m: s.estimate(self._place[live], now=now) for m, s in self._made.items()}
        arrays = []
        for item in self.shape.items:
            if item.measure is None:
                arrays.append(self._groups.column(item.column, live))
                continue
            nulls = None
            if item.measure.function == "sum":
                nulls = self._last_value[item.measure.column or ""][live] <= begin
            arrays.append(pa.chunked_array([pa.array(getattr(found[item.measure], item.shown), mask=nulls)]))
        return pa.Table.from_arrays(arrays, names=[str(i) for i in range(len(arrays))])

    def _make_room(self) -> None:
        """A place for each new group."""
        new = self._groups.size - len(self._place)
        if new <= 0:
            return
        old, self._free = self._free[:new], self._free[new:]
        fresh = self._used + np.arange(new - len(old))
        self._used += len(fresh)
        self._place = np.concatenate([self._place, old, fresh])
        nothing = np.full(new, _NEVER)
        self._last = np.concatenate([self._last, nothing])
        self._last_value = {c: np.concatenate([v, nothing]) for c, v in self._last_value.items()}
        for synopsis in self._made.values():
            synopsis.reserve(self._used)

    def _let_go(self, live: Ints) -> Ints:
        """Forget groups without rows in the window; the numbers of the others afterwards."""
        gone = np.ones(self._groups.size, dtype=np.bool_)
        gone[live] = False
        places = self._place[gone]
        for synopsis in self._made.values():
            synopsis.clear(places)
        self._free = np.concatenate([self._free, places])
        self._groups, numbers = self._groups.only(live)
        moved = np.empty(len(live), dtype=np.int64)
        moved[numbers] = live
        self._place, self._last = self._place[moved], self._last[moved]
        self._last_value = {c: v[moved] for c, v in self._last_value.items()}
        return np.arange(len(live))
