"""A standard table that lives in PostgreSQL: what it looks like, its rows as Arrow, and rows for it.

`connection` opens transactions, `tables` looks tables up, `conditions` writes WHERE clauses, `values` converts between COPY's
formats and Arrow, `rows` reads and writes, `kind` is what the registry knows.
"""

from millpond.foreign_tables.postgres.kind import PostgresKind
from millpond.foreign_tables.postgres.rows import fetch, insert
from millpond.foreign_tables.postgres.tables import describe

__all__ = ["PostgresKind", "describe", "fetch", "insert"]
