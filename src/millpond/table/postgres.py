"""A standard table that lives in PostgreSQL: what it looks like, its rows as Arrow, and rows for it.

Idea. Rows travel as text through COPY, many at a time: out as CSV, which Arrow's reader parses in C++, in as COPY's
text format, which Arrow's string kernels write. No value becomes a Python object. Both tell NULL from the empty text:
CSV has nothing between the commas for the one and `""` for the other, the text format `\\N` and nothing.

Invariant. `fetch` gives at least the rows that fit the bounds, with every value exactly as PostgreSQL holds it, except
where `describe` says so. A value that does not fit its column type is an error and never another value. A condition is
sent to PostgreSQL only where it cannot lose a row that millpond's own comparison would keep.

Every call opens a connection and a transaction of its own, so that it also works behind a connection pool. What a user
gets to see never contains the password: texts of libpq about an address it cannot read may quote any part of it and are
dropped (and not kept as `__cause__`), in other texts the password is replaced.
"""

from __future__ import annotations

import binascii
import contextlib
import io
import os
import re
import uuid
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pacsv

from millpond.arrow import arrow_type
from millpond.errors import CatalogError, EngineError, IntakeError, MillpondError, UnknownName
from millpond.schema import Column, DataType, Schema
from millpond.table.store import Bounds

if TYPE_CHECKING:
    import psycopg

CONNECT_SECONDS = 10
UNCONSTRAINED = DataType("DECIMAL", 38, 10)  # for a numeric column without precision
CHUNK = 8 << 20  # bytes of CSV parsed at a time: enough for Arrow's threads, small beside the result
BLOCK = 1 << 20  # bytes that one of them parses
ROWS = 16_384  # written at a time
MOST_VALUES = 10_000  # in an IN list; a longer one costs more to say than it saves

_SIMPLE = {
    "int2": DataType("SMALLINT"),
    "int4": DataType("INT"),
    "int8": DataType("BIGINT"),
    "bool": DataType("BOOLEAN"),
    "float4": DataType("FLOAT"),
    "float8": DataType("DOUBLE"),
    "date": DataType("DATE"),
    "timestamp": DataType("TIMESTAMP"),
    "timestamptz": DataType("TIMESTAMP"),
    "bytea": DataType("BINARY"),
}
_LARGEST = {"SMALLINT": 2**15 - 1, "INT": 2**31 - 1, "BIGINT": 2**63 - 1}
_KINDS = "relkind IN ('r', 'v', 'm', 'f', 'p')"  # tables, views, materialized views, foreign and partitioned tables

# What the text of a value depends on, for the length of a transaction.
_SETTINGS = """
SELECT set_config('timezone', 'UTC', true), set_config('datestyle', 'ISO, YMD', true),
       set_config('extra_float_digits', '3', true), set_config('standard_conforming_strings', 'on', true)
"""
_FIND = f"""
SELECT c.oid, n.nspname, c.relname
FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
WHERE c.{_KINDS} AND c.relname = ANY(%(tables)s)
  AND CASE WHEN %(schemas)s::text[] IS NULL THEN pg_catalog.pg_table_is_visible(c.oid)
           ELSE n.nspname = ANY(%(schemas)s) END
"""
_LIST = f"""
SELECT n.nspname, c.relname, pg_catalog.pg_table_is_visible(c.oid)
FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
WHERE c.{_KINDS} AND n.nspname <> 'information_schema' AND n.nspname !~ '^pg_'
"""
# A domain is followed to the type beneath it; of several modifiers, like the (10,2) of a numeric, the outermost counts.
_COLUMNS = """
SELECT a.attname, b.typname, b.typmod, b.builtin, b.typtype
FROM pg_catalog.pg_attribute a, LATERAL (
    WITH RECURSIVE base(oid, typmod) AS (
        SELECT a.atttypid, a.atttypmod
        UNION ALL
        SELECT t.typbasetype, CASE WHEN base.typmod <> -1 THEN base.typmod ELSE t.typtypmod END
        FROM base JOIN pg_catalog.pg_type t ON t.oid = base.oid WHERE t.typtype = 'd'
    )
    SELECT t.typname, base.typmod, t.typnamespace = 'pg_catalog'::regnamespace AS builtin, t.typtype::text
    FROM base JOIN pg_catalog.pg_type t ON t.oid = base.oid WHERE t.typtype <> 'd'
) b
WHERE a.attrelid = %s AND a.attnum > 0 AND NOT a.attisdropped
ORDER BY a.attnum
"""


def describe(dsn: str, table: str) -> Schema:
    """The columns of `table` ("name" or "schema.name", of a table or view) in the database at `dsn`.

    - smallint, integer, bigint, boolean, real, double precision, date and bytea have a type of ours.
    - numeric(p,s) is DECIMAL(p,s). numeric without precision is DECIMAL(38,10): values are rounded to ten places, and
      one of more than 28 digits before the point is an error when it is read. numeric of more than 38 digits is STRING.
    - timestamp and timestamptz are TIMESTAMP, the first taken as UTC.
    - Anything else is STRING, as PostgreSQL writes it: text, varchar, uuid, json, enumerations, intervals, arrays, ...
      char(n) comes without the blanks that fill it up; to PostgreSQL, too, they mean nothing.
    """
    with _transaction(dsn, f'PostgreSQL could not describe table "{table}"', read_only=True) as connection:
        columns = _find(connection, table).columns
    try:
        return Schema(tuple(Column(c.name, c.type) for c in columns))
    except CatalogError as error:
        raise CatalogError(
            f'PostgreSQL table "{table}" has columns whose names differ only in case',
            detail=f"{error.primary[0].upper()}{error.primary[1:]}.",
            hint="Make a view that names them differently, and attach that.",
        ) from None


def fetch(dsn: str, table: str, columns: Sequence[str], schema: Schema, bounds: Bounds) -> pa.Table:
    """The rows of `table` that may fit `bounds`, with `columns` in that order and the types of `schema`.

    Of the bounds, integers, dates and lists of texts are sent along (not ranges of texts: the collation of the database
    may order them differently); the caller filters in any case.
    """
    with _transaction(dsn, f'PostgreSQL could not read table "{table}"', read_only=True) as connection:
        found = _find(connection, table)
        wanted = [found.column(schema.find(name, table)) for name in columns]
        body = _from_where(found, schema, bounds, plain=connection.info.parameter_status("server_encoding") != "UTF8")
        if not wanted:
            count = connection.execute(f"SELECT count(*) {body}".encode()).fetchone()
            assert count is not None
            return pa.table({"": pa.nulls(count[0])}).select([])
        query = f"COPY (SELECT {', '.join(c.output for c in wanted)} {body}) TO STDOUT (FORMAT csv)"
        pieces = [_parse(text, wanted, table) for text in _copy_out(connection, query)]
    target = pa.schema([pa.field(c.name, arrow_type(c.type)) for c in wanted])
    return pa.concat_tables(pieces) if pieces else target.empty_table()


def insert(dsn: str, table: str, rows: pa.Table) -> int:
    """Append `rows` to `table`, all or none; returns how many. A column they lack gets its default."""
    if rows.num_columns == 0:
        raise IntakeError(f'rows for PostgreSQL table "{table}" have no columns')
    with _transaction(dsn, f'PostgreSQL table "{table}" did not take the rows', read_only=False) as connection:
        found = _find(connection, table)
        names = [found.named(name).name for name in rows.column_names]
        if len(set(names)) < len(names):
            raise IntakeError(f'rows for PostgreSQL table "{table}" name a column twice')
        query = f"COPY {found.quoted} ({', '.join(_name(n) for n in names)}) FROM STDIN"
        with connection.cursor() as cursor:
            with cursor.copy(query.encode()) as copy:
                for batch in rows.to_batches(max_chunksize=ROWS):
                    copy.write(_copy_text(batch))
            return cursor.rowcount


# -- tables and columns -----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _PgColumn:
    """A column as PostgreSQL's catalog has it: its name, and the type beneath any domain."""

    name: str
    type_name: str  # of a built-in type, else empty
    modifier: int
    is_enum: bool

    @property
    def type(self) -> DataType:
        if self.type_name != "numeric":
            return _SIMPLE.get(self.type_name, DataType("STRING"))
        if self.modifier < 0:
            return UNCONSTRAINED
        precision, scale = (self.modifier - 4) >> 16 & 0xFFFF, ((self.modifier - 4 & 0x7FF) ^ 0x400) - 0x400
        # Since version 15 a scale may be negative, numeric(3,-2): 12300, or exceed the precision, numeric(2,4): 0.0012.
        precision, scale = max(precision - min(scale, 0), scale), max(scale, 0)
        return DataType("DECIMAL", precision, scale) if precision <= 38 else DataType("STRING")

    @property
    def is_text(self) -> bool:
        return self.type_name in ("text", "varchar", "bpchar")

    @property
    def output(self) -> str:
        """What to select so that COPY writes a text `_parse` can read."""
        name = _name(self.name)
        if self.type_name == "bytea":
            return f"pg_catalog.encode({name}, 'hex')"
        if self.type_name == "bpchar":
            return f"{name}::text"
        return f"{name}::numeric(38,10)" if self.type_name == "numeric" and self.modifier < 0 else name

    @property
    def parsed_as(self) -> pa.DataType:
        """What Arrow's CSV reader makes of that text; `_finish` does the rest."""
        if self.type_name == "bytea":
            return pa.string()
        return pa.timestamp("us") if self.type_name == "timestamp" else arrow_type(self.type)


@dataclass(frozen=True)
class _PgTable:
    schema: str
    name: str
    columns: tuple[_PgColumn, ...]

    @property
    def quoted(self) -> str:
        return f"{_name(self.schema)}.{_name(self.name)}"

    def named(self, name: str) -> _PgColumn:
        """The column of that name: as it is written or, failing that, regardless of case."""
        for column in self.columns:
            if column.name == name:
                return column
        alike = [c for c in self.columns if c.name.lower() == name.lower()]
        if len(alike) != 1:
            where = f' in PostgreSQL table "{self.schema}.{self.name}"'
            raise UnknownName("column", name, [c.name for c in self.columns], where=where)
        return alike[0]

    def column(self, known: Column) -> _PgColumn:
        """The column millpond knows as `known`, if it is still the same."""
        found = self.named(known.name)
        if found.type != known.type:
            raise EngineError(
                f'column "{known.name}" of PostgreSQL table "{self.schema}.{self.name}" has changed its type',
                detail=f"It was {known.type} and is {found.type} now.",
                hint="Drop the standard table, which leaves PostgreSQL's alone, and create it again.",
            )
        return found


def _find(connection: psycopg.Connection[Any], table: str) -> _PgTable:
    """Look `table` up: a part of the name as it is written comes before its lower-case form."""
    parts = _parts(table)
    if parts is None:
        raise CatalogError(f'"{table}" is not the name of a PostgreSQL table', hint="Write 'table' or 'schema.table'.")
    *schemas, name = [list(dict.fromkeys([p, p if quoted else p.lower()])) for p, quoted in parts]
    rows = connection.execute(_FIND, {"tables": name, "schemas": schemas[0] if schemas else None}).fetchall()
    if not rows:
        listed = connection.execute(_LIST).fetchall()
        existing = [f"{s}.{t}" if schemas or not visible else t for s, t, visible in listed]
        raise UnknownName("PostgreSQL table", table, existing)
    oid, schema_name, table_name = min(rows, key=lambda r: (schemas[0].index(r[1]) if schemas else 0, name.index(r[2])))
    columns = tuple(
        _PgColumn(column, kind if builtin else "", modifier, typtype == "e")
        for column, kind, modifier, builtin, typtype in connection.execute(_COLUMNS, [oid])
    )
    return _PgTable(schema_name, table_name, columns)


def _parts(table: str) -> list[tuple[str, bool]] | None:
    """A name's one or two parts, each with whether it was quoted; None if it is not a name.

    >>> _parts('public."My.Table"')
    [('public', False), ('My.Table', True)]
    """
    part = r'(?:"((?:[^"]|"")+)"|([^".]+))'
    match = re.fullmatch(rf"\s*(?:{part}\.)?{part}\s*", table)
    if match is None or "\0" in table:
        return None
    pairs = [match.group(1, 2), match.group(3, 4)]
    parts = [(q.replace('""', '"'), True) if q is not None else (p.strip(), False) for q, p in pairs if q or p]
    return parts if all(name for name, _ in parts) else None


# -- conditions -------------------------------------------------------------------------------------------------------


def _from_where(table: _PgTable, schema: Schema, bounds: Bounds, *, plain: bool) -> str:
    """FROM and WHERE. `plain`: the database may be unable to hold texts beyond ASCII, so do not ask for them."""
    conditions: list[str] = []
    for name, values in bounds.among.items():
        if name in schema:
            conditions += _is_among(table.column(schema.find(name, table.name)), values, plain)
    for name, (low, high) in bounds.between.items():
        if name in schema:
            conditions += _is_between(table.column(schema.find(name, table.name)), low, high)
    return f"FROM {table.quoted} WHERE {' AND '.join(conditions)}" if conditions else f"FROM {table.quoted}"


def _is_among(column: _PgColumn, values: frozenset[Any], plain: bool) -> list[str]:
    """`column` IN `values` without those that cannot occur; nothing if PostgreSQL's answer could differ from ours."""
    name = _name(column.name)
    kept: list[Any] = []
    if len(values) > MOST_VALUES:
        return []
    if column.type.is_integer:
        largest = _LARGEST[column.type.name]
        if not all(_is_int(v) for v in values):
            return []
        kept = sorted(v for v in values if -largest - 1 <= v <= largest)
    elif column.type.name == "DATE":
        days = [_day(v) for v in values]
        kept = sorted(d for d in days if d is not None)
        if len(kept) < len(days):
            return []
    elif column.is_text or column.is_enum or column.type_name == "uuid":
        if not all(isinstance(v, str) for v in values) or (plain and not all(v.isascii() for v in values)):
            return []
        kept = sorted(v for v in values if _can_be_text(v) and (column.type_name != "uuid" or _is_uuid(v)))
        if column.is_enum:  # as text, because a label that does not exist would be an error
            name += "::text"
    else:
        return []
    if not kept:
        return ["FALSE"]
    return [f"{name} IN ({', '.join(_literal(v) for v in kept)})"]


def _is_between(column: _PgColumn, low: Any, high: Any) -> list[str]:
    if column.type.is_integer:
        low, high = (v if _is_int(v) else None for v in (low, high))
        largest = _LARGEST[column.type.name]
        if (low is not None and low > largest) or (high is not None and high < -largest - 1):
            return ["FALSE"]
        low = None if low is None or low < -largest - 1 else low
        high = None if high is None or high > largest else high
    elif column.type.name == "DATE":
        low, high = _day(low), _day(high)
    else:
        return []
    ends = [(">=", low), ("<=", high)]
    return [f"{_name(column.name)} {sign} {_literal(end)}" for sign, end in ends if end is not None]


def _is_int(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _day(value: Any) -> date | None:
    """A date, given as one or, as in the archive's bounds, as ISO text."""
    if isinstance(value, str):
        try:
            return date.fromisoformat(value)
        except ValueError:
            return None
    return value if isinstance(value, date) and not isinstance(value, datetime) else None


def _can_be_text(value: str) -> bool:
    """Whether PostgreSQL can hold it: no zero character, no half of a surrogate pair."""
    try:
        return b"\0" not in value.encode()
    except UnicodeEncodeError:
        return False


def _is_uuid(value: str) -> bool:
    """Whether it is written as PostgreSQL writes them; no other text can equal one that was fetched."""
    try:
        return str(uuid.UUID(value)) == value
    except ValueError:
        return False


# -- rows out ---------------------------------------------------------------------------------------------------------


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


def _parse(text: bytes, columns: Sequence[_PgColumn], table: str) -> pa.Table:
    names = [c.name for c in columns]
    places = [str(i) for i in range(len(columns))]
    # Only a text can hold a line break, and looking for those takes time.
    parse_options = pacsv.ParseOptions(
        newlines_in_values=any(c.type.name == "STRING" for c in columns),
        ignore_empty_lines=False,  # such a line is a row whose only column is NULL
    )
    convert_options = pacsv.ConvertOptions(
        column_types={place: c.parsed_as for place, c in zip(places, columns, strict=True)},
        null_values=[""],
        strings_can_be_null=True,
        quoted_strings_can_be_null=False,
        true_values=["t"],
        false_values=["f"],
    )

    def read(block: int) -> pa.Table:
        read_options = pacsv.ReadOptions(column_names=places, block_size=block)
        return pacsv.read_csv(pa.BufferReader(text), read_options, parse_options, convert_options)

    try:
        try:
            rows = read(BLOCK)
        except pa.ArrowInvalid as error:
            if "straddling" not in str(error):
                raise
            rows = read(len(text) + 1)  # a row is longer than a block
    except pa.ArrowInvalid as error:
        raise _not_ours(error, names, table) from None
    arrays = [_finish(rows.column(i), c) for i, c in enumerate(columns)]
    return pa.Table.from_arrays(arrays, schema=pa.schema([pa.field(c.name, arrow_type(c.type)) for c in columns]))


def _not_ours(error: pa.ArrowInvalid, names: Sequence[str], table: str) -> EngineError:
    place = re.search(r"CSV column #(\d+): (?:Row #\d+: )?(.*)", str(error), re.DOTALL)
    if place is None:
        return EngineError(f'PostgreSQL table "{table}" could not be read', detail=str(error))
    return EngineError(
        f'column "{names[int(place.group(1))]}" of PostgreSQL table "{table}" holds a value millpond has no equal for',
        detail=f"{place.group(2)[:200]}.",
        hint="Make a view that leaves such values out or casts the column to text, and attach that.",
    )


def _finish(values: pa.ChunkedArray, column: _PgColumn) -> pa.ChunkedArray:
    if column.type_name == "bytea":
        return pa.chunked_array([_from_hex(chunk) for chunk in values.chunks], pa.binary())
    return values.cast(arrow_type(column.type)) if column.type_name == "timestamp" else values


def _from_hex(texts: pa.StringArray) -> pa.BinaryArray:
    """All values at once: their digits stand one after the other in one buffer."""
    offsets, digits = _content(texts.cast(pa.large_string()))
    data = binascii.unhexlify(digits)
    plain = pa.LargeBinaryArray.from_buffers(
        pa.large_binary(), len(texts), [None, pa.py_buffer(offsets // 2), pa.py_buffer(data)]
    )
    return _nulls_of(texts, plain).cast(pa.binary())


def _to_hex(values: pa.LargeBinaryArray) -> pa.LargeStringArray:
    offsets, data = _content(values)
    plain = pa.LargeStringArray.from_buffers(
        len(values), pa.py_buffer(offsets * 2), pa.py_buffer(binascii.hexlify(data))
    )
    return _nulls_of(values, plain)


def _content(array: pa.Array) -> tuple[np.ndarray[Any, np.dtype[np.int64]], memoryview]:
    """The offsets, from zero, and the bytes of an array of large texts or binaries."""
    _, offsets, data = array.buffers()
    if len(array) == 0 or data is None:
        return np.zeros(len(array) + 1, dtype=np.int64), memoryview(b"")
    places = np.frombuffer(offsets, dtype=np.int64)[array.offset : array.offset + len(array) + 1]
    return places - places[0], memoryview(data)[places[0] : places[-1]]


def _nulls_of(source: pa.Array, values: pa.Array) -> pa.Array:
    return values if source.null_count == 0 else pc.if_else(source.is_valid(), values, pa.scalar(None, values.type))


# -- rows in ----------------------------------------------------------------------------------------------------------


def _copy_text(batch: pa.RecordBatch) -> memoryview:
    """Rows in COPY's text format: values apart by tabs, \\N for NULL, a backslash before what would be misread."""
    fields = [_field_text(array, name) for name, array in zip(batch.schema.names, batch.columns, strict=True)]
    lines = pc.binary_join_element_wise(
        *fields, pa.scalar("\t", pa.large_string()), null_handling="replace", null_replacement="\\N"
    )
    empty, end = pa.scalar("", pa.large_string()), pa.scalar("\n", pa.large_string())
    return _content(pc.binary_join_element_wise(lines, empty, end))[1]


def _field_text(array: pa.Array, name: str) -> pa.Array:
    kind = array.type
    try:
        if pa.types.is_dictionary(kind):
            array, kind = array.dictionary_decode(), kind.value_type
        if pa.types.is_timestamp(kind):
            # Without its zone, which leaves the time in UTC; and so does the transaction's time zone.
            return array.cast(pa.timestamp(kind.unit)).cast(pa.large_string())
        if any(is_kind(kind) for is_kind in (pa.types.is_binary, pa.types.is_large_binary, pa.types.is_binary_view,
                                             pa.types.is_fixed_size_binary)):  # fmt: skip
            prefix, nothing = pa.scalar("\\\\x", pa.large_string()), pa.scalar("", pa.large_string())
            return pc.binary_join_element_wise(prefix, _to_hex(array.cast(pa.large_binary())), nothing)
        texts = array.cast(pa.large_string())
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        raise IntakeError(
            f'column "{name}" holds {array.type}, which cannot be written to PostgreSQL', hint="Convert it first."
        ) from error
    if pc.any(pc.match_substring_regex(texts, r"[\\\t\n\r]")).as_py():
        for character, written in (("\\", "\\\\"), ("\t", "\\t"), ("\n", "\\n"), ("\r", "\\r")):
            texts = pc.replace_substring(texts, character, written)
    return texts


# -- connections ------------------------------------------------------------------------------------------------------


def _name(name: str) -> str:
    from psycopg import sql

    return sql.Identifier(name).as_string()


def _literal(value: int | date | str) -> str:
    from psycopg import sql

    return sql.Literal(value).as_string()


@contextlib.contextmanager
def _transaction(dsn: str, failure: str, *, read_only: bool) -> Iterator[psycopg.Connection[Any]]:
    """A transaction that reads and writes times as UTC. PostgreSQL's complaints become an error that says `failure`."""
    connection, secrets = _connect(dsn)
    import psycopg

    error: MillpondError
    try:
        # The connection commits or rolls back, but does not close itself when it is the commit that fails.
        with contextlib.closing(connection), connection:
            connection.read_only = read_only
            connection.execute(_SETTINGS)
            yield connection
        return
    except psycopg.Error as problem:
        said = problem.diag
        facts = [said.message_primary or str(problem), said.message_detail, said.context]
        detail = _redact(". ".join(" ".join(f.split()).rstrip(".") for f in facts if f), secrets) + "."
        hint = _redact(said.message_hint, secrets) if said.message_hint else None
        if isinstance(problem, psycopg.errors.InsufficientPrivilege):
            hint = hint or f"Grant {'SELECT' if read_only else 'INSERT'} on it to this user."
        error = EngineError(failure, detail=detail[0].upper() + detail[1:], hint=hint)
    raise error


def _connect(dsn: str) -> tuple[psycopg.Connection[Any], list[str]]:
    """A connection, and what must not be shown."""
    try:
        import psycopg
        import psycopg.conninfo
    except ImportError as missing:
        raise EngineError(
            "a table in PostgreSQL needs psycopg, which is not installed", hint="pip install 'millpond[postgres]'"
        ) from missing

    options: dict[str, Any] = {}
    try:
        options = psycopg.conninfo.conninfo_to_dict(dsn)
        readable = _is_sensible(dsn, options)
    except (psycopg.Error, ValueError):
        readable = False
    if not readable:  # raised here and not above, so that libpq's text is not in `__context__` either
        raise EngineError(
            "the address of a PostgreSQL database cannot be read",
            hint="Write 'postgresql://user:password@host:5432/database' or 'host=... dbname=... user=...'. In the "
            "first form, write @ / : ? # and % in a password as %40 %2F %3A %3F %23 and %25.",
        )
    secrets = [str(options[name]) for name in ("password", "sslpassword") if options.get(name)]
    chosen = {"connect_timeout": CONNECT_SECONDS, "application_name": "millpond", **options, "client_encoding": "UTF8"}
    error: MillpondError
    try:
        return psycopg.connect(**chosen, prepare_threshold=None), secrets
    except (psycopg.Error, ValueError) as problem:
        error = _no_connection(problem, chosen, secrets)
    raise error


def _is_sensible(dsn: str, options: dict[str, Any]) -> bool:
    """Whether libpq understood what was meant. It takes an unescaped @ or / in a URI's password for the end of it, and
    then would show the rest of the password as the name of a host, a port or a database.
    """
    if "\0" in dsn:  # the end of a text for libpq, which would ignore the rest
        return False
    if not all(p == "" or p.isdecimal() for p in str(options.get("port") or "").split(",")):
        return False
    is_uri = dsn.lstrip().startswith(("postgresql://", "postgres://"))
    return not (is_uri and any("@" in str(options.get(part) or "") for part in ("host", "hostaddr", "dbname")))


def _no_connection(problem: Exception, options: dict[str, Any], secrets: list[str]) -> EngineError:
    import psycopg

    host = options.get("host") or options.get("hostaddr") or os.environ.get("PGHOST") or "localhost"
    place = f"PostgreSQL at {host}:{options.get('port') or os.environ.get('PGPORT') or 5432}"
    user = options.get("user") or os.environ.get("PGUSER")
    of_user = f'user "{user}"' if user else "the user"
    said = " ".join(str(problem).split())
    detail = _redact(said[:1].upper() + said[1:], secrets)
    if isinstance(problem, psycopg.errors.ConnectionTimeout):
        return EngineError(
            f"{place} did not answer within {options['connect_timeout']} s",
            hint="Is the address right, and does a firewall stand between?",
        )
    pgconn = problem.pgconn if isinstance(problem, psycopg.Error) else None
    if pgconn is not None and pgconn.needs_password:
        return EngineError(
            f"{place} wants a password for {of_user}", hint="Write it into the address or into the file ~/.pgpass."
        )
    missing = re.search(r'database "([^"]*)" does not exist', said)
    if missing:
        return EngineError(f'database "{_redact(missing.group(1), secrets)}" does not exist in {place}')
    if "password authentication failed" in said:
        return EngineError(f"{place} did not accept the password of {of_user}", hint="Check user and password.")
    if pgconn is not None and pgconn.used_password:
        return EngineError(f"{place} did not let {of_user} in", detail=detail)
    return EngineError(
        f"{place} cannot be reached", detail=detail, hint="Is the address right, and the server running?"
    )


def _redact(text: str, secrets: Sequence[str]) -> str:
    """`text` without the passwords. Only whole words are replaced: a password "a" must not dot every sentence."""
    for secret in secrets:
        text = re.sub(rf"(?<!\w){re.escape(secret)}(?!\w)", "***", text)
    return text
