"""Rounds: a statement that must not meet a tick waits for it, and no longer than an evaluation may take."""

from __future__ import annotations

import threading
from datetime import timedelta
from pathlib import Path

import pytest

import millpond

begun, end = threading.Event(), threading.Event()


def loops(v: int) -> int:
    begun.set()
    assert end.wait(60.0)
    return v


@pytest.mark.parametrize(
    ("statement", "name"),
    [
        ("UPDATE notes SET a = 2", "UPDATE"),
        ("DELETE FROM p WHERE v = 1", "DELETE"),
        ("ALTER TABLE p SET NOW 1", "SET NOW"),
    ],
)
def test_a_function_that_never_returns_does_not_keep_a_statement_for_ever(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, statement: str, name: str
) -> None:
    monkeypatch.setattr("millpond.workspace.rounds._PATIENCE", 1.6)
    begun.clear()
    end.clear()
    with millpond.connect(tmp_path, auto_archive=False, evaluation_time=timedelta(0)) as db:
        db.create_function("loops", loops, arguments=["INT"], returns="INT")
        db.sql("CREATE STREAMING TABLE p (v INT, t BIGINT) TIMESTAMP BY t")
        db.sql("CREATE TABLE notes (a INT); INSERT INTO notes VALUES (1)")
        db.sql("CREATE CONTINUOUS QUERY q AS SELECT loops(v) AS w FROM p [NOW] SAMPLE REALTIME")
        db.append("p", [(1, 1)])
        db.advance("p", 3)
        ticking = threading.Thread(target=db.tick)
        ticking.start()
        assert begun.wait(30.0)
        with pytest.raises(millpond.EngineError) as told:
            db.sql(statement)
        assert str(told.value) == (
            f"{name} was not carried out: a tick under way did not end within 2 seconds\n"
            "Detail: Being evaluated: q.\n"
            "Hint: Try again. If a query never ends, drop it, and close and open the pond."
        )
        assert db.sql("SELECT a FROM notes").rows() == [(1,)]  # and nothing is held
        end.set()
        ticking.join()
        db.sql(statement)
