"""How much of what they read of history hybrid queries leave out, judged from tick to tick. Pure, but for `OverloadControl`.

Idea. One level for the pond; each query leaves out the smaller of it and what it allows. It rises at once when a tick takes
longer than it may, or when instants wait to be read, so far that the same work would fit if reading cost in proportion to what is
read. It falls one step at a time, after several ticks that took less than half of their time. Whether the lower level fits cannot
be foretold, since planning and opening files cost the same however little is read: it is tried, and each time that it does not
fit it takes twice as many easy ticks to the next try. So under a constant load levels change ever more rarely. Each fall halves
that number (a rise after it makes up for that), so that levels come back once the load is gone.

Only ticks in which history was read are judged: those between tell nothing about reading.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Final

from millpond.network.strategies.parts.context import Reading

LEVELS: Final = (0.0, 0.5, 0.75, 0.9, 0.95, 0.98, 0.99)
"""The parts of the rows that can be left out."""
FITS: Final = 0.7
"""The part of its budget that a tick is to take after the level has risen."""
EASY: Final = 0.5
"""A tick that took less of its budget is an easy one."""
PATIENCE: Final = 5
"""Easy ticks in a row after which the level falls, at first."""
MOST_PATIENCE: Final = 160
_REMEMBERED = 1_000  # changes of the level


@dataclass(frozen=True)
class Pressure:
    """A tick: how long it took and may take, and what it read of history."""

    seconds: float
    budget: float
    reading: Reading


@dataclass(frozen=True)
class Overload:
    """Where the level stands (as a place in LEVELS), and what is remembered to judge by."""

    place: int = 0
    easy: int = 0
    patience: int = PATIENCE
    since_fall: int = MOST_PATIENCE
    """Ticks since the level fell last."""

    @property
    def level(self) -> float:
        return LEVELS[self.place]

    def after(self, tick: Pressure) -> Overload:
        """What follows from a tick.

        >>> Overload().after(Pressure(seconds=2.0, budget=1.0, reading=Reading(1.8, instants=4))).level
        0.75
        """
        if not tick.reading.instants and not tick.reading.waiting:
            return self
        now = replace(self, since_fall=min(self.since_fall + 1, MOST_PATIENCE))
        if tick.reading.waiting or tick.seconds > tick.budget:
            return now._risen(tick)
        if tick.seconds >= EASY * tick.budget or not self.place:
            return replace(now, easy=0)
        if now.easy + 1 < now.patience:
            return replace(now, easy=now.easy + 1)
        return replace(now, place=now.place - 1, easy=0, since_fall=0, patience=max(PATIENCE, now.patience // 2))

    def _risen(self, tick: Pressure) -> Overload:
        patience = self.patience
        if self.since_fall <= patience:  # it fell too early
            patience = min(4 * patience, MOST_PATIENCE)
        elif self.since_fall >= MOST_PATIENCE:  # that was long ago, and the load is another
            patience = PATIENCE
        return replace(self, place=self._fitting(tick), easy=0, patience=patience, since_fall=MOST_PATIENCE)

    def _fitting(self, tick: Pressure) -> int:
        """The least place above this at which the work would fit; the last if it fits nowhere."""
        read = tick.reading
        others = max(0.0, tick.seconds - read.seconds)
        work = read.seconds * (read.instants + read.waiting) / max(read.instants, 1)
        for place in range(self.place + 1, len(LEVELS)):
            if others + work * (1 - LEVELS[place]) / (1 - self.level) <= FITS * tick.budget:
                return place
        return len(LEVELS) - 1


class OverloadControl:
    """The level of a pond as it moves. `micros` is the clock. Asked from any thread."""

    def __init__(self, budget: float, micros: Callable[[], int]) -> None:
        self._budget = budget
        self._micros = micros
        self._overload = Overload()
        self._changes: deque[tuple[int, float]] = deque(maxlen=_REMEMBERED)  # when the level became which

    @property
    def level(self) -> float:
        """Which part is left out, where a query allows it."""
        return self._overload.level

    def since(self, allowed: float) -> int | None:
        """Since when, in microseconds since 1970, a query that allows so much leaves out what it does now; None if always."""
        found, part = None, 0.0
        for micros, level in list(self._changes):
            if min(allowed, level) != part:
                found, part = micros, min(allowed, level)
        return found

    def judge(self, seconds: float, reading: Reading) -> None:
        """A tick has ended that took so long and read so much."""
        before = self._overload.level
        self._overload = self._overload.after(Pressure(seconds, self._budget, reading))
        if self._overload.level != before:
            self._changes.append((self._micros(), self._overload.level))
