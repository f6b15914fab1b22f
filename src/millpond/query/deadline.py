"""A time limit for work in an engine, which any thread can also cancel.

An engine that computes cannot look at a clock, so another thread has to stop it. One thread of the process, the watcher,
waits for the earliest of all deadlines under way; a query costs it one wait in a while, not a thread of its own. What
stops the engine is a function (`connection.interrupt` of DuckDB, the cancelling of a job of Spark). It is called again and
again until the work has ended, because an engine forgets an interrupt that comes before it begins; and in a thread of its
own, because it may take its time.

Invariant: `stop` is never called for work that has ended, so the next user of a connection is left alone.
"""

from __future__ import annotations

import contextlib
import math
import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta

import duckdb

from millpond.errors import Cancelled, LimitExceeded, MillpondError, counted

_AGAIN = 0.02  # seconds from one call of `stop` to the next


class Deadline:
    """Ends work when its time is up or when it is cancelled. It begins when it is made; one may guard several steps.

    `what` and `setting` are for the message: what takes too long, and which setting allows more. Without a `limit` it
    can still be cancelled.

    >>> connection = duckdb.connect()
    >>> with Deadline(timedelta(seconds=30), "the query", "query_time").guard(connection):
    ...     connection.sql("SELECT 1").fetchall()
    [(1,)]
    """

    def __init__(
        self,
        limit: timedelta | None,
        what: str = "the query",
        setting: str | None = None,
        *,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self.what = what
        self.setting = setting
        self._limit = limit
        self._monotonic = monotonic
        self._end = math.inf if limit is None else monotonic() + limit.total_seconds()
        self._cancelled: str | None = None
        self._lock = threading.Lock()
        self._stops: list[Callable[[], object]] = []
        self._stopping = False

    @property
    def over(self) -> bool:
        """Whether the work has to end."""
        return self._cancelled is not None or self.remaining <= 0

    @property
    def remaining(self) -> float:
        """Seconds until the time is up; infinite without a limit."""
        return self._end - self._monotonic()

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Do not count the time that the block takes. Not while work is guarded."""
        assert not self._stops, "work under way is watched by the clock"
        begin = self._monotonic()
        try:
            yield
        finally:
            self._end += self._monotonic() - begin

    def cancel(self, reason: str = "it was cancelled") -> None:
        """End the work now. From any thread; returns before the work has ended. Work that is not begun does not begin."""
        with self._lock:
            self._cancelled = self._cancelled or reason
        self._stop()

    def check(self) -> None:
        """Raise if the work has to end. For steps between an engine's."""
        if self.over:
            raise self.error()

    def error(self) -> MillpondError:
        """Why the work has ended, for its user."""
        if self._cancelled is not None:
            return Cancelled(
                f"{self.what} was cancelled", detail=f"{self._cancelled[:1].upper()}{self._cancelled[1:]}."
            )
        assert self._limit is not None
        seconds = counted(self._limit.total_seconds(), "second")
        return LimitExceeded(f"{self.what} took longer than {seconds} and was stopped", setting=self.setting)

    @contextmanager
    def guard(self, connection: duckdb.DuckDBPyConnection) -> Iterator[None]:
        """Interrupt what runs on a DuckDB connection; raises `LimitExceeded` or `Cancelled` in place of DuckDB's error.

        The connection has to be the guarded work's own: a cursor, if others use the connection too.
        """
        with self.stopping(connection.interrupt):
            yield

    @contextmanager
    def stopping(self, stop: Callable[[], object]) -> Iterator[None]:
        """Call `stop`, perhaps more than once, if the work in the block has to end before it is done.

        Whatever the block raises after that is replaced by our error. A block that is done in spite of it is done.
        """
        self.check()
        with self._lock:
            self._stops.append(stop)
        if self._end != math.inf:
            _watcher().add(self)
        if self.over:
            self._stop()
        try:
            yield
        except Exception as error:
            # An interrupt meant for us can look like anything by the time it gets here, but not like an error of ours.
            if self.over and not isinstance(error, MillpondError):
                raise self.error() from error
            raise
        finally:
            with self._lock:
                self._stops.remove(stop)
            if self._end != math.inf:
                _watcher().remove(self)

    def _stop(self) -> None:
        """Begin to call what stops the work, unless that is under way or there is no work."""
        with self._lock:
            if self._stopping or not self._stops:
                return
            self._stopping = True
        threading.Thread(target=self._keep_stopping, name="millpond-stop", daemon=True).start()

    def _keep_stopping(self) -> None:
        waiting = threading.Event()
        while True:
            with self._lock:  # nobody leaves `stopping` while its `stop` is being called
                if not self._stops:
                    self._stopping = False
                    return
                for stop in self._stops:
                    with contextlib.suppress(Exception):  # the engine may be closing; it is asked again
                        stop()
            waiting.wait(_AGAIN)


class _Watcher:
    """The thread that waits for deadlines. It lives as long as the process."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._active: dict[Deadline, int] = {}
        self._wakes = math.inf  # when it will look again by itself, as `time.monotonic` counts
        threading.Thread(target=self._run, name="millpond-deadlines", daemon=True).start()

    def add(self, deadline: Deadline) -> None:
        with self._changed:
            self._active[deadline] = self._active.get(deadline, 0) + 1
            if time.monotonic() + deadline.remaining < self._wakes:
                self._changed.notify()

    def remove(self, deadline: Deadline) -> None:
        with self._changed:  # it may wake once for nothing; telling it would cost more
            self._active[deadline] -= 1
            if not self._active[deadline]:
                del self._active[deadline]

    def _run(self) -> None:
        while True:
            with self._changed:
                due = [d for d in self._active if d.remaining <= 0]
                later = min((d.remaining for d in self._active if d.remaining > 0), default=math.inf)
                if not due:
                    self._wakes = time.monotonic() + later
                    self._changed.wait(None if later == math.inf else min(later, threading.TIMEOUT_MAX))
                    self._wakes = -math.inf
                    continue
            for deadline in due:
                deadline._stop()
            with self._changed:
                self._changed.wait(_AGAIN)


_made = threading.Lock()
_the_watcher: _Watcher | None = None


def _watcher() -> _Watcher:
    global _the_watcher
    if _the_watcher is None:
        with _made:
            if _the_watcher is None:
                _the_watcher = _Watcher()
    return _the_watcher


def _after_fork() -> None:
    """A forked child has none of its parent's threads, and perhaps a lock that one of them held."""
    global _made, _the_watcher
    _made, _the_watcher = threading.Lock(), None


os.register_at_fork(after_in_child=_after_fork)
