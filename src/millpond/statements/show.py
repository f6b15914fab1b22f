"""SHOW and DESCRIBE: a part of a system table each, under the same names."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import pyarrow as pa

from millpond.catalog import Catalog
from millpond.errors import UnknownName
from millpond.query.system_names import find_system_table
from millpond.result import Result
from millpond.sql import statements as st
from millpond.system.queries import QUERY, VIEW
from millpond.system.registry import Reading, system_tables
from millpond.system.tables import FOREIGN, STANDARD, STREAMING

if TYPE_CHECKING:
    from millpond.workspace.workspace import Workspace


@dataclass(frozen=True)
class Shown:
    """Some columns of a system table, and which rows: those that have one of the values of `where`."""

    table: str
    columns: tuple[str, ...]
    where: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


_TABLES = ("name", "kind", "rows", "watermark", "range", "lateness", "rejected")
_QUERIES = (
    "name", "state", "sample", "stream_operator", "sent", "last_instant", "frontier", "problem", "evaluating_since",
    "leaves_out", "leaves_out_since", "sql",
)  # fmt: skip
SHOWN = {
    "tables": Shown("tables", _TABLES),
    "streaming tables": Shown("tables", _TABLES, {"kind": (STREAMING,)}),
    "standard tables": Shown("tables", _TABLES, {"kind": (STANDARD, FOREIGN)}),
    "rejected": Shown("tables", ("name", "late", "ahead", "malformed"), {"kind": (STREAMING,)}),
    "indexes": Shown("indexes", ("name", "table", "columns")),
    "sources": Shown("sources", ("name", "kind", "location", "format")),
    "feeds": Shown("feeds", ("name", "source", "table", "state", "rejected", "problem", "sql")),
    "continuous queries": Shown("queries", _QUERIES, {"kind": (QUERY,)}),
    "streaming views": Shown("queries", _QUERIES, {"kind": (VIEW,)}),
    "standing queries": Shown("standing_queries", ("id", "name", "keep", "state", "sql")),
    "state": Shown("state", ("holder", "what", "table", "shard", "rows", "bytes")),
    "triggers": Shown("triggers", ("query", "do", "target", "state", "sent", "lag", "missed", "problem")),
    "layouts": Shown("layouts", ("table", "design", "levels", "runs", "bytes", "copied_bytes", "to_convert")),
    "reductions": Shown("reductions", ("name", "table", "every", "design", "keys", "sent_to", "problem", "sql")),
    "functions": Shown("functions", ("name", "kind", "arguments", "returns", "nulls", "python")),
}


def show(workspace: Workspace, statement: st.Show) -> Result:
    workspace.refresh()
    shown = SHOWN[statement.kind]
    table = Reading(workspace).table(shown.table)
    rows = [
        {n: _line(row[n]) if n == "problem" else row[n] for n in shown.columns}
        for row in table.to_pylist()
        if all(row[name] in values for name, values in shown.where.items())
    ]
    return Result(pa.Table.from_pylist(rows, schema=table.select(shown.columns).schema))


def _line(text: str | None) -> str | None:
    """The fact that an error begins with, without detail and hint."""
    return text.splitlines()[0] if text else None


def describe_relation(workspace: Workspace, statement: st.Describe) -> Result:
    workspace.refresh()
    name = statement.name.lower()
    system = {table.name for table in system_tables().values()}
    if statement.system:
        name = find_system_table(name, system_tables(), sql=statement.sql, span=statement.span).name
    found = [row for row in Reading(workspace).rows("columns") if row["table"] == name]
    if not found or (name in system and not statement.system):  # `millpond.queries` in backquotes is one plain name
        raise UnknownName(
            "table", statement.name, _describable(workspace.catalog), sql=statement.sql, span=statement.span
        )
    columns = {"column": "name", "type": "type", "note": "note"}
    return Result(pa.table({to: pa.array([row[n] for row in found], pa.string()) for to, n in columns.items()}))


def _describable(catalog: Catalog) -> list[str]:
    return [*catalog.relation_names(), *catalog.sources]
