"""Group by group, for the groups that change: aggregates over a window that only grows.

Fits every query over such a window: any other is refused when it is created.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Self

import pyarrow as pa
from sqlglot import exp

from millpond.network.aggregates.running import Running
from millpond.network.plan.clauses import Refusal
from millpond.network.plan.prepared import Prepared
from millpond.network.plan.running import Asked, running_shape
from millpond.network.plan.values import ungrouped
from millpond.network.strategies.parts.finish import Finishing
from millpond.network.strategies.parts.grouped import GroupedStrategy, GroupState
from millpond.network.strategies.parts.projection import Projection


class RunningStrategy(GroupedStrategy):
    name = "running"
    manner = "group by group, for the groups that change"
    holds = "running aggregates"

    def __init__(self, prepared: Prepared, asked: Asked, projection: Projection) -> None:
        super().__init__(prepared, asked.shape, projection)
        self._finish = asked.finish

    @classmethod
    def match(cls, prepared: Prepared) -> Self | Refusal:
        use, tree = prepared.streams[0], prepared.bound.tree
        if use.window is None or not use.window.grows:
            return Refusal("its window does not only grow")
        asked = running_shape(tree, use.columns, prepared.bound.functions)
        if isinstance(asked, Refusal):
            return asked
        assert isinstance(tree, exp.Select)
        projection = Projection.of(prepared, ungrouped(tree, asked.values))
        if isinstance(projection, Refusal):
            return projection
        return cls(prepared, asked, projection)

    def _empty(self, schema: pa.Schema, upto: int) -> Running:
        return Running(self.shape, schema, upto)

    def _finishing(self) -> Finishing | None:
        return Finishing(self._finish, self.context.engine) if self._finish is not None else None

    def _content(self, groups: GroupState) -> pa.Table:
        finishing, content = self._finishing(), groups.content()
        return content if finishing is None else finishing(content)[0]

    def _changes(self, frontier: int) -> pa.Table | None:
        groups, slide = self._groups, self.prepared.slide
        assert isinstance(groups, Running)
        instants: Sequence[int] = ()
        if self.progress.last is None:
            instants = self._instants(groups.upto + 1, frontier)[:1]
        came = self._arrived(frontier)
        if came is None:
            return None
        rows, moments = came
        if slide is not None:
            moments = -(-moments // slide) * slide
        first = None
        if instants:
            first = 0 if self.prepared.each_row else instants[0]  # where each row is an instant, moments are ranks
        operator = self.prepared.query.stream_operator
        return self._stamped(*groups.changes(rows, moments, operator, self._finishing(), first))
