"""Rows of a PostgreSQL table as Arrow, and rows for it, through COPY.

Invariant. `fetch` gives at least the rows that fit the bounds, with every value exactly as PostgreSQL holds it, except
where `describe` says so.
"""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from millpond.arrow import arrow_type
from millpond.errors import IntakeError
from millpond.foreign_tables.postgres.conditions import from_where
from millpond.foreign_tables.postgres.connection import name_text, transaction
from millpond.foreign_tables.postgres.tables import find
from millpond.foreign_tables.postgres.values import copy_text, parse
from millpond.schema import Schema
from millpond.table.store import Bounds

if TYPE_CHECKING:
    import psycopg

CHUNK = 8 << 20  # bytes of CSV parsed at a time: enough for Arrow's threads, small beside the result
ROWS = 16_384  # written at a time


def fetch(dsn: str, table: str, columns: Sequence[str], schema: Schema, bounds: Bounds) -> pa.Table:
    """The rows of `table` that may fit `bounds`, with `columns` in that order and the types of `schema`.

    Of the bounds, integers, dates and lists of texts are sent along (not ranges of texts: the collation of the database
    may order them differently); the caller filters in any case.
    """
    with transaction(dsn, f'PostgreSQL could not read table "{table}"', read_only=True) as connection:
        found = find(connection, table)
        wanted = [found.column(schema.find(name, table)) for name in columns]
        body = from_where(found, schema, bounds, plain=connection.info.parameter_status("server_encoding") != "UTF8")
        if not wanted:
            count = connection.execute(f"SELECT count(*) {body}".encode()).fetchone()
            assert count is not None
            return pa.table({"": pa.nulls(count[0])}).select([])
        query = f"COPY (SELECT {', '.join(c.output for c in wanted)} {body}) TO STDOUT (FORMAT csv)"
        pieces = [parse(text, wanted, table) for text in _copy_out(connection, query)]
    target = pa.schema([pa.field(c.name, arrow_type(c.type)) for c in wanted])
    return pa.concat_tables(pieces) if pieces else target.empty_table()


def insert(dsn: str, table: str, rows: pa.Table) -> int:
    """Append `rows` to `table`, all or none; returns how many. A column they lack gets its default."""
    if rows.num_columns == 0:
        raise IntakeError(f'rows for PostgreSQL table "{table}" have no columns')
    with transaction(dsn, f'PostgreSQL table "{table}" did not take the rows', read_only=False) as connection:
        found = find(connection, table)
        names = [found.named(name).name for name in rows.column_names]
        if len(set(names)) < len(names):
            raise IntakeError(f'rows for PostgreSQL table "{table}" name a column twice')
        query = f"COPY {found.quoted} ({', '.join(name_text(n) for n in names)}) FROM STDIN"
        with connection.cursor() as cursor:
            with cursor.copy(query.encode()) as copy:
                for batch in rows.to_batches(max_chunksize=ROWS):
                    copy.write(copy_text(batch))
            return cursor.rowcount


def _copy_out(connection: psycopg.Connection[Any], query: str) -> Iterator[bytes]:
    """The output of a COPY ... TO STDOUT in pieces of about `CHUNK` bytes, cut between rows.

    libpq hands out one row at a time. `Copy.read` takes 3 µs for each, so it is only called to wait; what has arrived
    by then is taken from libpq directly, at about 1 µs.
    """
    import psycopg

    arrived = connection.pgconn.get_copy_data
    buffer = io.BytesIO()
    with connection.cursor() as cursor, cursor.copy(query.encode()) as copy:
        size = 1
        while size >= 0 and (row := copy.read()):
            buffer.write(row)
            size, row = arrived(1)
            while size > 0:
                buffer.write(row)
                size, row = arrived(1)
            if buffer.tell() >= CHUNK:
                yield buffer.getvalue()
                buffer = io.BytesIO()
        if size < 0:  # the end came while we were not reading through `copy`, so its result is ours to take
            results = list(iter(connection.pgconn.get_result, None))
            for result in results:
                if result.status != psycopg.pq.ExecStatus.COMMAND_OK:
                    raise psycopg.errors.error_from_result(result, encoding=connection.info.encoding)
    if buffer.tell():
        yield buffer.getvalue()
