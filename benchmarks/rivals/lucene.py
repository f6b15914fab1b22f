"""Lucene's Monitor, built from its published package: the widely used thing that matches documents with stored queries.

Elasticsearch's and OpenSearch's percolators work by the same idea. `build` asks Maven for the packages and compiles
`LuceneRival.java`; it says why if it cannot. A row is a document: the column `k` is a term, the others are points.
"""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.psoup.workload import KEY, Columns, Query

HERE = Path(__file__).resolve().parent
MATCHERS = ("simple", "bare")
HEAP = "-Xmx6g"


class Absent(Exception):
    """This rival cannot be had here; the text says why."""


@dataclass(frozen=True)
class Lucene:
    """Compiled. Each question is asked of a new process: queries are registered, rows matched, in one thread."""

    folder: Path
    version: str

    def measure(
        self,
        queries: Sequence[Query],
        columns: Columns,
        matcher: str,
        batches: Sequence[int],
        *,
        seconds: float,
        warm: float,
        checked: int,
    ) -> tuple[tuple[int, int], list[dict[str, Any]]]:
        """Matches and checksum of the first `checked` rows, to be compared with `workload.judged`; and for each size of batches
        rows a second, matches a row and queries tried a row."""
        settings = {"matcher": matcher, "seconds": seconds, "warm": warm, "checked": checked}
        first, *rest = self._run(queries, columns, batches=",".join(map(str, batches)), **settings)
        rates = [
            {
                "batch": f["batch"],
                "rows/s": f["rows"] / f["seconds"],
                "matches a row": f["matches"] / f["rows"],
                "queries tried a row": f["queries_run"] / f["rows"],
                "registering, s": first["registering"],
            }
            for f in rest
        ]
        return (first["matches"], first["checksum"]), rates

    def _run(self, queries: Sequence[Query], columns: Columns, **settings: Any) -> list[dict[str, Any]]:
        (self.folder / "queries.txt").write_text("".join(f"{_line(q)}\n" for q in queries))
        used = sorted({f.column for q in queries for f in q})
        np.concatenate([columns[c].astype("<i4") for c in used]).tofile(self.folder / "rows.bin")
        settings |= {"folder": self.folder, "columns": ",".join(used)}
        classpath = f"{self.folder / 'jars'}/*:{self.folder / 'classes'}"
        # One thread is what is measured: no collector beside it.
        command = ["java", HEAP, "-XX:+UseSerialGC", "-cp", classpath, "LuceneRival"]
        done = subprocess.run([*command, *(f"{k}={v}" for k, v in settings.items())], capture_output=True, text=True)
        if done.returncode:
            raise RuntimeError(f"LuceneRival failed: {done.stderr}")
        return [json.loads(line) for line in done.stdout.splitlines()]


def _line(query: Query) -> str:
    return " ".join(f"{f.column}={f.low}" if f.column == KEY else f"{f.column}:{f.low}:{f.high}" for f in query)


def build(folder: Path) -> Lucene:
    """Compiled in an empty folder, or `Absent`."""
    for tool, what in (("mvn", "Maven"), ("javac", "a Java compiler")):
        if shutil.which(tool) is None:
            raise Absent(f"{what} is not installed ({tool} is not on the path)")
    shutil.copy(HERE / "pom.xml", folder)
    fetch = ["mvn", "-q", "-B", "dependency:copy-dependencies", "-DoutputDirectory=jars"]
    done = subprocess.run(fetch, cwd=folder, capture_output=True, text=True)
    if done.returncode:
        told = [line for line in (done.stdout + done.stderr).splitlines() if line.startswith("[ERROR]")]
        raise Absent(f"Maven could not fetch it: {told[0].removeprefix('[ERROR] ') if told else 'it did not say why'}")
    (folder / "classes").mkdir()
    compiling = ["javac", "-cp", "jars/*", "-d", "classes", str(HERE / "LuceneRival.java")]
    subprocess.run(compiling, cwd=folder, check=True, capture_output=True, text=True)
    (jar,) = (folder / "jars").glob("lucene-monitor-*.jar")
    return Lucene(folder, jar.stem.removeprefix("lucene-monitor-"))
