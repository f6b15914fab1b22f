"""From relations to a stream: what a query sends at an instant, given its result now and at the instant before.

RSTREAM sends the result as it is, ISTREAM what is new in it, DSTREAM what is gone from it. A result is a bag: a value that
was there twice and is there three times is new once. NULL equals NULL here.
"""

from __future__ import annotations

import pyarrow as pa

from millpond.network.engine.engine import Engine
from millpond.query.relation import DUCKDB


def send(engine: Engine, form: str, now: pa.Table, before: pa.Table | None) -> pa.Table:
    if form == "rstream":
        return now
    if before is None:
        before = now.schema.empty_table()
    return beyond(engine, now, before) if form == "istream" else beyond(engine, before, now)


def beyond(engine: Engine, rows: pa.Table, others: pa.Table) -> pa.Table:
    """The rows that `rows` has beyond `others`, in their order."""
    if not rows.num_rows or not others.num_rows:
        return rows
    names = [f"c{i}" for i in range(rows.num_columns)]
    columns = DUCKDB.names(names)
    same = " AND ".join(f"n.{c} IS NOT DISTINCT FROM o.{c}" for c in names)
    text = (
        f"WITH o AS (SELECT {columns}, count(*) AS k FROM others GROUP BY ALL), n AS (SELECT *, row_number() OVER "
        f"(PARTITION BY {columns} ORDER BY i) AS j FROM (SELECT *, row_number() OVER () AS i FROM taken)) "
        f"SELECT {', '.join('n.' + c for c in names)} FROM n LEFT JOIN o ON {same} "
        "WHERE n.j > coalesce(o.k, 0) ORDER BY n.i"
    )
    found = engine.run(text, {"taken": rows.rename_columns(names), "others": others.rename_columns(names)})
    return found.rename_columns(rows.column_names).cast(rows.schema)
