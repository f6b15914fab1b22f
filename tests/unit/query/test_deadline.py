"""Deadlines end what runs on a connection, in time or when asked to, and leave alone what comes after."""

from __future__ import annotations

import subprocess
import sys
import threading
from datetime import timedelta

import duckdb
import pyarrow as pa
import pytest

from millpond.errors import Cancelled, EngineError, LimitExceeded
from millpond.query import deadline as deadlines
from millpond.query.deadline import Deadline
from millpond.query.local import Local

HOURS = "SELECT count(*) FROM range(10000000) a, range(10000000) b WHERE a.range * 7 = b.range + hash(a.range) % 3"
SOON = timedelta(milliseconds=50)
LONG = timedelta(hours=1)


@pytest.fixture
def connection() -> duckdb.DuckDBPyConnection:
    return duckdb.connect().cursor()


def run(connection: duckdb.DuckDBPyConnection, text: str = HOURS) -> pa.Table:
    return connection.sql(text).to_arrow_table()


def test_a_query_ends_when_its_time_is_up(connection: duckdb.DuckDBPyConnection) -> None:
    with pytest.raises(LimitExceeded) as caught, Deadline(SOON, setting="query_time").guard(connection):
        run(connection)
    assert str(caught.value) == (
        "the query took longer than 0.05 seconds and was stopped\n"
        "Hint: Setting query_time is the limit; connect(..., query_time=...) raises it."
    )
    assert caught.value.setting == "query_time"
    assert isinstance(caught.value.__cause__, duckdb.InterruptException)


def test_a_query_is_cancelled_from_another_thread(connection: duckdb.DuckDBPyConnection) -> None:
    deadline = Deadline(None, 'query "q"')
    timer = threading.Timer(0.05, deadline.cancel, ["it was dropped"])
    timer.start()
    with pytest.raises(Cancelled) as caught, deadline.guard(connection):
        run(connection)
    timer.join()
    assert str(caught.value) == 'query "q" was cancelled\nDetail: It was dropped.'


def test_a_query_in_time_is_left_alone(connection: duckdb.DuckDBPyConnection) -> None:
    with Deadline(LONG).guard(connection):
        assert run(connection, "SELECT 1 AS a").to_pydict() == {"a": [1]}


def test_the_connection_can_be_used_after_an_interrupt(connection: duckdb.DuckDBPyConnection) -> None:
    for _ in range(20):
        with pytest.raises(LimitExceeded), Deadline(timedelta(milliseconds=1)).guard(connection):
            run(connection)
        assert run(connection, "SELECT count(*) AS n FROM range(1000000)").to_pydict() == {"n": [1_000_000]}


def test_what_is_over_does_not_begin(connection: duckdb.DuckDBPyConnection) -> None:
    late = Deadline(timedelta(0))
    cancelled = Deadline(None)
    cancelled.cancel()
    for deadline, kind in ((late, LimitExceeded), (cancelled, Cancelled)):
        assert deadline.over
        with pytest.raises(kind), deadline.guard(connection):
            pytest.fail("it began")
        with pytest.raises(kind):
            deadline.check()


def test_an_interrupt_before_the_engine_begins_is_not_lost(connection: duckdb.DuckDBPyConnection) -> None:
    """DuckDB forgets an interrupt when a query begins, so it has to be told again."""
    deadline = Deadline(None)

    def cancelled_and_run() -> None:
        deadline.cancel()
        run(connection)

    with pytest.raises(Cancelled), deadline.guard(connection):
        cancelled_and_run()


def test_one_deadline_guards_several_steps(connection: duckdb.DuckDBPyConnection) -> None:
    deadline = Deadline(LONG)
    for number in range(3):
        with deadline.guard(connection):
            assert run(connection, f"SELECT {number} AS a").to_pydict() == {"a": [number]}
    other = connection.cursor()
    threading.Timer(0.05, deadline.cancel).start()
    with pytest.raises(Cancelled), deadline.guard(connection), deadline.guard(other):
        run(other)


def test_errors_of_the_work_stay_what_they_are(connection: duckdb.DuckDBPyConnection) -> None:
    with pytest.raises(duckdb.CatalogException), Deadline(LONG).guard(connection):
        run(connection, "SELECT * FROM nowhere")
    for error in (EngineError("told by us already"), KeyboardInterrupt()):
        deadline = Deadline(None)

        def cancelled_and_failing(deadline: Deadline = deadline, error: BaseException = error) -> None:
            deadline.cancel()
            raise error

        with pytest.raises(type(error)), deadline.guard(connection):
            cancelled_and_failing()


def test_work_that_is_done_in_spite_of_it_is_done() -> None:
    deadline = Deadline(None)
    with deadline.stopping(lambda: None):
        deadline.cancel()
    assert deadline.over


def test_what_stops_is_not_called_after_the_work() -> None:
    stopped = threading.Event()
    calls: list[bool] = []
    ended = False

    def stop() -> None:
        calls.append(ended)
        stopped.set()

    deadline = Deadline(None)
    with deadline.stopping(stop):
        deadline.cancel()
        assert stopped.wait(10)
    ended = True
    while any(t.name == "millpond-stop" for t in threading.enumerate()):
        threading.Event().wait(0.01)
    assert calls
    assert not any(calls)


def test_a_stop_that_fails_is_called_again() -> None:
    twice = threading.Event()
    calls: list[int] = []

    def stop() -> None:
        calls.append(1)
        if len(calls) > 1:
            twice.set()
        raise RuntimeError("not now")

    deadline = Deadline(SOON)
    with deadline.stopping(stop):
        assert twice.wait(10)


def test_deadlines_share_one_thread(connection: duckdb.DuckDBPyConnection) -> None:
    for _ in range(50):
        with Deadline(LONG).guard(connection):
            run(connection, "SELECT 1 AS a")
    assert [t.name for t in threading.enumerate()].count("millpond-deadlines") == 1
    assert not deadlines._watcher()._active


def test_the_earliest_deadline_is_first_whatever_the_order() -> None:
    """One that is made later and ends earlier must wake the watcher, which waits for the other."""
    stopped: list[str] = []
    early = threading.Event()
    with Deadline(LONG).stopping(lambda: stopped.append("late")), Deadline(SOON).stopping(early.set):
        assert early.wait(10)
    assert stopped == []


FORKED = """
import os, threading
from datetime import timedelta
from millpond.query.deadline import Deadline

with Deadline(timedelta(hours=1)).stopping(lambda: None):
    pass
child = os.fork()
if child == 0:
    stopped = threading.Event()
    with Deadline(timedelta(milliseconds=50)).stopping(stopped.set):
        os._exit(0 if stopped.wait(10) else 1)
assert os.waitpid(child, 0)[1] == 0
"""


def test_a_forked_child_has_a_watcher_of_its_own() -> None:
    subprocess.run([sys.executable, "-c", FORKED], check=True, timeout=60)


def test_the_embedded_engine_takes_a_deadline() -> None:
    local = Local()
    try:
        with pytest.raises(LimitExceeded):
            local.run_over(HOURS, {}, {}, Deadline(SOON))
        assert local.run_over("SELECT 1 AS a", {}, {}, Deadline(LONG)).to_pydict() == {"a": [1]}
    finally:
        local.close()


def test_time_that_is_not_the_query_s_is_not_counted() -> None:
    now = [0.0]
    deadline = Deadline(timedelta(seconds=10), monotonic=lambda: now[0])
    now[0] = 4
    with deadline.paused():
        now[0] = 100
    assert deadline.remaining == 6
    assert not deadline.over
