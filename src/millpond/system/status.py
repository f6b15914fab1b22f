"""`Pond.status`: the system tables that tell what a pond holds and does, as plain values."""

from __future__ import annotations

from typing import Any

from millpond.system.registry import Reading, Row, SystemHost
from millpond.system.tables import STREAMING


def status(host: SystemHost) -> dict[str, Any]:
    """Rows of system tables, by name where they have one."""
    reading = Reading(host)
    tables = reading.rows("tables")
    pond = reading.rows("pond")[0]
    return {
        "pond": pond["path"],
        "written": pond["written"],
        "tables": _by_name([row for row in tables if row["kind"] == STREAMING]),
        "standard_tables": sorted(row["name"] for row in tables if row["kind"] != STREAMING),
        "feeds": _by_name(reading.rows("feeds")),
        "queries": _by_name(reading.rows("queries")),
        "triggers": reading.rows("triggers"),
        "pipeline": None
        if pond["pipeline"] is None
        else {"state": pond["pipeline"], **{name: pond[name] for name in ("workers", "ticks", "problem")}},
    }


def _by_name(rows: list[Row]) -> dict[str, Row]:
    return {row["name"]: {k: v for k, v in row.items() if k != "name"} for row in rows}
