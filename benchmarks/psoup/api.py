"""All that the experiments use of millpond, in one place.

A row's time is its number, so NOW is the newest row and a window of n rows is `BEGIN NOW - n ROWS END NOW`.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

import millpond
from benchmarks.psoup.workload import COLUMNS, Columns, Query, table
from millpond.pond import Pond
from millpond.standing.handle import Handle

MODES = ("nothing", "partial", "complete")
"""The paper's NoMat, PSoup-P and PSoup-C."""


def pond(folder: Path, **settings: Any) -> Pond:
    return millpond.connect(folder, spark_master="local[2]", **settings)


def create(
    db: Pond, name: str, columns: Sequence[str] = COLUMNS, shards: int = 1, *, declared: str | None = None
) -> None:
    if declared is None:
        declared = ", ".join(f"{c} INT" for c in columns)
    db.sql(f"CREATE STREAMING TABLE {name} ({declared}, t BIGINT) TIMESTAMP BY t WITH (shards = {shards})")


class Feeder:
    """Appends rows to a table; each is one unit of time later than the one before."""

    def __init__(self, db: Pond, table: str) -> None:
        self.db = db
        self.table = table
        self.count = 0

    def append(self, columns: Columns | pa.Table) -> None:
        rows = columns if isinstance(columns, pa.Table) else table(columns)
        times = np.arange(self.count, self.count + rows.num_rows, dtype=np.int64)
        self.db.append(self.table, rows.append_column("t", pa.array(times)))
        self.count += rows.num_rows

    def stream(self, columns: Columns, batch: int) -> None:
        """All of them in batches, a tick after each."""
        for start in range(0, len(next(iter(columns.values()))), batch):
            self.append({c: v[start : start + batch] for c, v in columns.items()})
            self.db.tick()


def newest(rows: int) -> str:
    return f"BEGIN NOW - {rows} ROWS END NOW"


def selection(table: str, query: Query, window: str, select: str = "*") -> tuple[str, list[int | str]]:
    """Text and parameters."""
    factors = " AND ".join(f.template for f in query)
    return f"SELECT {select} FROM {table} WHERE {factors} {window}", [v for f in query for v in f.parameters]


def register(db: Pond, table: str, query: Query, window: str, keep: str, select: str = "*") -> Handle:
    text, parameters = selection(table, query, window, select)
    return db.register(text, parameters, keep=keep)


def register_all(db: Pond, table: str, queries: Sequence[Query], window: str, keep: str) -> list[Handle]:
    """Those of one form at once; in the order given."""
    forms: dict[str, list[tuple[int, list[int | str]]]] = {}
    for number, query in enumerate(queries):
        text, parameters = selection(table, query, window)
        forms.setdefault(text, []).append((number, parameters))
    handles: dict[int, Handle] = {}
    for text, members in forms.items():
        made = db.register_many(text, [parameters for _, parameters in members], keep=keep)
        handles.update(zip([number for number, _ in members], made, strict=True))
    return [handles[number] for number in range(len(queries))]


def kept_bytes(db: Pond) -> int:
    """What millpond counts as kept for standing queries."""
    return db._workspace.standing.bytes
