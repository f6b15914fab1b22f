"""The pond under several threads, and with what nobody would name a table. No Spark."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import millpond
from millpond.errors import MillpondError
from millpond.pond import Pond


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
    under_way = db.intake("s")
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
    stop, wrong = threading.Event(), []

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
    for _ in range(30):
        db.sql("DROP TABLE s")
        db.sql(create)
    stop.set()
    for thread in threads:
        thread.join()
    assert not wrong


# -- names are not paths --------------------------------------------------------------------------------------------

HOSTILE = ["../../victim", "a/b", ".", "..", "x'y\"z;drop", "n" * 300, "ünï", "con\n", "-", "%2e"]


@pytest.mark.parametrize("name", HOSTILE)
def test_a_name_never_leads_out_of_the_pond(tmp_path: Path, name: str) -> None:
    beside = {p.name for p in tmp_path.iterdir()}
    for number in range(12):
        (tmp_path / f"victim-{number}" / "data").mkdir(parents=True)
    with millpond.connect(tmp_path / "pond", auto_archive=False) as db:
        db.sql(f"CREATE STREAMING TABLE `{name}` (`{name}` STRING, a INT, t BIGINT) TIMESTAMP BY t")
        db.sql(f"CREATE INDEX ON `{name}` (`{name}`)")
        db.append(name, [("x", 1, 1), ("y", 2, 1)])
        db.archive()
        assert db.sql(f"SELECT a FROM `{name}` WHERE `{name}` = 'y'").rows() == [(2,)]
        db.sql(f"CREATE TABLE `{name}2` (a INT)")
        db.sql(f"INSERT INTO `{name}2` VALUES (7)")
        db.sql(f"CREATE CONTINUOUS QUERY `{name}3` AS SELECT COUNT(*) AS n FROM `{name}` [NOW]")
        inbox = tmp_path / "inbox"
        inbox.mkdir()
        db.sql(f"CREATE SOURCE `{name}4` (k STRING, a INT, t BIGINT) FROM FILES '{inbox}' FORMAT CSV")
        db.sql(f"INSERT INTO `{name}` SELECT * FROM `{name}4`")
        db.sql(f"ON `{name}3` DO 'os:getcwd'")
        for kind in ("tables", "standard", "feeds", "triggers"):
            for path in (db.folder / kind).iterdir() if (db.folder / kind).exists() else ():
                assert path.name.encode().isascii() and len(path.name) < 80
        db.sql(f"DROP CONTINUOUS QUERY `{name}3`")
        db.sql(f"DROP FEED `{name}_from_{name}4`")
        db.sql(f"DROP TABLE `{name}2`")
        db.sql(f"DROP TABLE `{name}`")
    assert {p.name for p in tmp_path.iterdir()} == beside | {"pond", "inbox"} | {f"victim-{i}" for i in range(12)}
    assert all(os.listdir(tmp_path / f"victim-{i}") == ["data"] for i in range(12))
