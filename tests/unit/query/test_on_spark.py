"""Queries on Spark, as far as no Spark is needed to see it."""

from __future__ import annotations

import os
import signal
import threading
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from py4j.protocol import Py4JError
from pyspark.errors import PySparkRuntimeError

import millpond
from millpond.query.deadline import Deadline
from millpond.query.on_spark import run_on_spark
from millpond.sql.parser import parse
from millpond.sql.statements import Select
from millpond.statements.ask import plan_query


class Cancelled:
    """A session whose query is broken off: PySpark then asks for a result that is none."""

    def __init__(self, interrupted: bool) -> None:
        self.interrupted = interrupted

    def sql(self, _text: str) -> Cancelled:
        return self

    def toArrow(self) -> None:
        try:
            if self.interrupted:
                raise KeyboardInterrupt
        finally:
            raise Py4JError("An error occurred while calling o89.getResult")


@pytest.mark.parametrize(("interrupted", "error"), [(True, KeyboardInterrupt), (False, millpond.EngineError)])
def test_ctrl_c_is_not_taken_for_a_failed_query(interrupted: bool, error: type[BaseException], tmp_path: Path) -> None:
    session: Any = Cancelled(interrupted)
    with millpond.connect(tmp_path) as db:
        statement = parse("SELECT 1 AS one")[0]
        assert isinstance(statement, Select)
        plan = plan_query(db._workspace, statement.query, statement.sql)
        with pytest.raises(error):
            run_on_spark(plan, session)


class Failing:
    """A session whose queries fail in Spark."""

    def __init__(self, message: str) -> None:
        self.message = message
        self.sparkContext = self
        self.tags: list[str] = []
        self.cancelled = threading.Event()

    def addJobTag(self, tag: str) -> None:
        self.tags.append(tag)

    def removeJobTag(self, tag: str) -> None:
        self.tags.remove(tag)

    def cancelJobsWithTag(self, tag: str) -> None:
        assert self.tags == [tag]
        self.cancelled.set()

    def sql(self, _text: str) -> Failing:
        return self

    def toArrow(self) -> None:
        if not self.message:
            assert self.cancelled.wait(10)
        raise PySparkRuntimeError(self.message or "job was cancelled")


@pytest.fixture
def _alive(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("millpond.query.on_spark.lost", lambda *_: None)


def run(folder: Path, session: Any, limit: timedelta | None = None) -> None:
    """`limit` is the time from when the query is planned: opening a pond takes long on a busy machine."""
    with millpond.connect(folder) as db:
        statement = parse("SELECT 1 AS one")[0]
        assert isinstance(statement, Select)
        plan = plan_query(db._workspace, statement.query, statement.sql)
        run_on_spark(plan, session, None if limit is None else Deadline(limit))


@pytest.mark.usefixtures("_alive")
@pytest.mark.parametrize(
    "message",
    [
        "Total size of serialized results (1 GiB) is bigger than spark.driver.maxResultSize",
        "java.lang.OutOfMemoryError",
    ],
)
def test_a_query_that_takes_too_much_memory_names_the_setting(message: str, tmp_path: Path) -> None:
    with pytest.raises(millpond.LimitExceeded) as caught:
        run(tmp_path, Failing(message))
    assert str(caught.value) == (
        "the query takes more memory than Spark has\nDetail: A result may take half of it.\n"
        "Hint: Ask for fewer rows or columns, or raise setting spark_memory before Spark starts."
    )
    assert caught.value.setting == "spark_memory"


@pytest.mark.usefixtures("_alive")
def test_a_deadline_cancels_the_jobs_of_its_query(tmp_path: Path) -> None:
    session = Failing("")
    with pytest.raises(millpond.LimitExceeded, match=r"took longer than 0\.05 seconds"):
        run(tmp_path, session, timedelta(milliseconds=50))
    assert session.tags == []


class Endless(Failing):
    """A session that hands over a result and does not hear that its jobs are cancelled."""

    def __init__(self) -> None:
        super().__init__("")
        self.collecting = threading.Event()
        self.enough = threading.Event()

    def toArrow(self) -> None:
        self.collecting.set()
        assert self.enough.wait(60)


@pytest.mark.usefixtures("_alive")
def test_a_result_that_is_being_collected_is_given_up_after_the_deadline(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("millpond.query.on_spark._LAST_MOMENT", 0.1)
    session = Endless()
    with pytest.raises(millpond.LimitExceeded, match=r"took longer than 0\.05 seconds"):
        run(tmp_path, session, timedelta(milliseconds=50))
    assert session.cancelled.is_set()
    session.enough.set()


@pytest.mark.usefixtures("_alive")
@pytest.mark.parametrize("limit", [None, timedelta(hours=1)])
def test_ctrl_c_is_heard_while_a_result_is_collected(limit: timedelta | None, tmp_path: Path) -> None:
    session = Endless()

    def press() -> None:
        assert session.collecting.wait(60)
        os.kill(os.getpid(), signal.SIGINT)  # as a terminal does: the main thread hears it, wherever it waits

    signal.siginterrupt(signal.SIGINT, False)  # as libraries leave it: the signal does not end a wait
    threading.Thread(target=press).start()
    try:
        with pytest.raises(KeyboardInterrupt):
            run(tmp_path, session, limit)
    finally:
        signal.siginterrupt(signal.SIGINT, True)
    assert not session.enough.is_set()
    session.enough.set()
