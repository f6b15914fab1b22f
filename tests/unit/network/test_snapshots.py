"""Snapshots of partitioned windows: used when a window is filled, true, and gone when rows were changed."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import millpond
from millpond.network import past, runner, snapshots
from millpond.network.keyed import KeyedRows
from millpond.pond import Pond

TABLE = (
    "CREATE STREAMING TABLE p (vid INT, seg INT, name STRING, t BIGINT) TIMESTAMP BY t SHARD BY {key} WITH (shards = 2)"
)
QUERY = """CREATE CONTINUOUS QUERY {name} AS SELECT ISTREAM vid, seg, PREV(seg) AS from_seg, name, t FROM p [vid ROWS 3]
           WHERE seg <> PREV(seg) SAMPLE REALTIME"""


def second(db: Pond, t: int) -> None:
    db.append("p", [(v if v else None, (v + t) // 2, f"n{v}" if v % 3 else None, t) for v in range(t % 5, 9)])
    db.advance("p", t + 1)
    db.tick()


def results(db: Pond, name: str = "q") -> list[Any]:
    return sorted((row[:-1] for row in db.resume(name).fetch()), key=repr)


@pytest.fixture
def often(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runner, "_SNAPSHOT_TICKS", 3)
    monkeypatch.setattr(past, "_STRETCH", 7)


@pytest.mark.usefixtures("often")
@pytest.mark.parametrize("key", ["vid", "seg"])  # in shards, and whole
def test_a_restart_fills_from_the_snapshot(tmp_path: Path, key: str, monkeypatch: pytest.MonkeyPatch) -> None:
    expected = None
    used: list[int] = []
    find = snapshots.find

    def watched(*place: Any) -> Any:
        found = find(*place)
        if found is not None:
            used.append(found[1])
        return found

    monkeypatch.setattr(snapshots, "find", watched)
    for restart in (False, True):
        folder = tmp_path / f"{restart}"
        db = millpond.connect(folder, auto_archive=False)
        db.sql(TABLE.format(key=key))
        db.sql(QUERY.format(name="q"))
        for t in range(20):
            second(db, t)
            if restart and t in (4, 11, 12):
                db.archive()
                db.close()
                db = millpond.connect(folder, auto_archive=False)
        if expected is None:
            expected = results(db)
        assert results(db) == expected
        db.close()
    assert used
    assert expected


@pytest.mark.usefixtures("often")
def test_a_new_query_is_filled_from_the_snapshot_of_another(tmp_path: Path) -> None:
    with millpond.connect(tmp_path, auto_archive=False) as db:
        db.sql(TABLE.format(key="vid"))
        db.sql(QUERY.format(name="q"))
        for t in range(10):
            second(db, t)
        snapshots.settle()
        assert list((tmp_path / "shards").glob("*.snapshot"))
        db.sql(QUERY.format(name="late"))
        for t in range(10, 14):
            second(db, t)
        assert results(db, "late") == [row for row in results(db) if row[4] >= 10]


@pytest.mark.usefixtures("often")
def test_changed_rows_end_a_snapshot(tmp_path: Path) -> None:
    with millpond.connect(tmp_path, auto_archive=False) as db:
        db.sql(TABLE.format(key="vid"))
        db.sql(QUERY.format(name="q"))
        for t in range(8):
            second(db, t)
        snapshots.settle()
        db.sql("UPDATE p SET seg = 99 WHERE vid = 8 AND t = 7")
        assert not list((tmp_path / "shards").glob("*.snapshot"))
        second(db, 8)
        assert (8, 8, 99, "n8", 8, 8) in results(db)


PLACE = ("p-0", ("vid",), 2, 0, 2)


def window(*rows: tuple[int, int]) -> KeyedRows:
    made = KeyedRows(pa.schema([("vid", pa.int64()), ("t", pa.int64())]), "t", ["vid"], 2)
    made.take_in(pa.table([pa.array(c, pa.int64()) for c in zip(*rows, strict=True)], schema=made.schema))
    return made


def test_a_damaged_snapshot_is_none(tmp_path: Path) -> None:
    rows = window((1, 3), (2, 4), (1, 5), (1, 6))
    snapshots.write(tmp_path, *PLACE, 6, rows)
    rows.take_in(pa.table([pa.array([2], pa.int64()), pa.array([7], pa.int64())], schema=rows.schema))
    snapshots.settle()
    found = snapshots.find(tmp_path, *PLACE, 6, rows.schema)
    assert found is not None
    assert found[0].to_pydict() == {"vid": [1, 1, 2], "t": [5, 6, 4]}  # as it was when it was asked for
    assert found[1] == 6
    assert snapshots.find(tmp_path, *PLACE, 5, rows.schema) is None  # newer than what is asked for
    assert snapshots.find(tmp_path, *PLACE[:-1], 3, 6, rows.schema) is None  # other shards
    path = next(tmp_path.glob("*.snapshot"))
    path.write_bytes(path.read_bytes()[:-40])
    assert snapshots.find(tmp_path, *PLACE, 6, rows.schema) is None


def test_a_snapshot_that_ends_after_rows_were_changed_is_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    goes_on = threading.Event()
    pieces = KeyedRows.pieces

    def held(self: KeyedRows) -> Iterator[pa.Table]:
        goes_on.wait(30)
        yield from pieces(self)

    rows = window((1, 3))
    monkeypatch.setattr(KeyedRows, "pieces", held)
    snapshots.write(tmp_path, *PLACE, 3, rows)
    snapshots.forget(tmp_path, "p-0")
    snapshots.write(tmp_path, *PLACE, 3, rows)  # the other is still under way: left out
    goes_on.set()
    snapshots.settle()
    assert len(list(tmp_path.glob("*.snapshot"))) == 1
    assert snapshots.find(tmp_path, *PLACE, 3, rows.schema) is None
    snapshots.write(tmp_path, *PLACE, 3, rows)
    snapshots.settle()
    snapshots.sweep(tmp_path, {"p-0"})
    assert snapshots.find(tmp_path, *PLACE, 3, rows.schema) is not None
    assert {path.suffix for path in tmp_path.iterdir()} == {".snapshot", ".changed"}
