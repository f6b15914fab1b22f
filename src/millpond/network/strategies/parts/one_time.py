"""The one-time result of a query over given contents of the relations it reads."""

from __future__ import annotations

from collections.abc import Mapping

import pyarrow as pa

from millpond.arrow import arrow_schema, data_type
from millpond.network.engine.engine import Engine
from millpond.network.plan.prepared import Prepared
from millpond.query.instant import at_instant
from millpond.query.local import with_relations
from millpond.query.relation import DUCKDB, with_previous
from millpond.schema import Column, with_seq


def ask(engine: Engine, prepared: Prepared, tables: Mapping[str, pa.Table], instant: int) -> pa.Table:
    """The result at an instant; `tables` are the contents, by the names of the relations."""
    parts = []
    for use in (*prepared.streams, *prepared.standards):
        content = with_previous(use, f"SELECT * FROM {use.name}_rows", DUCKDB)
        parts.append(f"{use.name} AS NOT MATERIALIZED ({content})")
    text = with_relations(parts, at_instant(prepared.text, instant))
    engine.learn(prepared.bound.functions)
    return engine.run(text, {f"{name}_rows": rows for name, rows in tables.items()})


def result_columns(engine: Engine, prepared: Prepared) -> list[Column]:
    """What a query selects, found by asking it over nothing."""
    tables = {}
    for use in (*prepared.streams, *prepared.standards):
        columns = use.columns if use in prepared.standards else with_seq(use.columns)
        tables[use.name] = arrow_schema(columns).empty_table()
    found = ask(engine, prepared, tables, 0).schema
    return [Column(n.lower(), data_type(f.type)) for n, f in zip(prepared.bound.names, found, strict=True)]
