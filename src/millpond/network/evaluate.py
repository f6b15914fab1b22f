"""The evaluator: a network of continuous queries over the rows that reach it, in one process.

    step(rows that came, how far time is complete)  ->  what each query sends, stamped with its instants

Queries are taken in an order in which each follows those it reads; what one sends goes into the inlet of its readers, so
effects of a step appear together. Windows by time and by rows are cut out of the inlets; partitioned windows are kept in
slots. What a query sends at an instant depends on the rows up to that instant and on nothing else, so it does not
matter how rows are cut into steps, nor whether the state was kept or filled from history in between.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from millpond.arrow import arrow_schema, schema_of
from millpond.catalog import INSTANT, StreamingTable
from millpond.errors import MillpondError
from millpond.network.engine import Engine
from millpond.network.forms import send
from millpond.network.inlet import NEVER, Inlet, ticks_of
from millpond.network.instants import Progress, arrivals, slides
from millpond.network.keyed import KeyedRows
from millpond.network.prepare import Prepared
from millpond.query.bind import Use
from millpond.query.local import with_relations
from millpond.query.relation import DUCKDB, at_instant, with_previous
from millpond.schema import SEQ, Column, DataType, Schema


class History(Protocol):
    """What was: the rows of a stream as this evaluator would have seen them. All bounds are inclusive."""

    def rows(self, stream: str, low: int | None, high: int) -> pa.Table:
        """Rows with low <= time <= high, sorted by (time, row number)."""

    def newest(self, stream: str, count: int, high: int) -> pa.Table:
        """The `count` newest rows with time <= high, sorted."""

    def keyed(self, stream: str, keys: tuple[str, ...], count: int, high: int) -> pa.Table:
        """The `count` newest rows of each key with time <= high, sorted."""

    def standard(self, name: str) -> pa.Table:
        """A standard table as it is now."""


@dataclass
class Slots:
    """A partitioned window of one query; it holds the rows up to `upto`."""

    rows: KeyedRows
    upto: int


@dataclass
class Node:
    """A query at work."""

    prepared: Prepared
    progress: Progress
    slots: dict[str, Slots] = field(default_factory=dict)
    before: pa.Table | None = None  # its result at the last instant, if it sends differences
    error: str | None = None  # why it stopped


class Evaluator:
    """Not thread safe. `streams` maps the name of each stream to its definition."""

    def __init__(self, history: History, *, threads: int = 1) -> None:
        self.history = history
        self.engine = Engine(threads)
        self.nodes: dict[str, Node] = {}
        self.inlets: dict[str, Inlet] = {}

    # -- the network changes ----------------------------------------------------------------------------------------

    def add(self, prepared: Prepared, progress: Progress) -> None:
        """Take up a query that is to continue at `progress`: its windows are filled from history."""
        node = Node(prepared, progress)
        for use in prepared.streams:
            assert isinstance(use.table, StreamingTable)
            self.open(use.table)
        if progress.complete is not None:
            for use in prepared.streams:
                self._fill(node, use, progress)
            if prepared.query.form != "rstream" and progress.last is not None:
                node.before = self._result(node, progress.last)
        self.nodes[prepared.name] = node

    def drop(self, name: str) -> None:
        self.nodes.pop(name, None)
        read = {u.table.name for n in self.nodes.values() for u in n.prepared.streams}
        for stream in [s for s in self.inlets if s not in read]:
            del self.inlets[stream]

    def open(self, table: StreamingTable) -> Inlet:
        """The inlet of a stream, made if there is none."""
        if table.name not in self.inlets:
            schema = arrow_schema(table.columns.plus(Column(SEQ, DataType("BIGINT"))))
            self.inlets[table.name] = Inlet(schema, table.time_column)
        return self.inlets[table.name]

    def behind(self) -> bool:
        """Whether a query has instants to evaluate although nothing came: it began in the past."""
        return any(n.error is None and self._begin_and_end(n) is not None for n in self.nodes.values())

    def _fill(self, node: Node, use: Use, progress: Progress) -> None:
        inlet = self.inlets[use.table.name]
        assert progress.complete is not None
        assert use.window is not None
        begin = progress.complete if progress.last is None else min(progress.complete, progress.last)
        window = use.window
        if window.columns:
            assert window.rows is not None
            upto = progress.complete - 1 if progress.last is None else progress.last
            rows = self.history.keyed(use.table.name, window.columns, window.rows, upto)
            slots = Slots(KeyedRows(inlet.schema, inlet.time_column, window.columns, window.rows), upto)
            slots.rows.take_in(rows, ticks_of(rows, inlet.time_column))
            node.slots[use.name] = slots
            self._refill(inlet, use, upto + 1, 0)
        elif window.rows is not None:
            self._refill(inlet, use, begin + 1, window.rows)
        else:
            interval = node.prepared.interval(use)
            assert interval is not None
            self._refill(inlet, use, begin - interval, 0)

    def _refill(self, inlet: Inlet, use: Use, low: int, count: int) -> None:
        """Make sure an inlet reaches back to `low`, and `count` rows further."""
        high = inlet.complete - 1
        if inlet.complete == NEVER:
            return
        if inlet.trimmed <= low and not count:
            return
        name = use.table.name
        rows = self.history.rows(name, low, high) if low <= high else inlet.schema.empty_table()
        if count:
            rows = pa.concat_tables([self.history.newest(name, count, min(low - 1, high)), rows])
        there = inlet.between(low, high)
        if count or rows.num_rows > there.num_rows or inlet.trimmed > low:
            inlet.reset(rows, min(low, inlet.trimmed) if inlet.trimmed != NEVER else low)

    # -- a step -----------------------------------------------------------------------------------------------------

    def step(self, rows: Mapping[str, pa.Table], complete: Mapping[str, int]) -> dict[str, pa.Table]:
        """Take in rows of streams, and evaluate every instant that is complete now."""
        for name, inlet in self.inlets.items():
            if name in rows:
                inlet.push(rows[name])
            if name in complete:
                inlet.advance(complete[name])
        sent: dict[str, pa.Table] = {}
        for node in self.nodes.values():
            found = self._try(node)
            inlet_of = self.inlets.get(node.prepared.name)
            if found is not None and found.num_rows:
                sent[node.prepared.name] = found
            if inlet_of is not None and node.progress.complete is not None:
                settled = _numbered(found, inlet_of) if found is not None else inlet_of.schema.empty_table()
                inlet_of.settled(settled, node.progress.complete)
        self._trim()
        return sent

    def _try(self, node: Node) -> pa.Table | None:
        """A query that fails stops; the others do not notice."""
        if node.error is not None:
            return None
        try:
            return self._catch_up(node)
        except MillpondError as error:
            node.error = str(error)
            return None

    def _inlets(self, node: Node) -> list[Inlet]:
        return [self.inlets[u.table.name] for u in node.prepared.streams]

    def _begin_and_end(self, node: Node) -> tuple[int, int] | None:
        """The times between which instants are to be evaluated now, if any."""
        inlets = self._inlets(node)
        complete = min(i.complete for i in inlets)
        begin = node.progress.complete
        if complete == NEVER or (begin is not None and complete <= begin):
            return None
        if begin is None:
            begin = min((t for i in inlets if (t := i.first_time()) is not None and t < complete), default=None)
        return None if begin is None else (begin, complete)

    def _catch_up(self, node: Node) -> pa.Table | None:
        span = self._begin_and_end(node)
        if span is None:
            return None
        begin, complete = span
        inlets = self._inlets(node)
        if node.progress.complete is None:
            self._begin(node, begin)
        slide = node.prepared.slide
        if slide is not None:
            due: list[int] | range = slides(begin, complete, slide)
        else:
            due = arrivals([t for i in inlets for t in i.times()], begin, complete)
        sent = [stamped(self._send(node, instant), instant, node) for instant in due]
        node.progress = Progress(complete, due[-1] if due else node.progress.last)
        return pa.concat_tables(sent) if sent else None

    def _begin(self, node: Node, begin: int) -> None:
        """The first rows a query ever sees: its partitioned windows start empty."""
        for use in node.prepared.streams:
            assert use.window is not None
            if use.window.columns and use.name not in node.slots:
                inlet = self.inlets[use.table.name]
                assert use.window.rows is not None
                keyed = KeyedRows(inlet.schema, inlet.time_column, use.window.columns, use.window.rows)
                node.slots[use.name] = Slots(keyed, begin - 1)

    def _send(self, node: Node, instant: int) -> pa.Table:
        form = node.prepared.query.form
        now = self._result(node, instant)
        if form == "rstream":
            return now
        before, node.before = node.before, now
        return send(self.engine, form, now, before)

    def _result(self, node: Node, instant: int) -> pa.Table:
        """The one-time result over the contents of the windows at an instant."""
        tables = {u.name: self._content(node, u, instant) for u in node.prepared.streams}
        tables |= {u.name: self.history.standard(u.table.name) for u in node.prepared.standards}
        found = ask(self.engine, node.prepared, tables, instant)
        columns = node.prepared.query.columns.without(INSTANT)
        return found.rename_columns(columns.names).cast(arrow_schema(columns))

    def _content(self, node: Node, use: Use, instant: int) -> pa.Table:
        inlet = self.inlets[use.table.name]
        window = use.window
        assert window is not None
        if window.columns:
            slots = node.slots[use.name]
            if instant > slots.upto:
                rows = inlet.between(slots.upto + 1, instant)
                slots.rows.take_in(rows, ticks_of(rows, inlet.time_column))
                slots.upto = instant
            content = slots.rows.content()
            interval = node.prepared.interval(use)
            if interval is not None:
                recent = ticks_of(content, inlet.time_column) >= instant - interval
                content = content.filter(pa.array(recent))
                if 2 * int(recent.sum()) < len(recent):  # most keys have been silent for long: let them go
                    slots.rows = KeyedRows(inlet.schema, inlet.time_column, window.columns, slots.rows.k)
                    order = pc.sort_indices(content, sort_keys=[(inlet.time_column, "ascending"), (SEQ, "ascending")])
                    content = content.take(order)
                    slots.rows.take_in(content, ticks_of(content, inlet.time_column))
            return content
        if window.rows is not None:
            return inlet.newest(window.rows, instant)
        interval = node.prepared.interval(use)
        assert interval is not None
        return inlet.between(instant - interval, instant)

    def _trim(self) -> None:
        """Forget what no window will look at again."""
        for name, inlet in self.inlets.items():
            low, keep = inlet.complete, 0
            for node in self.nodes.values():
                for use in node.prepared.streams:
                    if use.table.name == name:
                        oldest, count = self._needs(node, use)
                        low, keep = min(low, oldest), max(keep, count)
            if low != NEVER:
                inlet.trim(low, keep=keep)

    def _needs(self, node: Node, use: Use) -> tuple[int, int]:
        """The earliest time of a stream that a query will still look at, and how many rows before it."""
        complete = node.progress.complete
        window = use.window
        assert window is not None
        if complete is None:
            return NEVER, 0
        if window.columns:
            return node.slots[use.name].upto + 1, 0
        if window.rows is not None:
            return complete, window.rows
        interval = node.prepared.interval(use)
        assert interval is not None
        return complete - interval, 0

    def close(self) -> None:
        self.engine.close()


def ask(engine: Engine, prepared: Prepared, tables: Mapping[str, pa.Table], instant: int) -> pa.Table:
    """The result over given contents of the relations."""
    parts = []
    for use in (*prepared.streams, *prepared.standards):
        content = with_previous(use, f"SELECT * FROM {use.name}_rows", DUCKDB)
        parts.append(f"{use.name} AS NOT MATERIALIZED ({content})")
    text = with_relations(parts, at_instant(prepared.text, instant))
    return engine.run(text, {f"{name}_rows": rows for name, rows in tables.items()})


def result_columns(engine: Engine, prepared: Prepared) -> Schema:
    """What a query selects, found by asking it over nothing."""
    tables = {}
    for use in (*prepared.streams, *prepared.standards):
        columns = use.columns if use in prepared.standards else use.columns.plus(Column(SEQ, DataType("BIGINT")))
        tables[use.name] = arrow_schema(columns).empty_table()
    found = schema_of(ask(engine, prepared, tables, 0).schema)
    return Schema(tuple(Column(n.lower(), c.type) for n, c in zip(prepared.bound.names, found, strict=True)))


def stamped(rows: pa.Table, instant: int, node: Node) -> pa.Table:
    """Rows of a result with the instant as their last column."""
    schema = arrow_schema(node.prepared.query.columns)
    kind = schema.field(INSTANT).type
    times = pa.array(np.full(rows.num_rows, instant)).cast(kind)
    return pa.Table.from_arrays([*rows.columns, times], schema=schema)


def _numbered(rows: pa.Table, inlet: Inlet) -> pa.Table:
    """Results as a stream: numbered in the order they were sent, after those there are."""
    numbers = pa.array(np.arange(inlet.sent, inlet.sent + rows.num_rows, dtype=np.int64))
    inlet.sent += rows.num_rows
    return rows.append_column(pa.field(SEQ, pa.int64()), numbers).cast(inlet.schema)
