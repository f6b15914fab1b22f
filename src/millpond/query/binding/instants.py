"""`NOW()` in a query that reads streams: a placeholder for the instant of evaluation (`query.instant`), filled in for each
evaluation. CURRENT_TIMESTAMP and its like are the wall clock, which a one-time query may ask."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from sqlglot import exp
from sqlglot.optimizer.scope import Scope

from millpond.catalog import StreamingTable
from millpond.duration import TimeUnit
from millpond.errors import UnsupportedSql
from millpond.query.binding.texts import TextChanges
from millpond.query.binding.uses import Use, uses_by_alias
from millpond.query.instant import OWN_INSTANT, placeholder
from millpond.sql.dialect import span_of

_COMPARISONS = (exp.EQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE, exp.NullSafeEQ, exp.NullSafeNEQ)


def rewrite_now(scopes: list[Scope], uses: dict[str, Use], changes: TextChanges, sql: str, *, each_row: bool) -> None:
    """Of a query that reads streams NOW() is the instant it is evaluated at. Time is data there; the wall clock plays no part."""
    tables = [u.table for u in uses.values() if isinstance(u.table, StreamingTable) and not u.rejected]
    if not tables:
        return
    whole = tables[0].unit is TimeUnit.SECOND
    for scope in scopes:
        for node in list(scope.find_all(exp.Anonymous)):
            if node.name.upper() != "NOW" or node.expressions:
                continue
            if len({table.unit for table in tables}) > 1:
                raise UnsupportedSql(
                    "NOW() is of streams whose times cannot be compared",
                    detail="One is in whole seconds, another a TIMESTAMP.",
                    sql=sql,
                    span=span_of(node),
                )
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
