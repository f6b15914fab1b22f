"""Moves old results from memory to the archive, in a thread of its own, so that no tick waits for a file.

A tick asks; the thread writes the oldest results of a query as files, commits them, lets them go from memory, and drops
files from before the history period. Results are in the log until they are in a committed file, so this work can be late,
fail, or end with the process at any moment: it is asked for again. What failed (a full disk) is told as the outlet's
`problem`, and tried again after a pause, while ticks go on.
"""

from __future__ import annotations

import threading

from millpond.clock import Clock
from millpond.duration import FOREVER
from millpond.errors import MillpondError
from millpond.results.outlet import Outlet
from millpond.table.compartments import width

_FIRST_PAUSE, _LONGEST_PAUSE = 1.0, 30.0  # seconds after a failure


class ResultKeeper:
    """Any thread may ask. The thread begins with the first thing to do."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._changed = threading.Condition()
        self._due: dict[Outlet, int] = {}
        self._busy: Outlet | None = None
        self._waits: dict[Outlet, tuple[float, float]] = {}  # after a failure: until when, and how long that was
        self._thread: threading.Thread | None = None
        self._closed = False

    def ask(self, outlet: Outlet, below: int = 0) -> None:
        """Have the rows numbered below `below` moved, and what is too old dropped."""
        if outlet.archive is None:
            return
        with self._changed:
            until, _ = self._waits.get(outlet, (0.0, 0.0))
            if self._closed or (outlet in self._waits and self._clock.monotonic() < until):
                return
            self._due[outlet] = max(below, self._due.get(outlet, 0))
            if self._thread is None:
                self._thread = threading.Thread(target=self._loop, name="millpond-results", daemon=True)
                self._thread.start()
            self._changed.notify_all()

    def settle(self, timeout: float = 60.0) -> bool:
        """Wait until everything asked for was tried."""
        with self._changed:
            return self._changed.wait_for(lambda: not self._due and self._busy is None, timeout)

    def forget(self, outlet: Outlet) -> None:
        """The outlet is no more."""
        with self._changed:
            self._due.pop(outlet, None)
            self._waits.pop(outlet, None)

    def close(self) -> None:
        """What is under way ends, the rest is left for the next time."""
        with self._changed:
            self._closed = True
            self._due.clear()
            self._changed.notify_all()
            thread = self._thread
        if thread is not None:
            thread.join()

    def _loop(self) -> None:
        while True:
            with self._changed:
                self._busy = None
                self._changed.notify_all()
                self._changed.wait_for(lambda: self._closed or bool(self._due))
                if self._closed:
                    return
                outlet = next(iter(self._due))
                below = self._due.pop(outlet)
                self._busy = outlet
            try:
                self._work(outlet, below)
            except Exception as error:  # nothing is lost by it, and without this thread memory would fill
                self._failed(outlet, error)
            else:
                outlet.problem = None
                with self._changed:
                    self._waits.pop(outlet, None)

    def _work(self, outlet: Outlet, below: int) -> None:
        archive = outlet.archive
        assert archive is not None
        archive.tidy(outlet.wanted_since())
        while not self._closed and (rows := outlet.leaving(below)) is not None:
            table = outlet.query.table
            history = None if table.history is not None and table.history >= FOREVER else table.history
            if not archive.write(rows, width(history, table.unit)):
                return
            outlet.left()
        archive.tidy(outlet.wanted_since())

    def _failed(self, outlet: Outlet, error: Exception) -> None:
        text = error.primary if isinstance(error, MillpondError) else f"{type(error).__name__}: {error}"
        outlet.problem = f"old results stay in memory: {text}"
        with self._changed:
            _, pause = self._waits.get(outlet, (0.0, _FIRST_PAUSE / 2))
            pause = min(2 * pause, _LONGEST_PAUSE)
            self._waits[outlet] = (self._clock.monotonic() + pause, pause)
            self._due.pop(outlet, None)  # asked for meanwhile; it waits like the rest
