"""How long the last ticks took, phase by phase, and what went in and came out. In memory only, and bounded."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass

from millpond.clock import Clock

MOST_TICKS = 1000
PHASES = ("plan", "shards", "whole", "commit")


@dataclass(frozen=True)
class TickRecord:
    """`started` is in microseconds since 1970; `phases` are seconds, by the names in `PHASES`."""

    number: int
    started: int
    seconds: float
    phases: Mapping[str, float]
    rows: int
    results: int
    left_out: float
    """The part of what queries read of history that was left out, where they allow it."""


class TickLog:
    """Written by the thread that ticks: `begin`, `mark` at the end of each phase, `end`. Read by any."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._recent: deque[TickRecord] = deque(maxlen=MOST_TICKS)
        self.begin()

    def begin(self) -> None:
        """A tick begins; one that was begun and not ended had nothing to do, or failed."""
        self._started = self._clock.micros()
        self._first = self._last = self._clock.monotonic()
        self._phases: dict[str, float] = {}

    def mark(self, phase: str) -> None:
        """The phase under way ends."""
        assert phase in PHASES
        now = self._clock.monotonic()
        self._phases[phase], self._last = now - self._last, now

    def end(self, number: int, rows: int, results: int, left_out: float) -> TickRecord:
        took = self._last - self._first
        self._recent.append(TickRecord(number, self._started, took, self._phases, rows, results, left_out))
        return self._recent[-1]

    def recent(self) -> list[TickRecord]:
        """The last ticks, the oldest first."""
        return list(self._recent)
