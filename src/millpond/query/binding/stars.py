"""`*`: which columns it shows.

A window shows the explicit columns: `*` over it leaves out the time column, which can still be named.
The row number `_seq` is never shown, and a column like others where it is named.
"""

from __future__ import annotations

from collections.abc import Mapping

from sqlglot import exp
from sqlglot.optimizer.scope import Scope, traverse_scope

from millpond.catalog import StreamingTable
from millpond.query.binding.uses import Use, uses_by_alias


def expand_window_stars(scope: Scope, uses: Mapping[str, Use]) -> None:
    select = scope.expression
    by_alias = uses_by_alias(scope, uses)
    windowed = {a: u for a, u in by_alias.items() if u.window is not None}
    if not windowed or not isinstance(select, exp.Select):
        return
    if any(j.args.get("using") or j.args.get("method") for j in select.args.get("joins") or ()):
        return
    expressions: list[exp.Expr] = []
    for item in select.expressions:
        if isinstance(item, exp.Star) and not item.args.get("except_") and not item.args.get("except"):
            for alias in scope.sources:
                expressions += _star(alias, windowed.get(alias.lower()))
        elif isinstance(item, exp.Column) and isinstance(item.this, exp.Star):
            expressions += _star(item.table, windowed.get(item.table.lower()))
        else:
            expressions.append(item)
    select.set("expressions", expressions)


def _star(alias: str, use: Use | None) -> list[exp.Expr]:
    if use is None:
        return [exp.Column(this=exp.Star(), table=exp.to_identifier(alias))]
    assert isinstance(use.table, StreamingTable)
    return [exp.column(c.name, table=alias) for c in use.table.explicit]


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
