"""Clauses that sqlglot would read otherwise than Spark: positions in ORDER BY and GROUP BY, and chains of JOIN ... USING."""

from __future__ import annotations

from sqlglot import exp
from sqlglot.optimizer.scope import Scope

from millpond.errors import SqlSyntaxError, UnsupportedSql
from millpond.sql.dialect import span_of
from millpond.sql.rules.terms import leave_to_spark


def check_clauses(scope: Scope, sql: str) -> None:
    query = scope.expression
    for key, clause in (("order", "ORDER BY"), ("group", "GROUP BY")):
        found = query.args.get(key)
        for item in found.expressions if found is not None else ():
            place = item.this if isinstance(item, exp.Ordered) else item
            if isinstance(place, exp.Literal) and not place.is_string and place.name.isdigit():
                _check_position(query, place, clause, sql)
    if isinstance(query, exp.Select):
        _check_joins(query)


def _check_position(query: exp.Expr, place: exp.Literal, clause: str, sql: str) -> None:
    outputs = query.selects if isinstance(query, exp.Query) else []
    most = None if any(output.is_star for output in outputs) else len(outputs)
    if int(place.name) < 1 or (most is not None and int(place.name) > most):
        raise SqlSyntaxError(
            f"{clause} position {place.name} is not in the SELECT list",
            detail="Positions begin with 1." if most is None else f"It has positions 1 to {most}.",
            sql=sql,
            span=span_of(place),
        )


def check_natural(scope: Scope, sql: str) -> None:
    """Spark does not know this, and says so with an error of its own."""
    for join in scope.expression.args.get("joins") or ():
        if join.method.upper() == "NATURAL" and join.kind.upper() in ("SEMI", "ANTI"):
            raise UnsupportedSql(
                f"NATURAL {join.kind.upper()} JOIN is not supported", hint="Write the columns: SEMI JOIN ... USING (...).",
                sql=sql, span=span_of(join.this),
            )  # fmt: skip


def _check_joins(select: exp.Select) -> None:
    """Behind a RIGHT or FULL JOIN the merged column is not the first table's, and behind a semi or anti join there are no columns
    of its right side; sqlglot takes these for the next USING."""
    merged = False
    for join in select.args.get("joins") or ():
        if merged and (join.args.get("using") or join.method.upper() == "NATURAL"):
            leave_to_spark(select, "USING behind a right, full, semi or anti join is only supported on Spark")
        merged = merged or join.side.upper() in ("RIGHT", "FULL") or join.kind.upper() in ("SEMI", "ANTI")
