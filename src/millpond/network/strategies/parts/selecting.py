"""Queries of SELECT and WHERE alone, whose instants are evaluated together: the base of three strategies.

They differ in which rows a step makes visible (`_visible`). What is new or gone at an instant then follows from these rows alone.
"""

from __future__ import annotations

from abc import abstractmethod

import numpy as np
import pyarrow as pa
from sqlglot import exp

from millpond.arrow import arrow_schema
from millpond.catalog import INSTANT
from millpond.errors import MillpondError
from millpond.event_time import Progress, event_times
from millpond.network.buffers.arrivals import Arrived
from millpond.network.buffers.neighbours import Side
from millpond.network.engine.stream_operators import beyond
from millpond.network.plan.clauses import Refusal, only, selected_columns
from millpond.network.plan.prepared import Prepared
from millpond.network.strategies.base import Strategy
from millpond.network.strategies.parts.projection import Projection
from millpond.query.binding.uses import Use
from millpond.query.instant import is_instant

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
        if is_instant(node):
            return Refusal("it names NOW()")
    return None


def shows_time(tree: exp.Expr, use: Use) -> bool:
    """Whether the time of a row is selected: then a row of one instant equals none of another."""
    return use.time_column in {c.name for c in selected_columns(tree) if c is not None}


class SelectStrategy(Strategy):
    def __init__(self, prepared: Prepared, projection: Projection) -> None:
        super().__init__(prepared)
        self._projection = projection

    def prepare(self) -> None:
        self._nothing = arrow_schema(self.prepared.query.columns).empty_table()  # made once: it is the usual answer

    @abstractmethod
    def _visible(self, begin: int, frontier: int) -> tuple[Arrived | Side, Side | None]:
        """Rows seen at the instants in [begin, frontier); and those of which what they make is left out, if any."""

    def advance(self, begin: int, frontier: int) -> pa.Table | None:
        found: pa.Table | None
        now, before = self._visible(begin, frontier)
        self.cost.evaluations += 1
        self.cost.rows_in += now.size
        try:
            found = self._difference(now, before)
        except MillpondError:
            found, frontier = self._up_to_failure(now, before, frontier)
        last = self._inlets[0].last_time(frontier - 1)
        self.progress = Progress(frontier, last if last is not None and last >= begin else self.progress.last)
        return found

    def _difference(self, now: Arrived | Side, before: Side | None) -> pa.Table:
        engine = self.context.engine
        found = self._projection.stamped(engine, now, self._nothing)
        if before is not None and found.num_rows:
            found = beyond(engine, found, self._projection.stamped(engine, before, self._nothing))
            found = found.take(pa.array(np.argsort(event_times(found, INSTANT), kind="stable")))
        return found

    def _up_to_failure(self, now: Arrived | Side, before: Side | None, frontier: int) -> tuple[pa.Table | None, int]:
        """What is sent before the instant that fails, and that instant; `frontier` if a function does not fail again."""
        moments = [now.moments] if before is None else [now.moments, before.moments]
        return self._send_each(
            np.unique(np.concatenate(moments)).tolist(),
            frontier,
            lambda moment: self._difference(now.at_moment(moment), before and before.at_moment(moment)),
        )
