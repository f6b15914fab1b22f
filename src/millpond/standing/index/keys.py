"""Keys of an equality table: values to their numbers, many at once.

A value is looked up by a hash of 64 bits: its first bits tell where among the sorted hashes it is or would be, give or take
a few. So a lookup costs the same however many keys there are. A number can be told from its hash; text is compared with
the key found. Keys are few bytes each, and a batch is looked up without an object for each value. Where keys are
more than the processor keeps near itself, a batch is looked up in the order of its hashes: all tables are then walked from one
end to the other.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from millpond.predicate.columns import Bools
from millpond.standing.index.axes import Axis, Batch, Int64s
from millpond.standing.index.hashes import UInt64s, hashed, mixed, unmixed

Numbers = npt.NDArray[np.integer[Any]]

_NEAR = 1 << 16  # keys up to which it does not matter in which order they are looked up


class _Table:
    """Different hashes, sorted, and for each beginning that a hash can have the first of those that are not before it."""

    def __init__(self, hashes: UInt64s) -> None:
        self.size = len(hashes)
        bits = max(1, self.size.bit_length())
        self._shift = np.uint64(64 - bits)
        self._hashes = np.append(
            hashes, np.uint64((1 << 64) - 1)
        )  # nothing is after the last, so no search runs beyond it
        begins = np.arange(1 << bits, dtype=np.uint64) << self._shift
        self._first = np.searchsorted(hashes, begins).astype(np.int32)

    @property
    def hashes(self) -> UInt64s:
        return self._hashes[:-1]

    @property
    def nbytes(self) -> int:
        return self._hashes.nbytes + self._first.nbytes

    def find(self, wanted: UInt64s, nulls: Bools | None) -> tuple[Numbers, Numbers]:
        """The places of hashes that are there, and their numbers. A NULL is not there."""
        if self.size <= _NEAR:
            hits, number = self._looked_up(wanted)
            places = np.flatnonzero(hits if nulls is None else hits & ~nulls)
            return places, number[places]
        order = _in_order(wanted)
        hits, number = self._looked_up(wanted[order])
        if nulls is not None:
            hits &= ~nulls[order]
        return order[hits], number[hits]

    def _looked_up(self, wanted: UInt64s) -> tuple[Bools, npt.NDArray[np.int32]]:
        number = self._first[wanted >> self._shift]
        before = np.flatnonzero(self._hashes[number] < wanted)
        while len(before):
            number[before] += 1
            before = before[self._hashes[number[before]] < wanted[before]]
        return (self._hashes[number] == wanted) & (number < self.size), number


class NumberKeys:
    """Keys that are codes of 64 bits."""

    def __init__(self, hashes: UInt64s) -> None:
        self._table = _Table(hashes)

    @classmethod
    def numbered(cls, values: Int64s) -> tuple[NumberKeys, Numbers]:
        """The keys among values, and the number of each value's key."""
        hashes, numbers = np.unique(mixed(values.view(np.uint64)), return_inverse=True)
        return cls(hashes), numbers

    def __len__(self) -> int:
        return self._table.size

    @property
    def nbytes(self) -> int:
        return self._table.nbytes

    def values(self, numbers: Numbers) -> Int64s:
        return unmixed(self._table.hashes[numbers]).view(np.int64)

    def find(self, batch: Batch, axis: Axis) -> tuple[Numbers, Numbers]:
        """Places of rows whose value is a key, and the keys' numbers."""
        return self._table.find(mixed(batch.codes(axis).view(np.uint64)), batch.nulls(axis))


class TextKeys:
    """Keys that are text. No two share a hash."""

    def __init__(self, texts: pa.Array, hashes: UInt64s, seed: int) -> None:
        """`hashes` are those of `texts` under `seed`, sorted."""
        self._texts = texts
        self._table = _Table(hashes)
        self._seed = seed

    @classmethod
    def numbered(cls, values: pa.Array) -> tuple[TextKeys, Numbers]:
        """The keys among values, and the number of each value's key."""
        encoded = values.dictionary_encode()
        texts = encoded.dictionary
        for seed in range(1 << 16):
            hashes = hashed(texts, seed)
            order = np.argsort(hashes)
            if (hashes[order][1:] != hashes[order][:-1]).all():
                break
        number = np.empty(len(order), dtype=np.intp)
        number[order] = np.arange(len(order))
        keys = cls(texts.take(pa.array(order)), hashes[order], seed)
        return keys, number[encoded.indices.to_numpy(zero_copy_only=False)]

    def __len__(self) -> int:
        return self._table.size

    @property
    def nbytes(self) -> int:
        return int(self._table.nbytes + self._texts.nbytes)

    def values(self, numbers: Numbers) -> pa.Array:
        return self._texts.take(pa.array(numbers))

    def find(self, batch: Batch, axis: Axis) -> tuple[Numbers, Numbers]:
        """Places of rows whose value is a key, and the keys' numbers."""
        places, number = self._table.find(batch.hashes(axis.left, self._seed), batch.nulls(axis))
        found = batch.texts(axis.left).take(pa.array(places))
        same = pc.equal(self._texts.take(pa.array(number)), found)
        if same.true_count < len(places):
            wanted = same.to_numpy(zero_copy_only=False)
            places, number = places[wanted], number[wanted]
        return places, number


Keys = NumberKeys | TextKeys


def _in_order(hashes: UInt64s) -> Numbers:
    """The places of hashes in the order of their first bits, as many as are left beside the place itself."""
    bits = len(hashes).bit_length()
    places = np.arange(len(hashes), dtype=np.uint64)
    keys = (hashes >> np.uint64(bits) << np.uint64(bits)) | places
    keys.sort()  # several times as fast as finding the order
    return (keys & np.uint64((1 << bits) - 1)).astype(np.int32)
