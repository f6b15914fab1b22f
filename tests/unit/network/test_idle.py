"""Idle tables: what is declared idle holds nobody back, until it accepts a row."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as some

import millpond
from millpond import CatalogError, Pond, UnknownName, UnsupportedSql
from millpond.catalog import Catalog, ContinuousQuery, StreamingTable
from millpond.clock import ManualClock
from millpond.network.plan.graph import bases
from millpond.network.run.idle import targets
from millpond.schema import Schema

JOIN = "CREATE CONTINUOUS QUERY {} AS SELECT {}.v, {}.v AS w FROM {} [INTERVAL 10], {} [INTERVAL 10] SAMPLE INTERVAL 1"


def join(db: Pond, name: str, one: str, two: str) -> None:
    db.sql(JOIN.format(name, one, two, one, two))


@pytest.fixture
def place(tmp_path: Path) -> Path:
    with millpond.connect(tmp_path / "pond", auto_archive=False) as db:
        for name in "abc":
            db.sql(f"CREATE STREAMING TABLE {name} (v INT, t BIGINT) TIMESTAMP BY t")
        join(db, "ab", "a", "b")
    return tmp_path / "pond"


@pytest.fixture
def db(place: Path) -> Iterator[Pond]:
    with millpond.connect(place, auto_archive=False) as db:
        yield db


def told(db: Pond, query: str = "ab") -> list[str]:
    lines = [line for (line,) in db.sql(f"EXPLAIN CONTINUOUS QUERY {query}").rows()]
    return [line for line in lines if not line.startswith(("evaluated ", "reads "))]


def results(db: Pond, query: str = "ab") -> list[tuple[Any, ...]]:
    """Within an instant in no order."""
    return sorted((row[:-1] for row in db.resume(query).fetch().rows()), key=lambda row: (row[-1], row))


def test_an_idle_table_does_not_hold_back(db: Pond) -> None:
    db.append("b", [(7, 1)])
    db.append("a", [(1, 1), (2, 3), (3, 5)])
    db.tick()
    assert results(db) == []
    assert db.sql("ALTER STREAMING TABLE b SET IDLE").message == 'streaming table "b" is idle'
    db.tick()
    assert db.now("b") == 5
    assert results(db) == [(1, 7, 1), (1, 7, 2), (1, 7, 3), (2, 7, 3), (1, 7, 4), (2, 7, 4)]
    db.append("a", [(4, 6)])
    db.tick()
    assert db.now("b") == 6


def test_later_rows_before_that_time_are_late_and_others_end_the_idleness(db: Pond) -> None:
    db.idle("b")
    db.append("a", [(1, 5)])
    db.tick()
    assert db.now("b") == 5
    receipt = db.append("b", [(9, 4)])
    assert (receipt.accepted, receipt.late) == (0, 1)
    assert db.status()["tables"]["b"]["idle"] is True
    assert db.append("b", [(9, 5)]).accepted == 1
    assert db.status()["tables"]["b"]["idle"] is False
    db.append("a", [(2, 8)])
    db.tick()
    assert db.now("b") == 5


def test_active_ends_it(db: Pond) -> None:
    db.idle("b")
    assert db.sql("ALTER TABLE b SET ACTIVE").message == 'streaming table "b" is active'
    db.append("a", [(1, 5)])
    db.tick()
    assert db.now("b") is None
    db.idle("b")
    db.idle("b", False)
    db.tick()
    assert db.now("b") is None


def test_it_is_durable_and_so_is_the_time(place: Path) -> None:
    with millpond.connect(place, auto_archive=False) as db:
        db.append("b", [(1, 1)])
        db.idle("b")
    assert json.loads((place / "catalog.json").read_text())["streaming"]["b"]["idle"] == 1
    with millpond.connect(place, auto_archive=False) as db:
        assert db.status()["tables"]["b"]["idle"] is True
        db.append("a", [(1, 5)])
        db.tick()
    with millpond.connect(place, auto_archive=False) as db:
        assert db.now("b") == 5
        db.append("b", [(1, 6)])
    with millpond.connect(place, auto_archive=False) as db:
        assert db.status()["tables"]["b"]["idle"] is False


def test_several_idle_tables_follow_the_active_one(db: Pond) -> None:
    db.sql(
        "CREATE CONTINUOUS QUERY abc AS SELECT a.v FROM a [INTERVAL 10], b [INTERVAL 10], c [INTERVAL 10] SAMPLE INTERVAL 1"
    )
    db.idle("b")
    db.idle("c")
    db.append("a", [(1, 5)])
    db.tick()
    assert (db.now("b"), db.now("c")) == (5, 5)
    db.idle("a")
    db.tick()  # nobody leads
    assert (db.now("a"), db.now("b"), db.now("c")) == (5, 5, 5)


def test_of_several_queries_none_is_held_back(db: Pond) -> None:
    join(db, "cb", "c", "b")
    db.idle("b")
    db.append("a", [(1, 1), (1, 8)])
    db.tick()
    assert db.now("b") == 8  # c has no time yet: its query waits for c and not for b
    db.append("c", [(1, 1), (1, 3)])
    db.tick()
    assert (db.now("b"), db.now("ab"), db.now("cb")) == (8, 8, 3)


def test_a_paused_query_moves_nothing(db: Pond) -> None:
    db.idle("b")
    join(db, "cb", "c", "b")
    db.sql("PAUSE CONTINUOUS QUERY ab")
    db.append("a", [(1, 8)])
    db.tick()
    assert db.now("b") is None


def test_through_a_view(db: Pond) -> None:
    db.sql("CREATE STREAMING VIEW many AS SELECT count(*) AS n FROM b [INTERVAL 10] SAMPLE INTERVAL 1")
    db.sql("CREATE CONTINUOUS QUERY both AS SELECT a.v, n FROM a [NOW], many [NOW] SAMPLE REALTIME")
    db.sql("DROP CONTINUOUS QUERY ab")
    db.idle("b")
    db.append("a", [(1, 5)])
    db.tick()
    assert db.now("b") == 5


def test_the_same_results_as_with_heartbeats_by_hand(tmp_path: Path) -> None:
    found = []
    for idle in (True, False):
        with millpond.connect(tmp_path / str(idle), auto_archive=False) as db:
            for name in "ab":
                db.sql(f"CREATE STREAMING TABLE {name} (v INT, t BIGINT) TIMESTAMP BY t")
            join(db, "ab", "a", "b")
            db.append("b", [(7, 1), (8, 2)])
            if idle:
                db.idle("b")
            for t in (1, 2, 4, 8, 20):
                db.append("a", [(t, t)])
                if not idle:
                    db.advance("b", t)
                db.tick()
            found.append(results(db))
    assert found[0] == found[1]
    assert len(found[0]) > 10


def test_explain_says_who_holds_time_back(db: Pond) -> None:
    assert told(db) == ["waits for the first row or heartbeat of a, b"]
    db.append("a", [(1, 5)])
    assert told(db) == [
        "waits for the first row or heartbeat of b",
        "if nothing comes from b for now: ALTER STREAMING TABLE b SET IDLE",
    ]
    db.append("b", [(1, 0)])
    db.tick()
    assert told(db) == [
        "time is complete below 0, held back by b",
        "if nothing comes from b for now: ALTER STREAMING TABLE b SET IDLE",
        "next instant: 0, once time has passed it",
    ]
    db.idle("b")
    db.tick()
    assert told(db) == [
        "b is declared idle: at each tick it takes the time of the others",
        "time is complete below 5, held back by a",
        "next instant: 5, once time has passed it",
    ]
    db.idle("a")
    assert told(db)[2:] == ["time is complete below 5, held back by a", "next instant: 5, once time has passed it"]


def test_one_table_gets_no_such_hint(db: Pond) -> None:
    db.sql("CREATE CONTINUOUS QUERY alone AS SELECT v FROM a [NOW] SAMPLE INTERVAL 2")
    db.append("a", [(1, 5)])
    assert told(db, "alone") == ["time is complete below 5, held back by a", "next instant: 6, once time has passed it"]


def test_what_cannot_be_idle(db: Pond) -> None:
    db.sql("CREATE STANDARD TABLE s (x INT)")
    with pytest.raises(CatalogError) as wrong:
        db.sql("ALTER TABLE s SET IDLE")
    assert str(wrong.value) == '"s" is a standard table, not a streaming table'
    with pytest.raises(CatalogError) as wrong:
        db.idle("ab")
    assert str(wrong.value) == '"ab" is a continuous query, not a streaming table'
    with pytest.raises(UnknownName) as unknown:
        db.idle("zz")
    assert str(unknown.value) == 'streaming table "zz" does not exist\nDetail: There is: a, b, c.'
    with pytest.raises(millpond.SqlSyntaxError) as syntax:
        db.sql("ALTER STREAMING TABLE a SET IDEL")
    assert str(syntax.value) == (
        'expected RANGE, LATENESS, AHEAD, NOW, IDLE, ACTIVE or REDUCE after SET, but found "IDEL"\n'
        "line 1: ALTER STREAMING TABLE a SET IDEL\n                                    ^^^^\n"
        'Hint: Did you mean "IDLE"?'
    )


# -- whom an idle table follows, against the sentence that says so ---------------------------------------------------------


@some.composite
def settings_of_tables(draw: some.DrawFn) -> tuple[Catalog, dict[str, Any]]:
    """Tables, idle or not, with their times; queries over them, some paused, some over another query."""
    columns = Schema.of([("v", "INT"), ("t", "BIGINT")])
    tables, streams = {}, {}
    for name in "abcd":
        rows = draw(some.integers(0, 2))
        idle = draw(some.one_of(some.none(), some.integers(0, 2)))
        tables[name] = StreamingTable(name, columns, "t", name, shards=1, idle=idle)
        now = draw(some.one_of(some.none(), some.integers(0, 9)))
        streams[name] = SimpleNamespace(definition=tables[name], next_row=rows, now=now)
    queries: dict[str, ContinuousQuery] = {}
    for number in range(draw(some.integers(0, 4))):
        reads = draw(some.lists(some.sampled_from([*tables, *queries]), min_size=1, max_size=3, unique=True))
        query = ContinuousQuery(
            f"q{number}", "", "rstream", None, columns, "q", tuple(reads), paused=draw(some.booleans())
        )
        queries[query.name] = query
    return Catalog(streaming=tables, queries=queries), streams


@given(settings_of_tables())
def test_an_idle_table_follows_the_slowest_of_the_others(given_tables: tuple[Catalog, dict[str, Any]]) -> None:
    catalog, streams = given_tables
    idle = {name for name, table in catalog.streaming.items() if table.idle == streams[name].next_row}
    expected: dict[str, int] = {}
    for name in idle:
        wanted = []
        for query in catalog.queries.values():
            read = bases(query.name, catalog)
            others = [streams[other].now for other in read - idle]
            if name in read and not query.paused and others and None not in others:
                wanted.append(min(others))
        now = streams[name].now
        if wanted and (now is None or now < max(wanted)):
            expected[name] = max(wanted)
    assert targets(catalog, streams.__getitem__) == expected


# -- IDLE AFTER -------------------------------------------------------------------------------------------------------

NOON = 1_767_268_800_000_000  # 2026-01-01 12:00:00 UTC


def at(seconds: float) -> datetime:
    return datetime(2026, 1, 1, 12, tzinfo=UTC) + timedelta(seconds=seconds)


def quiet_pond(folder: Path, clock: ManualClock) -> Pond:
    return millpond.connect(folder, auto_archive=False, engine="duckdb", clock=clock)


def test_the_time_of_a_quiet_table_follows_the_wall_clock(tmp_path: Path) -> None:
    clock = ManualClock(NOON)
    with quiet_pond(tmp_path / "pond", clock) as db:
        db.sql("CREATE STREAMING TABLE r (v INT, t TIMESTAMP) TIMESTAMP BY t LATENESS INTERVAL '2' SECOND "
               "IDLE AFTER INTERVAL '10' SECOND")  # fmt: skip
        db.sql("CREATE CONTINUOUS QUERY q AS SELECT v FROM r [NOW] SAMPLE EACH ROW")
        db.append("r", [(1, at(-1)), (2, at(0))])
        db.tick()
        assert (db.now("r"), results(db, "q")) == (at(-2), [])
        clock.advance(9.9)
        db.tick()
        assert db.now("r") == at(-2), "not yet quiet for long enough"
        clock.advance(3.1)
        db.tick()
        assert db.now("r") == at(1), "13 seconds, less 10 and the lateness"
        assert results(db, "q") == [(1, at(-1)), (2, at(0))]
        clock.advance(7)
        db.tick()
        assert db.now("r") == at(8), "it goes on with the clock"
        assert db.append("r", [(3, at(7))]).late == 1, "as after any heartbeat"
        assert db.append("r", [(4, at(9))]).accepted == 1
        clock.advance(5)
        db.tick()
        assert db.now("r") == at(8), "a row came: it waits again"
        clock.advance(10)
        db.tick()
        assert db.now("r") == at(23)


def test_after_a_restart_a_quiet_table_waits_anew(tmp_path: Path) -> None:
    clock = ManualClock(NOON)
    with quiet_pond(tmp_path / "pond", clock) as db:
        db.sql("CREATE STREAMING TABLE r (v INT) IDLE AFTER INTERVAL '10' SECOND")
        db.append("r", [(1,)])
    clock.advance(3600)
    with quiet_pond(tmp_path / "pond", clock) as db:
        db.tick()
        assert db.now("r") == at(0)
        clock.advance(10)
        db.tick()
        assert db.now("r") == at(3600)
        assert db.sql("SELECT idle_after FROM millpond.tables").rows() == [("10 seconds",)]
        db.sql("ALTER STREAMING TABLE r SET IDLE AFTER UNBOUNDED")
        clock.advance(60)
        db.tick()
        assert db.now("r") == at(3600)
        db.sql("ALTER STREAMING TABLE r SET IDLE AFTER INTERVAL '1' MINUTE")
        db.tick()
        clock.advance(61)
        db.tick()
        assert db.now("r") == at(3671)


def test_whole_numbers_cannot_follow_the_wall_clock(db: Pond) -> None:
    for statement in (
        "CREATE STREAMING TABLE r (v INT, t BIGINT) TIMESTAMP BY t IDLE AFTER INTERVAL '10' SECOND",
        "ALTER STREAMING TABLE a SET IDLE AFTER INTERVAL '10' SECOND",
    ):
        with pytest.raises(UnsupportedSql, match="cannot follow the wall clock: its times are whole numbers"):
            db.sql(statement)
    db.sql("ALTER STREAMING TABLE a SET IDLE AFTER UNBOUNDED")
