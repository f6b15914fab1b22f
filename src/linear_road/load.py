"""What is asked of the simulator: the run, and how many trips start when."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

from linear_road import records

ROUND: Final = records.REPORT_SECONDS
MINUTE_ROUNDS: Final = 60 // ROUND

ENTRIES: Final = ((0, 740), (18, 1150), (180, 660))
"""(minute, trips started per minute on an expressway), linear between. A vehicle entering in the first 30 s reports
twice in the first minute, one entering in the next 30 s once: 1.5 * 740, and a little for the growth, is 1,124
reports. In all 18 * 945 + 162 * 905 = 163,620 trips, by 151,416 vehicles. A trip is 20 miles on average and takes 24
minutes on an empty road; with the congestion they cause, these trips give 12 million reports, 100,000 in the last
minute (measured, see tests)."""
RETURN_SHARE, RETURN_MINUTE = 0.1, 40
"""From that minute on this share of the trips is made by vehicles that made one before."""


@dataclass(frozen=True, slots=True)
class TrafficConfig:
    """A run, or a stretch of one: `minutes` minutes from `start_minute`, cut out of the run that starts at 0.

    `load` is the share of the vehicles that is simulated; each then stands for 1/load in the spacing model, so a
    scaled run has the speeds and the shape of the full one with fewer reports.

    >>> TrafficConfig(xways=2.5, minutes=10).expressways
    3
    """

    xways: float = 1.0
    minutes: int = records.RUN_MINUTES
    seed: int = 0
    start_minute: int = 0
    load: float = 1.0

    def __post_init__(self) -> None:
        if self.xways <= 0 or (2 * self.xways) % 1:
            raise ValueError(f"xways {self.xways} is not a number of half expressways; give 0.5, 1, 1.5, ...")
        if self.minutes < 1 or self.start_minute < 0 or self.end_minute > records.RUN_MINUTES:
            stretch = f"minutes {self.start_minute} to {self.end_minute}"
            raise ValueError(f"{stretch} are not within a run of {records.RUN_MINUTES} minutes")
        if not 0 < self.load <= 1:
            raise ValueError(f"load {self.load} is not a share of the vehicles; give more than 0, at most 1")
        if self.seed < 0:
            raise ValueError(f"seed {self.seed} is negative")

    @property
    def end_minute(self) -> int:
        return self.start_minute + self.minutes

    @property
    def expressways(self) -> int:
        """How many expressways there are, a half one included."""
        return math.ceil(self.xways)

    def directions(self, xway: int) -> int:
        """2, or 1 (east only) on the last expressway if there is half of it."""
        return 1 if xway + 1 > self.xways else 2


def vehicles(config: TrafficConfig) -> tuple[int, ...]:
    """How many vehicles start on each expressway by the end of the stretch; ids follow, see `traffic`."""
    last = config.end_minute * MINUTE_ROUNDS
    return tuple(_first_trips(config, xway, last) for xway in range(config.expressways))


def trips(config: TrafficConfig, xway: int, number: int) -> tuple[int, int]:
    """Trips that start in round `number`: by vehicles new to the city, and by such as made one before."""
    new, again = _first_trips, _further_trips
    return (
        new(config, xway, number + 1) - new(config, xway, number),
        again(config, xway, number + 1) - again(config, xway, number),
    )


def _first_trips(config: TrafficConfig, xway: int, number: int) -> int:
    return math.floor(_started(config, xway, number) + 0.5) - _further_trips(config, xway, number)


def _further_trips(config: TrafficConfig, xway: int, number: int) -> int:
    start = RETURN_MINUTE * MINUTE_ROUNDS
    since = _started(config, xway, number) - _started(config, xway, start) if number > start else 0.0
    return math.floor(RETURN_SHARE * since + 0.5)


def _started(config: TrafficConfig, xway: int, number: int) -> float:
    """Trips started on an expressway before round `number`, by the load curve."""
    minute, started = number / MINUTE_ROUNDS, 0.0
    for (start, at_start), (end, at_end) in pairwise(ENTRIES):
        part = min(max(minute - start, 0.0), end - start)
        started += part * (at_start + (at_end - at_start) * part / (2 * (end - start)))
    return config.load * config.directions(xway) / 2 * started
