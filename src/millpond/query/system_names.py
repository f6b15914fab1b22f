"""System tables as the binder sees them: names and columns in the reserved schema `millpond`.

What is in them is made by `millpond.system` when a statement is planned. The binder only has to know that `millpond.queries`
is a relation, which columns it has, and that a continuous query cannot read it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from millpond.errors import Span, UnknownName, UnsupportedSql
from millpond.schema import Schema

SCHEMA = "millpond"


@dataclass(frozen=True)
class SystemTable:
    """`name` is written in full: `millpond.queries`."""

    name: str
    columns: Schema


def find_system_table(
    name: str, tables: Mapping[str, SystemTable] | None, *, sql: str | None = None, span: Span | None = None
) -> SystemTable:
    """The system table `name`, without its schema. `tables` is None where system tables cannot be read."""
    if tables is None:
        raise UnsupportedSql(
            f'system table "{SCHEMA}.{name}" can only be read by a one-time query',
            detail="It shows the pond as it is when a statement is planned; no rows arrive in it.",
            hint="Ask it with SELECT.",
            sql=sql,
            span=span,
        )
    found = tables.get(name.lower())
    if found is None:
        raise UnknownName("system table", f"{SCHEMA}.{name}", [t.name for t in tables.values()], sql=sql, span=span)
    return found
