"""Group by group, in synopses with the error the query allows: approximate aggregates over a window of time."""

from __future__ import annotations

from dataclasses import replace
from typing import Self

import pyarrow as pa
from sqlglot import exp

from millpond.network.aggregates.approximate import LEAST, Approximated, Measure
from millpond.network.aggregates.shape import Item
from millpond.network.plan.prepared import Prepared
from millpond.network.plan.shapes import by_time
from millpond.network.plan.values import Values, shown
from millpond.network.strategies.parts.summarised import SummaryStrategy
from millpond.query.approximate import mark_of
from millpond.query.clauses import Refusal
from millpond.query.exact import norm_of
from millpond.synopses import SynopsisError


class ApproximateStrategy(SummaryStrategy):
    name = "approximate"
    manner = "group by group, in synopses with the error it allows"

    @classmethod
    def match(cls, prepared: Prepared) -> Self | Refusal:
        tree, window = prepared.bound.written or prepared.bound.tree, prepared.streams[0].window
        calls = [n for n in tree.walk() if mark_of(n) or norm_of(n)]
        if not calls:
            return Refusal("it has no aggregate for which it names an error")
        found: Self | Refusal
        if not by_time(window) or window is None or window.interval is None:
            found = Refusal(f"{_called(calls[0])} is estimated over [INTERVAL ...] only")
        else:
            found = cls._match(prepared, _measured)
        return replace(found, asked=True) if isinstance(found, Refusal) else found

    def _empty(self, schema: pa.Schema, upto: int) -> Approximated:
        interval = self.prepared.interval(self.prepared.streams[0])
        assert interval is not None
        slide = self.prepared.slide
        return Approximated(self.shape, schema, upto, interval, slide, self._fingerprint(interval))


def _called(node: exp.Expr) -> str:
    """A call in the words of the user."""
    mark = mark_of(node)
    return f"APPROX_{mark.function.upper()}" if mark is not None else shown(node)


def _measured(node: exp.Expr, values: Values) -> Item[Measure] | Refusal:
    norm, mark = norm_of(node), mark_of(node)
    if norm is not None:
        name = values.name(norm.x)
        if name is None or values.type(name) is None:
            return Refusal(f"{shown(norm.x)} is not a value of a row")
        return _possible(Item("", Measure("norm", name, norm.eps, norm.p), norm.shown), node)
    if mark is None:
        return Refusal(f"{shown(node)} is neither such a call nor what it is grouped by")
    inner = node.this.this
    if isinstance(inner, exp.Distinct):
        inner = inner.expressions[0]
    if mark.function == "count" and isinstance(inner, (exp.Star, exp.Literal)):
        return Item("", Measure("count", None, mark.eps), mark.shown)
    name = values.name(inner)
    kind = None if name is None else values.type(name)
    if kind is None:
        return Refusal(f"{_called(node)} is not of a value of a row")
    if mark.function in ("sum", "avg", "var_pop") and not kind.is_integer:
        return Refusal(f"{_called(node)} is of {kind}, and estimated of integers only")
    return _possible(Item("", Measure(mark.function, name, mark.eps), mark.shown), node)


def _possible(item: Item[Measure], node: exp.Expr) -> Item[Measure] | Refusal:
    """Refused where the error is so small that a synopsis would be larger than what it is to save."""
    assert item.measure is not None
    too_small = Refusal(f"the error of {_called(node)} is so small that a synopsis would save nothing")
    if item.measure.eps < LEAST:
        return too_small
    try:
        for part in item.measure.parts:
            part.make(1)
    except SynopsisError:
        return too_small
    return item
