"""Work that yields: its result or its error, and the priority of the threads that do it."""

from __future__ import annotations

import os
import sys
import threading
from pathlib import Path

import pytest

import millpond
from millpond.query.local import Local
from millpond.query.yielding import yielding
from millpond.statements import standing


def test_what_the_work_returns_or_raises() -> None:
    assert yielding(lambda: 7) == 7
    assert yielding(lambda: None) is None
    with pytest.raises(KeyError, match="gone"):
        yielding(lambda: {}["gone"])


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux has a priority for each thread")
def test_the_priority_of_its_threads_alone_is_lower(tmp_path: Path) -> None:
    def priority() -> int:
        return os.getpriority(os.PRIO_PROCESS, threading.get_native_id())

    here = priority()
    assert yielding(priority) == min(19, here + 10)
    assert priority() == here


def test_old_rows_are_looked_for_beside_the_questions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The engine that yields gives the same rows; a pond that has one is closed like any other."""
    with millpond.connect(tmp_path / "pond", auto_archive=False) as db:
        db.sql("CREATE STREAMING TABLE r (v INT, t BIGINT) TIMESTAMP BY t")
        db.append("r", [(i % 10, i) for i in range(1000)])
        db.archive()
        workspace = db._workspace
        assert workspace.background is workspace.local, "no pipeline runs"
        monkeypatch.setattr(workspace, "_pipeline", object())
        assert workspace.background is workspace.background is not workspace.local
        monkeypatch.setattr(type(workspace), "background", workspace.background)
        threads = [
            each._connection.execute("SELECT current_setting('threads')").fetchall()[0][0]
            for each in (workspace.local, workspace.background)
        ]
        assert threads[1] == max(1, threads[0] // 2), "the ticks keep the other cores"
        assert workspace.background.reader is workspace.local.reader is not None, "of functions that ask for the pond"
        monkeypatch.setattr(workspace, "_pipeline", None)
        asked = db.register("SELECT t FROM r WHERE v = 3 BEGIN 100 END NOW")
        answer = asked.invoke()
        assert answer.way == "plain"
        assert [t for (t,) in answer.rows()] == list(range(993, 100, -10))


def test_much_that_is_asked_from_scratch_yields_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A standing query of which nothing is kept may read all of a long history."""
    with millpond.connect(tmp_path / "pond", auto_archive=False) as db:
        db.sql("CREATE STREAMING TABLE r (v INT, t BIGINT) TIMESTAMP BY t")
        db.append("r", [(i % 10, i) for i in range(1000)])
        asked = db.register("SELECT COUNT(*) AS n FROM r WHERE v = 3 BEGIN 0 END NOW", keep="nothing")
        workspace = db._workspace
        apart = Local(workspace.folder, beside=workspace.local)
        with monkeypatch.context() as patch:
            patch.setattr(
                type(workspace), "background", property(lambda _: pytest.fail("a thousand rows are soon read"))
            )
            assert asked.invoke().rows() == [(100,)]
        with monkeypatch.context() as patch:
            patch.setattr(standing, "_MUCH", 999)
            patch.setattr(type(workspace), "background", apart)
            patch.setattr(workspace.local, "run", lambda *_, **__: pytest.fail("the engine of the questions was asked"))
            assert asked.invoke().rows() == [(100,)]
        apart.close()
