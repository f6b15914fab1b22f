"""The results of a join that are kept, moved on by ticks: which rows of its streams belong together.

Idea. What is kept of each stream tells which of its rows matter; new ones are joined with all others, many rows against many at
once (`kept.delta`). Whoever asks joins the rows that came since the last tick in the same way, and cuts all by the windows.

Invariant. `state` is a value. Of the rows numbered below `positions` and later than `after`, by stream, all tuples are kept.
No window begins earlier than it did, so tuples with a row that has left its window are forgotten.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from millpond.arrow import integers
from millpond.event_time import NEVER
from millpond.query.clauses import Refusal
from millpond.schema import SEQ
from millpond.standing.join_form import JoinForm
from millpond.standing.keeper import KeptTable
from millpond.standing.kept.delta import Side, Tuples, new_tuples
from millpond.standing.kept.joins import JoinPairs, Kept, StreamWindow
from millpond.standing.kept.parts import values_of
from millpond.standing.plan import StreamPart
from millpond.standing.selecting import Found, Moment, Reach, covers, reach_of, select, window_begin
from millpond.standing.state import Entry, State
from millpond.table.stream import Prefix

Ints = npt.NDArray[np.int64]

MOST_TUPLES = 1 << 22  # of one join; more are not kept
_NONE: Ints = np.zeros(0, dtype=np.int64)
_TOO_MANY = Refusal(f"more than {MOST_TUPLES:,} rows would be kept of it")
_OVERFLOW = Refusal("a sum in its WHERE may exceed its type")


class _Stopped(Exception):
    """The join is not kept any longer."""

    def __init__(self, refusal: Refusal) -> None:
        self.refusal = refusal


@dataclass(frozen=True)
class JoinState:
    kept: Kept
    positions: tuple[int, ...]
    after: tuple[int, ...]


class KeptJoin:
    """Moved on by one thread at a time; `state` may be read from any."""

    def __init__(
        self, form: JoinForm, parts: Sequence[StreamPart], tables: Sequence[KeptTable], entries: Sequence[int]
    ) -> None:
        self.form = form
        self.refusal: Refusal | None = None
        """Why nothing is kept of it any longer."""
        self._parts = parts
        self._tables = tables
        self._numbers = entries
        self._lock = threading.Lock()
        self._pairs = JoinPairs(len(parts))
        self.state = JoinState(self._pairs.snapshot, (0,) * len(parts), (NEVER,) * len(parts))
        self.move_on()

    @property
    def bytes(self) -> int:
        return self.state.kept.bytes

    def move_on(self) -> None:
        """After a tick: join the rows that the tables have taken in since."""
        with self._lock:
            if self.refusal is not None:
                return
            try:
                self._move_on(*self.now())
            except _Stopped as stopped:
                self.refusal = stopped.refusal
                self._pairs = JoinPairs(len(self._parts))
                self.state = replace(self.state, kept=self._pairs.snapshot)

    def now(self) -> tuple[list[State], list[Entry]]:
        """What is kept of each stream now, and its entry in it. Streams of one table have the same."""
        states = {id(table): table.state for table in self._tables}
        found = [states[id(table)] for table in self._tables]
        entries = [state.entries.get(number) for state, number in zip(found, self._numbers, strict=True)]
        if None in entries:
            raise _Stopped(Refusal("it was swapped out"))
        return found, [entry for entry in entries if entry is not None]

    def _move_on(self, states: Sequence[State], entries: Sequence[Entry]) -> None:
        before = self.state
        begun = any(before.positions)
        after, old, new = [], [], []
        for number, (part, state, entry) in enumerate(zip(self._parts, states, entries, strict=True)):
            known = before.after[number] if begun else entry.covered_in(state).after
            low = window_begin(part, state)
            after.append(known if low is None else max(known, low - 1))
            seqs = entry.rows_in(state)
            times = state.rows.times_of(seqs)
            inside = times > after[-1]
            cut = int(np.count_nonzero(inside[: seqs.searchsorted(before.positions[number])]))
            seqs, times = seqs[inside], times[inside]
            old.append((state, seqs[:cut], times[:cut]))
            new.append((state, seqs[cut:], times[cut:]))
        if any(len(seqs) for _, seqs, _ in new):
            self._append(
                [self._side(i, *each) for i, each in enumerate(old)], [self._side(i, *e) for i, e in enumerate(new)]
            )
        self._pairs.forget_before(min(after) + 1)
        self.state = JoinState(self._pairs.snapshot, tuple(state.position for state in states), tuple(after))

    def _side(self, stream: int, state: State, seqs: Ints, times: Ints) -> Side:
        return Side(seqs, times, state.rows.take(seqs, self.form.compared(stream)))

    def _append(self, old: Sequence[Side], new: Sequence[Side]) -> None:
        for tuples in joined(self.form, old, new):
            if self._pairs.snapshot.size + len(tuples) > MOST_TUPLES:
                raise _Stopped(_TOO_MANY)
            self._pairs.append(tuples)

    # -- asking -----------------------------------------------------------------------------------------------------

    def ask(
        self, prefixes: Mapping[str, Prefix], moments: Mapping[str, Moment], names: Sequence[str]
    ) -> pa.Table | Refusal:
        """The rows of the join at a moment, with columns of these names; or why they are not kept."""
        if self.refusal is not None:
            return self.refusal
        known = self.state  # before those of the tables: they are never behind it
        try:
            states, entries = self.now()
            views = []
            for number, (part, state, entry) in enumerate(zip(self._parts, states, entries, strict=True)):
                view = _View.of(
                    part, entry, state, prefixes[part.table.folder], moments[part.use.name], known.after[number]
                )
                if isinstance(view, Refusal):
                    return view
                views.append(view)
            tuples = [known.kept.of(self._windows(known, views), [view.times_of for view in views])]
            tuples += self._fresh(known, views)
        except _Stopped as stopped:
            return stopped.refusal
        found = tuples[0] if len(tuples) == 1 else tuple(np.concatenate(each) for each in zip(*tuples, strict=True))
        columns = [
            view.columns(seqs, self._selected(i)) for i, (view, seqs) in enumerate(zip(views, found, strict=True))
        ]
        return pa.Table.from_arrays(
            [columns[stream].column(name) for stream, name in self.form.columns], names=list(names)
        )

    def _selected(self, stream: int) -> list[str]:
        return list(dict.fromkeys(name for number, name in self.form.columns if number == stream))

    def _windows(self, known: JoinState, views: Sequence[_View]) -> list[StreamWindow]:
        return [view.window(below) for view, below in zip(views, known.positions, strict=True)]

    def _fresh(self, known: JoinState, views: Sequence[_View]) -> Iterator[tuple[Ints, ...]]:
        """Tuples of which a row came after those that are kept."""
        if not any(view.has_rows_from(position) for view, position in zip(views, known.positions, strict=True)):
            return
        sides = [
            view.sides(p, self.form.compared(i)) for i, (view, p) in enumerate(zip(views, known.positions, strict=True))
        ]
        for tuples in joined(self.form, [old for old, _ in sides], [new for _, new in sides]):
            yield tuples.seqs


def joined(form: JoinForm, old: Sequence[Side], new: Sequence[Side]) -> Iterator[Tuples]:
    """The tuples with a new row."""
    for limit in form.limits:
        for side in (old[limit.stream], new[limit.stream]):
            values = values_of(side.columns.column(limit.column))
            numbers = values.numbers if values.valid is None else values.numbers[values.valid]
            if len(numbers) and (numbers.max() > limit.most or numbers.min() < -limit.most):
                raise _Stopped(_OVERFLOW)
    return new_tuples(old, new, form.factors)


@dataclass(frozen=True)
class _View:
    """A stream at the moment at which it is asked: what is kept, the window, and the rows that no tick has seen."""

    part: StreamPart
    entry: Entry
    state: State
    prefix: Prefix
    moment: Moment
    reach: Reach

    @classmethod
    def of(
        cls, part: StreamPart, entry: Entry, state: State, prefix: Prefix, moment: Moment, after: int
    ) -> _View | Refusal:
        reach = reach_of(part, state, prefix, moment)
        if isinstance(reach, Refusal):
            return reach
        if not covers(entry.covered_in(state), reach.low, None) or not (
            after == NEVER or (reach.low is not None and reach.low > after)
        ):
            return Refusal("a window begins before what is kept")
        return cls(part, entry, state, prefix, moment, reach)

    def window(self, below: int) -> StreamWindow:
        """The window, for rows that are all numbered below `below`."""
        reach, whole = self.reach, StreamWindow()
        return StreamWindow(
            whole.low if reach.low is None else reach.low,
            whole.high if reach.high is None else reach.high,
            reach.first or 0,
            whole.below_seq if reach.below >= below else reach.below,
            reach.cut,
        )

    def times_of(self, seqs: Ints) -> Ints:
        return self.state.rows.times_where_held(seqs)

    def has_rows_from(self, position: int) -> bool:
        return self.prefix.position > position

    def _found(self) -> Found:
        found = select(self.part, self.entry, self.state, self.prefix, self.moment)
        if isinstance(found, Refusal):
            raise _Stopped(found)
        return found

    def sides(self, position: int, columns: Sequence[str]) -> tuple[Side, Side]:
        """The rows in the window numbered below a position, and from there on."""
        found = self._found()
        cut = int(found.seqs.searchsorted(position))
        rows = self.state.rows
        old = Side(found.seqs[:cut], found.times[:cut], rows.take(found.seqs[:cut], columns))
        new = Side(found.seqs[cut:], found.times[cut:], rows.take(found.seqs[cut:], columns))
        fresh = Side(integers(found.fresh.column(SEQ)), found.fresh_times, found.fresh.select(columns))
        return old, new.plus(fresh)

    def columns(self, seqs: Ints, names: Sequence[str]) -> pa.Table:
        """Columns of the rows with these numbers, some of which may be new."""
        if not len(seqs) or int(seqs.max()) < self.state.position:
            return self.state.rows.take(seqs, names)
        found = self._found()
        every = np.concatenate([found.seqs, integers(found.fresh.column(SEQ))])
        order = np.argsort(every)
        return found.table(names).combine_chunks().take(pa.array(order[every[order].searchsorted(seqs)]))
