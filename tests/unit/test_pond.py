"""The pond under several threads, and with what nobody would name a table. No Spark."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import millpond
from millpond import catalog_file
from millpond.catalog import Catalog
from millpond.clock import ManualClock
from millpond.errors import MillpondError, RowsRejected, SqlError
from millpond.pond import Pond
from millpond.sql.sizes import MOST_SELECTS
from millpond.statements.change import insert_standard


@pytest.fixture
def db(tmp_path: Path) -> Iterator[Pond]:
    with millpond.connect(tmp_path / "pond", auto_archive=False) as pond:
        yield pond


def reopened(db: Pond) -> Pond:
    db.close()
    return millpond.connect(db.folder, auto_archive=False)


# -- renamed and dropped while others append ------------------------------------------------------------------------


def test_an_append_under_way_survives_a_rename(db: Pond) -> None:
    db.sql("CREATE STREAMING TABLE s (a INT, t BIGINT) TIMESTAMP BY t")
    db.append("s", [(0, 1)])
    under_way = db._workspace.intake("s")
    db.sql("ALTER TABLE s RENAME TO r")
    db.status()
    assert under_way.offer([(1, 1)]).accepted == 1
    db.append("r", [(2, 1)])
    under_way.offer([(3, 1)])
    with reopened(db) as again:
        assert again.sql("SELECT a FROM r ORDER BY a").rows() == [(0,), (1,), (2,), (3,)]


def test_no_acknowledged_row_is_lost_by_renames(db: Pond) -> None:
    db.sql("CREATE STREAMING TABLE s0 (a INT, t BIGINT) TIMESTAMP BY t WITH (shards = 1)")
    names, acknowledged, stop, wrong = ["s0"], [], threading.Event(), []

    def append(first: int) -> None:
        number = first
        while not stop.is_set():
            number += 10
            try:
                db.append(names[-1], [(number, 1)])
                acknowledged.append(number)
            except MillpondError:
                pass
            except BaseException as error:
                wrong.append(error)

    threads = [threading.Thread(target=append, args=(k,)) for k in range(3)]
    for thread in threads:
        thread.start()
    for k in range(1, 30):
        db.sql(f"ALTER TABLE s{k - 1} RENAME TO s{k}")
        names.append(f"s{k}")
        db.status()
    stop.set()
    for thread in threads:
        thread.join()
    assert not wrong
    with reopened(db) as again:
        found = {a for (a,) in again.sql("SELECT a FROM s29").rows()}
    assert set(acknowledged) <= found


def test_a_drop_during_appends_is_told_as_such(db: Pond) -> None:
    create = "CREATE STREAMING TABLE s (a INT, t BIGINT) TIMESTAMP BY t WITH (shards = 1)"
    db.sql(create)
    stop = threading.Event()
    wrong: list[BaseException] = []

    def repeat(act: Any) -> None:
        while not stop.is_set():
            try:
                act()
            except MillpondError as error:
                if error.code == "corrupt_block":
                    wrong.append(error)
            except BaseException as error:
                wrong.append(error)

    acts = [lambda: db.append("s", [(1, 1)]), lambda: db.append("s", [(1, 1)]), lambda: db.sql("SELECT * FROM s")]
    threads = [threading.Thread(target=repeat, args=(act,)) for act in acts]
    for thread in threads:
        thread.start()
    for _ in range(8):
        db.sql("DROP TABLE s")
        db.sql(create)
    stop.set()
    for thread in threads:
        thread.join()
    assert not wrong


# -- names are not paths --------------------------------------------------------------------------------------------

HOSTILE = ["../../victim", "a/b", ".", "..", "x'y\"z;drop", "n" * 300, "ünï", "-", "%2e"]


@pytest.mark.parametrize("name", HOSTILE)
def test_a_name_never_leads_out_of_the_pond(tmp_path: Path, name: str) -> None:
    beside = {p.name for p in tmp_path.iterdir()}
    for number in range(12):
        (tmp_path / f"victim-{number}" / "data").mkdir(parents=True)
    table = name.replace(".", "") or "t"  # a relation's name has no dots; a column's may have
    with millpond.connect(tmp_path / "pond", auto_archive=False) as db:
        db.sql(f"CREATE STREAMING TABLE `{table}` (`{name}` STRING, a INT, t BIGINT) TIMESTAMP BY t")
        db.sql(f"CREATE INDEX ON `{table}` (`{name}`)")
        db.append(table, [("x", 1, 1), ("y", 2, 1)])
        db.archive()
        assert db.sql(f"SELECT a FROM `{table}` WHERE `{name}` = 'y'").rows() == [(2,)]
        db.sql(f"UPDATE `{table}` SET a = 3 WHERE a = 1")
        db.sql(f"DELETE FROM `{table}` WHERE a = 2")
        assert db.sql(f"SELECT a FROM `{table}`").rows() == [(3,)]
        db.sql(f"CREATE TABLE `{table}2` (a INT)")
        db.sql(f"INSERT INTO `{table}2` VALUES (7)")
        db.sql(f"CREATE CONTINUOUS QUERY `{table}3` AS SELECT COUNT(*) AS n FROM `{table}` [NOW] SAMPLE REALTIME")
        inbox = tmp_path / "inbox"
        inbox.mkdir()
        db.sql(f"CREATE SOURCE `{table}4` (k STRING, a INT, t BIGINT) FROM FILES '{inbox}' FORMAT CSV")
        db.sql(f"INSERT INTO `{table}` SELECT * FROM `{table}4`")
        db.sql(f"ON `{table}3` DO PYTHON 'os:fsencode'")
        for kind in ("tables", "standard", "feeds", "triggers"):
            for path in (db.folder / kind).iterdir() if (db.folder / kind).exists() else ():
                assert path.name.isascii()
                assert len(path.name) < 80
        db.sql(f"DROP CONTINUOUS QUERY `{table}3`")
        db.sql(f"DROP FEED `{table}_from_{table}4`")
        db.sql(f"DROP TABLE `{table}2`")
        db.sql(f"DROP TABLE `{table}`")
    assert {p.name for p in tmp_path.iterdir()} == beside | {"pond", "inbox"} | {f"victim-{i}" for i in range(12)}
    assert all(os.listdir(tmp_path / f"victim-{i}") == ["data"] for i in range(12))


# -- times at the ends of their range -------------------------------------------------------------------------------


def test_a_heartbeat_is_a_time(db: Pond) -> None:
    db.sql("CREATE STREAMING TABLE s (a INT, t BIGINT) TIMESTAMP BY t")
    for time in (2**70, -(2**70), 10**5000):
        with pytest.raises(SqlError, match="is not a time of table"):
            db.advance("s", time)
    assert db.append("s", [(1, 5)]).accepted == 1
    with reopened(db) as again:
        assert again.now("s") == 5


@pytest.mark.parametrize("clause", ["LATENESS", "RANGE"])
def test_a_period_that_overflows_is_refused(db: Pond, clause: str) -> None:
    with pytest.raises(SqlError, match="interval 999999999 days is too long"):
        db.sql(f"CREATE STREAMING TABLE s (a INT, t TIMESTAMP) TIMESTAMP BY t {clause} INTERVAL '999999999' DAY")
    db.sql("CREATE STREAMING TABLE s (a INT, t TIMESTAMP) TIMESTAMP BY t")
    with pytest.raises(SqlError, match="interval 999999999 days is too long"):
        db.sql(f"ALTER TABLE s SET {clause} INTERVAL '999999999' DAY")
    assert db.append("s", [(1, "2020-01-01"), (2, "2020-01-02")]).accepted == 2


def test_times_at_the_ends_of_their_range(db: Pond) -> None:
    db.sql("CREATE STREAMING TABLE s (a INT, t BIGINT) TIMESTAMP BY t LATENESS INTERVAL '5' SECOND")
    ends = [-(2**63), -(2**63) + 1, 0, 2**63 - 1]
    for time in ends:
        assert db.append("s", [(1, time)]).accepted == 1
    assert db.now("s") == 2**63 - 6
    db.archive()
    assert [t for (t,) in db.sql("SELECT t FROM s ORDER BY t").rows()] == ends
    assert db.sql("SELECT t FROM s [INTERVAL 5]").rows() == [(2**63 - 1,)]


def test_a_long_lateness_leads_before_the_first_year(db: Pond) -> None:
    db.sql("CREATE STREAMING TABLE s (a INT, t TIMESTAMP) TIMESTAMP BY t LATENESS INTERVAL '1000000' DAY")
    db.append("s", [(1, "2020-01-01"), (2, "0001-01-01")])
    assert str(db.now("s")) == "0001-01-01 00:00:00+00:00"
    assert len(db.sql("SELECT * FROM s [INTERVAL '1' DAY]")) == 2
    assert "0001-01-01" in repr(db.sql("SHOW TABLES"))


@pytest.mark.parametrize(
    ("kind", "values", "of"),
    [("TIMESTAMP", [2**62, 0], pa.timestamp("us", tz="UTC")), ("DATE", [2**31 - 1, 0], pa.date32()),
     ("TIMESTAMP", [2**62, 0], pa.timestamp("s"))],
)  # fmt: skip
def test_a_year_beyond_9999_is_rejected(db: Pond, kind: str, values: list[int], of: pa.DataType) -> None:
    db.sql(f"CREATE STREAMING TABLE s (a {kind}, t BIGINT) TIMESTAMP BY t")
    with pytest.warns(RowsRejected):
        receipt = db.append("s", pa.table({"a": pa.array(values, of), "t": [1, 1]}))
    assert (receipt.accepted, receipt.malformed) == (1, 1)
    assert len(db.sql("SELECT a FROM s").rows()) == 1
    assert len(db.sql("SELECT reason, row FROM s_rejected").rows()) == 1


def test_a_computed_year_beyond_9999_can_be_shown(db: Pond) -> None:
    result = millpond.Result(pa.table({"t": pa.array([2**62, 0], pa.timestamp("us", tz="UTC"))}))
    assert "4611686018427387904" in repr(result)


# -- one bad row is one bad row -------------------------------------------------------------------------------------


class Unshowable:
    def __repr__(self) -> str:
        raise RuntimeError("not today")


def circular() -> list[Any]:
    items: list[Any] = []
    items.append(items)
    return items


@pytest.mark.parametrize(
    "row",
    [
        {"a": 10**5000, "t": 1},
        {"n": 10**5000, "t": 1},
        {"a": 1, "t": 10**5000},
        {"a": Unshowable(), "t": 1},
        {"n": {(1, 2): 3}, "t": 1},
        {"n": circular(), "t": 1},
        {1: 1, "t": 1},
        {None: 1, "t": 1},
        {"a": 1, "A": 2, "t": 1},
    ],
    ids=range(9),
)
def test_a_bad_row_takes_no_other_with_it(db: Pond, row: dict[Any, Any]) -> None:
    db.sql("CREATE STREAMING TABLE s (a INT, n STRING, t BIGINT) TIMESTAMP BY t")
    with pytest.warns(RowsRejected):
        receipt = db.append("s", [{"a": 7, "t": 1}, row, {"a": 8, "t": 1}])
    assert (receipt.accepted, receipt.malformed) == (2, 1)
    assert db.sql("SELECT a FROM s ORDER BY a").rows() == [(7,), (8,)]
    assert len(db.sql("SELECT reason FROM s_rejected").rows()) == 1


# -- archiving while others append ----------------------------------------------------------------------------------


@pytest.mark.parametrize("statement", ["", "UPDATE s SET a = 5", "DELETE FROM s WHERE a = 1"])
def test_archiving_ends_while_others_append(db: Pond, monkeypatch: pytest.MonkeyPatch, statement: str) -> None:
    db.sql("CREATE STREAMING TABLE s (a INT, t BIGINT) TIMESTAMP BY t")
    db.append("s", [(1, 1), (2, 1)])
    plan, rounds = db._workspace.rounds.next_tasks, []

    def busy(*, force: bool) -> Any:
        rounds.append(force)
        assert len(rounds) < 20, "it would never end"
        db.append("s", [(9, 1)])
        return plan(force=force)

    monkeypatch.setattr(db._workspace.rounds, "next_tasks", busy)
    if statement:
        db.sql(statement)
    else:
        db.archive()
    assert db._workspace.stream("s").rows.manifest.current.position >= 2


# -- standard tables ------------------------------------------------------------------------------------------------


def test_a_creation_that_failed_can_be_repeated(db: Pond, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(_catalog: object) -> None:
        raise millpond.DiskFull("no space left")

    with monkeypatch.context() as patch:
        patch.setattr(db._workspace, "change_catalog", fail)
        with pytest.raises(millpond.DiskFull):
            db.sql("CREATE TABLE st AS SELECT 1 AS a")
    db.sql("CREATE TABLE st AS SELECT 2 AS a")
    assert db.sql("SELECT * FROM st").rows() == [(2,)]


def test_replaced_files_of_a_standard_table_go(tmp_path: Path) -> None:
    clock = ManualClock(10**15)

    def files(kind: str) -> int:
        return len(list((tmp_path / "pond" / "standard").glob(kind)))

    with millpond.connect(tmp_path / "pond", clock=clock, auto_archive=False) as db:
        db.sql("CREATE TABLE st (a INT, b INT); INSERT INTO st VALUES (1, 1), (2, 2)")
        for i in range(60):
            db.sql(f"UPDATE st SET b = {i} WHERE a = 1")
            clock.advance(60)
        assert files("*/c*/*.parquet") < 10
        assert files("*/_delta_log/*.checkpoint.parquet") == 1
        for _ in range(9):
            db.sql("DELETE FROM st WHERE a = 3")
    age = 10**15 / 1e6 + 60 * 60  # files get the time of the real clock, which is far from ours
    for path in (tmp_path / "pond" / "standard").glob("*/c*/*"):
        os.utime(path, (age, age))
    with millpond.connect(tmp_path / "pond", clock=ManualClock(10**15 + 10**13), auto_archive=False) as db:
        db._workspace.own()
        assert files("*/c*/*.parquet") == 1
        assert db.sql("SELECT b FROM st ORDER BY a").rows() == [(59,), (2,)]


def test_a_name_that_lost_its_table_takes_no_rows(db: Pond) -> None:
    db.sql("CREATE TABLE st (a INT)")
    stale = db._workspace.catalog.standard["st"]
    db.sql("ALTER TABLE st RENAME TO new")
    with pytest.raises(MillpondError):
        insert_standard(db._workspace, stale, [(1,)])
    db.sql("INSERT INTO new VALUES (2)")
    assert db.sql("SELECT * FROM new").rows() == [(2,)]


# -- dropped under a reader -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("index", [False, True])
def test_a_reader_is_told_that_the_table_was_dropped(db: Pond, monkeypatch: pytest.MonkeyPatch, index: bool) -> None:
    db.sql("CREATE STREAMING TABLE s (a INT, n STRING, t BIGINT) TIMESTAMP BY t")
    if index:
        db.sql("CREATE INDEX ON s (n)")
    db.append("s", [(1, "x", 1)])
    db.archive()
    with millpond.connect(db.folder) as reader:
        refresh = reader._workspace.refresh

        def and_then_drop() -> None:
            refresh()
            db.sql("DROP TABLE s")

        monkeypatch.setattr(reader._workspace, "refresh", and_then_drop)
        with pytest.raises(millpond.CatalogError, match='table "s" was dropped'):
            reader.sql("SELECT * FROM s WHERE n = 'x'")


def test_a_table_dropped_while_a_reader_opens_it(db: Pond, monkeypatch: pytest.MonkeyPatch) -> None:
    db.sql("CREATE STREAMING TABLE s (a INT, t BIGINT) TIMESTAMP BY t")
    load = catalog_file.load

    def and_then_drop(folder: Path) -> Catalog:
        found = load(folder)
        if "s" in found.streaming and not reader._workspace._owned and "s" in db._workspace.catalog.streaming:
            db.sql("DROP TABLE s")
        return found

    with millpond.connect(db.folder) as reader:
        monkeypatch.setattr(catalog_file, "load", and_then_drop)
        assert reader.sql("SHOW TABLES").rows() == []


# -- errors that are ours to tell -----------------------------------------------------------------------------------


@pytest.mark.parametrize("statement", ["+".join(["1"] * 3000), " EXCEPT SELECT ".join(["1"] * 900)])
def test_a_statement_nested_too_deeply(db: Pond, statement: str) -> None:
    with pytest.raises(millpond.UnsupportedSql, match="nested too deeply") as caught:
        db.sql(f"SELECT {statement}")
    assert caught.value.detail == (
        "Long chains of + or EXCEPT and their like count as nested; those of AND, OR, || and UNION do not."
    )
    assert caught.value.hint


def test_the_longest_chain_of_unions_is_not_nested_too_deeply(db: Pond) -> None:
    union = " UNION ALL ".join(f"SELECT {i} AS a" for i in range(MOST_SELECTS))
    assert sorted(db.sql(union).rows()) == [(i,) for i in range(MOST_SELECTS)]
    assert len(db.sql(union.replace("UNION ALL", "UNION"))) == MOST_SELECTS


def test_a_long_list_of_values_stays_here(db: Pond) -> None:
    db.sql("CREATE TABLE st (a INT)")
    db.sql("INSERT INTO st VALUES (5)")
    text = "SELECT COUNT(*) FROM st WHERE a IN (" + ", ".join(map(str, range(20_000))) + ")"
    assert "duckdb" in db.sql(f"EXPLAIN {text}").rows()[0][0]


@pytest.mark.parametrize("path", ["file/x", "file", "nul\0", "n" * 300, "/proc/nowhere/x"])
def test_what_cannot_be_a_pond(tmp_path: Path, path: str) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(millpond.NotAPond) as caught:
        millpond.connect(tmp_path / path)
    assert caught.value.hint


@pytest.mark.parametrize("shards", [-1, 1_000_000])
def test_the_setting_shards_has_bounds(tmp_path: Path, shards: int) -> None:
    with pytest.raises(millpond.CatalogError, match=f"setting shards cannot be {shards}"):
        millpond.connect(tmp_path / "pond", shards=shards)


def test_files_that_may_not_be_used(db: Pond, monkeypatch: pytest.MonkeyPatch) -> None:
    db.sql("CREATE STREAMING TABLE s (a INT, t BIGINT) TIMESTAMP BY t")
    db.close()
    opened = os.open

    def refuse(path: Any, flags: int, *more: Any, **named: Any) -> int:
        if str(path).endswith("writer.lock"):
            raise PermissionError(13, "Permission denied", str(path))
        return opened(path, flags, *more, **named)

    with millpond.connect(db.folder) as again, monkeypatch.context() as patch:
        patch.setattr(os, "open", refuse)
        with pytest.raises(millpond.PondError, match=r'writer.lock" cannot be used: permission denied') as caught:
            again.append("s", [(1, 1)])
        assert caught.value.hint
    read = Path.read_bytes

    def unread(path: Path) -> bytes:
        if path.name == "catalog.json":
            raise PermissionError(13, "Permission denied", str(path))
        return read(path)

    monkeypatch.setattr(Path, "read_bytes", unread)
    with pytest.raises(millpond.PondError, match=r'catalog.json" cannot be used: permission denied'):
        millpond.connect(db.folder)
