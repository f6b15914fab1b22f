"""The one-time result of a query over given contents of the relations it reads."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from millpond.arrow import arrow_schema, data_type
from millpond.errors import IntakeError, UnsupportedSql
from millpond.network.engine.engine import Engine
from millpond.network.engine.spark_engine import SparkEngine
from millpond.network.plan.prepared import Prepared
from millpond.network.plan.sessions import END
from millpond.query.binding.uses import Use
from millpond.query.instant import OWN_INSTANT, at_instant
from millpond.query.local import with_relations
from millpond.query.relation import DUCKDB, with_previous
from millpond.schema import Column, with_seq


def ask(
    engine: Engine, prepared: Prepared, tables: Mapping[str, pa.Table], instant: int, *, types: bool = False
) -> pa.Table:
    """The result at an instant; `tables` are the contents, by the names of the relations. With `types` its columns alone."""
    assert prepared.text is not None
    return ask_text(engine, prepared, prepared.text, tables, instant, types=types)


def ask_text(
    engine: Engine,
    prepared: Prepared,
    text: str,
    tables: Mapping[str, pa.Table],
    instant: int,
    *,
    types: bool = False,
) -> pa.Table:
    """The answer to another question about the relations of a query that `tables` holds."""
    parts = []
    for use in (*prepared.streams, *prepared.standards):
        if use.name not in tables:
            continue
        content = with_previous(use, f"SELECT * FROM {use.name}_rows", DUCKDB)
        parts.append(f"{use.name} AS NOT MATERIALIZED ({content})")
    text = with_relations(parts, at_instant(text, instant))
    engine.learn(prepared.bound.functions)
    return engine.run(text, {f"{name}_rows": rows for name, rows in tables.items()}, types=types)


def own_instants(use: Use, rows: pa.Table, instant: int, arrived: npt.NDArray[np.bool_]) -> pa.Table:
    """The content of a window with OWN_INSTANT: the instant in the row that `arrived`, the next later time in all others."""
    assert use.time_column is not None
    times = pa.array(np.where(arrived, instant, instant + 1).astype(np.int64, copy=False))
    kind = rows.schema.field(use.time_column).type
    return rows.append_column(OWN_INSTANT, times if pa.types.is_integer(kind) else times.cast(kind))


def result_columns(engine: Engine, prepared: Prepared) -> list[Column]:
    """What a query selects, found by asking for the columns alone."""
    found = ask(engine, prepared, nothing_in(prepared), 0, types=True).schema
    named = zip(prepared.bound.names, found, strict=True)
    return [Column(n.lower(), data_type(f.type)) for n, f in named if n != END]


def spark_columns(engine: SparkEngine, prepared: Prepared) -> list[Column]:
    """What a query selects that Spark evaluates."""
    columns = []
    for field in engine.schema(prepared.bound, nothing_in(prepared)):
        try:
            columns.append(Column(field.name.lower(), data_type(field.type)))
        except IntakeError as error:
            raise UnsupportedSql(
                f'column "{field.name.lower()}" has a type that results cannot have: {field.type}',
                hint="Make a text of it, for example with to_json or CAST(... AS STRING).",
            ) from error
    return columns


def nothing_in(prepared: Prepared) -> dict[str, pa.Table]:
    """The relations that a query reads, by name, without rows."""
    tables = {}
    for use in (*prepared.streams, *prepared.standards):
        columns = use.columns if use in prepared.standards else with_seq(use.columns)
        rows = arrow_schema(columns).empty_table()
        tables[use.name] = own_instants(use, rows, 0, np.zeros(0, np.bool_)) if use.own_instant else rows
    return tables
