"""The index: entries are predicates, a batch of rows is matched against all of them at once.

An entry that names values of an axis lies in the equality table of the axis on which it is most selective; all others lie in
blocks. Tables and blocks are never changed but for entries that go: new entries make a small one, and small ones are merged
such that an entry is moved a logarithmic number of times. What has lost a quarter of its entries is made anew.

Invariant. `match` gives exactly the pairs for which the predicate is true of the row. It depends on which entries there are,
not on the order in which they came and went.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import chain, islice
from typing import NamedTuple, TypeVar

import numpy as np
import pyarrow as pa

from millpond.arrow import distinct
from millpond.predicate.form import Predicate
from millpond.predicate.vector import Columns, Filter
from millpond.schema import Schema
from millpond.standing.index.accepted import Accepted, take_apart
from millpond.standing.index.axes import Axes, Axis, Batch, Int32s
from millpond.standing.index.block import BLOCK, Block, blocks_of
from millpond.standing.index.entries import Entries
from millpond.standing.index.equality import EqualityTable, Named
from millpond.standing.index.matches import Collector, Matches

_WAITING = 1024  # so many new entries are worked on at once when they come, fewer when a batch does
_SLAB = 1 << 11  # so many are taken apart before they become arrays
_GROWTH = 4  # new entries are merged with what is at most so many times larger
_SHARE = 4  # what has lost one of so many entries is made anew
_DISTINCT = 1 << 14  # constants of an axis that are told apart, to say which axis is more selective

Part = TypeVar("Part", EqualityTable, Block)
Compiled = tuple[int, dict[Axis, Accepted], Filter | None]


class _Parts(NamedTuple):
    """New entries as arrays: those that name values, by axis, and all others."""

    named: dict[Axis, list[Named]]
    others: list[Entries]


class PredicateIndex:
    """Predicates by the values that fulfil them. For one thread."""

    def __init__(self, columns: Schema) -> None:
        self._axes = Axes(columns)
        self._ids = _Ids()
        self._waiting: dict[int, Predicate] = {}
        self._leaving: list[int] = []
        self._tables: dict[Axis, list[EqualityTable]] = {}
        self._blocks: list[Block] = []
        self._seen: dict[Axis, set[object]] = {}

    def __len__(self) -> int:
        return len(self._ids)

    def __contains__(self, entry: int) -> bool:
        return entry in self._ids

    def add(self, entries: Iterable[tuple[int, Predicate]]) -> None:
        """Add predicates. An entry's number is greater than that of every entry before it, also of one that is gone."""
        given = iter(entries)
        parts = _Parts({}, [])
        while some := list(islice(given, _SLAB)):  # few at a time, so that what is made on the way does not pile up
            self._ids.add([entry for entry, _ in some])
            if len(some) + len(self._waiting) < _WAITING:
                self._waiting.update(some)
            else:
                self._take_apart([*self._waiting.items(), *some], parts)
                self._waiting = {}
        if self._waiting and (parts.named or parts.others):  # in a table of their own they would cost each batch a look
            self._take_apart(self._waiting.items(), parts)
            self._waiting = {}
        self._take_in(parts)

    def remove(self, entries: Iterable[int]) -> None:
        """Entries match nothing any more, and what they took is given back."""
        gone = list(entries)
        self._ids.remove(gone)
        for entry in gone:
            if self._waiting.pop(entry, None) is None:
                self._leaving.append(entry)
        if len(self._leaving) >= _WAITING:
            self._settle()

    def match(self, columns: Columns) -> Matches:
        """Which rows of a batch match which entries."""
        self._settle()
        into = Collector(columns.size)
        if columns.size and len(self._ids):
            batch = Batch(columns, self._axes)
            places = np.arange(columns.size, dtype=np.int32)
            for table in chain.from_iterable(self._tables.values()):
                table.match(batch, into)
            for block in self._blocks:
                block.match(batch, places, into)
        return into.matches()

    def bytes(self) -> int:
        """The memory that is taken, without Python's own objects around arrays."""
        self._settle()
        parts: Iterable[EqualityTable | Block] = chain(*self._tables.values(), self._blocks)
        return self._ids.nbytes + sum(part.nbytes for part in parts)

    def _settle(self) -> None:
        """Take entries out that have gone, and those in that have come."""
        if self._leaving:
            self._take_out(distinct(np.array(self._leaving, dtype=np.int32)))
            self._leaving = []
        if self._waiting:
            parts = _Parts({}, [])
            self._take_apart(self._waiting.items(), parts)
            self._waiting = {}
            self._take_in(parts)

    def _take_out(self, gone: Int32s) -> None:
        for axis, tables in list(self._tables.items()):
            for table in tables:
                found = np.flatnonzero(np.isin(table.entries.ids, gone))
                if len(found):
                    table.remove(found)
            kept = [table for table in tables if table.gone * _SHARE <= table.size]
            thin = [table.live() for table in tables if table.size > table.gone > table.size / _SHARE]
            if thin:
                kept.append(EqualityTable.joined(axis, thin))
            self._tables[axis] = kept
            if not kept:
                del self._tables[axis]
        for block in self._blocks:
            found = np.flatnonzero(np.isin(block.entries.ids, gone))
            if len(found):
                block.remove(found)
        lost = [block for block in self._blocks if block.gone * _SHARE > block.size]
        if lost:
            self._blocks = [block for block in self._blocks if block.gone * _SHARE <= block.size]
            left = [block.entries.take(block.live()) for block in lost if block.gone < block.size]
            if left:
                self._add_blocks(Entries.joined(left))

    def _take_apart(self, entries: Iterable[tuple[int, Predicate]], into: _Parts) -> None:
        by_axis: dict[Axis | None, list[Compiled]] = {}
        for one, names in self._compiled(entries):
            axis = names[0] if len(names) == 1 else self._most_selective(names, one[1]) if names else None
            by_axis.setdefault(axis, []).append(one)
        for axis, some in by_axis.items():
            if axis is None:
                into.others.append(Entries.of(some, self._axes))
            else:
                into.named.setdefault(axis, []).append(self._named(axis, some))

    def _take_in(self, parts: _Parts) -> None:
        for axis, named in parts.named.items():
            self._add_table(axis, named)
        if parts.others:
            self._add_blocks(Entries.joined(parts.others))

    def _compiled(self, given: Iterable[tuple[int, Predicate]]) -> list[tuple[Compiled, list[Axis]]]:
        """Entries taken apart, with the axes of which they name values; without those that are never true."""
        compiled = []
        for entry, predicate in given:
            parts = take_apart(predicate, self._axes)
            if parts is None:
                continue
            factors, rest = parts
            names = [axis for axis, one in factors.items() if one.points]
            for axis in names:
                seen = self._seen.get(axis)
                if seen is None:
                    seen = self._seen[axis] = set()
                if len(seen) < _DISTINCT:
                    seen.update([low for low, _ in factors[axis].spans[:_DISTINCT]])
            compiled.append(((entry, factors, None if rest is None else Filter(rest)), names))
        return compiled

    def _most_selective(self, axes: list[Axis], factors: dict[Axis, Accepted]) -> Axis:
        """The axis on which the entry names the smallest share of the values that entries name; the first column of several."""
        return min(axes, key=lambda a: (len(factors[a].spans) / len(self._seen[a]), self._axes.place(a)))

    def _named(self, axis: Axis, compiled: list[Compiled]) -> Named:
        at: list[int] = []
        points: list[object] = []
        for position, (_, factors, _) in enumerate(compiled):
            spans = factors.pop(axis).spans
            if len(spans) == 1:
                at.append(position)
                points.append(spans[0][0])
            else:
                at += [position] * len(spans)
                points += [low for low, _ in spans]
        values = pa.array(points, pa.string()) if self._axes.kind(axis).ranked else np.array(points, dtype=np.int64)
        return Entries.of(compiled, self._axes), np.array(at, dtype=np.intp), values

    def _add_table(self, axis: Axis, parts: list[Named]) -> None:
        tables = self._tables.get(axis, [])
        small = _small(tables, sum(len(entries) for entries, _, _ in parts))
        table = EqualityTable.joined(axis, [*parts, *(t.live() for t in small)])
        self._tables[axis] = [*(t for t in tables if t not in small), table]

    def _add_blocks(self, entries: Entries) -> None:
        small = _small([block for block in self._blocks if block.size < BLOCK], len(entries))
        self._blocks = [block for block in self._blocks if block not in small]
        self._blocks += blocks_of(Entries.joined([entries, *(b.entries.take(b.live()) for b in small)]))


def _small(parts: list[Part], size: int) -> list[Part]:
    """Those that are merged with so many new entries, from the smallest on."""
    found: list[Part] = []
    for part in sorted(parts, key=lambda p: p.size):
        if part.size > _GROWTH * size:
            break
        size += part.size
        found.append(part)
    return found


class _Ids:
    """The numbers of all entries, in order; those of entries that are gone are taken out when they are many."""

    def __init__(self) -> None:
        self._all: Int32s = np.empty(0, dtype=np.int32)
        self._live = np.empty(0, dtype=np.bool_)
        self._used = self._count = 0
        self._last = -1

    def __len__(self) -> int:
        return self._count

    def __contains__(self, entry: int) -> bool:
        i = int(np.searchsorted(self._all[: self._used], entry))
        return i < self._used and int(self._all[i]) == entry and bool(self._live[i])

    @property
    def nbytes(self) -> int:
        return self._all.nbytes + self._live.nbytes

    def add(self, entries: list[int]) -> None:
        if not entries:
            return
        new = np.array(entries, dtype=np.int32)
        assert (np.diff(new, prepend=self._last) > 0).all(), "entries are numbered in the order in which they come"
        end = self._used + len(new)
        if end > len(self._all):
            self._all = np.concatenate([self._all[: self._used], new, np.empty(end // 2, dtype=np.int32)])
            self._live = np.concatenate([self._live[: self._used], np.zeros(len(self._all) - self._used, np.bool_)])
        self._all[self._used : end] = new
        self._live[self._used : end] = True
        self._used, self._last = end, int(new[-1])
        self._count += len(new)

    def remove(self, entries: list[int]) -> None:
        if not entries:
            return
        gone = np.array(entries, dtype=np.int32)
        at = np.searchsorted(self._all[: self._used], gone)
        assert len(distinct(gone)) == len(gone), "an entry is removed once"
        there = (at < self._used) & (self._all[np.minimum(at, self._used - 1)] == gone)
        assert there.all(), "entries that are there"
        assert self._live[at].all(), "entries that are there"
        self._live[at] = False
        self._count -= len(gone)
        if self._count * 2 < self._used:
            kept = self._live[: self._used]
            self._all, self._live = self._all[: self._used][kept], kept[kept]
            self._used = len(self._all)
