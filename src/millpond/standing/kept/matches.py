"""Matches: which rows of a table fulfil which entry.

Idea. Matching a batch gives pairs (entry, row) where matches are few, and a matrix of bits where they are many. Both are kept as
runs that are merged as they age, like those of a log-structured tree, so that a question looks into few runs, and a match is
copied a logarithmic number of times. What an entry has found by itself lies in runs of its own: they may reach over the whole
history, so that the runs of batches, each later than the one before, could not be put one behind the other any more.

Invariant. A row number is told for an entry exactly if it was given for it and has not been forgotten since, and the entry was
not removed since. Runs may hold matches of forgotten rows for a while: those below `pairs_start`, `bits_start` and `old_start`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from millpond.arrow import distinct
from millpond.standing.kept import pair_runs
from millpond.standing.kept.bit_runs import BitBlock, BitRun, append_bits
from millpond.standing.kept.pair_runs import PairRun

Ints = npt.NDArray[np.int64]
Entries = npt.NDArray[np.int32]

Run = TypeVar("Run", PairRun, BitRun)

_END = (1 << 63) - 1
_WHOLE_OLD = (
    1 << 18
)  # matches an entry has found by itself, at which a run is left alone: a tick may wait while one is merged
_MOST_GONE = 1024  # entries that are removed before their matches are
_DENSE = 64  # rows to a match at which marking them costs more than sorting them
_OFTEN = 64  # of them, it is seen whether that is worth doing
_NONE: Ints = np.zeros(0, dtype=np.int64)
_NOBODY: Entries = np.zeros(0, dtype=np.int32)


@dataclass(frozen=True)
class Matches:
    """The matches at one moment: what a reader asks. It never changes."""

    pairs: tuple[PairRun, ...] = ()
    bits: tuple[BitRun, ...] = ()
    old: tuple[PairRun, ...] = ()
    """What entries have found by themselves."""
    pairs_start: int = 0
    bits_start: int = 0
    old_start: int = 0
    gone: frozenset[int] = frozenset()

    @property
    def bytes(self) -> int:
        return sum(run.bytes for runs, _ in self._told() for run in runs)

    def of(self, entry: int, from_seq: int = 0, below_seq: int = _END) -> Ints:
        """The numbers of the rows that fulfil an entry, from `from_seq` up to `below_seq`, without it, in increasing order."""
        if entry in self.gone:
            return _NONE
        found = []
        name = np.int32(entry)
        for runs, start in self._told():
            low = max(from_seq, start)
            for run in runs:
                if run.last >= low and run.first < below_seq:
                    rows = run.find(name, low, below_seq)
                    if rows is not None and len(rows):
                        found.append(rows)
        if len(found) < 2:
            return found[0] if found else _NONE
        whole = np.concatenate(found)
        return whole if (whole[1:] > whole[:-1]).all() else distinct(whole)

    def needed(self, from_seq: int = 0, below_seq: int = _END) -> Ints:
        """The numbers of the rows in this range that fulfil some entry, in increasing order."""
        gone = _named(self.gone)
        found = [rows for rows in self._rows_of_all_but(gone, from_seq, below_seq) if len(rows)]
        if not found:
            return _NONE
        first, last = min(int(rows.min()) for rows in found), max(int(rows.max()) for rows in found)
        if last - first < _DENSE * sum(map(len, found)):
            there = np.zeros(last - first + 1, dtype=np.bool_)
            for rows in found:
                there[rows - first] = True
            whole: Ints = np.flatnonzero(there) + first
        else:
            whole = distinct(np.concatenate(found))
        return whole[whole.searchsorted(from_seq) : whole.searchsorted(below_seq)]

    def _told(self) -> Iterator[tuple[Sequence[PairRun | BitRun], int]]:
        """The runs of each kind, and the number from which on their rows are told."""
        yield self.pairs, self.pairs_start
        yield self.bits, self.bits_start
        yield self.old, self.old_start

    def _rows_of_all_but(self, gone: Entries, from_seq: int, below_seq: int) -> Iterator[Ints]:
        for runs, start in self._told():
            low = max(from_seq, start)
            for run in runs:
                if run.last >= low and run.first < below_seq:
                    rows = run.rows_of_all_but(gone)
                    yield rows[rows >= low]


class MatchRuns:
    """Written by one thread. `snapshot` may be read from any thread: it is replaced whole."""

    def __init__(self) -> None:
        self.snapshot = Matches()

    @property
    def bytes(self) -> int:
        return self.snapshot.bytes

    def append(self, seqs: Ints, entries: Entries, places: Entries, dense: Iterable[BitBlock] = ()) -> None:
        """Add the matches of a batch, whose rows have the numbers `seqs`: row `places[i]` of it fulfils `entries[i]`.

        The bits of `dense` are kept as they are, not copied."""
        blocks = [BitRun.of_block(block, seqs) for block in dense if len(block.places)]
        if self.snapshot.gone:  # an index may still have columns for them, in which nothing is found
            gone = _named(self.snapshot.gone)
            blocks = [block.disowned(block.idle(gone)) for block in blocks]
        self._revive([entries, *(block.names for block in blocks)])
        bits: Sequence[BitRun] = self.snapshot.bits
        if self.snapshot.gone and blocks:  # an entry that came may have the column of one that went
            bits = [run.disowned(gone) for run in bits]
        for block in blocks:
            bits = append_bits(bits, block)
        pairs = self.snapshot.pairs
        if len(entries):
            pairs = _append_pairs(pairs, PairRun.of_pairs(entries, seqs[places]), pair_runs.WHOLE)
        self.snapshot = replace(self.snapshot, pairs=pairs, bits=tuple(bits))

    def add(self, entry: int, seqs: Ints) -> None:
        """Add rows that one entry has found by itself: its back-fill. They may be older than what was forgotten."""
        entries = np.full(len(seqs), entry, dtype=np.int32)
        self._revive([entries[:1]])
        old, start = self.snapshot.old, self.snapshot.old_start
        if len(seqs) and (first := int(seqs.min())) < start:
            old, start = _without(old, _NOBODY, start), first
        far = (seqs - seqs.min(initial=_END)) >> 32  # a history may be longer than one run can be
        for part in distinct(far):
            old = _append_pairs(old, PairRun.of_pairs(entries[far == part], seqs[far == part]), _WHOLE_OLD)
        self.snapshot = replace(self.snapshot, old=old, old_start=start)

    def remove(self, entries: Iterable[int]) -> None:
        """Forget entries. Their numbers may be used again."""
        now = self.snapshot
        gone = now.gone | frozenset(entries)
        self.snapshot = replace(now, gone=gone)
        if len(gone) // _OFTEN == len(now.gone) // _OFTEN and len(gone) > _OFTEN:
            return  # where many are removed one by one, not each of them is worth a look
        names = _named(gone)
        runs = [*now.pairs, *now.old]
        size = sum(run.size for run in runs)
        if len(gone) > _MOST_GONE or 4 * sum(run.count(names) for run in runs) > size or _mostly(names, now.bits):
            self.compact()

    def forget_before(self, seq: int) -> None:
        """Forget the rows numbered under `seq`."""
        now = self.snapshot
        if seq <= now.old_start:
            return
        self.snapshot = replace(
            now,
            pairs=_without(now.pairs, _NOBODY, seq, _mostly_after),
            bits=_without(now.bits, _NOBODY, seq, _mostly_after),
            old=_without(now.old, _NOBODY, seq, _mostly_after),
            pairs_start=max(seq, now.pairs_start),
            bits_start=max(seq, now.bits_start),
            old_start=seq,
        )

    def compact(self) -> None:
        """Give back the memory of entries that were removed and of rows that were forgotten."""
        now, gone = self.snapshot, _named(self.snapshot.gone)
        self.snapshot = replace(
            now,
            pairs=_without(now.pairs, gone, now.pairs_start),
            bits=_without(now.bits, gone, now.bits_start),
            old=_without(now.old, gone, now.old_start),
            gone=frozenset(),
        )

    def _revive(self, used: Iterable[Entries]) -> None:
        """Before the number of a removed entry is used again, its matches have to go."""
        gone = self.snapshot.gone
        if gone and any(np.isin(entries, _named(gone)).any() for entries in used):
            self.compact()


def _named(entries: Iterable[int]) -> Entries:
    return np.array(sorted(entries), dtype=np.int32)


def _append_pairs(runs: tuple[PairRun, ...], run: PairRun, whole: int) -> tuple[PairRun, ...]:
    """Add a run, and merge it with those before it that are not much larger, up to `whole` pairs."""
    found = list(runs)
    while found and found[-1].size <= 2 * run.size and found[-1].fits(run, whole):
        run = found.pop().merged(run)
    return (*found, run)


def _without(
    runs: tuple[Run, ...], gone: Entries, before: int, spared: Callable[[Run, int], bool] | None = None
) -> tuple[Run, ...]:
    """What is left of runs without some entries, and without the rows numbered under `before`. Runs that are `spared` stay."""
    left = [run if spared is not None and spared(run, before) else run.without(gone, before) for run in runs]
    return tuple(run for run in left if run is not None)


def _mostly(gone: Entries, runs: Sequence[BitRun]) -> bool:
    """Whether more than half of the columns of some run are of removed entries."""
    return any(2 * np.count_nonzero(np.isin(run.names, gone)) > len(run.names) for run in runs)


def _mostly_after(run: PairRun | BitRun, seq: int) -> bool:
    """Whether a run is worth keeping as it is when the rows before `seq` are forgotten."""
    return 2 * (seq - run.first) <= run.last - run.first + 1
