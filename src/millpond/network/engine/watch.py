"""Watches evaluations: which query is being evaluated in this process and since when, and ends one that takes too long.

An evaluation is one query in one tick; it asks the engine once or many times. Each question has a time limit, after which the
engine is interrupted and the query stops with that reason. An evaluation can also be cancelled, because its query was dropped
or altered. Both leave the other queries alone.

A thread of the watch looks at what is under way a few times a second. It shows an evaluation of more than a second to other
processes, in a file of `evaluating/`, looks for a request to cancel it, in a file of `cancelled/`, and ends the process if an
interrupted engine does not stop (a function of the user that loops): in a worker of Spark only, which is replaced. Before that
it notes the query in `stuck/`, so that the task that is run again leaves that query out.

    watch/evaluating/<process>-<number>.json   rewritten about every second, deleted at the end
    watch/cancelled/<query>                    made by the pond's process, deleted by it after the tick
    watch/stuck/<query>                        made by a worker; the pond stops the query and deletes it

Nothing here is durable: what is lost in a crash ended with it.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import logging
import os
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

from millpond.clock import Clock
from millpond.errors import counted
from millpond.query.deadline import Deadline

SETTING = "evaluation_time"
FOLDER = "watch"  # in the pond
_LOOK = 0.2  # seconds between two looks at what is under way
_SHOWN_AFTER = 1.0  # seconds; most evaluations take milliseconds and are not worth a file
_FRESH = 10_000_000  # microseconds; a file that was not rewritten for so long is of a process that was killed
_GRACE = 10.0  # seconds an interrupted engine has to stop
_STUCK = 70  # exit code of a worker that had to be ended

_log = logging.getLogger("millpond")


def definition_key(folder: str, revision: int) -> str:
    """Names one revision of a query, and never another."""
    return f"{folder}@{revision}"


@dataclass(frozen=True)
class Underway:
    """An evaluation that takes longer than a second: of which query, and since when, in microseconds since 1970."""

    query: str
    since: int
    process: str


class Evaluation:
    """One query in one tick. `question` is called by the thread that evaluates, `cancel` by any."""

    def __init__(self, query: str, key: str, limit: timedelta | None, clock: Clock) -> None:
        self.query = query
        self.key = key
        self.begun = clock.monotonic()
        self.since = clock.micros()
        self._clock = clock
        self._limit = limit
        self._deadline: Deadline | None = None
        self._asked = 0.0
        self._cancelled: str | None = None
        self._lock = threading.Lock()

    @contextmanager
    def question(self) -> Iterator[Deadline]:
        """The deadline of one question to the engine."""
        deadline = Deadline(self._limit, f'an evaluation of query "{self.query}"', SETTING)
        with self._lock:
            self._deadline, self._asked = deadline, self._clock.monotonic()
            cancelled = self._cancelled
        if cancelled is not None:
            deadline.cancel(cancelled)
        try:
            yield deadline
        finally:
            with self._lock:
                self._deadline = None

    def cancel(self, reason: str) -> None:
        with self._lock:
            self._cancelled = reason
            deadline = self._deadline
        if deadline is not None:
            deadline.cancel(reason)

    def is_stuck(self) -> bool:
        """Whether the engine was interrupted and does not stop."""
        with self._lock:
            limit = None if self._limit is None else self._limit.total_seconds()
            return (
                self._deadline is not None
                and limit is not None
                and (self._clock.monotonic() > self._asked + limit + _GRACE)
            )


class Watching:
    """`with watch.over(...) as evaluation`: a class, because a tick of a thousand queries has a thousand of them."""

    __slots__ = ("_evaluation", "_outer", "_watch")

    def __init__(self, watch: Watch, evaluation: Evaluation) -> None:
        self._watch = watch
        self._evaluation = evaluation
        self._outer: Evaluation | None = None

    def __enter__(self) -> Evaluation:
        self._outer = self._watch.change(self._evaluation)
        return self._evaluation

    def __exit__(self, *_: object) -> None:
        self._watch.change(self._outer)


class Watch:
    """Of one evaluator; only its thread calls `over`. `ends_process`: this process may be ended, another takes its place."""

    def __init__(self, folder: Path, limit: timedelta | None, clock: Clock, *, ends_process: bool = False) -> None:
        self._folder = folder
        self._limit = limit
        self._clock = clock
        self._ends_process = ends_process
        self._current: Evaluation | None = None
        self._begun = threading.Event()
        self._closed = threading.Event()
        self._thread: threading.Thread | None = None
        self._told: set[str] = set()
        self._stopped: str | None = None

    def over(self, query: str, key: str) -> Watching:
        """Watch an evaluation of `query`; `key` names its definition and is never used for another.

        One inside another takes its place until it ends, as when many queries are asked together.
        """
        return Watching(self, Evaluation(query, key, self._limit, self._clock))

    def change(self, evaluation: Evaluation | None) -> Evaluation | None:
        """Another evaluation is under way now, or none. The one before."""
        before, self._current = self._current, evaluation
        if evaluation is not None:
            if self._stopped is not None:
                evaluation.cancel(self._stopped)
            if not self._begun.is_set():
                self._begin()
        return before

    def stop(self, reason: str) -> None:
        """Cancel what is being evaluated, and every evaluation that follows."""
        self._stopped = reason
        current = self._current
        if current is not None:
            current.cancel(reason)

    @property
    def current(self) -> Evaluation | None:
        return self._current

    def close(self) -> None:
        self._closed.set()
        self._begun.set()
        if self._thread is not None and self._thread is not threading.current_thread():
            self._thread.join(timeout=5)

    # -- the watching thread ----------------------------------------------------------------------------------------

    def _begin(self) -> None:
        self._begun.set()
        if self._thread is None or not self._thread.is_alive():
            self._thread = threading.Thread(target=self._run, name="millpond-evaluations", daemon=True)
            self._thread.start()

    def _run(self) -> None:
        path = self._folder / "evaluating" / f"{_process()}-{next(_numbers)}.json"
        shown = False
        while not self._closed.wait(_LOOK):
            current = self._current
            if current is None:
                shown = self._unshow(path, shown)
                self._begun.clear()
                if self._current is None:  # nothing began in between
                    self._begun.wait()
                continue
            if self._clock.monotonic() - current.begun < _SHOWN_AFTER:
                shown = self._unshow(path, shown)
                continue
            shown = self._show(path, current)
            if (self._folder / "cancelled" / current.key).exists():
                current.cancel("the query was dropped or altered")
            if current.is_stuck():
                self._end(current)
        self._unshow(path, shown)

    def _show(self, path: Path, current: Evaluation) -> bool:
        told = {"query": current.query, "since": current.since, "shown": self._clock.micros(), "process": _process()}
        return _write(path, json.dumps(told))

    @staticmethod
    def _unshow(path: Path, shown: bool) -> bool:
        if shown:
            path.unlink(missing_ok=True)
        return False

    def _end(self, current: Evaluation) -> None:
        if current.key in self._told:
            return
        self._told.add(current.key)
        limit = self._limit.total_seconds() if self._limit is not None else 0
        reason = f"an evaluation took longer than {counted(limit, 'second')} and could not be interrupted"
        _log.warning('query "%s": %s', current.query, reason)
        if self._ends_process:
            _write(self._folder / "stuck" / current.key, reason)
            os._exit(_STUCK)


_numbers = itertools.count()


def _process() -> str:
    return f"{socket.gethostname()}-{os.getpid()}"


def _write(path: Path, text: str) -> bool:
    """Write a whole file that need not survive a crash. A full disk must not stop what is being watched."""
    temporary = path.with_suffix(".tmp")
    with contextlib.suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary.write_text(text)
        temporary.replace(path)
        return True
    return False


def underway(folder: Path, clock: Clock) -> list[Underway]:
    """The evaluations under way in all processes, those of less than a second apart; the longest first."""
    found = []
    for path in (folder / "evaluating").glob("*.json"):
        with contextlib.suppress(OSError, ValueError, KeyError, TypeError):  # it has just ended
            told = json.loads(path.read_text())
            if clock.micros() - int(told["shown"]) < _FRESH:
                found.append(Underway(str(told["query"]), int(told["since"]), str(told["process"])))
    return sorted(found, key=lambda each: each.since)


def cancel(folder: Path, key: str) -> None:
    """Ask for the end of the evaluation of a definition, in whichever process it is."""
    _write(folder / "cancelled" / key, "")


def stuck(folder: Path) -> dict[str, str]:
    """The definitions whose evaluation had to be ended with its process, and why."""
    found = {}
    with contextlib.suppress(FileNotFoundError):
        for entry in os.scandir(folder / "stuck"):
            with contextlib.suppress(OSError):
                found[entry.name] = Path(entry.path).read_text()
    return found


def forget(folder: Path) -> None:
    """Delete requests and notes of a tick that has ended."""
    for name in ("cancelled", "stuck"):
        with contextlib.suppress(FileNotFoundError):
            for entry in os.scandir(folder / name):
                with contextlib.suppress(OSError):
                    os.unlink(entry.path)
