"""Who waits for results gets them while Spark starts, is told when it cannot start, and cannot come with a wrong position."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

import millpond
from millpond.errors import EngineError, UnknownPosition
from millpond.pond import Pond
from millpond.tick import pipeline


@pytest.fixture
def db(tmp_path: Path) -> Iterator[Pond]:
    with millpond.connect(tmp_path / "pond", auto_archive=False) as db:
        db.sql("CREATE STREAMING TABLE r (v INT, t BIGINT) TIMESTAMP BY t")
        db.sql("CREATE CONTINUOUS QUERY q RANGE UNBOUNDED AS SELECT v FROM r [NOW] SAMPLE REALTIME")
        yield db


def send(db: Pond, t: int) -> None:
    db.append("r", [(t, t)])
    db.advance("r", t + 1)


def test_queries_are_evaluated_while_spark_starts(db: Pond, monkeypatch: pytest.MonkeyPatch) -> None:
    begun, goes_on = threading.Event(), threading.Event()

    def slow(*_: object, **__: object) -> None:
        begun.set()
        goes_on.wait(60)
        raise EngineError("no Spark here")

    monkeypatch.setattr(pipeline, "session_for", slow)
    try:
        with db.subscribe("q") as results:
            assert begun.wait(30)
            send(db, 1)
            batch = results.next(timeout=30)
            assert batch is not None
            assert batch.rows() == [(1, 1, 0)]
            send(db, 2)
            db.tick()
            assert db.resume("q", after=0).fetch().rows() == [(2, 2, 1)]
    finally:
        goes_on.set()


def test_a_subscriber_is_told_why_nothing_comes(db: Pond, monkeypatch: pytest.MonkeyPatch) -> None:
    def none(*_: object, **__: object) -> None:
        raise EngineError("no Spark here")

    monkeypatch.setattr(pipeline, "session_for", none)
    monkeypatch.setattr(pipeline, "_TRIES", 1)
    with db.subscribe("q") as results, pytest.raises(EngineError, match="no Spark here"):
        results.next(timeout=60)


def test_a_position_is_one_the_query_has_reached(db: Pond) -> None:
    send(db, 1)
    db.tick()
    assert db.resume("q", after=0).fetch().rows() == []
    with pytest.raises(UnknownPosition, match='"q" has not sent a result of number 1') as caught:
        db.resume("q", after=1)
    assert caught.value.detail
    assert "The next one it sends has number 1." in caught.value.detail
    db.sql("DROP CONTINUOUS QUERY q")
    db.sql("CREATE CONTINUOUS QUERY q AS SELECT v FROM r [NOW] SAMPLE REALTIME")
    with pytest.raises(UnknownPosition):
        db.subscribe("q", after=0)
    with pytest.raises(TypeError, match="-5 is not a position"):
        db.resume("q", after=-5)
    with pytest.raises(TypeError, match="not both"):
        db.resume("q", after=-1, since=1)
