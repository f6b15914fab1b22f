"""The pipeline: a thread that plans a tick, hands it to the streaming query, and commits what comes back.

One streaming query serves the whole pond, however many tables (and later queries) it has. The pond's `work` lock is held
from plan to commit, so whoever else changes the archive (an UPDATE, say) waits for the end of the tick.

If Spark fails, the tick's results are discarded: nothing was committed, its files are strays, and the rows are still in
the log. The query is started again, a few times with growing pauses, then the pipeline stops with the error.
"""

from __future__ import annotations

import shutil
import threading
import uuid
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Protocol

from millpond.durable import make_folder
from millpond.errors import DiskFull, EngineError, MillpondError
from millpond.spark.session import get_session, spark_message
from millpond.table.manifest import ArchiveFile
from millpond.table.work import Task

_PATIENCE = 600.0  # seconds a tick may take before it counts as failed
_TRIES = 5


class Owner(Protocol):
    """What the pipeline asks of the pond, always from the pipeline's thread."""

    work: threading.RLock

    def next_tasks(self, *, force: bool) -> Sequence[Task]:
        """The tasks that are due; also does what needs no worker (retention, cleaning)."""

    def commit_results(self, results: Sequence[Sequence[ArchiveFile]]) -> None:
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
        self._idle = threading.Condition()
        self._asked = 0  # flushes asked for, and how many of them are done
        self._done = 0
        self._begun = 0  # ticks, also those with nothing to do
        self._ended = 0
        self._results: dict[int, str] | None = None
        self._arrived = threading.Event()
        self._query: Any = None
        self._number = 0
        self.error: MillpondError | None = None
        self.ticks = 0
        self.ready = threading.Event()
        self._thread = threading.Thread(target=self._loop, name="millpond-pipeline", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def wake(self) -> None:
        self._wake.set()

    def flush(self, timeout: float = 120.0) -> None:
        """Return when everything that was in the log at the time of the call is in the archive."""
        with self._idle:
            self._asked += 1
            wanted = self._asked
            self._wake.set()
            done = self._idle.wait_for(lambda: self._done >= wanted or self.error is not None, timeout)
        if self.error is not None:
            raise self.error
        if not done:
            raise EngineError(f"archiving did not finish within {timeout:.0f} seconds")

    def beat(self, timeout: float = 120.0) -> None:
        """Return when a tick that began after the call is done."""
        with self._idle:
            wanted = self._begun + 1
            self._wake.set()
            done = self._idle.wait_for(lambda: self._ended >= wanted or self.error is not None, timeout)
        if self.error is not None:
            raise self.error
        if not done:
            raise EngineError(f"no tick ended within {timeout:.0f} seconds")

    def stop(self) -> None:
        self._stopping.set()
        self._wake.set()
        if self._thread.is_alive() and threading.current_thread() is not self._thread:
            self._thread.join(timeout=60)
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
                    if self._query is None:
                        self._start_query()
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
                    self._wake.wait(self._tick_seconds)
                    self._wake.clear()
        except MillpondError as error:
            self.error = error
        except Exception as error:  # a bug here must not leave the pond waiting for ever
            self.error = EngineError("the pipeline stopped", detail=f"{type(error).__name__}: {spark_message(error)}")
        finally:
            self._stop_query()
            shutil.rmtree(self._root, ignore_errors=True)
            with self._idle:
                self._idle.notify_all()

    def _round(self) -> bool:
        """One tick, if there is anything to do."""
        asked = self._asked
        with self._idle:
            self._begun += 1
        with self._owner.work:
            tasks = self._owner.next_tasks(force=asked > self._done)
            if tasks:
                self._owner.commit_results(self._run_tasks(tasks))
                self.ticks += 1
        with self._idle:
            if not tasks:
                self._done = max(self._done, asked)
            self._ended = self._begun
            self._idle.notify_all()
        return bool(tasks)

    def _run_tasks(self, tasks: Sequence[Task]) -> list[list[ArchiveFile]]:
        from millpond.tick.source import decode_result, write_tick

        self._number += 1
        self._results = None
        self._arrived.clear()
        write_tick(self._folder / "ticks", self._number, tasks)
        waited = 0.0
        while not self._arrived.wait(0.25):
            waited += 0.25
            problem = self._query.exception() if not self._query.isActive else None
            if not self._query.isActive:
                raise _failure(problem)
            if waited > _PATIENCE:
                raise EngineError(f"a tick took longer than {_PATIENCE:.0f} seconds")
        assert self._results is not None
        if sorted(self._results) != list(range(len(tasks))):
            raise EngineError(f"Spark answered {len(self._results)} of {len(tasks)} tasks")
        return [decode_result(self._results[i]) for i in range(len(tasks))]

    def _start_query(self) -> None:
        from millpond.tick.source import FORMAT, TickSource

        self._run = uuid.uuid4().hex[:8]
        self._folder = self._root / self._run
        self._number = 0
        make_folder(self._folder / "ticks")
        session = get_session(self._master, self._memory)
        session.dataSource.register(TickSource)
        stream = session.readStream.format(FORMAT).option("folder", str(self._folder / "ticks"))
        stream = stream.option("run", self._run)
        self._query = (
            stream.load()
            .writeStream.foreachBatch(self._collect)
            .option("checkpointLocation", str(self._folder / "checkpoint"))
            .trigger(processingTime="0 seconds")
            .start()
        )
        self.ready.set()

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
