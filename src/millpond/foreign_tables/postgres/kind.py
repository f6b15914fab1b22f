"""PostgreSQL as a kind of foreign table."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from millpond.foreign_tables.base import ForeignTableKind
from millpond.foreign_tables.postgres.rows import fetch, insert
from millpond.foreign_tables.postgres.tables import describe
from millpond.schema import Schema
from millpond.table.store import Bounds


class PostgresKind(ForeignTableKind):
    """`FROM POSTGRES '<connection string>' [TABLE '<table>' | '<schema>.<table>']`."""

    name = "postgres"
    system = "PostgreSQL"

    def describe(self, address: str, table: str) -> Schema:
        return describe(address, table)

    def fetch(self, address: str, table: str, columns: Sequence[str], schema: Schema, bounds: Bounds) -> pa.Table:
        return fetch(address, table, columns, schema, bounds)

    def insert(self, address: str, table: str, rows: pa.Table) -> int:
        return insert(address, table, rows)
