"""What a continuous query may not depend on: chance and the wall clock.

Its results follow from the rows in its windows, so that a restart, a back-fill and another engine give the same ones. A user's
own functions are taken at their word.
"""

from __future__ import annotations

import re
from typing import Final

from sqlglot import exp

from millpond.catalog import Catalog
from millpond.errors import UnsupportedSql
from millpond.query.allowed import called
from millpond.sql.dialect import span_of
from millpond.sql.spark_functions import not_deterministic

_HINTS: Final = {
    "the wall clock": "NOW() is the instant of evaluation; it is of the type of the table's time.",
    "chance": "Let chance decide when rows are inserted, and keep what it gave in a column.",
}
# Spark takes these texts, perhaps with a time zone, for the time of day wherever it wants a time: `DATE 'today'`,
# `year('today')`, `t > 'yesterday'`.
_SPECIAL: Final = re.compile(
    r"\s*((?i:now|today|tomorrow|yesterday))\s*([A-Z]{0,4}|\w+/[\w/+-]+|(UTC|GMT|UT)?[+-][\d:]+)\s*"
)


def check_deterministic(tree: exp.Expr, catalog: Catalog, sql: str) -> None:
    """Refuse a query, as parsed, whose result does not follow from the rows it reads."""
    for node in tree.find_all(exp.Func, exp.TableSample):
        if isinstance(node, exp.TableSample):
            if node.args.get("size") is None:  # so many rows: a LIMIT
                raise _refusal("TABLESAMPLE", "chance", sql, node)
            continue
        assert isinstance(node, exp.Func)
        name = called(node)
        if name is None or name in catalog.functions:
            continue
        given = [each for each in node.args.values() if isinstance(each, exp.Expr)]
        given += [each for several in node.args.values() if isinstance(several, list) for each in several]
        mode = given[2].name if len(given) > 2 and isinstance(given[2], exp.Literal) else None
        reason = not_deterministic(name, len(given), mode)
        if reason is not None:
            raise _refusal(f'function "{name}"', reason, sql, node)


def check_special_times(tree: exp.Expr, sql: str) -> None:
    """Refuse a query for Spark, as parsed, with a word or a text that it may take for the time of day."""
    for node in tree.find_all(exp.Literal, exp.Column):
        if isinstance(node, exp.Column):  # `SELECT current_time`: a column, if there is one of that name, else a call
            if not node.table and node.name.lower() != "now" and not_deterministic(node.name.lower(), 0) is not None:
                raise _refusal(node.name.upper(), "the wall clock", sql, node)
        elif node.is_string and (found := _SPECIAL.fullmatch(node.name)):
            raise _refusal(f"'{found[1]}', as a time,", "the wall clock", sql, node)


def _refusal(what: str, reason: str, sql: str, node: exp.Expr) -> UnsupportedSql:
    return UnsupportedSql(
        f"{what} is not deterministic",
        detail=f"It depends on {reason}; the results of a continuous query follow from the rows in its windows.",
        hint=_HINTS[reason],
        sql=sql,
        span=span_of(node),
    )
