"""`*`: which columns it shows.

A window shows the explicit columns: `*` over it leaves out the time column, which can still be named.
The row number `_seq` is never shown, and a column like others where it is named.
"""

from __future__ import annotations

from collections.abc import Mapping

from sqlglot import exp
from sqlglot.optimizer.scope import Scope, traverse_scope

from millpond.catalog import StreamingTable
from millpond.errors import Span, UnsupportedSql
from millpond.query.binding.texts import TextChanges
from millpond.query.binding.uses import Use, uses_by_alias
from millpond.sql.dialect import span_of


def expand_stars(scope: Scope, uses: Mapping[str, Use], hidden: bool, changes: TextChanges) -> None:
    """Write the columns of `*` where it must not show all that a relation has: the time column of a window; and `_seq` and
    PREV, in a query that names such `hidden` columns."""
    select = scope.expression
    by_alias = uses_by_alias(scope, uses)
    windowed = {a: u for a, u in by_alias.items() if u.window is not None or hidden}
    if not windowed or not isinstance(select, exp.Select):
        return
    if any(j.args.get("using") or j.args.get("method") for j in select.args.get("joins") or ()):
        if select.is_star:
            changes.lost()
        return
    expressions: list[exp.Expr] = []
    for item in select.expressions:
        if isinstance(item, exp.Star) and not item.args.get("except_") and not item.args.get("except"):
            columns = [each for alias in scope.sources for each in _star(alias, windowed.get(alias.lower()))]
            changes.star(item, columns)
            expressions += columns
        elif isinstance(item, exp.Column) and isinstance(item.this, exp.Star):
            columns = _star(item.table, windowed.get(item.table.lower()))
            changes.star(item, columns)
            expressions += columns
        else:
            expressions.append(item)
    select.set("expressions", expressions)


def _star(alias: str, use: Use | None) -> list[exp.Expr]:
    if use is None:
        return [exp.Column(this=exp.Star(), table=exp.to_identifier(alias))]
    shown = use.table.explicit if use.window is not None and isinstance(use.table, StreamingTable) else use.columns
    return [exp.column(c.name, table=alias) for c in shown]


def check_stars(tree: exp.Expr, sql: str) -> None:
    """In a query that names hidden columns, `*` may stand only where its columns can be written instead."""
    for star in tree.find_all(exp.Star):
        if isinstance(star.parent, (exp.Func, exp.Distinct)) and not isinstance(star.parent, exp.Count):
            raise _hidden_beside("* in a call", sql, span_of(star))
    for join in tree.find_all(exp.Join):
        if join.method.upper() == "NATURAL":
            raise _hidden_beside("NATURAL JOIN", sql, span_of(join))


def _hidden_beside(what: str, sql: str, span: Span | None) -> UnsupportedSql:
    return UnsupportedSql(
        f"{what} is not supported in a query that names _seq or PREV",
        detail="These columns are hidden: * does not show them.",
        hint="Write the columns that you mean.",
        sql=sql,
        span=span,
    )


def with_row_numbers(tree: exp.Expr) -> list[Scope]:
    """The scopes of a qualified tree. `qualify` keeps `_seq` out of `*` and leaves it alone where it is named: it becomes
    a column like others again."""
    for scope in traverse_scope(tree):
        for node in list(scope.find_all(exp.Pseudocolumn)):
            table = node.args.get("table")
            if table is None and len(scope.sources) == 1:
                table = exp.to_identifier(next(iter(scope.sources)), quoted=True)
            node.replace(exp.Column(this=node.this, table=table))
    return traverse_scope(tree)
