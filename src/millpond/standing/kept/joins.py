"""Results of a join that are kept: tuples of row numbers, in runs that are in the order of their earliest event time.

Idea. A tuple has a time for each stream, of which the earliest and the latest bound its age. Windows mostly end now, so the
earliest decides (PSoup, section 4.3): tuples are sorted by it, in runs that are merged as they age. A window that all streams
share is decided by the two times alone; where streams have windows of their own, the times of single rows are looked up, and
only for the tuples that the two leave in doubt.

Invariant. A tuple is told exactly if it was given, lies in the windows, and has no row earlier than `start`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from millpond.arrow import distinct
from millpond.event_time import NEVER
from millpond.standing.kept.delta import Tuples
from millpond.standing.kept.newest import Cut

Ints = npt.NDArray[np.int64]

_WHOLE = 1 << 20  # tuples at which a run is left alone
_UNCUT = Cut()
_EARLIEST, _LATEST = np.iinfo(np.int64).min, np.iinfo(np.int64).max


@dataclass(frozen=True)
class StreamWindow:
    """Rows with `low` <= time <= `high` and `from_seq` <= number < `below_seq` that `cut` holds."""

    low: int = _EARLIEST
    high: int = _LATEST
    from_seq: int = 0
    below_seq: int = _LATEST
    cut: Cut = _UNCUT

    def numbered(self, seqs: Ints) -> npt.NDArray[np.bool_] | None:
        """Which rows have such numbers; None if all may have any."""
        if self.from_seq <= 0 and self.below_seq == _LATEST:
            return None
        return (seqs >= self.from_seq) & (seqs < self.below_seq)

    def doubtful(self, tuples: Tuples) -> Ints:
        """The places of tuples, in their order, whose earliest and latest time do not tell that their row is in the window."""
        low = self.low if self.cut.low is None else max(self.low, self.cut.low[0] + 1)
        high = self.high if self.cut.high is None else min(self.high, self.cut.high[0] - 1)
        early = int(tuples.earliest.searchsorted(low))
        if tuples.latest.max(initial=_EARLIEST) <= high:
            return np.arange(early)
        late = np.flatnonzero(tuples.latest > high)
        return np.concatenate([np.arange(early), late[late.searchsorted(early) :]])

    def holds(self, times: Ints, seqs: Ints) -> npt.NDArray[np.bool_]:
        """Which rows with these times and numbers lie between its ends."""
        return (times >= self.low) & (times <= self.high) & self.cut.holds(times, seqs)


@dataclass(frozen=True)
class Kept:
    """The tuples at one moment: what a reader asks. It never changes."""

    streams: int
    runs: tuple[Tuples, ...] = ()
    start: int = NEVER
    """Tuples with a row earlier than this are not told."""

    @property
    def size(self) -> int:
        return sum(map(len, self.runs))

    @property
    def bytes(self) -> int:
        return sum(a.nbytes for run in self.runs for a in (*run.seqs, run.earliest, run.latest))

    def of(self, windows: Sequence[StreamWindow], times_of: Sequence[Callable[[Ints], Ints]] = ()) -> tuple[Ints, ...]:
        """The row numbers, by stream, of the tuples whose rows lie in the windows of their streams.

        `times_of` gives the times of rows of each stream, NEVER of those that nobody knows any more. It is not needed if all
        windows have the same times, and none has a cut.
        """
        low = max(min(w.low for w in windows), self.start)
        high = max(w.high for w in windows)
        found = []
        for run in self.runs:
            part = run.at(
                slice(int(run.earliest.searchsorted(low)), int(run.earliest.searchsorted(high, side="right")))
            )
            part = _only(part, None if part.latest.max(initial=_EARLIEST) <= high else part.latest <= high)
            for stream, window in enumerate(windows):
                part = _only(part, window.numbered(part.seqs[stream]))
                doubtful = window.doubtful(part)
                if len(doubtful):
                    seqs = part.seqs[stream][doubtful]
                    outside = doubtful[~window.holds(times_of[stream](seqs), seqs)]
                    part = part.at(np.delete(np.arange(len(part)), outside)) if len(outside) else part
            if len(part):
                found.append(part.seqs)
        if len(found) < 2:
            return found[0] if found else _nothing(self.streams).seqs
        return tuple(np.concatenate(each) for each in zip(*found, strict=True))

    def needed(self, stream: int) -> Ints:
        """The numbers of the rows of a stream that occur in some tuple, in increasing order."""
        return distinct(np.concatenate([_nothing(1).earliest, *(run.seqs[stream] for run in self.runs)]))


class JoinPairs:
    """Written by one thread. `snapshot` may be read from any thread: it is replaced whole."""

    def __init__(self, streams: int) -> None:
        self.snapshot = Kept(streams)

    @property
    def bytes(self) -> int:
        return self.snapshot.bytes

    def append(self, tuples: Tuples) -> None:
        """Add tuples, each of which is new."""
        if not len(tuples):
            return
        runs, run = list(self.snapshot.runs), _merged([tuples])
        while runs and len(run) < _WHOLE and len(runs[-1]) <= 2 * len(run):
            run = _merged([runs.pop(), run])
        self.snapshot = Kept(self.snapshot.streams, (*runs, run), self.snapshot.start)

    def forget_before(self, time: int) -> None:
        """Forget the tuples that have a row earlier than `time`."""
        now = self.snapshot
        if time <= now.start:
            return
        runs = []
        for run in now.runs:
            gone = int(run.earliest.searchsorted(time))
            if 2 * gone > len(run):
                run = run.at(np.arange(gone, len(run)))  # a copy, so that memory is given back
            if len(run):
                runs.append(run)
        self.snapshot = Kept(now.streams, tuple(runs), time)


def _only(tuples: Tuples, keep: npt.NDArray[np.bool_] | None) -> Tuples:
    return tuples if keep is None else tuples.at(keep)


def _nothing(streams: int) -> Tuples:
    none: Ints = np.zeros(0, dtype=np.int64)
    return Tuples((none,) * streams, none, none)


def _merged(runs: Sequence[Tuples]) -> Tuples:
    """One run of all, in the order of the earliest time."""
    if len(runs) == 1:
        whole = runs[0]
    else:
        seqs = tuple(np.concatenate(each) for each in zip(*(run.seqs for run in runs), strict=True))
        earliest, latest = (np.concatenate(a) for a in zip(*((r.earliest, r.latest) for r in runs), strict=True))
        whole = Tuples(seqs, earliest, latest)
    if (whole.earliest[1:] >= whole.earliest[:-1]).all():
        return whole
    return whole.at(np.argsort(whole.earliest, kind="stable"))
