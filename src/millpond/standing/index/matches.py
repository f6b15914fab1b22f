"""Which rows of a batch match which entries: pairs where they are few, bits where they are many, whichever is smaller.

The byte form is for the way from a worker to the owner: little-endian, a header of counts and then the arrays as they are.
Pairs are grouped by entry, so that one takes two bytes (four in a batch of more than 65,536 rows).
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
import numpy.typing as npt

Int32s = npt.NDArray[np.int32]
UInt8s = npt.NDArray[np.uint8]

PAIR_BYTES: Final = 8
_HEADER = struct.Struct("<4sIQQI")
_BLOCK = struct.Struct("<II")
_MAGIC = b"mtch"
_SHORT = 1 << 16


@dataclass(frozen=True)
class BitBlock:
    """A matrix of bits, a row of it for each of some rows of the batch and a column for each of some entries.

    `places` and `entries` increase. The bit of `entries[j]` is bit j % 8, from the lowest, of byte j // 8.
    """

    places: Int32s
    entries: Int32s
    bits: UInt8s

    def of(self, entry: int) -> Int32s:
        """The places that match an entry."""
        j = int(np.searchsorted(self.entries, entry))
        if j == len(self.entries) or self.entries[j] != entry:
            return self.places[:0]
        found: Int32s = self.places[(self.bits[:, j >> 3] & np.uint8(1 << (j & 7))) != 0]
        return found

    def pairs(self) -> tuple[Int32s, Int32s]:
        """Entries and places of all bits that are set, by place."""
        row, entry = np.nonzero(np.unpackbits(self.bits, axis=1, count=len(self.entries), bitorder="little"))
        return self.entries[entry], self.places[row]

    @property
    def nbytes(self) -> int:
        return self.places.nbytes + self.entries.nbytes + self.bits.nbytes


_NONE: Int32s = np.empty(0, dtype=np.int32)


@dataclass(frozen=True)
class Matches:
    """The matches of a batch of so many `rows`; a row is its place in the batch. A match is in one of both parts, once.

    `entries` and `places` are the pairs, sorted by entry, then by place.
    """

    rows: int
    entries: Int32s = field(default_factory=lambda: _NONE)
    places: Int32s = field(default_factory=lambda: _NONE)
    dense: tuple[BitBlock, ...] = ()

    def of(self, entry: int) -> Int32s:
        """The places that match an entry, in order."""
        begin, end = np.searchsorted(self.entries, [entry, entry + 1])
        found = [self.places[begin:end], *(block.of(entry) for block in self.dense)]
        found = [places for places in found if len(places)]
        return np.sort(np.concatenate(found)) if len(found) > 1 else found[0] if found else _NONE

    def pairs(self) -> tuple[Int32s, Int32s]:
        """All matches as pairs, sorted by entry, then by place."""
        parts = [(self.entries, self.places), *(block.pairs() for block in self.dense)]
        return sorted_pairs([e for e, _ in parts], [p for _, p in parts])

    @property
    def nbytes(self) -> int:
        return self.entries.nbytes + self.places.nbytes + sum(block.nbytes for block in self.dense)

    def to_bytes(self) -> bytes:
        entries, counts = np.unique(self.entries, return_counts=True)
        parts = [
            _HEADER.pack(_MAGIC, self.rows, len(entries), len(self.places), len(self.dense)),
            entries.astype("<i4").tobytes(),
            counts.astype("<i4").tobytes(),
            self.places.astype(_place_type(self.rows)).tobytes(),
        ]
        for block in self.dense:
            parts += [
                _BLOCK.pack(len(block.places), len(block.entries)),
                block.places.astype("<i4").tobytes(),
                block.entries.astype("<i4").tobytes(),
                np.ascontiguousarray(block.bits).tobytes(),
            ]
        return b"".join(parts)

    @classmethod
    def from_bytes(cls, data: bytes | memoryview) -> Matches:
        """The arrays may be views of `data`."""
        magic, rows, entries, pairs, blocks = _HEADER.unpack_from(data)
        assert magic == _MAGIC, "bytes that are no matches"
        reader = _Reader(data, _HEADER.size)
        ids, counts = reader.next("<i4", entries), reader.next("<i4", entries)
        places = reader.next(_place_type(rows), pairs).astype(np.int32)
        dense = []
        for _ in range(blocks):
            tall, wide = _BLOCK.unpack(reader.next("u1", _BLOCK.size).tobytes())
            at, of = reader.next("<i4", tall), reader.next("<i4", wide)
            dense.append(BitBlock(at, of, reader.next("u1", tall * (-(-wide // 8))).reshape(tall, -(-wide // 8))))
        return cls(rows, np.repeat(ids, counts), places, tuple(dense))


class _Reader:
    def __init__(self, data: bytes | memoryview, begin: int) -> None:
        self._data = data
        self._at = begin

    def next(self, dtype: str, count: int) -> npt.NDArray[Any]:
        found = np.frombuffer(self._data, dtype, count, self._at)
        self._at += found.nbytes
        return found


def _place_type(rows: int) -> str:
    return "<u2" if rows <= _SHORT else "<i4"


def sorted_pairs(entries: Sequence[Int32s], places: Sequence[Int32s]) -> tuple[Int32s, Int32s]:
    """Pairs from several sources as one, sorted by entry, then by place."""
    if not entries:
        return _NONE, _NONE
    pairs = np.concatenate(entries).astype(np.int64)
    pairs <<= 32
    pairs |= np.concatenate(places)
    pairs.sort()  # faster than finding the order of either part
    return (pairs >> 32).astype(np.int32), pairs.astype(np.int32)


_COUNT = np.bitwise_count(np.arange(256, dtype=np.uint8))
_FIRST = np.concatenate([[0], np.cumsum(_COUNT)[:-1]]).astype(np.int32)
_SET = np.concatenate([np.flatnonzero([(b >> j) & 1 for j in range(8)]) for b in range(256)]).astype(np.int32)
"""The bits of each byte: those of b are _SET[_FIRST[b] : _FIRST[b] + _COUNT[b]]."""


class Collector:
    """Takes the matches of a batch from all parts of an index and makes one `Matches` of them."""

    def __init__(self, rows: int) -> None:
        self.rows = rows
        self._entries: list[Int32s] = []
        self._places: list[Int32s] = []
        self._dense: list[BitBlock] = []

    def pairs(self, entries: Int32s, places: Int32s) -> None:
        if len(entries):
            self._entries.append(entries)
            self._places.append(places)

    def words(self, words: npt.NDArray[np.uint64], entries: Int32s, places: Int32s) -> bool:
        """Take a matrix of bits as pairs if that is at most half as large. If not, it is left to the caller: False."""
        count = int(np.bitwise_count(words).sum(dtype=np.int64))
        if 2 * PAIR_BYTES * count > words.nbytes:
            return False
        if count:
            self._take_bits(words, entries, places)
        return True

    def _take_bits(self, words: npt.NDArray[np.uint64], entries: Int32s, places: Int32s) -> None:
        width = words.shape[1]
        some = np.flatnonzero(words.ravel() != 0)
        bytes_ = words.ravel()[some].view(np.uint8)
        found = np.flatnonzero(bytes_ != 0)
        values = bytes_[found]
        counts = _COUNT[values]
        where = np.repeat(some[found >> 3] * 8 + (found & 7), counts)  # the byte in which each bit lies
        ends = np.cumsum(counts, dtype=np.int64)
        bit = np.arange(len(where)) + np.repeat(_FIRST[values] - (ends - counts), counts)
        row, byte = np.divmod(where, width * 8)
        self.pairs(entries[byte * 8 + _SET[bit]], places[row])

    def block(self, block: BitBlock) -> None:
        self._dense.append(block)

    def matches(self) -> Matches:
        entries, places = sorted_pairs(self._entries, self._places)
        return Matches(self.rows, entries, places, tuple(self._dense))
