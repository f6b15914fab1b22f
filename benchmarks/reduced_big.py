"""A large table: WITHIN against the exact answer of bare DuckDB over the same files, and against the best fixed level.

500 million rows, made in the working folder (8 GB) and removed. Both sides read the files from the page cache as far as they are
in it; each answer is the median of three, after one that is not counted. Parts (REDUCED_PARTS): exact, levels, or fill, which
only makes the table; REDUCED_POND is a folder in which it stays from one part to the next.
"""

from __future__ import annotations

from typing import Any

import duckdb
import numpy as np
import pyarrow as pa

import millpond
from benchmarks.harness import Options, Report, median, rounded, timed
from benchmarks.oscar.tables import kept_folder
from benchmarks.psoup.parts import chosen

_PIECE = 2_000_000
_BLOCK = 16 << 20
SHAPES = {
    "avg": "SELECT avg(amount) AS x FROM readings",
    "sum": "SELECT sum(amount) AS x FROM readings",
    "count": "SELECT count(*) AS x FROM readings WHERE speed < 60",
    "avg where": "SELECT avg(amount) AS x FROM readings WHERE speed >= 30",
    "sum where": "SELECT sum(amount) AS x FROM readings WHERE speed >= 30",
    "avg by group": "SELECT seg, avg(amount) AS x FROM readings GROUP BY seg",
    "sum by group": "SELECT seg, sum(amount) AS x FROM readings GROUP BY seg",
    "count by group": "SELECT seg, count(*) AS x FROM readings GROUP BY seg",
    "avg of few": "SELECT avg(amount) AS x FROM readings WHERE speed = 7",
    "count of few": "SELECT count(*) AS x FROM readings WHERE speed = 7",
}


def run(options: Options, report: Report) -> None:
    report.issue = 14
    count = options.size(500_000_000, 1_500_000)
    report.add(rows=count)
    parts = chosen(report, ("fill", "exact", "levels"), "REDUCED_PARTS")
    with kept_folder(options, report) as folder:
        block = _BLOCK if not options.quick else 1 << 20
        db = millpond.connect(folder, auto_archive=False, shards=1, block_rows=block, large_rows=1 << 40)
        try:
            _fill(db, count, report)
            paths = [str(p) for p in folder.glob("tables/readings*/archive/c*/*.parquet")]
            report.say(f"{count:,} rows in {len(paths):,} files")
            if "exact" in parts:
                _against_exact(db, paths, report)
            if "levels" in parts:
                _against_best_level(db, report)
        finally:
            db.close()


def _fill(db: millpond.Pond, count: int, report: Report) -> None:
    """Goes on where it was interrupted."""
    db.sql(
        "CREATE STREAMING TABLE IF NOT EXISTS readings (seg INT, speed INT, amount DOUBLE, t BIGINT) TIMESTAMP BY t"
        " REDUCE BY RANDOMIZE"
    )
    ((there,),) = db.sql("SELECT COUNT(*) FROM readings").rows()
    for first in range(there, count, _PIECE):
        size = min(_PIECE, count - first)
        random = np.random.default_rng(first)
        rows = pa.table(
            {
                "seg": random.integers(0, 100, size).astype("int32"),
                "speed": random.integers(0, 120, size).astype("int32"),
                "amount": np.round(random.lognormal(3, 0.5, size), 2),
                "t": (first + np.arange(size, dtype=np.int64)) // 10_000,
            }
        )
        db.append("readings", rows)
        if (first // _PIECE + 1) % (_BLOCK // _PIECE) == 0:
            db.archive()
    db.archive()
    report.say("filled")


def _against_exact(db: millpond.Pond, paths: list[str], report: Report) -> None:
    found: list[dict[str, Any]] = []
    for name, query in SHAPES.items():
        connection = duckdb.connect()
        connection.execute("SET parquet_metadata_cache = true").fetchall()
        text = query.replace("FROM readings", f"FROM read_parquet({paths})")
        times = [timed(lambda t=text, c=connection: c.sql(t).fetchall()) for _ in range(4)]  # type: ignore[misc]
        exact = {row[:-1]: float(row[-1]) for row in times[-1][1]}
        ours = [timed(lambda q=query: db.sql(f"{q} WITHIN 1 PERCENT")) for _ in range(4)]  # type: ignore[misc]
        answer = ours[-1][1]
        rows = [(row[:-3], row[-3], row[-2], row[-1]) for row in answer.rows()]
        assert {key for key, *_ in rows} == exact.keys()
        slack = 1e-9  # of adding up in another order
        held = sum(low - slack * abs(low) <= exact[key] <= high + slack * abs(high) for key, _, low, high in rows)
        worst = max(abs(value - exact[key]) / abs(exact[key]) for key, value, *_ in rows)
        slow, quick = median([t for t, _ in times[1:]]), median([t for t, _ in ours[1:]])
        found.append(
            {
                "query": name,
                "exact, ms": slow,
                "within 1 %, ms": quick,
                "times faster": rounded(slow / quick),
                "rows read, %": rounded(100 * answer.reduction.fraction),
                "greatest error, %": rounded(100 * worst),
                "bounds that hold": f"{held} of {len(rows)}",
            }
        )
        report.say(f"{name}: {slow / quick:.0f} times faster")
    report.table("WITHIN 1 PERCENT against the exact answer", found)
    report.bar(4, "least times faster than the exact answer", min(row["times faster"] for row in found), ">=", 50)


def _against_best_level(db: millpond.Pond, report: Report) -> None:
    found: list[dict[str, Any]] = []
    for name, query in SHAPES.items():
        answer = db.sql(f"{query} WITHIN 2 PERCENT").reduction
        assert answer is not None
        best = None
        for level in (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100):
            fixed = db.sql(query.replace("FROM readings", f"FROM readings REDUCE TO {level} PERCENT"))
            errors = [max(b - v, v - a) / abs(v) if a is not None else 1.0 for *_, v, a, b in fixed.rows()]
            if max(errors) <= 0.02:
                best = fixed.reduction
                break
        assert best is not None
        found.append({"query": name, "rows read": answer.rows, "of the best level": best.rows,
                      "times": rounded(answer.rows / best.rows)})  # fmt: skip
    report.table("WITHIN 2 PERCENT against the least fixed level that keeps the error", found)
    report.bar(4, "most rows read, times the best level", max(row["times"] for row in found), "<=", 3)
