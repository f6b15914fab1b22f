"""Bar 3: rows matched with 128 to 4,096 interval queries, and with 100,000 and 1,000,000 that name a value; DuckDB and Lucene.

Matching by itself on one core; inside the pipeline on two; the same queries one by one in DuckDB; and Lucene's Monitor, built
from its published package. The best of several sizes of batches counts, where there is a choice; Lucene's `bare` only counts
matches, `simple` hands out an object for each. Parts (STANDING_PARTS): intervals, names, pipeline.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Iterator, Sequence
from typing import Any

import duckdb
import numpy as np

from benchmarks.harness import Options, Report, rounded
from benchmarks.psoup import piped, pure, workload
from benchmarks.psoup.measuring import per_second
from benchmarks.psoup.parts import chosen
from benchmarks.psoup.workload import Columns, Query
from benchmarks.rivals import lucene

BATCHES = (10_000, 100_000)
"""Sizes of batches for DuckDB."""
SPREAD = ("1 to 4", 1, 2, 3, 4)
"""Columns of a query. The first is the paper's workload, and that of the bars."""


def run(options: Options, report: Report) -> None:
    report.issue = 13
    random = np.random.default_rng(13)
    parts = chosen(report, ("intervals", "names", "pipeline"))
    rival = _rival(options, report) if parts != ["pipeline"] else None
    if "intervals" in parts:
        _chart(report, _intervals(options, report, random, rival))
    if "names" in parts:
        _names(options, report, random, rival)
    if "pipeline" in parts:
        _pipeline(options, report, random)


def _rival(options: Options, report: Report) -> lucene.Lucene | None:
    folder = options.workdir / "lucene"
    folder.mkdir()
    try:
        rival = lucene.build(folder)
    except lucene.Absent as absent:
        report.say(f"Lucene is left out: {absent}")
        report.add(lucene=f"left out: {absent}")
        return None
    report.add(lucene=rival.version)
    return rival


# -- intervals --------------------------------------------------------------------------------------------------------


def _intervals(
    options: Options, report: Report, random: np.random.Generator, rival: lucene.Lucene | None
) -> list[dict[str, Any]]:
    size = options.size(65_536, 1024)
    rows = workload.rows(random, 4 * size)
    counts = [2**p for p in range(7, options.size(13, 9))]
    found: list[dict[str, Any]] = []
    for spread in SPREAD:
        for count in counts:
            if spread != SPREAD[0] and count != counts[-1]:
                continue
            queries = workload.intervals(random, count, None if isinstance(spread, str) else spread)
            row: dict[str, Any] = {"columns": str(spread), "queries": count}
            row |= _ours(queries, rows, size, options.size(2, 0))
            row["DuckDB, rows/s"] = rounded(max(_duckdb(queries, rows, batch) for batch in BATCHES))
            if rival is not None and spread == SPREAD[0] and (count == counts[-1] or not options.quick):
                row |= _lucene(options, rival, queries, rows)
            found.append(row)
            report.say(f"{count} interval queries on {spread} columns")
    report.table("Interval queries, one core", found)
    most = next(f for f in found if f["queries"] == counts[-1])
    report.bar(3, f"rows/s of pure matching, {counts[-1]} interval queries", most["rows/s"], ">=", 500_000)
    worst = min(found[len(counts) - 1 :], key=lambda f: f["rows/s"])
    report.bar(3, f"the same, the slowest: all on {worst['columns']} columns", worst["rows/s"], ">=", 500_000)
    report.bar(
        3, "times as fast as DuckDB, one query after the other", most["rows/s"] / most["DuckDB, rows/s"], ">=", 50
    )
    return found


def _ours(queries: list[Query], rows: Columns, size: int, seconds: float) -> dict[str, Any]:
    index = pure.index(rows, queries)
    given = pure.batches(rows, size)
    found = index.match(given[0].columns)
    expected = workload.judged(queries, {c: v[:size] for c, v in rows.items()})
    assert pure.judged(found) == expected, "the index finds other matches than a naive evaluation"
    turn = iter(range(10**9))

    def one() -> int:
        index.match(given[next(turn) % len(given)].columns)
        return size

    rate = per_second(one, seconds)
    return {"rows/s": rounded(rate), "matches a row": rounded(expected[0] / size),
            "bytes a query": round(index.bytes() / len(queries)),
            "bytes of matches a row": round(found.nbytes / size)}  # fmt: skip


def _duckdb(queries: list[Query], rows: Columns, size: int, threads: int = 1) -> float:
    """Rows/s of asking for the matching rows of a batch, one query after the other; checked by the number of matches."""
    size = min(size, len(next(iter(rows.values()))))
    part = {c: v[:size] for c, v in rows.items()}
    with duckdb.connect(config={"threads": threads}) as engine:
        engine.register("given", workload.table(part))
        engine.execute("CREATE TABLE batch AS SELECT *, row_number() OVER () AS place FROM given").fetchall()
        texts = [f"SELECT place FROM batch WHERE {workload.where(q)}" for q in queries]
        engine.execute(texts[0]).fetchnumpy()
        begin = time.perf_counter()
        matches = sum(len(engine.execute(text).fetchnumpy()["place"]) for text in texts)
        took = time.perf_counter() - begin
    expected, _ = workload.judged(queries, part)
    assert matches == expected, f"DuckDB found {matches} matches, not {expected}"
    return size / took


def _lucene(options: Options, rival: lucene.Lucene, queries: list[Query], rows: Columns) -> dict[str, Any]:
    checked = 500
    expected = workload.judged(queries, {c: v[:checked] for c, v in rows.items()})
    seconds, warm = (2.0, 2.0) if not options.quick else (0.1, 0.0)
    batches = (10_000, 100_000) if not options.quick else (500,)
    found: dict[str, Any] = {}
    for matcher, sizes in (("bare", batches), ("simple", (min(1000, batches[0]),))):
        got, rates = rival.measure(queries, rows, matcher, sizes, seconds=seconds, warm=warm, checked=checked)
        assert got == expected, f"Lucene, {matcher}: {got}, not {expected}"
        best = max(rates, key=lambda r: r["rows/s"])
        found[f"Lucene, {matcher}, rows/s"] = rounded(best["rows/s"])
        if matcher == "bare":
            found["best batch of Lucene"] = best["batch"]
    return found


# -- queries that name a value ----------------------------------------------------------------------------------------


def _names(options: Options, report: Report, random: np.random.Generator, rival: lucene.Lucene | None) -> None:
    sizes = [options.size(size, size // 64) for size in (65_536, 262_144)]
    few, many = options.size(100_000, 500), options.size(1_000_000, 5000)
    found: list[dict[str, Any]] = []
    for keys, count in ((few, few), (many, many), (few, many)):
        queries = workload.selective(random, count, keys)
        rows = workload.keyed_rows(random, 4 * max(sizes), keys)
        begin = time.perf_counter()
        index = pure.index(rows, queries)
        index.match(pure.batches(rows, 1)[0].columns)
        added = time.perf_counter() - begin
        row = {"queries": count, "values": keys, **_selective(index, queries, rows, sizes, options.size(2, 0))}
        row["adding all, s"] = rounded(added)
        del index
        if rival is not None and (keys, count) == (few, few):
            row |= _lucene(options, rival, queries, rows)
        found.append(row)
        report.say(f"{count} queries that name one of {keys} values")
    report.table("Queries that name a value (k = 'S17' AND a BETWEEN 32 AND 90), one core", found)
    report.bar(3, f"rows/s, {few} queries that name a value", found[0]["rows/s"], ">=", 150_000)
    report.bar(3, f"times slower with {many}, each naming its own", found[0]["rows/s"] / found[1]["rows/s"], "<=", 2)


def _selective(index: Any, queries: list[Query], rows: Columns, sizes: Sequence[int], seconds: float) -> dict[str, Any]:
    """The rate is that of the best size of batches, as it is for the rivals."""
    rates = {}
    for size in sizes:
        given = pure.batches(rows, size)
        found = index.match(given[0].columns)
        expected = _joined(queries, {c: v[:size] for c, v in rows.items()})
        assert pure.judged(found) == expected, "the index finds other matches than DuckDB's join of queries and rows"
        turn = itertools.cycle(given)

        def one(size: int = size, turn: Iterator[Any] = turn) -> int:
            index.match(next(turn).columns)
            return size

        rates[per_second(one, seconds)] = size
    best = max(rates)
    return {
        "rows/s": rounded(best),
        "best batch": rates[best],
        "matches a row": rounded(expected[0] / size),
        "bytes a query": round(index.bytes() / len(queries)),
    }


def _joined(queries: list[Query], rows: Columns) -> tuple[int, int]:
    """`workload.judged`, by DuckDB: a million queries one after the other would take too long."""
    asked = {"n": np.arange(1, len(queries) + 1), "k": np.array([q[0].low for q in queries])}
    asked |= {"low": np.array([q[1].low for q in queries]), "high": np.array([q[1].high for q in queries])}
    with duckdb.connect() as engine:
        engine.register("queries", workload.plain(asked))
        engine.register("given", workload.plain({**rows, "place": np.arange(1, len(rows["k"]) + 1)}))
        text = """SELECT count(*), COALESCE(sum(q.n::HUGEINT * r.place), 0)
          FROM queries q JOIN given r ON q.k = r.k AND r.a BETWEEN q.low AND q.high"""
        ((matches, checksum),) = engine.execute(text).fetchall()
    return matches, int(checksum) % 2**64


# -- the pipeline -----------------------------------------------------------------------------------------------------


def _pipeline(options: Options, report: Report, random: np.random.Generator) -> None:
    """Two cores on both sides."""
    count, named = options.size(4096, 128), options.size(100_000, 500)
    batch = options.size(65_536, 4096)
    given = {
        f"{count} interval queries": (workload.intervals(random, count), workload.rows(random, batch)),
        f"{named} queries that name a value": (
            workload.selective(random, named, named),
            workload.keyed_rows(random, batch, named),
        ),
    }
    found = [piped.run(options, report, what, queries, rows) for what, (queries, rows) in given.items()]
    queries, rows = next(iter(given.values()))
    found[0]["DuckDB, rows/s"] = rounded(max(_duckdb(queries, rows, size, threads=2) for size in BATCHES))
    report.table("Inside the pipeline, two cores", found)
    for row in found:
        report.bar(3, f"rows/s inside the pipeline, {row['queries']}", row["rows/s"], ">=", 150_000)
    report.bar(
        3, "times as fast as DuckDB, one after the other", found[0]["rows/s"] / found[0]["DuckDB, rows/s"], ">=", 50
    )


def _chart(report: Report, rates: list[dict[str, Any]]) -> None:
    axes = report.draw(1)
    if axes is None:
        return
    mixed = [r for r in rates if r["columns"] == SPREAD[0]]
    for name, label in (("rows/s", "millpond, one core"), ("Lucene, bare, rows/s", "Lucene, counting only"),
                        ("Lucene, simple, rows/s", "Lucene"), ("DuckDB, rows/s", "DuckDB, one by one")):  # fmt: skip
        shown = [r for r in mixed if r.get(name)]
        axes.plot([r["queries"] for r in shown], [r[name] for r in shown], marker="o", label=label)
    axes.axhline(500_000, color="grey", linestyle="--", linewidth=0.8)
    axes.set(xscale="log", yscale="log", xlabel="interval queries on 1 to 4 columns", ylabel="rows/s")
    axes.set_xticks([r["queries"] for r in mixed], [f"{r['queries']:,}" for r in mixed])
    axes.legend(fontsize=7)
