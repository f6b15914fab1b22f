"""Reduced reads (OSCAR's figures 9 to 18): writing under each design, reading a part of the rows, and both at once.

Rows are the paper's: a time and an integer. Tables are made, filled and asked through the front door. The strawman samples in the
plan (`NONE`), and so does TABLESAMPLE over the same files. Parts (REDUCED_PARTS): reading, beside25, beside75, levels;
REDUCED_POND is a folder in which the tables stay from one part to the next.
"""

from __future__ import annotations

import itertools
import math
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import millpond
from benchmarks.harness import Options, Report, median, rounded, timed
from benchmarks.oscar import formulas, measured_bytes, said
from benchmarks.oscar.tables import DESIGNS, LEVELS, Rows, ask, create, fill, filled, kept_folder, sizes, table_of
from benchmarks.psoup.parts import chosen

PARTS = ("reading", "beside25", "beside75", "levels")
BESIDE = (0, 1, 2, 4, 8, 16, 40)
CROWD = 8
"""Queries beside insertion where levels are compared."""
Picture = Callable[[Any], None]


def run(options: Options, report: Report) -> None:
    report.issue = 14
    count = options.size(20_000_000, 300_000)
    report.add(rows=count)
    parts = chosen(report, PARTS, "REDUCED_PARTS")
    pictures: list[Picture] = []
    with kept_folder(options, report) as folder:
        if "reading" in parts:
            pictures += _reading(folder, count, options, report)
        with _pond(folder) as db:
            for level in (25, 75):
                if f"beside{level}" in parts:
                    filled(db, count, (level,), report)
                    pictures += _beside(db, level, options, report)
            if "levels" in parts:
                filled(db, count, LEVELS, report)
                pictures += _levels(db, options, report)
    columns = min(4, len(pictures))
    axes = report.draw(columns, math.ceil(len(pictures) / columns))
    if axes is not None:
        for picture, axis in zip(pictures, np.atleast_1d(axes).ravel(), strict=False):
            picture(axis)


def _pond(folder: Path) -> millpond.Pond:
    return millpond.connect(folder, auto_archive=False, shards=2)


# -- figures 9 to 12 --------------------------------------------------------------------------------------------------


def _reading(folder: Path, count: int, options: Options, report: Report) -> list[Picture]:
    with _pond(folder) as db:
        written, blocks = _insert(db, count, options, report)
        reads, asked = _reads(db, count, options, report)
    report.table("Table 1, cost of writes", formulas.written(blocks))
    report.table("Table 1, cost of reads", formulas.read(reads))
    real = measured_bytes.by_duckdb(folder, "hybrid")
    of_strawman = measured_bytes.by_duckdb(folder, "strawman")
    ms = {(row["design"], row["left out, %"]): row["ms"] for row in asked}
    report.table("The randomised table and the strawman in DuckDB, bytes as the kernel counts them", [
        {"left out, %": level, "MB": rounded(real[level][1] / 1e6), "of all": rounded(real[level][1] / real[0][1]),
         "first time, with checksums, MB": rounded(real[level][0] / 1e6), "ms": ms["hybrid", level],
         "strawman, MB": rounded(of_strawman[level][1] / 1e6), "strawman, ms": ms["strawman", level]}
        for level in LEVELS
    ])  # fmt: skip
    report.table(
        "TABLESAMPLE of bare DuckDB over the strawman's files", measured_bytes.sampled_by_duckdb(folder, options)
    )
    spark = measured_bytes.by_spark(folder, options, report)
    _judge_reads(
        report,
        {level: later for level, (_, later) in real.items()},
        {level: ms["hybrid", level] for level in LEVELS},
        "DuckDB",
    )
    randomised = [row for row in spark if row["read"] == "REDUCE TO, randomised"]
    _judge_reads(report, {row["left out, %"]: row["MB"] for row in randomised},
                 {row["left out, %"]: row["ms"] for row in randomised}, "Spark")  # fmt: skip
    said.of_reading(report, written, asked)
    return [lambda axis: _draw_writing(axis, written, blocks), lambda axis: _draw_formulas(axis, asked),
            lambda axis: _draw_reading(axis, asked), lambda axis: _draw_spark(axis, spark)]  # fmt: skip


def _judge_reads(report: Report, size: dict[int, float], ms: dict[int, float], engine: str) -> None:
    for level in LEVELS[1:]:
        share = size[level] / size[0] / (1 - level / 100)
        report.bar(2, f"{engine}: bytes read without {level} %, times the part", share, "<=", 1.15)
    falls = max(ms[b] / ms[a] for a, b in itertools.pairwise(LEVELS[1:]))
    report.bar(2, f"{engine}: time at a level to that at the one before, from 25 % on, at most", falls, "<=", 1.0)


def _insert(db: millpond.Pond, count: int, options: Options, report: Report) -> tuple[Rows, dict[str, float]]:
    """Figures 9 and 11: the time to write the rows under each design; bytes written."""
    found: Rows = []
    create(db, "warm", "NONE")
    fill(db, "warm", count)
    db.sql("DROP STREAMING TABLE warm")
    plain = 0.0
    blocks: dict[str, float] = {}
    for name, design in DESIGNS.items():
        create(db, name, design)
        took, _ = timed(lambda name=name: fill(db, name, count))  # type: ignore[misc]
        plain = plain or took
        size, copied = sizes(db, name)
        blocks[name] = size + copied
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
    blocks["lazy, with a copy"] = blocks["strawman"] * _into_a_copy(db, options.size(2_000_000, 100_000))
    report.table("Figure 11: inserting", found)
    times = {row["design"]: row["times the strawman"] for row in found}
    report.bar(3, "writing randomised, times plain", times["hybrid"], "<=", 1.1)
    report.bar(3, "writing lazily, times plain", times["lazy"], "<=", 1.1)
    report.bar(3, "writing with copies, times plain", times["eager"], "<=", 3)
    return found, blocks


def _into_a_copy(db: millpond.Pond, count: int) -> float:
    """Bytes written of rows of a lazy table that has a copy of three quarters, to those without it."""
    create(db, "copied", "LAZY")
    fill(db, "copied", count)
    ask(db, "copied", 25)
    db.archive()
    before = sizes(db, "copied")
    fill(db, "copied", count, count)
    ask(db, "copied", 25)
    db.archive()
    size, copied = (b - a for a, b in zip(before, sizes(db, "copied"), strict=True))
    db.sql("DROP STREAMING TABLE copied")
    return (size + copied) / size


def _reads(
    db: millpond.Pond, count: int, options: Options, report: Report
) -> tuple[dict[tuple[str, int], tuple[int, int]], Rows]:
    """Figures 10 and 12: time and bytes of a query at each level."""
    found: Rows = []
    reads: dict[tuple[str, int], tuple[int, int]] = {}
    repeat = options.size(5, 2)

    def measure(name: str, table: str, level: int) -> None:
        first, answer = timed(lambda: ask(db, table, level))
        times = []
        for _ in range(repeat):
            took, answer = timed(lambda: ask(db, table, level))
            times.append(took)
        whole = sizes(db, table)[0]
        read = (answer.reduction.bytes, answer.reduction.bytes_in_all) if answer.reduction else (whole, whole)
        low, high = (answer.rows()[0][1], answer.rows()[0][2]) if level else (None, None)
        reads[name, level] = read
        found.append(
            {
                "design": name,
                "left out, %": level,
                "first, ms": rounded(first),
                "ms": median(times),
                "bytes of files, %": rounded(100 * read[0] / read[1]),
                "bounds of the count": f"{low:,} to {high:,}" if low is not None else "none",
            }
        )

    for name in DESIGNS:
        for level in LEVELS:
            table = table_of(name, level)
            if table != name:
                create(db, table, "LAZY")
                fill(db, table, count)
                measure("lazy, first reads", table, level)
                db.archive()
                measure("lazy, later", table, level)
            else:
                measure(name, name, level)
        report.say(f"{name} is read")
    report.table("Figure 12: a query at each level", found)
    return reads, found


# -- figures 13 to 18 -------------------------------------------------------------------------------------------------


def _insert_beside(db: millpond.Pond, name: str, level: int, beside: int, count: int) -> dict[str, Any]:
    """Rows go into a table of a design while so many queries are asked of another of that design, again and again."""
    create(db, "target", DESIGNS[name])
    stop, answered = threading.Event(), [0] * beside

    def keep_asking(place: int) -> None:
        while not stop.is_set():
            ask(db, table_of(name, level), level)
            answered[place] += 1

    threads = [threading.Thread(target=keep_asking, args=(place,)) for place in range(beside)]
    for thread in threads:
        thread.start()
    begin = time.monotonic()
    fill(db, "target", count)
    took = time.monotonic() - begin
    done = sum(answered)
    stop.set()
    for thread in threads:
        thread.join()
    db.sql("DROP STREAMING TABLE target")
    return {"design": name, "left out, %": level, "queries beside": beside, "seconds to insert": rounded(took),
            "answered meanwhile": done, "answered in 1,000 s": rounded(1000 * done / took)}  # fmt: skip


def _beside(db: millpond.Pond, level: int, options: Options, report: Report) -> list[Picture]:
    """Figures 13 and 15 (without 25 %), 14 and 16 (without 75 %)."""
    count = options.size(2_000_000, 100_000)
    found = [
        _insert_beside(db, name, level, beside, count)
        for name in DESIGNS
        for beside in (BESIDE if not options.quick else (0, 2))
    ]
    figures = (13, 15) if level == 25 else (14, 16)
    report.table(
        f"Figures {figures[0]} and {figures[1]}: inserting {count:,} rows beside queries without {level} %", found
    )
    said.of_beside(report, level, found)
    return [lambda axis: _draw_beside(axis, figures[0], level, found, "seconds to insert"),
            lambda axis: _draw_beside(axis, figures[1], level, found, "answered meanwhile")]  # fmt: skip


def _levels(db: millpond.Pond, options: Options, report: Report) -> list[Picture]:
    """Figures 17 and 18."""
    count = options.size(6_000_000, 100_000)  # long enough for the strawman to answer
    found = [
        _insert_beside(db, name, level, CROWD, count)
        for name in DESIGNS
        for level in (LEVELS if not options.quick else (0, 25, 75, 99))
    ]
    report.table(f"Figures 17 and 18: inserting {count:,} rows beside {CROWD} queries at each level", found)
    rates = {(row["design"], row["left out, %"]): row["answered in 1,000 s"] for row in found}
    times = rates["hybrid", 99] / max(rates["strawman", 99], 1e-9)
    report.bar(3, "queries answered at 99 %, times the strawman", times, ">=", 20)
    said.of_levels(report, rates)
    return [lambda axis: _draw_levels(axis, rates)]


# -- pictures ---------------------------------------------------------------------------------------------------------


def _draw_writing(axis: Any, written: Rows, blocks: dict[str, float]) -> None:
    names = [row["design"] for row in written]
    plain = written[0]["seconds"]
    places = range(len(names))
    axis.bar(
        [p - 0.2 for p in places], [plain * formulas.WRITES[name] for name in names], 0.4, label="Figure 9: by Table 1"
    )
    axis.bar([p + 0.2 for p in places], [row["seconds"] for row in written], 0.4, label="Figure 11: measured")
    axis.set_xticks(list(places), names)
    axis.set(title="Figures 9 and 11: inserting", ylabel="s")
    axis.legend(fontsize=7)


def _draw_formulas(axis: Any, asked: Rows) -> None:
    whole = next(row["ms"] for row in asked if (row["design"], row["left out, %"]) == ("strawman", 0))
    for name, formula in formulas.READS.items():
        levels = [level for level in LEVELS if level or not name.startswith("lazy")]
        axis.plot(levels, [whole * formula(1 - level / 100) for level in levels], marker=".", label=name)
    axis.set(title="Figure 10: a query, by Table 1", xlabel="left out, %", ylabel="ms")
    axis.legend(fontsize=7)


def _draw_reading(axis: Any, asked: Rows) -> None:
    for name in formulas.READS:
        mine = [row for row in asked if row["design"] == name]
        axis.plot([row["left out, %"] for row in mine], [row["ms"] for row in mine], marker=".", label=name)
    axis.set(title="Figure 12: a query, measured", xlabel="left out, %", ylabel="ms", ylim=(0, None))
    axis.legend(fontsize=7)


def _draw_spark(axis: Any, found: Rows) -> None:
    for what in dict.fromkeys(row["read"] for row in found):
        mine = [row for row in found if row["read"] == what]
        axis.plot([row["left out, %"] for row in mine], [row["MB"] for row in mine], marker=".", label=what)
    axis.set(title="Spark", xlabel="left out, %", ylabel="MB read", ylim=(0, None))
    axis.legend(fontsize=7)


def _draw_beside(axis: Any, figure: int, level: int, found: Rows, what: str) -> None:
    for name in DESIGNS:
        mine = [row for row in found if row["design"] == name]
        axis.plot([row["queries beside"] for row in mine], [row[what] for row in mine], marker=".", label=name)
    axis.set(title=f"Figure {figure}: without {level} %", xlabel="queries beside", ylabel=what, ylim=(0, None))
    axis.legend(fontsize=7)


def _draw_levels(axis: Any, rates: dict[tuple[str, int], float]) -> None:
    for name in DESIGNS:
        levels = [level for design, level in rates if design == name]
        axis.plot(levels, [max(rates[name, level], 1.0) for level in levels], marker=".", label=name)
    axis.set(
        title=f"Figures 17 and 18: {CROWD} queries", xlabel="left out, %", ylabel="answered in 1,000 s", yscale="log"
    )
    axis.legend(fontsize=7)
