"""Queries that are created while a tick is evaluated: the tick goes on without them, and the next one takes them up."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

import millpond
from millpond.tick.task_result import run_here


@pytest.mark.parametrize(
    "query",
    [
        "SELECT count(*) AS v FROM b [INTERVAL 3] SAMPLE REALTIME",  # evaluated whole
        "SELECT v FROM b [v ROWS 1] WHERE t = NOW() SAMPLE REALTIME",  # in shards
    ],
)
def test_the_place_of_a_table_whose_first_query_is_created_during_a_tick_is_kept(tmp_path: Path, query: str) -> None:
    with millpond.connect(tmp_path / "pond", auto_archive=False) as db:
        for name in ("a", "b"):
            db.sql(f"CREATE STREAMING TABLE {name} (v INT, t BIGINT) TIMESTAMP BY t SHARD BY v")
            db.append(name, [(1, 1)])
            db.advance(name, 2)
        db.sql("CREATE CONTINUOUS QUERY qa AS SELECT count(*) AS n FROM a [INTERVAL 3] SAMPLE REALTIME")
        db.append("a", [(1, 3)])
        db.advance("a", 4)
        during_a_tick(db, f"CREATE CONTINUOUS QUERY qb AS {query}")
        db.append("b", [(1, 5)])
        db.advance("b", 6)
        db.tick()
        assert db.sql("SELECT v, instant FROM qb").rows() == [(1, 5)]
        assert db.sql("SELECT problem FROM millpond.queries").rows() == [(None,), (None,)]


@pytest.mark.parametrize(
    "meanwhile",
    [
        "DROP CONTINUOUS QUERY q; CREATE CONTINUOUS QUERY q AS SELECT count(*) AS n FROM a [INTERVAL 3] SAMPLE REALTIME",
        "PAUSE CONTINUOUS QUERY q; RESUME CONTINUOUS QUERY q",
        "ALTER CONTINUOUS QUERY q SET WINDOW OF a = INTERVAL '4' SECOND",
    ],
)
def test_a_query_that_is_replaced_during_a_tick_begins_anew(tmp_path: Path, meanwhile: str) -> None:
    with millpond.connect(tmp_path / "pond", auto_archive=False) as db:
        db.sql("CREATE STREAMING TABLE a (v INT, t BIGINT) TIMESTAMP BY t")
        db.sql("CREATE CONTINUOUS QUERY q AS SELECT count(*) AS n FROM a [INTERVAL 3] SAMPLE REALTIME")
        db.append("a", [(1, 1)])
        db.advance("a", 2)
        db.tick()
        db.append("a", [(1, 3)])
        db.advance("a", 4)
        during_a_tick(db, meanwhile)
        db.append("a", [(1, 5)])
        db.advance("a", 6)
        db.tick()
        assert db.sql("SELECT n, instant FROM q").rows()[-1] == (3 if "ALTER" in meanwhile else 2, 5)
        assert db.sql("SELECT problem FROM millpond.queries").rows() == [(None,)]


def during_a_tick(db: millpond.Pond, statements: str) -> None:
    """Run statements in another thread after a tick is planned and before it is committed."""
    rounds = db._workspace.rounds
    with rounds.round:
        plan = db._workspace.network.plan()
        assert plan is not None
        other = threading.Thread(target=db.sql, args=(statements,))
        other.start()
        other.join()
        rounds._finish(plan, run_here(plan.tasks))
