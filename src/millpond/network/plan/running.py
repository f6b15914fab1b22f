"""Queries over a window that only grows: what they ask, if that can be kept as running aggregates.

The rows of such a window cannot be held, so a query over it is either of this shape or refused when it is created. What is
held are values of groups and aggregates; HAVING, and what is computed from aggregates, is asked of these (`finish`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from sqlglot import exp

from millpond.catalog import Function
from millpond.network.aggregates.functions.registry import BY_NAME, DISTINCT
from millpond.network.aggregates.running import Aggregate
from millpond.network.aggregates.shape import Item, Shape
from millpond.network.plan.values import Values, shown
from millpond.query.binding.columns import sqlglot_type
from millpond.query.clauses import Refusal, group_keys, only
from millpond.query.instant import names_instant
from millpond.schema import DataType, Schema
from millpond.sql.translate import NotOnDuckDB, to_duckdb

GROUPS = "__groups"
"""What `finish` reads: a column for each item of the shape, called by its place, and PLACE, the place of the row."""
PLACE = "__place"


@dataclass(frozen=True)
class Asked:
    """What is held, and the expression that each name of a value stands for. `finish` is DuckDB's text of the query over GROUPS
    that gives the result, with PLACE last; None if what is held is the result."""

    shape: Shape[Aggregate]
    values: Mapping[str, exp.Expr]
    finish: str | None


def running_shape(tree: exp.Expr, columns: Schema, functions: Mapping[str, Function] | None = None) -> Asked | Refusal:
    """What a bound query over one stream asks."""
    if (refusal := only(tree, "where", "group", "having")) is not None:
        return refusal
    assert isinstance(tree, exp.Select)
    keys = group_keys(tree)
    if isinstance(keys, Refusal):
        return Refusal("it has no plain GROUP BY")
    if not keys and not any(e.find(exp.AggFunc) for e in tree.expressions):
        return Refusal("it has neither GROUP BY nor aggregates")
    if names_instant(tree):
        return Refusal("it names NOW(), so that rows would count at some instants and not at others")
    values = Values(tree, columns, functions or {})
    groups = []
    for key in keys:
        name = values.name(key)
        if name is None or values.type(name) is None:
            return Refusal(f"it is grouped by {shown(key)}, which is not a value of a row")
        groups.append(name)
    return _Reader(values, groups, functions or {}).read(tree)


class _Reader:
    """Collects the aggregates of a query."""

    def __init__(self, values: Values, groups: list[str], functions: Mapping[str, Function]) -> None:
        self._values = values
        self._functions = functions
        self._groups = list(dict.fromkeys(groups))
        self._kinds: dict[Item[Aggregate], DataType] = {}

    def read(self, tree: exp.Select) -> Asked | Refusal:
        selected = [e.unalias() for e in tree.expressions]
        having = tree.args.get("having")
        plain = [self._item(node) for node in selected]
        for item in plain:
            if isinstance(item, Refusal):
                return item
        hidden = [g for g in self._groups if Item[Aggregate](g) not in plain]
        if hidden:
            return Refusal(f"it does not select {shown(self._values.nodes[hidden[0]])}, which it is grouped by")
        if having is None and None not in plain:
            return self._asked(tuple(i for i in plain if isinstance(i, Item)), None)
        for group in self._groups:
            self._kinds.setdefault(Item(group), self._type(group))
        changed = []
        for node in [*selected, *([having.this] if having is not None else [])]:
            found = self._over_groups(node)
            if isinstance(found, Refusal):
                return found
            changed.append(found)
        names = [e.alias_or_name for e in tree.expressions]
        outputs = [exp.alias_(node, name, quoted=True) for node, name in zip(changed, names, strict=False)]
        place = _held(PLACE, DataType("BIGINT"))
        finish = exp.Select(expressions=[*outputs, exp.alias_(place, PLACE, quoted=True)])
        finish = finish.from_(exp.to_table(GROUPS), copy=False)
        if having is not None:
            finish.set("where", exp.Where(this=changed[-1]))
        try:
            return self._asked(tuple(self._kinds), to_duckdb(finish, self._functions))
        except NotOnDuckDB as refusal:
            return Refusal(f"of its aggregates, {refusal}")

    def _asked(self, items: tuple[Item[Aggregate], ...], finish: str | None) -> Asked:
        shape = Shape(tuple(self._groups), items)
        return Asked(shape, {name: self._values.nodes[name] for name in shape.names}, finish)

    def _type(self, name: str) -> DataType:
        kind = self._values.type(name)
        assert kind is not None
        return kind

    def _item(self, node: exp.Expr) -> Item[Aggregate] | Refusal | None:
        """What a selected item or a part of it is by itself; None if it is neither a group's value nor an aggregate."""
        name = self._values.name(node)
        if name is not None and name in self._groups:
            return Item(name)
        if not isinstance(node, exp.AggFunc):
            return None
        function, text = BY_NAME.get(type(node).sql_name().lower()), shown(node)
        if function is None:
            *most, last = (name.upper() for name in BY_NAME)
            return Refusal(f"{text} is not {', '.join(most)} or {last}")
        inner, counts = node.this, isinstance(node, exp.Count)
        if counts and isinstance(inner, (exp.Star, exp.Literal)):
            return self._known(Item("", Aggregate("count", None)), DataType("BIGINT"))
        if isinstance(inner, exp.Distinct):
            if not counts or len(inner.expressions) != 1:
                return Refusal(f"{text} is of distinct values")
            inner, function = inner.expressions[0], DISTINCT
        name = self._values.name(inner)
        kind = self._values.type(name) if name is not None else None
        if name is None or kind is None:
            return Refusal(f"{text} is not an aggregate of a value of a row")
        result = function.result(kind)
        if result is None:
            return Refusal(f"{text} is of {kind}")
        return self._known(Item("", Aggregate(function.name, name)), result)

    def _known(self, item: Item[Aggregate], kind: DataType) -> Item[Aggregate]:
        self._kinds.setdefault(item, kind)
        return item

    def _over_groups(self, node: exp.Expr) -> exp.Expr | Refusal:
        """An expression over what is held."""
        item = self._item(node)
        if isinstance(item, Refusal):
            return item
        if item is not None:
            return _held(str(list(self._kinds).index(item)), self._kinds[item])
        if isinstance(node, (exp.Column, exp.Filter, exp.Window, exp.Query)):
            return Refusal(f"{shown(node)} is neither a group's value nor an aggregate")
        copy = node.copy()
        for child in list(copy.iter_expressions()):
            changed = self._over_groups(child)
            if isinstance(changed, Refusal):
                return changed
            child.replace(changed)
        return copy


def _held(name: str, kind: DataType) -> exp.Column:
    column = exp.column(name, table=GROUPS, quoted=True)
    column.type = sqlglot_type(kind)
    return column
