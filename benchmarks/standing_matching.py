"""Standing queries: rows matched against very many predicates, on one core, beside the same queries one by one in DuckDB.

The workload of PSoup's experiments: values uniform in 0..255; constants a multiple of 32 with probability 0.2, else uniform;
a query is an interval on each of 1, 2 or 4 columns. Then queries that name a value, `symbol = 'X' AND price < c`: a symbol
for each query, or so few symbols that a row finds ten times as many queries when there are ten times as many.
"""

from __future__ import annotations

import time
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa

from benchmarks.harness import Options, Report, median, rounded
from millpond.arrow import schema_of
from millpond.predicate.form import And, Compare, Predicate
from millpond.predicate.vector import Columns
from millpond.standing.index import Matches, PredicateIndex

NAMES = ("a", "b", "c", "d")
INTERVALS = pa.schema([pa.field(name, pa.int32()) for name in NAMES])
TRADES = pa.schema([pa.field("symbol", pa.string()), pa.field("price", pa.int64())])
Interval = tuple[str, int, int]


class Batch:
    """Rows as the index takes them."""

    def __init__(self, table: pa.Table) -> None:
        self.table = table
        self.size = table.num_rows

    def column(self, name: str) -> pa.ChunkedArray:
        return self.table.column(name)


def run(options: Options, report: Report) -> None:
    report.issue = 13
    random = np.random.default_rng(13)
    _intervals(options, report, random)
    _equality(options, report, random)


# -- intervals --------------------------------------------------------------------------------------------------------


def _intervals(options: Options, report: Report, random: np.random.Generator) -> None:
    size = options.size(1 << 16, 1 << 10)
    batches = [Batch(_values(random, size)) for _ in range(options.size(8, 2))]
    counts = [1 << p for p in range(7, 13)] if not options.quick else [1 << 7, 1 << 8]
    rows: list[dict[str, Any]] = []
    for columns in (1, 2, 4):
        for count in counts:
            queries = [_query(random, columns) for _ in range(count)]
            index = PredicateIndex(schema_of(INTERVALS))
            index.add(enumerate(map(_predicate, queries)))
            times, found = _timed(index, batches)
            row: dict[str, Any] = {
                "columns": columns, "queries": count, "rows/s": rounded(size / median(times)),
                "matches a row": rounded(_count(found) / size),
                "bytes a query": round(index.bytes() / count), "output bytes a row": round(found.nbytes / size),
                "DuckDB rows/s": None, "times DuckDB": None,
            }  # fmt: skip
            if count == counts[-1]:
                seconds, matched = _one_by_one(batches[-1].table, queries)
                assert matched == _count(found), f"{matched} matches in DuckDB, {_count(found)} here"
                row |= {"DuckDB rows/s": rounded(size / seconds), "times DuckDB": rounded(seconds / median(times))}
                report.bar(3, f"rows/s, {count} intervals on {columns} columns", size / median(times), ">=", 500_000)
                report.bar(3, f"times DuckDB, {columns} columns", seconds / median(times), ">=", 50)
            rows.append(row)
        report.say(f"intervals on {columns} columns")
    report.table("Interval queries, one core", rows)


def _values(random: np.random.Generator, size: int) -> pa.Table:
    return pa.table({n: random.integers(0, 256, size, dtype=np.int32) for n in NAMES}, schema=INTERVALS)


def _constant(random: np.random.Generator) -> int:
    return int(random.integers(0, 8)) * 32 if random.random() < 0.2 else int(random.integers(0, 256))


def _query(random: np.random.Generator, columns: int) -> list[Interval]:
    chosen = random.permutation(len(NAMES))[:columns]
    ends = [sorted((_constant(random), _constant(random))) for _ in chosen]
    return [(NAMES[c], low, high) for c, (low, high) in zip(chosen, ends, strict=True)]


def _predicate(query: list[Interval]) -> Predicate:
    return And(tuple(p for name, low, high in query for p in (Compare(name, ">=", low), Compare(name, "<=", high))))


def _one_by_one(table: pa.Table, queries: list[list[Interval]]) -> tuple[float, int]:
    """Seconds for all queries over a batch in DuckDB, on one core, and how many matches there were."""
    with duckdb.connect() as engine:
        engine.execute("SET threads = 1")
        engine.register("given", table.append_column("place", pa.array(range(len(table)), pa.int32())))
        engine.execute("CREATE TABLE batch AS FROM given")
        matched = 0
        begin = time.perf_counter()
        for query in queries:
            where = " AND ".join(f"{name} BETWEEN {low} AND {high}" for name, low, high in query)
            matched += len(engine.execute(f"SELECT place FROM batch WHERE {where}").fetchnumpy()["place"])
        return time.perf_counter() - begin, matched


# -- queries that name a value ----------------------------------------------------------------------------------------


def _equality(options: Options, report: Report, random: np.random.Generator) -> None:
    size = options.size(1 << 16, 1 << 10)
    few, many = options.size(100_000, 1_000), options.size(1_000_000, 10_000)
    rows: list[dict[str, Any]] = []
    rates: dict[tuple[str, int], float] = {}
    for kind in ("a symbol a query", f"{few:,} symbols"):
        for count in (few, many):
            symbols = count if kind == "a symbol a query" else few
            chosen = random.permutation(symbols) if symbols == count else random.integers(0, symbols, count)
            limits = random.integers(0, 10_000, count)
            begin = time.perf_counter()
            predicates = [
                And((Compare("symbol", "=", f"SYM{s}"), Compare("price", "<", p)))
                for s, p in zip(chosen.tolist(), limits.tolist(), strict=True)
            ]
            made = time.perf_counter() - begin
            index = PredicateIndex(schema_of(TRADES))
            begin = time.perf_counter()
            index.add(enumerate(predicates))
            added = time.perf_counter() - begin
            del predicates
            batches = [Batch(_trades(random, size, symbols)) for _ in range(options.size(12, 2))]
            times, found = _timed(index, batches)
            _check(found, batches[-1].table, chosen, limits)
            begin = time.perf_counter()
            index.add([(count, Compare("symbol", "=", "SYM1"))])
            index.match(Columns(Batch(batches[0].table.slice(0, 1))))
            one = time.perf_counter() - begin
            rates[kind, count] = size / median(times)
            rows.append(
                {"": kind, "queries": count, "rows/s": rounded(rates[kind, count]),
                 "matches a row": rounded(_count(found) / size),
                 "bytes a query": round(index.bytes() / count), "predicates made, s": rounded(made), "added, s": rounded(added),
                 "one more, ms": rounded(one * 1000)}
            )  # fmt: skip
            report.say(f"{kind}, {count:,} queries")
    report.table("Queries that name a value, one core", rows)
    own = "a symbol a query"
    report.bar(3, f"rows/s, {few:,} queries that name a value", rates[own, few], ">=", 150_000)
    report.bar(3, f"times slower with {many:,}", rates[own, few] / rates[own, many], "<=", 2)
    report.bar(3, f"seconds to add {many:,}", rows[1]["added, s"], "<=", 10)


def _trades(random: np.random.Generator, size: int, symbols: int) -> pa.Table:
    names = pa.array([f"SYM{s}" for s in random.integers(0, symbols, size).tolist()])
    return pa.table({"symbol": names, "price": random.integers(0, 10_000, size)}, schema=TRADES)


def _check(found: Matches, table: pa.Table, symbols: Any, limits: Any) -> None:
    """The matches of DuckDB's join of queries and rows."""
    queries = pa.table({"entry": np.arange(len(symbols)), "s": symbols, "p": limits})
    with duckdb.connect() as engine:
        engine.register("queries", queries)
        engine.register("trades", table)
        joined = engine.execute(
            "SELECT COUNT(*), COALESCE(SUM(entry), 0) FROM trades JOIN queries ON symbol = 'SYM' || s AND price < p"
        ).fetchone()
    entries, _ = found.pairs()
    assert joined == (len(entries), int(entries.sum(dtype=np.int64))), joined


def _timed(index: PredicateIndex, batches: list[Batch]) -> tuple[list[float], Matches]:
    """Seconds for each batch but the first, and the matches of the last."""
    times = []
    for batch in batches:
        columns = Columns(batch)
        begin = time.perf_counter()
        found = index.match(columns)
        times.append(time.perf_counter() - begin)
    return times[1:], found


def _count(found: Matches) -> int:
    return len(found.places) + sum(int(np.bitwise_count(block.bits).sum(dtype=np.int64)) for block in found.dense)
