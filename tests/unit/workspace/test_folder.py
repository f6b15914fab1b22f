"""The folder of a pond: made once, whoever makes it at the same time, and swept of what was dropped before a crash."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import pytest

import millpond
from millpond.errors import NotAPond
from millpond.workspace import folder as folders


def test_two_processes_that_make_the_same_pond(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The second has found no pond, and is about to make one, while the first makes it and uses it."""
    path = tmp_path / "pond"
    make_folder = folders.make_folder

    def make_while_another_does(made: Path) -> None:
        monkeypatch.undo()
        with millpond.connect(path, auto_archive=False) as first:
            first.sql("CREATE TABLE t (a INT); INSERT INTO t VALUES (1)")
        make_folder(made)

    monkeypatch.setattr(folders, "make_folder", make_while_another_does)
    with millpond.connect(path, auto_archive=False) as second:
        assert second.sql("SELECT a FROM t").rows() == [(1,)]


def test_many_that_make_the_same_pond_at_once(tmp_path: Path) -> None:
    path = tmp_path / "pond"
    together = threading.Barrier(8)
    failed: list[Exception] = []

    def make() -> None:
        together.wait()
        try:
            folders.prepare_folder(path, create=True)
        except Exception as error:
            failed.append(error)

    threads = [threading.Thread(target=make) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failed == []
    assert sorted(p.name for p in path.iterdir()) == ["catalog.json", "millpond.json"]


def test_a_pond_that_appears_between_two_looks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The folder holds files of a pond that was not there a moment ago."""
    path = tmp_path / "pond"
    millpond.connect(path).close()
    looks = iter([False])
    is_pond = folders._is_pond
    monkeypatch.setattr(folders, "_is_pond", lambda folder: next(looks, None) is None and is_pond(folder))
    folders.prepare_folder(path, create=False)


@pytest.mark.parametrize(
    "name", ["catalog.json", ".catalog.json.12.old", ".catalog.json.12.tmp", ".millpond.json.3.old", "making.lock"]
)
def test_what_a_crash_left_of_the_making_of_a_pond(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text("")
    millpond.connect(tmp_path).close()


@pytest.mark.parametrize("name", [".catalog.json.old", ".catalog.json.x.tmp", ".other.json.1.old", "making.lock.1"])
def test_a_folder_of_somebody_else_is_refused(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text("")
    with pytest.raises(NotAPond, match="is not a pond"):
        millpond.connect(tmp_path)
    assert [p.name for p in tmp_path.iterdir()] == [name]


def test_files_of_what_was_dropped_before_a_crash_are_swept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "pond"
    (tmp_path / "in").mkdir()

    def crash(*_: Any) -> None:
        """The process ends before it deletes."""

    with millpond.connect(path, auto_archive=False) as db, monkeypatch.context() as patch:
        patch.setattr("millpond.workspace.rounds.delete_folder", crash)
        patch.setattr("millpond.workspace.feeds.delete_folder", crash)
        for name in ("gone", "stays"):
            db.sql(f"CREATE STREAMING TABLE {name} (a INT, t BIGINT) TIMESTAMP BY t")
            db.sql(f"CREATE TABLE {name}_too (a INT)")
            db.sql(f"CREATE SOURCE s_{name} (a INT, t BIGINT) FROM FILES '{tmp_path / 'in'}'")
            db.sql(f"INSERT INTO {name} SELECT a, t FROM s_{name}")
        db.append("stays", [(1, 1)])
        db.sql("DROP FEED gone_from_s_gone; DROP TABLE gone; DROP TABLE gone_too")
    later = path / "tables" / "later-99"  # of a catalog newer than this one
    foreign = path / "tables" / "my-notes"
    for folder in (later, foreign):
        folder.mkdir()
    assert len(list(path.glob("*/gone*"))) == 3
    with millpond.connect(path, auto_archive=False) as db:
        assert len(list(path.glob("*/gone*"))) == 3  # a reader deletes nothing
        db._workspace.own()
        assert list(path.glob("*/gone*")) == []
        assert len(list(path.glob("*/stays*"))) == 3
        assert later.is_dir()
        assert foreign.is_dir()
        assert db.sql("SELECT a FROM stays").rows() == [(1,)]
