"""Continuous queries evaluated the simple way: the rows of a window picked one by one, and DuckDB asked at each instant.

Nothing of the network's own evaluation is used, so that what the planner claims about a query can be checked.
"""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import duckdb
import pyarrow as pa

from millpond.arrow import arrow_schema
from millpond.catalog import Catalog, ContinuousQuery, StreamingTable
from millpond.network.plan.prepared import Prepared, prepare
from millpond.query.binding.uses import Use
from millpond.schema import SEQ, Schema
from millpond.sql import statements as st
from millpond.sql.parser import parse

Row = tuple[Any, ...]


def prepared(select: str, catalog: Catalog) -> Prepared:
    """A continuous query, its SELECT ending in SAMPLE, ready to be evaluated."""
    [statement] = parse(f"CREATE CONTINUOUS QUERY q AS {select}")
    assert isinstance(statement, st.CreateQuery)
    said = statement.body
    columns = Schema.of([("unknown", "INT")])  # of the result; evaluation does not look at them
    return prepare(ContinuousQuery("q", said.text, said.stream_operator, said.slide, columns, "q", ()), catalog)


def relation(use: Use, rows: Sequence[Row]) -> pa.Table:
    """Rows of a table as DuckDB sees them, with a row number in the order given."""
    names = use.columns.names
    schema = arrow_schema(use.columns).append(pa.field(SEQ, pa.int64()))
    listed = [{**dict(zip(names, row, strict=True)), SEQ: number} for number, row in enumerate(rows)]
    return pa.Table.from_pylist(listed, schema=schema)


def window(use: Use, rows: Sequence[Row], instant: int) -> list[Row]:
    """What a window over a table with times in seconds holds at an instant. `rows` are in order of time and arrival."""
    assert use.window is not None
    assert isinstance(use.table, StreamingTable)
    names = [n.lower() for n in use.columns.names]
    time = names.index(use.table.time_column.lower())
    past = [row for row in rows if row[time] <= instant]
    if use.window.now:
        return [row for row in past if row[time] == instant]
    if use.window.rows is not None:
        keys = [names.index(c.lower()) for c in use.window.columns]
        kept: dict[Row, list[Row]] = {}
        for row in past:
            kept.setdefault(tuple(row[k] for k in keys), []).append(row)
        chosen = [row for of_key in kept.values() for row in of_key[-use.window.rows :]]
        past = [row for row in past if any(row is each for each in chosen)]
    if use.window.interval is not None:
        past = [row for row in past if row[time] > instant - use.window.interval.total_seconds()]
    return past


def answer(query: Prepared, relations: Mapping[str, pa.Table]) -> Counter[Row]:
    """What DuckDB answers over these rows, by the name of each use."""
    connection = _connection()
    for name, rows in relations.items():
        connection.register(name, rows)
    return Counter(connection.execute(query.text).fetchall())


@functools.cache
def _connection() -> duckdb.DuckDBPyConnection:
    return duckdb.connect(config={"threads": 1})
