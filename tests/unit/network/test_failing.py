"""A query that fails stops at the instant at which it failed, says so, and disturbs no other."""

from __future__ import annotations

import logging
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import millpond
from millpond.network.buffers.keyed_rows import KeyedRows
from millpond.network.strategies.rows import RowStrategy

TABLE = "CREATE STREAMING TABLE p (vid INT, spd INT, seg INT, big BIGINT, t BIGINT) TIMESTAMP BY t SHARD BY vid"
IN_STEPS = "SELECT seg, COUNT(*) AS n FROM p [INTERVAL 1] WHERE 10 / spd > 1 GROUP BY seg SAMPLE INTERVAL 1"
BAD = 5  # the time of a row over which 10 / spd fails


def rows(time: int, bad: bool = False) -> list[tuple[int, int, int, int, int]]:
    return [(vid, 0 if bad and vid == 3 else vid + 1, vid % 2, 1, time) for vid in range(6)]


def fill(db: millpond.Pond, first: int, last: int, *, bad: int | None = None, every: int = 1) -> None:
    for time in range(first, last + 1):
        db.append("p", rows(time, time == bad))
        db.advance("p", time + 1)
        if (time - first + 1) % every == 0:
            db.tick()
    db.tick()


def state(db: millpond.Pond, name: str) -> tuple[str, str | None]:
    found = {r[0]: r for r in db.sql("SHOW CONTINUOUS QUERIES").rows()}[name]
    return found[1], found[7]


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT vid, 10 / spd AS x FROM p [NOW] SAMPLE REALTIME",
        "SELECT vid, 10 / MIN(spd) AS x FROM p [INTERVAL 1] GROUP BY vid SAMPLE INTERVAL 1",
        "SELECT ISTREAM vid, 10 / spd AS x, t FROM p [vid ROWS 2] SAMPLE REALTIME",
        "SELECT ISTREAM vid, COUNT(*) AS n FROM p [UNBOUNDED] WHERE 10 / spd > 1 GROUP BY vid SAMPLE REALTIME",
        "SELECT vid, COUNT(*) AS n FROM p [UNBOUNDED] WHERE 10 / spd > 1 GROUP BY vid SAMPLE INTERVAL 1",
        IN_STEPS,
    ],
)
@pytest.mark.parametrize("every", [1, 20])
def test_everything_before_the_failing_instant_is_sent_and_nothing_from_it_on(
    tmp_path: Path, sql: str, every: int
) -> None:
    """One shard fails; what the others find at that instant or later would be part of a result."""
    sent = []
    for shards in (1, 4):
        with millpond.connect(tmp_path / str(shards), auto_archive=False) as db:
            db.sql(f"{TABLE} WITH (shards = {shards})")
            db.sql(f"CREATE CONTINUOUS QUERY q RANGE UNBOUNDED AS {sql}")
            fill(db, 1, 9, bad=BAD, every=every)
            assert state(db, "q") == ("failed", "the query failed: division by zero")
            sent.append(sorted(row[:-1] for row in db.resume("q").fetch()))
    assert sent[0] == sent[1]
    assert {row[-1] for row in sent[0]} == set(range(1, BAD))


def test_a_query_in_two_steps_that_failed_is_taken_up_again(tmp_path: Path) -> None:
    with millpond.connect(tmp_path / "pond", auto_archive=False) as db:
        db.sql(f"{TABLE} WITH (shards = 4)")
        db.sql(f"CREATE CONTINUOUS QUERY q RANGE UNBOUNDED AS {IN_STEPS}")
        assert db._workspace.network.placed("__partial_q") == "p"
        fill(db, 1, 9, bad=BAD)
    with millpond.connect(tmp_path / "pond", auto_archive=False) as db:
        fill(db, 10, 11)
        assert state(db, "q")[0] == "failed"
        assert {row[-2] for row in db.resume("q").fetch()} == set(range(1, BAD))
        db.sql("RESUME CONTINUOUS QUERY q")
        fill(db, 12, 14)
        assert state(db, "q") == ("running", None)
        assert [row[1] for row in db.resume("q", since=12).fetch()] == [6] * 6


def test_a_paused_query_in_two_steps_begins_where_time_stands(tmp_path: Path) -> None:
    with millpond.connect(tmp_path / "pond", auto_archive=False) as db:
        db.sql(f"{TABLE} WITH (shards = 4)")
        db.sql(f"CREATE CONTINUOUS QUERY q RANGE UNBOUNDED AS {IN_STEPS}")
        fill(db, 1, 3)
        db.sql("PAUSE CONTINUOUS QUERY q")
        fill(db, 4, 6)
        db.sql("RESUME CONTINUOUS QUERY q")
        fill(db, 7, 8)
        assert sorted({row[-2] for row in db.resume("q").fetch()}) == [1, 2, 3, 7, 8]


def test_a_query_that_cannot_be_filled_from_history_stops_no_other(tmp_path: Path) -> None:
    with millpond.connect(tmp_path / "pond", auto_archive=False) as db:
        db.sql(f"{TABLE} WITH (shards = 2)")
        db.append("p", [(1, 1, 1, 2**62, 1), (1, 1, 1, 2**62, 2)])
        db.advance("p", 3)
        db.tick()
        db.sql("CREATE CONTINUOUS QUERY good AS SELECT vid FROM p [NOW] SAMPLE REALTIME")
        db.sql(
            "CREATE CONTINUOUS QUERY q AS SELECT vid, SUM(big) AS s FROM p [UNBOUNDED] GROUP BY vid SAMPLE INTERVAL 1"
        )
        fill(db, 4, 5)
        assert state(db, "q") == ("failed", 'the sum of "big" is too large for BIGINT')
        assert len(db.resume("good").fetch()) == 12


@pytest.mark.parametrize("bug", [ValueError("42 is not in list"), AssertionError(), KeyError("k"), ZeroDivisionError()])
def test_a_bug_of_ours_is_not_passed_off_as_a_mistake_of_the_user(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, bug: Exception
) -> None:
    """It stops the query in which it was met, says that it is one, and leaves its traceback in the log."""
    real = RowStrategy.advance

    def advance(self: RowStrategy, begin: int, frontier: int) -> Any:
        if self.prepared.name == "unlucky":
            raise bug
        return real(self, begin, frontier)

    monkeypatch.setattr(RowStrategy, "advance", advance)
    with millpond.connect(tmp_path / "pond", auto_archive=False) as db, caplog.at_level(logging.ERROR, "millpond"):
        db.sql(f"{TABLE} WITH (shards = 2)")
        for name in ("unlucky", "lucky"):
            db.sql(f"CREATE CONTINUOUS QUERY {name} AS SELECT vid FROM p [NOW] SAMPLE REALTIME")
        fill(db, 1, 2)
        status = state(db, "unlucky")[0]
        problem = db._workspace.network.problem(db._workspace.catalog.query("unlucky"))
        assert status == "failed"
        assert problem is not None
        assert problem.startswith('internal error in an evaluation of query "unlucky"')
        assert f"{type(bug).__name__}: {bug}" in problem
        assert "This is a bug in millpond." in problem
        assert state(db, "lucky") == ("running", None)
        assert len(list(db.resume("lucky").fetch())) == 12
    assert "Traceback" in caplog.text


def test_a_disk_that_fails_fails_the_tick_and_not_the_query(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It may work the next time."""
    real = RowStrategy.advance
    failing = [OSError(5, "Input/output error")]

    def advance(self: RowStrategy, begin: int, frontier: int) -> Any:
        if failing:
            raise failing.pop()
        return real(self, begin, frontier)

    monkeypatch.setattr(RowStrategy, "advance", advance)
    with millpond.connect(tmp_path / "pond", auto_archive=False) as db:
        db.sql(f"{TABLE} WITH (shards = 1)")
        db.sql("CREATE CONTINUOUS QUERY q AS SELECT vid FROM p [NOW] SAMPLE REALTIME")
        db.append("p", rows(1))
        db.advance("p", 2)
        with pytest.raises(OSError, match="Input/output error"):
            db.tick()
        db.tick()
        assert state(db, "q") == ("running", None)
        assert len(list(db.resume("q").fetch())) == 6


@pytest.mark.parametrize("sql", ["SELECT vid FROM p [NOW] SAMPLE REALTIME", IN_STEPS])
def test_a_query_that_cannot_begin_does_not_stop_the_others(tmp_path: Path, sql: str) -> None:
    """A crash between the catalog and the note of where a query begins leaves one that nobody has refused yet."""
    with millpond.connect(tmp_path, auto_archive=False) as db:
        db.sql(f"{TABLE} WITH (shards = 2)")
        fill(db, 1, 2)
        db.sql(f"CREATE CONTINUOUS QUERY a RANGE UNBOUNDED AS {sql}")
        workspace = db._workspace
        bad = replace(workspace.catalog.queries["a"], name="a_bad", folder="a_bad-77", start=1_000)
        workspace.change_catalog(workspace.catalog.with_query(bad))
    with millpond.connect(tmp_path, auto_archive=False) as db:
        db._workspace.own()
        db.sql("CREATE CONTINUOUS QUERY z AS SELECT vid FROM p [NOW] SAMPLE REALTIME")
        fill(db, 3, 4)
        assert len(db.resume("a").fetch()) > 0
        assert len(db.resume("z").fetch()) == 12
        assert state(db, "a_bad") == ("failed", 'query "a_bad" cannot begin at 1000: time stands at 3')
        assert state(db, "a") == state(db, "z") == ("running", None)
    with millpond.connect(tmp_path, auto_archive=False) as db:
        assert state(db, "a_bad")[0] == "failed"
        db.sql("RESUME CONTINUOUS QUERY a_bad")
        fill(db, 5, 6)
        assert state(db, "a_bad") == ("running", None)
        assert len(db.resume("a_bad").fetch()) > 0


@pytest.mark.parametrize(
    ("error", "problem"),
    [
        (MemoryError(), "there is not enough memory for an evaluation"),
        (ValueError("of ours"), 'internal error in an evaluation of query "bad"'),
    ],
)
def test_a_query_whose_windows_cannot_be_filled_is_not_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: Exception, problem: str
) -> None:
    """Such a query made every statement of the pond fail."""
    filling = KeyedRows.fill

    def fill(self: KeyedRows, rows: Any) -> None:
        if self.k == 7:
            raise error
        filling(self, rows)

    monkeypatch.setattr(KeyedRows, "fill", fill)
    with millpond.connect(tmp_path / "pond", auto_archive=False) as db:
        db.sql(TABLE.replace("SHARD BY vid", ""))
        db.append("p", rows(1))
        db.append("p", rows(2))
        db.sql("CREATE CONTINUOUS QUERY good AS SELECT vid, PREV(spd) AS p FROM p [vid ROWS 2] SAMPLE REALTIME")
        with pytest.raises(millpond.CatalogError, match="cannot begin") as refused:
            db.sql(
                "CREATE CONTINUOUS QUERY bad AS SELECT vid, COUNT(*) AS n FROM p [vid ROWS 7] GROUP BY vid SAMPLE REALTIME"
            )
        assert (refused.value.detail or "").startswith(problem)
        db.append("p", rows(3))
        db.tick()
        assert [row[0] for row in db.sql("SHOW CONTINUOUS QUERIES").rows()] == ["good"]
        assert state(db, "good") == ("running", None)
