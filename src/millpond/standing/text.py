"""From the text of a standing query to a bound one: read, given its windows, names resolved."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from sqlglot import exp

from millpond.catalog import Catalog, ContinuousQuery, StandardTable, StreamingTable
from millpond.duration import TimeUnit, describe
from millpond.errors import CatalogError, SqlError, SqlSyntaxError, UnsupportedSql
from millpond.event_time import to_event_time
from millpond.query.binding.bind import bind
from millpond.query.binding.uses import Bound, Use
from millpond.query.instant import written_moment
from millpond.query.system_names import SystemTable
from millpond.schema import SEQ
from millpond.sql.dialect import WINDOW
from millpond.sql.statements import Standing
from millpond.standing.definition import StandingQuery
from millpond.windows.span import SpanWindow

Reads = tuple[tuple[str, str], ...]


def bound_query(
    body: Standing,
    catalog: Catalog,
    sql: str,
    system: Mapping[str, SystemTable],
    check: Callable[[], None] = lambda: None,
) -> Bound:
    """A standing query with its names resolved; raises if it has no meaning."""
    tree = with_windows(body.query, body.window, catalog)
    bound = bind(tree, catalog, sql, system=system, spark_decides=True, check=check)
    streams = [use for use in bound.uses.values() if isinstance(use.table, StreamingTable)]
    if body.window is not None and not any(use.window == body.window for use in streams):
        raise SqlError(
            "BEGIN and END are of no stream",
            detail="Every streaming table in the query has a window of its own."
            if streams
            else "It reads no streaming table.",
            hint="Leave them out.",
            sql=sql,
        )
    for use in streams:
        _check_window(use, catalog, sql)
    return bound


def with_windows(query: exp.Expr, window: SpanWindow | None, catalog: Catalog) -> exp.Expr:
    """A copy in which every stream without a window of its own has this one."""
    tree = query.copy()
    if window is None:
        return tree
    ctes = {cte.alias_or_name.lower() for cte in tree.find_all(exp.CTE)}
    for table in tree.find_all(exp.Table):
        known = table.name.lower() not in ctes and not table.db and isinstance(table.this, exp.Identifier)
        if known and WINDOW not in table.meta and isinstance(catalog.relation(table.name), StreamingTable):
            table.meta[WINDOW] = window
    return tree


def matching_rows(query: exp.Expr, table: StreamingTable, low: int | None, most: int) -> exp.Select:
    """For a SELECT from one table: all columns and the numbers of the rows, from a time on, that fulfil its WHERE."""
    assert isinstance(query, exp.Select)
    source, where = query.args["from_"].copy(), query.args.get("where")
    time = exp.column(
        exp.to_identifier(table.time_column, quoted=True), table=exp.to_identifier(source.this.alias_or_name)
    )
    source.this.meta.pop(WINDOW, None)
    names = [*table.columns.names, SEQ]
    found = exp.Select(expressions=[exp.column(exp.to_identifier(name, quoted=True)) for name in names], from_=source)
    found = found.where(where.this.copy()) if where is not None else found
    if low is not None:
        bound: exp.Expr = exp.Literal.number(low)
        if table.unit is not TimeUnit.SECOND:
            bound = exp.cast(exp.Literal.string(written_moment(low)), "TIMESTAMP", dialect="spark")
        found = found.where(exp.GTE(this=time, expression=bound))
    return found.limit(most)


def _check_window(use: Use, catalog: Catalog, sql: str) -> None:
    table, window = use.table, use.window
    assert isinstance(table, StreamingTable)
    if window is None:
        return
    if isinstance(window, SpanWindow):
        first, last = window.opening, window.closing
        times = [to_event_time(end.time, table) for end in (first, last) if end is not None and end.time is not None]
        if times != sorted(times):
            raise SqlSyntaxError(
                f"the window ends before it begins: BEGIN {first} END {last}", hint="Exchange the two.", sql=sql
            )
        for end in (first, last):
            if end is not None and end.back is not None:
                table.unit.count(end.back)
    length = window.length
    if length is not None and table.history is not None and length > table.history:
        raise UnsupportedSql(
            f'the window of "{use.alias}" is longer than "{table.name}" keeps its rows',
            detail=f"They are kept for {describe(table.history)}, and the window begins {describe(length)} before NOW.",
            hint=f"Keep them longer: ALTER {catalog.kind(table.name).upper()} {table.name} SET RANGE INTERVAL ...; "
            "or begin later.",
            sql=sql,
        )


def reads_of(bound: Bound) -> Reads:
    """The relations that a query reads, with their folders."""
    found = {}
    for use in bound.uses.values():
        if isinstance(use.table, StreamingTable | StandardTable):
            found[use.table.name.lower()] = use.table.folder
    return tuple(sorted(found.items()))


def check_still_there(query: StandingQuery, catalog: Catalog) -> None:
    """Raise if a relation that a query reads is gone, or another has its name now."""
    gone = first_gone(query, catalog)
    if gone is not None:
        name, told = gone
        raise CatalogError(
            f'standing query {query.shown} reads table "{name}", which is gone',
            detail=told,
            hint="Drop the standing query, and register it anew.",
        )


def first_gone(query: StandingQuery, catalog: Catalog) -> tuple[str, str] | None:
    """The first relation that a query reads and that is gone, and what became of it; None if all are there."""
    for name, folder in query.reads:
        relation: object = catalog.queries.get(name) or catalog.relation(name)
        if isinstance(relation, StreamingTable | StandardTable | ContinuousQuery) and relation.folder == folder:
            continue
        tables: list[StreamingTable | StandardTable] = [*catalog.streaming.values(), *catalog.standard.values()]
        renamed = [t.name for t in tables if t.folder == folder]
        if renamed:
            return name, f'It is called "{renamed[0]}" now.'
        return name, "It was dropped." if relation is None else "It was dropped, and another of that name was made."
    return None
