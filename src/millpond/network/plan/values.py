"""The values of a row that a query names: columns, and what is computed from them."""

from __future__ import annotations

from collections.abc import Mapping

from sqlglot import exp

from millpond.catalog import Function
from millpond.schema import DataType, Schema
from millpond.sql.translate import NotOnDuckDB, types_on_duckdb

_NOT_OF_A_ROW = (exp.AggFunc, exp.Query, exp.Window, exp.Explode, exp.Star)


class Values:
    """The values of a row that a query names, and their types."""

    def __init__(self, tree: exp.Select, columns: Schema, functions: Mapping[str, Function]) -> None:
        """Of a query over a stream with these columns, and the user's functions that it calls."""
        self.nodes: dict[str, exp.Expr] = {}
        self._tree = tree
        self._columns = columns
        self._functions = functions

    def name(self, node: exp.Expr) -> str | None:
        """The name of a value; None if it is not one of a row."""
        if node.find(*_NOT_OF_A_ROW) is not None or not any(node.find_all(exp.Column)):
            return None
        if any(f.kind != "scalar" for f in self._functions.values()):
            return None
        name = node.name if isinstance(node, exp.Column) else f"_{node.sql(dialect='spark')}"
        self.nodes.setdefault(name, node)
        return name

    def type(self, name: str) -> DataType | None:
        """None if DuckDB cannot compute it as Spark would."""
        node = self.nodes[name]
        if isinstance(node, exp.Column):
            return self._columns.find(name, "it").type if name in self._columns else None
        rows = ungrouped(self._tree, {name: node})
        try:
            return types_on_duckdb(rows, self._functions)[0]
        except NotOnDuckDB:
            return None


def ungrouped(tree: exp.Select, nodes: Mapping[str, exp.Expr]) -> exp.Select:
    """The rows whose groups are asked for: their values, by their names, under the same conditions."""
    copy = tree.copy()
    copy.set("group", None)
    copy.set("having", None)
    copy.set("expressions", [exp.alias_(node.copy(), name, quoted=True) for name, node in nodes.items()])
    return copy


def shown(node: exp.Expr) -> str:
    """An expression as the user wrote it, as far as that is known."""
    plain = node.copy().transform(lambda n: exp.column(n.name) if isinstance(n, exp.Column) else n)
    return plain.sql(dialect="spark")
