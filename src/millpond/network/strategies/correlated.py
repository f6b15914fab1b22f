"""Group by group, in synopses with proven bounds: correlated aggregates since a landmark."""

from __future__ import annotations

from dataclasses import replace
from typing import Self

import pyarrow as pa
from sqlglot import exp

from millpond.network.aggregates.correlated import CorrelatedMeasure, Correlations
from millpond.network.aggregates.shape import Item
from millpond.network.plan.prepared import Prepared
from millpond.network.plan.values import Values, shown
from millpond.network.strategies.parts.summarised import SummaryStrategy
from millpond.query.clauses import Refusal
from millpond.query.correlated import End
from millpond.query.exact import correlated_of
from millpond.synopses.correlated import Limit, Predicate
from millpond.windows.landmark import LandmarkWindow


class CorrelatedStrategy(SummaryStrategy):
    name = "correlated"
    manner = "group by group, in synopses with proven bounds"

    @classmethod
    def match(cls, prepared: Prepared) -> Self | Refusal:
        tree, window = prepared.bound.written, prepared.streams[0].window
        calls = [n for n in tree.walk() if correlated_of(n)] if tree is not None else []
        if not calls:
            return Refusal("it has no correlated aggregate")
        found: Self | Refusal
        if not isinstance(window, LandmarkWindow):
            found = Refusal(f"{shown(calls[0])} is estimated over [LANDMARK ...] only")
        else:
            found = cls._match(prepared, _measured)
        return replace(found, asked=True) if isinstance(found, Refusal) else found

    def _empty(self, schema: pa.Schema, upto: int) -> Correlations:
        window = self.prepared.streams[0].window
        assert window is not None
        assert isinstance(window, LandmarkWindow)
        between = self.prepared.unit.count(window.between)
        return Correlations(self.shape, schema, upto, between, self._fingerprint(between))


def _measured(node: exp.Expr, values: Values) -> Item[CorrelatedMeasure] | Refusal:
    mark = correlated_of(node)
    if mark is None:
        return Refusal(f"{shown(node)} is neither such a call nor what it is grouped by")
    x, y = values.name(mark.x), values.name(mark.y)
    if x is None or y is None:
        return Refusal(f"{shown(node)} is not of values of a row")
    for kind in (values.type(x), values.type(y)):
        if kind is None or not (kind.is_integer or kind.name in ("FLOAT", "DOUBLE")):
            return Refusal(f"{shown(node)} is not of numbers that both engines compute alike")
    predicate = Predicate(mark.independent, _limit(mark.low), _limit(mark.high))  # type: ignore[arg-type]
    return Item("", CorrelatedMeasure(mark.function, predicate, x, y, mark.buckets), mark.shown)


def _limit(end: End | None) -> Limit | None:
    return None if end is None else Limit(end.factor, end.offset, end.closed)
