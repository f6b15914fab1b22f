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
from millpond.standing.keeper import Entry, State, unseen
from millpond.standing.kept.rows import Complete, Rows
from millpond.standing.plan import StreamPart
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
class _Cut:
    """The rows from (`time`, `seq`) on, and up to the other end."""

    low: tuple[int, int] | None = None
    high: tuple[int, int] | None = None

    def holds(self, times: Ints, seqs: Ints) -> npt.NDArray[np.bool_]:
        inside: npt.NDArray[np.bool_] = np.ones(len(times), dtype=np.bool_)
        if self.low is not None:
            time, seq = self.low
            inside &= (times > time) | ((times == time) & (seqs >= seq))
        if self.high is not None:
            time, seq = self.high
            inside &= (times < time) | ((times == time) & (seqs <= seq))
        return inside


def select(
    part: StreamPart, entry: Entry, state: State, prefix: Prefix, moment: Moment, query: int | None = None
) -> Found | Refusal:
    """The rows of a stream that matter at a moment; or why they are not all kept. With a `query` whose window is applied at each
    tick, and a moment that is not earlier than that of the state, only the matches in its window are looked through."""
    table, window = part.table, part.use.window
    rows = state.rows
    fresh = unseen(prefix, state.position, rows.schema)
    if fresh is None:
        return Refusal("rows were archived before they were matched")
    fresh_times = event_times(fresh, table.time_column) if fresh.num_rows else _NONE
    nothing = Found(rows, _NONE, _NONE, fresh.slice(0, 0), _NONE)
    low, high, cut, first, last = None, moment.upto, _Cut(), None, None
    if window is not None:
        if moment.now is None and window.needs_now:
            return nothing
        low = window.start(table, moment.now)
        end = window.end(table, moment.now)
        high = end if high is None else high if end is None else min(end, high)
        first, last = window.numbers
        if window.rows is not None or window.skip:
            counted = _counted(rows, fresh, fresh_times, window.rows, window.skip, high, moment.below)
            if isinstance(counted, Refusal):
                return counted
            if counted is None:
                return nothing
            cut = counted
            low = cut.low[0] if cut.low is not None else None
    if not _covers(entry.covered_in(state), low, first):
        return Uncovered("its window begins before what is kept", low=low)
    below = min(moment.below if moment.below is not None else _END, _END if last is None else last + 1)
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
    if fresh.num_rows:
        fresh, fresh_times = _tested(entry, fresh, fresh_times, low, high, cut, first, below)
    return Found(rows, seqs, times, fresh, fresh_times)


def ask_tree(
    part: StreamPart, entry: Entry, asked: Aggregated, state: State, prefix: Prefix, moment: Moment
) -> pa.Table | Refusal:
    """The aggregates over the rows of a stream that matter at a moment; or why they are not kept."""
    table, window = part.table, part.use.window
    low, high = None, moment.upto
    if window is not None:
        if window.rows is not None or window.skip or window.numbers != (None, None):
            return Refusal("its window counts rows")
        if moment.now is None and window.needs_now:
            return Refusal("its table has no time yet")
        low, end = window.start(table, moment.now), window.end(table, moment.now)
        high = end if high is None else high if end is None else min(end, high)
    found = state.trees.get((entry.number, asked))
    fresh = unseen(prefix, state.position, state.rows.schema)
    if found is None or fresh is None:
        return Refusal("rows were archived before they were matched")
    tree, covered = found
    if not _covers(covered, low, None):
        return Uncovered("its window begins before what is kept", low=low)
    also = None
    if fresh.num_rows:
        times = event_times(fresh, table.time_column)
        also = _tested(entry, fresh, times, low, high, _Cut(), None, _END if moment.below is None else moment.below)
    return tree.ask(low, high, moment.below, also)


def _covers(covered: Complete, low: int | None, first: int | None) -> bool:
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


def _tested(
    entry: Entry,
    fresh: pa.Table,
    times: Ints,
    low: int | None,
    high: int | None,
    cut: _Cut,
    first: int | None,
    below: int,
) -> tuple[pa.Table, Ints]:
    """The rows of the tail that match and lie in the window."""
    seqs = integers(fresh.column(SEQ))
    wanted = cut.holds(times, seqs) & (seqs < below)
    if first is not None:
        wanted &= seqs >= first
    inside = _between(times, low, high)
    if inside is not None:
        wanted &= inside
    if wanted.any():
        wanted &= entry.test(Columns(Batch(fresh)))
    if wanted.all():
        return fresh, times
    return fresh.filter(pa.array(wanted)), times[wanted]


def _counted(
    rows: Rows, fresh: pa.Table, fresh_times: Ints, count: int | None, skip: int, high: int | None, below: int | None
) -> _Cut | Refusal | None:
    """Where the newest `count` rows begin, and where they end without the `skip` newest, of those up to `high` and `below`;
    None if the window is empty."""
    wanted = max(count or 0, skip)
    times, seqs = fresh_times, integers(fresh.column(SEQ))
    times, seqs = _limited(times, seqs, high, below)
    rest = list(rows.chunks)
    while rest:
        older = max(chunk.greatest for chunk in rest)
        if np.count_nonzero(times > older) >= wanted:
            break
        chunk = rest.pop()
        more_times, more_seqs = _limited(chunk.times, chunk.seqs, high, below)
        times, seqs = np.concatenate([more_times, times]), np.concatenate([more_seqs, seqs])
    order = np.lexsort((seqs, times))
    total = len(order)
    complete = rows.complete_from.after
    if complete != NEVER and np.count_nonzero(times > complete) < min(wanted, total + 1):
        return Refusal("its window begins before what is kept")
    if total <= skip:
        return None

    def at(place: int) -> tuple[int, int]:
        return int(times[order[place]]), int(seqs[order[place]])

    low_end = at(total - count) if count is not None and count <= total else None
    if count is not None and count <= skip:
        return None
    return _Cut(low_end, at(total - 1 - skip))


def _limited(times: Ints, seqs: Ints, high: int | None, below: int | None) -> tuple[Ints, Ints]:
    inside = _between(times, None, high)
    if below is not None:
        early = seqs < below
        inside = early if inside is None else inside & early
    return (times, seqs) if inside is None else (times[inside], seqs[inside])
