"""Partitioned windows: the newest k rows of every key, in slots of NumPy arrays.

Idea. A key has a slot, a slot has room for as many rows as a key has had, at most k, and a column is one array over all
slots. To bring in a batch, the old rows of the keys it touches and its new rows are laid out side by side, key after key and
in time within a key; there a window of k rows is k neighbours, so contents before and after each instant, previous rows, and
what goes back into the slots are all found by arithmetic on positions. Cost depends on the batch, not on the number of keys.

Invariant. Slot s holds the `count[s]` newest rows of its key, right-aligned and in order of (time, row number).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from millpond.arrow import distinct, integers

Ints = npt.NDArray[np.int64]
Any_ = npt.NDArray[np.generic]
Bools = npt.NDArray[np.bool_]

_FIRST_SLOTS = 1024
_FIRST_ROOM = 16  # rows of a slot
_MIX = np.uint64(0x9E3779B97F4A7C15)
_NAN = "NaN"  # in a key: to SQL all of them are one value, to Python none equals another


class KeySlots:
    """Numbers keys 0, 1, 2, ...: the new keys of each batch get the next numbers, within a batch in any order. One integer
    column goes through a hash table of arrays; any other key through a dictionary of the distinct keys of a batch."""

    def __init__(self, types: Sequence[pa.DataType]) -> None:
        self.size = 0
        self._plain = len(types) == 1 and pa.types.is_integer(types[0])
        self._floats = [pa.types.is_floating(t) for t in types]
        self._table = np.full(_FIRST_SLOTS * 2, -1, dtype=np.int64)
        self._keys = np.zeros(_FIRST_SLOTS, dtype=np.int64)
        self._null = -1
        self._known: dict[object, int] = {}

    @property
    def bytes(self) -> int:
        return self._table.nbytes + self._keys.nbytes + 120 * len(self._known)

    def find(self, columns: Sequence[pa.ChunkedArray]) -> Ints:
        """The slot of each row's key; new keys get the next numbers."""
        if self._plain:
            return self._find_integers(columns[0])
        return self._find_any(columns)

    def known(self, columns: Sequence[pa.ChunkedArray]) -> Ints:
        """The slots of those of the keys that have one, each once. NULL is no key here: it equals nothing."""
        whole = pa.Table.from_arrays(list(columns), names=[str(i) for i in range(len(columns))]).drop_null()
        if self._plain:
            values = distinct(integers(whole.column(0)).astype(np.int64, copy=False))
            return self._peek(values)
        keys = set(zip(*(c.to_pylist() for c in whole.columns), strict=True))
        return np.array(sorted(self._known[k] for k in keys if k in self._known), dtype=np.int64)

    def _peek(self, values: Ints) -> Ints:
        places = self._places(values)
        mask = len(self._table) - 1
        active = np.arange(len(values))
        found = np.full(len(values), -1, dtype=np.int64)
        while len(active):
            here = self._table[places[active]]
            match = (here >= 0) & (self._keys[here] == values[active])
            found[active[match]] = here[match]
            active = active[(here >= 0) & ~match]
            places[active] = (places[active] + 1) & mask
        return found[found >= 0]

    def _find_any(self, columns: Sequence[pa.ChunkedArray]) -> Ints:
        known = self._known
        found = np.empty(len(columns[0]), dtype=np.int64)
        lists = [
            [_NAN if v != v else v for v in c.to_pylist()] if floats else c.to_pylist()
            for c, floats in zip(columns, self._floats, strict=True)
        ]
        for i, key in enumerate(zip(*lists, strict=True)):
            slot = known.get(key)
            if slot is None:
                slot = known[key] = self.size
                self.size += 1
            found[i] = slot
        return found

    def _find_integers(self, column: pa.ChunkedArray) -> Ints:
        valid = None
        if column.null_count:
            valid = column.is_valid().to_numpy()
            column = column.fill_null(0)
        values = integers(column).astype(np.int64, copy=False)
        if valid is None:
            return self._look_up(values)
        found = np.empty(len(values), dtype=np.int64)
        found[valid] = self._look_up(values[valid])
        if self._null < 0:
            self._null = self._add(1)
        found[~valid] = self._null
        return found

    def _look_up(self, values: Ints) -> Ints:
        distinct, inverse = np.unique(values, return_inverse=True)
        if (self.size + len(distinct)) * 2 > len(self._table):
            self._grow(self.size + len(distinct))
        slots = np.full(len(distinct), -1, dtype=np.int64)
        places = self._places(distinct)
        mask = len(self._table) - 1
        active = np.arange(len(distinct))
        while len(active):
            here = self._table[places[active]]
            empty = here < 0
            if empty.any():
                # Each claims its empty place; of several that claim the same one, the last written has it.
                claims = active[empty]
                self._table[places[claims]] = -2 - claims
                won = claims[self._table[places[claims]] == -2 - claims]
                first = self._add(len(won))
                numbers = first + np.arange(len(won))
                self._table[places[won]] = numbers
                self._keys[numbers] = distinct[won]
                slots[won] = numbers
                here = self._table[places[active]]
            match = self._keys[here] == distinct[active]
            slots[active[match]] = here[match]
            active = active[~match & (slots[active] < 0)]
            places[active] = (places[active] + 1) & mask
        return slots[inverse]

    def _places(self, values: Ints) -> Ints:
        mixed = (values.view(np.uint64) * _MIX) >> np.uint64(20)
        return (mixed & np.uint64(len(self._table) - 1)).astype(np.int64)

    def _add(self, count: int) -> int:
        first = self.size
        self.size += count
        if self.size > len(self._keys):
            self._keys = np.resize(self._keys, max(self.size, 2 * len(self._keys)))
        return first

    def _grow(self, wanted: int) -> None:
        size = len(self._table)
        while size < wanted * 4:
            size *= 2
        self._table = np.full(size, -1, dtype=np.int64)
        numbers = np.arange(self.size)
        if self._null >= 0:
            numbers = numbers[numbers != self._null]
        places = self._places(self._keys[numbers])
        pending = np.arange(len(numbers))
        while len(pending):
            free = pending[self._table[places[pending]] < 0]
            self._table[places[free]] = numbers[free]
            pending = pending[self._table[places[pending]] != numbers[pending]]
            places[pending] = (places[pending] + 1) & (size - 1)


@dataclass(frozen=True)
class Layout:
    """Old and new rows of the touched keys side by side. `first[i]` is where the key of row i begins. `ranks` are the places of
    the new rows among those that were brought in."""

    rows: pa.Table
    times: Ints
    first: Ints
    new: Bools
    ranks: Ints


class KeyedRows:
    def __init__(self, schema: pa.Schema, time_column: str, keys: Sequence[str], count: int) -> None:
        self.schema = schema
        self.keys = tuple(keys)
        self._time = schema.names.index(time_column)
        self.k = count
        self._room = min(count, _FIRST_ROOM)  # rows that a slot has room for
        self.slots = KeySlots([schema.field(k).type for k in keys])
        self._count = np.zeros(0, dtype=np.int32)
        self._values: list[Any_] = [np.zeros((0, self._room), dtype=_dtype(f.type)) for f in schema]
        self._valid: list[Bools | None] = [None for _ in schema]  # None: no NULL has been seen

    @property
    def rows(self) -> int:
        return int(self._count.sum())

    @property
    def bytes(self) -> int:
        arrays = [*self._values, *(v for v in self._valid if v is not None), self._count]
        return sum(a.nbytes for a in arrays) + self.slots.bytes

    def take_in(self, rows: pa.Table) -> Layout:
        """Bring in rows sorted by (time, row number), all later than those there are."""
        slots = self.slots.find([rows.column(k) for k in self.keys])
        self._make_slots()
        order = np.argsort(slots, kind="stable")
        by_key = slots[order]
        begins = np.flatnonzero(np.r_[True, by_key[1:] != by_key[:-1]]) if len(order) else np.zeros(0, np.int64)
        touched = by_key[begins]
        there, came = self._count[touched].astype(np.int64), np.diff(np.r_[begins, len(order)])
        kept = np.minimum(there + came, self.k)
        self._widen(int(kept.max(initial=0)))
        # Key after key, first the rows that are there, the last ones of the slot, then those that came.
        old = _Run(np.cumsum(there + came) - there - came, there, (touched + 1) * self._room - there)
        new = _Run(old.to + there, came, begins)
        old_to, new_to = old.targets(), new.targets()
        sides = (old.sources(), old_to, order, new_to)
        # Of these the last k go back.
        back = _Run((touched + 1) * self._room - kept, kept, new.to + came - kept)
        self._count[touched] = kept
        table = self._side_by_side(rows, sides, (back.sources(), back.targets()))
        is_new = np.zeros(len(old_to) + len(new_to), dtype=np.bool_)
        is_new[new_to] = True
        moments = _from_arrow(table.column(self._time))[0].astype(np.int64, copy=False)
        return Layout(table, moments, np.repeat(old.to, there + came), is_new, order)

    def fill(self, rows: pa.Table) -> None:
        """Bring in rows of history, sorted by (time, row number). Of a key, those not later than what is there are there."""
        slots = self.slots.find([rows.column(k) for k in self.keys])
        self._make_slots()
        newest = self._values[self._time][:, -1][slots].astype(np.int64, copy=False)
        moments = _from_arrow(rows.column(self._time))[0].astype(np.int64, copy=False)
        later = (self._count[slots] == 0) | (moments > newest)
        self.take_in(rows if later.all() else rows.filter(pa.array(later)))

    def content(self, keys: Sequence[pa.ChunkedArray] | None = None) -> pa.Table:
        """All rows of all windows, or of those of some keys."""
        return self._read(self._places_of(np.arange(self.slots.size) if keys is None else self.slots.known(keys)))

    @property
    def size(self) -> int:
        """How many keys there are."""
        return self.slots.size

    def part(self, begin: int, end: int) -> pa.Table:
        """All rows of the keys numbered from `begin` up to `end`."""
        return self._read(self._places_of(np.arange(begin, end)))

    def _places_of(self, slots: Ints) -> Ints:
        """Where the rows of some slots are: the last ones of each."""
        counts, ends = self._count[slots].astype(np.int64), (slots + 1) * self._room
        return _Run(ends, counts, ends - counts).sources()

    # -- arrays and Arrow -------------------------------------------------------------------------------------------

    def _make_slots(self) -> None:
        need = self.slots.size
        have = len(self._count)
        if need <= have:
            return
        size = max(need, 2 * have, _FIRST_SLOTS)
        self._count = np.concatenate([self._count, np.zeros(size - have, dtype=np.int32)])
        for i, values in enumerate(self._values):
            grown = np.zeros((size, self._room), dtype=values.dtype)
            grown[:have] = values
            self._values[i] = grown
            valid = self._valid[i]
            if valid is not None:
                room = np.ones((size, self._room), dtype=np.bool_)
                room[:have] = valid
                self._valid[i] = room

    def _widen(self, need: int) -> None:
        """Give each slot room for `need` rows. A window of many rows costs what its keys have, not what it could hold."""
        if need <= self._room:
            return
        before, self._room = self._room, min(self.k, max(need, 2 * self._room))
        shape = len(self._count), self._room
        for i, values in enumerate(self._values):
            wide = np.zeros(shape, dtype=values.dtype)
            wide[:, -before:] = values
            self._values[i] = wide
            valid = self._valid[i]
            if valid is not None:
                known = np.ones(shape, dtype=np.bool_)
                known[:, -before:] = valid
                self._valid[i] = known

    def _values_at(self, column: int, places: Ints) -> Any_:
        found: Any_ = self._values[column].reshape(-1)[places]
        return found

    def _read(self, places: Ints) -> pa.Table:
        arrays = []
        for i, field in enumerate(self.schema):
            valid = self._valid[i]
            mask = None if valid is None else ~valid.reshape(-1)[places]
            arrays.append(_to_arrow(self._values_at(i, places), mask, field.type))
        return pa.Table.from_arrays(arrays, schema=self.schema)

    def _side_by_side(self, rows: pa.Table, sides: tuple[Ints, Ints, Ints, Ints], back: tuple[Ints, Ints]) -> pa.Table:
        """The rows that are there (their places, and where they go) and those that came, laid out; of the layout the rows
        `back[0]` are written to the places `back[1]`."""
        old_from, old_to, new_from, new_to = sides
        size = len(old_to) + len(new_to)
        arrays = []
        for i, field in enumerate(self.schema):
            values, nulls = _from_arrow(rows.column(field.name))
            if nulls is not None and self._valid[i] is None:
                self._valid[i] = np.ones(self._values[i].shape, dtype=np.bool_)
            held, valid = self._values[i].reshape(-1), self._valid[i]
            laid = np.empty(size, dtype=held.dtype)
            laid[old_to] = held[old_from]
            laid[new_to] = values[new_from]
            held[back[1]] = laid[back[0]]
            missing = None
            if valid is not None:
                known = valid.reshape(-1)
                missing = np.zeros(size, dtype=np.bool_)
                missing[old_to] = ~known[old_from]
                if nulls is not None:
                    missing[new_to] = nulls[new_from]
                known[back[1]] = ~missing[back[0]]
            arrays.append(_to_arrow(laid, missing, field.type))
        return pa.Table.from_arrays(arrays, schema=self.schema)


@dataclass(frozen=True)
class _Run:
    """For each key, `size` rows in a run: from `begin` on in one place, and to `to` on in another."""

    to: Ints
    size: Ints
    begin: Ints

    def _along(self, start: Ints) -> Ints:
        ends = np.cumsum(self.size)
        steps = np.arange(int(ends[-1]) if len(ends) else 0, dtype=np.int64)
        steps += np.repeat(start - (ends - self.size), self.size)
        return steps

    def sources(self) -> Ints:
        return self._along(self.begin)

    def targets(self) -> Ints:
        return self._along(self.to)


def _dtype(kind: pa.DataType) -> np.dtype[np.generic]:
    if pa.types.is_integer(kind) or pa.types.is_floating(kind):
        plain: np.dtype[np.generic] = np.dtype(kind.to_pandas_dtype())
        return plain
    if pa.types.is_timestamp(kind):
        return np.dtype(np.int64)
    if pa.types.is_date32(kind):
        return np.dtype(np.int32)
    return np.dtype(object)


def _from_arrow(column: pa.ChunkedArray) -> tuple[Any_, Bools | None]:
    """Values, and where they are NULL (None if nowhere)."""
    kind = column.type
    if _dtype(kind) == np.dtype(object):
        values = np.empty(len(column), dtype=object)
        values[:] = column.to_pylist()
        return values, (column.is_null().to_numpy() if column.null_count else None)
    nulls = None
    if column.null_count:
        nulls = column.is_null().to_numpy()
        zero = pa.scalar(0, kind) if not pa.types.is_date32(kind) else pa.scalar(0, pa.int32()).cast(kind)
        column = column.fill_null(zero)
    if pa.types.is_timestamp(kind):
        column = column.cast(pa.int64())
    elif pa.types.is_date32(kind):
        column = column.cast(pa.int32())
    if pa.types.is_floating(kind):
        return column.combine_chunks().to_numpy(zero_copy_only=False), nulls
    return integers(column), nulls


def _to_arrow(values: Any_, nulls: Bools | None, kind: pa.DataType) -> pa.Array:
    if values.dtype == np.dtype(object):
        return pa.array(values.tolist(), kind)
    raw = pa.array(values, mask=nulls)
    return raw if raw.type == kind else raw.cast(kind)
