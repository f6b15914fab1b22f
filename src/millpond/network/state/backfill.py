"""History for the network: the rows of streams as they are in the pond, live and archived, asked for in SQL.

Used when a query is added, altered or taken up after a restart. Rows are numbered below `position` (what the network
has seen) when that matters: for those that still wait for their time.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from datetime import date
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
from sqlglot import exp

from millpond.arrow import arrow_schema
from millpond.catalog import Catalog, ContinuousQuery, StandardTable, StreamingTable
from millpond.duration import TimeUnit
from millpond.event_time import sort_by_time
from millpond.network.state import checkpoints, last_result
from millpond.query.binding.bind import bind
from millpond.query.binding.uses import Use
from millpond.query.from_history import Historian
from millpond.query.local import Local
from millpond.query.plan import Shelf, make_plan
from millpond.query.relation import SPARK
from millpond.schema import SEQ, Schema, with_seq
from millpond.sql.dialect import read_tree, tokenize
from millpond.table.lookup import Lookups
from millpond.windows.base import Window

WHOLE = -1  # in the place of a shard's number: all rows
_STRETCH = 4_000_000
_SMALL = 100_000  # rows of a standard table that is read whole, not looked up


class Past:
    """Asks `shelf` (a pond, or a reader of one) through the embedded engine. `kept` is where checkpoints are; `note` is told of
    tables of which a part was read."""

    def __init__(
        self,
        shelf: Shelf,
        local: Local,
        catalog: Catalog,
        kept: Path,
        shard: int = WHOLE,
        note: Callable[[str, float], None] = lambda _table, _fraction: None,
    ) -> None:
        self.historian = Historian(shelf, local, note)
        self._shelf = shelf
        self._kept = kept
        self.shard = shard
        self._local = local
        self.catalog = catalog
        self._standards: dict[str, pa.Table] = {}  # of this step
        self._small: dict[
            str, tuple[tuple[StandardTable, str, int], pa.Table]
        ] = {}  # of the last version that was asked for
        self._lookups: dict[Path, Lookups] = {}

    def rows(self, stream: str, low: int | None, high: int) -> pa.Table:
        return self._between(stream, self._stream(stream)[0].columns, low, high)

    def _between(self, stream: str, columns: Schema, low: int | None, high: int) -> pa.Table:
        table, time = self._stream(stream)
        where = f"{time} <= {_literal(table, high)}"
        if low is not None:
            where += f" AND {time} >= {_literal(table, low)}"
        chosen = SPARK.names([*columns.names, SEQ])
        text = f"SELECT {chosen} FROM `{table.name}` WHERE {where} ORDER BY {time}, {SEQ}"
        return self._ask(table, text, columns)

    def newest(self, stream: str, count: int, high: int) -> pa.Table:
        table, time = self._stream(stream)
        where = f"{time} <= {_literal(table, high)}"
        text = f"SELECT {_all(table)} FROM `{table.name}` WHERE {where} ORDER BY {time} DESC, {SEQ} DESC LIMIT {count}"
        found = self._ask(table, text)
        return found.take(pa.array(range(found.num_rows - 1, -1, -1), pa.int64()))

    def keyed(self, stream: str, window: Window, low: int | None, high: int) -> Iterator[pa.Table]:
        """Rows that hold those of the partitioned window with low <= time <= high, in order, part by part. Older rows may be
        among them, and after a checkpoint some twice: `KeyedRows.fill` keeps the right ones."""
        table, _ = self._stream(stream)
        columns = with_seq(table.columns)
        kept = self.kept(stream, checkpoints.of_keys(window), high, arrow_schema(columns), table.time_column)
        if kept is None and self.shard == WHOLE and table.shards > 1:
            kept = self._kept_by_shards(table, window, high)
        if kept is not None:
            yield sort_by_time(kept[0], table.time_column)
            low = kept[1] + 1
        assert window.rows is not None
        yield from self._newest_by_key(table, window.columns, window.rows, low, high)

    def _kept_by_shards(self, table: StreamingTable, window: Window, high: int) -> tuple[pa.Table, int] | None:
        """The checkpoints of all shards together, for a window that is evaluated whole for once."""
        if not set(table.shard_by) <= {key.lower() for key in window.columns}:
            return None
        schema, fingerprint = arrow_schema(with_seq(table.columns)), checkpoints.of_keys(window)
        parts = []
        for shard in range(table.shards):
            part = checkpoints.find(
                self._kept, table.folder, fingerprint, shard, table.shards, high, schema, table.time_column
            )
            if part is None:
                return None
            parts.append(part)
        return pa.concat_tables([rows for rows, _ in parts]), min(since for _, since in parts)

    def kept(
        self, stream: str, fingerprint: str, high: int, schema: pa.Schema, time_column: str
    ) -> tuple[pa.Table, int] | None:
        """The checkpoint of a window, and the time since which rows are to be added."""
        if stream not in self.catalog.streaming:
            return None
        table = self.catalog.streaming[stream]
        return checkpoints.find(
            self._kept, table.folder, fingerprint, self.shard, table.shards, high, schema, time_column
        )

    def _newest_by_key(
        self, table: StreamingTable, keys: tuple[str, ...], count: int, low: int | None, high: int
    ) -> Iterator[pa.Table]:
        time = SPARK.quote(table.time_column)
        by = SPARK.names(table.columns.find(k, table.name).name for k in keys)
        rank = f"ROW_NUMBER() OVER (PARTITION BY {by} ORDER BY {time} DESC, {SEQ} DESC) AS k_"
        for begin, end in self._stretches(table, low, high):
            where = f"{time} >= {_literal(table, begin)} AND {time} <= {_literal(table, end)}"
            ranked = f"SELECT {_all(table)}, {rank} FROM `{table.name}` WHERE {where}"
            yield self._ask(table, f"SELECT {_all(table)} FROM ({ranked}) WHERE k_ <= {count} ORDER BY {time}, {SEQ}")

    def parts(self, stream: str, names: Collection[str], low: int | None, high: int) -> Iterator[pa.Table]:
        table, _ = self._stream(stream)
        wanted = {n.lower() for n in (*names, table.time_column, *table.shard_by)}
        columns = Schema(tuple(c for c in table.columns if c.name.lower() in wanted))
        for begin, end in self._stretches(table, low, high):
            yield self._between(stream, columns, begin, end)

    def _stretches(self, table: StreamingTable, low: int | None, high: int) -> Iterator[tuple[int, int]]:
        """Times from `low` to `high` in stretches of some million rows, so that no question needs much memory."""
        spans = sorted(s for s in self._spans(table) if s[0] <= high)
        if not spans:
            return
        begin = spans[0][0] if low is None else max(low, spans[0][0])
        rows = 0
        for least, count in spans:
            if rows >= _STRETCH and least > begin:
                yield begin, least - 1
                begin, rows = least, 0
            rows += count
        if begin <= high:
            yield begin, high

    def _spans(self, table: StreamingTable) -> list[tuple[int, int]]:
        """The least time and the number of rows of each file and block."""
        snapshot = self._shelf.snapshot(Use("__r0", table.name, table))
        assert snapshot is not None
        files = [(f.least, f.rows) for f in snapshot.version.files.values()]
        return [(least, rows) for least, rows in [*files, *((b.least, b.rows) for b in snapshot.blocks)] if rows]

    def waiting(self, stream: str, watermark: int | None, position: int) -> pa.Table:
        """Rows below `position` whose time is not complete yet, in order of arrival."""
        table, time = self._stream(stream)
        where = f"{SEQ} < {position}"
        if watermark is not None:
            where += f" AND {time} >= {_literal(table, watermark)}"
        return self._ask(table, f"SELECT {_all(table)} FROM `{table.name}` WHERE {where} ORDER BY {SEQ}")

    def oldest_time(self, stream: str) -> int | None:
        table, _ = self._stream(stream)
        return min((least for least, _ in self._spans(table)), default=None)

    def before(self, query: ContinuousQuery, last: int, schema: pa.Schema) -> pa.Table | None:
        return last_result.find(self._kept.parent, query, last, schema)

    def standard(self, name: str) -> pa.Table:
        if name not in self._standards:
            self._standards[name] = self._whole(self.catalog.standard[name])
        return self._standards[name]

    def _whole(self, table: StandardTable) -> pa.Table:
        """All rows of a standard table. Those of a small one are kept as long as no version follows."""
        snapshot = self._shelf.snapshot(Use("__r0", table.name, table))
        version = None if snapshot is None else (table, snapshot.version.table_id, snapshot.version.number)
        known = self._small.get(table.name)
        if known is not None and known[0] == version:
            return known[1]
        rows = self._ask(table, f"SELECT {SPARK.names(table.columns.names)} FROM `{table.name}`")
        if version is not None and rows.num_rows <= _SMALL:
            self._small[table.name] = version, rows
        else:
            self._small.pop(table.name, None)
        return rows

    def looked_up(self, name: str, columns: Sequence[str], keys: Sequence[pa.ChunkedArray]) -> pa.Table:
        """At least the rows of a standard table whose `columns` have one of the values of `keys`."""
        table = self.catalog.standard[name]
        if name in self._standards:
            return self._standards[name]
        snapshot = self._shelf.snapshot(Use("__r0", name, table))
        if snapshot is not None and snapshot.version.rows <= _SMALL:
            return self.standard(name)
        wanted = {c: pc.unique(k).drop_null() for c, k in zip(columns, keys, strict=True)}
        if not all(len(values) for values in wanted.values()):
            return arrow_schema(table.columns).empty_table()
        numbers = {c: values for c, values in wanted.items() if pa.types.is_integer(values.type)}
        if snapshot is not None and numbers:
            lookups = self._lookups.setdefault(snapshot.folder, Lookups(snapshot.folder))
            found = lookups.rows(snapshot.version, arrow_schema(table.columns), numbers)
            if found is not None:
                return found
        tests = [f"{SPARK.quote(c)} IN ({', '.join(map(_value, v.to_pylist()))})" for c, v in wanted.items()]
        select = f"SELECT {SPARK.names(table.columns.names)} FROM `{table.name}` WHERE {' AND '.join(tests)}"
        return self._ask(table, select)

    def forget_standards(self) -> None:
        """Look again at the next question: a change in a standard table is seen at the next instant."""
        self._standards.clear()
        for name in self._small.keys() - self.catalog.standard.keys():
            del self._small[name]

    def _stream(self, stream: str) -> tuple[StreamingTable, str]:
        table = self.catalog.relation(stream)
        assert isinstance(table, StreamingTable)
        return table, SPARK.quote(table.time_column)

    def _ask(self, table: StreamingTable | StandardTable, text: str, columns: Schema | None = None) -> pa.Table:
        """The answer; it has `columns` of the table, all of them unless told."""
        bound = bind(read_tree(text, tokenize(text)), self.catalog, text)
        plan = make_plan(bound, self._shelf, engine="duckdb", large_rows=1 << 62)
        columns = columns or table.columns
        if isinstance(table, StreamingTable):
            columns = with_seq(columns)
        return self._local.run(plan).rows.rename_columns(columns.names).cast(arrow_schema(columns))


def _literal(table: StreamingTable, time: int) -> str:
    """A time in Spark's words, such as both engines know."""
    return str(time) if table.unit is TimeUnit.SECOND else f"TIMESTAMP '{table.shown(time)}'"


def _value(value: int | str | date) -> str:
    """A value of a key in SQL."""
    if isinstance(value, date):
        return f"DATE '{value.isoformat()}'"
    if isinstance(value, str):
        return exp.Literal.string(value).sql(dialect="spark")
    return str(value)


def _all(table: StreamingTable) -> str:
    return SPARK.names([*table.columns.names, SEQ])
