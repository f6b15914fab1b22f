"""Group by group, for the groups that change: aggregates over a window that only grows.

Fits every query over such a window: any other is refused when it is created.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Self

import numpy as np
import pyarrow as pa
from sqlglot import exp

from millpond.arrow import arrow_schema
from millpond.catalog import INSTANT
from millpond.errors import MillpondError
from millpond.network.aggregates.running import Running
from millpond.network.engine.stream_operators import send
from millpond.network.plan.prepared import Prepared
from millpond.network.plan.running import Asked, running_shape
from millpond.network.plan.values import ungrouped
from millpond.network.strategies.parts.finish import Finishing
from millpond.network.strategies.parts.grouped import GroupedStrategy, GroupState
from millpond.network.strategies.parts.projection import Projection
from millpond.query.clauses import Refusal


class RunningStrategy(GroupedStrategy):
    name = "running"
    manner = "group by group, for the groups that change"
    holds = "running aggregates"
    takes_held = True

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

    def _changes(self, begin: int, frontier: int) -> pa.Table | None:
        held = self.held
        if held is None:
            return self._of_groups(frontier, begins=self.progress.last is None)
        first = self._instants(begin, frontier)[:1]
        if not first:
            return None
        try:
            sent = [self._against(held, first[0])]
            self.held = None
            rest = self._of_groups(frontier, begins=False)
        except MillpondError:
            self.held = held
            raise
        return pa.concat_tables(sent if rest is None else [*sent, rest])

    def _against(self, held: pa.Table, instant: int) -> pa.Table:
        """The first difference, to a result that is given: of all groups."""
        came, groups, operator = self._arrived(instant + 1), self._groups, self.prepared.query.stream_operator
        assert isinstance(groups, Running)
        rest = None
        if came is not None and self.prepared.each_row:  # the first difference is that at the first row
            values, ranks = came
            end = int(np.searchsorted(ranks, 1))
            came, rest = (values.slice(0, end), ranks[:end]), (values.slice(end), ranks[end:])
        if came is not None:
            groups.take_in(*came)
        now = self.last_result
        assert now is not None
        found = send(self.context.engine, operator, now, held)
        sent = self._stamped(found, np.full(found.num_rows, 0 if self.prepared.each_row else instant))
        if rest is None:
            return sent
        return pa.concat_tables([sent, self._stamped(*groups.changes(*rest, operator, self._finishing(), None))])

    @property
    def last_result(self) -> pa.Table | None:
        if self._groups is None:
            return None
        schema = arrow_schema(self.prepared.query.columns.without(INSTANT))
        return self._content(self._groups).rename_columns(schema.names).cast(schema)

    def _of_groups(self, frontier: int, *, begins: bool) -> pa.Table | None:
        """What is new or gone, from the groups that change. If it `begins`, nothing has been sent yet."""
        groups, slide = self._groups, self.prepared.slide
        assert isinstance(groups, Running)
        instants: Sequence[int] = ()
        if begins:
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
