"""Feeds of a pond: a statement that makes one succeeds as a whole or leaves nothing."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

import millpond
from tests.faults.ledger import wait_until


@pytest.fixture
def db(tmp_path: Path) -> millpond.Pond:
    pond = millpond.connect(tmp_path / "pond", auto_archive=False)
    pond.sql("CREATE STREAMING TABLE z (a INT, t BIGINT) TIMESTAMP BY t")
    return pond


def journals(folder: Path) -> list[Path]:
    return list((folder / "pond").glob("feeds/*"))


def test_a_missing_folder_is_told_when_the_source_is_created(db: millpond.Pond, tmp_path: Path) -> None:
    with db:
        missing = tmp_path / "in"
        made = db.sql(f"CREATE SOURCE s (a INT, t BIGINT) FROM FILES '{missing}'")
        assert made.message == f'source "s" created; warning: there is no folder "{missing}" yet, a feed needs it'
        missing.mkdir()
        assert db.sql(f"CREATE SOURCE s2 (a INT, t BIGINT) FROM FILES '{missing}'").message == 'source "s2" created'


def test_a_feed_that_fails_leaves_nothing(db: millpond.Pond, tmp_path: Path) -> None:
    with db:
        db.sql(f"CREATE SOURCE s (a INT, t BIGINT) FROM FILES '{tmp_path / 'in'}'")
        with pytest.raises(millpond.CatalogError, match="does not exist"):
            db.sql("INSERT INTO z SELECT a, t FROM s")
        assert db._workspace.catalog.feeds == {}
        assert len(db.sql("SHOW FEEDS")) == 0
        (tmp_path / "in").mkdir()
        with pytest.raises(millpond.UnsupportedSql, match="this SELECT cannot run in a feed"):
            db.sql("INSERT INTO z SELECT a, hash(t) FROM s")
        assert db._workspace.catalog.feeds == {}
        assert journals(tmp_path) == []
        db.sql("INSERT INTO z SELECT a, t FROM s")
        assert db.status()["feeds"]["z_from_s"]["state"] == "running"
    with millpond.connect(tmp_path / "pond") as again:
        assert list(again._workspace.catalog.feeds) == ["z_from_s"]


def test_a_feed_that_cannot_be_written_down_leaves_nothing(
    db: millpond.Pond, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(_pond: millpond.Pond, _catalog: object) -> None:
        raise millpond.DiskFull("no space left")

    with db:
        (tmp_path / "in").mkdir()
        db.sql(f"CREATE SOURCE s (a INT, t BIGINT) FROM FILES '{tmp_path / 'in'}'")
        with monkeypatch.context() as patch:
            patch.setattr("millpond.workspace.workspace.Workspace.change_catalog", fail)
            with pytest.raises(millpond.DiskFull):
                db.sql("INSERT INTO z SELECT a, t FROM s")
        assert db.status()["feeds"] == {}
        assert journals(tmp_path) == []
        db.sql("INSERT INTO z SELECT a, t FROM s")
        assert len(journals(tmp_path)) == 1


def wait(db: millpond.Pond, count: int) -> None:
    pause = threading.Event()
    for _ in range(2000):
        state = db.status()["tables"]["z"]
        if state["accepted"] + state["late"] + state["malformed"] >= count:
            return
        pause.wait(0.01)
    raise AssertionError(db.status()["feeds"])


def test_a_dropped_feed_can_be_made_again(db: millpond.Pond, tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.csv").write_text("1,1\n2,1\n")
    with db:
        db.sql(f"CREATE SOURCE s (a INT, t BIGINT) FROM FILES '{tmp_path / 'in'}'")
        db.sql("INSERT INTO z SELECT a, t FROM s")
        wait(db, 2)
        db.sql("DROP FEED z_from_s")
        db.sql("INSERT INTO z SELECT a, t FROM s")
        wait(db, 4)
        (tmp_path / "in" / "b.csv").write_text("3,1\n")
        wait(db, 5)
        assert db.sql("SELECT a FROM z ORDER BY a").rows() == [(1,), (1,), (2,), (2,), (3,)]
        assert len(journals(tmp_path)) == 1
        assert len(db._workspace.stream("z").state.positions) == 1
    with millpond.connect(tmp_path / "pond", auto_archive=False) as again:
        again._workspace.own()
        again._workspace.feeds.start(again._workspace.catalog.feeds["z_from_s"])
        (tmp_path / "in" / "c.csv").write_text("4,1\n")
        wait(again, 6)
        assert again.sql("SELECT a FROM z ORDER BY a").rows() == [(1,), (1,), (2,), (2,), (3,), (4,)]


def test_a_poisonous_row_is_rejected_alone(db: millpond.Pond, tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.csv").write_text("5,1\n0,2\n2,3\n")
    with db:
        db.sql(f"CREATE SOURCE s (a INT, t BIGINT) FROM FILES '{tmp_path / 'in'}'")
        db.sql("INSERT INTO z SELECT CAST(10 / a AS INT), t FROM s")
        wait(db, 3)
        assert db.sql("SELECT a, t FROM z ORDER BY t").rows() == [(2, 1), (5, 3)]
        ((place, reason, row),) = db.sql("SELECT position, reason, row FROM z_rejected").rows()
        assert (place, row) == ("a.csv:2", '{"a": 0, "t": 2}')
        assert "zero" in reason.lower()
        shown = db.sql("SHOW FEEDS")
        assert shown.columns == ["name", "source", "table", "state", "rejected", "problem", "sql"]
        assert [row[:-1] for row in shown.rows()] == [("z_from_s", "s", "z", "running", 1, None)]


def test_a_feed_that_cannot_start_does_not_keep_others_from_it(db: millpond.Pond, tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.csv").write_text("1,1\n")
    with db:
        db.sql("CREATE STREAMING TABLE y (a INT, t BIGINT) TIMESTAMP BY t")
        db.sql(f"CREATE SOURCE s (a INT, t BIGINT) FROM FILES '{tmp_path / 'in'}'")
        for table in ("y", "z"):
            db.sql(f"INSERT INTO {table} SELECT a, t FROM s")
            wait_until(lambda t=table: len(db.sql(f"SELECT * FROM {t}")) == 1, "the row")  # type: ignore[misc]
    next((tmp_path / "pond").glob("feeds/y_*/files.journal")).write_text("")
    with millpond.connect(tmp_path / "pond", auto_archive=False) as again:
        again._workspace.own()
        with pytest.raises(millpond.CorruptBlock, match='the journal of source "s" has no file 1'):
            again._workspace.feeds.start_all()
        assert again.status()["feeds"]["z_from_s"]["state"] == "running"


def test_an_append_does_not_meet_the_error_of_a_feed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A full block starts the pipeline, and not the feeds of other tables."""
    (tmp_path / "in").mkdir()
    monkeypatch.setattr("millpond.tick.pipeline.Pipeline.start", lambda _: None)
    with millpond.connect(tmp_path / "pond", block_rows=1000) as db:
        db.sql("CREATE STREAMING TABLE z (a INT, t BIGINT) TIMESTAMP BY t WITH (shards = 1)")
        db.sql("CREATE STREAMING TABLE y (a INT, t BIGINT) TIMESTAMP BY t")
        db.sql(f"CREATE SOURCE s (a INT, t BIGINT) FROM FILES '{tmp_path / 'in'}'")
        db.sql("INSERT INTO y SELECT a, t FROM s")
    with millpond.connect(tmp_path / "pond", block_rows=1000) as db:
        monkeypatch.setattr("millpond.workspace.feeds.open_source", failing_source)
        for first in (0, 1000):
            assert db.append("z", [(1, at) for at in range(first, first + 1000)]).accepted == 1000
        assert db._workspace.pipeline is not None
        assert db.status()["feeds"]["y_from_s"]["state"] == "stopped"
        with pytest.raises(millpond.CorruptBlock):
            db.start()  # who starts the feeds is told


def failing_source(*_: object) -> None:
    raise millpond.CorruptBlock("its journal is damaged")


def test_drop_feed_does_not_hold_the_work_lock_while_it_waits(
    db: millpond.Pond, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The last step of the feed may need the lock itself."""
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.csv").write_text("1,1\n")
    with db:
        db.sql(f"CREATE SOURCE s (a INT, t BIGINT) FROM FILES '{tmp_path / 'in'}'")
        work, under_way, needed = db._workspace.work, threading.Event(), []
        make_room = db._workspace._make_room

        def need_the_lock(table: object) -> None:
            under_way.set()
            runner = db._workspace.feeds.running("z_from_s")
            assert runner is None or runner._stop.wait(30.0)
            needed.append(work.acquire(timeout=10.0))
            work.release()
            make_room(table)  # type: ignore[arg-type]

        monkeypatch.setattr(db._workspace.tables, "_make_room", need_the_lock)
        db.sql("INSERT INTO z SELECT a, t FROM s")
        assert under_way.wait(30.0)
        assert db.sql("DROP FEED z_from_s").message == 'feed "z_from_s" dropped'
        assert needed == [True]
        assert journals(tmp_path) == []


def test_a_dropped_feed_whose_last_step_does_not_end_is_told(
    db: millpond.Pond, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("millpond.workspace.feeds._PATIENCE", 0.0)
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.csv").write_text("1,1\n")
    under_way, end = threading.Event(), threading.Event()

    def last(_: object) -> None:
        under_way.set()
        end.wait(30.0)

    with db:
        db.sql(f"CREATE SOURCE s (a INT, t BIGINT) FROM FILES '{tmp_path / 'in'}'")
        monkeypatch.setattr(db._workspace.tables, "_make_room", last)
        db.sql("INSERT INTO z SELECT a, t FROM s")
        assert under_way.wait(30.0)
        said = db.sql("DROP FEED z_from_s").message
        assert said == 'feed "z_from_s" dropped; a step of it is still under way, and ends it'
        end.set()
