"""Queries over a window that only grows: what they ask, if that can be kept as running aggregates.

The rows of such a window cannot be held, so a query over it is either of this shape or refused when it is created.
"""

from __future__ import annotations

from collections.abc import Collection

from sqlglot import exp

from millpond.network.aggregates.running import Aggregate
from millpond.network.aggregates.shape import Item, Shape
from millpond.network.plan.clauses import Refusal, group_keys, only
from millpond.query.instant import names_instant
from millpond.schema import DataType, Schema

_FUNCTIONS: dict[type[exp.Expr], str] = {
    exp.Count: "count", exp.Sum: "sum", exp.Avg: "avg", exp.Min: "min", exp.Max: "max",
}  # fmt: skip


def running_shape(tree: exp.Expr, columns: Schema) -> Shape[Aggregate] | Refusal:
    """What a bound query over one stream asks."""
    if (refusal := only(tree, "where", "group")) is not None:
        return refusal
    assert isinstance(tree, exp.Select)
    keys = group_keys(tree)
    if isinstance(keys, Refusal) or not keys:
        return Refusal("it has no plain GROUP BY")
    if any(not isinstance(k, exp.Column) for k in keys):
        return Refusal("it is not grouped by columns")
    groups = tuple(k.name for k in keys)
    if names_instant(tree):
        return Refusal("it names NOW(), so that rows would count at some instants and not at others")
    items: list[Item[Aggregate]] = []
    for selected in tree.expressions:
        item = _item(selected, groups, columns)
        if isinstance(item, Refusal):
            return item
        items.append(item)
    hidden = [g for g in groups if Item[Aggregate](g) not in items]
    if hidden:
        return Refusal(f'it does not select "{hidden[0]}", which it is grouped by')
    return Shape(groups, tuple(items))


def _item(selected: exp.Expr, groups: Collection[str], columns: Schema) -> Item[Aggregate] | Refusal:
    inner = selected.this if isinstance(selected, exp.Alias) else selected
    if isinstance(inner, exp.Column) and inner.name in groups:
        return Item(inner.name)
    function = _FUNCTIONS.get(type(inner))
    text = inner.sql(dialect="spark")
    if function is None:
        return Refusal(f"{text} is neither a group's column nor COUNT, SUM, AVG, MIN or MAX")
    if function == "count" and isinstance(inner.this, (exp.Star, exp.Literal)):
        return Item("", Aggregate("count", None))
    if not isinstance(inner.this, exp.Column):
        return Refusal(f"{text} is not an aggregate of a column")
    kind = columns.find(inner.this.name, "it").type
    if function != "count" and not _fits(kind, function):
        return Refusal(f"{text} is of {kind}, where only integers add up to the same in any order")
    return Item("", Aggregate(function, inner.this.name))


def _fits(kind: DataType, function: str) -> bool:
    return kind.is_integer or (function in ("min", "max") and kind.name in ("TIMESTAMP", "DATE"))
