"""Continuous queries that only Spark can answer: at every instant the answer of the same SELECT, asked once as of then."""

from __future__ import annotations

import datetime as dt
import threading
from collections import Counter
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

import millpond
from millpond.clock import SystemClock
from millpond.pond import Pond

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("session")]

EPOCH = dt.datetime(2026, 1, 1, tzinfo=dt.UTC)
# By name: a SELECT, and the slide. What each has that DuckDB is not proved for is its name.
QUERIES = {
    "soundex": ("SELECT k, soundex(max(name)) AS s, count(*) AS n FROM p [INTERVAL '10' SECOND] GROUP BY k", 4),
    "transform": ("SELECT to_json(transform(array(k, v), x -> x + 1)) AS a, NOW() AS now, t FROM p [NOW]", 3),
    "pivot": ("SELECT * FROM (SELECT k, v FROM p [INTERVAL '5' SECOND]) PIVOT (sum(v) FOR k IN (0 AS zero, 1 AS one))", 5),
    "view": ("SELECT k, e.x FROM p [k ROWS 2] LATERAL VIEW explode(array(v, -v)) e AS x", 6),
    "prev": ("SELECT k, v, hypot(v, PREV(v)) AS h FROM p [k ROWS 3]", 5),
    "joined": ("SELECT d.label, initcap(max(p.name)) AS m FROM p [ROWS 7] JOIN d ON p.k = d.k GROUP BY d.label", 4),
    "to_json": ("SELECT k, first(v) AS f, to_json(collect_list(v)) AS l FROM p [INTERVAL '8' SECOND] GROUP BY k", 4),
    "listed": ("SELECT to_json(collect_list(v)) AS l, soundex(first(name)) AS f, soundex(last(name)) AS e FROM p [ROWS 4]", 4),
    "nested": (
        "WITH m AS (SELECT k, try_divide(sum(v), count(*) - 1) AS q FROM p [INTERVAL '6' SECOND] GROUP BY k) "
        "SELECT k, q FROM m WHERE q > (SELECT min(v) FROM p [ROWS 3]) ORDER BY q DESC, k LIMIT 2", 3,
    ),
}  # fmt: skip


def connect(folder: Path, **settings: Any) -> Pond:
    return millpond.connect(folder, spark_master="local[2]", auto_archive=False, **settings)


def make(folder: Path, kind: str) -> Pond:
    db = connect(folder)
    db.sql(
        f"CREATE STREAMING TABLE p (k INT, name STRING, v BIGINT, t {kind}) TIMESTAMP BY t SHARD BY k WITH (shards = 2)"
    )
    db.sql("CREATE TABLE d (k INT, label STRING)")
    db.sql("INSERT INTO d VALUES (0, 'even'), (1, 'odd')")
    return db


def moment(kind: str, second: int) -> Any:
    return second if kind == "BIGINT" else EPOCH + dt.timedelta(seconds=second)


def feed(db: Pond, kind: str, begin: int, end: int) -> None:
    db.append(
        "p", [(s % 3, f"car {s % 7} x{s}", (s * 37) % 23 - 5, moment(kind, s)) for s in range(begin, end) if s % 5 != 2]
    )
    db.advance("p", moment(kind, end))


def sent(db: Pond, name: str) -> dict[Any, Counter[Any]]:
    found: dict[Any, Counter[Any]] = {}
    for row in db.resume(name).fetch().rows():
        found.setdefault(row[-2], Counter())[row[:-2]] += 1
    return found


@pytest.mark.parametrize(
    ("kind", "chosen"),
    [
        ("TIMESTAMP", ("soundex", "transform", "prev")),
        ("BIGINT", ("pivot", "to_json", "listed")),
        pytest.param("BIGINT", tuple(QUERIES), marks=pytest.mark.slow),
    ],
)
def test_results_are_those_of_the_one_time_query_as_of_then(kind: str, chosen: tuple[str, ...], tmp_path: Path) -> None:
    names = {name: QUERIES[name] for name in chosen}
    with make(tmp_path / "pond", kind) as db:
        for name, (select, slide) in names.items():
            db.sql(f"CREATE CONTINUOUS QUERY {name} RANGE UNBOUNDED AS {select} SAMPLE INTERVAL '{slide}' SECOND")
            told = [line for (line,) in db.sql(f"EXPLAIN CONTINUOUS QUERY {name}").rows()]
            assert "evaluated whole, instant by instant, on Spark" in told
        feed(db, kind, 0, 9)
        db.tick()
    with connect(tmp_path / "pond") as db:
        feed(db, kind, 9, 17)
        db.tick()
        assert db.sql("SELECT name, problem FROM millpond.queries WHERE state <> 'running'").rows() == []
        for name, (select, slide) in names.items():
            found = sent(db, name)
            for second in range(0, 17, slide):
                time = moment(kind, second)
                literal = str(second) if kind == "BIGINT" else f"'{time:%Y-%m-%d %H:%M:%S}'"
                expected = Counter(db.sql(f"{select} AS OF {literal}").rows())
                assert found.get(time, Counter()) == expected, (name, second)


def test_differences_are_sent_and_go_on_after_a_restart(tmp_path: Path) -> None:
    select = "soundex(name) AS s FROM p [INTERVAL '4' SECOND]"
    with make(tmp_path / "pond", "BIGINT") as db:
        for form in ("ISTREAM", "DSTREAM"):
            db.sql(f"CREATE CONTINUOUS QUERY {form} RANGE UNBOUNDED AS SELECT {form} {select} SAMPLE REALTIME")
        feed(db, "BIGINT", 0, 6)
        db.tick()
    with connect(tmp_path / "pond") as db:
        feed(db, "BIGINT", 6, 14)
        db.tick()
        new, gone = sent(db, "istream"), sent(db, "dstream")
        before: Counter[Any] = Counter()
        for second in [s for s in range(14) if s % 5 != 2]:
            now = Counter(db.sql(f"SELECT {select} AS OF {second}").rows())
            assert before + new.get(second, Counter()) - gone.get(second, Counter()) == now
            assert new.get(second, Counter()) == now - before
            before = now


def test_the_pipeline_evaluates_them_beside_the_others(tmp_path: Path) -> None:
    select, slide = QUERIES["soundex"]
    with make(tmp_path / "pond", "BIGINT") as db:
        db.sql(f"CREATE CONTINUOUS QUERY q RANGE UNBOUNDED AS {select} SAMPLE INTERVAL '{slide}' SECOND")
        db.sql("CREATE CONTINUOUS QUERY r RANGE UNBOUNDED AS SELECT s, n FROM q [NOW] WHERE n > 1 SAMPLE REALTIME")
        db.start()
        subscription = db.subscribe("r", after=-1)
        feed(db, "BIGINT", 0, 14)
        pushed: list[Any] = []
        while not pushed or pushed[-1][-2] < 12:
            batch = subscription.next(timeout=120)
            assert batch is not None, "nothing comes"
            pushed += batch.rows()
        subscription.close()
        found = sent(db, "q")
        assert sorted(found) == [0, 4, 8, 12]
        assert found[12] == Counter(db.sql(f"{select} AS OF 12").rows())


def until(found: Callable[[], object], seconds: float = 60) -> None:
    clock, waiting = SystemClock(), threading.Event()
    begin = clock.monotonic()
    while not found():
        assert clock.monotonic() < begin + seconds, "it did not happen in time"
        waiting.wait(0.05)


def test_a_query_that_takes_for_ever_on_spark_is_stopped(tmp_path: Path) -> None:
    with connect(tmp_path / "pond", evaluation_time=timedelta(seconds=3)) as db:
        db.sql("CREATE STREAMING TABLE p (k INT, v BIGINT, t BIGINT) TIMESTAMP BY t")
        db.sql(
            "CREATE CONTINUOUS QUERY poison AS SELECT count(*) AS n FROM p [INTERVAL '9' SECOND] a, range(10000000) b, "
            "range(10000000) c WHERE hypot(a.v + b.id, c.id) = -1 SAMPLE INTERVAL '10' SECOND"
        )
        db.sql("CREATE CONTINUOUS QUERY good RANGE UNBOUNDED AS SELECT v FROM p [NOW] SAMPLE REALTIME")
        db.append("p", [(1, 2, 5)])
        db.advance("p", 11)
        db.tick()
        assert db.sql("SELECT v FROM good").rows() == [(2,)]
        ((state, problem),) = db.sql("SELECT state, problem FROM millpond.queries WHERE name = 'poison'").rows()
        assert state == "failed"
        assert problem.startswith('an evaluation of query "poison" took longer than 3 seconds and was stopped')
        from millpond.spark.session import get_session

        until(lambda: not list(get_session().sparkContext.statusTracker().getActiveJobsIds()), 30)


def test_what_results_cannot_hold_is_refused_with_the_type(tmp_path: Path) -> None:
    with make(tmp_path / "pond", "BIGINT") as db:
        with pytest.raises(millpond.UnsupportedSql) as raised:
            db.sql("CREATE CONTINUOUS QUERY q AS SELECT sequence(1, v) AS a FROM p [NOW] SAMPLE REALTIME")
        assert raised.value.primary.startswith('column "a" has a type that results cannot have: list')
        assert raised.value.hint == "Make a text of it, for example with to_json or CAST(... AS STRING)."
        with pytest.raises(millpond.EngineError, match="the query failed"):
            db.sql("CREATE CONTINUOUS QUERY q AS SELECT soundex(array(k)) AS a FROM p [NOW] SAMPLE REALTIME")
        assert db.sql("SELECT name FROM millpond.queries").rows() == []
