"""Queries that Spark evaluates, with a stand-in for Spark: nobody waits for them, nothing of them is lost, and SHOW tells."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

import millpond
from millpond.clock import SystemClock
from millpond.errors import JavaMissing, SparkDied
from millpond.network.engine import watch
from millpond.network.strategies import on_spark
from tests.unit.network.spark_stand_in import StandIn, everything_on_spark

TABLE = "CREATE STREAMING TABLE p (k INT, v INT, t BIGINT) TIMESTAMP BY t SHARD BY k WITH (shards = 2)"
COUNTS = "SELECT k, COUNT(*) AS n FROM p [INTERVAL 10] GROUP BY k SAMPLE INTERVAL 5"
NO_JAVA = JavaMissing("Java 17 or newer was not found", hint="Install it.")


@pytest.fixture
def spark(monkeypatch: pytest.MonkeyPatch) -> StandIn:
    return everything_on_spark(monkeypatch)


@pytest.fixture
def db(spark: StandIn, tmp_path: Path) -> Iterator[millpond.Pond]:
    assert spark
    with connect(tmp_path) as found:
        found.sql(TABLE)
        yield found


def connect(folder: Path, **settings: Any) -> millpond.Pond:
    return millpond.connect(folder / "pond", auto_archive=False, **settings)


def create(db: millpond.Pond, name: str, select: str) -> None:
    db.sql(f"CREATE CONTINUOUS QUERY {name} RANGE UNBOUNDED AS {select}")


def beside(db: millpond.Pond, monkeypatch: pytest.MonkeyPatch, name: str, select: str) -> None:
    """Make a query that DuckDB evaluates, beside those that Spark does."""
    from millpond.network.plan import prepared
    from millpond.sql.translate import to_duckdb

    def only_others(tree: Any, *given: Any) -> str:
        if "9999" in tree.sql():
            return to_duckdb(tree, *given)
        return refuse(tree, *given)

    refuse = prepared.to_duckdb
    monkeypatch.setattr(prepared, "to_duckdb", only_others)
    assert "9999" in select
    create(db, name, select)


def feed(db: millpond.Pond, begin: int, end: int) -> None:
    db.append("p", [(t % 2, t, t) for t in range(begin, end)])
    db.advance("p", end)


def one_round(db: millpond.Pond) -> None:
    """A tick that does not wait for Spark, as the pipeline has them."""
    db._workspace.rounds.tick()


def state(db: millpond.Pond, name: str) -> tuple[str, str | None]:
    ((found, problem),) = db.sql(f"SELECT state, problem FROM millpond.queries WHERE name = '{name}'").rows()
    return found, problem


def until(found: Any) -> None:
    clock, waiting = SystemClock(), threading.Event()
    begin = clock.monotonic()
    while not found():
        assert clock.monotonic() < begin + 30, "it did not happen in time"
        waiting.wait(0.01)


def rows(db: millpond.Pond, name: str) -> list[Any]:
    return [row[:-1] for row in db.resume(name).fetch().rows()]


def test_a_tick_does_not_wait_for_spark_and_db_tick_does(
    db: millpond.Pond, spark: StandIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    create(db, "slow", COUNTS)
    beside(db, monkeypatch, "quick", "SELECT v FROM p [NOW] WHERE v < 9999 SAMPLE REALTIME")
    spark.answering.clear()
    feed(db, 0, 12)
    one_round(db)
    assert rows(db, "quick") == [(v, v) for v in range(12)]
    assert rows(db, "slow") == []
    assert db.now("slow") == 0
    spark.answering.set()
    db.tick()
    assert sorted(rows(db, "slow")) == sorted([(0, 1, 0), (0, 3, 5), (1, 3, 5), (0, 6, 10), (1, 5, 10)])
    assert state(db, "slow") == ("running", None)
    assert db.now("slow") == 12


def test_a_tick_finds_nothing_to_do_while_spark_works(db: millpond.Pond, spark: StandIn) -> None:
    create(db, "q", COUNTS)
    spark.answering.clear()
    feed(db, 0, 12)
    one_round(db)
    assert db._workspace.network.plan() is None
    spark.answering.set()
    until(lambda: db._workspace.network.plan() is not None)


def test_more_instants_than_are_asked_at_once_are_evaluated_in_order(db: millpond.Pond, spark: StandIn) -> None:
    create(db, "q", "SELECT v FROM p [NOW] SAMPLE REALTIME")
    feed(db, 0, 3 * on_spark._AHEAD + 5)
    one_round(db)
    assert len(db._workspace.network.evaluator.strategies["q"]._inquiry.questions) == on_spark._AHEAD  # type: ignore[union-attr, attr-defined]
    db.tick()
    assert rows(db, "q") == [(v, v) for v in range(3 * on_spark._AHEAD + 5)]
    assert spark.asked == 3 * on_spark._AHEAD + 5


def test_large_windows_are_handed_over_one_at_a_time(
    db: millpond.Pond, spark: StandIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(on_spark, "_AHEAD_BYTES", 1)
    create(db, "q", "SELECT v FROM p [NOW] SAMPLE REALTIME")
    spark.answering.clear()
    feed(db, 0, 5)
    one_round(db)
    held = "SELECT rows FROM millpond.state WHERE what = 'windows that Spark evaluates'"
    assert db.sql(held).rows() == [(1,)]
    spark.answering.set()
    db.tick()
    assert rows(db, "q") == [(v, v) for v in range(5)]


@pytest.mark.parametrize("form", ["", "ISTREAM ", "DSTREAM "])
@pytest.mark.parametrize("select", ["k FROM p [INTERVAL 5]", "COUNT(*) AS n FROM p [INTERVAL 5]"])
def test_a_gap_in_time_costs_a_few_questions(db: millpond.Pond, spark: StandIn, form: str, select: str) -> None:
    create(db, "q", f"SELECT {form}{select} SAMPLE INTERVAL 5")
    feed(db, 0, 1)
    feed(db, 500, 501)
    db.advance("p", 520)
    db.tick()
    assert spark.asked <= 8
    whole = [(0, 0), (0, 5), (0, 500), (0, 505)]
    found = {
        "k": {"": whole, "ISTREAM ": [(0, 0), (0, 500)], "DSTREAM ": [(0, 10), (0, 510)]},
        "C": {"": [], "ISTREAM ": [(1, 0), (0, 10), (1, 500), (0, 510)], "DSTREAM ": [(1, 10), (0, 500), (1, 510)]},
    }[select[0]][form]
    if (form, select[0]) == ("", "C"):
        found = [(int(t in (0, 5, 500, 505)), t) for t in range(0, 520, 5)]
    assert rows(db, "q") == found


def test_a_query_on_spark_reads_another_and_is_read(
    db: millpond.Pond, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    create(db, "first", COUNTS)
    create(db, "second", "SELECT SUM(n) AS n FROM first [INTERVAL 5] SAMPLE INTERVAL 5")
    beside(db, monkeypatch, "third", "SELECT n FROM second [NOW] WHERE n < 9999 SAMPLE REALTIME")
    feed(db, 0, 12)
    db.tick()
    expected = [(1, 0), (7, 5), (17, 10)]
    assert rows(db, "second") == rows(db, "third") == expected
    db.close()
    with connect(tmp_path) as again:
        feed(again, 12, 21)
        again.tick()
        assert rows(again, "third") == [*expected, (22, 15), (22, 20)]


def test_without_java_a_query_is_not_made(db: millpond.Pond, spark: StandIn) -> None:
    spark.no_java = NO_JAVA
    with pytest.raises(JavaMissing):
        create(db, "q", COUNTS)
    assert db.sql("SELECT name FROM millpond.queries").rows() == []


def test_without_java_a_query_waits_says_so_and_goes_on(
    db: millpond.Pond, spark: StandIn, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(on_spark, "_PAUSE", 0.05)
    create(db, "q", COUNTS)
    beside(db, monkeypatch, "quick", "SELECT v FROM p [NOW] WHERE v < 9999 SAMPLE REALTIME")
    feed(db, 0, 3)
    db.tick()
    db.close()
    spark.runs, spark.no_java = False, NO_JAVA
    with connect(tmp_path) as again:
        feed(again, 3, 12)
        again.tick()
        assert len(rows(again, "quick")) == 12
        assert state(again, "q") == ("waiting", "Java 17 or newer was not found\nHint: Install it.")
        one_round(again)
        assert state(again, "q")[0] == "waiting", "the reason is told as long as it holds"
        spark.no_java = None
        until(lambda: (again.tick(), state(again, "q") == ("running", None))[1])
        assert len(rows(again, "q")) == 5


def test_a_query_waits_while_spark_starts(db: millpond.Pond, spark: StandIn) -> None:
    create(db, "q", COUNTS)
    spark.runs = False
    spark.answering.clear()
    feed(db, 0, 12)
    one_round(db)
    spark.runs = False  # as before the start
    one_round(db)
    assert state(db, "q") in [("waiting", "Spark is being started"), ("running", None)]
    spark.answering.set()
    db.tick()
    assert state(db, "q") == ("running", None)
    assert len(rows(db, "q")) == 5


def test_no_answer_is_left_in_the_pause_after_a_step_that_waits(
    db: millpond.Pond, spark: StandIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    """db.tick() returned before all was evaluated: a query that waits was left alone for as long as its last step had taken."""
    create(db, "q", COUNTS)
    spark.errors = [SparkDied("It was killed.", "the log")]
    feed(db, 0, 12)
    waiting = threading.Event()
    advance = on_spark.SparkStrategy.advance

    def slowly(strategy: Any, begin: int, frontier: int) -> Any:
        waiting.wait(0.1)
        return advance(strategy, begin, frontier)

    monkeypatch.setattr(on_spark.SparkStrategy, "advance", slowly)
    db.tick()
    assert len(rows(db, "q")) == 5


@pytest.mark.parametrize("deaths", [2, 3])
def test_an_instant_is_evaluated_again_when_spark_died_but_not_for_ever(
    db: millpond.Pond, spark: StandIn, deaths: int
) -> None:
    create(db, "q", COUNTS)
    spark.errors = [SparkDied("It was killed.", "the log") for _ in range(deaths)]
    feed(db, 0, 12)
    db.tick()
    found, problem = state(db, "q")
    if deaths < on_spark._DEATHS:
        assert (found, problem) == ("running", None)
        assert len(rows(db, "q")) == 5
    else:
        assert found == "failed"
        assert problem is not None
        assert problem.startswith("Spark has ended unexpectedly")
        assert rows(db, "q") == []


def test_a_query_that_takes_too_long_is_stopped_and_starves_nobody(
    spark: StandIn, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with connect(tmp_path, evaluation_time=timedelta(seconds=0.2)) as db:
        db.sql(TABLE)
        create(db, "poison", COUNTS)
        beside(db, monkeypatch, "quick", "SELECT v FROM p [NOW] WHERE v < 9999 SAMPLE REALTIME")
        spark.answering.clear()
        feed(db, 0, 12)
        db.tick()
        found, problem = state(db, "poison")
        assert found == "failed"
        assert problem is not None
        assert problem.startswith('an evaluation of query "poison" took longer than 0.2 seconds and was stopped')
        assert len(rows(db, "quick")) == 12


def test_dropping_a_query_ends_its_evaluation_and_altering_begins_anew(
    db: millpond.Pond, spark: StandIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(watch, "_SHOWN_AFTER", 0.05)
    create(db, "gone", COUNTS)
    create(db, "altered", COUNTS)
    spark.answering.clear()
    feed(db, 0, 12)
    one_round(db)
    evaluating = "SELECT name FROM millpond.queries WHERE evaluating_since IS NOT NULL ORDER BY name"
    until(lambda: db.sql(evaluating).rows() == [("altered",), ("gone",)])
    db.sql("DROP CONTINUOUS QUERY gone")
    db.sql("ALTER CONTINUOUS QUERY altered SET SAMPLE INTERVAL 10")
    one_round(db)
    until(lambda: db.sql(evaluating).rows() in ([], [("altered",)]))
    spark.answering.set()
    db.tick()
    assert sorted(rows(db, "altered")) == [(0, 1, 0), (0, 6, 10), (1, 5, 10)]


def test_closing_waits_for_no_evaluation_and_fails_no_query(db: millpond.Pond, spark: StandIn, tmp_path: Path) -> None:
    create(db, "q", COUNTS)
    spark.answering.clear()
    feed(db, 0, 12)
    one_round(db)
    until(lambda: spark.asked)
    db.close()
    spark.answering.set()
    with connect(tmp_path) as again:
        assert state(again, "q") == ("running", None)
        again.tick()
        assert len(rows(again, "q")) == 5


def test_an_error_in_the_data_stops_a_query_at_that_instant(db: millpond.Pond) -> None:
    create(db, "q", "SELECT 10 / (5 - v) AS x FROM p [NOW] SAMPLE REALTIME")
    feed(db, 0, 12)
    db.tick()
    assert [row[-1] for row in rows(db, "q")] == [0, 1, 2, 3, 4]
    found, problem = state(db, "q")
    assert found == "failed"
    assert problem is not None
    assert "ivi" in problem  # division by zero, in the engine's words


def test_explain_says_that_spark_evaluates_it_why_and_what_would_be_faster(db: millpond.Pond) -> None:
    create(db, "q", COUNTS)
    found = [line for (line,) in db.sql("EXPLAIN CONTINUOUS QUERY q").rows()]
    assert found[2:6] == [
        "evaluated whole, instant by instant, on Spark",
        "DuckDB does not evaluate it: it is a test",
        "each instant is a job of Spark and takes some tenths of a second; other queries do not wait for it",
        "to make it fast: filter and group in a streaming view that does without that, and read its results here",
    ]
    feed(db, 0, 12)
    db.tick()
    ((manner, evaluations),) = db.sql("SELECT manner, evaluations FROM millpond.costs").rows()
    assert (manner, evaluations) == ("instant by instant, on Spark", 3)
    held = "SELECT rows FROM millpond.state WHERE what = 'windows that Spark evaluates'"
    assert db.sql(held).rows() == [(0,)]


def test_one_shard_is_no_reason_to_evaluate_in_it(spark: StandIn, tmp_path: Path) -> None:
    with connect(tmp_path) as db:
        db.sql("CREATE STREAMING TABLE p (k INT, v INT, t BIGINT) TIMESTAMP BY t WITH (shards = 1)")
        create(db, "q", COUNTS)
        feed(db, 0, 12)
        db.tick()
        assert len(rows(db, "q")) == 5
        assert spark.asked == 3


def test_a_window_that_grows_is_not_given_to_spark(spark: StandIn, tmp_path: Path) -> None:
    assert spark
    with connect(tmp_path) as db:
        db.sql(TABLE)
        with pytest.raises(millpond.UnsupportedSql) as raised:
            create(db, "q", "SELECT k, COUNT(*) AS n FROM p [UNBOUNDED] GROUP BY k SAMPLE REALTIME")
        assert raised.value.primary == 'the window of "p" grows without bound'
        assert raised.value.detail == "All rows it will ever hold would have to be kept in memory: it is a test."
