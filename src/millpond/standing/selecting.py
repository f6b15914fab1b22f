"""The rows of a stream that a standing query sees, found among what is kept and what came since.

What is kept reaches up to a row number; rows from there on lie in the tail of the prefix and are tested one by one. Both are
cut by the window. A window that reaches further back than what is kept cannot be served.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from millpond.arrow import integers
from millpond.event_time import NEVER, event_times
from millpond.predicate.vector import Columns
from millpond.query.clauses import Refusal
from millpond.schema import SEQ
from millpond.standing.aggregates import Aggregated
from millpond.standing.kept.newest import Cut, Run, nth_newest
from millpond.standing.kept.rows import Complete, Rows
from millpond.standing.plan import StreamPart
from millpond.standing.prefixes import unseen
from millpond.standing.state import Entry, State
from millpond.standing.work import Batch
from millpond.table.stream import Prefix

Ints = npt.NDArray[np.int64]
_END = (1 << 63) - 1
_NONE: Ints = np.zeros(0, dtype=np.int64)


@dataclass(frozen=True)
class Moment:
    """When a stream is looked at: its time then, the time after which rows do not count, and the number below which they do."""

    now: int | None
    upto: int | None = None
    below: int | None = None


@dataclass(frozen=True)
class Found:
    """Rows that match and lie in the window: numbers and times of those that are kept, and the others themselves."""

    rows: Rows
    seqs: Ints
    times: Ints
    fresh: pa.Table
    fresh_times: Ints

    @property
    def count(self) -> int:
        return len(self.seqs) + int(self.fresh.num_rows)

    def table(self, columns: Sequence[str]) -> pa.Table:
        """These columns of the rows, kept ones first."""
        kept = self.rows.take(self.seqs, columns)
        return pa.concat_tables([kept, self.fresh.select(columns)]) if self.fresh.num_rows else kept

    def newest_first(self, columns: Sequence[str]) -> pa.Table:
        """These columns of the rows in decreasing order of time, and of arrival where times are equal."""
        times, seqs = self.times, self.seqs
        if self.fresh.num_rows:
            times = np.concatenate([times, self.fresh_times])
            seqs = np.concatenate([seqs, integers(self.fresh.column(SEQ))])
        elif (times[1:] >= times[:-1]).all():
            return self.rows.take_last_first(seqs, columns)
        return self.table(columns).combine_chunks().take(pa.array(np.lexsort((seqs, times))[::-1]))


@dataclass(frozen=True)
class Uncovered(Refusal):
    """A window that begins, at the time `low`, before what is kept. None: it has no beginning."""

    low: int | None = None


@dataclass(frozen=True)
class Reach:
    """Which rows a window holds: times from `low` to `high`, places in `cut`, numbers from `first` on and less than `below`."""

    low: int | None
    high: int | None
    cut: Cut
    first: int | None
    below: int


_NOTHING = Reach(_END, None, Cut(), None, 0)


def select(
    part: StreamPart, entry: Entry, state: State, prefix: Prefix, moment: Moment, query: int | None = None
) -> Found | Refusal:
    """The rows of a stream that matter at a moment; or why they are not all kept. With a `query` whose window is applied at each
    tick, and a moment that is not earlier than that of the state, only the matches in its window are looked through."""
    rows, fresh = state.rows, _unseen(part, state, prefix)
    if isinstance(fresh, Refusal):
        return fresh
    reach = _span(part, rows, fresh, moment)
    if isinstance(reach, Refusal):
        return reach
    low, high, cut, first, below = reach.low, reach.high, reach.cut, reach.first, reach.below
    if not covers(entry.covered_in(state), low, first):
        return Uncovered("its window begins before what is kept", low=low)
    from_seq = max(first or 0, _first_seq(rows, low))
    if entry.kept:
        seqs = state.windows[query] if query is not None and query in state.windows else None
        if seqs is None:
            seqs = state.matches.of(entry.number, from_seq, min(below, state.position))
        elif below < state.position or first is not None:
            seqs = seqs[(seqs < below) & (seqs >= from_seq)]
        times = rows.times_of(seqs)
        inside = _between(times, low, high)
        if inside is not None:
            seqs, times = seqs[inside], times[inside]
    else:
        seqs = rows.filter(entry.test, low, high, from_seq, min(below, state.position))
        times = rows.times_of(seqs)
    if cut.low is not None or cut.high is not None:
        inside = cut.holds(times, seqs)
        seqs, times = seqs[inside], times[inside]
    return Found(rows, seqs, times, *_tested(entry, fresh, reach))


def ask_tree(
    part: StreamPart, entry: Entry, asked: Aggregated, state: State, prefix: Prefix, moment: Moment
) -> pa.Table | Refusal:
    """The aggregates over the rows of a stream that matter at a moment; or why they are not kept."""
    window = part.use.window
    if window is not None and window.numbers != (None, None):
        return Refusal("its window is one of row numbers")
    found, fresh = state.trees.get((entry.number, asked)), _unseen(part, state, prefix)
    if found is None:
        return Refusal("it was swapped out")
    if isinstance(fresh, Refusal):
        return fresh
    reach = _span(part, state.rows, fresh, moment)
    if isinstance(reach, Refusal):
        return reach
    tree, covered = found
    if not covers(covered, reach.low, None):
        return Uncovered("its window begins before what is kept", low=reach.low)
    also = _tested(entry, fresh, reach)
    return tree.ask(reach.low, reach.high, reach.below, also, reach.cut)


@dataclass(frozen=True)
class _Fresh:
    """The rows that no tick has taken in yet, with their times."""

    rows: pa.Table
    times: Ints

    @property
    def seqs(self) -> Ints:
        return integers(self.rows.column(SEQ))


def _unseen(part: StreamPart, state: State, prefix: Prefix) -> _Fresh | Refusal:
    rows = unseen(prefix, state.position, state.rows.schema)
    if rows is None:
        return Refusal("rows were archived before they were matched")
    return _Fresh(rows, event_times(rows, part.table.time_column) if rows.num_rows else _NONE)


def reach_of(part: StreamPart, state: State, prefix: Prefix, moment: Moment) -> Reach | Refusal:
    """What the window of a stream holds at a moment; or why that is not known."""
    fresh = _unseen(part, state, prefix)
    return fresh if isinstance(fresh, Refusal) else _span(part, state.rows, fresh, moment)


def window_begin(part: StreamPart, state: State) -> int | None:
    """A time before which the window of a stream holds nothing, from this state on for ever; None if there is none."""
    if state.now is None:
        return None
    reach = _span(part, state.rows, _Fresh(state.rows.schema.empty_table(), _NONE), Moment(state.now))
    return None if isinstance(reach, Refusal) or reach is _NOTHING else reach.low


def _span(part: StreamPart, rows: Rows, fresh: _Fresh, moment: Moment) -> Reach | Refusal:
    table, window = part.table, part.use.window
    most = _END if moment.below is None else moment.below
    if window is None:
        return Reach(None, moment.upto, Cut(), None, most)
    if moment.now is None and window.needs_now:
        return _NOTHING
    low, end = window.start(table, moment.now), window.end(table, moment.now)
    high = end if moment.upto is None else moment.upto if end is None else min(end, moment.upto)
    first, last = window.numbers
    below = most if last is None else min(most, last + 1)
    if window.rows is None and not window.skip:
        return Reach(low, high, Cut(), first, below)
    cut = _counted(rows, fresh, window.rows, window.skip, high, moment.below)
    if isinstance(cut, Refusal):
        return cut
    if cut is None:
        return _NOTHING
    return Reach(cut.low[0] if cut.low is not None else None, high, cut, first, below)


def covers(covered: Complete, low: int | None, first: int | None) -> bool:
    """Whether all matches from a time on, or from a row number on, are kept."""
    if covered.after == NEVER or (low is not None and low > covered.after):
        return True
    return first is not None and first >= covered.seq


def _between(times: Ints, low: int | None, high: int | None) -> npt.NDArray[np.bool_] | None:
    inside = None if low is None else times >= low
    if high is not None:
        early = times <= high
        inside = early if inside is None else inside & early
    return inside


def _first_seq(rows: Rows, low: int | None) -> int:
    """A number below which every row that is kept is earlier than `low`."""
    if low is None:
        return 0
    return next((chunk.first for chunk in rows.chunks if chunk.greatest >= low), rows.below)


def _tested(entry: Entry, fresh: _Fresh, reach: Reach) -> tuple[pa.Table, Ints]:
    """The rows of the tail that match and lie in the window."""
    if not fresh.rows.num_rows:
        return fresh.rows, fresh.times
    seqs = fresh.seqs
    wanted = reach.cut.holds(fresh.times, seqs) & (seqs < reach.below)
    if reach.first is not None:
        wanted &= seqs >= reach.first
    inside = _between(fresh.times, reach.low, reach.high)
    if inside is not None:
        wanted &= inside
    if wanted.any():
        wanted &= entry.test(Columns(Batch(fresh.rows)))
    if wanted.all():
        return fresh.rows, fresh.times
    return fresh.rows.filter(pa.array(wanted)), fresh.times[wanted]


def _counted(
    rows: Rows, fresh: _Fresh, count: int | None, skip: int, high: int | None, below: int | None
) -> Cut | Refusal | None:
    """Where the newest `count` rows begin, and where they end without the `skip` newest, of those up to `high` and `below`;
    None if the window is empty."""
    wanted = max(count or 0, skip)
    runs = [run.upto(high, below) for run in (Run.of(fresh.times, fresh.seqs), *(c.by_time for c in rows.chunks))]
    total, complete = sum(map(len, runs)), rows.complete_from.after
    if complete != NEVER and sum(run.later(complete) for run in runs) < min(wanted, total + 1):
        return Refusal("its window begins before what is kept")
    if total <= skip or (count is not None and count <= skip):
        return None
    low = nth_newest(runs, count) if count is not None and count <= total else None
    return Cut(low, nth_newest(runs, skip + 1))
