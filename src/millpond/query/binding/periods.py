"""`VALID(s) OVERLAPS PERIOD(a, b)`: becomes a condition on the time column, which engines know and bounds can use."""

from __future__ import annotations

from collections.abc import Mapping

from sqlglot import exp
from sqlglot.optimizer.scope import Scope

from millpond.errors import UnknownName, UnsupportedSql
from millpond.query.binding.texts import TextChanges
from millpond.query.binding.uses import Use, uses_by_alias
from millpond.sql.dialect import span_of


def rewrite_periods(scope: Scope, uses: Mapping[str, Use], sql: str, changes: TextChanges) -> None:
    """A row is valid at its time; it overlaps the half-open period [a, b) if a <= time < b, as in SQL:2011."""
    by_alias = uses_by_alias(scope, uses)
    for node in list(scope.find_all(exp.Overlaps)):
        valid, period = node.this, node.expression
        if not (_is_call(valid, "VALID", 1) and _is_call(period, "PERIOD", 2)):
            raise UnsupportedSql(
                "OVERLAPS is written VALID(<table>) OVERLAPS PERIOD(<from>, <to>)", sql=sql, span=span_of(node)
            )
        name = valid.expressions[0].name
        use = by_alias.get(name.lower())
        if use is None:
            place = span_of(valid.expressions[0]) or span_of(valid)
            raise UnknownName("table", name, by_alias, where=" in this FROM", sql=sql, span=place)
        if use.time_column is None:
            raise UnsupportedSql(f'"{name}" has no time column', sql=sql, span=span_of(valid))
        column = exp.column(use.time_column, table=name)
        low, high = period.expressions
        if use.columns.find(use.time_column, name).type.name == "TIMESTAMP":
            low, high = (exp.cast(e, "timestamp") if e.is_string else e for e in (low, high))
        within = exp.paren(exp.and_(exp.GTE(this=column, expression=low), exp.LT(this=column.copy(), expression=high)))
        changes.between(valid, period, within.sql("spark", identify=True))
        node.replace(within)


def _is_call(node: exp.Expr, name: str, arguments: int) -> bool:
    return isinstance(node, exp.Anonymous) and node.name.upper() == name and len(node.expressions) == arguments
