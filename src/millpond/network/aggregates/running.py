"""Running aggregates: groups over a window that only grows, kept as one row of numbers for each group.

    SELECT ISTREAM vid, SUM(toll) AS balance FROM charges [UNBOUNDED] GROUP BY vid SAMPLE REALTIME

The rows of such a window need not be held: COUNT, SUM, AVG, MIN and MAX follow from what they were and what came. At an
instant only the groups with rows of that instant change, so what is new costs what arrives, not what was.

Invariant. `Running` holds the aggregates over exactly the rows up to `upto` that were taken in, whatever batches they came
in: sums are of integers, which add up to the same in any order.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from millpond.arrow import integers
from millpond.errors import EngineError
from millpond.network.aggregates.groups import Groups
from millpond.network.aggregates.shape import Shape

Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]

_START = {"sum": 0, "min": np.iinfo(np.int64).max, "max": np.iinfo(np.int64).min}
_SURE = 2.0**62  # sums below it cannot leave BIGINT, however a float rounds


@dataclass(frozen=True)
class Aggregate:
    """count, sum, avg, min or max of a column; without one it is COUNT(*)."""

    function: str
    column: str | None

    @property
    def columns(self) -> tuple[str, ...]:
        return () if self.column is None else (self.column,)

    @property
    def held_as(self) -> str:
        """What is held of the column for it."""
        return "sum" if self.function == "avg" else self.function


class Running:
    """The aggregates of all groups, up to `upto`."""

    def __init__(self, shape: Shape[Aggregate], schema: pa.Schema, upto: int) -> None:
        self.shape = shape
        self.upto = upto
        self._schema = schema
        self._groups = Groups(schema, shape.groups)
        self._rows: Ints = np.zeros(0, dtype=np.int64)
        self._valid: dict[str, Ints] = {c: np.zeros(0, dtype=np.int64) for c in shape.needs}
        self._kept: dict[tuple[str, str], Ints] = {}
        for measure in shape.measures:
            if measure.column is not None and measure.function != "count":
                self._kept[measure.held_as, measure.column] = np.zeros(0, dtype=np.int64)

    @property
    def rows(self) -> int:
        return self._groups.size

    @property
    def bytes(self) -> int:
        arrays = [self._rows, *self._valid.values(), *self._kept.values()]
        return sum(a.nbytes for a in arrays) + self._groups.bytes

    def take_in(self, rows: pa.Table, moments: Ints) -> None:
        """Bring in rows and tell nothing about it."""
        for _ in self._changes(rows, np.zeros(len(moments), dtype=np.int64)):
            pass

    def changes(self, rows: pa.Table, moments: Ints, operator: str) -> tuple[pa.Table, Ints]:
        """Bring in rows, which are sorted by their moments; what is new (or gone) at each moment, and the moments."""
        found = list(self._changes(rows, moments))
        parts = []
        times = []
        for slots, before, after, moment in found:
            existed = before.rows > 0
            differs = ~existed | self._differs(before, after)
            shown = differs if operator == "istream" else differs & existed
            side = after if operator == "istream" else before
            parts.append(self._shown(slots[shown], side.taken(shown)))
            times.append(moment[shown])
        if not parts:
            return self._shown(np.zeros(0, dtype=np.int64), self._at(np.zeros(0, dtype=np.int64))), np.zeros(
                0, np.int64
            )
        whole, when = pa.concat_tables(parts), np.concatenate(times)
        if (when[1:] < when[:-1]).any():
            order = np.argsort(when, kind="stable")
            whole, when = whole.take(pa.array(order)), when[order]
        return whole, when

    def content(self) -> pa.Table:
        """All groups as they are."""
        slots = np.arange(self._groups.size)
        return self._shown(slots, self._at(slots))

    # -- state ------------------------------------------------------------------------------------------------------

    def _changes(self, rows: pa.Table, moments: Ints) -> Iterator[tuple[Ints, GroupValues, GroupValues, Ints]]:
        """(slots, values before, values after, moments), each slot at most once in each."""
        if not rows.num_rows:
            return
        slots = self._groups.find(rows, rows.num_rows)
        self._make_room()
        order = (
            np.lexsort((moments, slots)) if (moments[1:] != moments[:-1]).any() else np.argsort(slots, kind="stable")
        )
        slots, moments = slots[order], moments[order]
        new_slot = np.r_[True, slots[1:] != slots[:-1]]
        begins = np.flatnonzero(new_slot | np.r_[True, moments[1:] != moments[:-1]])
        added = self._reduced(rows, order, begins)
        slots, moments = slots[begins], moments[begins]
        first = np.flatnonzero(new_slot[begins])
        rank = np.arange(len(begins)) - np.repeat(first, np.diff(np.r_[first, len(begins)]))
        for turn in range(int(rank.max()) + 1):
            here = np.flatnonzero(rank == turn)
            touched = slots[here]
            before = self._at(touched)
            after = before.plus(added.taken(here))
            self._put(touched, after)
            yield touched, before, after, moments[here]

    def _make_room(self) -> None:
        size, have = self._groups.size, len(self._rows)
        if size <= have:
            return
        size = max(size, 2 * have, 1024)

        def grown(old: Ints, start: int) -> Ints:
            new = np.full(size, start, dtype=np.int64)
            new[:have] = old
            return new

        self._rows = grown(self._rows, 0)
        self._valid = {c: grown(v, 0) for c, v in self._valid.items()}
        self._kept = {(f, c): grown(v, _START[f]) for (f, c), v in self._kept.items()}

    def _reduced(self, rows: pa.Table, order: Ints, begins: Ints) -> GroupValues:
        """The aggregates of each run of rows; `order` puts rows into runs, which start at `begins`."""
        counts = np.diff(np.r_[begins, len(order)])
        valid: dict[str, Ints] = {}
        kept: dict[tuple[str, str], Ints] = {}
        for name in self.shape.needs:
            column = rows.column(name)
            nulls: Bools | None = None
            if column.null_count:
                nulls = column.is_null().to_numpy()[order]
            valid[name] = counts if nulls is None else np.add.reduceat((~nulls).astype(np.int64), begins)
            wanted = [f for f, c in self._kept if c == name]
            if not wanted:
                continue
            values = _whole_numbers(column)[order]
            for function in wanted:
                chosen = values if nulls is None else np.where(nulls, _START[function], values)
                if function == "sum":
                    kept[function, name] = _sums(chosen, begins, int(counts.max()), name)
                else:
                    kept[function, name] = _REDUCE[function].reduceat(chosen, begins)
        return GroupValues(counts, valid, kept)

    def _at(self, slots: Ints) -> GroupValues:
        return GroupValues(
            self._rows[slots],
            {c: v[slots] for c, v in self._valid.items()},
            {k: v[slots] for k, v in self._kept.items()},
        )

    def _put(self, slots: Ints, values: GroupValues) -> None:
        self._rows[slots] = values.rows
        for name, counts in values.valid.items():
            self._valid[name][slots] = counts
        for key, kept in values.kept.items():
            self._kept[key][slots] = kept

    # -- results ----------------------------------------------------------------------------------------------------

    def _differs(self, one: GroupValues, other: GroupValues) -> Bools:
        """Where the shown rows of the two are not the same."""
        found = np.zeros(len(one.rows), dtype=np.bool_)
        for measure in self.shape.measures:
            (a, a_null), (b, b_null) = one.shown(measure), other.shown(measure)
            found |= (a_null != b_null) | (~a_null & (a != b))
        return found

    def _shown(self, slots: Ints, values: GroupValues) -> pa.Table:
        arrays = []
        for item in self.shape.items:
            measure = item.measure
            if measure is None:
                arrays.append(self._groups.column(item.column, slots))
                continue
            found, nulls = values.shown(measure)
            array = pa.array(found, mask=nulls)
            if measure.function in ("min", "max"):
                kind = self._schema.field(measure.column or "").type
                array = array.cast(pa.int32()) if pa.types.is_date32(kind) else array
                array = array.cast(kind)
            arrays.append(pa.chunked_array([array]))
        return pa.Table.from_arrays(arrays, names=[str(i) for i in range(len(arrays))])


@dataclass(frozen=True)
class GroupValues:
    """Aggregates of some groups, one place each: rows, values that are not NULL by column, and what is kept of them."""

    rows: Ints
    valid: dict[str, Ints]
    kept: dict[tuple[str, str], Ints]

    def taken(self, places: npt.NDArray[np.generic]) -> GroupValues:
        return GroupValues(
            self.rows[places],
            {c: v[places] for c, v in self.valid.items()},
            {k: v[places] for k, v in self.kept.items()},
        )

    def plus(self, other: GroupValues) -> GroupValues:
        kept = {}
        for (function, name), mine in self.kept.items():
            theirs = other.kept[function, name]
            both = kept[function, name] = _REDUCE[function](mine, theirs)
            if function == "sum" and (((mine ^ both) & (theirs ^ both)) < 0).any():  # it has the sign of neither
                raise _too_large(name)
        valid = {c: v + other.valid[c] for c, v in self.valid.items()}
        return GroupValues(self.rows + other.rows, valid, kept)

    def shown(self, measure: Aggregate) -> tuple[npt.NDArray[np.generic], Bools]:
        """The values of an aggregate, and where it is NULL."""
        if measure.column is None:
            return self.rows, np.zeros(len(self.rows), dtype=np.bool_)
        count = self.valid[measure.column]
        if measure.function == "count":
            return count, np.zeros(len(count), dtype=np.bool_)
        value = self.kept[measure.held_as, measure.column]
        if measure.function == "avg":
            return value / np.maximum(count, 1), count == 0
        return value, count == 0


_REDUCE: dict[str, np.ufunc] = {"sum": np.add, "min": np.minimum, "max": np.maximum}


def _sums(values: Ints, begins: Ints, longest: int, name: str) -> Ints:
    """The sums of runs of at most `longest` values; NumPy's alone would go round at the end of BIGINT."""
    if max(float(values.max()), -float(values.min())) * longest < _SURE:
        return np.add.reduceat(values, begins)
    exact = np.add.reduceat(values.astype(object), begins)
    try:
        return exact.astype(np.int64)
    except OverflowError:
        raise _too_large(name) from None


def _too_large(name: str) -> EngineError:
    return EngineError(f'the sum of "{name}" is too large for BIGINT')


def _whole_numbers(column: pa.ChunkedArray) -> Ints:
    if column.null_count:
        zero = pa.scalar(0, pa.int32()).cast(column.type) if pa.types.is_date32(column.type) else 0
        column = column.fill_null(pa.scalar(zero, column.type) if not isinstance(zero, pa.Scalar) else zero)
    if pa.types.is_timestamp(column.type):
        column = column.cast(pa.int64())
    elif pa.types.is_date32(column.type):
        column = column.cast(pa.int32())
    found: Ints = integers(column).astype(np.int64, copy=False)
    return found
