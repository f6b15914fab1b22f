"""How large a statement may be, where its cost is in the tree and no list of plain literals (see `literals`).

Binding, planning and translating take about half a millisecond for each column and one and a half for each SELECT, so the
largest statements allowed here take one to two seconds, and anything larger is refused as soon as it is read.
"""

from __future__ import annotations

from sqlglot import exp

from millpond.errors import Span, UnsupportedSql
from millpond.sql.dialect import span_of

MOST_COLUMNS = 4096
MOST_SELECTS = 1000


def check_columns(count: int, of: str, sql: str, span: Span) -> None:
    """Refuse more columns than a table or SELECT may have."""
    if count > MOST_COLUMNS:
        raise UnsupportedSql(
            f"{of} of {count:,} columns is too wide",
            detail=f"The most is {MOST_COLUMNS:,} columns.",
            hint="Put values of the same kind into rows, with a column that names them.",
            sql=sql,
            span=Span(span.start, min(span.end, span.start + 80)),
        )


class Sizes:
    """Counts while a tree is walked: call `see` for each node."""

    def __init__(self, sql: str, place: Span) -> None:
        self._sql = sql
        self._place = place
        self._selects = 0

    def see(self, node: exp.Expr) -> None:
        if not isinstance(node, exp.Select):
            return
        check_columns(len(node.expressions), "a SELECT", self._sql, span_of(node.expressions[0]) or self._place)
        self._selects += 1
        if self._selects > MOST_SELECTS:
            raise UnsupportedSql(
                f"a statement has more than {MOST_SELECTS:,} SELECTs",
                hint="Insert the rows into a standard table, or write them as VALUES.",
                sql=self._sql,
                span=Span(self._place.start, min(self._place.end, self._place.start + 80)),
            )
