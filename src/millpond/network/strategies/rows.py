"""Row by row: a filter and a projection of what arrives.

Fits a query of SELECT and WHERE over one stream, evaluated at each arrival, that is either RSTREAM over [NOW], or ISTREAM over a
window by time where the row's time is selected. Then a row of an instant equals none of an earlier one, and what is new is what
arrived.
"""

from __future__ import annotations

from typing import Self

from sqlglot import exp

from millpond.catalog import StreamingTable
from millpond.network.buffers.arrivals import Arrived
from millpond.network.plan.prepared import Prepared
from millpond.network.strategies.parts.projection import Projection
from millpond.network.strategies.parts.selecting import SelectStrategy, not_plain, shows_time
from millpond.query.clauses import Refusal


class RowStrategy(SelectStrategy):
    name = "rows"
    manner = "row by row, with all other such queries"

    @classmethod
    def match(cls, prepared: Prepared) -> Self | Refusal:
        use, tree, operator = prepared.streams[0], prepared.bound.tree, prepared.query.stream_operator
        window = use.window
        assert window is not None
        if (refusal := not_plain(prepared, tree)) is not None:
            return refusal
        assert isinstance(tree, exp.Select)
        if window.columns or window.rows is not None or window.grows:
            return Refusal("its window is not one by time")
        if operator == "dstream" or (operator == "rstream") != window.now:
            return Refusal("rows of earlier instants are in its result")
        if operator == "istream" and not shows_time(tree, use):
            return Refusal("it does not select the time of a row, so that rows of two instants may be equal")
        projection = Projection.of(prepared, tree)
        return projection if isinstance(projection, Refusal) else cls(prepared, projection)

    def local_to(self, table: StreamingTable) -> bool:
        return True

    def fill(self) -> None:
        assert self.progress.frontier is not None
        self.context.reach_back(self.prepared.streams[0], self.progress.frontier)

    def _visible(self, begin: int, frontier: int) -> tuple[Arrived, None]:
        arrived = self._arrived(begin, frontier)
        return arrived.each_row if self.prepared.each_row else arrived, None
