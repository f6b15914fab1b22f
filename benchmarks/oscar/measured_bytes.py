"""Bytes that were really read, as the kernel counts those of `read` calls, whether they came from a disk or from its memory."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import duckdb
import psutil

import millpond
from benchmarks.harness import Options, Report, median, rounded, timed
from benchmarks.oscar.tables import DESIGNS, LEVELS, Rows, ask, question

_ASK = """
import sys, millpond
from benchmarks.oscar.measured_bytes import read_by
folder, asked, other = sys.argv[1:]
with millpond.connect(folder, auto_archive=False) as db:
    db._workspace.local._connection.execute("SET GLOBAL enable_external_file_cache = false").fetchall()
    db.sql(other).rows()  # modules are read now
    counts = [read_by()]
    for _ in range(2):
        db.sql(asked).rows()
        counts.append(read_by())
    print(counts[1] - counts[0], counts[2] - counts[1])
"""


def read_by(process: int | None = None) -> int:
    """Bytes that a process has read so far."""
    fields = Path(f"/proc/{process or os.getpid()}/io").read_text().split()
    return int(fields[fields.index("rchar:") + 1])


def by_duckdb(folder: Path, table: str) -> dict[int, tuple[int, int]]:
    """Of the question at each level, each asked by a process of its own, which keeps no file in its memory: the first time, when
    files are compared with their checksums, too, and later."""
    found = {}
    other = next(name for name in DESIGNS if name != table)
    for level in LEVELS:
        words = [sys.executable, "-c", _ASK, str(folder), question(table, level), question(other, level)]
        ran = subprocess.run(words, check=True, capture_output=True, text=True)
        first, later = map(int, ran.stdout.split()[-2:])
        found[level] = first, later
    return found


def by_spark(folder: Path, options: Options, report: Report) -> Rows:
    """Time and bytes of each level on Spark: a randomised table, the strawman, TABLESAMPLE over the strawman's files."""
    found: Rows = []
    repeat = options.size(3, 1)
    with millpond.connect(folder, auto_archive=False, engine="spark", spark_master="local[2]") as db:
        ask(db, "hybrid", 99)
        jvm = next(p.pid for p in psutil.Process().children(recursive=True) if p.name() == "java")

        def measured(what: str, level: int, action: Any) -> None:
            action()
            times, before = [], read_by(jvm)
            for _ in range(repeat):
                times.append(timed(action)[0])
                time.sleep(0.05)  # what a task has read is counted when it ends
            share = (read_by(jvm) - before) / repeat
            found.append({"read": what, "left out, %": level, "ms": median(times), "MB": rounded(share / 1e6)})

        for what, table in (("REDUCE TO, randomised", "hybrid"), ("REDUCE TO, strawman", "strawman")):
            for level in LEVELS:
                measured(what, level, lambda table=table, level=level: ask(db, table, level).rows())
        from pyspark.sql import SparkSession

        spark = SparkSession.getActiveSession()
        assert spark is not None
        paths = [str(p) for p in folder.glob("tables/strawman*/archive/c*/*.parquet")]
        spark.read.parquet(*paths).createOrReplaceTempView("strawman_files")
        for level in LEVELS[1:]:
            text = f"SELECT count(*), avg(userattr) FROM strawman_files TABLESAMPLE ({100 - level} PERCENT)"
            measured("TABLESAMPLE of Spark", level, lambda text=text: spark.sql(text).collect())
    report.table("Reads by Spark", found)
    return found


def sampled_by_duckdb(folder: Path, options: Options) -> Rows:
    """TABLESAMPLE of bare DuckDB over the strawman's files: time and bytes."""
    paths = [str(p) for p in folder.glob("tables/strawman*/archive/c*/*.parquet")]
    found = []
    for level in LEVELS[1:]:
        text = (
            f"SELECT count(*), avg(userattr) FROM read_parquet({paths}) TABLESAMPLE {100 - level} PERCENT (bernoulli)"
        )
        with duckdb.connect() as engine:
            before = read_by()
            engine.sql(text).fetchall()
            size = read_by() - before
            times = [timed(lambda text=text, e=engine: e.sql(text).fetchall())[0] for _ in range(options.size(5, 2))]  # type: ignore[misc]
        found.append({"left out, %": level, "ms": median(times), "MB": rounded(size / 1e6)})
    return found
