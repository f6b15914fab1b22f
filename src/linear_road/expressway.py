"""One expressway: vehicles that enter, merge, follow one another, crash and exit.

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

The load asked for, 50,000 vehicles on 200 miles in the end, is more than such a road carries: from minute 50 or so the
miles before the middle are jammed, in the last hour bumper to bumper (600 to 800 cars in a segment of 720 cells and its
ramps), with waves of stop and go that travel upstream. See `picture`.

**Accidents**, one in every 20 minutes per expressway: two vehicles that, braking now, come to rest in the same cell
do so, in one lane, the pair nearest to a uniformly chosen place. They give 4 equal reports (detection is the fourth
of the later one) and leave 21-40 rounds after that: phases differ by at most 29 s, so 601-1,200 s.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, fields
from typing import Any, Final, Self

import numpy as np
import numpy.typing as npt

from linear_road import records
from linear_road.load import MINUTE_ROUNDS, ROUND, TrafficConfig, trips
from linear_road.requests import CELL_FEET, SEGMENT_CELLS, Reports

CELLS: Final = records.SEGMENTS * SEGMENT_CELLS

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

ACCIDENT_MINUTES: Final = 20
STOPPED_REPORTS: Final = 4
CLEARING_ROUNDS: Final = (21, 40)
OPEN_LANES: Final = 1.5

Bools = npt.NDArray[np.bool_]
Cells = npt.NDArray[np.int16]
Small = npt.NDArray[np.int8]
Ids = npt.NDArray[np.int32]


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
        index = np.concatenate((keep, np.arange(len(self.phase), len(self.phase) + len(others.phase))))
        phase = np.concatenate((self.phase, others.phase)).take(index)
        index = index.take(np.argsort(phase, kind="stable"))  # of bytes: NumPy sorts them by counting
        return _Vehicles(*(
            np.concatenate((getattr(self, f.name), getattr(others, f.name))).take(index) for f in fields(self)
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

    def step(self, number: int, arriving: Ids) -> int:
        """Move every vehicle to its report of round `number`, let new ones and the `arriving` enter; how many are here."""
        self._crash(number)
        gone = self._move(number)
        now = self._on_road
        self.left = now.vid[gone]
        self._on_road = now.followed_by(self._enter(number, arriving), np.flatnonzero(~gone))
        return len(self._on_road.vid)

    def reports(self) -> Reports:
        """Of the last step, in the order of their seconds."""
        now = self._on_road
        return Reports(
            second=now.phase,
            vid=now.vid,
            speed=now.speed,
            xway=np.full(len(now.vid), self.xway, np.int16),
            lane=now.lane,
            direction=now.direction,
            cell=np.where(now.direction == records.WEST, np.int16(CELLS - 1) - now.cell, now.cell),
        )

    # --- entering -----------------------------------------------------------------------------------------------------
    def _enter(self, number: int, arriving: Ids) -> _Vehicles:
        config, random = self.config, self._random
        new = trips(config, self.xway, number)[0]
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
