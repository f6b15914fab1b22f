"""`millpond.tables`, `millpond.columns`, `millpond.indexes`: the tables of a pond, what they hold and how they are built."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from millpond.catalog import REJECTED_COLUMNS, REJECTED_SUFFIX, StandardTable, StreamingTable
from millpond.duration import describe
from millpond.errors import PondError, counted
from millpond.network.run.idle import is_idle
from millpond.schema import Schema
from millpond.system.registry import Reading, Row, definitions, system_table, time_seconds, time_text
from millpond.table.stream import StreamTable

STREAMING, STANDARD, FOREIGN = "streaming table", "standard table", "foreign table"


@system_table(
    "tables",
    "The streaming and standard tables of the pond. Columns from `watermark` on are NULL for standard tables.",
    [
        ("name", "STRING", "its name"),
        (
            "kind",
            "STRING",
            "`streaming table`, `standard table`, or `foreign table` for a standard table in another system",
        ),
        ("rows", "BIGINT", "how many rows it has; NULL for a foreign table, which is not counted"),
        ("watermark", "STRING", "the event time below which the table is complete, as its time column shows it"),
        ("watermark_seconds", "DOUBLE", "the same as a number: seconds since 1970 for a TIMESTAMP"),
        ("range", "STRING", "how long rows are kept; `forever` without RANGE"),
        ("lateness", "STRING", "how late a row may be"),
        ("most_ahead", "STRING", "how far ahead a row may be; NULL without a bound"),
        ("accepted", "BIGINT", "rows accepted since the table was created"),
        ("rejected", "BIGINT", "rows rejected since then: `late`, `ahead` and `malformed` together"),
        ("late", "BIGINT", "rows that were late"),
        ("ahead", "BIGINT", "rows whose time was too far ahead"),
        ("malformed", "BIGINT", "rows that could not be read or converted"),
        ("idle", "BOOLEAN", "whether it is declared idle"),
        ("idle_after", "STRING", "how long nothing may come before its time follows the wall clock; NULL: for ever"),
        ("time_column", "STRING", "the column of its event time"),
        ("shards", "INT", "how many shards its rows are split into"),
        ("shard_by", "STRING", "the columns of its shard key; NULL without one"),
        ("tail_rows", "BIGINT", "rows in memory, not archived yet"),
        ("tail_bytes", "BIGINT", "their size in memory"),
        ("archived_rows", "BIGINT", "rows in the archive"),
        ("archived_files", "BIGINT", "files of the archive"),
        ("archived_bytes", "BIGINT", "their size on disk"),
        ("problem", "STRING", "why the table cannot be read, if so"),
    ],
)
def tables(reading: Reading) -> Iterator[Row]:
    for name, table in reading.host.streams().items():
        if name in reading.catalog.streaming:
            yield _streaming(table)
    for standard in reading.catalog.standard.values():
        yield _standard(reading, standard)


def _streaming(table: StreamTable) -> Row:
    definition, version = table.definition, table.rows.manifest.current
    damage = table.damage
    return {
        "name": definition.name,
        "kind": STREAMING,
        "rows": None if damage else table.rows.snapshot().rows,
        "watermark": time_text(definition, table.now),
        "watermark_seconds": time_seconds(definition, table.now),
        "range": "forever" if definition.history is None else describe(definition.history),
        "lateness": describe(definition.lateness),
        "most_ahead": None if definition.ahead is None else describe(definition.ahead),
        "accepted": table.next_row,
        "rejected": table.state.rejected,
        "late": table.state.late,
        "ahead": table.state.ahead,
        "malformed": table.state.malformed,
        "idle": is_idle(table),
        "idle_after": None if definition.idle_after is None else describe(definition.idle_after),
        "time_column": definition.time_column,
        "shards": definition.shards,
        "shard_by": ", ".join(definition.shard_by) or None,
        "tail_rows": table.rows.tail.rows,
        "tail_bytes": table.rows.tail.bytes,
        "archived_rows": version.rows,
        "archived_files": len(version.files),
        "archived_bytes": version.bytes,
        "problem": str(damage) if damage else None,
    }


def _standard(reading: Reading, table: StandardTable) -> Row:
    if table.address is not None:
        return {"name": table.name, "kind": FOREIGN}
    row: Row = {"name": table.name, "kind": STANDARD}
    try:
        store = reading.host.standard(table).store
        return {**row, "rows": store.snapshot().rows, "archived_bytes": store.manifest.current.bytes}
    except PondError as damage:
        return {**row, "problem": str(damage)}


@system_table(
    "columns",
    "The columns of everything that has columns: tables, rejected rows, sources, continuous queries, system tables.",
    [
        ("table", "STRING", "what has the column"),
        ("position", "INT", "its place there, from 1"),
        ("name", "STRING", "its name"),
        ("type", "STRING", "its type"),
        ("is_time", "BOOLEAN", "whether it is the event time"),
        ("is_shard_key", "BOOLEAN", "whether it is part of the shard key"),
        ("indexes", "STRING", "the indexes on it; NULL without one"),
        ("note", "STRING", "the three above in words, as DESCRIBE shows them; of a system table what the column means"),
    ],
)
def columns(reading: Reading) -> Iterator[Row]:
    catalog = reading.catalog
    for table in catalog.streaming.values():
        yield from _table_columns(table)
        yield from _plain_columns(table.name + REJECTED_SUFFIX, REJECTED_COLUMNS)
    for query in catalog.queries.values():
        yield from _table_columns(query.table)
    for standard in catalog.standard.values():
        yield from _plain_columns(standard.name, standard.columns)
    for source in catalog.sources.values():
        yield from _plain_columns(source.name, source.columns)
    for definition in definitions().values():
        yield from (
            {"table": definition.relation.name, "position": n, "name": c.name, "type": str(c.type), "is_time": False,
             "is_shard_key": False, "note": c.description}
            for n, c in enumerate(definition.columns, 1)
        )  # fmt: skip


def _plain_columns(table: str, columns: Schema) -> Iterable[Row]:
    return (
        {"table": table, "position": n, "name": c.name, "type": str(c.type), "is_time": False, "is_shard_key": False,
         "note": ""}
        for n, c in enumerate(columns, 1)
    )  # fmt: skip


def _table_columns(table: StreamingTable) -> Iterator[Row]:
    for row in _plain_columns(table.name, table.columns):
        name = row["name"]
        indexes = [i.name for i in table.indexes if i.columns[0] == name]
        notes = []
        if name == table.time_column:
            notes.append("time" + (", implicit" if table.implicit_time else ""))
        if name in table.shard_by:
            notes.append(f"shard key, {counted(table.shards, 'shard')}")
        notes += [f"index {index}" for index in indexes]
        yield {
            **row,
            "is_time": name == table.time_column,
            "is_shard_key": name in table.shard_by,
            "indexes": ", ".join(indexes) or None,
            "note": "; ".join(notes),
        }


@system_table(
    "indexes",
    "The indexes on streaming tables.",
    [
        ("name", "STRING", "its name"),
        ("table", "STRING", "the table it is on"),
        ("columns", "STRING", "the columns it is on"),
    ],
)
def indexes(reading: Reading) -> Iterator[Row]:
    for table in reading.catalog.streaming.values():
        for index in table.indexes:
            yield {"name": index.name, "table": table.name, "columns": ", ".join(index.columns)}
