"""A block: up to 4,096 entries matched together by bitmaps.

For each axis the ends of all entries' spans cut the codes into ranges; all codes of a range fulfil the same entries' factors,
whose bitmap is a row of the axis' table. A row of the batch is looked up on each axis, and its bitmaps are ANDed. An entry
that has no factor on an axis has ones there; NULL has a row of its own.

Rows outside of the hull, which no entry of the block accepts, are not looked at if they are many. What no axis can say is
evaluated for each such entry by itself over the rows in the hull; such entries are kept in blocks of their own.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from millpond.arrow import distinct
from millpond.predicate.vector import Bools, Columns
from millpond.standing.index.axes import GREATEST, LEAST, Batch, Int32s, Int64s
from millpond.standing.index.entries import HAS, NULL, Entries, Factor
from millpond.standing.index.matches import BitBlock, Collector

BLOCK = 4096
_CACHED = 1 << 18  # bytes of bits that are worked on at a time: two such pieces fit the cache of a core
_WIDE = 1 << 16  # ranges of codes up to this are looked up directly
_SPANS = 8  # so many spans of an entry weigh as much as one entry that has one
_KNOWN = 1 << 26  # bytes of evaluated atoms that are kept for the next entries
_HULL = 0.7  # if a smaller share of the rows lies in the hull, only those are looked at

Words = npt.NDArray[np.uint64]


def blocks_of(entries: Entries) -> list[Block]:
    """Entries in blocks: those with a rest by themselves, and those near each other together."""
    has_rest = np.zeros(len(entries), dtype=np.bool_)
    has_rest[list(entries.rest)] = True
    made = []
    for wanted in (~has_rest, has_rest):
        positions = np.flatnonzero(wanted)
        if len(positions):
            some = entries if len(positions) == len(entries) else entries.take(positions)
            made += [Block(part) for part in _cut(some)]
    return made


def _cut(entries: Entries) -> Iterator[Entries]:
    weights = np.ones(len(entries), dtype=np.int64)
    for factor in entries.factors.values():  # many spans of an entry make a table long, so it has few entries
        spans = np.bincount(factor.several.at, minlength=len(entries))
        weights = np.maximum(weights, spans // _SPANS)
    order = _by_place(entries) if int(weights.sum()) > BLOCK else np.arange(len(entries))
    number = (np.cumsum(weights[order]) - 1) // BLOCK
    for part in np.split(order, np.flatnonzero(np.diff(number)) + 1):
        yield entries.take(part[np.argsort(entries.ids[part])])


def _by_place(entries: Entries) -> npt.NDArray[np.intp]:
    """The order of the entries on the axis on which their spans are narrowest."""
    best: tuple[float, npt.NDArray[np.float64]] | None = None
    for factor in entries.factors.values():
        low, high = factor.low.astype(np.float64), factor.high.astype(np.float64)
        ends = np.concatenate([low[factor.low != LEAST], high[factor.high != GREATEST]])
        if not len(ends):
            continue
        least, most = ends.min(), ends.max()
        low, high = low.clip(least, most), high.clip(least, most)
        share = float(np.mean(high - low) / max(most - least, 1))
        if best is None or share < best[0]:
            best = share, (low + high) / 2
    return np.arange(len(entries)) if best is None else np.argsort(best[1], kind="stable")


class _Table:
    """The bitmaps of an axis: a row for each range of codes, and the last for NULL."""

    def __init__(self, factor: Factor, words: int) -> None:
        spans = factor.spans()
        begins, ends = spans.low > LEAST, spans.high < GREATEST
        self._cuts = distinct(np.concatenate([spans.low[begins], spans.high[ends] + 1]))
        bits = np.zeros((len(self._cuts) + 2, words * 8), dtype=np.uint8)
        rank = np.searchsorted(self._cuts, spans.low, side="right")
        rank[~begins] = 0
        _flip(bits, rank, spans.at)
        _flip(bits, np.searchsorted(self._cuts, spans.high[ends], side="right") + 1, spans.at[ends])
        without = np.flatnonzero((factor.flags & HAS) == 0)
        _flip(bits, np.zeros(len(without), dtype=np.intp), without)
        self.rows: Words = np.bitwise_xor.accumulate(bits.view(np.uint64), axis=0)
        null = bits[-1:]
        null[:] = 0
        accepting = np.flatnonzero((factor.flags & (HAS | NULL)) != HAS)
        _flip(null, np.zeros(len(accepting), dtype=np.intp), accepting)
        self.rows[-1] = null.view(np.uint64)
        self._ranks = self._direct()

    def _direct(self) -> Int32s | None:
        """The ranks of all codes from the first cut to the last, if they are not too many."""
        if not len(self._cuts) or int(self._cuts[-1]) - int(self._cuts[0]) >= _WIDE:
            return None
        lengths = np.diff(self._cuts)
        ranks = np.repeat(np.arange(1, len(self._cuts), dtype=np.int32), lengths)
        return np.concatenate([[0], ranks, [len(self._cuts)]]).astype(np.int32)

    @property
    def nbytes(self) -> int:
        return self.rows.nbytes + self._cuts.nbytes + (0 if self._ranks is None else self._ranks.nbytes)

    def ranks(self, codes: Int64s, nulls: Bools | None) -> npt.NDArray[np.integer[Any]]:
        if self._ranks is not None:
            before = self._cuts[0] - 1
            near: Int64s = np.maximum(codes, before)
            np.minimum(near, self._cuts[-1], out=near)
            near -= before
            ranks: npt.NDArray[np.integer[Any]] = self._ranks[near]
        else:
            ranks = np.searchsorted(self._cuts, codes, side="right")
        if nulls is not None:
            ranks[nulls] = len(self.rows) - 1
        return ranks


def _flip(bits: npt.NDArray[np.uint8], rows: npt.NDArray[np.intp], entries: npt.NDArray[np.integer[Any]]) -> None:
    places = rows * bits.shape[1] + (entries >> 3)
    np.bitwise_xor.at(bits.reshape(-1), places, np.left_shift(1, entries & 7).astype(np.uint8))


class Block:
    """Entries that are matched together. Bits are in the order of `entries.ids`."""

    def __init__(self, entries: Entries) -> None:
        self.entries = entries
        self.size = len(entries)
        self.gone = 0
        self._words = -(-self.size // 64)
        self._tables = {axis: _Table(factor, self._words) for axis, factor in entries.factors.items()}
        self._live = _ones(self.size, self._words)
        self._hull = {axis: hull for axis, factor in entries.factors.items() if (hull := _hull(factor)) is not None}

    @property
    def nbytes(self) -> int:
        return self.entries.nbytes + sum(table.nbytes for table in self._tables.values()) + self._live.nbytes

    def remove(self, positions: npt.NDArray[np.intp]) -> None:
        """These entries match nothing any more."""
        gone = np.zeros((1, self._words * 8), dtype=np.uint8)
        _flip(gone, np.zeros(len(positions), dtype=np.intp), positions)
        gone &= self._live.view(np.uint8)  # each counts once
        self.gone += int(np.bitwise_count(gone).sum())
        self._live &= ~gone.view(np.uint64)[0]
        for table in self._tables.values():
            table.rows &= self._live

    def live(self) -> npt.NDArray[np.intp]:
        """Positions of the entries that are still there."""
        return np.flatnonzero(np.unpackbits(self._live.view(np.uint8), count=self.size, bitorder="little"))

    def match(self, batch: Batch, places: Int32s, into: Collector) -> None:
        """Find the matches among some rows of a batch."""
        places = self._inside(batch, places)
        if not len(places):
            return
        ranks = self._ranks(batch, places)
        filters = self._filters(batch, places) if self.entries.rest else None
        step = max(1, _CACHED // (self._words * 8))
        scratch = np.empty((2, min(step, len(places)), self._words), dtype=np.uint64)
        dense, kept = [], []
        for begin in range(0, len(places), step):
            piece = slice(begin, min(begin + step, len(places)))
            found = self._bits(ranks, piece, scratch)
            if filters is not None:
                found &= filters[piece]
            if not into.words(found, self.entries.ids, places[piece]):
                dense.append(found.copy())
                kept.append(places[piece])
        if dense:
            bits = np.concatenate(dense).view(np.uint8)[:, : -(-self.size // 8)]
            into.block(BitBlock(np.concatenate(kept), self.entries.ids, np.ascontiguousarray(bits)))

    def _inside(self, batch: Batch, places: Int32s) -> Int32s:
        for axis, (low, high) in self._hull.items():
            codes = _some(batch.codes(axis, self.entries.factors[axis].cuts), places, batch)
            inside = (codes >= low) & (codes <= high)
            nulls = batch.nulls(axis)
            if nulls is not None:
                inside &= ~_some(nulls, places, batch)
            if np.count_nonzero(inside) < _HULL * len(places):
                places = places[inside]
        return places

    def _ranks(self, batch: Batch, places: Int32s) -> list[tuple[Words, npt.NDArray[np.integer[Any]]]]:
        found = []
        for axis, table in self._tables.items():
            codes = _some(batch.codes(axis, self.entries.factors[axis].cuts), places, batch)
            nulls = batch.nulls(axis)
            found.append((table.rows, table.ranks(codes, None if nulls is None else _some(nulls, places, batch))))
        return found

    def _bits(self, ranks: list[tuple[Words, npt.NDArray[np.integer[Any]]]], piece: slice, scratch: Words) -> Words:
        rows = piece.stop - piece.start
        found, other = scratch[0, :rows], scratch[1, :rows]
        if not ranks:
            found[:] = self._live
        for number, (table, rank) in enumerate(ranks):
            np.take(table, rank[piece], axis=0, out=other if number else found, mode="clip")
            if number:
                np.bitwise_and(found, other, out=found)
        return found

    def _filters(self, batch: Batch, places: Int32s) -> Words:
        """The bits of the rest of all entries, for each of some rows."""
        columns = Columns(_Rows(batch.columns, places))
        found = np.zeros((len(places), self._words * 8), dtype=np.uint8)
        for byte in range(-(-self.size // 8)):
            eight = np.zeros((len(places), 8), dtype=np.bool_)
            for bit in range(8):
                filter_ = self.entries.rest.get(byte * 8 + bit)
                if filter_ is not None:
                    eight[:, bit] = filter_(columns)
            found[:, byte] = np.packbits(eight, axis=1, bitorder="little")[:, 0]
            if len(columns.known) * len(places) > _KNOWN:
                columns.known.clear()
        return found.view(np.uint64)


class _Rows:
    """Some rows of a batch, as a batch."""

    def __init__(self, columns: Columns, places: Int32s) -> None:
        self.size = len(places)
        self._columns = columns
        self._places = None if self.size == columns.size else pa.array(places)
        self._taken: dict[str, pa.ChunkedArray] = {}

    def column(self, name: str) -> pa.ChunkedArray:
        if self._places is None:
            return self._columns.arrow(name)
        if name not in self._taken:
            self._taken[name] = self._columns.arrow(name).take(self._places)
        return self._taken[name]


def some_rows(columns: Columns, places: Int32s) -> Columns:
    """The columns of some rows of a batch."""
    return Columns(_Rows(columns, places))


def _some(values: npt.NDArray[Any], places: Int32s, batch: Batch) -> npt.NDArray[Any]:
    return values if len(places) == batch.size else values[places]


def _ones(size: int, words: int) -> Words:
    bits = np.zeros(words * 64, dtype=np.uint8)
    bits[:size] = 1
    return np.packbits(bits, bitorder="little").view(np.uint64)


def _hull(factor: Factor) -> tuple[int, int] | None:
    """The least and greatest code that any entry accepts; None if some accept all codes, or NULL."""
    if factor.accepts_null is not None:
        return None
    low, high = int(factor.low.min()), int(factor.high.max())
    return None if low == LEAST and high == GREATEST else (low, high)
