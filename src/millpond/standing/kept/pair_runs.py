"""Runs of sorted pairs (entry, row): the matches of entries that few rows fulfil.

A run is laid out by entry: the row numbers of one entry lie side by side, in increasing order, as 32-bit distances from the run's
first. A match costs four bytes, and each entry that has one in the run eight more.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from millpond.arrow import distinct

Ints = npt.NDArray[np.int64]
Entries = npt.NDArray[np.int32]

WHOLE = 1 << 22  # pairs at which a run is left alone
_SPAN = (1 << 32) - 1  # a row number is a distance of 32 bits
_ROW = np.int64(_SPAN)


@dataclass(frozen=True)
class PairRun:
    """Rows `first + rows[offsets[i]:offsets[i + 1]]` fulfil `entries[i]`; row numbers lie between `first` and `last`."""

    entries: Entries
    offsets: Entries
    rows: npt.NDArray[np.uint32]
    first: int
    last: int

    @classmethod
    def of_pairs(cls, entries: Entries, seqs: Ints) -> PairRun:
        """At least one pair, in any order; one that occurs twice is held once."""
        first, last = int(seqs.min()), int(seqs.max())
        assert last - first <= _SPAN, "row numbers too far apart for one run"
        keys = (entries.astype(np.int64) << 32) | (seqs - first)
        rising = keys[1:] > keys[:-1]
        return cls._of_keys(keys if rising.all() else distinct(keys), first, last)

    @classmethod
    def _of_keys(cls, keys: Ints, first: int, last: int) -> PairRun:
        entries = (keys >> 32).astype(np.int32)
        begins = np.flatnonzero(np.r_[True, entries[1:] != entries[:-1]])
        offsets = np.r_[begins, len(keys)].astype(np.int32)
        return cls(entries[begins], offsets, (keys & _ROW).astype(np.uint32), first, last)

    @property
    def size(self) -> int:
        return len(self.rows)

    @property
    def bytes(self) -> int:
        return self.entries.nbytes + self.offsets.nbytes + self.rows.nbytes

    def find(self, entry: np.int32, from_seq: int, below_seq: int) -> Ints | None:
        """The rows of one entry with numbers from `from_seq` up to `below_seq`, without it; None if there are none."""
        at = int(self.entries.searchsorted(entry))
        if at == len(self.entries) or self.entries[at] != entry:
            return None
        rows = self.rows[self.offsets[at] : self.offsets[at + 1]].astype(np.int64)
        rows += self.first
        if from_seq > self.first:
            rows = rows[rows.searchsorted(from_seq) :]
        if below_seq <= self.last:
            rows = rows[: rows.searchsorted(below_seq)]
        return rows

    def count(self, entries: Entries) -> int:
        """How many pairs these entries have, which are distinct."""
        at = self.entries.searchsorted(entries)
        at = at[at < len(self.entries)]
        at = at[np.isin(self.entries[at], entries)]
        return int((self.offsets[at + 1] - self.offsets[at]).sum()) if len(at) else 0

    def rows_of_all_but(self, gone: Entries) -> Ints:
        """The rows that fulfil some entry that is not in `gone`; a row may occur more than once."""
        return self._seqs()[np.repeat(~np.isin(self.entries, gone), np.diff(self.offsets))]

    def fits(self, other: PairRun, whole: int) -> bool:
        """Whether the two can be one run of at most `whole` pairs."""
        span = max(self.last, other.last) - min(self.first, other.first)
        return span <= _SPAN and self.size + other.size <= whole

    def merged(self, other: PairRun) -> PairRun:
        if self.last >= other.first:
            return PairRun.of_pairs(np.r_[self._spread(), other._spread()], np.r_[self._seqs(), other._seqs()])
        # Every row of the other is later: the rows of an entry are those of this one and then those of the other.
        entries = distinct(np.concatenate([self.entries, other.entries]))
        mine, theirs = entries.searchsorted(self.entries), entries.searchsorted(other.entries)
        my_counts, their_counts = np.diff(self.offsets), np.diff(other.offsets)
        counts = np.zeros(len(entries), dtype=np.int64)
        counts[mine] += my_counts
        counts[theirs] += their_counts
        offsets = np.r_[0, np.cumsum(counts)]
        rows = np.empty(self.size + other.size, dtype=np.uint32)
        rows[np.arange(self.size) + np.repeat(offsets[mine] - self.offsets[:-1], my_counts)] = self.rows
        ends = offsets[theirs + 1] - their_counts
        distance = np.uint32(other.first - self.first)
        rows[np.arange(other.size) + np.repeat(ends - other.offsets[:-1], their_counts)] = other.rows + distance
        return PairRun(entries, offsets.astype(np.int32), rows, self.first, other.last)

    def without(self, gone: Entries, before: int) -> PairRun | None:
        """The pairs whose entry is not in `gone` and whose row number is not less than `before`; None if there are none."""
        if before <= self.first and not np.isin(self.entries, gone).any():
            return self
        keep = np.repeat(~np.isin(self.entries, gone), np.diff(self.offsets))
        if before > self.first:
            keep &= self._seqs() >= before
        return PairRun.of_pairs(self._spread()[keep], self._seqs()[keep]) if keep.any() else None

    def _spread(self) -> Entries:
        return np.repeat(self.entries, np.diff(self.offsets))

    def _seqs(self) -> Ints:
        return self.rows.astype(np.int64) + self.first
