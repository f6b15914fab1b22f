"""Hybrid queries: which continuous queries read history at their instants, and what of it may be left out.

A query is hybrid if a window of it is read from history (BEGIN and END), or if it says OVERLOAD. Then all of its streams are read
from their tables at each instant, as a one-time query AS OF that instant reads them. What does not go with that is refused at
CREATE. With OVERLOAD the results have columns that say what was read: see `declared`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sqlglot import exp

from millpond.catalog import Catalog, ContinuousQuery
from millpond.errors import UnsupportedSql
from millpond.query.binding.uses import Bound, Use
from millpond.query.reduced_shape import Shape, read_shape
from millpond.schema import Column, DataType

READ = "read_fraction"
"""The column that says which part of the rows a result was made from."""


@dataclass(frozen=True)
class Hybrid:
    """How a query reads history. `thinned` are the uses of which rows may be left out; `shape` has the aggregates that are
    estimated then, None where the rows themselves are the answer. Without OVERLOAD nothing is ever left out."""

    thinned: frozenset[str] = frozenset()
    shape: Shape | None = None


def hybrid(
    query: ContinuousQuery, bound: Bound, streams: Sequence[Use], refusal: str | None, catalog: Catalog, sql: str
) -> Hybrid | None:
    """How a query reads history, if it does; `refusal` is why DuckDB cannot answer it. Raises where it cannot."""
    past = next((use for use in streams if use.window is not None and use.window.from_history), None)
    if query.overload is None and past is None:
        return None
    why = "OVERLOAD" if past is None else f"the window {past.window}"
    _check(query, streams, refusal, catalog, why, sql)
    if query.overload is None:
        return Hybrid()
    if query.stream_operator != "rstream":
        raise UnsupportedSql(
            f"OVERLOAD does not go with {query.stream_operator.upper()}",
            detail="Two results that were made from parts of the rows differ although nothing has changed.",
            hint="Let the query send its whole result: SELECT RSTREAM ...",
            sql=sql,
        )
    try:
        shape = read_shape(bound, sql)
    except UnsupportedSql as error:
        raise UnsupportedSql(
            error.primary,
            detail=error.detail,
            hint="Leave OVERLOAD out: then all rows are read.",
            sql=sql,
            span=error.span,
        ) from error
    return Hybrid(frozenset({shape.use.name} if shape is not None else _thinned(bound, streams, sql)), shape)


def _check(
    query: ContinuousQuery, streams: Sequence[Use], refusal: str | None, catalog: Catalog, why: str, sql: str
) -> None:
    detail = "Such a query reads its tables at each of its instants, and holds none of their rows."
    if query.gap is not None or query.slide is None:
        raise UnsupportedSql(
            f"{why} needs instants at fixed distances", detail=detail, hint="Write SAMPLE INTERVAL '1' MINUTE.", sql=sql
        )
    if refusal is not None:
        raise UnsupportedSql(
            f"{why} needs a query that DuckDB is proved to answer",
            detail=f"Spark is needed because: {refusal}.",
            sql=sql,
        )
    for use in streams:
        assert use.window is not None
        if use.table.name in catalog.queries:
            raise UnsupportedSql(
                f'{why} does not go with "{use.table.name}", which is a {catalog.kind(use.table.name)}',
                detail=f"{detail} The results of the instant are in no table yet.",
                hint="Read the streaming table behind it.",
                sql=sql,
            )
        if use.window.rows is not None or use.window.grows:
            raise UnsupportedSql(
                f'{why} does not go with the window of "{use.alias}", which is not by time',
                detail=detail,
                hint="Give it a window by time: [INTERVAL '1' HOUR], or [BEGIN NOW - INTERVAL ... END NOW - INTERVAL ...].",
                sql=sql,
            )


def _thinned(bound: Bound, streams: Sequence[Use], sql: str) -> set[str]:
    """The uses of which rows may be missing: the answer then has fewer rows, and no others."""
    tree = bound.tree
    if len(bound.uses) == 1 and isinstance(tree, exp.Select):
        return {use.name for use in streams}
    joins = tree.args.get("joins") or []
    inner = all(not join.side and join.kind in ("", "INNER", "CROSS") for join in joins)
    if not inner or len(list(tree.find_all(exp.Select))) != 1 or tree.find(exp.Limit):
        raise UnsupportedSql(
            "OVERLOAD needs a query to which rows that are left out are only rows fewer",
            detail="That is a SELECT of rows from inner joins, or of aggregates from one table.",
            hint="Leave OVERLOAD out: then all rows are read.",
            sql=sql,
        )
    found = {use.name for use in streams if use.window is not None and use.window.from_history}
    if not found:
        raise UnsupportedSql(
            "OVERLOAD needs a window from which rows may be left out",
            detail="In a join those are left out that are read with BEGIN and END, and none of the others.",
            hint="Write which part of history may be thinned: [BEGIN NOW - INTERVAL '1' DAY END NOW - INTERVAL '1' HOUR].",
            sql=sql,
        )
    return found


def estimated(shape: Shape | None) -> list[int]:
    """The places of the selected items that are estimated, and so have bounds behind them."""
    if shape is None:
        return []
    nodes = {id(aggregate.node) for aggregate in shape.aggregates}
    items = enumerate(shape.tree.expressions)
    return [place for place, item in items if id(item.this if isinstance(item, exp.Alias) else item) in nodes]


def declared(columns: Sequence[Column], found: Hybrid) -> list[Column]:
    """The columns of a result that says what was read: those selected, with bounds behind those that are estimated."""
    places = estimated(found.shape)
    result: list[Column] = []
    for place, column in enumerate(columns):
        result.append(column)
        if place in places:
            result += [Column(f"{column.name}_{end}", column.type) for end in ("low", "high")]
    return [*result, Column(READ, DataType("DOUBLE"))]
