"""CREATE, ALTER, PAUSE, RESUME and DROP of continuous queries and streaming views; EXPLAIN of one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING

import pyarrow as pa

from millpond.catalog import INSTANT, Catalog, ContinuousQuery, Reduction, StreamingTable, folder_name
from millpond.duration import FOREVER
from millpond.errors import CatalogError, MillpondError, Span, SqlError, SqlSyntaxError, UnsupportedSql
from millpond.event_time import to_event_time
from millpond.network.plan.group_windows import Native, to_native
from millpond.network.plan.hybrid import declared
from millpond.network.plan.prepared import Prepared, prepare, prepare_tree, replace_window, resends, without_stars
from millpond.network.run.explain import explain_query
from millpond.query.binding.bind import bind
from millpond.result import Result, with_warning
from millpond.schema import Column, Schema
from millpond.sql import statements as st
from millpond.sql.dialect import read_tree, tokenize
from millpond.table.compartments import kept_since

if TYPE_CHECKING:
    from millpond.workspace.workspace import Workspace


def create(
    workspace: Workspace, statement: st.CreateQuery, owner: Callable[[ContinuousQuery], Reduction] | None = None
) -> Result:
    """`owner` makes the reduction whose windows the query keeps; the one is there if and only if the other is."""
    workspace.own()
    known: tuple[Catalog, list[Column]] | None = None
    while True:
        with workspace.work:
            catalog = workspace.catalog
            if statement.if_not_exists and catalog.relation(statement.name) is not None:
                return Result(message=f'"{statement.name}" exists already')
            query, prepared = defined(statement, catalog)
            if not prepared.on_spark or (known is not None and known[0] is catalog):
                columns = workspace.network.columns(prepared) if known is None else known[1]
                query = _with_columns(query, columns, prepared, statement)
                _make(workspace, query, owner)
                break
        known = catalog, workspace.network.columns(prepared)  # may start Spark: nobody else waits for that
    _begin(workspace, query)
    noun = "streaming view" if statement.view else "continuous query"
    where = "; it is evaluated on Spark, EXPLAIN tells why" if prepared.on_spark else ""
    warnings = [resends(prepared) if statement.body.is_default else None, _gone(workspace, prepared, query.start)]
    warning = "; ".join(each for each in warnings if each) or None
    return Result(message=with_warning(f'{noun} "{query.name}" created{where}', warning))


def _gone(workspace: Workspace, prepared: Prepared, start: int | None = None) -> str | None:
    """What to warn of when a query begins where its windows miss rows that retention has deleted: because it is told to `start`
    there, or because a stream that it reads is far behind another."""
    tables = {use.name: use.table for use in prepared.streams if isinstance(use.table, StreamingTable)}
    times = {name: _stands_at(workspace, table) for name, table in tables.items()}
    if start is None:
        start = min((time for time in times.values() if time is not None), default=None)
    for use in prepared.streams:
        table, now = tables[use.name], times[use.name]
        if start is None or now is None or use.window is None or table.history is None or table.history >= FOREVER:
            continue
        if table.name in workspace.catalog.streaming and workspace.stream(table.name).rows.snapshot().has_all:
            continue
        first, kept = use.window.start(table, start), kept_since(now, table.history, table.unit)
        if first is not None and first < kept:
            whole = table.shown(start + kept - first)
            left = f'"{table.name}" keeps its rows since {table.shown(kept)}'
            return f"it begins at {table.shown(start)}, and its results before {whole} are of what is left: {left}"
    return None


def _stands_at(workspace: Workspace, table: StreamingTable) -> int | None:
    if table.name in workspace.catalog.queries:
        return workspace.network.outlet(table.name).progress.frontier
    return workspace.stream(table.name).now


def defined(statement: st.CreateQuery, catalog: Catalog) -> tuple[ContinuousQuery, Prepared]:
    """The query that a statement defines, and what is known of it; its columns are not."""
    name = statement.name.lower()
    catalog.check_free(name)
    body, native = _native(statement, catalog)
    query = ContinuousQuery(
        name=name,
        sql=body.text,
        stream_operator=body.stream_operator,
        slide=body.slide,
        each_row=body.each_row,
        offset=native.offset,
        gap=native.gap,
        grouped=native.grouped,
        columns=Schema(()),
        folder=folder_name(name, catalog.made),
        reads=(),
        history=statement.history,
        view=statement.view,
        overload=statement.overload,
    )
    sql = body.text if native.text != statement.body.text else statement.sql
    prepared = prepare_tree(query, body.query, catalog, sql)
    if statement.start is not None:
        query = replace(query, start=to_event_time(statement.start, prepared.streams[0].table))  # type: ignore[arg-type]
    return replace(query, reads=_reads(prepared), sql=without_stars(body.text, catalog)), prepared


def _make(workspace: Workspace, query: ContinuousQuery, owner: Callable[[ContinuousQuery], Reduction] | None) -> None:
    """Make a query durable, if it can begin, together with the reduction that owns it."""
    catalog = workspace.catalog.with_query(query)
    workspace.change_catalog(catalog if owner is None else catalog.with_reduction(owner(query)))
    try:
        workspace.network.note_definitions()
        refusal = workspace.network.refusal(query)
        if refusal is not None:
            raise refusal
    except BaseException:
        _remove(workspace, query)
        raise


def _native(statement: st.CreateQuery, catalog: Catalog) -> tuple[st.Continuous, Native]:
    """The query as it is evaluated, and its instants. What groups by windows of time is said natively."""
    body, sql = statement.body, statement.sql
    native = to_native(body.query, body.text, catalog, sql)
    if native is None:
        if body.sample is None:
            raise SqlSyntaxError(
                "expected SAMPLE at the end of a continuous query, but found the end of the statement",
                detail="Its windows are those in brackets.",
                hint="Write SAMPLE INTERVAL '1' MINUTE; or leave out the brackets, and each window is sent when it is closed.",
                sql=sql,
                span=Span(len(sql), len(sql)),
            )
        return body, Native(body.text, body.slide, grouped=False)
    if body.sample is not None:
        raise UnsupportedSql(
            "SAMPLE does not go with group windows",
            detail="The instants of this query are the ends of its windows: each is sent once, when it is closed.",
            hint="Leave out SAMPLE; or give the table a window in brackets, and all of its groups are sent at each instant.",
            sql=sql,
            span=body.sample,
        )
    if body.stream_operator == "dstream":
        raise UnsupportedSql(
            "DSTREAM does not go with group windows", detail="A window that was sent stays as it is.", sql=sql,
            span=statement.span,
        )  # fmt: skip
    if native.gap is not None:
        return replace(body, stream_operator="rstream"), native
    bind(body.query, catalog, sql, spark_decides=True)  # so that errors show what the user wrote
    tree = read_tree(native.text, tokenize(native.text))
    return st.Continuous(native.text, tree, "rstream", native.slide), native


def _named(catalog: Catalog, name: str, *, view: bool) -> ContinuousQuery:
    """The query of that name, if it is what the statement calls it."""
    query = catalog.query(name)
    if query.name in catalog.reductions:
        raise CatalogError(
            f'continuous query "{query.name}" belongs to reduction "{query.name}" and cannot be changed',
            hint=f"DROP REDUCTION {query.name} ends both.",
        )
    if query.view != view:
        wanted = "streaming view" if view else "continuous query"
        kind = catalog.kind(query.name)
        raise CatalogError(f'"{query.name}" is a {kind}, not a {wanted}', hint=f"Write {kind.upper()} in its place.")
    return query


def _begin(workspace: Workspace, query: ContinuousQuery) -> None:
    """Take up a new query now, if no tick is under way, so that one that cannot begin is not made."""
    workspace.rounds.settle()
    failure = workspace.network.failure(query)
    if failure is not None:
        with workspace.work:
            _remove(workspace, query)
        raise CatalogError(f'query "{query.name}" cannot begin', detail=failure)


def _remove(workspace: Workspace, query: ContinuousQuery) -> None:
    workspace.change_catalog(workspace.catalog.without_query(query.name))
    workspace.network.note_definitions()


def _reads(prepared: Prepared) -> tuple[str, ...]:
    return tuple(dict.fromkeys(u.table.name for u in prepared.bound.uses.values()))


def _with_columns(
    query: ContinuousQuery, found: list[Column], prepared: Prepared, statement: st.Statement
) -> ContinuousQuery:
    """The query with the columns of its result: those it selects, those that say what was read, and the instant."""
    if query.overload is not None and prepared.hybrid is not None:
        found = declared(found, prepared.hybrid)
    names = [c.name for c in found]
    for name in names:
        if name == INSTANT or names.count(name) > 1 or name.startswith("_"):
            what = "is named twice" if names.count(name) > 1 else "cannot be a column of a result"
            raise SqlError(
                f'"{name}" {what}',
                detail=f'"{INSTANT}" is the time of every result.' if name == INSTANT else None,
                hint=f"Give it a name: SELECT ... AS <name>, not {name}.",
                sql=statement.sql,
                span=statement.span,
            )
    first = prepared.streams[0].table
    kind = first.columns.find(first.time_column, first.name).type  # type: ignore[union-attr]
    return replace(query, columns=Schema((*found, Column(INSTANT, kind))))


def alter(workspace: Workspace, statement: st.AlterQuery) -> Result:
    workspace.own()
    with workspace.work:
        catalog = workspace.catalog
        query = _named(catalog, statement.name, view=statement.view)
        if query.gap is not None and (statement.window is not None or statement.sample is not None):
            raise UnsupportedSql(
                f'the instants of "{query.name}" are the ends of its sessions',
                hint="Drop it, and create it with another session_window.",
            )
        if query.grouped and statement.sample is not None:
            raise UnsupportedSql(
                f'the instants of "{query.name}" are the ends of its group windows',
                hint="Drop it, and create it with other windows.",
            )
        changed = replace(query, revision=query.revision + 1)
        if statement.window is not None:
            alias, window = statement.window
            changed = replace(changed, sql=replace_window(query, alias, str(window)))
        if statement.sample is not None:
            changed = replace(changed, slide=statement.sample[0], each_row=statement.sample[1], offset=timedelta(0))
        if statement.history is not None:
            changed = replace(changed, history=statement.history)
        if statement.overload is not None:
            changed = replace(changed, overload=statement.overload)
        prepared = prepare(changed, catalog)
        if query.overload is None and prepared.hybrid is not None and changed.overload is not None:
            found = list(query.columns.without(INSTANT))
            changed = _with_columns(changed, found, prepared, statement)
        check_readers(catalog, catalog.with_query(changed), query.name)
        workspace.network.note_last_sent([query])
        workspace.change_catalog(replace(catalog.with_query(changed), made=catalog.made))
        workspace.network.note_definitions()
    return Result(message=f'{workspace.catalog.kind(query.name)} "{query.name}" altered')


def check_readers(before: Catalog, after: Catalog, name: str) -> None:
    """Raise if a query that reads a stream could not go on after it is altered."""
    for query in before.queries.values():
        if name not in query.reads:
            continue
        try:
            prepare(query, after)
        except MillpondError as error:
            raise CatalogError(
                f'{before.kind(query.name)} "{query.name}" reads "{name}" and could not go on',
                detail=error.primary[:1].upper() + error.primary[1:] + ".",
                hint=f"Alter or drop {query.name} first.",
            ) from error


def pause(workspace: Workspace, statement: st.PauseQuery) -> Result:
    """A paused query sends nothing and holds nothing. On resume it continues from the current watermark."""
    workspace.own()
    with workspace.work:
        query = _named(workspace.catalog, statement.name, view=statement.view)
        failed = workspace.network.failure(query) is not None
        if not statement.pause and workspace.network.acknowledge(query) and not query.paused and not failed:
            workspace.network.note_definitions()
            return Result(message=f'the missing results of "{query.name}" are acknowledged')
        if query.paused == statement.pause and not failed:
            return Result(message=f'"{query.name}" is {"paused" if query.paused else "running"} already')
        changed = replace(query, paused=statement.pause, revision=query.revision + 1, start=None)
        workspace.network.note_last_sent([query])
        workspace.change_catalog(replace(workspace.catalog.with_query(changed), made=workspace.catalog.made))
        if not statement.pause:
            workspace.network.begin_anew(query)
        workspace.network.note_definitions()
        gone = None if statement.pause else _gone(workspace, prepare(changed, workspace.catalog))
    return Result(message=with_warning(f'"{query.name}" {"paused" if statement.pause else "resumed"}', gone))


def drop(workspace: Workspace, statement: st.Drop) -> Result:
    catalog: Catalog = workspace.catalog
    if statement.if_exists and catalog.relation(statement.name) is None:
        return Result(message=f'there is no {statement.kind} "{statement.name}"')
    query = _named(catalog, statement.name, view=statement.kind == "streaming view")
    kind = statement.kind
    outlet = workspace.network.outlet(query.name)
    workspace.change_catalog(catalog.without_query(query.name))
    workspace.network.note_definitions()
    workspace.network.discard_results(outlet)
    return Result(message=f'{kind} "{query.name}" dropped')


def explain(workspace: Workspace, statement: st.ExplainQuery) -> Result:
    workspace.refresh()
    query = workspace.catalog.query(statement.name)
    if query.name not in workspace.catalog.reductions:
        query = _named(workspace.catalog, statement.name, view=statement.view)
    return Result(pa.table({"plan": explain_query(workspace.network, query)}))
