"""What an INSERT or CREATE TABLE AS takes rows from, and which columns it fills."""

from __future__ import annotations

from sqlglot import exp

from millpond.catalog import StandardTable, StreamingTable
from millpond.errors import SqlError, counted
from millpond.sql import statements as st


def givable(target: StreamingTable | StandardTable) -> list[str]:
    if isinstance(target, StreamingTable) and target.implicit_time:
        return target.explicit.names
    return target.columns.names


def wanted_columns(target: StreamingTable | StandardTable, statement: st.Insert) -> list[str]:
    """The columns that an INSERT gives values for."""
    return [target.columns.find(c, target.name).name for c in statement.columns] or givable(target)


def check_number(offered: int, wanted: list[str], target: StreamingTable | StandardTable, statement: st.Insert) -> None:
    """Refuse an INSERT that offers more or fewer values than it names columns."""
    if offered != len(wanted):
        raise SqlError(
            f"{counted(offered, 'value is', 'values are')} offered for "
            f'{counted(len(wanted), "column")} of "{target.name}"',
            detail=f"The columns are: {', '.join(wanted)}.",
            sql=statement.sql,
            span=statement.span,
        )


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
