"""Queries of SELECT and WHERE alone, whose instants are evaluated together: the base of three strategies.

They differ in which rows a step makes visible (`_visible`). What is new or gone at an instant then follows from these rows alone.
"""

from __future__ import annotations

from abc import abstractmethod

import numpy as np
import pyarrow as pa
from sqlglot import exp

from millpond.arrow import arrow_schema, distinct
from millpond.catalog import INSTANT
from millpond.errors import MillpondError
from millpond.event_time import Progress, event_times
from millpond.network.buffers.arrivals import Arrived
from millpond.network.buffers.neighbours import Side
from millpond.network.engine.stream_operators import beyond
from millpond.network.plan.prepared import Prepared
from millpond.network.strategies.base import Strategy
from millpond.network.strategies.parts.projection import Projection
from millpond.query.binding.uses import Use
from millpond.query.clauses import Refusal, only, selected_columns
from millpond.query.instant import is_instant, is_own_instant
from millpond.schema import SEQ

_OF_MANY_ROWS = (exp.AggFunc, exp.Window, exp.Subquery, exp.Exists, exp.Explode)


def not_plain(prepared: Prepared, tree: exp.Expr) -> Refusal | None:
    """None if a query is SELECT and WHERE over one stream, evaluated at each arrival, and looks at each row for itself."""
    if prepared.standards or len(prepared.streams) != 1:
        return Refusal("it reads more than one table")
    if any(f.kind != "scalar" for f in prepared.bound.functions.values()):
        return Refusal("it calls a function that is not of single values")
    if prepared.slide is not None:
        return Refusal("it is not evaluated at each arrival")
    if (refusal := only(tree, "where")) is not None:
        return refusal
    for node in tree.walk():
        if isinstance(node, _OF_MANY_ROWS):
            return Refusal("it looks at several rows at once")
        if is_instant(node) or is_own_instant(node):
            return Refusal("it names NOW()")
    return None


def shows_time(tree: exp.Expr, use: Use) -> bool:
    """Whether the time of a row is selected: then a row of one time equals none of another."""
    return use.time_column in {c.name for c in selected_columns(tree) if c is not None}


def shows_number(tree: exp.Expr) -> bool:
    """Whether the number of a row is selected: then a row equals no other."""
    return SEQ in {c.name.lower() for c in selected_columns(tree) if c is not None}


class SelectStrategy(Strategy):
    def __init__(self, prepared: Prepared, projection: Projection) -> None:
        super().__init__(prepared)
        self._projection = projection

    def prepare(self) -> None:
        self._schema = schema = arrow_schema(self.prepared.query.columns)
        if self.prepared.each_row:  # instants are ranks then, until rows are stamped
            schema = schema.set(len(schema) - 1, pa.field(INSTANT, pa.int64()))
        self._nothing = schema.empty_table()  # made once: it is the usual answer

    @abstractmethod
    def _visible(self, begin: int, frontier: int) -> tuple[Arrived | Side, Side | None]:
        """Rows seen at the instants in [begin, frontier); and those of which what they make is left out, if any. Where each row
        is an instant, their moments are ranks."""

    def advance(self, begin: int, frontier: int) -> pa.Table | None:
        found: pa.Table | None
        now, before = self._visible(begin, frontier)
        self.cost.evaluations += 1
        self.cost.rows_in += now.size
        try:
            found = self._difference(now, before)
        except MillpondError:
            found, frontier = self._up_to_failure(now, before, begin, frontier)
        if self.prepared.each_row and found is not None:
            found = self._arrived(begin, frontier).instants.stamped(found, self._schema)
        last = self._inlets[0].last_time(frontier - 1)
        self.progress = Progress(frontier, last if last is not None and last >= begin else self.progress.last)
        return found

    def _arrived(self, begin: int, frontier: int) -> Arrived:
        return self.context.arrived(self.prepared.streams[0].table.name, begin, frontier)

    def _difference(self, now: Arrived | Side, before: Side | None) -> pa.Table:
        engine = self.context.engine
        found = self._projection.stamped(engine, now, self._nothing)
        if before is not None and found.num_rows:
            found = beyond(engine, found, self._projection.stamped(engine, before, self._nothing))
            found = found.take(pa.array(np.argsort(event_times(found, INSTANT), kind="stable")))
        return found

    def _up_to_failure(
        self, now: Arrived | Side, before: Side | None, begin: int, frontier: int
    ) -> tuple[pa.Table | None, int]:
        """What is sent before the time at which it fails, and that time; `frontier` if a function does not fail again."""
        rows = self._arrived(begin, frontier).instants

        def send(time: int) -> pa.Table:
            first, end = rows.at(time) if self.prepared.each_row else (time, time + 1)
            return self._difference(now.during(first, end), before and before.during(first, end))

        return self._send_each(distinct(rows.times).tolist(), frontier, send)
