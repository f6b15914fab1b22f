"""Runs of bits (row x entry): the matches of entries that many rows fulfil.

A run is a matrix of bits with a row for each row of the table, so that a batch is appended as it was made. An entry has a column;
its matches are read with one strided pass over a byte of each row. Bit j of a row is bit j % 8 of byte j // 8.

Runs are merged if their entries have the same columns. An entry that is in one of them only gets a column that is free in the
other, so that runs stay mergeable while queries come and go.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int64]
Entries = npt.NDArray[np.int32]
Bits = npt.NDArray[np.uint8]

WHOLE = 1 << 24  # bytes at which a run is left alone
NOBODY = -1  # owner of a free column
_AT_ONCE = 4096  # rows that are repacked at once


class BitBlock(Protocol):
    """The matches of some entries in a batch: bit j of row i tells whether row `places[i]` of the batch fulfils `entries[j]`."""

    @property
    def places(self) -> Entries: ...

    @property
    def entries(self) -> Entries: ...

    @property
    def bits(self) -> Bits:
        """A matrix of len(places) x ceil(len(entries) / 8) bytes."""


@dataclass(frozen=True)
class BitRun:
    """`owners[j]` is the entry of column j. `rows` are distances from `first`; None if the numbers have no gaps."""

    owners: Entries
    bits: Bits
    rows: npt.NDArray[np.uint32] | None
    first: int
    last: int
    _names: Entries = field(init=False, repr=False, compare=False)
    _columns: Ints = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        order = np.argsort(self.owners, kind="stable")
        order = order[np.count_nonzero(self.owners == NOBODY) :]
        object.__setattr__(self, "_columns", order)
        object.__setattr__(self, "_names", self.owners[order])

    @classmethod
    def of(cls, owners: Entries, bits: Bits, seqs: Ints) -> BitRun:
        if (seqs[1:] <= seqs[:-1]).any():
            order = np.argsort(seqs)
            bits, seqs = bits[order], seqs[order]
            assert (seqs[1:] > seqs[:-1]).all(), "two rows have the same number"
        first, last = int(seqs[0]), int(seqs[-1])
        assert last - first < 1 << 32, "row numbers too far apart for one run"
        rows = None if last - first + 1 == len(seqs) else (seqs - first).astype(np.uint32)
        return cls(owners, bits, rows, first, last)

    @classmethod
    def of_block(cls, block: BitBlock, seqs: Ints) -> BitRun:
        """Of a batch whose rows have the numbers `seqs`."""
        width = block.bits.shape[1]
        owners = np.full(8 * width, NOBODY, dtype=np.int32)
        owners[: len(block.entries)] = block.entries
        return cls.of(owners, block.bits, seqs[block.places])

    @property
    def size(self) -> int:
        return len(self.bits)

    @property
    def names(self) -> Entries:
        """The entries, sorted."""
        return self._names

    @property
    def bytes(self) -> int:
        size = self.bits.nbytes + self.owners.nbytes + self._names.nbytes + self._columns.nbytes
        return size + (0 if self.rows is None else self.rows.nbytes)

    def find(self, entry: np.int32, from_seq: int, below_seq: int) -> Ints | None:
        """The rows of one entry with numbers from `from_seq` up to `below_seq`, without it; None if there are none."""
        at = int(self._names.searchsorted(entry))
        if at == len(self._names) or self._names[at] != entry:
            return None
        column = int(self._columns[at])
        begin, end = self._between(from_seq, below_seq)
        if begin >= end:
            return None
        found = np.flatnonzero(self.bits[begin:end, column >> 3] & np.uint8(1 << (column & 7)))
        if self.rows is None:
            return found + (self.first + begin)
        return self.rows[found + begin].astype(np.int64) + self.first

    def alike(self, other: BitRun) -> bool:
        """Whether the two have the same entries in the same columns."""
        return self.owners is other.owners or np.array_equal(self.owners, other.owners)

    def fits(self, other: BitRun) -> bool:
        """Whether the two can be one run: no column has two owners and no entry two columns."""
        if max(self.last, other.last) - min(self.first, other.first) >= 1 << 32:
            return False
        if max(len(self.owners), len(other.owners)) // 8 * (self.size + other.size) > WHOLE:
            return False
        if self.alike(other):
            return True
        width = min(len(self.owners), len(other.owners))
        mine, theirs = self.owners[:width], other.owners[:width]
        shared = mine == theirs
        if not (shared | (mine == NOBODY) | (theirs == NOBODY)).all():
            return False
        common = np.intersect1d(self._names, other._names, assume_unique=True)
        return len(common) == np.count_nonzero(shared & (mine != NOBODY))

    def merged(self, other: BitRun) -> BitRun:
        if self.alike(other):
            return BitRun.of(self.owners, np.concatenate([self.bits, other.bits]), np.r_[self._seqs(), other._seqs()])
        width = max(len(self.owners), len(other.owners))
        mine, theirs = _widened(self.owners, width), _widened(other.owners, width)
        bits = np.zeros((self.size + other.size, width // 8), dtype=np.uint8)
        bits[: self.size, : self.bits.shape[1]] = self.bits & _mask(self.owners)
        bits[self.size :, : other.bits.shape[1]] = other.bits & _mask(other.owners)
        return BitRun.of(np.maximum(mine, theirs), bits, np.r_[self._seqs(), other._seqs()])

    def disowned(self, gone: Entries) -> BitRun:
        """The run with the columns of these entries free."""
        owned = np.isin(self._names, gone)
        if not owned.any():
            return self
        owners = self.owners.copy()
        owners[self._columns[owned]] = NOBODY
        return replace(self, owners=owners)

    def rows_of_all_but(self, gone: Entries) -> Ints:
        """The rows that fulfil some entry that is not in `gone`."""
        return self._seqs()[(self.bits & _mask(self.disowned(gone).owners)).any(axis=1)]

    def idle(self, entries: Entries) -> Entries:
        """Those of some entries that have a column without a match."""
        columns = self._columns[np.isin(self._names, entries)]
        used = np.bitwise_or.reduce(self.bits[:, columns >> 3], axis=0) & (
            np.uint8(1) << (columns & 7).astype(np.uint8)
        )
        idle: Entries = self.owners[columns[used == 0]]
        return idle

    def without(self, gone: Entries, before: int) -> BitRun | None:
        """The run without these entries, and without most of the rows numbered under `before`; None if nothing is left."""
        run = self.disowned(gone)
        owners, bits, seqs = run.owners, run.bits, run._seqs()
        left = owners != NOBODY
        if self.last < before or not left.any():
            return None
        if (begin := int(seqs.searchsorted(before))) * 2 > len(seqs):
            bits, seqs = bits[begin:].copy(), seqs[begin:]
        used = left.reshape(-1, 8).any(axis=1)  # what lies in whole bytes goes at the price of a copy
        if 8 * np.count_nonzero(used) <= 7 * len(used):
            owners, left, bits = owners[np.repeat(used, 8)], left[np.repeat(used, 8)], bits[:, used]
        if np.count_nonzero(left) * 2 < len(owners) and len(owners) > 8:
            return BitRun.of(_filled(owners[left]), _repacked(bits, np.flatnonzero(left)), seqs)
        return run if bits is self.bits else BitRun.of(owners, bits, seqs)

    def _between(self, from_seq: int, below_seq: int) -> tuple[int, int]:
        if self.rows is None:
            return max(from_seq - self.first, 0), min(below_seq - self.first, self.size)
        begin = 0 if from_seq <= self.first else int(self.rows.searchsorted(from_seq - self.first))
        end = self.size if below_seq > self.last else int(self.rows.searchsorted(max(below_seq - self.first, 0)))
        return begin, end

    def _seqs(self) -> Ints:
        rows = np.arange(self.size) if self.rows is None else self.rows.astype(np.int64)
        return rows + self.first


def append_bits(runs: Sequence[BitRun], run: BitRun) -> list[BitRun]:
    """Add a run, and merge it with earlier ones that are not much longer."""
    found = list(runs)
    while True:
        at = next((i for i in reversed(range(len(found))) if found[i].alike(run)), None)
        if at is None or not found[at].fits(run):
            at = next((i for i in reversed(range(len(found))) if found[i].fits(run)), None)
        if at is None or found[at].size > 2 * run.size:
            return [*found, run]
        run = found.pop(at).merged(run)


def _widened(owners: Entries, width: int) -> Entries:
    return np.concatenate([owners, np.full(width - len(owners), NOBODY, dtype=np.int32)])


def _filled(owners: Entries) -> Entries:
    return _widened(owners, -(-len(owners) // 8) * 8)


def _mask(owners: Entries) -> Bits:
    return np.packbits(owners != NOBODY, bitorder="little")


def _repacked(bits: Bits, columns: Ints) -> Bits:
    """The matrix with only these columns."""
    found = np.empty((len(bits), -(-len(columns) // 8)), dtype=np.uint8)
    for begin in range(0, len(bits), _AT_ONCE):
        spread = np.unpackbits(bits[begin : begin + _AT_ONCE], axis=1, bitorder="little")
        found[begin : begin + _AT_ONCE] = np.packbits(spread[:, columns], axis=1, bitorder="little")
    return found
