"""Group by group, for the groups that change: aggregates over a window that only grows.

Fits every query over such a window: any other is refused when it is created.
"""

from __future__ import annotations

from typing import Self

import pyarrow as pa
from sqlglot import exp

from millpond.network.aggregates.running import Running
from millpond.network.plan.clauses import Refusal
from millpond.network.plan.prepared import Prepared
from millpond.network.plan.running import running_shape
from millpond.network.plan.shapes import ungrouped
from millpond.network.strategies.parts.grouped import GroupedStrategy
from millpond.network.strategies.parts.projection import Projection


class RunningStrategy(GroupedStrategy):
    name = "running"
    manner = "group by group, for the groups that change"
    holds = "running aggregates"

    @classmethod
    def match(cls, prepared: Prepared) -> Self | Refusal:
        use, tree = prepared.streams[0], prepared.bound.tree
        if use.window is None or not use.window.grows:
            return Refusal("its window does not only grow")
        shape = running_shape(tree, use.columns)
        if isinstance(shape, Refusal):
            return shape
        assert isinstance(tree, exp.Select)
        columns = {c.name: c for c in tree.find_all(exp.Column)}
        projection = Projection.of(prepared, ungrouped(tree, {name: columns[name] for name in shape.names}))
        return projection if isinstance(projection, Refusal) else cls(prepared, shape, projection)

    def _empty(self, schema: pa.Schema, upto: int) -> Running:
        return Running(self.shape, schema, upto)

    def _changes(self, frontier: int) -> pa.Table | None:
        groups, slide = self._groups, self.prepared.slide
        assert isinstance(groups, Running)
        came = self._arrived(frontier)
        if came is None:
            return None
        rows, moments = came
        if slide is not None:
            moments = -(-moments // slide) * slide
        return self._stamped(*groups.changes(rows, moments, self.prepared.query.stream_operator))
