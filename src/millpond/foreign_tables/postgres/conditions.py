"""Bounds as a WHERE clause.

Invariant. A condition is sent to PostgreSQL only where it cannot lose a row that millpond's own comparison would keep.
"""

from __future__ import annotations

import uuid
from datetime import date, datetime
from typing import Any

from millpond.foreign_tables.postgres.connection import literal_text, name_text
from millpond.foreign_tables.postgres.tables import PgColumn, PgTable
from millpond.schema import Schema
from millpond.table.store import Bounds

MOST_VALUES = 10_000  # in an IN list; a longer one costs more to say than it saves
_LARGEST = {"SMALLINT": 2**15 - 1, "INT": 2**31 - 1, "BIGINT": 2**63 - 1}


def from_where(table: PgTable, schema: Schema, bounds: Bounds, *, plain: bool) -> str:
    """FROM and WHERE. `plain`: the database may be unable to hold texts beyond ASCII, so do not ask for them."""
    conditions: list[str] = []
    for name, values in bounds.among.items():
        if name in schema:
            conditions += _is_among(table.column(schema.find(name, table.name)), values, plain)
    for name, (low, high) in bounds.between.items():
        if name in schema:
            conditions += _is_between(table.column(schema.find(name, table.name)), low, high)
    return f"FROM {table.quoted} WHERE {' AND '.join(conditions)}" if conditions else f"FROM {table.quoted}"


def _is_among(column: PgColumn, values: frozenset[Any], plain: bool) -> list[str]:
    """`column` IN `values` without those that cannot occur; nothing if PostgreSQL's answer could differ from ours."""
    name = name_text(column.name)
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
    return [f"{name} IN ({', '.join(literal_text(v) for v in kept)})"]


def _is_between(column: PgColumn, low: Any, high: Any) -> list[str]:
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
    return [f"{name_text(column.name)} {sign} {literal_text(end)}" for sign, end in ends if end is not None]


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
