"""Bar 2: a small SELECT and --help from the shell, over a pond with 1 M rows: wall time, and no Java started.

That no JVM starts is proved with a `java` that leaves a mark when anybody calls it, first on the PATH and in JAVA_HOME.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import millpond
from benchmarks.harness import CREATE, Options, Report, command, median, minutes, p95, timed, traffic
from millpond.pond import Pond

REPEATS = 10


def run(options: Options, report: Report) -> None:
    rows = list(minutes(traffic(xways=options.size(4, 1), minutes=options.size(20, 2))))
    home, called = _false_java(options.workdir)
    environment = {**os.environ, "JAVA_HOME": str(home), "PATH": f"{home / 'bin'}{os.pathsep}{os.environ['PATH']}"}

    def shell(*words: str) -> Callable[[], str]:
        def run_it() -> str:
            done = subprocess.run(
                command("-m", "millpond", *words), env=environment, capture_output=True, text=True, check=True
            )
            return done.stdout

        return run_it

    results: list[dict[str, Any]] = []

    def measure(what: str, action: Callable[[], str], expected: str) -> float:
        times = []
        for _ in range(options.size(REPEATS, 3)):
            took, output = timed(action)
            assert expected in output, f"{what} printed {output!r}, without {expected!r}"
            times.append(took / 1000)
        results.append(
            {"command": what, "median s": median(times), "p95 s": p95(times), "Java started": called.exists()}
        )
        return median(times)

    measure("millpond --help", shell("--help"), "millpond")
    worst = 0.0
    total = sum(t.num_rows for t in rows)
    for where in ("archive", "log"):
        folder = options.workdir / where
        with millpond.connect(folder, auto_archive=False) as db:
            db.sql(CREATE)
            for table in rows:
                db.append("posreports", table)
            if where == "archive":
                db._workspace.rounds.archive()
            vid, count = _busiest(db)
        pond = ("sql", "--pond", str(folder), "--format", "csv")
        one = f"SELECT COUNT(*) AS n FROM posreports WHERE vid = {vid}"
        for what, sql, expected in (
            ("reports of one vehicle", one, f"n\n{count}\n"),
            ("count of all", "SELECT COUNT(*) AS n FROM posreports", f"n\n{total}\n"),
        ):
            took = measure(f"sql: {what}, {total:,} rows in the {where}", shell(*pond, sql), expected)
            worst = max(worst, took)
    report.table("From the shell", results)
    report.bar(2, "small SELECT from the shell, the slowest median, s", worst, "<=", 1.5)
    report.bar(2, "times Java was started", int(called.exists()), "<=", 0)


def _false_java(folder: Path) -> tuple[Path, Path]:
    """A home of a `java` that notes that it was called, and the note."""
    home, called = folder / "java", folder / "java-was-called"
    program = home / "bin" / "java"
    program.parent.mkdir(parents=True)
    program.write_text(f"#!/bin/sh\ntouch '{called}'\nexit 1\n")
    program.chmod(0o755)
    return home, called


def _busiest(db: Pond) -> tuple[int, int]:
    sql = "SELECT vid, COUNT(*) AS n FROM posreports GROUP BY vid ORDER BY n DESC, vid LIMIT 1"
    vid, count = db.sql(sql).rows()[0]
    return vid, count
