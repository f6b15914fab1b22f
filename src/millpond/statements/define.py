"""CREATE, DROP and ALTER.

A change is made in an order that leaves no half of it after a crash: first the files, then the definition that names
them; and the other way round for a DROP.
"""

from __future__ import annotations

import contextlib
from dataclasses import replace
from typing import TYPE_CHECKING

from millpond.arrow import arrow_schema, schema_of
from millpond.catalog import (
    REJECTED_SUFFIX,
    Catalog,
    Index,
    Source,
    StandardTable,
    StreamingTable,
    folder_name,
    kind_of,
)
from millpond.errors import CatalogError, MillpondError, UnknownName, UnsupportedSql, counted
from millpond.failpoints import reach
from millpond.foreign_tables.registry import FOREIGN_TABLES
from millpond.result import Result, with_warning
from millpond.sources.registry import SOURCES, check_definition
from millpond.sql import define
from millpond.sql import statements as st
from millpond.statements import continuous, functions, idle, now, reduction
from millpond.statements.ask import ask, plan_query
from millpond.statements.values import as_query
from millpond.table import stream
from millpond.table.block import GROUP_ROWS
from millpond.table.index import index_path, write_index
from millpond.table.standard import StandardStore
from millpond.table.stream import StreamTable
from millpond.table.work import read_file

if TYPE_CHECKING:
    from millpond.workspace.workspace import Workspace


def create_streaming(workspace: Workspace, statement: st.CreateStreamingTable) -> Result:
    workspace.own()
    with workspace.work:
        if statement.if_not_exists and workspace.catalog.relation(statement.name) is not None:
            return Result(message=f'"{statement.name}" exists already')
        table = define.streaming_table(statement, workspace.catalog, workspace.config.shards)
        stream.create(workspace.folder, table, workspace.clock.micros() // 1000)
        reach("create.before_catalog")
        workspace.change_catalog(workspace.catalog.with_streaming(table))
    return Result(message=f'streaming table "{table.name}" created')


def create_standard(workspace: Workspace, statement: st.CreateStandardTable) -> Result:
    workspace.own()
    with workspace.work:
        if statement.if_not_exists and workspace.catalog.relation(statement.name) is not None:
            return Result(message=f'"{statement.name}" exists already')
        name = statement.name.lower()
        workspace.catalog.check_free(name)
        rows = None
        if statement.kind is not None:
            assert statement.address is not None
            kind = FOREIGN_TABLES.find(statement.kind, sql=statement.sql, span=statement.kind_place)
            columns = kind.describe(statement.address, statement.foreign_name or name)
        elif statement.query is not None:
            rows = ask(workspace, plan_query(workspace, as_query(statement.query), statement.sql))
            columns = define.folded(schema_of(rows.schema).columns)
        else:
            columns = define.folded(statement.columns)
        table = StandardTable(name, columns, folder_name(name, workspace.catalog.made))
        if statement.kind is not None:
            table = replace(
                table, address=statement.address, foreign_name=statement.foreign_name, foreign_kind=statement.kind
            )
        else:
            StandardStore.create(workspace.folder, table, workspace.clock)
            if rows is not None:
                StandardStore(workspace.folder, table, workspace.clock).insert(
                    rows.rename_columns(columns.names).cast(arrow_schema(columns))
                )
        workspace.change_catalog(workspace.catalog.with_standard(table))
    return Result(
        message=f'standard table "{table.name}" created'
        + (f" with {counted(rows.num_rows, 'row')}" if rows is not None else "")
    )


def create_index(workspace: Workspace, statement: st.CreateIndex) -> Result:
    workspace.own()
    with workspace.work:
        if statement.if_not_exists and _index_exists(workspace, statement):
            return Result(message="the index exists already")
        definition, index = define.index(statement, workspace.catalog)
        table = workspace.stream(definition.name)
        _index_files(workspace, table, index)
        changed = replace(definition, indexes=(*definition.indexes, index))
        workspace.change_catalog(replace(workspace.catalog.with_streaming(changed), made=workspace.catalog.made))
        workspace.stream(definition.name)
    return Result(message=f'index "{index.name}" created on {definition.name} ({", ".join(index.columns)})')


def _index_exists(workspace: Workspace, statement: st.CreateIndex) -> bool:
    table = workspace.catalog.streaming_table(statement.table)
    columns = tuple(c.lower() for c in statement.columns)
    names = {i.name for t in workspace.catalog.streaming.values() for i in t.indexes}
    return (statement.name or "").lower() in names or any(i.columns == columns for i in table.indexes)


def _index_files(workspace: Workspace, table: StreamTable, index: Index) -> None:
    """Write the new index for the files there are; later files get it as they are written."""
    column = index.columns[0]
    changed = []
    for file in table.rows.manifest.current.files.values():
        if column in file.columns and column not in file.indexed:
            path = table.rows.folder / file.path
            write_index(index_path(path, column), read_file(path)[column], GROUP_ROWS)
            changed.append(replace(file, indexed=(*file.indexed, column)))
    if changed:
        clock = workspace.clock
        table.rows.commit(add=changed, operation="INDEX", now_ms=clock.micros() // 1000, age=clock.monotonic())


def create_source(workspace: Workspace, statement: st.CreateSource) -> Result:
    workspace.own()
    with workspace.work:
        if statement.if_not_exists and workspace.catalog.relation(statement.name) is not None:
            return Result(message=f'"{statement.name}" exists already')
        kind = SOURCES.find(statement.kind, sql=statement.sql, span=statement.kind_place)
        source = check_definition(define.source(statement, workspace.catalog, next(iter(kind.formats))))
        workspace.change_catalog(workspace.catalog.with_source(source))
    warning = kind.warning(source)
    return Result(message=with_warning(f'source "{source.name}" created', warning))


def drop(workspace: Workspace, statement: st.Drop) -> Result:
    if statement.kind == "function":
        return functions.drop(workspace, statement)
    if statement.kind == "feed":
        return _drop_feed(workspace, statement)
    workspace.own()
    with workspace.work:
        catalog = workspace.catalog
        if statement.kind == "index":
            return _drop_index(workspace, statement)
        if statement.kind in ("continuous query", "streaming view"):
            return continuous.drop(workspace, statement)
        if statement.kind == "reduction":
            return reduction.drop(workspace, statement)
        found = _to_drop(workspace, statement, catalog)
        if found is None:
            return Result(message=f'there is no {statement.kind} "{statement.name}"')
        workspace.change_catalog(catalog.without(found.name))
        workspace.tables.forget(found.name)
        if isinstance(found, StreamingTable):
            workspace.rounds.delete_folder(workspace.folder / "tables" / found.folder)
        elif isinstance(found, StandardTable) and found.address is None:
            workspace.rounds.delete_folder(workspace.folder / "standard" / found.folder)
    return Result(message=f'{kind_of(found)} "{found.name}" dropped')


def _drop_feed(workspace: Workspace, statement: st.Drop) -> Result:
    workspace.own()
    with workspace.work:
        catalog = workspace.catalog
        if statement.if_exists and statement.name.lower() not in catalog.feeds:
            return Result(message=f'there is no feed "{statement.name}"')
        changed = catalog.without_feed(statement.name)
        feed = catalog.feeds[statement.name.lower()]
        workspace.change_catalog(changed)
        runner = workspace.feeds.forget(feed)
    ended = workspace.feeds.finish(feed, runner)
    rest = "" if ended else "; a step of it is still under way, and ends it"
    return Result(message=f'feed "{statement.name}" dropped{rest}')


def _to_drop(
    workspace: Workspace, statement: st.Drop, catalog: Catalog
) -> StreamingTable | StandardTable | Source | None:
    found = catalog.relation(statement.name)
    kind = statement.kind
    if found is None and statement.if_exists:
        return None
    if kind == "streaming table":
        return catalog.streaming_table(statement.name)
    if kind == "standard table":
        return catalog.standard_table(statement.name)
    if kind == "source":
        return catalog.source(statement.name)
    if found is None or isinstance(found, Source):
        raise no_table(workspace, statement.name, statement)
    if statement.name.lower() in catalog.queries:
        return catalog.streaming_table(statement.name)  # raises, and says what it is
    return found


def no_table(workspace: Workspace, name: str, statement: st.Statement) -> MillpondError:
    """There is no such table to change; rejected rows can only be read."""
    catalog = workspace.catalog
    if name.lower().removesuffix(REJECTED_SUFFIX) in catalog.streaming:
        catalog.streaming_table(name)  # raises, and says why
    return UnknownName("table", name, [*catalog.streaming, *catalog.standard], sql=statement.sql, span=statement.span)


def _drop_index(workspace: Workspace, statement: st.Drop) -> Result:
    catalog = workspace.catalog
    every = {i.name for t in catalog.streaming.values() for i in t.indexes}
    if statement.if_exists and statement.name.lower() not in every:
        return Result(message=f'there is no index "{statement.name}"')
    table, index = define.find_index(catalog, statement.name)
    changed = replace(table, indexes=tuple(i for i in table.indexes if i != index))
    workspace.change_catalog(replace(catalog.with_streaming(changed), made=catalog.made))
    workspace.stream(table.name)
    return Result(message=f'index "{index.name}" dropped')


def alter(workspace: Workspace, statement: st.AlterTable) -> Result:
    if statement.now is not None:
        return now.take_back(workspace, statement.name, statement.now)
    workspace.own()
    with workspace.work:
        catalog = workspace.catalog
        if statement.rename_to is not None:
            to = statement.rename_to.lower()
            workspace.rename(catalog.renamed(statement.name, to), statement.name.lower(), to)
            return Result(message=f'"{statement.name}" is now "{to}"')
        if statement.idle is not None:
            return idle.declare(workspace, statement.name, statement.idle)
        if statement.name.lower() in catalog.standard:
            return _alter_standard(workspace, statement)
        old = catalog.streaming_table(statement.name)
        new = define.altered(statement, catalog)
        for kept in catalog.reductions_of(old.name) if new.late == "keep" else ():
            raise CatalogError(
                f'table "{old.name}" has reduction "{kept.name}" and cannot keep late rows',
                detail="Its windows could change after they have ended.",
                hint=f"Drop it first: DROP REDUCTION {kept.name}.",
            )
        continuous.check_readers(catalog, catalog.with_streaming(new), old.name)
        table = workspace.stream(old.name)
        if new.columns != old.columns:
            clock = workspace.clock
            table.rows.commit(
                schema=new.columns, operation="ADD COLUMNS", now_ms=clock.micros() // 1000, age=clock.monotonic()
            )
            reach("alter.before_catalog")
        with _looking_back(workspace, old, new):
            workspace.change_catalog(replace(catalog.with_streaming(new), made=catalog.made))
            reach("alter.after_catalog")
            workspace.stream(old.name)
    return Result(message=f'streaming table "{new.name}" altered')


def _looking_back(
    workspace: Workspace, old: StreamingTable, new: StreamingTable
) -> contextlib.AbstractContextManager[None]:
    """Around a change of the lateness: with more of it rows may come into windows that are over."""
    now, more = workspace.stream(old.name).now, old.unit.count(new.lateness) - old.unit.count(old.lateness)
    if now is None or more <= 0:
        return contextlib.nullcontext()
    return workspace.reductions.looking_back(old, now - more, now)


def _alter_standard(workspace: Workspace, statement: st.AlterTable) -> Result:
    table = workspace.catalog.standard_table(statement.name)
    if table.address is not None or not statement.add_columns:
        raise UnsupportedSql(
            f'standard table "{table.name}" can only get new columns', sql=statement.sql, span=statement.span
        )
    changed = replace(table, columns=table.columns.plus(*define.folded(statement.add_columns)))
    clock = workspace.clock
    workspace.standard(table).store.commit(
        schema=changed.columns, operation="ADD COLUMNS", now_ms=clock.micros() // 1000, age=clock.monotonic()
    )
    workspace.change_catalog(replace(workspace.catalog.with_standard(changed), made=workspace.catalog.made))
    return Result(message=f'standard table "{table.name}" altered')
