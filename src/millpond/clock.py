"""What time it is. No other module reads the wall clock: a clock is passed in, so tests and replays own the time.

Wall-clock time is used for arrival times, ages and names only; the meaning of a query rests on event time, which is data.
How long something takes, or may take, is another matter: `time.monotonic` may be used anywhere to wait and to measure.
"""

from __future__ import annotations

import threading
import time
from typing import Protocol


class Clock(Protocol):
    """`micros` is microseconds since 1970 UTC; `monotonic` is seconds for measuring ages. Both from any thread."""

    def micros(self) -> int: ...

    def monotonic(self) -> float: ...


class SystemClock:
    """The machine's clock."""

    def micros(self) -> int:
        return time.time_ns() // 1000

    def monotonic(self) -> float:
        return time.monotonic()


class ManualClock:
    """A clock moved by hand, for tests."""

    def __init__(self, micros: int = 0) -> None:
        self._micros = micros
        self._lock = threading.Lock()

    def micros(self) -> int:
        return self._micros

    def monotonic(self) -> float:
        return self._micros / 1e6

    def advance(self, seconds: float) -> None:
        with self._lock:
            self._micros += round(seconds * 1e6)
