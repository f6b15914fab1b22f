"""DESCRIBE and SHOW: the catalog and the state of its tables, as rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa

from millpond.acts import continuous, functions, trigger
from millpond.catalog import REJECTED_SUFFIX, StreamingTable
from millpond.duration import describe
from millpond.errors import UnknownName
from millpond.result import Result
from millpond.schema import Schema
from millpond.sql import statements as st
from millpond.table.stream import StreamTable

if TYPE_CHECKING:
    from millpond.pond import Pond


def describe_relation(pond: Pond, statement: st.Describe) -> Result:
    pond.refresh()
    catalog = pond.catalog
    found = catalog.relation(statement.name)
    base = statement.name.lower().removesuffix(REJECTED_SUFFIX)
    if found is None and base in catalog.streaming:
        from millpond.catalog import REJECTED_COLUMNS

        return _described(REJECTED_COLUMNS, {})
    if found is None:
        raise UnknownName(
            "table",
            statement.name,
            [*catalog.relation_names(), *catalog.sources],
            sql=statement.sql,
            span=statement.span,
        )
    notes: dict[str, list[str]] = {}
    if isinstance(found, StreamingTable):
        notes.setdefault(found.time_column, []).append("time" + (", implicit" if found.implicit_time else ""))
        for name in found.shard_by:
            notes.setdefault(name, []).append(f"shard key, {found.shards} shards")
        for index in found.indexes:
            notes.setdefault(index.columns[0], []).append(f"index {index.name}")
    return _described(found.columns, {k: "; ".join(v) for k, v in notes.items()})


def show(pond: Pond, statement: st.Show) -> Result:
    pond.refresh()
    catalog = pond.catalog
    if statement.kind in ("continuous queries", "streaming views"):
        return continuous.show(pond, statement)
    if statement.kind == "state":
        return continuous.show_state(pond, statement)
    if statement.kind == "functions":
        return functions.show(pond)
    if statement.kind == "triggers":
        return trigger.show(pond)
    if statement.kind in ("tables", "streaming tables", "standard tables"):
        return _show_tables(pond, statement.kind)
    if statement.kind == "indexes":
        rows = [
            {"name": i.name, "table": t.name, "columns": ", ".join(i.columns)}
            for t in catalog.streaming.values()
            for i in t.indexes
        ]
        return _listed(rows, ["name", "table", "columns"])
    if statement.kind == "sources":
        rows = [
            {"name": s.name, "kind": s.kind, "location": s.location, "format": s.format}
            for s in catalog.sources.values()
        ]
        return _listed(rows, ["name", "kind", "location", "format"])
    if statement.kind == "feeds":
        return _show_feeds(pond)
    counts = [{"table": n, "late": t.state.late, "malformed": t.state.malformed} for n, t in pond.streams().items()]
    return _listed(counts, ["table", "late", "malformed"])


def _show_feeds(pond: Pond) -> Result:
    rows = []
    for name, state in pond.feed_states().items():
        feed = pond.catalog.feeds[name]
        trouble = state["error"] or state["trouble"]
        rows.append(
            {
                "name": feed.name,
                "source": feed.source,
                "table": feed.table,
                "state": state["state"],
                "rejected": state["rejected"],
                "trouble": trouble.splitlines()[0] if trouble else None,
                "sql": feed.sql,
            }
        )
    return _listed(rows, ["name", "source", "table", "state", "rejected", "trouble", "sql"])


def _show_tables(pond: Pond, kind: str) -> Result:
    rows: list[dict[str, Any]] = []
    if kind != "standard tables":
        for name, table in pond.streams().items():
            d = table.definition
            rows.append(
                {
                    "name": name,
                    "kind": "streaming table",
                    "rows": table.rows.snapshot().rows,
                    "now": None if table.now is None else str(time_value(table)),
                    "range": "forever" if d.history is None else describe(d.history),
                    "lateness": describe(d.lateness),
                    "rejected": table.state.rejected,
                }
            )
    if kind != "streaming tables":
        for standard in pond.catalog.standard.values():
            count = None if standard.postgres else pond.standard(standard).store.snapshot().rows
            rows.append(
                {
                    "name": standard.name,
                    "kind": "PostgreSQL table" if standard.postgres else "standard table",
                    "rows": count,
                }
            )
    return _listed(rows, ["name", "kind", "rows", "now", "range", "lateness", "rejected"])


def time_value(table: StreamTable) -> Any:
    """The table's now as a user sees it: seconds, or a datetime."""
    return table.definition.value(table.now)


def _described(columns: Schema, notes: dict[str, str]) -> Result:
    rows = [{"column": c.name, "type": str(c.type), "note": notes.get(c.name, "")} for c in columns]
    return _listed(rows, ["column", "type", "note"])


def _listed(rows: list[dict[str, Any]], names: list[str]) -> Result:
    integers = {"rows", "rejected", "late", "malformed"}
    kinds = {n: pa.int64() if n in integers else pa.string() for n in names}
    return Result(pa.table({n: pa.array([r.get(n) for r in rows], kinds[n]) for n in names}))
