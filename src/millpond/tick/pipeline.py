"""The pipeline: a thread that plans a tick, has its tasks done by workers, and commits what comes back.

One streaming query serves the whole pond, however many tables and continuous queries it has. Its micro-batches are shifts:
their tasks connect to this process and serve ticks; see `shift.py`. A tick begins when rows are there. After each the pipeline
rests for as long as the tick took, so that under load ticks grow by themselves. The pond's round is held from plan to commit,
so whoever else rewrites the archive (an UPDATE, say) waits for the end of the tick; who changes definitions does not.

If a task or a commit fails, the tick's results are discarded: nothing was committed, its files are strays, and the rows are
still in the log. The tick is tried again, a few times with growing pauses, then the pipeline stops with the error. A worker that
ends gives its tasks to others, and nobody notices. If the streaming query ends, it is started again. The same goes for a JVM
that dies, while a tick runs, between ticks, or while it starts: Spark is started again first. That takes ten seconds to a
minute, in which ticks are evaluated here, so that results do not wait; only archiving does. `problem` says what is wrong until
a tick has succeeded on Spark.
"""

from __future__ import annotations

import contextlib
import logging
import shutil
import threading
import time
import uuid
from collections import deque
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Protocol

from millpond.config import Config
from millpond.durable import make_folder
from millpond.errors import DiskFull, EngineError, JavaMissing, MillpondError, counted
from millpond.network.run.task import ShardTask
from millpond.spark.session import is_live, lost, session_for, spark_message
from millpond.spark.slots import give_back, take_anew, take_slots
from millpond.standing.work import MatchTask
from millpond.table.work import CompactTask, CopyTask
from millpond.tick.invitation import SERVED, Invitation
from millpond.tick.task_result import TaskResult, Work
from millpond.tick.workers import NoWorker, Workers

_PATIENCE = 600.0  # seconds a tick may take before it counts as failed
_TRIES = 5
_LONGEST_PAUSE = 30.0  # seconds between two tries; they begin with one second and double
_STEADY = 60.0  # seconds after which a Spark that has nothing to do counts as one that works
_LOOK = 0.1  # seconds between looks at whether Spark failed or the pipeline is to stop
_LOOK_IDLE = 1.0  # between looks at whether Spark lives while nothing is due
_SHIFT = 60.0  # seconds
_OTHERS = (
    5.0  # seconds that the first worker is alone before ticks begin: shards would move to those that come after it
)
_ALONE = 5.0  # seconds without any worker after which that is told
_REST = 1.0  # how long the pipeline rests after a tick, as a part of what the tick took: half of its time is others'
_WHY = "the pipeline runs on it"


_log = logging.getLogger("millpond.pipeline")

Goal = Callable[[], bool]


def _never() -> bool:
    return False


class _Stopped(Exception):
    """The pipeline is asked to stop in the middle of a tick: nothing is committed yet, so it can be left."""


class Owner(Protocol):
    """What the pipeline asks of the pond, always from the pipeline's thread."""

    round: threading.RLock

    @property
    def has_left(self) -> bool:
        """Whether the last tick left something to the next."""

    def next_tasks(self, *, force: bool, archive: bool) -> Sequence[Work]:
        """The tasks that are due, of the archive too if wanted; also does what needs no worker (retention, cleaning)."""

    def commit_results(self, results: Sequence[TaskResult]) -> None:
        """Commit the results of the tasks last handed out, in their order."""

    def tick(self) -> None:
        """Evaluate the continuous queries without workers."""


class _Start:
    """A start of Spark, in a thread of its own. It cannot be broken off: whoever does not want it any more leaves it, and it ends
    by itself."""

    def __init__(self, start: Callable[[], None]) -> None:
        self._start = start
        self._error: BaseException | None = None
        self.ended = threading.Event()
        threading.Thread(target=self._run, name="millpond-spark-start", daemon=True).start()

    def _run(self) -> None:
        try:
            self._start()
        except BaseException as error:  # told to whoever waits
            self._error = error
        finally:
            self.ended.set()

    def check(self) -> None:
        """Raise what went wrong."""
        if self._error is not None:
            raise self._error


class Pipeline:
    """Started and stopped by the pond; `wake` and `flush` may be called from any thread."""

    def __init__(self, owner: Owner, folder: Path, config: Config) -> None:
        self._owner = owner
        self._root = folder
        self._config = config
        self._tick_seconds = config.tick.total_seconds()
        self._absent = config.worker_wait.total_seconds()
        self._folder = folder
        self._wake = threading.Event()
        self._hurry = threading.Event()  # somebody waits for the next tick
        self._stopping = threading.Event()
        self._making = threading.Lock()  # held while the streaming query is made, and while everything is put away
        self._idle = threading.Condition()
        self._asked = 0  # flushes asked for, and how many of them are done
        self._done = 0
        self._goal: Goal = _never  # of the last flush asked for; it includes those of the others
        self._begun = 0  # ticks, also those with nothing to do
        self._ended = 0
        self._session: Any = None  # that the query runs in
        self._query: Any = None
        self._since = 0.0  # when the query was started
        self._workers: Workers | None = None
        self._counting = threading.Lock()  # guards `_slots`
        self._slots = 0
        self._archive_at = 0.0  # when to look for what is to be archived
        self.error: MillpondError | None = None  # why the pipeline stopped
        self.problem: MillpondError | None = None  # why it does not work at present
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
            self._hurry.set()
            self._wake.set()
            done = self._idle.wait_for(lambda: self._done >= wanted or self._ended_early(), timeout)
        self._check_end()
        if not done:
            raise EngineError(f"archiving did not finish within {counted(round(timeout), 'second')}")

    def wait(self, timeout: float) -> None:
        """Return when Spark does the work."""
        end = time.monotonic() + timeout
        while not self.ready.wait(_LOOK):
            self._check_end()
            if isinstance(self.problem, NoWorker):  # it goes on trying; who waits is told what to check
                raise self.problem
            if time.monotonic() > end:
                raise EngineError(
                    f"the pipeline was not ready within {counted(round(timeout), 'second')}",
                    detail=str(self.problem) if self.problem is not None else None,
                )

    def beat(self, timeout: float = 600.0) -> None:
        """Return when a tick that began after the call is done."""
        with self._idle:
            wanted = self._begun + 1
            self._hurry.set()
            self._wake.set()
            done = self._idle.wait_for(lambda: self._ended >= wanted or self._ended_early(), timeout)
        self._check_end()
        if not done:
            raise EngineError(f"no tick ended within {counted(round(timeout), 'second')}")

    def let_end(self, most: float) -> None:
        """Return when the tick that is under way, if one is, has ended; not later than after so many seconds."""
        with self._idle:
            begun = self._begun
            self._idle.wait_for(lambda: self._ended >= begun or self._ended_early(), most)

    def _ended_early(self) -> bool:
        return self.error is not None or self._stopping.is_set()

    def _check_end(self) -> None:
        if self.error is not None:
            raise self.error
        if self._stopping.is_set():
            raise EngineError("the pipeline was stopped")

    def stop(self) -> None:
        """Leave the tick under way: nothing of it is committed, and its rows are still in the log. A start of Spark is not waited
        for."""
        self._stopping.set()
        self._hurry.set()
        self._wake.set()
        workers = self._workers
        if workers is not None:
            workers.close()
        with self._idle:
            self._idle.notify_all()
        if self._thread.is_alive() and threading.current_thread() is not self._thread:
            self._thread.join(timeout=60)
        del self._owner  # Spark's callback threads keep this object, and must not keep the pond

    @property
    def alive(self) -> bool:
        return self._thread.is_alive()

    @property
    def connected(self) -> int:
        """How many workers are."""
        workers = self._workers
        return 0 if workers is None else workers.count

    # -- the pipeline's thread --------------------------------------------------------------------------------------

    def _loop(self) -> None:
        failures = 0
        try:
            shutil.rmtree(self._root, ignore_errors=True)  # leavings of earlier runs: nothing in them is needed
            while not self._stopping.is_set():
                ticks = self.ticks
                try:
                    if self._query is None and not self._start_query():
                        return
                    self._check_spark()
                    begin = time.monotonic()
                    busy = self._round()
                except _Stopped:
                    raise
                except Exception as error:
                    problem = self._explained(error)
                    self.problem = problem
                    if not self._goes_on():
                        self.ready.clear()  # from now on whoever waits for results evaluates the queries himself
                        self._stop_query()
                        shutil.rmtree(self._folder, ignore_errors=True)  # nothing that is still to come of it is wanted
                    failures += 1
                    if failures >= _TRIES or isinstance(problem, JavaMissing):
                        raise problem from error
                    _log.warning("the pipeline is interrupted and tries again: %s", problem)
                    self._stopping.wait(min(_LONGEST_PAUSE, 2.0 ** (failures - 1)))
                    continue
                if self.ticks > ticks or begin - self._since > _STEADY:
                    failures = 0
                if self.problem is not None:
                    self.problem = None
                    _log.warning("the pipeline goes on")
                if not busy and self._done >= self._asked:
                    self._rest(begin)
        except _Stopped:
            pass
        except MillpondError as error:
            _log.error("the pipeline has stopped: %s", error)
            self.error = error
        except Exception as error:  # a bug here must not leave the pond waiting for ever
            self.error = EngineError("the pipeline stopped", detail=f"{type(error).__name__}: {spark_message(error)}")
        finally:
            with self._making:
                self._stop_query()
                shutil.rmtree(self._root, ignore_errors=True)
            with self._idle:
                self._idle.notify_all()

    def _rest(self, begin: float) -> None:
        """Wait for the next tick: for rows, but at least for a part of what the last one took, unless somebody waits for the
        next. Not if Spark dies."""
        now, end = time.monotonic(), begin + self._tick_seconds
        earliest = min(now + _REST * (now - begin), end)
        while (left := end - time.monotonic()) > 0 and not self._wake.wait(min(left, _LOOK_IDLE)):
            if not is_live(self._session):
                return
        if (left := earliest - time.monotonic()) > 0:
            self._hurry.wait(left)
        self._hurry.clear()
        self._wake.clear()

    def _check_spark(self) -> None:
        if not is_live(self._session):
            raise lost(self._session) or EngineError("Spark was stopped")

    def _explained(self, error: Exception) -> MillpondError:
        """The error to tell. What is neither Spark's doing nor ours to tell is a bug, and raised as it is."""
        if isinstance(error, MillpondError):
            return error
        death = lost(self._session, error) if self._session is not None else None
        if death is not None:
            return death
        if type(error).__module__.startswith(("pyspark", "py4j")):
            return EngineError("Spark failed", detail=spark_message(error))
        raise error

    def _round(self) -> bool:
        """One tick, if there is anything to do. Returns whether there may be more to archive at once."""
        with self._idle:
            asked, goal = self._asked, self._goal
            self._begun += 1
        with self._owner.round:
            reached = goal()
            now, force = time.monotonic(), asked > self._done
            archive = now >= self._archive_at
            tasks = self._owner.next_tasks(force=force, archive=archive)
            archiving = any(not isinstance(task, ShardTask | MatchTask) for task in tasks)
            if archive and not archiving:
                self._archive_at = now + self._tick_seconds  # ticks follow each other in milliseconds
            if tasks:
                begin = time.monotonic()
                self._owner.commit_results(self._run_tasks(tasks))
                self.durations.append(time.monotonic() - begin)
                self.ticks += 1
            if self._owner.has_left:
                self._wake.set()
        with self._idle:
            if not tasks or (reached and not any(isinstance(task, CompactTask | CopyTask) for task in tasks)):
                self._done = max(self._done, asked)
            self._ended = self._begun
            self._idle.notify_all()
        return archiving

    def _goes_on(self) -> bool:
        """Whether the streaming query runs: then it was a task that failed, or a commit."""
        try:
            return self._query is not None and is_live(self._session) and bool(self._query.isActive)
        except Exception:  # the JVM is about to end
            return False

    def _check_going(self) -> None:
        """Raise if the tick under way is of no use, or Spark does not do its part any more."""
        if self._stopping.is_set():
            raise _Stopped
        self._check_spark()
        if not self._query.isActive:
            raise _failure(self._query.exception())

    def _run_tasks(self, tasks: Sequence[Work]) -> list[TaskResult]:
        end = time.monotonic() + _PATIENCE
        workers = self._workers
        assert workers is not None

        def check() -> None:
            self._check_going()
            if workers.alone > _ALONE and self.problem is None:
                self.problem = workers.absent(workers.alone)
                _log.warning("the pipeline waits: %s", self.problem)
            if time.monotonic() > end:
                raise EngineError(f"a tick took longer than {_PATIENCE:.0f} seconds")

        return workers.run(tasks, check, self._absent)

    def _start_query(self) -> bool:
        """Start the streaming query, and Spark first if need be; False when it is no longer wanted."""
        start = _Start(self._launch)
        self._wait_for(start)
        if self._stopping.is_set():
            return False
        try:
            start.check()
        except BaseException:
            self._stop_query()
            raise
        self._since = time.monotonic()
        self.ready.set()
        return True

    def _launch(self) -> None:
        """In the thread of a start. If the pipeline has stopped meanwhile, nothing is touched any more."""
        session = session_for(self._config, _WHY)
        with self._making:
            if self._stopping.is_set():
                return
            self._make_query(session)
            workers = self._workers
        assert workers is not None
        with contextlib.suppress(_Stopped):
            if not workers.wait_for(1, self._absent, self._check_going):
                raise workers.absent(self._absent)
            workers.wait_for(self._slots, _OTHERS, self._check_going)

    def _make_query(self, session: Any) -> None:
        from pyspark.sql import functions

        from millpond.tick.source import format_of, shift_source

        self._session = session
        self._folder = self._root / uuid.uuid4().hex[:8]
        make_folder(self._folder)
        self._slots = take_slots(session)
        host = session.sparkContext.getConf().get("spark.driver.host")
        self._workers = workers = Workers(host, self._config.driver_bind or host, self._slots_now)
        invitation = Invitation(self._folder.name, workers.host, workers.port, workers.secret, _SHIFT, self._slots)
        session.dataSource.register(shift_source(invitation))
        self._query = (
            session.readStream.format(format_of(invitation))
            .load()
            .observe("shift", *(functions.sum(c).alias(c) for c in SERVED))
            .writeStream.format("noop")
            .queryName(f"millpond {self._root.parent.name} {self._folder.name}")
            .option("checkpointLocation", str(self._folder / "checkpoint"))
            .trigger(processingTime="0 seconds")
            .start()
        )

    def _slots_now(self) -> int:
        """How many tasks the next shift has. From a thread of the workers."""
        with self._counting:
            if self._slots and is_live(self._session):
                try:
                    self._slots = take_anew(self._session, self._slots)
                except Exception as error:  # the JVM is about to end: that is told elsewhere
                    _log.info("Spark does not tell its slots: %s", spark_message(error))
            return max(1, self._slots)

    def _wait_for(self, start: _Start) -> None:
        """Wait until Spark has started, or the pipeline is to stop. If it had run before, results came, and they go on coming."""
        due = 0.0
        while not start.ended.wait(_LOOK) and not self._stopping.is_set():
            if self._since and (self._wake.is_set() or time.monotonic() >= due):
                self._wake.clear()
                due = time.monotonic() + self._tick_seconds
                self._tick_here()

    def _tick_here(self) -> None:
        with self._idle:
            self._begun += 1
        try:
            self._owner.tick()
        except MillpondError as error:  # the next tick on Spark meets it too, and is tried again as often as any
            self.problem = error
        with self._idle:
            self._ended = self._begun
            self._idle.notify_all()

    def _stop_query(self) -> None:
        workers, self._workers = self._workers, None
        if workers is not None:
            workers.close()  # first: then the tasks of the shift end by themselves
        query, self._query = self._query, None
        if query is not None and is_live(self._session):
            try:
                query.stop()
            except Exception as error:  # it has failed already; the reason was told
                _log.info("the streaming query did not stop: %s", spark_message(error))
        with self._counting:
            if self._slots:
                give_back(self._session, self._slots)
                self._slots = 0


def _failure(problem: BaseException | None) -> MillpondError:
    text = spark_message(problem) if problem is not None else "the streaming query ended"
    if "no space left" in text.lower():
        return DiskFull("no space left on the disk while archiving", detail=text, hint="Free some space.")
    return EngineError("archiving failed", detail=f"Spark says: {text}")
