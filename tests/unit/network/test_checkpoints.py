"""Snapshots of partitioned windows: used when a window is filled, true, and gone when rows were changed."""

from __future__ import annotations

import os
import threading
import time
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import millpond
from millpond.network.buffers.keyed_rows import KeyedRows
from millpond.network.run import tick_plan
from millpond.network.state import backfill as past
from millpond.network.state import checkpoints
from millpond.pond import Pond
from millpond.windows.newest import RowsWindow
from tests.unit.network.keeping import kept_often

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
    monkeypatch.setattr(tick_plan, "CHECKPOINT_TICKS", 3)
    monkeypatch.setattr(tick_plan, "CHECKPOINT_PAUSE", 0.0)
    monkeypatch.setattr(past, "_STRETCH", 7)


@pytest.mark.usefixtures("often")
@pytest.mark.parametrize("key", ["vid", "seg"])  # in shards, and whole
def test_a_restart_fills_from_the_checkpoint(tmp_path: Path, key: str, monkeypatch: pytest.MonkeyPatch) -> None:
    expected = None
    used: list[int] = []
    find = checkpoints.find

    def watched(*place: Any) -> Any:
        found = find(*place)
        if found is not None:
            used.append(found[1])
        return found

    monkeypatch.setattr(checkpoints, "find", watched)
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
def test_a_new_query_is_filled_from_the_checkpoint_of_another(tmp_path: Path) -> None:
    with millpond.connect(tmp_path, auto_archive=False) as db:
        db.sql(TABLE.format(key="vid"))
        db.sql(QUERY.format(name="q"))
        for t in range(10):
            second(db, t)
        checkpoints.settle()
        assert list((tmp_path / "shards").glob("*.snapshot"))
        db.sql(QUERY.format(name="late"))
        for t in range(10, 14):
            second(db, t)
        late, whole = results(db, "late"), results(db)
        assert [row for row in late if row[-1] > 10] == [row for row in whole if row[-1] > 10]
        assert {row for row in whole if row[-1] == 10} < {row for row in late if row[-1] == 10}  # and what was there


@pytest.mark.usefixtures("often")
def test_changed_rows_end_a_checkpoint(tmp_path: Path) -> None:
    with millpond.connect(tmp_path, auto_archive=False) as db:
        db.sql(TABLE.format(key="vid"))
        db.sql(QUERY.format(name="q"))
        for t in range(8):
            second(db, t)
        checkpoints.settle()
        db.sql("UPDATE p SET seg = 99 WHERE vid = 8 AND t = 7")
        assert not list((tmp_path / "shards").glob("*.snapshot"))
        second(db, 8)
        assert (8, 8, 99, "n8", 8, 8) in results(db)


PLACE = ("p-0", checkpoints.of_keys(RowsWindow(2, ("vid",))), 0, 2)  # table, window, shard, shards
SCHEMA = pa.schema([("vid", pa.int64()), ("t", pa.int64())])


def table(*rows: tuple[int, int]) -> pa.Table:
    return pa.table([pa.array(c, pa.int64()) for c in zip(*rows, strict=True)], schema=SCHEMA)


def window(*rows: tuple[int, int]) -> KeyedRows:
    made = KeyedRows(SCHEMA, "t", ["vid"], 2)
    made.take_in(table(*rows))
    return made


def tick(scribe: checkpoints.Scribe, rows: KeyedRows, upto: int, *, begin: bool = False) -> None:
    scribe.go_on([checkpoints.CheckpointWindow(*PLACE[:2], 2, upto, rows)], {"p-0"}, begin=begin)


def found(folder: Path, high: int, *place: Any) -> tuple[pa.Table, int] | None:
    return checkpoints.find(folder, *(place or PLACE), high, SCHEMA, "t")


def written(folder: Path, rows: KeyedRows, upto: int) -> None:
    """All of a window, in the two ticks it needs."""
    scribe = checkpoints.Scribe(folder, 0)
    tick(scribe, rows, upto, begin=True)
    tick(scribe, rows, upto)
    checkpoints.settle()


def test_a_damaged_checkpoint_is_none(tmp_path: Path) -> None:
    scribe, rows = checkpoints.Scribe(tmp_path, 0), window((1, 3), (2, 4), (1, 5), (1, 6))
    tick(scribe, rows, 6, begin=True)
    rows.take_in(table((2, 7)))
    tick(scribe, rows, 7)
    checkpoints.settle()
    kept = found(tmp_path, 6)
    assert kept is not None
    assert kept[0].to_pydict() == {"vid": [1, 1, 2], "t": [5, 6, 4]}  # as it was when it was asked for
    assert kept[1] == 6
    assert found(tmp_path, 5) is None  # newer than what is asked for
    assert found(tmp_path, 6, *PLACE[:-1], 3) is None  # other shards
    path = next(tmp_path.glob("*.snapshot"))
    path.write_bytes(path.read_bytes()[:-40])
    assert found(tmp_path, 6) is None


def test_a_checkpoint_is_not_there_before_the_tick_after_its_last_keys(tmp_path: Path) -> None:
    scribe, rows = checkpoints.Scribe(tmp_path, 0), window((1, 3))
    tick(scribe, rows, 3)  # nobody asked for one
    assert not list(tmp_path.iterdir())
    tick(scribe, rows, 3, begin=True)
    checkpoints.settle()
    assert found(tmp_path, 3) is None
    tick(scribe, rows, 3)
    checkpoints.settle()
    assert found(tmp_path, 3) is not None


@pytest.mark.parametrize("share", [1, 2, 3, 7])
@pytest.mark.parametrize("seed", range(6))
def test_a_window_filled_from_a_checkpoint_and_the_rows_since_is_the_window(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, share: int, seed: int
) -> None:
    """Keys are written at different ticks, while rows go on coming, several of a key and of a time among them."""
    monkeypatch.setattr(checkpoints, "_LEAST", share)
    monkeypatch.setattr(checkpoints, "_SPREAD", 100)
    monkeypatch.setattr(checkpoints, "_AHEAD", 100)  # however slow the disk, some keys at each tick
    random = np.random.default_rng(seed)
    scribe, rows, all_rows = checkpoints.Scribe(tmp_path, 0), window((0, 0)), [(0, 0)]
    for t in range(1, 40):
        came = [(int(k), t) for k in random.integers(0, 4 + t // 3, random.integers(1, 6))]
        all_rows += came
        rows.take_in(table(*came))
        tick(scribe, rows, t, begin=t == 10)
        checkpoints.settle()
    kept = found(tmp_path, 39)
    assert kept is not None
    assert kept[1] == 10
    filled = KeyedRows(SCHEMA, "t", ["vid"], 2)
    filled.fill(kept[0].sort_by("t"))
    since = [row for row in all_rows if row[1] > 10]
    middle = since[len(since) // 2][1]  # parts are cut between times
    filled.fill(table(*[row for row in since if row[1] < middle]))
    filled.fill(table(*[row for row in since if row[1] >= middle]))
    order = [("vid", "ascending"), ("t", "ascending")]
    assert filled.content().sort_by(order).equals(rows.content().sort_by(order))


def test_a_window_that_was_filled_anew_is_not_gone_on_with(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checkpoints, "_LEAST", 1)
    monkeypatch.setattr(checkpoints, "_SPREAD", 100)
    scribe, rows = checkpoints.Scribe(tmp_path, 0), window((1, 3), (2, 3))
    tick(scribe, rows, 3, begin=True)
    other = window((3, 3))
    for _ in range(3):
        tick(scribe, other, 3)
    checkpoints.settle()
    assert not list(tmp_path.iterdir())


def test_a_checkpoint_of_before_rows_were_changed_is_none(tmp_path: Path) -> None:
    scribe, rows = checkpoints.Scribe(tmp_path, 0), window((1, 3))
    tick(scribe, rows, 3, begin=True)
    checkpoints.forget(tmp_path, "p-0")
    tick(scribe, rows, 3)
    checkpoints.settle()
    assert len(list(tmp_path.glob("*.snapshot"))) == 1
    assert found(tmp_path, 3) is None
    written(tmp_path, rows, 3)
    checkpoints.sweep(tmp_path, {"p-0"})
    assert found(tmp_path, 3) is not None
    assert {path.suffix for path in tmp_path.iterdir()} == {".snapshot", ".changed"}


def test_checkpoints_of_windows_that_are_no_more_go_with_the_next(tmp_path: Path) -> None:
    written(tmp_path, window((1, 3)), 3)
    other = checkpoints.Scribe(tmp_path, 0)
    other.go_on([], {"q-1"}, begin=True)  # of another table
    checkpoints.Scribe(tmp_path, 1).go_on([], {"p-0"}, begin=True)  # of another shard
    other.go_on([], {"p-0"}, begin=False)
    assert found(tmp_path, 3) is not None
    other.go_on([], {"p-0"}, begin=True)
    assert not list(tmp_path.iterdir())


def test_without_room_there_is_no_checkpoint(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    scribe, rows = checkpoints.Scribe(tmp_path / "file", 0), window((1, 3))
    tick(scribe, rows, 3, begin=True)
    tick(scribe, rows, 3)
    checkpoints.settle()
    assert found(tmp_path / "file", 3) is None


def test_a_slow_disk_is_waited_for_over_more_ticks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checkpoints, "_LEAST", 1)
    monkeypatch.setattr(checkpoints, "_SPREAD", 100)
    monkeypatch.setattr(checkpoints, "_AHEAD", 1)
    may_write = threading.Event()
    fsync = os.fsync

    def slow(handle: int) -> None:
        may_write.wait(60)
        fsync(handle)

    monkeypatch.setattr(os, "fsync", slow)
    scribe, rows = checkpoints.Scribe(tmp_path, 0), window((1, 3), (2, 3), (3, 3), (4, 3))
    tick(scribe, rows, 3, begin=True)
    for _ in range(20):
        tick(scribe, rows, 3)
    assert not list(tmp_path.glob("*.snapshot"))
    may_write.set()
    deadline = time.monotonic() + 60
    while found(tmp_path, 3) is None and time.monotonic() < deadline:
        tick(scribe, rows, 3)
        time.sleep(0.01)
    kept = found(tmp_path, 3)
    assert kept is not None
    assert kept[0].to_pydict() == {"vid": [1, 2, 3, 4], "t": [3, 3, 3, 3]}


def test_what_is_left_undone_leaves_nothing(tmp_path: Path) -> None:
    scribe, rows = checkpoints.Scribe(tmp_path, 0), window((1, 3))
    tick(scribe, rows, 3, begin=True)
    scribe.close()
    checkpoints.settle()
    assert not list(tmp_path.iterdir())


def test_history_comes_in_parts_that_have_each_row_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(past, "_STRETCH", 60)
    with millpond.connect(tmp_path / "pond", auto_archive=False) as db:
        db.sql("CREATE STREAMING TABLE r (x INT, more STRING, t BIGINT) TIMESTAMP BY t")
        db.sql("CREATE CONTINUOUS QUERY q AS SELECT x FROM r [NOW] SAMPLE REALTIME")
        for begin in range(0, 100, 10):
            db.append("r", [(i, "a", t) for t in range(begin, begin + 10) for i in range(5)])
            if begin in (20, 50):
                db.archive()
        db.tick()
        history = db._workspace.network._running.past
        assert history is not None
        for low, high in ((None, 99), (0, 99), (33, 77), (-86_400, 41), (95, 200), (60, 60), (50, 49)):
            parts = list(history.parts("r", ["x"], low, high))
            expected = [(x, t) for t in range(max(low or 0, 0), min(high, 99) + 1) for x in range(5)]
            found = [(r["x"], r["t"]) for p in parts for r in p.to_pylist()]
            assert found == expected
            assert all(p.num_rows <= 300 and p.column_names == ["x", "t", "_seq"] for p in parts)
            assert len(parts) >= len(expected) // 300


@pytest.mark.parametrize("query", ["APPROX_COUNT(*, 0.1) AS n", "CORRELATED_COUNT(x > AVG(x)) AS n"])
def test_a_damaged_checkpoint_of_synopses_is_none(query: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kept_often(monkeypatch, 2)
    window = "[INTERVAL '50' SECOND]" if "APPROX" in query else "[LANDMARK MINUTE]"
    folder = tmp_path / "pond"
    with millpond.connect(folder, auto_archive=False) as db:
        db.sql("CREATE STREAMING TABLE r (k INT, x INT, t BIGINT) TIMESTAMP BY t")
        for name in ("q", "twice"):  # of two that hold the same, one is written
            text = f"SELECT k, {query} FROM r {window} GROUP BY k SAMPLE INTERVAL '1' SECOND"
            db.sql(f"CREATE CONTINUOUS QUERY {name} RANGE UNBOUNDED AS {text}")
        for t in range(1, 12):
            db.append("r", [(i % 3, i, t) for i in range(9)])
            db.tick()
        checkpoints.settle()
    paths = list((folder / "shards").glob("*.snapshot"))
    assert len(paths) == 1
    good = paths[0].read_bytes()
    random = Random(4)
    places = [random.randrange(len(good)) for _ in range(10)]
    for n, place in enumerate(places):
        bad = good[:place] if n % 3 == 0 else bytes([*good[:place], good[place] ^ (1 << n % 8), *good[place + 1 :]])
        paths[0].write_bytes(bad)
        with millpond.connect(folder, auto_archive=False) as db:
            t = 12 + n
            db.append("r", [(i % 3, i, t) for i in range(9)])
            db.tick()
            rows = db.sql(f"SELECT k, n FROM q WHERE instant = {t - 1} ORDER BY k").rows()
        expected = (t - 1) * 3 if "APPROX" in query else t - 1
        assert [k for k, _ in rows] == [0, 1, 2]
        assert all(abs(v - expected) <= 0.1 * expected for _, v in rows)
