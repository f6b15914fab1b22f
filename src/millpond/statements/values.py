"""What an INSERT or CREATE TABLE AS takes rows from, and which columns it fills."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlglot import exp

from millpond.catalog import StandardTable, StreamingTable

if TYPE_CHECKING:
    pass


def givable(target: StreamingTable | StandardTable) -> list[str]:
    if isinstance(target, StreamingTable) and target.implicit_time:
        return target.explicit.names
    return target.columns.names


def as_query(node: exp.Expr) -> exp.Expr:
    """VALUES as a SELECT; everything else as it is."""
    if isinstance(node, exp.Values):
        values = node.copy()
        if not values.args.get("alias"):
            values.set("alias", exp.TableAlias(this=exp.to_identifier("v")))
        return exp.select("*").from_(values)
    if isinstance(node, exp.Subquery) and not node.args.get("alias"):
        inner: exp.Expr = node.this
        return inner
    return node
