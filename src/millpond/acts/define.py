"""CREATE, DROP and ALTER.

A change is made in an order that leaves no half of it after a crash: first the files, then the definition that names
them; and the other way round for a DROP.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from millpond.acts import continuous, functions, idle, now
from millpond.acts.ask import ask, plan_query
from millpond.acts.values import as_query
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
from millpond.connectors import postgres
from millpond.durable import delete_folder
from millpond.errors import MillpondError, UnknownName, UnsupportedSql, counted
from millpond.failpoints import reach
from millpond.result import Result
from millpond.sources.registry import SOURCES, check_definition
from millpond.sql import define
from millpond.sql import statements as st
from millpond.table import stream
from millpond.table.block import GROUP_ROWS
from millpond.table.index import index_path, write_index
from millpond.table.standard import StandardStore
from millpond.table.stream import StreamTable
from millpond.table.work import read_file

if TYPE_CHECKING:
    from millpond.pond import Pond


def create_streaming(pond: Pond, statement: st.CreateStreamingTable) -> Result:
    pond.own()
    with pond.work:
        if statement.if_not_exists and pond.catalog.relation(statement.name) is not None:
            return Result(message=f'"{statement.name}" exists already')
        table = define.streaming_table(statement, pond.catalog, pond.config.shards)
        stream.create(pond.folder, table, pond.clock.micros() // 1000)
        reach("create.before_catalog")
        pond.change_catalog(pond.catalog.with_streaming(table))
    return Result(message=f'streaming table "{table.name}" created')


def create_standard(pond: Pond, statement: st.CreateStandardTable) -> Result:
    pond.own()
    with pond.work:
        if statement.if_not_exists and pond.catalog.relation(statement.name) is not None:
            return Result(message=f'"{statement.name}" exists already')
        name = statement.name.lower()
        pond.catalog.check_free(name)
        rows = None
        if statement.postgres is not None:
            columns = postgres.describe(statement.postgres, statement.postgres_table or name)
        elif statement.query is not None:
            rows = ask(pond, plan_query(pond, as_query(statement.query), statement.sql))
            columns = define.folded(schema_of(rows.schema).columns)
        else:
            columns = define.folded(statement.columns)
        table = StandardTable(
            name, columns, folder_name(name, pond.catalog.made), statement.postgres, statement.postgres_table
        )
        if table.postgres is None:
            StandardStore.create(pond.folder, table, pond.clock)
            if rows is not None:
                StandardStore(pond.folder, table, pond.clock).insert(
                    rows.rename_columns(columns.names).cast(arrow_schema(columns))
                )
        pond.change_catalog(pond.catalog.with_standard(table))
    return Result(
        message=f'standard table "{table.name}" created'
        + (f" with {counted(rows.num_rows, 'row')}" if rows is not None else "")
    )


def create_index(pond: Pond, statement: st.CreateIndex) -> Result:
    pond.own()
    with pond.work:
        if statement.if_not_exists and _index_exists(pond, statement):
            return Result(message="the index exists already")
        definition, index = define.index(statement, pond.catalog)
        table = pond.stream(definition.name)
        _index_files(pond, table, index)
        changed = replace(definition, indexes=(*definition.indexes, index))
        pond.change_catalog(replace(pond.catalog.with_streaming(changed), made=pond.catalog.made))
        pond.stream(definition.name)
    return Result(message=f'index "{index.name}" created on {definition.name} ({", ".join(index.columns)})')


def _index_exists(pond: Pond, statement: st.CreateIndex) -> bool:
    table = pond.catalog.streaming_table(statement.table)
    columns = tuple(c.lower() for c in statement.columns)
    names = {i.name for t in pond.catalog.streaming.values() for i in t.indexes}
    return (statement.name or "").lower() in names or any(i.columns == columns for i in table.indexes)


def _index_files(pond: Pond, table: StreamTable, index: Index) -> None:
    """Write the new index for the files there are; later files get it as they are written."""
    column = index.columns[0]
    changed = []
    for file in table.rows.manifest.current.files.values():
        if column in file.columns and column not in file.indexed:
            path = table.rows.folder / file.path
            write_index(index_path(path, column), read_file(path)[column], GROUP_ROWS)
            changed.append(replace(file, indexed=(*file.indexed, column)))
    if changed:
        clock = pond.clock
        table.rows.commit(add=changed, operation="INDEX", now_ms=clock.micros() // 1000, age=clock.monotonic())


def create_source(pond: Pond, statement: st.CreateSource) -> Result:
    pond.own()
    with pond.work:
        if statement.if_not_exists and pond.catalog.relation(statement.name) is not None:
            return Result(message=f'"{statement.name}" exists already')
        kind = SOURCES.find(statement.kind, sql=statement.sql, span=statement.kind_place)
        source = check_definition(define.source(statement, pond.catalog, next(iter(kind.formats))))
        pond.change_catalog(pond.catalog.with_source(source))
    warning = kind.warning(source)
    return Result(message=f'source "{source.name}" created{f"; warning: {warning}" if warning else ""}')


def drop(pond: Pond, statement: st.Drop) -> Result:
    if statement.kind == "function":
        return functions.drop(pond, statement)
    pond.own()
    with pond.work:
        catalog = pond.catalog
        if statement.kind == "index":
            return _drop_index(pond, statement)
        if statement.kind in ("continuous query", "streaming view"):
            return continuous.drop(pond, statement)
        if statement.kind == "feed":
            if statement.if_exists and statement.name.lower() not in catalog.feeds:
                return Result(message=f'there is no feed "{statement.name}"')
            changed = catalog.without_feed(statement.name)
            feed = catalog.feeds[statement.name.lower()]
            pond.change_catalog(changed)
            pond.stop_feed(feed)
            delete_folder(pond.folder / "feeds" / feed.folder, pond.folder)
            return Result(message=f'feed "{statement.name}" dropped')
        found = _to_drop(pond, statement, catalog)
        if found is None:
            return Result(message=f'there is no {statement.kind} "{statement.name}"')
        pond.change_catalog(catalog.without(found.name))
        pond.forget(found.name)
        if isinstance(found, StreamingTable):
            pond.delete_folder(pond.folder / "tables" / found.folder)
        elif isinstance(found, StandardTable) and found.postgres is None:
            pond.delete_folder(pond.folder / "standard" / found.folder)
    return Result(message=f'{kind_of(found)} "{found.name}" dropped')


def _to_drop(pond: Pond, statement: st.Drop, catalog: Catalog) -> StreamingTable | StandardTable | Source | None:
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
        raise no_table(pond, statement.name, statement)
    if statement.name.lower() in catalog.queries:
        return catalog.streaming_table(statement.name)  # raises, and says what it is
    return found


def no_table(pond: Pond, name: str, statement: st.Statement) -> MillpondError:
    """There is no such table to change; rejected rows can only be read."""
    catalog = pond.catalog
    if name.lower().removesuffix(REJECTED_SUFFIX) in catalog.streaming:
        catalog.streaming_table(name)  # raises, and says why
    return UnknownName("table", name, [*catalog.streaming, *catalog.standard], sql=statement.sql, span=statement.span)


def _drop_index(pond: Pond, statement: st.Drop) -> Result:
    catalog = pond.catalog
    every = {i.name for t in catalog.streaming.values() for i in t.indexes}
    if statement.if_exists and statement.name.lower() not in every:
        return Result(message=f'there is no index "{statement.name}"')
    table, index = define.find_index(catalog, statement.name)
    changed = replace(table, indexes=tuple(i for i in table.indexes if i != index))
    pond.change_catalog(replace(catalog.with_streaming(changed), made=catalog.made))
    pond.stream(table.name)
    return Result(message=f'index "{index.name}" dropped')


def alter(pond: Pond, statement: st.AlterTable) -> Result:
    if statement.now is not None:
        return now.take_back(pond, statement.name, statement.now)
    pond.own()
    with pond.work:
        catalog = pond.catalog
        if statement.rename_to is not None:
            to = statement.rename_to.lower()
            pond.rename(catalog.renamed(statement.name, to), statement.name.lower(), to)
            return Result(message=f'"{statement.name}" is now "{to}"')
        if statement.idle is not None:
            return idle.declare(pond, statement.name, statement.idle)
        if statement.name.lower() in catalog.standard:
            return _alter_standard(pond, statement)
        old = catalog.streaming_table(statement.name)
        new = define.altered(statement, catalog)
        continuous.check_readers(catalog, catalog.with_streaming(new), old.name)
        table = pond.stream(old.name)
        if new.columns != old.columns:
            clock = pond.clock
            table.rows.commit(
                schema=new.columns, operation="ADD COLUMNS", now_ms=clock.micros() // 1000, age=clock.monotonic()
            )
            reach("alter.before_catalog")
        pond.change_catalog(replace(catalog.with_streaming(new), made=catalog.made))
        reach("alter.after_catalog")
        pond.stream(old.name)
    return Result(message=f'streaming table "{new.name}" altered')


def _alter_standard(pond: Pond, statement: st.AlterTable) -> Result:
    table = pond.catalog.standard_table(statement.name)
    if table.postgres is not None or not statement.add_columns:
        raise UnsupportedSql(
            f'standard table "{table.name}" can only get new columns', sql=statement.sql, span=statement.span
        )
    changed = replace(table, columns=table.columns.plus(*define.folded(statement.add_columns)))
    clock = pond.clock
    pond.standard(table).store.commit(
        schema=changed.columns, operation="ADD COLUMNS", now_ms=clock.micros() // 1000, age=clock.monotonic()
    )
    pond.change_catalog(replace(pond.catalog.with_standard(changed), made=pond.catalog.made))
    return Result(message=f'standard table "{table.name}" altered')
