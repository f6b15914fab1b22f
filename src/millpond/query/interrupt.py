"""Ctrl-C while an engine works: heard at once, and the work is over when it is told.

Python runs the handler of a signal in its main thread only, between two steps of Python or where a library asks for it. DuckDB
asks while it waits for its workers, but not while it works in the main thread itself: then Ctrl-C was heard when the query had
ended. So the main thread never works: it gives the work to another thread and waits, and if a handler raises meanwhile, it stops
the engine, waits for the other thread, and lets the handler's exception go on. A handler that does not raise stops nothing.
"""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Callable
from queue import SimpleQueue
from typing import Any, Generic, TypeVar

T = TypeVar("T")

_REPEAT = 0.05  # seconds between two calls of `stop`: an interrupt that comes while a query is prepared is forgotten
_LOOK = (
    0.2  # seconds after which the main thread looks for signals: a library may have replaced the handler that wakes it
)


class _Work(Generic[T]):
    """Some work, and what became of it."""

    def __init__(self, work: Callable[[], T]) -> None:
        self._work = work
        self._found: T
        self._error: BaseException | None = None
        self._over = threading.Event()

    def run(self) -> None:
        try:
            self._found = self._work()
        except BaseException as error:
            self._error = error
        finally:
            self._over.set()

    def wait(self, seconds: float) -> bool:
        return self._over.wait(seconds)

    def result(self) -> T:
        if self._error is not None:
            try:
                raise self._error
            finally:
                self._error = None  # its traceback holds this frame
        return self._found


class _Worker:
    """A thread that does one piece of work after the other."""

    def __init__(self) -> None:
        self._given: SimpleQueue[_Work[Any]] = SimpleQueue()
        threading.Thread(target=self._run, name="millpond-query", daemon=True).start()

    def give(self, work: _Work[Any]) -> None:
        self._given.put(work)

    def _run(self) -> None:
        while True:
            work = self._given.get()
            work.run()
            del work
            _idle.append(self)


_idle: list[_Worker] = []
"""More than one if a handler of a signal asks something meanwhile."""


def _begin(work: Callable[[], T]) -> _Work[T]:
    begun = _Work(work)
    try:
        worker = _idle.pop()
    except IndexError:
        worker = _Worker()
    worker.give(begun)
    return begun


def interruptible(work: Callable[[], T], stop: Callable[[], object]) -> T:
    """What `work` returns or raises. `stop` makes it end early, and may be called often, also when it is over."""
    if threading.current_thread() is not threading.main_thread():
        return work()
    under_way = _begin(work)
    try:
        while not under_way.wait(_LOOK):
            pass
    except BaseException:
        over = False
        while not over:
            with contextlib.suppress(Exception):
                stop()
            over = under_way.wait(_REPEAT)
        raise
    return under_way.result()


os.register_at_fork(after_in_child=_idle.clear)  # a forked child has none of these threads
