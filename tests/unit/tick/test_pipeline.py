"""Stopping the pipeline, with a Spark that takes its time: nobody waits for what can be left."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

import millpond.tick.pipeline as pipelines
from millpond.config import Config
from millpond.errors import EngineError, JavaMissing
from millpond.table.manifest import ArchiveFile
from millpond.table.work import Task
from millpond.tick.pipeline import Pipeline
from millpond.tick.workers import Workers

SOON = 40.0  # seconds; what these tests are about took up to 60


class Owner:
    """A pond with one task, for ever."""

    def __init__(self) -> None:
        self.round = threading.RLock()
        self.committed = False
        self.begun = threading.Event()

    def next_tasks(self, *, force: bool, archive: bool) -> Sequence[Task]:
        self.begun.set()
        task: Any = "a task"
        return [task]

    def commit_results(self, results: Sequence[Sequence[ArchiveFile]]) -> None:
        self.committed = True

    def tick(self) -> None:
        raise AssertionError("without Spark only what Spark evaluated before is evaluated here")


class Query:
    """A streaming query that never answers."""

    isActive = True
    stopped = False

    def stop(self) -> None:
        self.stopped = True


def make(owner: Owner, folder: Path) -> Pipeline:
    return Pipeline(owner, folder / "run", Config(tick=timedelta(seconds=0.01), spark_master="local[1]"))


def test_a_tick_under_way_is_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    owner, query = Owner(), Query()
    pipeline = make(owner, tmp_path)

    def start_query() -> bool:
        pipeline._query = query
        pipeline._workers = Workers("127.0.0.1", "127.0.0.1")
        pipeline.ready.set()
        return True

    monkeypatch.setattr(pipeline, "_start_query", start_query)
    monkeypatch.setattr(pipelines, "is_live", lambda _: True)
    pipeline.start()
    flushed: list[Exception] = []

    def flush() -> None:
        try:
            pipeline.flush(60.0)
        except EngineError as error:
            flushed.append(error)

    waiter = threading.Thread(target=flush)
    waiter.start()
    assert owner.begun.wait(SOON)  # its only tick
    begin = time.monotonic()
    pipeline.stop()
    waiter.join()
    assert time.monotonic() - begin < SOON
    assert not pipeline.alive
    assert query.stopped
    assert not owner.committed
    assert [str(e) for e in flushed] == ["the pipeline was stopped"]
    assert not (tmp_path / "run").exists()


def test_a_start_of_spark_is_not_waited_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    entered, started = threading.Event(), threading.Event()

    def slow(*_: object, **__: object) -> object:
        entered.set()
        started.wait()
        return object()  # anything done with it would fail

    monkeypatch.setattr(pipelines, "session_for", slow)
    pipeline = make(Owner(), tmp_path)
    pipeline.start()
    entered.wait()
    begin = time.monotonic()
    pipeline.stop()
    assert time.monotonic() - begin < SOON
    (tmp_path / "run").mkdir()  # the next owner of the pond's folder
    assert not pipeline.alive
    started.set()
    assert pipeline.error is None
    assert (tmp_path / "run").exists(), "it touched what is no longer its own"


def test_a_start_that_keeps_failing_is_tried_some_times_and_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A JVM that died while it started ended the pipeline at the second time."""
    tried: list[str | None] = []

    def fail(*_: object, **__: object) -> object:
        tried.append(str(pipeline.problem) if pipeline.problem else None)
        raise EngineError("Spark could not be started")

    monkeypatch.setattr(pipelines, "session_for", fail)
    monkeypatch.setattr(pipelines, "_LONGEST_PAUSE", 0.0)
    pipeline = make(Owner(), tmp_path)
    pipeline.start()
    with pytest.raises(EngineError, match="Spark could not be started"):
        pipeline.flush(SOON)
    pipeline._thread.join()
    assert tried == [None, *["Spark could not be started"] * 4]
    assert not pipeline.ready.is_set()
    with pytest.raises(EngineError, match="Spark could not be started"):  # whoever comes later is told too
        pipeline.beat(SOON)


def test_a_missing_java_is_not_waited_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tried = []

    def fail(*_: object, **__: object) -> object:
        tried.append(1)
        raise JavaMissing("Java 17 or newer was not found")

    monkeypatch.setattr(pipelines, "session_for", fail)
    pipeline = make(Owner(), tmp_path)
    pipeline.start()
    with pytest.raises(JavaMissing):
        pipeline.flush(SOON)
    assert tried == [1]


def test_results_waited_for_a_spark_that_was_started_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """After the JVM was killed they paused for 28 to 44 seconds."""
    ticked, leave = threading.Event(), threading.Event()

    class Ticking(Owner):
        def tick(self) -> None:
            ticked.set()

    def slow(*_: object, **__: object) -> object:
        leave.wait()
        raise EngineError("Spark could not be started")

    monkeypatch.setattr(pipelines, "session_for", slow)
    pipeline = make(Ticking(), tmp_path)
    pipeline._since = time.monotonic()  # it has run before
    pipeline.start()
    pipeline.beat(SOON)
    assert ticked.is_set()
    assert not pipeline.ready.is_set()
    pipeline.stop()
    assert not pipeline.alive
    leave.set()


def test_the_end_of_a_tick_is_waited_for_and_not_that_of_the_next(tmp_path: Path) -> None:
    pipeline = make(Owner(), tmp_path)
    pipeline.let_end(SOON)  # no tick is under way
    with pipeline._idle:
        pipeline._begun = 1
    ended: list[bool] = []

    def wait_for(true: Any, timeout: float) -> bool:
        ended.append(true())
        pipeline._ended, pipeline._begun = 1, 2  # it ends, and the next begins at once
        ended.append(true())
        return True

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pipeline._idle, "wait_for", wait_for)
        pipeline.let_end(SOON)
    assert ended == [False, True]
    with pipeline._idle:
        pipeline._begun = 3
    begin = time.monotonic()
    pipeline.let_end(0.01)  # a long one
    assert time.monotonic() - begin < SOON


def test_a_tick_that_waits_for_a_worker_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """All executors had gone: for two minutes nothing said why no results came."""
    owner = Owner()
    pipeline = make(owner, tmp_path)

    def start_query() -> bool:
        pipeline._query = Query()
        pipeline._workers = Workers("127.0.0.1", "127.0.0.1")
        pipeline.ready.set()
        return True

    monkeypatch.setattr(pipeline, "_start_query", start_query)
    monkeypatch.setattr(pipelines, "is_live", lambda _: True)
    monkeypatch.setattr(pipelines, "_ALONE", 0.1)
    pipeline.start()
    end = time.monotonic() + SOON
    while pipeline.problem is None:
        assert time.monotonic() < end
        time.sleep(0.01)
    assert str(pipeline.problem).startswith("no worker of Spark has connected within 0 seconds")
    assert pipeline.connected == 0
    assert pipeline.alive
    pipeline.stop()
