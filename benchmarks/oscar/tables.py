"""The paper's rows, a time and an integer, in a table of each design, and its question about them."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

import millpond
from benchmarks.harness import Options, Report

DESIGNS = {
    "strawman": "NONE",
    "hybrid": "RANDOMIZE",
    "eager": "REPLICATE (20, 40, 60, 80)",
    "lazy": "LAZY",
}
LEVELS = (0, 25, 50, 75, 90, 99)
"""Percent of the rows that are left out."""
PIECE = 500_000
Rows = list[dict[str, Any]]


def rows(count: int, first: int = 0) -> pa.Table:
    random = np.random.default_rng(first)
    values = random.integers(0, 1_000_000, count).astype("int32")
    return pa.table({"userattr": values, "t": (first + np.arange(count, dtype=np.int64)) // 1_000})


def create(db: millpond.Pond, name: str, design: str) -> None:
    db.sql(f"CREATE STREAMING TABLE {name} (userattr INT, t BIGINT) TIMESTAMP BY t REDUCE BY {design}")


def fill(db: millpond.Pond, name: str, count: int, first: int = 0) -> None:
    for start in range(first, first + count, PIECE):
        db.append(name, rows(min(PIECE, first + count - start), start))
    db.archive()


def sizes(db: millpond.Pond, name: str) -> tuple[int, int]:
    """Bytes of the rows, and of copies."""
    (found,) = db.sql(f"SELECT bytes, copied_bytes FROM millpond.layouts WHERE table = '{name}'").rows()
    return found


def question(table: str, level: int) -> str:
    reduce = f"REDUCE TO {100 - level} PERCENT" if level else ""
    return f"SELECT count(*) AS n, avg(userattr) AS a FROM {table} {reduce} WHERE userattr >= 10"


def ask(db: millpond.Pond, table: str, level: int) -> Any:
    return db.sql(question(table, level))


@contextlib.contextmanager
def kept_folder(options: Options, report: Report) -> Iterator[Path]:
    """A folder for the pond; that in REDUCED_POND, which stays for the parts that are run later, if it is given."""
    given = os.environ.get("REDUCED_POND")
    if not given:
        with options.folder("pond") as folder:
            yield folder
        return
    Path(given).mkdir(parents=True, exist_ok=True)
    report.say("the pond in REDUCED_POND is used")
    yield Path(given)


def table_of(design: str, level: int) -> str:
    """The table that is asked. A lazy one has a copy for one level, as the paper's, so there is one for each."""
    return f"lazy{level}" if design == "lazy" and level else design


def filled(db: millpond.Pond, count: int, levels: Iterable[int], report: Report) -> None:
    """A table of each design, each with so many rows; if it is lazy, with its copy."""
    there = {row[0] for row in db.sql("SELECT name FROM millpond.tables").rows()}
    for level in levels:
        for design, reduced in DESIGNS.items():
            name = table_of(design, level)
            if name not in there:
                there.add(name)
                create(db, name, reduced)
                fill(db, name, count)
                if name != design:
                    ask(db, name, level)
                    db.archive()
    report.say(f"{count:,} rows are in each table")
