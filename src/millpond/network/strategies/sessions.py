"""Session by session: each is sent when time has passed its end.

Held are the rows since the earliest start of an open session, in the inlet. When a session may have closed, the query is asked
over them; rows whose session ended since the last time are sent, each at the end of its session. Sessions that ended before were
sent already, and what is missing of them does not matter.
"""

from __future__ import annotations

from typing import Self

import numpy as np
import pyarrow as pa

from millpond.arrow import arrow_schema
from millpond.catalog import INSTANT, StreamingTable
from millpond.errors import Unreachable
from millpond.event_time import NEVER, Progress, times_of
from millpond.network.plan.prepared import Prepared
from millpond.network.plan.sessions import open_sessions
from millpond.network.strategies.base import Strategy
from millpond.network.strategies.parts.one_time import ask, ask_text
from millpond.query.binding.uses import Use
from millpond.query.clauses import Refusal

_FURTHEST = 1 << 61  # beyond it everything is read


class SessionStrategy(Strategy):
    name = "sessions"
    manner = "session by session"

    @classmethod
    def match(cls, prepared: Prepared) -> Self | Refusal:
        return cls(prepared) if prepared.query.gap is not None else Refusal("it has no sessions")

    def local_to(self, table: StreamingTable) -> bool:
        return False

    def prepare(self) -> None:
        query = self.prepared.query
        assert query.gap is not None
        self._use = self.prepared.streams[0]
        self._gap = self.prepared.unit.count(query.gap)
        self._open_text = open_sessions(self.prepared.bound)
        self._schema = arrow_schema(query.columns)
        self._low: int | None = None  # since when a session is open; None if none is
        self._next: int | None = None  # before this time none of the open ones closes

    def fill(self) -> None:
        """Read back until no open session can have begun earlier."""
        frontier = self.progress.frontier
        assert frontier is not None
        reach = 4 * self._gap
        while True:
            low = frontier - reach if reach < _FURTHEST else NEVER
            self.context.reach_back(self._use, low)
            self._note_open(low, frontier)
            if low == NEVER or self._low is None or self._low > low + self._gap:
                break
            reach *= 4
        self.context.reach_back(self._use, frontier if self._low is None else self._low)

    def begin(self, begin: int) -> None:
        self._low = None

    def advance(self, begin: int, frontier: int) -> pa.Table | None:
        inlet = self._inlets[0]
        came = inlet.next_time(begin)
        first = None if came is None or came >= frontier else came
        if self._nothing_closes(first, frontier):
            self._low = min((t for t in (self._low, first) if t is not None), default=None)
            self._next = min(
                (t for t in (self._next, None if first is None else first + self._gap) if t is not None), default=None
            )
            self.progress = Progress(frontier, self.progress.last)
            return None
        low = min(t for t in (self._low, first) if t is not None)
        try:
            sent = self._closed(low, begin, frontier)
        except Unreachable as error:
            self.waiting = str(error)
            return None
        self._note_open(low, frontier)
        last = int(times_of(sent.column(INSTANT))[-1]) if sent.num_rows else self.progress.last
        self.progress = Progress(frontier, last)
        return sent

    def _nothing_closes(self, first: int | None, frontier: int) -> bool:
        """Whether no session ends before `frontier`; `first` is the time of the first row since the last step."""
        ends = [t for t in (self._next, None if first is None else first + self._gap) if t is not None]
        return not ends or frontier <= min(ends)

    def _closed(self, low: int, begin: int, frontier: int) -> pa.Table:
        """What is sent of the sessions with begin <= end < frontier, in the order of their ends."""
        history = self.context.history
        tables = {self._use.name: self._inlets[0].between(low, frontier - 1)}
        for use in self.prepared.standards:
            tables[use.name] = history.standard(use.table.name)
        self.cost.evaluations += 1
        self.cost.rows_in += sum(t.num_rows for t in tables.values())
        found = ask(self.context.engine, self.prepared, tables, frontier)
        ends = times_of(found.column(found.num_columns - 1)) if found.num_rows else np.empty(0, np.int64)
        chosen = np.flatnonzero((ends >= begin) & (ends < frontier))
        chosen = chosen[np.argsort(ends[chosen], kind="stable")]
        rows = found.remove_column(found.num_columns - 1).take(pa.array(chosen))
        instants = pa.array(ends[chosen]).cast(self._schema.field(INSTANT).type)
        rows = rows.rename_columns(self._schema.names[:-1]).append_column(INSTANT, instants)
        return rows.cast(self._schema)

    def _note_open(self, low: int, frontier: int) -> None:
        """Find out which sessions are open at `frontier`."""
        rows = self._inlets[0].between(low, frontier - 1)
        found = ask_text(self.context.engine, self.prepared, self._open_text, {self._use.name: rows}, frontier)
        first, last = (c[0].as_py() is not None and int(times_of(c)[0]) for c in found.columns)
        self._low = first if first is not False else None
        self._next = last if last is not False else None

    def needs(self, use: Use) -> tuple[int, int]:
        frontier = self.progress.frontier
        if frontier is None:
            return NEVER, 0
        return (frontier if self._low is None else min(self._low, frontier)), 0
