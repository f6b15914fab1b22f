"""From the text of a query to what it asks of groups (`aggregates.shape`), where these need not be held as rows."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Generic

from sqlglot import exp

from millpond.network.aggregates.shape import Item, M, Shape
from millpond.network.plan.clauses import Refusal, group_keys, only
from millpond.network.plan.prepared import Prepared
from millpond.query.instant import names_instant
from millpond.schema import DataType
from millpond.sql.translate import NotOnDuckDB, types_on_duckdb
from millpond.windows.base import Window

_NOT_OF_A_ROW = (exp.AggFunc, exp.Query, exp.Window, exp.Explode, exp.Star)


@dataclass(frozen=True)
class Grouping(Generic[M]):
    """A shape, and the expression that each name of a value stands for."""

    shape: Shape[M]
    values: Mapping[str, exp.Expr]


class Values:
    """The values of a row that a query names, and their types."""

    def __init__(self, prepared: Prepared, tree: exp.Select) -> None:
        self.nodes: dict[str, exp.Expr] = {}
        self._prepared = prepared
        self._tree = tree

    def name(self, node: exp.Expr) -> str | None:
        """The name of a value; None if it is not one of a row."""
        if node.find(*_NOT_OF_A_ROW) is not None or not any(node.find_all(exp.Column)):
            return None
        if any(f.kind != "scalar" for f in self._prepared.bound.functions.values()):
            return None
        name = node.name if isinstance(node, exp.Column) else f"_{node.sql(dialect='spark')}"
        self.nodes.setdefault(name, node)
        return name

    def type(self, name: str) -> DataType | None:
        """None if DuckDB cannot compute it as Spark would."""
        node = self.nodes[name]
        columns = self._prepared.streams[0].columns
        if isinstance(node, exp.Column):
            return columns.find(name, "it").type if name in columns else None
        rows = ungrouped(self._tree, {name: node})
        try:
            return types_on_duckdb(rows, self._prepared.bound.functions)[0]
        except NotOnDuckDB:
            return None


def ungrouped(tree: exp.Select, nodes: Mapping[str, exp.Expr]) -> exp.Select:
    """The rows whose groups are asked for: their values, by their names, under the same conditions."""
    copy = tree.copy()
    copy.set("group", None)
    copy.set("expressions", [exp.alias_(node.copy(), name, quoted=True) for name, node in nodes.items()])
    return copy


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
    values = Values(prepared, tree)
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


def shown(node: exp.Expr) -> str:
    """An expression as the user wrote it, as far as that is known."""
    plain = node.copy().transform(lambda n: exp.column(n.name) if isinstance(n, exp.Column) else n)
    return plain.sql(dialect="spark")


def by_time(window: Window | None) -> bool:
    """Whether a window holds all rows from some time on, which moves, up to the instant."""
    return window is not None and not (window.grows or window.now or window.before) and window.rows is None
