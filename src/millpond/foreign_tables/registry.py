"""The kinds of foreign table that SQL knows. To add one, write a `ForeignTableKind` in a package of its own and either name it
here, call `FOREIGN_TABLES.register`, or offer it from a package under the entry point `millpond.foreign_tables`."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from millpond.catalog import StandardTable
from millpond.extensions import Registry
from millpond.foreign_tables.base import ForeignTableKind
from millpond.foreign_tables.postgres import PostgresKind
from millpond.table.store import Bounds

FOREIGN_TABLES: Registry[ForeignTableKind] = Registry(
    "kind of foreign table", "millpond.foreign_tables", [PostgresKind()]
)


def fetch(table: StandardTable, columns: Sequence[str], bounds: Bounds) -> pa.Table:
    """The rows of a foreign table that may fit `bounds`."""
    assert table.address is not None
    kind = FOREIGN_TABLES.find(table.foreign_kind)
    return kind.fetch(table.address, table.foreign_name or table.name, columns, table.columns, bounds)


def insert(table: StandardTable, rows: pa.Table) -> int:
    """Append rows to a foreign table, all or none; how many."""
    assert table.address is not None
    return FOREIGN_TABLES.find(table.foreign_kind).insert(table.address, table.foreign_name or table.name, rows)


def system_of(table: StandardTable) -> str:
    """What the system is called in which a foreign table lives; the name of its kind if that is not installed here."""
    kind = FOREIGN_TABLES.get(table.foreign_kind)
    return kind.system if kind is not None else table.foreign_kind
