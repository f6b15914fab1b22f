"""Statements to definitions: what a CREATE or ALTER makes of the catalog. Pure; nothing is written here."""

from __future__ import annotations

import os
from dataclasses import replace
from datetime import timedelta

from millpond.catalog import Catalog, Index, Source, StreamingTable, folder_name
from millpond.config import MOST_SHARDS
from millpond.duration import TimeUnit
from millpond.errors import CatalogError, UnknownName, UnsupportedSql, nearest
from millpond.schema import ARRIVAL, Column, DataType, Schema
from millpond.sql.statements import AlterTable, CreateIndex, CreateSource, CreateStreamingTable

TABLE_OPTIONS = ("shards", "late")
AHEAD = timedelta(
    days=1
)  # of arrival, where time is a TIMESTAMP: enough for wrong time zones, too little for the year 9999


def folded(columns: tuple[Column, ...]) -> Schema:
    """Column names in lower case: names are the same in any case, and shown in one."""
    for column in columns:
        if column.name.startswith("_"):
            raise CatalogError(
                f'column "{column.name}" starts with an underscore', hint="Such names belong to millpond."
            )
    return Schema(tuple(Column(c.name.lower(), c.type) for c in columns))


def streaming_table(statement: CreateStreamingTable, catalog: Catalog, shards: int) -> StreamingTable:
    """The table a CREATE STREAMING TABLE describes."""
    name = statement.name.lower()
    catalog.check_free(name)
    columns = folded(statement.columns)
    time = statement.time_column.lower() if statement.time_column else None
    if time is None:
        if ARRIVAL in columns:
            raise CatalogError(
                f'table "{name}" names no time column, and "{ARRIVAL}" is taken',
                hint=f"Add TIMESTAMP BY {ARRIVAL}, or rename the column.",
            )
        columns = columns.plus(Column(ARRIVAL, DataType("TIMESTAMP")))
    else:
        kind = columns.find(time, name).type
        if not (kind.is_integer or kind.name == "TIMESTAMP"):
            raise UnsupportedSql(
                f'time column "{time}" cannot be a {kind}', hint="Use BIGINT (seconds), INT (seconds) or TIMESTAMP."
            )
    options = _options(statement.options)
    table = StreamingTable(
        name=name,
        columns=columns,
        time_column=time or ARRIVAL,
        folder=folder_name(name, catalog.made),
        shards=int(options.get("shards") or shards or min(os.cpu_count() or 1, 8)),
        shard_by=tuple(columns.find(c, name).name for c in statement.shard_by),
        history=statement.history,
        lateness=statement.lateness,
        implicit_time=time is None,
        late=options.get("late", "reject"),
        reduce_by=statement.reduce.design if statement.reduce is not None else "none",
        reduce_levels=statement.reduce.levels if statement.reduce is not None else (),
    )
    by_clock = table.unit is TimeUnit.MICROSECOND
    table = replace(table, ahead=statement.ahead[0] if statement.ahead is not None else AHEAD if by_clock else None)
    if table.ahead is not None:
        table.unit.count(table.ahead)
    if statement.idle_after is not None:
        table = _idle_after(table, statement.idle_after[0])
    table.unit.count(table.lateness)  # raises if it is finer than the time column
    if table.history is not None:
        table.unit.count(table.history)
    return table


def _idle_after(table: StreamingTable, quiet: timedelta | None) -> StreamingTable:
    """The table with another IDLE AFTER."""
    if quiet is not None and table.unit is not TimeUnit.MICROSECOND:
        raise UnsupportedSql(
            f'"{table.name}" cannot follow the wall clock: its times are whole numbers',
            detail="IDLE AFTER is for times that are TIMESTAMPs. Nobody knows from when on whole numbers count.",
            hint=f"Send heartbeats: db.advance('{table.name}', time).",
        )
    return replace(table, idle_after=quiet)


def _options(given: object) -> dict[str, str]:
    options = {str(k).lower(): str(v) for k, v in dict(given).items()}  # type: ignore[call-overload]
    for key, value in options.items():
        if key not in TABLE_OPTIONS:
            close = nearest(key, TABLE_OPTIONS)
            raise CatalogError(
                f'table option "{key}" does not exist',
                detail=f"There is: {', '.join(TABLE_OPTIONS)}.",
                hint=f'Did you mean "{close}"?' if close else None,
            )
        if key == "shards" and not (value.isdigit() and 1 <= int(value) <= MOST_SHARDS):
            raise CatalogError(f'table option shards cannot be "{value}"', hint=f"Use 1 to {MOST_SHARDS}.")
        if key == "late" and value not in ("reject", "keep"):
            raise CatalogError(f'table option late cannot be "{value}"', hint="Use 'reject' or 'keep'.")
    return options


def index(statement: CreateIndex, catalog: Catalog) -> tuple[StreamingTable, Index]:
    """The table and the index a CREATE INDEX describes."""
    table = catalog.streaming_table(statement.table)
    columns = tuple(table.columns.find(c, table.name).name for c in statement.columns)
    if len(columns) != 1:
        raise UnsupportedSql(
            "an index has one column",
            detail="Time is always indexed too, and several indexes work together.",
            hint="Make one index for each column.",
        )
    if columns[0] == table.time_column:
        raise CatalogError(f'time column "{columns[0]}" is always indexed')
    kind = table.columns.find(columns[0], table.name).type
    if kind.name in ("FLOAT", "DOUBLE", "DECIMAL", "BINARY", "TIMESTAMP", "BOOLEAN"):
        raise UnsupportedSql(
            f'column "{columns[0]}" of type {kind} cannot be indexed', hint="Index integers, text or dates."
        )
    name = (statement.name or f"{table.name}_{columns[0]}").lower()
    for other in catalog.streaming.values():
        for existing in other.indexes:
            if existing.name == name:
                raise CatalogError(f'index "{name}" exists already', hint="Drop it first, or use IF NOT EXISTS.")
            if other.name == table.name and existing.columns == columns:
                raise CatalogError(f'column "{columns[0]}" of "{table.name}" is indexed already by "{existing.name}"')
    return table, Index(name, columns)


def find_index(catalog: Catalog, name: str) -> tuple[StreamingTable, Index]:
    every = [(t, i) for t in catalog.streaming.values() for i in t.indexes]
    for table, found in every:
        if found.name == name.lower():
            return table, found
    raise UnknownName("index", name, [i.name for _, i in every])


def source(statement: CreateSource, catalog: Catalog, default_format: str) -> Source:
    """The source a CREATE SOURCE describes; whether there can be one is for its kind to say."""
    catalog.check_free(statement.name)
    return Source(
        statement.name.lower(),
        statement.kind,
        statement.location,
        folded(statement.columns),
        statement.format or default_format,
        dict(statement.options),
    )


def altered(statement: AlterTable, catalog: Catalog) -> StreamingTable:
    """The streaming table after an ALTER (other than RENAME)."""
    table = catalog.streaming_table(statement.name)
    if statement.add_columns:
        new = folded(statement.add_columns)
        for column in new:
            if column.name in table.columns:
                raise CatalogError(f'column "{column.name}" exists already in table "{table.name}"')
        table = replace(table, columns=table.columns.plus(*new))
    if statement.history is not None or statement.drop_history:
        table = replace(table, history=statement.history)
        if table.history is not None:
            table.unit.count(table.history)
    if statement.lateness is not None:
        table.unit.count(statement.lateness)
        table = replace(table, lateness=statement.lateness)
    if statement.ahead is not None:
        if statement.ahead[0] is not None:
            table.unit.count(statement.ahead[0])
        table = replace(table, ahead=statement.ahead[0])
    if statement.idle_after is not None:
        table = _idle_after(table, statement.idle_after[0])
    if statement.reduce is not None:
        table = replace(table, reduce_by=statement.reduce.design, reduce_levels=statement.reduce.levels)
    options = _options(statement.options)
    if "shards" in options:
        table = replace(table, shards=int(options["shards"]))
    if "late" in options:
        table = replace(table, late=options["late"])
    return table
