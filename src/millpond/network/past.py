"""History for the network: the rows of streams as they are in the pond, live and archived, asked for in SQL.

Used when a query is added, altered or taken up after a restart. Rows are numbered below `position` (what the network
has seen) when that matters: for those that still wait for their time.
"""

from __future__ import annotations

import pyarrow as pa

from millpond.arrow import arrow_schema
from millpond.catalog import Catalog, StandardTable, StreamingTable
from millpond.duration import TimeUnit
from millpond.network.inlet import ticks_of
from millpond.query.bind import bind
from millpond.query.local import Local
from millpond.query.plan import Shelf, make_plan
from millpond.query.relation import SPARK
from millpond.schema import SEQ, Column, DataType
from millpond.sql.dialect import read_tree, tokenize


class Past:
    """Asks `shelf` (a pond, or a reader of one) through the embedded engine."""

    def __init__(self, shelf: Shelf, local: Local, catalog: Catalog) -> None:
        self._shelf = shelf
        self._local = local
        self.catalog = catalog
        self._standards: dict[str, pa.Table] = {}

    def rows(self, stream: str, low: int | None, high: int) -> pa.Table:
        table, time = self._stream(stream)
        where = f"{time} <= {_literal(table, high)}"
        if low is not None:
            where += f" AND {time} >= {_literal(table, low)}"
        return self._ask(table, f"SELECT {_all(table)} FROM `{table.name}` WHERE {where} ORDER BY {time}, {SEQ}")

    def newest(self, stream: str, count: int, high: int) -> pa.Table:
        table, time = self._stream(stream)
        where = f"{time} <= {_literal(table, high)}"
        text = f"SELECT {_all(table)} FROM `{table.name}` WHERE {where} ORDER BY {time} DESC, {SEQ} DESC LIMIT {count}"
        found = self._ask(table, text)
        return found.take(pa.array(range(found.num_rows - 1, -1, -1), pa.int64()))

    def keyed(self, stream: str, keys: tuple[str, ...], count: int, high: int) -> pa.Table:
        table, time = self._stream(stream)
        by = SPARK.names(table.columns.find(k, table.name).name for k in keys)
        rank = f"ROW_NUMBER() OVER (PARTITION BY {by} ORDER BY {time} DESC, {SEQ} DESC) AS k_"
        where = f"{time} <= {_literal(table, high)}"
        ranked = f"SELECT {_all(table)}, {rank} FROM `{table.name}` WHERE {where}"
        return self._ask(table, f"SELECT {_all(table)} FROM ({ranked}) WHERE k_ <= {count} ORDER BY {time}, {SEQ}")

    def waiting(self, stream: str, complete: int | None, position: int) -> pa.Table:
        """Rows below `position` whose time is not complete yet, in order of arrival."""
        table, time = self._stream(stream)
        where = f"{SEQ} < {position}"
        if complete is not None:
            where += f" AND {time} >= {_literal(table, complete)}"
        return self._ask(table, f"SELECT {_all(table)} FROM `{table.name}` WHERE {where} ORDER BY {SEQ}")

    def newest_time(self, stream: str, high: int) -> int | None:
        rows = self.newest(stream, 1, high)
        table, _ = self._stream(stream)
        return int(ticks_of(rows, table.time_column)[0]) if rows.num_rows else None

    def oldest_time(self, stream: str) -> int | None:
        table, time = self._stream(stream)
        rows = self._ask(table, f"SELECT {_all(table)} FROM `{table.name}` ORDER BY {time}, {SEQ} LIMIT 1")
        return int(ticks_of(rows, table.time_column)[0]) if rows.num_rows else None

    def standard(self, name: str) -> pa.Table:
        if name not in self._standards:
            table = self.catalog.standard[name]
            self._standards[name] = self._ask(table, f"SELECT {SPARK.names(table.columns.names)} FROM `{table.name}`")
        return self._standards[name]

    def forget_standards(self) -> None:
        """Look again at the next question: a change in a standard table is seen at the next instant."""
        self._standards.clear()

    def _stream(self, stream: str) -> tuple[StreamingTable, str]:
        table = self.catalog.relation(stream)
        assert isinstance(table, StreamingTable)
        return table, SPARK.quote(table.time_column)

    def _ask(self, table: StreamingTable | StandardTable, text: str) -> pa.Table:
        bound = bind(read_tree(text, tokenize(text)), self.catalog, text)
        plan = make_plan(bound, self._shelf, engine="duckdb", large_rows=1 << 62)
        columns = table.columns
        if isinstance(table, StreamingTable):
            columns = columns.plus(Column(SEQ, DataType("BIGINT")))
        return self._local.run(plan).rows.rename_columns(columns.names).cast(arrow_schema(columns))


def _literal(table: StreamingTable, ticks: int) -> str:
    """A time in Spark's words, such as both engines know."""
    return str(ticks) if table.unit is TimeUnit.SECOND else f"TIMESTAMP '{table.shown(ticks)}'"


def _all(table: StreamingTable) -> str:
    return SPARK.names([*table.columns.names, SEQ])
