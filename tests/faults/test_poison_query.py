"""A query that takes for ever starves nobody: it is shown, stopped at its time limit, and can be dropped at once."""

from __future__ import annotations

import threading
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import millpond
from millpond.clock import SystemClock
from millpond.network.engine import watch
from millpond.network.strategies.parts import context

ROWS = 60_000
CLOCK = SystemClock()
# A cross join of all rows with all rows, in which nothing can be skipped. One is evaluated whole, the other in the shards.
POISON = {
    "whole": "SELECT count(*) AS n FROM r [INTERVAL '1' HOUR] a, r [INTERVAL '1' HOUR] b WHERE a.v * b.v % 7919 = -1",
    "shards": "SELECT a.k, count(*) AS n FROM r [INTERVAL '1' HOUR] a, u WHERE a.v * u.v % 7919 = -1 GROUP BY a.k",
}


def until(found: Callable[[], object], seconds: float = 60) -> None:
    waiting, begin = threading.Event(), CLOCK.monotonic()
    while not found():
        assert CLOCK.monotonic() < begin + seconds, "it did not happen in time"
        waiting.wait(0.02)


def open_pond(folder: Path, where: str, **settings: object) -> millpond.Pond:
    db = millpond.connect(folder, auto_archive=False, **settings)
    db.sql("CREATE STREAMING TABLE r (k INT, v BIGINT, t BIGINT) TIMESTAMP BY t SHARD BY k WITH (shards = 2)")
    db.sql("CREATE TABLE u (v BIGINT)")
    numbers = np.arange(ROWS, dtype=np.int64)
    db.append("u", pa.table({"v": numbers}))
    db.sql(f"CREATE CONTINUOUS QUERY poison RANGE UNBOUNDED AS {POISON[where]} SAMPLE INTERVAL '10' SECOND")
    db.sql("CREATE CONTINUOUS QUERY good RANGE UNBOUNDED AS SELECT k, v FROM r [NOW] WHERE v < 3 SAMPLE REALTIME")
    db.append("r", pa.table({"k": numbers.astype(np.int32), "v": numbers, "t": np.full(ROWS, 5)}))
    db.advance("r", 11)
    return db


def state(db: millpond.Pond, query: str) -> str:
    ((found,),) = db.sql(f"SELECT state FROM millpond.queries WHERE name = '{query}'").rows()
    return str(found)


@pytest.mark.parametrize("where", POISON)
def test_one_poison_query_starves_all(tmp_path: Path, where: str) -> None:
    with open_pond(tmp_path / "pond", where, evaluation_time=timedelta(seconds=1)) as db:
        db.tick()
        assert db.sql("SELECT k, v FROM good ORDER BY v").rows() == [(0, 0), (1, 1), (2, 2)]
        assert state(db, "good") == "running"
        assert state(db, "poison") == "failed"
        ((problem,),) = db.sql("SELECT problem FROM millpond.queries WHERE name = 'poison'").rows()
        assert problem.splitlines()[0].endswith("took longer than 1 second and was stopped")
        assert "evaluation_time" in problem
        db.append("r", [(7, 1, 20)])
        db.advance("r", 31)
        db.tick()
        assert len(db.sql("SELECT * FROM good").rows()) == 4


@pytest.mark.parametrize("where", POISON)
def test_definitions_do_not_wait_for_an_evaluation(tmp_path: Path, where: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watch, "_SHOWN_AFTER", 0.1)
    with open_pond(tmp_path / "pond", where, evaluation_time=timedelta(0)) as db:
        ticking = threading.Thread(target=db.tick)
        ticking.start()
        query = "SELECT name FROM millpond.queries WHERE evaluating_since IS NOT NULL"
        until(lambda: ("poison",) in db.sql(query).rows())
        db.sql("CREATE CONTINUOUS QUERY late RANGE UNBOUNDED AS SELECT v FROM r [NOW] WHERE v = 5 SAMPLE REALTIME")
        db.sql("ALTER CONTINUOUS QUERY late SET RANGE INTERVAL '1' DAY")
        db.sql("CREATE TABLE other (a INT)")
        db.sql("DROP TABLE other")
        db.sql("PAUSE CONTINUOUS QUERY good")
        db.sql("RESUME CONTINUOUS QUERY good")
        assert ticking.is_alive(), "the evaluation ended by itself: nothing was shown"
        db.sql("DROP CONTINUOUS QUERY poison")
        ticking.join(30)
        assert not ticking.is_alive(), "the evaluation of the dropped query goes on"
        assert db.sql(query).rows() == []
        db.append("r", [(7, 5, 20)])
        db.advance("r", 31)
        db.tick()
        # Made while the tick was under way, it begins where the network stood before it, and misses no row.
        assert db.sql("SELECT v FROM late").rows() == [(5,), (5,)]
        assert [row[0] for row in db.sql("SHOW CONTINUOUS QUERIES").rows()] == ["good", "late"]


def test_a_query_made_while_a_tick_is_under_way_begins_there_after_a_restart(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(watch, "_SHOWN_AFTER", 0.1)
    with open_pond(tmp_path / "pond", "whole", evaluation_time=timedelta(0)) as db:
        ticking = threading.Thread(target=db.tick)
        ticking.start()
        until(lambda: db.sql("SELECT name FROM millpond.queries WHERE evaluating_since IS NOT NULL").rows())
        db.sql("CREATE CONTINUOUS QUERY late RANGE UNBOUNDED AS SELECT v FROM r [NOW] WHERE v = 5 SAMPLE REALTIME")
        db.append("r", [(7, 5, 20)])
        db.sql("DROP CONTINUOUS QUERY poison")
        ticking.join(30)
    with millpond.connect(tmp_path / "pond", auto_archive=False) as db:
        db.advance("r", 31)
        db.tick()
        assert db.sql("SELECT v FROM late").rows() == [(5,), (5,)]


@pytest.mark.parametrize("where", POISON)
def test_closing_does_not_wait_for_an_evaluation_and_fails_no_query(
    tmp_path: Path, where: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(watch, "_SHOWN_AFTER", 0.1)
    db = open_pond(tmp_path / "pond", where, evaluation_time=timedelta(0))
    ticking = threading.Thread(target=db.tick)
    ticking.start()
    until(lambda: db.sql("SELECT name FROM millpond.queries WHERE evaluating_since IS NOT NULL").rows())
    closing = threading.Thread(target=db.close)
    closing.start()
    closing.join(30)
    assert not closing.is_alive(), "close waits for the evaluation"
    ticking.join(30)
    with millpond.connect(tmp_path / "pond", auto_archive=False) as again:
        assert state(again, "poison") == state(again, "good") == "running"
        again.sql("DROP CONTINUOUS QUERY poison")
        again.tick()
        assert len(again.sql("SELECT * FROM good").rows()) == 3


def open_quiet(folder: Path, **settings: object) -> millpond.Pond:
    """Two rows, 200,000 instants of one unit apart."""
    db = millpond.connect(folder, auto_archive=False, **settings)
    db.sql("CREATE STREAMING TABLE r (k INT, v BIGINT, t BIGINT) TIMESTAMP BY t SHARD BY k WITH (shards = 2)")
    db.sql("CREATE CONTINUOUS QUERY good RANGE UNBOUNDED AS SELECT k, v FROM r [NOW] SAMPLE REALTIME")
    db.append("r", [(1, 1, 1), (2, 2, 200_000)])
    db.advance("r", 200_001)
    return db


def test_a_query_with_very_many_instants_holds_up_nobody(tmp_path: Path) -> None:
    """It had all of them evaluated in one tick, and the others waited."""
    with open_quiet(tmp_path / "pond") as db:
        db.tick()
        db.sql(
            "CREATE CONTINUOUS QUERY many FROM 2 AS SELECT max(v) AS m, NOW() AS n FROM r [INTERVAL 300000] SAMPLE INTERVAL 1"
        )
        ticking = threading.Thread(target=db.tick)
        ticking.start()
        try:
            until(lambda: 0 < len(db.resume("many").fetch()) < 190_000)
            db.append("r", [(3, 3, 200_005)])
            db.advance("r", 200_006)
            until(lambda: len(db.sql("SELECT * FROM good").rows()) == 3, 10)
            assert ticking.is_alive(), "it had all of its instants evaluated"
            db.sql("DROP CONTINUOUS QUERY many")
            ticking.join(10)
            assert not ticking.is_alive()
        finally:
            db.close()
            ticking.join(60)


def test_what_is_left_to_later_ticks_comes_in_order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(context, "SLICE", 0.02)
    with open_quiet(tmp_path / "pond") as db:
        db.tick()
        for name, what in (("whole", "max(v) + NOW() AS n"), ("groups", "count(*) AS n")):
            db.sql(
                f"CREATE CONTINUOUS QUERY {name} FROM 2 AS SELECT {what} FROM r [INTERVAL 300000] SAMPLE INTERVAL 200"
            )
        ((before,),) = db.sql("SELECT max(number) FROM millpond.ticks").rows()
        db.tick()
        assert db.sql("SELECT max(number) FROM millpond.ticks").rows()[0][0] > before + 3
        assert [row[:2] for row in db.resume("whole").fetch().rows()] == [
            (at + (1 if at < 200_000 else 2), at) for at in range(200, 200_001, 200)
        ]
        counts = [row[:2] for row in db.resume("groups").fetch().rows()]
        assert counts == [(1 if at < 200_000 else 2, at) for at in range(200, 200_001, 200)]


def test_instants_in_the_shards_have_a_time_limit(tmp_path: Path) -> None:
    """All shards go on together, so that none may leave instants to the next tick."""
    with millpond.connect(tmp_path / "pond", auto_archive=False, evaluation_time=timedelta(seconds=1)) as db:
        db.sql("CREATE STREAMING TABLE r (k INT, v BIGINT, t BIGINT) TIMESTAMP BY t WITH (shards = 1)")
        query = "SELECT k, NOW() AS n FROM r [INTERVAL 3000000] SAMPLE INTERVAL 1"
        db.sql(f"CREATE CONTINUOUS QUERY many RANGE UNBOUNDED AS {query}")
        db.append("r", [(1, 1, 1), (2, 2, 2_000_000)])
        db.advance("r", 2_000_001)
        db.tick()
        ((problem,),) = db.sql("SELECT problem FROM millpond.queries WHERE name = 'many'").rows()
        assert problem == (
            'the instants of query "many" in one tick took longer than 1 second\n'
            "Detail: Others wait for the end of a tick.\n"
            'Hint: Give the query a longer SAMPLE, or connect with a longer "evaluation_time".'
        )


def test_create_does_not_evaluate_what_has_nothing_to_do_with_rows(tmp_path: Path) -> None:
    """To know its columns it was evaluated over no rows, which took for ever, and nobody could define anything meanwhile."""
    lists = ", ".join(f"(VALUES {', '.join(f'({i})' for i in range(100))}) AS x{n}(a{n})" for n in range(6))
    endless = f"SELECT sum(a0 * a1 + a2 - a3 * a4 + a5) FROM {lists}"
    with millpond.connect(tmp_path / "pond", auto_archive=False, evaluation_time=timedelta(seconds=1)) as db:
        db.sql("CREATE STREAMING TABLE r (v INT, t BIGINT) TIMESTAMP BY t")
        create = f"CREATE CONTINUOUS QUERY q AS SELECT v, ({endless}) AS n FROM r [NOW] SAMPLE REALTIME"
        creating = threading.Thread(target=db.sql, args=(create,), daemon=True)
        creating.start()
        creating.join(60)
        assert not creating.is_alive()
        db.append("r", [(1, 1), (2, 2)])
        db.tick()
        ((state, problem),) = db.sql("SELECT state, problem FROM millpond.queries").rows()
        assert state == "failed"
        assert "evaluation_time" in problem or "longer than" in problem
