"""An equality table: entries that name one or some values of an axis, found by the value of a row.

The keys are numbered; the entries of key k are `postings[offsets[k] : offsets[k + 1]]`. A batch is looked up once, and the
other factors are tested on the pairs (row, entry) that come of it, so a row touches only the entries that name its value. A *hot*
key, which very many entries name, has them in blocks instead, which are asked about the rows that have the key.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from millpond.predicate.vector import Bools
from millpond.standing.index.axes import Axis, Batch, Int32s
from millpond.standing.index.block import blocks_of, some_rows
from millpond.standing.index.entries import Entries
from millpond.standing.index.keys import Keys, NumberKeys, TextKeys
from millpond.standing.index.matches import Collector

HOT = 512
_PAIRS = 1 << 18  # pairs that are tested at a time
_MANY = 8  # a filter is evaluated over the whole batch if it is asked about more than one row of so many

Positions = npt.NDArray[np.integer[Any]]
Values = Any  # Int64s of codes, or an Arrow array of text
Named = tuple[Entries, Positions, Values]
"""Entries, and pairs of one of them and a value that it names."""


class EqualityTable:
    """Entries by a value of an axis. `entries` says nothing about that axis."""

    def __init__(self, axis: Axis, entries: Entries, at: Positions, values: Values) -> None:
        """Entry `at[i]` names `values[i]`; an entry can name several values, and names each once."""
        self.axis = axis
        self._keys: Keys
        kind = TextKeys if isinstance(values, pa.Array) else NumberKeys
        self._keys, numbers = kind.numbered(values)
        order = np.argsort(numbers, kind="stable")
        counts = np.bincount(numbers, minlength=len(self._keys))
        self._offsets = np.concatenate([[0], np.cumsum(counts)]).astype(np.int32)
        postings = at[order]
        first, where = np.unique(
            postings, return_index=True
        )  # entries in the order of their keys: near each other in memory
        by_key = first[np.argsort(where)]
        moved = np.empty(len(entries), dtype=np.int32)
        moved[by_key] = np.arange(len(by_key), dtype=np.int32)
        self.entries = entries.take(by_key)
        self._postings: Int32s | None = moved[postings]
        if len(at) == len(entries):  # one value each: the posting is its own number
            self._postings = None
        self.size = len(entries)
        self._gone = np.zeros(self.size, dtype=np.bool_)
        self.gone = 0
        self._has_rest = np.zeros(self.size if self.entries.rest else 0, dtype=np.bool_)
        self._has_rest[list(self.entries.rest)] = True
        self._hot = {int(k): blocks_of(self.entries.take(self._of(int(k)))) for k in np.flatnonzero(counts >= HOT)}
        self._is_hot = counts >= HOT if self._hot else None
        self._single = self._postings is None and len(self._keys) == self.size  # entry k names key k, and no other does

    @property
    def nbytes(self) -> int:
        arrays = [self._offsets, self._gone, self._has_rest]
        arrays += [a for a in (self._postings, self._is_hot) if a is not None]
        blocks = sum(block.nbytes for blocks in self._hot.values() for block in blocks)
        return self.entries.nbytes + self._keys.nbytes + sum(a.nbytes for a in arrays) + blocks

    def remove(self, positions: Positions) -> None:
        """These entries match nothing any more."""
        self._gone[positions] = True
        self.gone = int(np.count_nonzero(self._gone))
        for blocks in self._hot.values():
            for block in blocks:
                block.remove(np.flatnonzero(np.isin(block.entries.ids, self.entries.ids[positions])))

    def live(self) -> Named:
        """What is still there, as it was given."""
        numbers = np.repeat(np.arange(len(self._keys)), np.diff(self._offsets))
        postings = np.arange(self.size) if self._postings is None else self._postings.astype(np.intp)
        if not self.gone:
            return self.entries, postings, self._keys.values(numbers)
        kept = np.flatnonzero(~self._gone)
        moved = np.full(self.size, -1)
        moved[kept] = np.arange(len(kept))
        at = moved[postings]
        return self.entries.take(kept), at[at >= 0], self._keys.values(numbers[at >= 0])

    @classmethod
    def joined(cls, axis: Axis, parts: Sequence[Named]) -> EqualityTable:
        at, before = [], 0
        for entries, positions, _ in parts:
            at.append(positions + before)
            before += len(entries)
        values = [v for _, _, v in parts]
        joined = pa.concat_arrays(values) if isinstance(values[0], pa.Array) else np.concatenate(values)
        return cls(axis, Entries.joined([e for e, _, _ in parts]), np.concatenate(at), joined)

    def match(self, batch: Batch, into: Collector) -> None:
        """Find the matches among all rows of a batch."""
        places, keys = self._keys.find(batch, self.axis)
        if self._is_hot is not None:
            hot = self._is_hot[keys]
            self._match_hot(batch, places[hot], keys[hot], into)
            places, keys = places[~hot], keys[~hot]
        if self._single:
            for begin in range(0, len(places), _PAIRS):
                self._test(batch, places[begin : begin + _PAIRS], keys[begin : begin + _PAIRS], into)
            return
        ends = np.cumsum(self._offsets[keys + 1] - self._offsets[keys], dtype=np.int64)
        begin = 0
        while begin < len(places):
            before = int(ends[begin - 1]) if begin else 0
            end = max(begin + 1, int(np.searchsorted(ends, before + _PAIRS, side="right")))
            self._match_pairs(batch, places[begin:end], keys[begin:end], into)
            begin = end

    def _match_pairs(self, batch: Batch, places: Positions, keys: Positions, into: Collector) -> None:
        firsts, counts = self._offsets[keys], self._offsets[keys + 1] - self._offsets[keys]
        total = int(counts.sum())
        if total == len(places):  # one entry each
            postings: Positions = firsts
        else:
            ends = np.cumsum(counts)
            postings = np.arange(total) + np.repeat(firsts - (ends - counts), counts)
            places = np.repeat(places, counts)
        self._test(batch, places, postings if self._postings is None else self._postings[postings], into)

    def _test(self, batch: Batch, places: Positions, entries: Positions, into: Collector) -> None:
        """Find the matches among pairs of a row and an entry that names its value."""
        if self.gone:
            places, entries = _only(~self._gone[entries], places, entries)
        for axis, factor in self.entries.factors.items():
            places, entries = _only(factor.holds(batch, axis, places, entries), places, entries)
        if self.entries.rest:
            places, entries = self._with_rest(batch, places, entries)
        into.pairs(self.entries.ids[entries], places.astype(np.int32))

    def _with_rest(self, batch: Batch, places: Positions, entries: Positions) -> tuple[Positions, Positions]:
        """The pairs of which also the rest is true."""
        asked = np.flatnonzero(self._has_rest[entries])
        asked = asked[np.argsort(entries[asked], kind="stable")]
        true = np.ones(len(entries), dtype=np.bool_)
        for same in np.split(asked, np.flatnonzero(np.diff(entries[asked])) + 1) if len(asked) else []:
            filter_ = self.entries.rest[int(entries[same[0]])]
            rows = places[same]
            if len(rows) * _MANY > batch.size:
                true[same] = filter_(batch.columns)[rows]
            else:
                true[same] = filter_(some_rows(batch.columns, rows.astype(np.int32)))
        return _only(true, places, entries)

    def _match_hot(self, batch: Batch, places: Positions, keys: Positions, into: Collector) -> None:
        order = np.argsort(keys, kind="stable")
        for same in np.split(order, np.flatnonzero(np.diff(keys[order])) + 1) if len(order) else []:
            rows = places[same].astype(np.int32)
            for block in self._hot[int(keys[same[0]])]:
                block.match(batch, rows, into)

    def _of(self, key: int) -> Positions:
        postings = np.arange(self._offsets[key], self._offsets[key + 1], dtype=np.intp)
        return postings if self._postings is None else self._postings[postings].astype(np.intp)


def _only(wanted: Bools, places: Positions, entries: Positions) -> tuple[Positions, Positions]:
    if wanted.all():
        return places, entries
    return places[wanted], entries[wanted]
