"""The level of what is left out under load: it holds ticks within their time, comes back, and does not flap."""

from __future__ import annotations

from dataclasses import dataclass, field

from hypothesis import given
from hypothesis import strategies as some

from millpond.clock import ManualClock
from millpond.network.run.overload import EASY, LEVELS, MOST_PATIENCE, PATIENCE, Overload, OverloadControl, Pressure
from millpond.network.strategies.parts.context import Reading

SECONDS = some.floats(0, 30)


@dataclass
class Pond:
    """A pond under a constant load: other work, and reading that has a part which does not shrink with what is read."""

    others: float
    fixed: float
    rows: float
    level: Overload = field(default_factory=Overload)

    def seconds(self, place: int) -> float:
        return self.others + self.fixed + self.rows * (1 - LEVELS[place])

    def tick(self) -> None:
        took = self.seconds(self.level.place)
        reading = took - self.others
        waiting = 0 if took < 2 else 3  # beyond some time a tick leaves instants to the next
        self.level = self.level.after(Pressure(took, 1.0, Reading(reading, 5, waiting)))


def pressures(seconds: some.SearchStrategy[float]) -> some.SearchStrategy[Pressure]:
    readings = some.builds(Reading, SECONDS, some.integers(0, 9), some.integers(0, 9))
    return some.builds(Pressure, seconds, some.just(1.0), readings)


@given(some.lists(pressures(SECONDS), max_size=60))
def test_levels_rise_only_under_pressure_and_fall_one_at_a_time(ticks: list[Pressure]) -> None:
    level = Overload()
    for tick in ticks:
        before, level = level, level.after(tick)
        busy = tick.reading.waiting or tick.seconds > tick.budget
        read = tick.reading.waiting or tick.reading.instants
        assert 0 <= level.place < len(LEVELS)
        assert PATIENCE <= level.patience <= MOST_PATIENCE
        if level.place > before.place:
            assert busy
            assert read
        if level.place < before.place:
            assert level.place == before.place - 1
            assert not busy
            assert tick.seconds < EASY
        if busy and read:
            assert level.place == min(before.place + 1, len(LEVELS) - 1) or level.place > before.place


@given(some.floats(0, 0.3), some.floats(0, 0.15), some.floats(0, 40))
def test_a_load_that_fits_some_level_is_held(others: float, fixed: float, rows: float) -> None:
    pond = Pond(others, fixed, rows)
    for _ in range(len(LEVELS)):
        pond.tick()
    fits = [place for place in range(len(LEVELS)) if pond.seconds(place) <= 1]
    assert not fits or pond.seconds(pond.level.place) <= 1
    changes, over = 0, 0
    for _ in range(2_000):
        before = pond.level.place
        pond.tick()
        changes += pond.level.place != before
        over += pond.seconds(before) > 1
    if fits:
        assert changes <= 80, "tries become rare"
        assert over <= 40


@given(some.integers(0, len(LEVELS) - 1), some.integers(PATIENCE, MOST_PATIENCE))
def test_levels_come_back_when_the_load_is_gone(place: int, patience: int) -> None:
    pond = Pond(0.1, 0.1, 0.1, Overload(place, patience=patience))
    for _ in range(2 * MOST_PATIENCE + len(LEVELS) * PATIENCE):
        pond.tick()
    assert pond.level.level == 0


def test_ticks_that_read_nothing_tell_nothing() -> None:
    level = Overload(place=3)
    assert level.after(Pressure(20.0, 1.0, Reading())) == level
    assert level.after(Pressure(0.001, 1.0, Reading())) == level


def test_a_backlog_counts_as_work() -> None:
    calm = Overload().after(Pressure(0.6, 1.0, Reading(0.5, 5, 1)))
    flooded = Overload().after(Pressure(0.6, 1.0, Reading(0.5, 5, 100)))
    assert (calm.level, flooded.level) == (0.5, 0.95)


def test_since_when_a_query_leaves_out_what_it_does() -> None:
    clock = ManualClock(7)
    control = OverloadControl(1.0, clock.micros)
    assert control.since(0.9) is None
    for micros, seconds in ((10, 1.5), (20, 3.0)):
        clock.advance((micros - clock.micros()) / 1e6)
        control.judge(seconds, Reading(seconds, 1))
    assert control.level == 0.95
    assert control.since(0.99) == 20
    assert control.since(0.5) == 10, "it leaves out no more since"
    assert control.since(0.0) is None
