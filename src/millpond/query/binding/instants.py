"""`NOW()` over a window: a placeholder for the instant of evaluation (`query.instant`), filled in for each evaluation."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from sqlglot import exp
from sqlglot.optimizer.scope import Scope

from millpond.catalog import StreamingTable
from millpond.query.binding.texts import TextChanges
from millpond.query.binding.uses import Use, uses_by_alias
from millpond.query.instant import OWN_INSTANT, placeholder

_COMPARISONS = (exp.EQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE)


def rewrite_now(scopes: list[Scope], uses: dict[str, Use], changes: TextChanges, *, each_row: bool) -> None:
    """Over a window NOW() is the instant the query is evaluated at. Time is data there; the wall clock plays no part."""
    windowed = [u for u in uses.values() if u.window is not None]
    if not windowed:
        return
    table = windowed[0].table
    assert isinstance(table, StreamingTable)
    whole = table.columns.find(table.time_column, table.name).type.is_integer
    for scope in scopes:
        for node in list(scope.find_all(exp.CurrentTimestamp, exp.Anonymous)):
            if isinstance(node, exp.Anonymous) and (node.name.upper() != "NOW" or node.expressions):
                continue
            compared = _compared_with(node, scope, uses) if each_row else None
            if compared is not None:
                column, use = compared
                uses[use.name] = replace(use, own_instant=True)
                own = exp.column(exp.to_identifier(OWN_INSTANT, quoted=True), table=column.args["table"].copy())
                own.type = placeholder(whole).type
                changes.call(node, own.sql("spark", identify=True))
                node.replace(own)
            else:
                changes.instant(node, "BIGINT" if whole else "TIMESTAMP")
                node.replace(placeholder(whole))


def _compared_with(node: exp.Expr, scope: Scope, uses: Mapping[str, Use]) -> tuple[exp.Column, Use] | None:
    """The time of a row that NOW() is compared with, if it is, and of which relation."""
    while isinstance(node.parent, exp.Paren):
        node = node.parent
    comparison = node.parent
    if not isinstance(comparison, _COMPARISONS):
        return None
    other = (comparison.expression if comparison.this is node else comparison.this).unnest()
    around: Scope | None = scope
    while isinstance(other, exp.Column) and around is not None:
        use = uses_by_alias(around, uses).get(other.table.lower())
        if use is not None:
            return (other, use) if use.window is not None and other.name == use.time_column else None
        around = around.parent
    return None
