"""Running aggregates: groups over a window that only grows, kept as one row of numbers for each group.

    SELECT ISTREAM vid, SUM(toll) AS balance FROM charges [UNBOUNDED] GROUP BY vid SAMPLE REALTIME

The rows of such a window need not be held: COUNT, SUM, AVG, MIN and MAX follow from what they were and what came. At an
instant only the groups with rows of that instant change, so what is new costs what arrives, not what was. For COUNT(DISTINCT x)
the values of each group are held, up to a bound.

Invariant. `Running` holds the aggregates over exactly the rows up to `upto` that were taken in, whatever batches they came
in: sums are of whole numbers, which add up to the same in any order (`exact` makes doubles and decimals such numbers).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from millpond.errors import EngineError
from millpond.network.aggregates.functions.base import AggregateFunction, Bools, Ints, Numbers, Part, Values
from millpond.network.aggregates.functions.registry import FUNCTIONS
from millpond.network.aggregates.groups import Groups
from millpond.network.aggregates.shape import Shape

MOST_DISTINCT = 5_000_000
"""So many values are held for COUNT(DISTINCT x), of all groups together: some 600 MB."""


@dataclass(frozen=True)
class Aggregate:
    """An aggregate function, by its name, of a value of a row; without one it is COUNT(*)."""

    function: str
    column: str | None

    @property
    def columns(self) -> tuple[str, ...]:
        return () if self.column is None else (self.column,)

    @property
    def kept_up(self) -> AggregateFunction:
        return FUNCTIONS[self.function]


class Running:
    """The aggregates of all groups, up to `upto`."""

    def __init__(self, shape: Shape[Aggregate], schema: pa.Schema, upto: int) -> None:
        self.shape = shape
        self.upto = upto
        self._schema = schema
        self._groups = Groups(schema, shape.groups)
        self._rows: Ints = np.zeros(0, dtype=np.int64)
        self._valid: dict[str, Ints] = {c: np.zeros(0, dtype=np.int64) for c in shape.needs}
        self._kept: dict[tuple[Part, str], Numbers] = {}
        self._seen: dict[str, Groups] = {}  # the distinct values of each group
        for measure in shape.measures:
            if measure.column is None:
                continue
            for part in measure.kept_up.parts(schema.field(measure.column).type):
                self._kept[part, measure.column] = np.zeros(0, dtype=part.dtype)
                if part.distinguishes:
                    self._seen[measure.column] = Groups(schema, list(dict.fromkeys((*shape.groups, measure.column))))

    @property
    def rows(self) -> int:
        return self._groups.size

    @property
    def bytes(self) -> int:
        arrays = [self._rows, *self._valid.values(), *self._kept.values()]
        more = sum(part.more_bytes * len(v) for (part, _), v in self._kept.items())
        return sum(a.nbytes for a in arrays) + more + self._groups.bytes + sum(g.bytes for g in self._seen.values())

    def take_in(self, rows: pa.Table, moments: Ints) -> None:
        """Bring in rows and tell nothing about it."""
        for _ in self._changes(rows, np.zeros(len(moments), dtype=np.int64)):
            pass

    def changes(
        self, rows: pa.Table, moments: Ints, operator: str, finish: Finish | None = None, first: int | None = None
    ) -> tuple[pa.Table, Ints]:
        """Bring in rows, which are sorted by their moments; what is new (or gone) at each moment, and the moments.

        `finish` makes the result of what is held. `first` is the query's first instant, if it is among these: without groups
        there is a row from then on, whether rows came or not."""
        begun = [] if first is None or self.shape.groups else [self._begun(first, moments)]
        found = [*(b for b in begun if b is not None), *self._changes(rows, moments)]
        parts, times = [], []
        for slots, before, after, moment in found:
            if self.shape.groups:
                existed = before.rows > 0
            else:
                existed = np.ones(len(slots), dtype=np.bool_) if first is None else moment > first
            if finish is None:
                differs = ~existed | self._differs(before, after)
                shown = differs if operator == "istream" else differs & existed
                side = after if operator == "istream" else before
                parts.append(self._shown(slots[shown], side.taken(shown)))
                times.append(moment[shown])
            else:
                sides = (
                    (self._shown(slots, before), existed),
                    (self._shown(slots, after), np.ones(len(slots), np.bool_)),
                )
                part, places = finish.differences(*(sides if operator == "istream" else sides[::-1]))
                parts.append(part)
                times.append(moment[places])
        if not parts:
            nothing = self._shown(_NONE, self._at(_NONE))
            return nothing if finish is None else finish(nothing)[0], _NONE
        whole, when = pa.concat_tables(parts), np.concatenate(times)
        if (when[1:] < when[:-1]).any():
            order = np.argsort(when, kind="stable")
            whole, when = whole.take(pa.array(order)), when[order]
        return whole, when

    def _begun(self, first: int, moments: Ints) -> tuple[Ints, GroupValues, GroupValues, Ints] | None:
        """The only row of a query without groups at its first instant, if no row is seen then."""
        if len(moments) and moments[0] <= first:
            return None
        self._make_room()
        slot = np.zeros(1, dtype=np.int64)
        return slot, self._at(slot), self._at(slot), np.array([first], dtype=np.int64)

    def content(self) -> pa.Table:
        """All groups as they are."""
        self._make_room()
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

        def grown(old: Numbers, start: int = 0) -> Numbers:
            new: Numbers = np.full(size, start, dtype=old.dtype)
            new[:have] = old
            return new

        self._rows = grown(self._rows)
        self._valid = {c: grown(v) for c, v in self._valid.items()}
        self._kept = {(part, c): grown(v, part.start) for (part, c), v in self._kept.items()}

    def _reduced(self, rows: pa.Table, order: Ints, begins: Ints) -> GroupValues:
        """The aggregates of each run of rows; `order` puts rows into runs, which start at `begins`."""
        counts = np.diff(np.r_[begins, len(order)])
        valid: dict[str, Ints] = {}
        kept: dict[tuple[Part, str], Numbers] = {}
        longest = int(counts.max())
        for name in self.shape.needs:
            column = rows.column(name)
            nulls: Bools | None = None
            if column.null_count:
                nulls = column.is_null().to_numpy()[order]
            valid[name] = counts if nulls is None else np.add.reduceat((~nulls).astype(np.int64), begins)
            values = Values(column, lambda name=name: self._fresh(rows, name))  # type: ignore[misc]
            for part in [part for part, of in self._kept if of == name]:
                numbers = part.of(values)[order]
                chosen = numbers if nulls is None else np.where(nulls, part.start, numbers)
                kept[part, name] = part.reduced(chosen, begins, longest, name)
        return GroupValues(counts, valid, kept)

    def _fresh(self, rows: pa.Table, name: str) -> Ints:
        """1 for the rows that bring a value their group has not seen; rows are in the order of time."""
        seen = self._seen[name]
        known = seen.size
        found = seen.find(rows, rows.num_rows)
        if seen.size > MOST_DISTINCT:
            raise EngineError(
                f"COUNT(DISTINCT ...) would have to hold more than {MOST_DISTINCT:,} values",
                detail="Over [UNBOUNDED] all distinct values are held in memory.",
                hint="Estimate it: APPROX_DISTINCT(x), over [INTERVAL ...] or [LANDMARK ...].",
            )
        fresh = np.zeros(rows.num_rows, dtype=np.int64)
        places = np.flatnonzero(found >= known)
        fresh[places[np.unique(found[places], return_index=True)[1]]] = 1
        return fresh

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
            kind = self._kind(measure)
            (a, a_null), (b, b_null) = one.shown(measure, kind), other.shown(measure, kind)
            differs = a != b
            if pa.types.is_floating(kind):  # to SQL all NaN are one value
                differs &= ~((a != a) & (b != b))
            found |= (a_null != b_null) | (~a_null & differs)
        return found

    def _kind(self, measure: Aggregate) -> pa.DataType:
        return pa.null() if measure.column is None else self._schema.field(measure.column).type

    def _shown(self, slots: Ints, values: GroupValues) -> pa.Table:
        arrays = []
        for item in self.shape.items:
            measure = item.measure
            if measure is None:
                arrays.append(self._groups.column(item.column, slots))
                continue
            kind = self._kind(measure)
            found, nulls = values.shown(measure, kind)
            if measure.column is None:
                arrays.append(pa.chunked_array([pa.array(found)]))
                continue
            arrays.append(pa.chunked_array([measure.kept_up.as_arrow(found, nulls, kind, measure.column)]))
        return pa.Table.from_arrays(arrays, names=[str(i) for i in range(len(arrays))])


class Finish(Protocol):
    """Makes the result of what is held, row by row; rows may be left out."""

    def __call__(self, held: pa.Table) -> tuple[pa.Table, Ints]:
        """The result, and which row of `held` each of its rows is made of."""

    def differences(self, one: tuple[pa.Table, Bools], other: tuple[pa.Table, Bools]) -> tuple[pa.Table, Ints]:
        """The results of the second that the first does not have, of rows that are there; and of which row each is made."""


@dataclass(frozen=True)
class GroupValues:
    """Aggregates of some groups, one place each: rows, values that are not NULL by column, and what is kept of them."""

    rows: Ints
    valid: dict[str, Ints]
    kept: dict[tuple[Part, str], Numbers]

    def taken(self, places: npt.NDArray[np.generic]) -> GroupValues:
        return GroupValues(
            self.rows[places],
            {c: v[places] for c, v in self.valid.items()},
            {k: v[places] for k, v in self.kept.items()},
        )

    def plus(self, other: GroupValues) -> GroupValues:
        kept = {(p, c): p.merged(mine, other.kept[p, c], c) for (p, c), mine in self.kept.items()}
        valid = {c: v + other.valid[c] for c, v in self.valid.items()}
        return GroupValues(self.rows + other.rows, valid, kept)

    def shown(self, measure: Aggregate, kind: pa.DataType) -> tuple[Numbers, Bools]:
        """The values of an aggregate of a value of this type, and where it is NULL."""
        if measure.column is None:
            return self.rows, np.zeros(len(self.rows), dtype=np.bool_)
        function, counts = measure.kept_up, self.valid[measure.column]
        values = function.shown(kind, counts, [self.kept[part, measure.column] for part in function.parts(kind)])
        return values, counts == 0 if function.null_if_none else np.zeros(len(counts), dtype=np.bool_)


_NONE: Ints = np.zeros(0, dtype=np.int64)
