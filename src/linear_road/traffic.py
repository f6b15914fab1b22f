"""The traffic simulator: vehicles that enter, merge, follow one another, crash and exit; their reports in time order.

**Space, time, speed.** A direction of an expressway is 24,000 cells of 22 ft (a car and its bumper gap), 240 to the
mile. A vehicle reports every 30 s and changes speed evenly between two reports. At 1 mph it covers 44 ft = 2 cells in
30 s, so with whole speeds v and w (mph) at two successive reports it advances exactly **v + w cells = 22 (v + w)
ft**. Positions and speeds are therefore whole numbers without rounding, and `Spd` is the speed at the report. At most
100 mph is at most 200 of 240 cells, hence a report from every segment passed. `Pos` is the middle of the cell.

**Rounds.** Simulated time goes in rounds of 30 s. A vehicle has a phase, the second of the round at which it entered,
and reports at that second of every round. All vehicles of an expressway take a round's step together, seeing the
others as of their last report (the paper's "no position interpolation"); arrays are kept in phase order, so a round's
reports come out in time order.

**A trip** starts on the entry ramp (lane 0) of a uniformly chosen segment, in a direction chosen by a fair coin, and
ends on the exit ramp (lane 4) of the segment at mile normal(50, 20), drawn on condition that it lies in the direction
of travel, not before the entry. Ramps are lanes beside the segment: the vehicle merges 40-60 cells into the entry
segment and leaves the travel lanes at its exit, 60-120 cells into the exit segment. First report: cells 0-19, lane 0.
On reaching the exit the new speed is at most 40 mph and such that the step ends within the segment: from a cell
before the exit (at most 119 into the segment), at at most 100 mph, this leaves 239 - 119 - 100 = 20 mph or more, so
the rule never asks for a negative speed and a report from the exit ramp always exists.

**Spacing.** A driver keeps a time gap of `GAP_SECONDS` to the car ahead: with k cars per lane and mile the free space
between two is 5280/k - 22 ft, and the speed is that space divided by the gap, or the driver's desired speed if that
is less. At 2.2 s, 55 mph is possible up to k = 26 cars per lane-mile (1,460 cars an hour and lane, the road's
capacity), 40 mph up to 35 (105 cars in a segment, so tolls follow), 20 mph up to 61, 5 mph up to 139. k is counted in
quarter-mile zones ahead of the driver's own (`ATTENTION`): who counts the own zone slows down because of cars behind,
and crowds grow denser than a road can hold. Cars in traffic always move (`CREEP`), so only accidents stop them. Where
an accident closes lanes, the cars of its segment share `OPEN_LANES` instead of three, and the queue grows backwards
as drivers behind see the cars ahead.

**Accidents**, one in every 20 minutes per expressway: two vehicles that, braking now, come to rest in the same cell
do so, in one lane, the pair nearest to a uniformly chosen place. They give 4 equal reports (detection is the fourth
of the later one) and leave 21-40 rounds after that: phases differ by at most 29 s, so 601-1,200 s.

**Vehicles** make at least one trip; some return 5-20 minutes after leaving, on any expressway. Vehicle ids are
global: the k-th vehicle that starts on expressway x of n is k * n + x.

**Repeatable**: each expressway draws from its own generator, the city from another, all seeded by `TrafficConfig.seed`.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field, fields
from itertools import pairwise
from typing import Any, Final, Self

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from linear_road import records
from linear_road.requests import Reports, Requests

CELL_FEET: Final = 22
SEGMENT_CELLS: Final = records.SEGMENT_FEET // CELL_FEET
CELLS: Final = records.SEGMENTS * SEGMENT_CELLS
ROUND: Final = records.REPORT_SECONDS
MINUTE_ROUNDS: Final = 60 // ROUND

ZONE_CELLS: Final = SEGMENT_CELLS // 4
ATTENTION: Final = (0.0, 0.6, 0.3, 0.1)
"""What the cars of a driver's own zone and of the next ones count for. Three zones are 180 cells; a step at 55 mph is
110."""
ZONES: Final = CELLS // ZONE_CELLS + len(ATTENTION)
"""Zones of a direction, and empty ones behind the end, so that nobody sees the other direction."""

GAP_SECONDS: Final = 2.2
CREEP: Final = 5
ACCELERATION: Final = 30
BRAKING: Final = 45
"""Largest change of speed between two reports, in mph; 1 and 1.5 mph a second."""
DESIRED_MEAN, DESIRED_SPREAD = 55.0, 8.0
DESIRED_RANGE: Final = (40, records.MAX_SPEED)
RAMP_SPEED: Final = 40
"""The fastest at an exit ramp; the paper asks for 40 mph or less on entering and exiting."""
ENTRY_SPEED: Final = (15, 35)
EXIT_RAMP_CELLS: Final = 60

EXIT_MILE, EXIT_SPREAD = 50.0, 20.0

ENTRIES: Final = ((0, 740), (18, 1150), (180, 660))
"""(minute, trips started per minute on an expressway), linear between. A vehicle entering in the first 30 s reports
twice in the first minute, one entering in the next 30 s once: 1.5 * 740, and a little for the growth, is 1,124
reports. In all 18 * 945 + 162 * 905 = 163,620 trips, by 151,416 vehicles. A trip is 20 miles on average and takes 24
minutes on an empty road; with the congestion they cause, these trips give 12 million reports, 100,000 in the last
minute (measured, see tests)."""
RETURN_SHARE, RETURN_MINUTE = 0.1, 40
"""From that minute on this share of the trips is made by vehicles that made one before."""
RETURN_ROUNDS: Final = (10, 40)

ACCIDENT_MINUTES: Final = 20
STOPPED_REPORTS: Final = 4
CLEARING_ROUNDS: Final = (21, 40)
OPEN_LANES: Final = 1.5

BATCH_ROWS: Final = 200_000
"""A batch covers as many seconds as keep it at about this many rows, at least one and at most a round."""

Bools = npt.NDArray[np.bool_]
Cells = npt.NDArray[np.int16]
Small = npt.NDArray[np.int8]
Ids = npt.NDArray[np.int32]


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


def simulate(config: TrafficConfig) -> Iterator[pa.RecordBatch]:
    """The run's input tuples in `Time` order over all expressways, a batch for every few seconds of simulated time.

    Memory: the vehicles on the road and a batch, whatever the length of the run. A stretch (`start_minute`) costs
    the simulation from 0, and gives exactly the rows the full run has in those minutes.
    """
    city = [Expressway(config, xway) for xway in range(config.expressways)]
    requests = Requests(config.seed, config.xways)
    returns = _Returns(config)
    first = config.start_minute * MINUTE_ROUNDS
    for number in range(config.end_minute * MINUTE_ROUNDS):
        arriving = returns.arriving(number)
        rounds = [expressway.step(number, vids) for expressway, vids in zip(city, arriving, strict=True)]
        returns.left(number, [expressway.left for expressway in city])
        for reports in _merged(number, rounds):
            batch = requests.attach(reports)
            if number >= first and batch.num_rows:
                yield batch


def pace(cars: npt.NDArray[np.floating[Any]]) -> npt.NDArray[np.float32]:
    """The speed (mph) the spacing model allows where there are so many cars per lane and mile; never over 100 mph."""
    free = records.SEGMENT_FEET / cars - CELL_FEET
    mph = free / GAP_SECONDS * (3600 / records.SEGMENT_FEET)
    return mph.clip(0, records.MAX_SPEED).astype(np.float32)


def exits(entry: npt.NDArray[np.int64], random: np.random.Generator) -> npt.NDArray[np.int64]:
    """A segment to leave at for each segment entered; both count in the direction of travel."""
    before = EXIT_SHARES[entry]
    share = before + random.random(len(entry)) * (EXIT_SHARES[-1] - before)
    segment: npt.NDArray[np.int64] = np.searchsorted(EXIT_SHARES, share, "right") - 1
    return np.minimum(segment, records.SEGMENTS - 1)


def vehicles(config: TrafficConfig) -> tuple[int, ...]:
    """How many vehicles start on each expressway by the end of the stretch; ids follow, see the module's text."""
    last = config.end_minute * MINUTE_ROUNDS
    return tuple(
        _whole(_trips(config, x, last)) - _whole(_returning(config, x, last)) for x in range(config.expressways)
    )


def _trips(config: TrafficConfig, xway: int, number: int) -> float:
    """Trips started on an expressway before round `number`, by the load curve."""
    minute, trips = number / MINUTE_ROUNDS, 0.0
    for (start, at_start), (end, at_end) in pairwise(ENTRIES):
        part = min(max(minute - start, 0.0), end - start)
        trips += part * (at_start + (at_end - at_start) * part / (2 * (end - start)))
    return config.load * config.directions(xway) / 2 * trips


def _returning(config: TrafficConfig, xway: int, number: int) -> float:
    """Those of them that are for vehicles which made a trip before."""
    start = RETURN_MINUTE * MINUTE_ROUNDS
    return RETURN_SHARE * (_trips(config, xway, number) - _trips(config, xway, start)) if number > start else 0.0


def _whole(trips: float) -> int:
    return math.floor(trips + 0.5)


class _Returns:
    """Vehicles between two trips. A vehicle is here or on one expressway, never both, and stays here 5 minutes or more.

    Where too few vehicles wait, the trips do not happen, so that the number of vehicles follows from the load curve
    alone.
    """

    def __init__(self, config: TrafficConfig) -> None:
        self._config = config
        self._random = np.random.Generator(np.random.SFC64([config.seed, 0x5245_5455]))
        self._waiting: dict[int, Ids] = {}

    def arriving(self, number: int) -> list[Ids]:
        """The vehicles that return in this round, for each expressway."""
        low, high = RETURN_ROUNDS
        source = number - int(self._random.integers(low, high + 1))
        waiting = self._waiting.get(source, np.empty(0, np.int32))
        self._waiting.pop(number - high, None)
        config, arriving = self._config, []
        for xway in range(config.expressways):
            wanted = _whole(_returning(config, xway, number + 1)) - _whole(_returning(config, xway, number))
            arriving.append(waiting[:wanted])
            waiting = waiting[wanted:]
        if source in self._waiting:
            self._waiting[source] = waiting
        return arriving

    def left(self, number: int, vids: list[Ids]) -> None:
        """Take the vehicles that left the expressways in this round."""
        self._waiting[number] = self._random.permutation(np.concatenate(vids))


@dataclass(slots=True)
class _Vehicles:
    """The vehicles on an expressway, one array a property, in phase order. Cells count in the direction of travel."""

    vid: Ids
    phase: Small
    direction: Small
    lane: Small
    cell: Cells
    speed: Cells
    desired: Cells
    merge: Cells
    """The cell from which on a vehicle on the entry ramp is in a travel lane."""
    exit: Cells
    """The cell from which on it is on the exit ramp."""
    held: Cells
    """The round in which a vehicle stopped by an accident moves again."""

    @classmethod
    def none(cls) -> Self:
        one, two = np.empty(0, np.int8), np.empty(0, np.int16)
        return cls(np.empty(0, np.int32), one, one, one, two, two, two, two, two, two)

    def followed_by(self, others: _Vehicles, keep: npt.NDArray[np.intp]) -> _Vehicles:
        """Those at `keep`, and the others, in phase order."""
        order = np.argsort(np.concatenate((self.phase[keep], others.phase)), kind="stable")
        return _Vehicles(*(
            np.concatenate((getattr(self, f.name)[keep], getattr(others, f.name)))[order] for f in fields(self)
        ))  # fmt: skip


@dataclass(frozen=True, slots=True)
class _Accident:
    direction: int
    cell: int
    lane: int
    held: int


@dataclass(slots=True)
class _Plan:
    """When and where the next accident is to happen."""

    number: int
    direction: int
    cell: int


@dataclass(slots=True)
class Expressway:
    """One expressway in motion. Call `step` once for each round, from 0 on; it depends on nothing but its arguments."""

    config: TrafficConfig
    xway: int
    left: Ids = field(init=False)
    """The vehicles that ended their trip in the last round: on the exit ramp in the round before it, and now gone."""
    accidents: list[_Accident] = field(default_factory=list, init=False)
    _on_road: _Vehicles = field(init=False)
    _random: np.random.Generator = field(init=False)
    _plan: _Plan | None = field(default=None, init=False)
    _next_vehicle: int = field(default=0, init=False)

    def __post_init__(self) -> None:
        self._random = np.random.Generator(np.random.SFC64([self.config.seed, 0x524F_4144, self.xway]))
        self._on_road = _Vehicles.none()
        self.left = np.empty(0, np.int32)

    def step(self, number: int, arriving: Ids) -> Reports:
        """Move every vehicle to its report of round `number`, let new ones and the `arriving` enter; their reports."""
        self._crash(number)
        gone = self._move(number)
        now = self._on_road
        self.left = now.vid[gone]
        self._on_road = now.followed_by(self._enter(number, arriving), np.flatnonzero(~gone))
        return self._report(number)

    def _report(self, number: int) -> Reports:
        now = self._on_road
        west = now.direction == records.WEST
        cell = np.where(west, CELLS - 1 - now.cell, now.cell).astype(np.int32)
        return Reports(
            time=number * ROUND + now.phase.astype(np.int32),
            vid=now.vid,
            speed=now.speed.astype(np.int32),
            xway=np.full(len(cell), self.xway, np.int32),
            lane=now.lane.astype(np.int32),
            direction=now.direction.astype(np.int32),
            segment=cell // SEGMENT_CELLS,
            position=cell * CELL_FEET + CELL_FEET // 2,
        )

    # --- entering -----------------------------------------------------------------------------------------------------
    def _enter(self, number: int, arriving: Ids) -> _Vehicles:
        config, random = self.config, self._random
        trips = _whole(_trips(config, self.xway, number + 1)) - _whole(_trips(config, self.xway, number))
        returning = _whole(_returning(config, self.xway, number + 1)) - _whole(_returning(config, self.xway, number))
        new = trips - returning
        ids = np.arange(self._next_vehicle, self._next_vehicle + new, dtype=np.int32)
        self._next_vehicle += new
        vid = np.concatenate((arriving, ids * config.expressways + self.xway))
        count = len(vid)
        entry = random.integers(0, records.SEGMENTS, count)
        start = entry * SEGMENT_CELLS
        desired = random.normal(DESIRED_MEAN, DESIRED_SPREAD, count).clip(*DESIRED_RANGE)
        return _Vehicles(
            vid=vid,
            phase=random.integers(0, ROUND, count, np.int8),
            direction=random.integers(0, config.directions(self.xway), count, np.int8),
            lane=np.full(count, records.ENTRY_LANE, np.int8),
            cell=(start + random.integers(0, 20, count)).astype(np.int16),
            speed=random.integers(*ENTRY_SPEED, count, np.int16, endpoint=True),
            desired=desired.astype(np.int16),
            merge=(start + random.integers(40, 61, count)).astype(np.int16),
            exit=(exits(entry, random) * SEGMENT_CELLS + random.integers(60, 121, count)).astype(np.int16),
            held=np.zeros(count, np.int16),
        )

    # --- moving -------------------------------------------------------------------------------------------------------
    def _move(self, number: int) -> Bools:
        """Take a step; which vehicles have thereby left the expressway."""
        now, random = self._on_road, self._random
        noise = random.integers(0, 1 << 16, len(now.vid), np.uint16)
        held = now.held > number
        ramp = now.lane == records.EXIT_LANE
        zone = now.direction * np.int16(ZONES) + now.cell // ZONE_CELLS
        wish = np.minimum(self._pace(number, zone, held)[zone] * _TEMPER[noise & 255], now.desired)
        speed = (wish + _DITHER[noise & 255]).astype(np.int16)
        speed = speed.clip(now.speed - BRAKING, now.speed + ACCELERATION).clip(CREEP, records.MAX_SPEED)
        reach = now.cell + now.speed
        leaving = (reach + speed >= now.exit) & ~ramp
        room = now.exit // SEGMENT_CELLS * SEGMENT_CELLS + (SEGMENT_CELLS - 1) - reach
        speed = np.where(leaving, np.minimum(np.minimum(speed, RAMP_SPEED), room), speed)
        speed = np.where(ramp, np.minimum(speed, now.speed), speed)
        speed = np.where(held, np.int16(0), speed)

        now.cell = reach + speed
        now.speed = speed
        self._change_lanes(noise >> np.uint16(8), held)
        gone: Bools = ramp & (now.cell >= now.exit + EXIT_RAMP_CELLS)
        return gone

    def _pace(self, number: int, zone: Cells, held: Bools) -> npt.NDArray[np.float32]:
        """The speed the spacing of the cars ahead allows, for each zone of both directions."""
        lane = self._on_road.lane
        travelling = (lane != records.ENTRY_LANE) & (lane != records.EXIT_LANE) & ~held
        cars = np.bincount(zone[travelling], minlength=2 * ZONES) / (self.config.load * len(records.TRAVEL_LANES))
        self.accidents = [accident for accident in self.accidents if accident.held > number]
        for accident in self.accidents:
            segment = accident.direction * ZONES + accident.cell // SEGMENT_CELLS * (SEGMENT_CELLS // ZONE_CELLS)
            cars[segment : segment + SEGMENT_CELLS // ZONE_CELLS] *= len(records.TRAVEL_LANES) / OPEN_LANES
        per_mile = np.convolve(cars, ATTENTION[::-1])[len(ATTENTION) - 1 :] * (SEGMENT_CELLS // ZONE_CELLS)
        return pace(np.maximum(per_mile, 1.0))

    def _change_lanes(self, noise: npt.NDArray[np.uint16], held: Bools) -> None:
        """From the ramp to lane 1, between travel lanes now and then, past an accident, and to the exit ramp."""
        now = self._on_road
        first, last = records.TRAVEL_LANES[0], records.TRAVEL_LANES[-1]
        entering = (now.lane == records.ENTRY_LANE) & (now.cell < now.merge)
        lane = np.where(held, now.lane, (now.lane + _LANE_CHANGE[noise]).clip(first, last))
        for accident in self.accidents:
            behind = accident.cell - now.cell
            blocked = (now.direction == accident.direction) & (lane == accident.lane) & ~held
            blocked &= (behind >= 0) & (behind < ZONE_CELLS)
            lane[blocked] = 2 if accident.lane != 2 else 1
        lane[entering] = records.ENTRY_LANE
        lane[now.cell >= now.exit] = records.EXIT_LANE
        now.lane = lane.astype(np.int8)

    # --- accidents ----------------------------------------------------------------------------------------------------
    def _crash(self, number: int) -> None:
        """Plan an accident at the start of each 20 minutes; let it happen in the first round that has a pair for it.

        It falls in minutes 3-16 of the 20, so that it is detected within them.
        """
        random, window = self._random, ACCIDENT_MINUTES * MINUTE_ROUNDS
        if number % window == 0:
            due = number + int(random.integers(6, 32, endpoint=True))
            direction = int(random.integers(0, self.config.directions(self.xway)))
            self._plan = _Plan(due, direction, int(random.integers(0, CELLS)))
        plan, now = self._plan, self._on_road
        if plan is None or number < plan.number:
            return
        stop = now.cell + now.speed
        able = (now.direction == plan.direction) & (now.lane != records.ENTRY_LANE) & (now.lane != records.EXIT_LANE)
        able &= (now.held <= number) & (stop + SEGMENT_CELLS < now.exit)
        index = np.flatnonzero(able)
        index = index[np.argsort(stop[index], kind="stable")]
        places = stop[index]
        pairs = np.flatnonzero(places[1:] == places[:-1])
        if not len(pairs):
            return
        nearest = pairs[np.argmin(np.abs(places[pairs].astype(np.int32) - plan.cell))]
        pair = index[nearest : nearest + 2]
        clearing = int(random.integers(*CLEARING_ROUNDS, endpoint=True))
        held = number + STOPPED_REPORTS - 1 + clearing
        now.held[pair] = held
        now.lane[pair] = now.lane[pair[0]]
        self.accidents.append(_Accident(plan.direction, int(places[nearest]), int(now.lane[pair[0]]), held))
        self._plan = None


def _merged(number: int, rounds: list[Reports]) -> Iterator[Reports]:
    """A round's reports of all expressways in time order, in pieces of about `BATCH_ROWS`, cut between seconds."""
    rows = sum(len(reports.time) for reports in rounds)
    seconds = min(ROUND, max(1, ROUND * BATCH_ROWS // max(rows, 1)))
    start = number * ROUND
    for low in range(start, start + ROUND, seconds):
        cuts = [np.searchsorted(reports.time, (low, min(low + seconds, start + ROUND))) for reports in rounds]
        pieces: list[list[Any]] = [
            [getattr(reports, f.name)[a:b] for reports, (a, b) in zip(rounds, cuts, strict=True)]
            for f in fields(Reports)
        ]
        if len(rounds) == 1:
            yield Reports(*(column[0] for column in pieces))
            continue
        second = (np.concatenate(pieces[0]) - start).astype(np.int8)  # a byte: NumPy then sorts by counting
        order = np.argsort(second, kind="stable")
        yield Reports(*(np.concatenate(column)[order] for column in pieces))


EXIT_SHARES: Final = np.array(
    [(1 + math.erf((mile - EXIT_MILE) / EXIT_SPREAD / math.sqrt(2))) / 2 for mile in range(records.SEGMENTS + 1)]
)
"""Share of exits before each segment, and before the end; symmetric, so it serves both directions of travel."""
_TEMPER: Final = np.linspace(0.9, 1.1, 256, dtype=np.float32)
"""How closely a driver follows, from report to report: a tenth more or less than the spacing model says."""
_DITHER: Final = (np.arange(256, dtype=np.float32) * 37 % 256) / 256
"""Rounds to a whole speed up or down at random, so that the mean is kept."""
_LANE_CHANGE: Final = np.array([-1] * 16 + [1] * 16 + [0] * 224, np.int8)
"""One report in eight comes from another lane than the one before."""
