"""Instant by instant: the one-time query over the contents of the windows. It fits every query.

Windows by time and by rows are cut out of the inlets, partitioned windows are kept in slots. Two things make it cheaper than it
sounds: queries that differ only in constants are asked as one (`batching`), and of a relation that is joined by key only the rows
of the instant's keys are looked at (`key_lookup`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
import pyarrow as pa
from sqlglot import exp

from millpond.arrow import arrow_schema
from millpond.catalog import INSTANT, StreamingTable
from millpond.errors import counted
from millpond.event_time import NEVER, Progress, event_times, sort_by_time
from millpond.network.buffers.arrivals import Arrived
from millpond.network.buffers.keyed_rows import KeyedRows
from millpond.network.buffers.predicates import compile_condition
from millpond.network.engine.stream_operators import send
from millpond.network.plan.key_lookup import Lookup, lookups
from millpond.network.plan.prepared import Prepared
from millpond.network.state.checkpoints import of_keys
from millpond.network.strategies.base import Checkpoint, Held, Strategy
from millpond.network.strategies.parts.batching import Question, question_of, simple_where
from millpond.network.strategies.parts.keyed import keyed_by, reaches_far, selects_shard_key
from millpond.network.strategies.parts.one_time import ask
from millpond.network.time.instants import awake, slides
from millpond.predicate.vector import Filter
from millpond.query.binding.uses import Use
from millpond.query.clauses import Refusal, key_columns, nothing_of_nothing, only
from millpond.query.instant import names_instant
from millpond.query.plan import used_columns
from millpond.schema import SEQ

_KEYS = 2000  # looked up at once


@dataclass
class PartitionedWindow:
    """A partitioned window of one query; it holds the rows up to `upto`."""

    rows: KeyedRows
    upto: int

    def size(self) -> tuple[int, int]:
        return self.rows.rows, self.rows.bytes


class InstantStrategy(Strategy):
    name = "instants"
    manner = "instant by instant"
    takes_held = True

    @classmethod
    def match(cls, prepared: Prepared) -> Self | Refusal:
        return cls(prepared)

    def local_to(self, table: StreamingTable) -> bool:
        """If it is grouped by the shard key, over a window by time or one partitioned by the shard key, at fixed slides: instants
        of arrival are not the same in all shards."""
        prepared, tree = self.prepared, self.prepared.bound.tree
        window = prepared.streams[0].window
        assert window is not None
        if prepared.slide is None or not (window.rows is None or keyed_by(prepared, table)):
            return False
        if prepared.query.part_of is not None:
            return True  # proved when it was split: what the shards send for a group is combined afterwards
        if only(tree, "where", "group", "having") is not None or tree.find(exp.Exists, exp.Window):
            return False
        assert isinstance(tree, exp.Select)
        if not set(table.shard_by) <= key_columns(tree):
            return False
        return prepared.query.stream_operator == "rstream" or selects_shard_key(prepared, table)

    # -- taking up a query -------------------------------------------------------------------------------------------------

    def prepare(self) -> None:
        prepared = self.prepared
        self._predicate: Filter | None = None
        self._question: Question | None = None
        self._lookups: dict[str, Lookup] = {}
        if not prepared.on_spark:
            self._prepare_short_cuts()
        self._slots: dict[str, PartitionedWindow] = {}
        self._before = self.held  # what it sent last, if it sends differences: mostly its result at the last instant
        self._quiet = False  # whether its result at the last instant had no rows
        windows = [u.window for u in prepared.streams]
        # Whether its result over empty windows is the same at all instants of a step.
        tree = prepared.bound.tree
        self._by_time = all(w and w.rows is None and not w.grows for w in windows) and (
            not names_instant(tree) or nothing_of_nothing(tree, [u.name for u in prepared.streams])
        )
        self._schema = arrow_schema(prepared.query.columns)
        self._result_schema = arrow_schema(prepared.query.columns.without(INSTANT))

    def _prepare_short_cuts(self) -> None:
        where = simple_where(self.prepared)
        if where is not None:
            self._predicate = compile_condition(where)
        if where is None or self._predicate is not None:
            self._question = question_of(self.prepared)
        if self._question is not None:
            self.context.batches.join(self._question, self.prepared.name, self)
        self._lookups = lookups(self.prepared)

    def fill(self) -> None:
        progress, prepared, history = self.progress, self.prepared, self.context.history
        for use in prepared.streams:
            self._fill_window(use)
        if self._needs_last():
            assert progress.last is not None
            kept = None
            if prepared.must_remember:
                kept = history.before(prepared.query, progress.last, self._result_schema)
            self._before = kept if kept is not None else self._result(progress.last)

    def _needs_last(self) -> bool:
        """Whether it goes on from its result at the last instant, which is to be computed."""
        return self.remembers() and self.held is None and self.progress.last is not None

    def _fill_window(self, use: Use) -> None:
        progress, prepared, context, window = self.progress, self.prepared, self.context, use.window
        assert progress.frontier is not None
        assert window is not None
        begin = progress.frontier
        if self._needs_last() and progress.last is not None:
            begin = min(begin, progress.last)  # its result then is needed, to tell what is new
        if window.columns:
            assert window.rows is not None
            inlet = context.inlets[use.table.name]
            upto = progress.frontier - 1 if progress.last is None else progress.last
            if inlet.frontier <= upto:  # of a stream that is not so far yet, rows before that are still to come
                upto = NEVER if inlet.frontier == NEVER else inlet.frontier - 1
            slots = self._slots[use.name] = self._empty(use, upto)
            if upto != NEVER:
                interval = prepared.interval(use)
                low = None if interval is None else upto - interval
                for rows in context.history.keyed(use.table.name, window, low, upto):
                    slots.rows.fill(rows)
            context.reach_back(use, upto + 1)
        elif window.rows is not None:
            context.reach_back(use, begin + 1, window.rows)
        else:
            context.reach_back(use, prepared.start(use, begin))

    def begin(self, begin: int) -> None:
        for use in self.prepared.streams:
            assert use.window is not None
            if use.window.columns and use.name not in self._slots:
                self._slots[use.name] = self._empty(use, begin - 1)

    def _empty(self, use: Use, upto: int) -> PartitionedWindow:
        inlet, window = self.context.inlets[use.table.name], use.window
        assert window is not None
        assert window.rows is not None
        return PartitionedWindow(KeyedRows(inlet.schema, inlet.time_column, window.columns, window.rows), upto)

    def close(self) -> None:
        if self._question is not None:
            self.context.batches.leave(self._question, self.prepared.name)

    # -- in a step ---------------------------------------------------------------------------------------------------------

    def advance(self, begin: int, frontier: int) -> pa.Table | None:
        due = awake(self._instants(begin, frontier), self._wakes)
        sent, frontier = self._send_each(due, frontier, self._send_at)
        slide = self.prepared.slide
        passed = slides(begin, frontier, slide, self.prepared.offset) if slide is not None else ()
        self.progress = Progress(frontier, passed[-1] if passed else self.progress.last)
        return sent

    def _wakes(self, instant: int) -> int | None:
        """From when on something can be sent again. If all windows are empty at an instant, and so is the result: when a row
        comes to one of them, None if none does."""
        return self._sees_next(instant) if self._quiet and self._by_time else instant

    def _sees_next(self, instant: int) -> int | None:
        """From when on, at this instant or later, there are rows in windows by time; None if none has come."""
        found = []
        for use, inlet in zip(self.prepared.streams, self._inlets, strict=True):
            time = inlet.next_time(self.prepared.start(use, instant))
            if time is not None:
                found.append(max(time, instant))
        return min(found, default=None)

    def _send_at(self, instant: int) -> pa.Table:
        sent = self._stamped(self._send(instant), instant)
        self._progress_to(instant)
        return sent

    def _progress_to(self, instant: int) -> None:
        self.progress = Progress(instant + 1, instant)

    def _send(self, instant: int) -> pa.Table:
        operator = self.prepared.query.stream_operator
        found = None
        if self._question is not None:
            found = self.context.batches.answer(self._question, self.prepared.name, instant)
        now = self._result(instant) if found is None else self._typed(found)
        self.cost.evaluations += 1
        self._quiet = not now.num_rows
        if operator == "rstream":
            return now
        before, self._before = self._before, now
        return send(self.context.engine, operator, now, before)

    def take_in(self, begin: int, progress: Progress) -> None:
        if self.prepared.query.stream_operator != "rstream" and progress.last != self.progress.last:
            assert progress.last is not None
            self._before = self._result(progress.last)

    def is_due(self, instant: int) -> bool:
        span = self.due() if self.error is None else None
        return span is not None and span[0] <= instant < span[1]

    def rows_at(self, instant: int, question: Question) -> pa.Table:
        """What a batched question is asked of."""
        rows = self._fitting(self.prepared.streams[0], instant, question.columns).select(question.columns)
        self.cost.rows_in += rows.num_rows
        return rows

    # -- results -----------------------------------------------------------------------------------------------------------

    def _result(self, instant: int) -> pa.Table:
        """The one-time result over the contents of the windows at an instant."""
        return self._typed(ask(self.context.engine, self.prepared, self._contents(instant), instant))

    def _contents(self, instant: int) -> dict[str, pa.Table]:
        """What the query is asked about at an instant, by the names of the relations."""
        prepared, known = self.prepared, self._lookups
        tables = {u.name: self._fitting(u, instant) for u in prepared.streams if u.name not in known}
        for use in prepared.streams:
            if use.name in known:
                lookup = known[use.name]
                keys = [tables[lookup.by.name].column(c) for c in lookup.others]
                tables[use.name] = self._content(use, instant, keys)
        for use in prepared.standards:
            looked_up = use.name in known
            tables[use.name] = (
                self._looked_up(use, instant) if looked_up else self.context.history.standard(use.table.name)
            )
        self.cost.rows_in += sum(t.num_rows for t in tables.values())
        return tables

    def _typed(self, found: pa.Table) -> pa.Table:
        return found.rename_columns(self._result_schema.names).cast(self._result_schema)

    def _stamped(self, rows: pa.Table, instant: int) -> pa.Table:
        """Rows of a result with the instant as their last column."""
        times = pa.array(np.full(rows.num_rows, instant)).cast(self._schema.field(INSTANT).type)
        return pa.Table.from_arrays([*rows.columns, times], schema=self._schema)

    # -- contents of windows and tables ------------------------------------------------------------------------------------

    def _looked_up(self, use: Use, instant: int) -> pa.Table:
        """The rows of a standard table that can matter at an instant; fetched for several instants at once."""
        key = (self.prepared.name, use.name)
        known = self.context.fetched.get(key)
        if known is not None and known[0] >= instant:
            return known[1]
        lookup = self._lookups[use.name]
        inlet = self.context.inlets[lookup.by.table.name]
        batch = Arrived(inlet.between(instant, inlet.frontier - 1), inlet.time_column)
        places = np.flatnonzero(lookup.where(batch.columns)) if lookup.where is not None and batch.size else None
        rows, upto = batch.rows(lookup.others, places), inlet.frontier - 1
        moments = batch.moments if places is None else batch.moments[places]
        if len(moments) > _KEYS:  # as many instants as have so many rows, but at least the one
            upto = max(instant, int(moments[_KEYS]) - 1)
            rows = rows.slice(0, int(np.searchsorted(moments, upto, side="right")))
        found = self.context.history.looked_up(use.table.name, lookup.columns, rows.columns)
        self.context.fetched[key] = (upto, found)
        return found

    def _fitting(self, use: Use, instant: int, names: Sequence[str] = ()) -> pa.Table:
        """The content of a window, without rows that a simple WHERE leaves out: the test is shared among queries. It has the
        columns `names`, or all."""
        if self._predicate is None or use.window is None or use.window.rows is not None:
            return self._content(use, instant)
        content = self.context.content(
            use.table.name, self.prepared.start(use, instant), self.prepared.last(use, instant)
        )
        places = np.flatnonzero(self._predicate(content.columns)) if content.size else None
        if names:
            return content.rows(names, places)
        names = list(dict.fromkeys([*used_columns(self.prepared.bound, use), use.time_column or SEQ, SEQ]))
        rows = content.rows(names, places)
        for field in self.context.inlets[use.table.name].schema:
            if field.name not in names:  # the query names it nowhere, but it is part of the relation
                rows = rows.append_column(field, pa.nulls(rows.num_rows, field.type))
        return rows

    def _content(self, use: Use, instant: int, keys: Sequence[pa.ChunkedArray] | None = None) -> pa.Table:
        inlet, window = self.context.inlets[use.table.name], use.window
        assert window is not None
        if window.rows is None:
            return inlet.between(self.prepared.start(use, instant), self.prepared.last(use, instant))
        interval = self.prepared.interval(use)
        if window.columns:
            return self._content_by_key(use, instant, interval, keys)
        newest = inlet.newest(window.rows, instant)
        if interval is None:
            return newest
        return newest.filter(pa.array(event_times(newest, inlet.time_column) >= instant - interval))

    def _content_by_key(
        self, use: Use, instant: int, interval: int | None, keys: Sequence[pa.ChunkedArray] | None
    ) -> pa.Table:
        inlet, slots = self.context.inlets[use.table.name], self._slots[use.name]
        if instant > slots.upto:
            slots.rows.take_in(inlet.between(slots.upto + 1, instant))
            slots.upto = instant
        content = slots.rows.content(keys)
        if interval is None:
            return content
        recent = event_times(content, inlet.time_column) >= instant - interval
        content = content.filter(pa.array(recent))
        if keys is None and 2 * int(recent.sum()) < len(recent):  # most keys have been silent for long: forget them
            slots.rows = self._empty(use, instant).rows
            content = sort_by_time(content, inlet.time_column)
            slots.rows.take_in(content)
        return content

    # -- what it holds -----------------------------------------------------------------------------------------------------

    def needs(self, use: Use) -> tuple[int, int]:
        frontier, window = self.progress.frontier, use.window
        assert window is not None
        if frontier is None:
            return NEVER, 0
        if window.columns:
            return self._slots[use.name].upto + 1, 0
        if window.rows is not None:
            return frontier, window.rows
        return self.prepared.start(use, frontier), 0

    def state(self) -> Iterator[Held]:
        for number, slots in enumerate(self._slots.values()):
            what = f"partitioned window{f' {number + 1}' if number else ''}, {counted(slots.rows.slots.size, 'key')}"
            yield Held(what, slots, slots.size)
        if self._before is not None:
            before = self._before
            yield Held("result at the last instant", before, lambda: (before.num_rows, before.nbytes))

    def checkpoints(self) -> Iterator[Checkpoint]:
        for use in self.prepared.streams:
            window, slots = use.window, self._slots.get(use.name)
            if window is not None and slots is not None and slots.upto != NEVER and reaches_far(use):
                yield Checkpoint(use.table.name, of_keys(window), slots.upto, slots.rows)

    @property
    def last_result(self) -> pa.Table | None:
        return self._before
