"""Calls that are aggregates of aggregates: correlated aggregates and norms, said exactly in SQL that both engines know.

`make_exact` leaves the query as it was written behind, with a mark on each call (`correlated_of`, `norm_of`): whoever can answer
with a synopsis finds there what is asked.
"""

from __future__ import annotations

from collections.abc import Callable, Container
from functools import partial

from sqlglot import exp

from millpond.errors import UnsupportedSql
from millpond.query import correlated, norms
from millpond.query.correlated import Correlated, is_correlated
from millpond.query.grouped_rows import GroupedRows
from millpond.query.norms import Norm, is_norm
from millpond.sql.dialect import span_of

_META = "millpond_asked"
_AROUND = (exp.AggFunc, exp.Where, exp.Group, exp.Join, exp.From, exp.Select)


def correlated_of(node: exp.Expr) -> Correlated | None:
    """The mark of a node of a query as it was written."""
    mark = node.meta.get(_META)
    return mark if isinstance(mark, Correlated) else None


def norm_of(node: exp.Expr) -> Norm | None:
    mark = node.meta.get(_META)
    return mark if isinstance(mark, Norm) else None


def make_exact(tree: exp.Query, own: Container[str], sql: str) -> exp.Query | None:
    """Replace the calls in a qualified tree whose columns have types. The query as it was, with marks on its calls, or None if
    it has none. `own` are names of the user's functions, which go before."""
    calls = [c for c in tree.find_all(exp.Anonymous) if _is_asked(c) and c.name.lower() not in own]
    said: dict[int, tuple[exp.Select, list[tuple[exp.Expr, Callable[[GroupedRows], exp.Expr]]]]] = {}
    for call in calls:
        _check_place(call, sql)
        mark = norms.read(call, sql) if is_norm(call) else correlated.read(call, sql)
        call.meta[_META] = mark
        select = call.parent_select
        assert isinstance(select, exp.Select)
        exactly = partial(norms.exact, mark) if isinstance(mark, Norm) else partial(correlated.exact, mark)
        said.setdefault(id(select), (select, []))[1].append((call, exactly))
    written = tree.copy() if calls else None
    for select, theirs in said.values():
        GroupedRows(select, sql).put(theirs)
    return written


def _is_asked(node: exp.Expr) -> bool:
    return is_correlated(node) or is_norm(node)


def _check_place(call: exp.Anonymous, sql: str) -> None:
    name = call.name.upper()
    if isinstance(call.parent, (exp.Filter, exp.Window, exp.WithinGroup)):
        clause = "FILTER" if isinstance(call.parent, exp.Filter) else "OVER"
        hint = "Choose rows in WHERE, before they are aggregated." if clause == "FILTER" else None
        raise UnsupportedSql(f"{name} with {clause} is not supported", hint=hint, sql=sql, span=span_of(call))
    around = call.parent
    while around is not None and not isinstance(around, _AROUND) and not _is_asked(around):
        around = around.parent
    if not isinstance(around, exp.Select):
        raise UnsupportedSql(
            f"{name} is an aggregate, and cannot stand here",
            hint="It stands in SELECT, HAVING or ORDER BY, and not in another aggregate.",
            sql=sql,
            span=span_of(call),
        )
