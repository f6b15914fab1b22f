"""The archive is open: Polars, deltalake and DuckDB's own Parquet reader find the same rows in it, without millpond."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import duckdb
import polars
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable

import millpond

# Until block.py says it as pyarrow 25 wants it; tests/unit/table/test_block.py notices when it does.

Rows = Counter[tuple[Any, ...]]


def _named_in_the_log(archive: Path) -> list[str]:
    """The live files according to the Delta log: its last checkpoint, and the commits behind it."""
    log = archive / "_delta_log"
    live: set[str] = set()
    version = -1
    last = log / "_last_checkpoint"
    if last.exists():
        version = json.loads(last.read_text())["version"]
        adds = pq.read_table(log / f"{version:020d}.checkpoint.parquet", columns=["add"])["add"].to_pylist()
        live = {add["path"] for add in adds if add is not None}
    while (commit := log / f"{version + 1:020d}.json").exists():
        version += 1
        for action in map(json.loads, commit.read_text().splitlines()):
            if "add" in action:
                live.add(action["add"]["path"])
            if "remove" in action:
                live.discard(action["remove"]["path"])
    return [str(archive / path) for path in sorted(live)]


def by_duckdb(archive: Path, columns: list[str]) -> Rows:
    files = _named_in_the_log(archive)
    if not files:
        return Counter()
    with duckdb.connect() as connection:
        connection.execute("SET TimeZone = 'UTC'")
        # Files from before a column was added lack it; a union by name knows it only if one file has it.
        rows = connection.sql(f"SELECT * FROM read_parquet({files}, union_by_name = true)").to_arrow_table()
    return _tuples(rows.to_pylist(), columns)


def by_deltalake(archive: Path, columns: list[str]) -> Rows:
    return _tuples(DeltaTable(archive).to_pyarrow_table().to_pylist(), columns)


def by_polars(archive: Path, columns: list[str]) -> Rows:
    return _tuples(polars.read_delta(str(archive)).to_dicts(), columns)


def by_polars_lazily(archive: Path, columns: list[str]) -> Rows:
    return _tuples(polars.scan_delta(str(archive)).collect().to_dicts(), columns)


READERS: list[Callable[[Path, list[str]], Rows]] = [by_duckdb, by_deltalake, by_polars, by_polars_lazily]


def _tuples(rows: list[dict[str, Any]], columns: list[str]) -> Rows:
    return Counter(tuple(row.get(c) for c in columns) for row in rows)


def check(db: millpond.Pond, table: str = "r") -> None:
    """Everything archived, and read by everyone."""
    db.archive()
    folder = db._workspace.stream(table).rows.folder
    result = db.sql(f"SELECT * FROM {table}")
    mine = Counter(result.rows())
    for read in READERS:
        assert read(folder, result.columns) == mine, read.__name__


@pytest.fixture
def db(tmp_path: Path) -> Iterator[millpond.Pond]:
    settings = {"auto_archive": False, "engine": "duckdb", "block_rows": 64, "shards": 2}
    with millpond.connect(tmp_path / "pond", **settings) as pond:
        pond.sql("""CREATE STREAMING TABLE r (k INT, name STRING, x DOUBLE, d DECIMAL(10, 2), day DATE, ok BOOLEAN, at TIMESTAMP)
                    TIMESTAMP BY at SHARD BY k""")
        yield pond


def rows(start: int, count: int) -> list[dict[str, Any]]:
    return [
        {
            "k": None if i % 11 == 0 else i % 5,
            "name": None if i % 7 == 0 else f"n{i % 3}é",
            "x": i / 4,
            "d": f"{i}.25",
            "day": f"2026-01-{i % 28 + 1:02d}",
            "ok": i % 2 == 0,
            "at": f"2026-01-{i // 100 + 1:02d} 00:00:{i // 2 % 50:02d}.5",
        }
        for i in range(start, start + count)
    ]


def test_an_empty_table(db: millpond.Pond) -> None:
    check(db)


def test_a_life(db: millpond.Pond) -> None:
    """Archive, compaction, index, update, delete, a new column, another day's compartment."""
    for start in range(0, 60, 5):  # twelve small files for each shard: enough to be merged
        db.append("r", rows(start, 5))
        db.archive()
    check(db)
    db.sql("CREATE INDEX ON r (k)")
    db.append("r", rows(60, 20))
    check(db)
    db.sql("UPDATE r SET name = 'changed', x = NULL WHERE k = 2")
    check(db)
    db.sql("DELETE FROM r WHERE k = 3 OR k IS NULL")
    check(db)
    db.sql("ALTER TABLE r ADD COLUMN note STRING")
    check(db)
    db.append("r", [{**row, "note": "new"} for row in rows(100, 30)])
    check(db)
    db.append("r", rows(250, 10))
    check(db)
    db.sql("DELETE FROM r")
    check(db)


def test_retention(tmp_path: Path) -> None:
    with millpond.connect(tmp_path / "pond", auto_archive=False, engine="duckdb", shards=2) as db:
        db.sql("CREATE STREAMING TABLE r (k INT, t BIGINT) TIMESTAMP BY t RANGE INTERVAL 100")
        for time in range(0, 500, 20):
            db.append("r", [(1, time), (2, time)])
            db.archive()
        check(db)
        assert db.sql("SELECT count(*) < 16, min(t) >= 370 FROM r").rows() == [(True, True)]


def test_more_commits_than_a_checkpoint_folds(db: millpond.Pond) -> None:
    for start in range(70):
        db.append("r", rows(start, 1))
        db.archive()
    folder = db._workspace.stream("r").rows.folder
    assert list((folder / "_delta_log").glob("*.checkpoint.parquet"))
    assert DeltaTable(folder).version() > 60
    check(db)
    db.sql("ALTER TABLE r ADD COLUMN note STRING")
    db.sql("DELETE FROM r WHERE k = 1")
    check(db)


def test_rejected_rows_and_standard_tables_are_open_too(db: millpond.Pond) -> None:
    with pytest.warns(millpond.RowsRejected):
        db.append("r", [{"k": "x", "at": "2026-01-01 00:00:00"}, {"k": 1, "at": None}])
    db.archive()
    rejected = db.sql("SELECT * FROM r_rejected")
    assert by_polars(db._workspace.stream("r").rejected.folder, rejected.columns) == Counter(rejected.rows())
    db.sql("CREATE STANDARD TABLE s (k INT, name STRING)")
    db.sql("INSERT INTO s VALUES (1, 'a'), (2, NULL)")
    db.sql("DELETE FROM s WHERE k = 1")
    found = db._workspace.catalog.standard_table("s")
    assert by_deltalake(db._workspace.standard(found).store.folder, ["k", "name"]) == Counter([(2, None)])
