"""Reduced reads (OSCAR's figures 9 to 18): writing under each design, reading a part of the rows, and both at once.

Rows are the paper's: a time and an integer. Tables are made, filled and asked through the front door. Bytes are those of the
files that an answer was made from; the strawman samples in the plan (`NONE`), and so does TABLESAMPLE of bare DuckDB over the
same files.
"""

from __future__ import annotations

import threading
import time
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa

import millpond
from benchmarks.harness import Options, Report, median, rounded, timed

DESIGNS = {
    "strawman": "NONE",
    "hybrid": "RANDOMIZE",
    "eager": "REPLICATE (20, 40, 60, 80)",
    "lazy": "LAZY",
}
LEVELS = (0, 25, 50, 75, 90, 99)  # percent of the rows that are left out
BESIDE = (0, 1, 2, 4, 8, 16, 40)
_PIECE = 500_000


def run(options: Options, report: Report) -> None:
    report.issue = 14
    count = options.size(20_000_000, 300_000)
    report.add(rows=count)
    with options.folder("pond") as folder:
        db = millpond.connect(folder, auto_archive=False, shards=2)
        try:
            written = _insert(db, count, report)
            reads, asked = _reads(db, folder, options, report)
            _table_one(db, reads, report)
            together = _together(db, options, report)
            _statements(written, asked, together, report)
        finally:
            db.close()


def _rows(count: int, first: int = 0) -> pa.Table:
    random = np.random.default_rng(first)
    values = random.integers(0, 1_000_000, count).astype("int32")
    return pa.table({"userattr": values, "t": (first + np.arange(count, dtype=np.int64)) // 1_000})


def _create(db: millpond.Pond, name: str, design: str) -> None:
    db.sql(f"CREATE STREAMING TABLE {name} (userattr INT, t BIGINT) TIMESTAMP BY t REDUCE BY {design}")


def _fill(db: millpond.Pond, name: str, count: int) -> None:
    for first in range(0, count, _PIECE):
        db.append(name, _rows(min(_PIECE, count - first), first))
    db.archive()


def _sizes(db: millpond.Pond, name: str) -> tuple[int, int]:
    (found,) = db.sql(f"SELECT bytes, copied_bytes FROM millpond.layouts WHERE table = '{name}'").rows()
    return found


Rows = list[dict[str, Any]]


def _insert(db: millpond.Pond, count: int, report: Report) -> Rows:
    """Figures 9 and 11: the time to write the rows under each design."""
    found: list[dict[str, Any]] = []
    _create(db, "warm", "NONE")
    _fill(db, "warm", min(count, _PIECE))
    db.sql("DROP STREAMING TABLE warm")
    plain = 0.0
    for name, design in DESIGNS.items():
        _create(db, name, design)
        took, _ = timed(lambda name=name: _fill(db, name, count))  # type: ignore[misc]
        plain = plain or took
        size, copied = _sizes(db, name)
        found.append(
            {
                "design": name,
                "seconds": rounded(took / 1000),
                "times the strawman": rounded(took / plain),
                "MB": rounded(size / 1e6),
                "MB of copies": rounded(copied / 1e6),
            }
        )
        report.say(f"{name}: {took / 1000:.1f} s to insert")
    report.table("Figure 11: inserting", found)
    times = {row["design"]: row["times the strawman"] for row in found}
    report.bar(3, "writing randomised, times plain", times["hybrid"], "<=", 1.1)
    report.bar(3, "writing lazily, times plain", times["lazy"], "<=", 1.1)
    report.bar(3, "writing with copies, times plain", times["eager"], "<=", 3)
    return found


def _ask(db: millpond.Pond, table: str, level: int) -> Any:
    reduce = f"REDUCE TO {100 - level} PERCENT" if level else ""
    return db.sql(f"SELECT count(*) AS n, avg(userattr) AS a FROM {table} {reduce} WHERE userattr >= 10")


def _reads(
    db: millpond.Pond, folder: Path, options: Options, report: Report
) -> tuple[dict[tuple[str, int], Any], Rows]:
    """Figures 10 and 12: time and bytes of a query at each level."""
    found: list[dict[str, Any]] = []
    reads: dict[tuple[str, int], Any] = {}
    repeat = options.size(5, 2)

    def measure(name: str, table: str, level: int) -> None:
        times = []
        for _ in range(repeat):
            took, answer = timed(lambda: _ask(db, table, level))
            times.append(took)
        share = answer.reduction.bytes / answer.reduction.bytes_in_all if answer.reduction else 1.0
        low, high = (answer.rows()[0][1], answer.rows()[0][2]) if level else (0, 0)
        reads[name, level] = answer.reduction
        found.append(
            {
                "design": name,
                "left out, %": level,
                "ms": median(times),
                "bytes read, %": rounded(100 * share),
                "times the part": rounded(share / (1 - level / 100)),
                "bounds of the count": f"{low:,} to {high:,}" if level and low is not None else "none",
            }
        )

    for name in DESIGNS:
        for level in LEVELS:
            if name == "lazy" and level:
                measure("lazy, first reads", "lazy", level)
                db.archive()
                measure("lazy, later", "lazy", level)
            else:
                measure(name, name, level)
    report.table("Figure 12: a query at each level", found)
    for level in LEVELS[1:]:
        row = next(r for r in found if r["design"] == "hybrid" and r["left out, %"] == level)
        report.bar(2, f"bytes of the randomised table without {level} %", row["times the part"], "<=", 1.15)
    paths = [str(p) for p in folder.glob("tables/strawman*/archive/c*/*.parquet")]
    sampled = []
    for level in LEVELS[1:]:
        connection = duckdb.connect()
        text = (
            f"SELECT count(*), avg(userattr) FROM read_parquet({paths}) TABLESAMPLE {100 - level} PERCENT (bernoulli)"
        )
        times = [timed(lambda text=text, c=connection: c.sql(text).fetchall())[0] for _ in range(repeat)]  # type: ignore[misc]
        sampled.append({"left out, %": level, "ms": median(times)})
    report.table("TABLESAMPLE of bare DuckDB over the strawman's files: all bytes, whatever the level", sampled)
    return reads, found


def _table_one(db: millpond.Pond, reads: dict[tuple[str, int], Any], report: Report) -> None:
    """Table 1: the paper's formulas, with bytes for blocks, against what was read."""
    found = []
    copies = (0.2, 0.4, 0.6, 0.8, 1.0)
    for level in LEVELS[1:]:
        part = 1 - level / 100
        formulas = {
            "hybrid": part,
            "eager": min(c for c in copies if c >= part - 1e-9),
            "lazy, later": part,
            "strawman": 1.0,
        }
        for name, wanted in formulas.items():
            amount = reads[name, level]
            found.append(
                {
                    "design": name,
                    "left out, %": level,
                    "formula, %": rounded(100 * wanted),
                    "read, %": rounded(100 * amount.bytes / amount.bytes_in_all),
                }
            )
    report.table("Table 1: cost of reads", found)


def _together(db: millpond.Pond, options: Options, report: Report) -> Rows:
    """Figures 13 to 18: inserting beside queries that never end, and how many of them are answered meanwhile."""
    count = options.size(4_000_000, 100_000)
    found: list[dict[str, Any]] = []
    rates: dict[tuple[str, int], float] = {}
    for level in options.size(1, 0) * (25, 75, 99) or (75,):
        for name, design in (("strawman", "NONE"), ("hybrid", "RANDOMIZE"), ("eager", DESIGNS["eager"])):
            for beside in BESIDE if not options.quick else (0, 2):
                target = f"into_{name}_{level}_{beside}"
                _create(db, target, design)
                stop, answered = threading.Event(), [0] * beside

                def keep_asking(place: int, name: str = name, level: int = level) -> None:
                    while not stop.is_set():  # noqa: B023
                        _ask(db, name, level)
                        answered[place] += 1  # noqa: B023

                threads = [threading.Thread(target=keep_asking, args=(place,)) for place in range(beside)]
                for thread in threads:
                    thread.start()
                begin = time.monotonic()
                _fill(db, target, count)
                took = time.monotonic() - begin
                stop.set()
                for thread in threads:
                    thread.join()
                db.sql(f"DROP STREAMING TABLE {target}")
                rates[name, level] = max(rates.get((name, level), 0.0), sum(answered) / took)
                found.append(
                    {
                        "design": name,
                        "left out, %": level,
                        "queries beside": beside,
                        "seconds to insert": rounded(took),
                        "answered meanwhile": sum(answered),
                    }
                )
        report.say(f"beside queries at {level} %")
    report.table("Figures 13 to 18: inserting beside queries", found)
    if ("hybrid", 99) in rates:
        report.bar(
            3, "queries answered at 99 %, times the strawman", rates["hybrid", 99] / rates["strawman", 99], ">=", 20
        )
    return found


def _statements(written: Rows, asked: Rows, together: Rows, report: Report) -> None:
    """What the paper says in words of its measurements, and whether it is so here."""
    wrote = {row["design"]: row for row in written}
    ms = {(row["design"], row["left out, %"]): row["ms"] for row in asked}
    part = {(row["design"], row["left out, %"]): row["bytes read, %"] for row in asked}
    eager, strawman = wrote["eager"], [ms["strawman", level] for level in LEVELS]
    copied = (eager["MB"] + eager["MB of copies"]) / max(eager["MB"], 1e-9)
    beside = {(r["design"], r["left out, %"], r["queries beside"]): r for r in together}
    level = max(row["left out, %"] for row in together)
    most = max(row["queries beside"] for row in together)
    alone, crowded = beside["strawman", level, 0], beside["strawman", level, most]
    answered = [max(r["answered meanwhile"] / r["seconds to insert"] for r in together
                    if (r["design"], r["left out, %"]) == (name, level) and r["queries beside"])
                for name in ("hybrid", "strawman")]  # fmt: skip
    slower = rounded(crowded["seconds to insert"] / alone["seconds to insert"])
    said: list[tuple[str, str, bool, str]] = [
        ("the hybrid design writes about as fast as the strawman", f"{wrote['hybrid']['times the strawman']} times",
         wrote["hybrid"]["times the strawman"] <= 1.1, "rows are dealt to blocks, nothing is written twice"),
        ("the lazy design is a little slower to write: its rows are longer",
         f"{wrote['lazy']['times the strawman']} times",
         wrote["lazy"]["times the strawman"] > 1.02, "no row says at which rate it was sampled: that follows from its number"),
        ("copies cost less than in proportion to their size",
         f"{eager['times the strawman']} times the time, {copied:.2g} of bytes",
         eager["times the strawman"] < copied, "parsing, logging and sorting are done once"),
        ("the strawman takes the same time at each level", f"{min(strawman):g} to {max(strawman):g} ms",
         max(strawman) <= 1.5 * min(strawman), "it reads all files; thinned row by row each draw is computed, too"),
        ("the first lazy read costs most of all, as it marks rows",
         f"{ms['lazy, first reads', 99]:g} ms, strawman {ms['strawman', 99]:g}",
         ms["lazy, first reads", 99] > 1.2 * ms["strawman", 99], "no row is marked: the fraction is the mark"),
        ("after vacuuming the lazy design reads its part", f"{part['lazy, later', 99]:g} % of bytes at 99 %",
         part["lazy, later", 99] <= 1.5, "a copy holds the rows that are left"),
        ("the eager design reads in steps", f"{part['eager', 50]:g} % at 50 %, {part['eager', 75]:g} % at 75 %",
         part["eager", 50] > 51 and part["eager", 75] > 35, "the nearest copy that is not too thin is read"),
        ("beyond its smallest copy the eager design saves no more",
         f"{part['eager', 90]:g} % at 90 %, {part['eager', 99]:g} % at 99 %",
         part["eager", 99] >= 0.95 * part["eager", 90], "the smallest copy has a fifth"),
        ("with short runs the hybrid design is no better than the strawman",
         f"{part['hybrid', 25]:g} % of bytes at 25 %",
         part["hybrid", 25] > 95, "blocks are files here, so no file system reads what lies between them"),
        ("queries beside it slow insertion down to a limit", f"{slower:g} times with {most} queries", slower > 1.2,
         "disk and cores are shared with the queries"),
        ("at 99 % far more queries are answered than by the strawman",
         f"{answered[0] / max(answered[1], 1e-9):.3g} times at {level} %",
         level == 99 and answered[0] >= 10 * answered[1], "what is not read costs nothing; planning does"),
    ]  # fmt: skip
    report.table(
        "The paper's statements",
        [{"statement": a, "here": b, "holds": "yes" if c else "no", "what is so here": d} for a, b, c, d in said],
    )
