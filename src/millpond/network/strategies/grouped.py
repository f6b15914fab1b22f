"""Queries whose groups are held as numbers instead of rows: rows go in as they come, results are taken out at instants.

Invariant. At an instant a query holds what the rows of its window make of its groups, whatever steps they came in. Rows that no
instant to come sees are not taken in, so they cannot fail. Where rows fail, the query stops at the first instant that sees one,
and what it sends before is as if they had not come.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from millpond.arrow import arrow_schema, integers
from millpond.catalog import INSTANT
from millpond.errors import MillpondError
from millpond.event_time import Progress
from millpond.network.aggregates.holders import Held, begun, held_for, past_of
from millpond.network.aggregates.running import Running
from millpond.network.aggregates.summaries import Summarised
from millpond.network.engine.engine import Engine
from millpond.network.evaluate.node import Node
from millpond.network.plan.kinds import MOMENT
from millpond.network.state.history import History
from millpond.network.time.inlet import Inlet
from millpond.network.time.instants import arrivals, slides
from millpond.network.windows.arrivals import Arrived
from millpond.query.local import with_relations

Moments = npt.NDArray[np.int64]


class Holding:
    """`inlets` are those of the evaluator, by the names of streams."""

    def __init__(self, inlets: Mapping[str, Inlet], history: History, engine: Engine) -> None:
        self._inlets = inlets
        self._history = history
        self._engine = engine

    # -- beginning --------------------------------------------------------------------------------------------------------

    def begin(self, node: Node, upto: int) -> None:
        """Without rows."""
        node.running = self._made(node, upto)

    def fill(self, node: Node, upto: int) -> int:
        """With the rows up to a time, from history, those behind the last instant too unless one of them fails: that is told at
        the next instant. Up to which time they are in."""
        if node.prepared.query.form == "rstream":
            with contextlib.suppress(MillpondError):
                self._fill(node, upto)
                return upto
        node.waits = True
        last = upto // (node.prepared.slide or 1) * (node.prepared.slide or 1)
        self._fill(node, last)
        return last

    def skip(self, node: Node, complete: int) -> None:
        """Take rows in whose results were sent by another."""
        self._brought_in(node, complete, quietly=True)

    def _made(self, node: Node, upto: int) -> Held:
        inlet = self._inlet(node)
        schema = inlet.schema
        if node.kind.plain is None:  # what is computed has the types that DuckDB gives it
            schema = self._computed(node, Arrived(schema.empty_table(), inlet.time_column))[0].schema
        return held_for(node.prepared, node.kind.name, schema, upto)

    def _fill(self, node: Node, upto: int) -> None:
        stream = node.prepared.streams[0].table.name
        node.running = running = begun(lambda: self._made(node, upto), self._history, stream)
        low = self._needed_from(node, upto)
        for rows in past_of(running, self._history, stream, node.kind.needs, low):
            running.take_in(*self._matching(node, Arrived(rows, self._inlet(node).time_column)))

    # -- going on ---------------------------------------------------------------------------------------------------------

    def run(self, node: Node, begin: int, complete: int) -> pa.Table | None:
        """All instants from `begin` up to `complete`: what is sent."""
        running = node.running
        assert running is not None
        stood = running.upto
        try:
            sent = self._send(node, begin, complete)
        except MillpondError:
            self._fill(node, stood)  # it may hold part of what failed
            sent, complete = self._send_up_to_failure(node, begin, complete)
        done = self._instants(node, begin, complete)[-1:]
        node.progress = Progress(complete, done[0] if done else node.progress.last)
        node.waits = node.prepared.query.form != "rstream" or (node.waits and not done)
        if node.error is None and not node.waits:
            self._bring_in_early(node, complete)
        return sent

    def _bring_in_early(self, node: Node, complete: int) -> None:
        """Take in the rows behind the last instant too, so that they need not be held until the next."""
        assert node.running is not None
        stood = node.running.upto
        try:
            self._brought_in(node, complete, quietly=True, early=True)
        except MillpondError:
            self._fill(node, stood)
            node.waits = True

    def _send(self, node: Node, begin: int, complete: int) -> pa.Table | None:
        if node.prepared.query.form != "rstream":
            return self._stamped(node, *self._brought_in(node, complete))
        parts = [self._send_at(node, instant) for instant in self._due(node, begin, complete)]
        return pa.concat_tables([p for p in parts if p is not None]) if parts else None

    def _send_at(self, node: Node, instant: int) -> pa.Table | None:
        self._brought_in(node, instant + 1, quietly=True)
        assert node.running is not None
        groups = node.running.content()
        node.quiet = not groups.num_rows
        return self._stamped(node, groups, np.full(groups.num_rows, instant))

    def _send_up_to_failure(self, node: Node, begin: int, complete: int) -> tuple[pa.Table | None, int]:
        """What is sent at the instants before the one that fails, and that one."""
        sent = []
        whole = node.prepared.query.form == "rstream"
        for instant in self._due(node, begin, complete):
            try:
                part = self._send_at(node, instant) if whole else self._send(node, instant, instant + 1)
            except MillpondError as error:
                node.error, complete = str(error), instant
                break
            if part is not None:
                sent.append(part)
        return pa.concat_tables(sent) if sent else None, complete

    def _instants(self, node: Node, begin: int, complete: int) -> list[int] | range:
        slide = node.prepared.slide
        if slide is not None:
            return slides(begin, complete, slide)
        return arrivals(self._inlet(node).times(), begin, complete)

    def _due(self, node: Node, begin: int, complete: int) -> Iterator[int]:
        """The instants at which something may be sent. While no group has rows, only those after the next row: after a row with a
        time of long ago there may be thousands of millions."""
        instants = self._instants(node, begin, complete)
        at = 0
        while at < len(instants):
            yield instants[at]
            at += 1
            if node.quiet and isinstance(instants, range) and at < len(instants):
                wakes = self._inlet(node).next_time(instants[at - 1] + 1)
                skipped = complete if wakes is None else wakes
                at = max(at, -(-(skipped - instants.start) // instants.step))

    # -- rows -------------------------------------------------------------------------------------------------------------

    def _needed_from(self, node: Node, after: int) -> int | None:
        """The earliest time of a row that an instant later than `after` sees; None: any."""
        slide = node.prepared.slide
        if not isinstance(node.running, Summarised) or slide is None:
            return None
        return node.prepared.start(node.prepared.streams[0], (after // slide + 1) * slide)

    def _brought_in(
        self, node: Node, complete: int, *, quietly: bool = False, early: bool = False
    ) -> tuple[pa.Table | None, Moments]:
        """Take in the rows up to the last instant before `complete`; what that changed, and when. `early`: all rows before
        `complete`."""
        running, slide = node.running, node.prepared.slide
        assert running is not None
        upto = complete - 1 if slide is None or early else (complete - 1) // slide * slide
        nothing = np.zeros(0, dtype=np.int64)
        if upto <= running.upto:
            return None, nothing
        inlet = self._inlet(node)
        needed = self._needed_from(node, running.upto)
        low = running.upto + 1 if needed is None else max(running.upto + 1, needed)
        came = Arrived(inlet.between(low, upto), inlet.time_column)
        running.upto = upto
        rows, moments = self._matching(node, came)
        if quietly:
            running.take_in(rows, moments)
            return None, nothing
        assert isinstance(running, Running)
        if slide is not None:
            moments = -(-moments // slide) * slide
        return running.changes(rows, moments, node.prepared.query.form)

    def _matching(self, node: Node, batch: Arrived) -> tuple[pa.Table, Moments]:
        """The rows that fulfil a query's WHERE, the values it needs of them, and their moments."""
        plain = node.kind.plain
        if not batch.size:
            return batch.rows(plain or (), None), batch.moments
        if node.chosen is not None and plain is not None:
            places = np.flatnonzero(node.chosen(batch.columns)) if node.kind.where is not None else None
            return batch.rows(plain, places), batch.moments if places is None else batch.moments[places]
        return self._computed(node, batch)

    def _computed(self, node: Node, batch: Arrived) -> tuple[pa.Table, Moments]:
        """The same, by DuckDB."""
        names = list(node.kind.names)
        name = node.prepared.streams[0].name
        rows = batch.rows(node.kind.needs, None).append_column(MOMENT, pa.array(batch.moments))
        text = with_relations([f"{name} AS NOT MATERIALIZED (SELECT * FROM {name}_rows)"], node.kind.text)
        found = self._engine.run(text, {f"{name}_rows": rows})
        return found.select(range(len(names))).rename_columns(names), integers(found.column(len(names)))

    def _stamped(self, node: Node, rows: pa.Table | None, moments: Moments) -> pa.Table | None:
        if rows is None:
            return None
        schema = arrow_schema(node.prepared.query.columns)
        stamps = pa.array(moments).cast(schema.field(INSTANT).type)
        return pa.Table.from_arrays([*rows.columns, stamps], names=schema.names).cast(schema)

    def _inlet(self, node: Node) -> Inlet:
        return self._inlets[node.prepared.streams[0].table.name]
