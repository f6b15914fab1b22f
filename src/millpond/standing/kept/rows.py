"""Recent rows of one table, in order of their numbers, so that a row is found by its number.

Idea. Appended batches become chunks, and small chunks are merged as they age, like the carries of a binary counter. A chunk is
one record batch with its row numbers and event times as arrays beside it. A row is found by arithmetic where the numbers of a
chunk have no gaps, else by binary search. An old chunk is thinned to the rows that somebody needs, or dropped.

Invariant. Chunks are disjoint ranges of row numbers in increasing order, and within a chunk numbers increase. All rows numbered
`complete_from.seq` and above are held, and so are all rows later than `complete_from.after`: the greatest time that was ever
removed. It is a time of its own because rows come out of order, so an old number may have a late time.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from millpond.arrow import distinct, integers
from millpond.event_time import NEVER
from millpond.predicate.vector import Columns, Filter
from millpond.schema import SEQ
from millpond.standing.kept.newest import Run

Ints = npt.NDArray[np.int64]

_WHOLE = 65_536  # rows at which a chunk is left alone
_NONE: Ints = np.zeros(0, dtype=np.int64)


@dataclass(frozen=True)
class Complete:
    """Rows numbered `seq` and above are all there, and rows later than `after` are all there."""

    seq: int = 0
    after: int = NEVER


@dataclass(frozen=True)
class Chunk:
    """Rows in order of their numbers. `least` and `greatest` bound their event times."""

    rows: pa.RecordBatch
    seqs: Ints
    times: Ints
    first: int
    last: int
    least: int
    greatest: int
    bytes: int

    @classmethod
    def of(cls, rows: pa.RecordBatch, seqs: Ints, times: Ints) -> Chunk:
        for array in (seqs, times):
            array.flags.writeable = False
        size = rows.nbytes + times.nbytes  # the numbers lie in the batch
        return cls(rows, seqs, times, int(seqs[0]), int(seqs[-1]), int(times.min()), int(times.max()), size)

    @property
    def size(self) -> int:
        return len(self.seqs)

    @cached_property
    def by_time(self) -> Run:
        """The rows in the order of their times. Sorted when somebody asks first."""
        return Run.of(self.times, self.seqs)

    def places(self, seqs: Ints) -> Ints:
        """Where the rows with these numbers stand, all of which lie between the first and the last of the chunk."""
        if self.last - self.first + 1 == len(self.seqs):
            return seqs - self.first
        places: Ints = self.seqs.searchsorted(seqs)
        assert (self.seqs[places] == seqs).all(), "a row that is not held"
        return places

    def taken(self, places: Ints) -> Chunk | None:
        if not len(places):
            return None
        rows = self.rows.take(pa.array(places))
        return Chunk.of(rows, _numbers(rows), self.times[places])


class _Part:
    """Some rows of a chunk as a filter wants them."""

    def __init__(self, rows: pa.RecordBatch) -> None:
        self._rows = rows
        self.size = rows.num_rows

    def column(self, name: str) -> pa.ChunkedArray:
        return pa.chunked_array([self._rows.column(name)])


@dataclass(frozen=True)
class Rows:
    """The rows at one moment: what a reader asks. It never changes."""

    schema: pa.Schema
    chunks: tuple[Chunk, ...] = ()
    complete_from: Complete = Complete()
    below: int = 0
    """Rows with this number or a greater one have not been appended."""

    @property
    def size(self) -> int:
        return sum(c.size for c in self.chunks)

    @property
    def bytes(self) -> int:
        return sum(c.bytes for c in self.chunks)

    def complete(self) -> Rows:
        """Without the chunks of which only some rows are held."""
        seq, after = self.complete_from.seq, self.complete_from.after
        return replace(self, chunks=tuple(c for c in self.chunks if c.last >= seq or c.greatest > after))

    def take(self, seqs: Ints, columns: Sequence[str] | None = None) -> pa.Table:
        """The rows with these numbers, in their order; a number may occur more than once. All of them are held."""
        names = self.schema.names if columns is None else list(columns)
        if len(seqs) > 1 and not (seqs[1:] > seqs[:-1]).all():
            return self._scattered(seqs, names)
        schema = self.schema if columns is None else pa.schema([self.schema.field(n) for n in names])
        batches = []
        for chunk, begin, end in self._touched(seqs):
            rows = chunk.rows if columns is None else chunk.rows.select(names)
            places = chunk.places(seqs[begin:end])
            first, last = int(places[0]), int(places[-1])
            if last - first + 1 == len(places):
                batches.append(rows.slice(first, len(places)))
            else:
                batches.append(rows.take(pa.array(places)))
        return pa.Table.from_batches(batches, schema)

    def _scattered(self, seqs: Ints, names: Sequence[str]) -> pa.Table:
        """The rows with these numbers, which stand in any order and may occur more than once."""
        least, greatest = int(seqs.min()), int(seqs.max())
        chunks = [c for c in self.chunks if c.last >= least and c.first <= greatest]
        held = np.concatenate([_NONE, *(c.seqs for c in chunks)])
        rows = pa.Table.from_batches([c.rows.select(names) for c in chunks], pa.schema(map(self.schema.field, names)))
        places = _places(held, seqs)
        whole = len(held) == held[-1] - held[0] + 1 and least >= held[0] and greatest <= held[-1]
        assert whole or (held[places] == seqs).all(), "a row that is not held"
        return rows.combine_chunks().take(pa.array(places))

    def take_last_first(self, seqs: Ints, columns: Sequence[str]) -> pa.Table:
        """The rows with these numbers, which increase, in the opposite order."""
        names = list(columns)
        schema = pa.schema([self.schema.field(n) for n in names])
        batches = [
            chunk.rows.select(names).take(pa.array(chunk.places(seqs[begin:end])[::-1]))
            for chunk, begin, end in reversed(list(self._touched(seqs)))
        ]
        return pa.Table.from_batches(batches, schema)

    def times_of(self, seqs: Ints) -> Ints:
        """The event times of the rows with these numbers, which are all held and may stand in any order."""
        if len(seqs) > 1 and not (seqs[1:] > seqs[:-1]).all():
            different, inverse = np.unique(seqs, return_inverse=True)
            return self.times_of(different)[inverse]
        parts = [chunk.times[chunk.places(seqs[begin:end])] for chunk, begin, end in self._touched(seqs)]
        return parts[0] if len(parts) == 1 else np.concatenate([_NONE, *parts])

    def times_where_held(self, seqs: Ints) -> Ints:
        """The event times of the rows with these numbers, in any order; NEVER where a row is not held."""
        held = np.concatenate([_NONE, *(chunk.seqs for chunk in self.chunks)])
        if not len(held):
            return np.full(len(seqs), NEVER)
        times = np.concatenate([chunk.times for chunk in self.chunks])
        places = np.clip(_places(held, seqs), 0, len(held) - 1)
        return np.where(held[places] == seqs, times[places], NEVER)

    def filter(
        self, test: Filter, low: int | None = None, high: int | None = None, from_seq: int = 0,
        below_seq: int | None = None,
    ) -> Ints:  # fmt: skip
        """The numbers of the rows that match, with `low` <= time <= `high` and `from_seq` <= number < `below_seq`."""
        below_seq = self.below if below_seq is None else below_seq
        found = []
        for chunk in self.chunks:
            if chunk.last < from_seq or chunk.first >= below_seq:
                continue
            if (low is not None and chunk.greatest < low) or (high is not None and chunk.least > high):
                continue
            begin, end = (int(p) for p in chunk.seqs.searchsorted(np.array([from_seq, below_seq], dtype=np.int64)))
            inside = _inside(chunk, begin, end, low, high)
            if inside is not None:
                places = np.flatnonzero(inside)
                if not len(places):
                    continue
                begin, end, inside = (
                    begin + int(places[0]),
                    begin + int(places[-1]) + 1,
                    inside[places[0] : places[-1] + 1],
                )
            true = test(Columns(_Part(chunk.rows.slice(begin, end - begin))))
            found.append(chunk.seqs[begin:end][true if inside is None else true & inside])
        return np.concatenate([_NONE, *found])

    def _touched(self, seqs: Ints) -> Iterator[tuple[Chunk, int, int]]:
        """Chunks that hold some of the numbers, which increase, and which of the numbers these are."""
        begin = 0
        if len(self.chunks) > 1:
            ends = seqs.searchsorted(np.array([c.last for c in self.chunks], dtype=np.int64), side="right").tolist()
        else:
            ends = [len(seqs)] * len(self.chunks)
        for chunk, end in zip(self.chunks, ends, strict=True):
            if end > begin:
                assert chunk.first <= seqs[begin], "a row that is not held"
                assert chunk.last >= seqs[end - 1], "a row that is not held"
                yield chunk, begin, end
                begin = end
        assert begin == len(seqs), "a row that is not held"


class RecentRows:
    """Written by one thread. `snapshot` may be read from any thread: it is replaced whole."""

    def __init__(self, schema: pa.Schema, complete_from: Complete | None = None) -> None:
        """`schema` has the table's columns and the row number. Numbering begins at `complete_from.seq`; rows numbered below
        it, which are not held, have times up to `complete_from.after`."""
        assert SEQ in schema.names
        start = Complete() if complete_from is None else complete_from
        self.snapshot = Rows(schema, (), start, start.seq)

    @property
    def bytes(self) -> int:
        return self.snapshot.bytes

    def append(self, rows: pa.Table, times: Ints) -> None:
        """Add rows, whose numbers are all greater than those before, in any order among themselves."""
        if not rows.num_rows:
            return
        now = self.snapshot
        batch = _one_batch(rows, now.schema)
        seqs = _numbers(batch)
        if (seqs[1:] <= seqs[:-1]).any():
            order = np.argsort(seqs)
            batch, times = batch.take(pa.array(order)), times[order]
            seqs = _numbers(batch)
            assert (seqs[1:] > seqs[:-1]).all(), "two rows have the same number"
        assert seqs[0] >= now.below, "rows come in the order of their numbers"
        chunk = Chunk.of(batch, seqs, np.array(times, dtype=np.int64))
        chunks = list(now.chunks)
        last = chunk.last
        while chunks and chunk.size < _WHOLE and chunks[-1].size <= 2 * chunk.size:
            chunk = _merged([chunks.pop(), chunk])
        self.snapshot = replace(now, chunks=(*chunks, chunk), below=last + 1)

    def insert(self, rows: pa.Table, times: Ints) -> None:
        """Add rows numbered below `complete_from.seq` or held already. Which rows are all there does not change.

        Only the chunks that they fall into are made again; between chunks they become chunks of their own."""
        now = self.snapshot
        if not rows.num_rows:
            return
        batch = _one_batch(rows, now.schema)
        seqs = _numbers(batch)
        order = np.argsort(seqs, kind="stable")
        order = order[: seqs[order].searchsorted(now.complete_from.seq)]  # the others are held
        lasts = np.array([chunk.last for chunk in now.chunks], dtype=np.int64)
        before = lasts.searchsorted(seqs[order])  # the chunk that ends behind a row
        chunks: list[Chunk] = []
        for number in range(len(now.chunks) + 1):
            some = order[before.searchsorted(number) : before.searchsorted(number, side="right")]
            old = now.chunks[number] if number < len(now.chunks) else None
            if old is not None and len(some):
                some = some[old.seqs[old.seqs.searchsorted(seqs[some])] != seqs[some]]
            if len(some):
                inside = 0 if old is None else int((seqs[some] > old.first).sum())
                outside, some = some[: len(some) - inside], some[len(some) - inside :]
                if len(outside):
                    chunks.append(_picked(batch, seqs, times, outside))
                if len(some):
                    assert old is not None
                    chunks += _interleaved(old, _picked(batch, seqs, times, some))
                    continue
            chunks += [old] if old is not None else []
        self.snapshot = replace(now, chunks=_joined_small(chunks, now.chunks))

    def move_on(self, below: int) -> None:
        """All rows numbered under `below` have been appended: the numbers in between have no rows."""
        if below > self.snapshot.below:
            self.snapshot = replace(self.snapshot, below=below)

    def thin(self, below: int, needed: Ints) -> None:
        """Of the rows numbered under `below`, hold only those in `needed`, which are sorted; a number may be of no row."""
        self._keep([self._thinned(chunk, below, needed) for chunk in self.snapshot.chunks])

    def drop_before(self, seq: int) -> None:
        """Remove the rows numbered under `seq`."""
        self.thin(seq, _NONE)

    def _thinned(self, chunk: Chunk, below: int, needed: Ints) -> Chunk | None:
        if chunk.first >= below:
            return chunk
        begin, end = needed.searchsorted(np.array([chunk.first, min(below, chunk.last + 1)], dtype=np.int64))
        wanted = needed[begin:end]
        places = chunk.seqs.searchsorted(wanted)
        places = distinct(places[chunk.seqs[places] == wanted])
        behind = int(chunk.seqs.searchsorted(below))
        if len(places) == behind:
            return chunk
        return chunk.taken(np.r_[places, np.arange(behind, chunk.size)])

    def _keep(self, chunks: Sequence[Chunk | None]) -> None:
        """Replace each chunk by what is left of it. Neighbours that have become small are merged."""
        now = self.snapshot
        if all(a is b for a, b in zip(chunks, now.chunks, strict=True)):
            return
        seq, after = now.complete_from.seq, now.complete_from.after
        kept: list[list[Chunk]] = []
        for left, chunk in zip(chunks, now.chunks, strict=True):
            if left is not chunk:
                gone = np.ones(chunk.size, dtype=np.bool_)
                if left is not None:
                    gone[chunk.seqs.searchsorted(left.seqs)] = False
                seq, after = max(seq, int(chunk.seqs[gone][-1]) + 1), max(after, int(chunk.times[gone].max()))
            if left is None:
                continue
            if kept and left is not chunk and sum(c.size for c in kept[-1]) + left.size <= _WHOLE:
                kept[-1].append(left)
            else:
                kept.append([left])
        merged = tuple(_merged(each) if len(each) > 1 else each[0] for each in kept)
        self.snapshot = replace(now, chunks=merged, complete_from=Complete(seq, after))


def _places(held: Ints, seqs: Ints) -> Ints:
    """Where some numbers stand among others, which increase."""
    places: Ints
    if held[-1] - held[0] + 1 == len(held):
        places = seqs - held[0]
        return places
    places = held.searchsorted(seqs)
    return places


def _inside(chunk: Chunk, begin: int, end: int, low: int | None, high: int | None) -> npt.NDArray[np.bool_] | None:
    """Which of some rows of a chunk have their time between the two; None if all."""
    inside: npt.NDArray[np.bool_] | None = None
    if low is not None and chunk.least < low:
        inside = chunk.times[begin:end] >= low
    if high is not None and chunk.greatest > high:
        early = chunk.times[begin:end] <= high
        inside = early if inside is None else inside & early
    return inside


def _one_batch(rows: pa.Table, schema: pa.Schema) -> pa.RecordBatch:
    batches = rows.select(schema.names).combine_chunks().to_batches()
    batch = batches[0] if len(batches) == 1 else pa.concat_batches(batches)
    assert batch.schema.equals(schema), "rows of another schema"
    return batch


def _picked(batch: pa.RecordBatch, seqs: Ints, times: Ints, places: Ints) -> Chunk:
    return Chunk.of(batch.take(pa.array(places)), seqs[places].copy(), np.array(times[places], dtype=np.int64))


def _interleaved(old: Chunk, new: Chunk) -> list[Chunk]:
    """The rows of both in order, in chunks that are not larger than they should be."""
    both = _merged([old, new])
    order = np.argsort(both.seqs, kind="stable")  # two runs that increase: they are merged
    parts = [both.taken(places) for places in np.array_split(order, -(-both.size // _WHOLE))]
    return [part for part in parts if part is not None]


def _joined_small(chunks: Sequence[Chunk], known: Sequence[Chunk]) -> tuple[Chunk, ...]:
    """Chunks with those neighbours made one that are new and small together."""
    left, made = set(map(id, known)), list(chunks[:1])
    for chunk in chunks[1:]:
        small = made[-1].size + chunk.size <= _WHOLE
        if small and id(chunk) not in left and id(made[-1]) not in left:
            made[-1] = _merged([made[-1], chunk])
        else:
            made.append(chunk)
    return tuple(made)


def _merged(chunks: Sequence[Chunk]) -> Chunk:
    rows = pa.concat_batches([c.rows for c in chunks])
    return Chunk.of(rows, _numbers(rows), np.concatenate([c.times for c in chunks]))


def _numbers(rows: pa.RecordBatch) -> Ints:
    found: Ints = integers(rows.column(rows.schema.get_field_index(SEQ))).astype(np.int64, copy=False)
    return found
