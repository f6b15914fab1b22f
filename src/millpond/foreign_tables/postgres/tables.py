"""Tables and views as PostgreSQL's catalog has them: looking one up, and the type of ours for each of its columns."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from millpond.arrow import arrow_type
from millpond.errors import CatalogError, EngineError, UnknownName
from millpond.foreign_tables.postgres.connection import name_text, transaction
from millpond.schema import Column, DataType, Schema

if TYPE_CHECKING:
    import psycopg

UNCONSTRAINED = DataType("DECIMAL", 38, 10)  # for a numeric column without precision
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
_KINDS = "relkind IN ('r', 'v', 'm', 'f', 'p')"  # tables, views, materialized views, foreign and partitioned tables
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
    with transaction(dsn, f'PostgreSQL could not describe table "{table}"', read_only=True) as connection:
        columns = find(connection, table).columns
    try:
        return Schema(tuple(Column(c.name, c.type) for c in columns))
    except CatalogError as error:
        raise CatalogError(
            f'PostgreSQL table "{table}" has columns whose names differ only in case',
            detail=f"{error.primary[0].upper()}{error.primary[1:]}.",
            hint="Make a view that names them differently, and attach that.",
        ) from None


@dataclass(frozen=True)
class PgColumn:
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
        """What to select so that COPY writes a text `parse` can read."""
        name = name_text(self.name)
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
class PgTable:
    schema: str
    name: str
    columns: tuple[PgColumn, ...]

    @property
    def quoted(self) -> str:
        return f"{name_text(self.schema)}.{name_text(self.name)}"

    def named(self, name: str) -> PgColumn:
        """The column of that name: as it is written or, failing that, regardless of case."""
        for column in self.columns:
            if column.name == name:
                return column
        alike = [c for c in self.columns if c.name.lower() == name.lower()]
        if len(alike) != 1:
            where = f' in PostgreSQL table "{self.schema}.{self.name}"'
            raise UnknownName("column", name, [c.name for c in self.columns], where=where)
        return alike[0]

    def column(self, known: Column) -> PgColumn:
        """The column millpond knows as `known`, if it is still the same."""
        found = self.named(known.name)
        if found.type != known.type:
            raise EngineError(
                f'column "{known.name}" of PostgreSQL table "{self.schema}.{self.name}" has changed its type',
                detail=f"It was {known.type} and is {found.type} now.",
                hint="Drop the standard table, which leaves PostgreSQL's alone, and create it again.",
            )
        return found


def find(connection: psycopg.Connection[Any], table: str) -> PgTable:
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
        PgColumn(column, kind if builtin else "", modifier, typtype == "e")
        for column, kind, modifier, builtin, typtype in connection.execute(_COLUMNS, [oid])
    )
    return PgTable(schema_name, table_name, columns)


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
