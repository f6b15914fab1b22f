"""Mistakes about aggregates and set operations that no engine takes: told here, at their place, without asking one.

Only what is sure: an aggregate is one of the five that everybody knows, a value beside it a column by itself. What is less plain
is left to the engine that answers.
"""

from __future__ import annotations

from collections.abc import Iterator

from sqlglot import exp
from sqlglot.optimizer.scope import Scope

from millpond.errors import SqlSyntaxError
from millpond.sql.dialect import span_of

_AGGREGATES = (exp.Count, exp.Sum, exp.Avg, exp.Min, exp.Max)


def check_aggregates(scope: Scope, sql: str) -> None:
    """`scope` is resolved: each column names its table."""
    query = scope.expression
    if isinstance(query, exp.SetOperation):
        _check_sides(query, sql)
    if isinstance(query, exp.Select) and not scope.external_columns:
        _check_where(query, sql)
        _check_columns(query, sql)


def _check_sides(query: exp.SetOperation, sql: str) -> None:
    left, right = query.left.selects, query.right.selects
    if query.args.get("by_name") or any(s.is_star for s in (*left, *right)) or len(left) == len(right):
        return
    raise SqlSyntaxError(
        f"the sides of {query.key.upper()} have {len(left)} and {len(right)} columns",
        hint="Select as many on both sides.",
        sql=sql,
        span=span_of(right[min(len(left), len(right) - 1)]),
    )


def _check_where(query: exp.Select, sql: str) -> None:
    where = query.args.get("where")
    for aggregate in _aggregates(where.this) if where is not None else ():
        raise SqlSyntaxError(
            f"{aggregate.key.upper()} cannot stand in WHERE, which looks at one row at a time",
            hint="Write it in HAVING, behind GROUP BY.",
            sql=sql,
            span=span_of(aggregate),
        )


def _check_columns(query: exp.Select, sql: str) -> None:
    group = query.args.get("group")
    if group is None:
        if not any(True for e in query.expressions for _ in _aggregates(e)):
            return
        keys = []
    else:
        keys = group.expressions
        plain = bool(keys) and not any(v for k, v in group.args.items() if k != "expressions")
        if not plain or query.args.get("joins") or query.args.get("laterals"):
            return
    if not all(isinstance(key, exp.Column) for key in keys):
        return
    known = {(key.table, key.name) for key in keys}
    for item in query.expressions:
        column = item.unalias()
        if isinstance(column, exp.Column) and column.table and (column.table, column.name) not in known:
            raise SqlSyntaxError(
                f'column "{column.name}" must stand in GROUP BY or in an aggregate',
                detail="Each row of the result is about several rows, in which it may have several values.",
                hint=f"Write GROUP BY {', '.join(dict.fromkeys([*(key.name for key in keys), column.name]))}, "
                f"or ANY_VALUE({column.name}).",
                sql=sql,
                span=span_of(column),
            )


def _aggregates(node: exp.Expr) -> Iterator[exp.Expr]:
    """Those of this query itself: not of its subqueries, and not functions OVER windows."""
    for found in node.walk(prune=lambda n: isinstance(n, exp.Query | exp.Window)):
        if isinstance(found, _AGGREGATES):
            yield found
