"""The pipeline: a thread that plans a tick, hands it to the streaming query, and commits what comes back.

One streaming query serves the whole pond, however many tables and continuous queries it has. The pond's `work` lock is held
from plan to commit, so whoever else changes the archive (an UPDATE, say) waits for the end of the tick.

If Spark fails, the tick's results are discarded: nothing was committed, its files are strays, and the rows are still in
the log. The query is started again, a few times with growing pauses, then the pipeline stops with the error.
"""

from __future__ import annotations

import shutil
import threading
import time
import uuid
from collections import deque
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Protocol

from millpond.durable import make_folder
from millpond.errors import DiskFull, EngineError, MillpondError
from millpond.network.run.task import ShardTask
from millpond.spark.session import get_session, spark_message
from millpond.table.work import CompactTask
from millpond.tick.task_result import TaskResult, Work, decode_result

_PATIENCE = 600.0  # seconds a tick may take before it counts as failed
_TRIES = 5
_LOOK = 0.1  # seconds between looks at whether Spark failed or the pipeline is to stop
_WHY = "the pipeline runs on it"


Goal = Callable[[], bool]


def _never() -> bool:
    return False


class _Stopped(Exception):
    """The pipeline is asked to stop in the middle of a tick: nothing is committed yet, so it can be left."""


class Owner(Protocol):
    """What the pipeline asks of the pond, always from the pipeline's thread."""

    work: threading.RLock

    def next_tasks(self, *, force: bool) -> Sequence[Work]:
        """The tasks that are due; also does what needs no worker (retention, cleaning)."""

    def commit_results(self, results: Sequence[TaskResult]) -> None:
        """Commit the results of the tasks last handed out, in their order."""


class Pipeline:
    """Started and stopped by the pond; `wake` and `flush` may be called from any thread."""

    def __init__(self, owner: Owner, folder: Path, tick_seconds: float, master: str, memory: str) -> None:
        self._owner = owner
        self._root = folder
        self._tick_seconds = tick_seconds
        self._master = master
        self._memory = memory
        self._run = uuid.uuid4().hex[:8]
        self._folder = folder / self._run
        self._wake = threading.Event()
        self._stopping = threading.Event()
        self._entering = threading.Lock()  # orders `stop` and the beginning and end of a start of Spark
        self._starting = False
        self._idle = threading.Condition()
        self._asked = 0  # flushes asked for, and how many of them are done
        self._done = 0
        self._goal: Goal = _never  # of the last flush asked for; it includes those of the others
        self._begun = 0  # ticks, also those with nothing to do
        self._ended = 0
        self._results: dict[int, str] | None = None
        self._arrived = threading.Event()
        self._query: Any = None
        self._number = 0
        self.error: MillpondError | None = None
        self.ticks = 0
        self.durations: deque[float] = deque(maxlen=10_000)  # seconds, of the last ticks that had work
        self.ready = threading.Event()
        self._thread = threading.Thread(target=self._loop, name="millpond-pipeline", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def wake(self) -> None:
        self._wake.set()

    def flush(self, timeout: float = 120.0, goal: Goal = _never) -> None:
        """Return when everything that was in the log at the time of the call is in the archive.

        `goal` tells that it is. Without it the log must become empty, which may never be while others append.
        """
        with self._idle:
            self._asked += 1
            wanted, self._goal = self._asked, goal
            self._wake.set()
            done = self._idle.wait_for(lambda: self._done >= wanted or self._ended_early(), timeout)
        self._check_going()
        if not done:
            raise EngineError(f"archiving did not finish within {timeout:.0f} seconds")

    def beat(self, timeout: float = 600.0) -> None:
        """Return when a tick that began after the call is done."""
        with self._idle:
            wanted = self._begun + 1
            self._wake.set()
            done = self._idle.wait_for(lambda: self._ended >= wanted or self._ended_early(), timeout)
        self._check_going()
        if not done:
            raise EngineError(f"no tick ended within {timeout:.0f} seconds")

    def _ended_early(self) -> bool:
        return self.error is not None or self._stopping.is_set()

    def _check_going(self) -> None:
        if self.error is not None:
            raise self.error
        if self._stopping.is_set():
            raise EngineError("the pipeline was stopped")

    def stop(self) -> None:
        """Leave the tick under way: nothing of it is committed, and its rows are still in the log.

        A start of Spark cannot be broken off. It is not waited for; it ends by itself and touches nothing any more.
        """
        with self._entering:
            self._stopping.set()
            starting = self._starting
        self._wake.set()
        with self._idle:
            self._idle.notify_all()
        if self._thread.is_alive() and threading.current_thread() is not self._thread and not starting:
            self._thread.join(timeout=60)
        if starting:
            shutil.rmtree(self._root, ignore_errors=True)
        del self._owner  # Spark's callback threads keep this object, and must not keep the pond

    @property
    def alive(self) -> bool:
        return self._thread.is_alive()

    # -- the pipeline's thread --------------------------------------------------------------------------------------

    def _loop(self) -> None:
        failures = 0
        try:
            shutil.rmtree(self._root, ignore_errors=True)  # leavings of earlier runs: nothing in them is needed
            while not self._stopping.is_set():
                try:
                    if self._query is None and not self._start_query():
                        return
                    begin = time.monotonic()
                    busy = self._round()
                    failures = 0
                except MillpondError as error:
                    self._stop_query()
                    failures += 1
                    if failures >= _TRIES or (isinstance(error, EngineError) and not self.ticks and failures > 1):
                        raise
                    self._stopping.wait(min(30.0, 2.0**failures))
                    continue
                if not busy and self._done >= self._asked:
                    self._wake.wait(max(0.0, begin + self._tick_seconds - time.monotonic()))
                    self._wake.clear()
        except _Stopped:
            pass
        except MillpondError as error:
            self.error = error
        except Exception as error:  # a bug here must not leave the pond waiting for ever
            self.error = EngineError("the pipeline stopped", detail=f"{type(error).__name__}: {spark_message(error)}")
        finally:
            self._stop_query()
            if not self._starting:  # else the pond may be closed already, and the folder another's
                shutil.rmtree(self._root, ignore_errors=True)
            with self._idle:
                self._idle.notify_all()

    def _round(self) -> bool:
        """One tick, if there is anything to do. Returns whether there may be more to archive at once."""
        with self._idle:
            asked, goal = self._asked, self._goal
            self._begun += 1
        with self._owner.work:
            reached = goal()
            tasks = self._owner.next_tasks(force=asked > self._done)
            if tasks:
                begin = time.monotonic()
                self._owner.commit_results(self._run_tasks(tasks))
                self.durations.append(time.monotonic() - begin)
                self.ticks += 1
        with self._idle:
            if not tasks or (reached and not any(isinstance(task, CompactTask) for task in tasks)):
                self._done = max(self._done, asked)
            self._ended = self._begun
            self._idle.notify_all()
        return any(not isinstance(task, ShardTask) for task in tasks)

    def _run_tasks(self, tasks: Sequence[Work]) -> list[TaskResult]:
        from millpond.tick.source import write_tick

        self._number += 1
        self._results = None
        self._arrived.clear()
        write_tick(self._folder / "ticks", self._number, tasks)
        waited = 0.0
        while not self._arrived.wait(_LOOK):
            waited += _LOOK
            if self._stopping.is_set():
                raise _Stopped
            problem = self._query.exception() if not self._query.isActive else None
            if not self._query.isActive:
                raise _failure(problem)
            if waited > _PATIENCE:
                raise EngineError(f"a tick took longer than {_PATIENCE:.0f} seconds")
        assert self._results is not None
        if sorted(self._results) != list(range(len(tasks))):
            raise EngineError(f"Spark answered {len(self._results)} of {len(tasks)} tasks")
        return [decode_result(self._results[i]) for i in range(len(tasks))]

    def _start_query(self) -> bool:
        """Start the streaming query, and Spark first if need be; False when it is no longer wanted."""
        with self._entering:
            if self._stopping.is_set():
                return False
            self._starting = True
        try:
            session = get_session(self._master, self._memory, why=_WHY)
        finally:
            with self._entering:
                self._starting = self._stopping.is_set()  # for good, if nobody waits any more
        if self._starting:
            return False
        from millpond.tick.source import FORMAT, TickSource

        self._run = uuid.uuid4().hex[:8]
        self._folder = self._root / self._run
        self._number = 0
        make_folder(self._folder / "ticks")
        session.dataSource.register(TickSource)
        stream = session.readStream.format(FORMAT).option("folder", str(self._folder / "ticks"))
        stream = stream.option("run", self._run).option("slots", str(session.sparkContext.defaultParallelism))
        self._query = (
            stream.load()
            .writeStream.foreachBatch(self._collect)
            .option("checkpointLocation", str(self._folder / "checkpoint"))
            .trigger(processingTime="0 seconds")
            .start()
        )
        self.ready.set()
        return True

    def _collect(self, frame: Any, _batch: int) -> None:
        """Called by Spark for each batch, which is one tick."""
        rows = frame.collect()
        self._results = {row["task"]: row["result"] for row in rows}
        self._arrived.set()

    def _stop_query(self) -> None:
        query, self._query = self._query, None
        if query is not None:
            try:
                query.stop()
            except Exception as error:  # stopping what already failed
                self.error = self.error or EngineError("Spark did not stop", detail=spark_message(error))


def _failure(problem: BaseException | None) -> MillpondError:
    text = spark_message(problem) if problem is not None else "the streaming query ended"
    if "no space left" in text.lower():
        return DiskFull("no space left on the disk while archiving", detail=text, hint="Free some space.")
    return EngineError("archiving failed", detail=f"Spark says: {text}")
