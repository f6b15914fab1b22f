"""From the text of a query to what it asks of groups (`aggregates.shape`), where these need not be held as rows."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Generic

from sqlglot import exp

from millpond.network.aggregates.shape import Item, M, Shape
from millpond.network.plan.prepared import Prepared
from millpond.network.plan.values import Values, shown
from millpond.query.clauses import Refusal, group_keys, only
from millpond.query.instant import names_instant
from millpond.windows.base import Window


@dataclass(frozen=True)
class Grouping(Generic[M]):
    """A shape, and the expression that each name of a value stands for."""

    shape: Shape[M]
    values: Mapping[str, exp.Expr]


def grouping_of(
    prepared: Prepared, tree: exp.Expr, measured: Callable[[exp.Expr, Values], Item[M] | Refusal]
) -> Grouping[M] | Refusal:
    """What a query over one stream asks, if it selects nothing but values of its groups and what is `measured`, and sends its
    whole result. `tree` is the query as it was bound, or as it was written."""
    operator = prepared.query.stream_operator
    if operator != "rstream":
        return Refusal(f"it sends {operator.upper()}, not its whole result")
    if len(prepared.bound.uses) > 1:
        return Refusal("it reads more than one table")
    if (refusal := only(tree, "where", "group")) is not None:
        return refusal
    assert isinstance(tree, exp.Select)
    if prepared.streams[0].previous:
        return Refusal("it names PREV()")
    if names_instant(tree):
        return Refusal("it names NOW()")
    keys = group_keys(tree)
    if isinstance(keys, Refusal):
        return keys
    values = Values(tree, prepared.streams[0].columns, prepared.bound.functions)
    groups = []
    for key in keys:
        name = values.name(key)
        if name is None or values.type(name) is None:
            return Refusal(f"it is grouped by {shown(key)}, which is not a value of a row")
        groups.append(name)
    items: list[Item[M]] = []
    for node in (e.unalias() for e in tree.selects):
        name = values.name(node)
        found = Item[M](name) if name is not None and name in groups else measured(node, values)
        if isinstance(found, Refusal):
            return found
        items.append(found)
    if all(i.measure is None for i in items):
        return Refusal("it has no aggregates")
    shape = Shape(tuple(dict.fromkeys(groups)), tuple(items))
    return Grouping(shape, {name: values.nodes[name] for name in shape.names})


def by_time(window: Window | None) -> bool:
    """Whether a window holds all rows from some time on, which moves, up to the instant."""
    return window is not None and not (window.grows or window.now or window.before) and window.rows is None
