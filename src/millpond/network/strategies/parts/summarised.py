"""Group by group, in synopses: the base of two strategies whose groups are held as summaries, with checkpoints."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator
from typing import Self

import pyarrow as pa
from sqlglot import exp

from millpond.errors import MillpondError
from millpond.network.aggregates.shape import Item, M
from millpond.network.aggregates.summaries import UPTO, Summarised
from millpond.network.plan.prepared import Prepared
from millpond.network.plan.shapes import grouping_of
from millpond.network.plan.values import Values, ungrouped
from millpond.network.strategies.base import Checkpoint
from millpond.network.strategies.parts.grouped import GroupedStrategy, GroupState
from millpond.network.strategies.parts.projection import Projection
from millpond.query.clauses import Refusal


class SummaryStrategy(GroupedStrategy):
    holds = "synopses"

    @classmethod
    def _match(cls, prepared: Prepared, measured: Callable[[exp.Expr, Values], Item[M] | Refusal]) -> Self | Refusal:
        tree = prepared.bound.written or prepared.bound.tree
        if prepared.each_row:
            return Refusal("it is evaluated at each row")
        grouping = grouping_of(prepared, tree, measured)
        if isinstance(grouping, Refusal):
            return grouping
        assert isinstance(tree, exp.Select)
        projection = Projection.of(prepared, ungrouped(tree, grouping.values))
        return projection if isinstance(projection, Refusal) else cls(prepared, grouping.shape, projection)

    @abstractmethod
    def _empty(self, schema: pa.Schema, upto: int) -> Summarised:
        """Groups without rows, at `upto`."""

    def _fingerprint(self, *held: object) -> str:
        """Queries with the same fingerprint hold the same. Nothing where a function of the user decides which rows there are, as
        nobody knows whether it has changed."""
        where = (self.prepared.bound.written or self.prepared.bound.tree).args.get("where")
        if self.prepared.bound.functions:
            return ""
        return repr((self.shape, *held, self.prepared.slide, where.sql() if where else ""))

    def _begun(self, upto: int) -> GroupState:
        """What a checkpoint has of it, if there is a good one, else nothing."""
        schema = self._values_schema()
        groups = self._empty(schema, upto)
        if not groups.fingerprint:
            return groups
        stream = self.prepared.streams[0].table.name
        kept = self.context.history.kept(stream, groups.fingerprint, upto, groups.schema, UPTO)
        if kept is None:
            return groups
        try:
            groups.restore(*kept)
        except (MillpondError, pa.ArrowException, LookupError, ValueError, TypeError):
            return self._empty(schema, upto)
        return groups

    def _past(self, groups: GroupState, low: int | None) -> Iterator[pa.Table]:
        assert isinstance(groups, Summarised)
        low = groups.first_missing if low is None else max(low, groups.first_missing)
        yield from super()._past(groups, low)
        groups.filled()

    def _first_needed(self, after: int) -> int | None:
        slide = self.prepared.slide
        if slide is None:
            return None
        return self.prepared.start(self.prepared.streams[0], (after // slide + 1) * slide)

    def checkpoints(self) -> Iterator[Checkpoint]:
        groups = self._groups
        if groups is None:
            return
        assert isinstance(groups, Summarised)
        if groups.fingerprint and groups.is_large:
            yield Checkpoint(self.prepared.streams[0].table.name, groups.fingerprint, groups.upto, groups)
