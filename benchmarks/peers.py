"""Two queries over 10 million reports in 60 CSV files, from the first file to the last result, beside Flink SQL and DuckDB.

Statistics of segments by the minute, and crossings by vehicle. millpond keeps every row in its log meanwhile; Flink keeps none,
and writes its results to files; DuckDB answers once, when all files are there, and tells the right answer. The clocks start
when Spark's tasks, or Flink's job, are running; how long that takes is told beside it.
"""

from __future__ import annotations

import os
import threading
import time
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import csv

import millpond
from benchmarks.harness import DECLARED, Options, Report, Watch, median, pieces, rounded, traffic, tree_megabytes
from benchmarks.rivals import flink

FILES, ROWS = 60, 10_000_000
RUNS = 3
QUERIES = {
    "segments": """SELECT xway, dir, seg, COUNT(*) AS n, AVG(spd) AS speed FROM posreports [INTERVAL '1' MINUTE BEFORE NOW]
        GROUP BY xway, dir, seg SAMPLE INTERVAL '1' MINUTE""",
    "crossings": """SELECT ISTREAM vid, seg, PREV(seg) AS before, t FROM posreports [vid ROWS 2] WHERE seg <> PREV(seg)
        SAMPLE REALTIME""",
}
BATCH = {
    "segments": """SELECT COUNT(*), SUM(n), ROUND(SUM(speed)) FROM (
        SELECT COUNT(*) AS n, AVG(spd) AS speed FROM r GROUP BY t // 60, xway, dir, seg)""",
    "crossings": """SELECT COUNT(*), SUM(seg), SUM(before) FROM (
        SELECT seg, LAG(seg) OVER (PARTITION BY vid ORDER BY t) AS before FROM r) WHERE seg <> before""",
}
BARS = {"segments": 1_000_000, "crossings": 800_000}
MEMORY = 2500
Sums = tuple[int, int, int]


def run(options: Options, report: Report) -> None:
    report.issue = 15
    try:
        rival = flink.build(options.workdir)
        report.say(f"Flink {rival.version} is there")
    except flink.Absent as absent:
        rival = None
        report.say(f"no Flink: {absent}")
    with options.folder("files") as files:
        rows, end = _prepare(files, options)
        report.say(f"{len(list(files.iterdir()))} files with {rows:,} rows are ready")
        table: list[dict[str, Any]] = []
        for name in QUERIES:
            began = time.monotonic()
            expected = _batch(files, name)
            row: dict[str, Any] = {"query": name, "results": expected[0], "DuckDB, batch, s": time.monotonic() - began}
            ours = [_millpond(files, rows, end, name, expected, options, number) for number in range(_runs(options))]
            report.say(f"{name}: " + ", ".join(f"{rows / o['seconds']:,.0f}" for o in ours) + " rows/s")
            theirs = []
            if rival is not None:
                theirs = [_flink(rival, files, name, expected, options) for _ in range(_runs(options))]
                report.say(f"{name}, Flink: " + ", ".join(f"{rows / t['seconds']:,.0f}" for t in theirs) + " rows/s")
            row |= {"millpond, rows/s": round(rows / median([o["seconds"] for o in ours]))}
            row |= {f"{k}": median([o[k] for o in ours]) for k in ("durable after, s", "memory, MB", "starting, s")}
            if theirs:
                row["Flink, rows/s"] = round(rows / median([t["seconds"] for t in theirs]))
                row["Flink, starting, s"] = median([t["starting"] for t in theirs])
                row["Flink, memory, MB"] = median([t["memory"] for t in theirs])
                row["millpond to Flink"] = rounded(row["millpond, rows/s"] / row["Flink, rows/s"])
            table.append({k: rounded(v) if isinstance(v, float) else v for k, v in row.items()})
            report.bar(3, f"{name}, rows/s", row["millpond, rows/s"], ">=", BARS[name])
            report.bar(3, f"{name}, memory, MB", row["memory, MB"], "<=", MEMORY)
        report.table("From the first file to the last result", table)


def _runs(options: Options) -> int:
    return options.size(RUNS, 1)


def _prepare(folder: Path, options: Options) -> tuple[int, int]:
    """How many rows there are, and the time of the last."""
    limit = options.size(ROWS, 60_000)
    count = last = 0
    for number, part in enumerate(pieces(traffic(xways=options.size(5, 1)), limit // FILES)):
        csv.write_csv(part, folder / f"{number:04d}.csv", csv.WriteOptions(include_header=False))
        count, last = count + part.num_rows, pc.max(part["t"]).as_py()
        if count >= limit // FILES * FILES:
            break
    os.sync()
    return count, last


def _batch(files: Path, name: str) -> Sums:
    """The right answer."""
    columns = ", ".join(f"'{c.split()[0]}': '{c.split()[1]}'" for c in DECLARED.split(", "))
    with duckdb.connect() as db:
        db.execute(f"CREATE VIEW r AS SELECT * FROM read_csv('{files}/*.csv', columns = {{{columns}}}, header = false)")
        found = db.execute(BATCH[name]).fetchone()
    assert found is not None
    return (int(found[0]), int(found[1]), int(found[2]))


class Subscriber(threading.Thread):
    """Takes results until all are there."""

    def __init__(self, db: millpond.Pond, name: str, wanted: int) -> None:
        super().__init__(daemon=True)
        self._results = db.subscribe(name)
        self._wanted = wanted
        self.tables: list[pa.Table] = []
        self.ended = 0.0

    def run(self) -> None:
        count = 0
        for batch in self._results:
            self.tables.append(batch.arrow())
            count += self.tables[-1].num_rows
            if count >= self._wanted:
                self.ended = time.monotonic()
                break


def _millpond(
    files: Path, rows: int, end: int, name: str, expected: Sums, options: Options, number: int
) -> dict[str, float]:
    with (
        options.folder(f"pond-{name}-{number}") as home,
        millpond.connect(home / "pond", spark_master="local[2]") as db,
    ):
        db.sql(f"""CREATE STREAMING TABLE posreports ({DECLARED})
            TIMESTAMP BY t SHARD BY vid RANGE INTERVAL '70' DAY LATENESS INTERVAL '5' SECOND WITH (shards = 2)""")
        db.sql(f"CREATE SOURCE reports ({DECLARED}) FROM FILES '{files}' FORMAT csv")
        db.sql(f"CREATE CONTINUOUS QUERY found AS {QUERIES[name]}")
        begin = time.monotonic()
        db.start(wait=True)
        starting = time.monotonic() - begin
        subscriber = Subscriber(db, "found", expected[0])
        subscriber.start()
        with Watch(lambda: {"memory": tree_megabytes()}, 0.5) as watch:
            begin = time.monotonic()
            db.sql("INSERT INTO posreports SELECT * FROM reports")
            while db.status()["tables"]["posreports"]["rows"] < rows:
                time.sleep(0.02)
            durable = time.monotonic() - begin
            db.advance("posreports", (end // 60 + 1) * 60 + 1)
            subscriber.join(600)
        assert subscriber.ended, f"{sum(t.num_rows for t in subscriber.tables)} results came, not {expected[0]}"
        found = pa.concat_tables(subscriber.tables)
        sums = ("n", "speed") if name == "segments" else ("seg", "before")
        got = (found.num_rows, *(round(pc.sum(found[c]).as_py()) for c in sums))
        assert got == expected, f"{name}: {got}, not {expected}"
    memory = max(row["memory"] for row in watch.seen)
    return {
        "seconds": subscriber.ended - begin,
        "durable after, s": durable,
        "memory, MB": memory,
        "starting, s": starting,
    }


def _flink(rival: flink.Flink, files: Path, name: str, expected: Sums, options: Options) -> dict[str, float]:
    with options.folder("flink-results") as results:
        with Watch(lambda: {"memory": tree_megabytes()}, 0.5) as watch:
            took = rival.run(files, results, name)
        sums = (
            "COUNT(*), SUM(column4), ROUND(SUM(column5))"
            if name == "segments"
            else "COUNT(*), SUM(column1), SUM(column2)"
        )
        with duckdb.connect() as db:
            got = db.execute(
                f"SELECT {sums} FROM read_csv('{results}/**/*', header = false, hive_partitioning = false)"
            ).fetchone()
        assert got is not None
        assert tuple(int(v) for v in got) == expected, f"Flink, {name}: {got}, not {expected}"
    return {**took, "memory": max(row["memory"] for row in watch.seen)}
