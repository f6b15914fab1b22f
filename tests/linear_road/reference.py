"""Linear Road by definition: the answers to a small input, worked out slowly in plain Python.

Nothing is clever here and nothing is shared with the validator or the application. Where the specification says "was
there an accident at some second of the minute", every second of the minute is looked at; averages are fractions; the
quoted toll is found by walking a trip backwards. Good for thousands of reports, and meant to test faster ways.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from itertools import pairwise
from pathlib import Path
from random import Random
from typing import NamedTuple

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet

Row = Sequence[int]
"""Type, Time, VID, Spd, XWay, Lane, Dir, Seg, Pos, QID, Sinit, Send, DOW, TOD, Day."""
LIMITS = {0: 5, 1: 5, 2: 5, 3: 10, 4: 30}


class Report(NamedTuple):
    time: int
    vid: int
    speed: int
    xway: int
    lane: int
    direction: int
    segment: int
    position: int


class Toll(NamedTuple):
    vid: int
    time: int
    lav: int
    toll: int


class Alert(NamedTuple):
    time: int
    vid: int
    segment: int


class BalanceRequest(NamedTuple):
    time: int
    vid: int
    qid: int


class Expenditure(NamedTuple):
    time: int
    qid: int
    balance: int


class Journey(NamedTuple):
    """Exact; an answer may be off by 1 from both, see the validator."""

    time: int
    qid: int
    seconds: Fraction
    toll: Fraction


@dataclass
class Answers:
    """Right answers in the order of the input rows that ask for them. `charges` has the times and amounts by vehicle."""

    tolls: list[Toll]
    alerts: list[Alert]
    balance_requests: list[BalanceRequest]
    charges: dict[int, list[tuple[int, int]]]
    expenditures: list[Expenditure]
    journeys: list[Journey]

    def balance(self, vid: int, as_of: float) -> int:
        """What the vehicle has been charged up to and including second `as_of`."""
        return sum(amount for time, amount in self.charges.get(vid, []) if time <= as_of)


def answers(
    input_rows: Iterable[Row],
    tolls: Iterable[tuple[int, int, int, int]] = (),
    segments: Iterable[tuple[int, int, int, int, int, int, int, int]] = (),
    today: int = 1,
) -> Answers:
    """The answers to `input_rows`; histories as rows (VID, Day, XWay, Tolls) and (Day, Min, XWay, Dir, Seg, Lav, Cnt, Toll)."""
    rows = list(input_rows)
    city = City(Report(*row[1:9]) for row in rows if row[0] == 0)
    return Answers(
        tolls=[Toll(q.vid, q.time, city.lav(q), city.toll(q)) for q in city.reports if city.notifies(q)],
        alerts=[
            Alert(q.time, q.vid, where)
            for q in city.reports
            if city.notifies(q) and (where := city.accident_ahead(q)) is not None
        ],
        balance_requests=[BalanceRequest(row[1], row[2], row[9]) for row in rows if row[0] == 2],
        charges=city.charges(),
        expenditures=expenditures([row for row in rows if row[0] == 3], list(tolls)),
        journeys=journeys([row for row in rows if row[0] == 4], list(segments), today),
    )


def minute_of(time: int) -> int:
    return time // 60 + 1


def seconds_of(minute: int) -> range:
    return range((minute - 1) * 60, minute * 60)


class City:
    def __init__(self, reports: Iterable[Report]) -> None:
        self.reports: list[Report] = []
        self._of: dict[tuple[int, int, int], dict[int, Report]] = defaultdict(dict)
        """By vehicle, expressway and direction: the reports by time."""
        for q in sorted(reports, key=lambda q: q.time):
            of = self._of[q.vid, q.xway, q.direction]
            if q.time not in of:
                of[q.time] = q
                self.reports.append(q)
        self._in_minute: dict[tuple[int, int, int, int], list[Report]] = defaultdict(list)
        for q in self.reports:
            self._in_minute[minute_of(q.time), q.xway, q.segment, q.direction].append(q)
        self.stopped_at: dict[tuple[int, int, int, int, int], set[int]] = defaultdict(set)
        """By time, expressway, direction, lane and position: the vehicles stopped there at that second."""
        for of in self._of.values():
            self._note_stops(of)
        # Methods are functions of their arguments; a city never changes.
        self._accident_in = cache(self._accident_in_minute)
        self._lav = cache(self._lav_of)

    def _note_stops(self, of: dict[int, Report]) -> None:
        last_four: list[Report] = []
        for second in range(min(of), max(of) + 31):
            if second in of:
                last_four = [*last_four, of[second]][-4:]
            if len(last_four) < 4 or second - last_four[-1].time >= 30:
                continue
            times = [q.time for q in last_four]
            places = {(q.lane, q.position) for q in last_four}
            if len(places) == 1 and all(b - a == 30 for a, b in pairwise(times)):
                q = last_four[-1]
                self.stopped_at[second, q.xway, q.direction, q.lane, q.position].add(q.vid)

    def previous(self, q: Report) -> Report | None:
        return self._of[q.vid, q.xway, q.direction].get(q.time - 30)

    def notifies(self, q: Report) -> bool:
        p = self.previous(q)
        return q.lane != 4 and (p is None or p.segment != q.segment)

    def cars(self, minute: int, xway: int, segment: int, direction: int) -> int:
        return len({p.vid for p in self._in_minute.get((minute, xway, segment, direction), [])})

    def _minute_average(self, minute: int, xway: int, segment: int, direction: int) -> Fraction | None:
        speeds: dict[int, list[int]] = defaultdict(list)
        for p in self._in_minute.get((minute, xway, segment, direction), []):
            speeds[p.vid].append(p.speed)
        averages = [Fraction(sum(own), len(own)) for own in speeds.values()]
        return sum(averages, Fraction()) / len(averages) if averages else None

    def _lav_of(self, minute: int, xway: int, segment: int, direction: int) -> int:
        averages = [
            average
            for before in range(1, 6)
            if (average := self._minute_average(minute - before, xway, segment, direction)) is not None
        ]
        return math.floor(sum(averages, Fraction()) / len(averages)) if averages else 0

    def lav(self, q: Report) -> int:
        return self._lav(minute_of(q.time), q.xway, q.segment, q.direction)

    def _accident_in_minute(self, minute: int, xway: int, segment: int, direction: int) -> bool:
        return any(
            len(vehicles) >= 2
            for (second, x, d, lane, position), vehicles in self.stopped_at.items()
            if second in seconds_of(minute)
            and (x, d) == (xway, direction)
            and lane in (1, 2, 3)
            and position // 5280 == segment
        )

    def accident_ahead(self, q: Report) -> int | None:
        for steps in range(5):
            ahead = min(q.segment + steps, 99) if q.direction == 0 else max(q.segment - steps, 0)
            if self._accident_in(minute_of(q.time) - 1, q.xway, ahead, q.direction):
                return ahead
        return None

    def toll(self, q: Report) -> int:
        cars = self.cars(minute_of(q.time) - 1, q.xway, q.segment, q.direction)
        if self.lav(q) < 40 and cars > 50 and self.accident_ahead(q) is None:
            return 2 * (cars - 50) ** 2
        return 0

    def charges(self) -> dict[int, list[tuple[int, int]]]:
        charged: dict[int, list[tuple[int, int]]] = defaultdict(list)
        for q in self.reports:
            last = self.previous(q)
            if last is None or last.segment == q.segment or last.lane == 4:
                continue
            entry = last
            while (before := self.previous(entry)) is not None and before.segment == entry.segment:
                entry = before
            if entry.lane != 4:
                charged[q.vid].append((q.time, self.toll(entry)))
        return dict(charged)


def expenditures(requests: list[Row], tolls: list[tuple[int, int, int, int]]) -> list[Expenditure]:
    found = []
    for _, time, vid, _, xway, _, _, _, _, qid, _, _, _, _, day in requests:
        paid = sum(amount for v, d, x, amount in tolls if (v, d, x) == (vid, day, xway))
        found.append(Expenditure(time, qid, paid))
    return found


@cache
def weekday_before(today: int, days: int) -> int:
    for _ in range(days):
        today = 7 if today == 1 else today - 1
    return today


def journeys(requests: list[Row], segments: list[tuple[int, ...]], today: int) -> list[Journey]:
    history: dict[tuple[int, int, int, int, int], list[tuple[int, int]]] = defaultdict(list)
    for day, minute, xway, direction, segment, lav, cnt, _ in segments:
        if 1 <= day <= 70:
            history[weekday_before(today, day), minute, xway, direction, segment].append((lav, cnt))

    found = []
    for _, time, _, _, xway, _, _, _, _, qid, first, end, weekday, tod, _ in requests:
        east = end > first
        travelled, toll = Fraction(), Fraction()
        for segment in range(first, end, 1 if east else -1):
            day, minute = weekday, tod + math.floor(travelled)
            while minute > 1440:
                day, minute = day % 7 + 1, minute - 1440
            rows = history.get((day, minute, xway, 0 if east else 1, segment), [])
            lav = Fraction(sum(row[0] for row in rows), len(rows)) if rows else Fraction()
            if lav <= 0:
                continue
            cnt = Fraction(sum(row[1] for row in rows), len(rows))
            travelled += 60 / lav
            if lav < 40 and cnt > 50:
                toll += 2 * (cnt - 50) ** 2
        found.append(Journey(time, qid, travelled * 60, toll))
    return found


# --- right output, and cities to try it on ----------------------------------------------------------------------------


def report(
    time: int,
    vid: int,
    segment: int,
    *,
    lane: int = 1,
    speed: int = 30,
    feet: int = 0,
    direction: int = 0,
    xway: int = 0,
) -> Row:
    """The input row of a position report, `feet` into the segment."""  # fmt: skip
    return (0, time, vid, speed, xway, lane, direction, segment, segment * 5280 + feet, *[-1] * 6)


def write(path: Path, rows: Sequence[Row], schema: pa.Schema) -> Path:
    """A file of the rows; CSV or Parquet by the path's suffix."""
    columns = zip(*rows, strict=True) if rows else [[] for _ in schema.names]
    table = pa.table([pa.array(column, pa.int32()) for column in columns], schema=schema)
    if path.suffix == ".parquet":
        pa.parquet.write_table(table, path)
    else:
        pa.csv.write_csv(table, path, pa.csv.WriteOptions(include_header=False))
    return path


def perfect_output(right: Answers, random: Random) -> list[str]:
    """Lines that answer everything rightly and in time, in any order, with any admissible balance."""

    def stamp(time: int, kind: int) -> str:
        return f"{time},{time + random.randint(0, LIMITS[kind] * 1000) / 1000:.3f}"

    lines = [f"0,{vid},{stamp(time, 0)},{lav},{toll}" for vid, time, lav, toll in right.tolls]
    lines += [f"1,{stamp(time, 1)},{vid},{segment}" for time, vid, segment in right.alerts]
    for time, vid, qid in right.balance_requests:
        as_of = time - random.randint(0, 60)
        lines.append(f"2,{stamp(time, 2)},{as_of},{qid},{right.balance(vid, as_of)}")
    lines += [f"3,{stamp(time, 3)},{qid},{balance}" for time, qid, balance in right.expenditures]
    lines += [f"4,{stamp(time, 4)},{qid},{float(s):.3f},{round(toll)}" for time, qid, s, toll in right.journeys]
    random.shuffle(lines)
    return lines


@dataclass
class SmallCity:
    """An input with its histories, as rows."""

    input: list[Row]
    tolls: list[tuple[int, int, int, int]]
    segments: list[tuple[int, int, int, int, int, int, int, int]]

    def answers(self, today: int = 1) -> Answers:
        return answers(self.input, self.tolls, self.segments, today)


def random_city(random: Random, *, start: int = 0, minutes: int = 6, messy: bool = False) -> SmallCity:
    """Some minutes of dense traffic in a few segments, full of the cases the rules are about.

    A crowd makes tolls, vehicles stop side by side and make accidents, some make several trips, leave by a ramp or
    vanish. A `messy` one is also off the beat, doubled, or in two places at once, as no sound file is.
    """
    end = start + 60 * minutes
    first_segment = random.choice((0, 40, 94))
    reports: list[Report] = []

    def drive(vid: int, xway: int, direction: int, steps: Iterable[tuple[int, int, int, int]]) -> None:
        """Reports of a vehicle; each step is time, lane, position and speed."""
        for time, lane, position, speed in steps:
            position = min(max(position, 0), 527_999)
            if start <= time < end:
                reports.append(Report(time, vid, speed, xway, lane, direction, position // 5280, position))

    def trip(vid: int, xway: int, direction: int, time: int, crowd: bool) -> int:
        """A trip from a ramp to a ramp or to nowhere; the time of its last report."""
        position = (first_segment + random.randrange(2 if crowd else 6)) * 5280 + random.randrange(5280)
        steps = [(time, random.choice((0, 0, 1, 4)), position, random.choice((10, 20)))]
        for _ in range(random.randrange(3, 12)):
            time += 30
            if random.random() < 0.05:
                continue
            speed = random.choice((36, 39, 40, 41, 44)) if crowd else random.choice((20, 40, 60, 100))
            position += random.randrange(700 if crowd else 5400) * (1 if direction == 0 else -1)
            steps.append((time, random.choice((1, 2, 3)), position, speed))
        if random.random() < 0.7:
            position += random.choice((0, 5280)) * (1 if direction == 0 else -1)
            time += 30
            steps.append((time, 4, position, 15))
        drive(vid, xway, direction, steps)
        return time

    vid = 0
    crowded = [(random.randrange(2), random.randrange(2)) for _ in range(2)]
    for xway, direction in crowded:
        for _ in range(random.choice((30, 105, 140))):
            vid += 1
            trip(vid, xway, direction, start + random.randrange(60), crowd=True)
    for _ in range(12):
        vid += 1
        time = start + random.randrange(60)
        while time < end:
            time = trip(vid, random.randrange(2), random.randrange(2), time, crowd=False)
            time += random.choice((30, 30, 37, 60, 90))
    for _ in range(3):
        xway, direction = random.choice(crowded)
        place = (first_segment + random.randrange(6)) * 5280 + random.randrange(5280)
        lane = random.choice((1, 1, 1, 2, 0, 4))
        begin = start + random.randrange(90)
        for _ in range(random.choice((1, 2, 2, 3))):
            vid += 1
            time = begin + random.randrange(60)
            steps = [(time + 30 * i, lane, place, 0) for i in range(random.randrange(3, 9))]
            if random.random() < 0.7:
                steps.append((steps[-1][0] + 30, lane, place + random.choice((1, 6000)), 20))
            drive(vid, xway, direction, steps)
    if messy:
        for q in random.sample(reports, len(reports) // 20):
            change = random.choice(("time", "speed", "xway", "segment", "lane", "again"))
            other = {
                "time": q._replace(time=q.time + random.choice((0, 1, 10, 29, 31))),
                "speed": q._replace(speed=-q.speed),
                "xway": q._replace(xway=1 - q.xway),
                "segment": q._replace(segment=min(q.segment + 1, 99)),
                "lane": q._replace(lane=random.randrange(5)),
                "again": q,
            }[change]
            reports.append(other)
    return _with_requests(reports, vid, random)


def _with_requests(reports: list[Report], vehicles: int, random: Random) -> SmallCity:
    """The city of these reports: a third of them bring a request, and the histories have part of what is asked for."""
    rows: list[list[int]] = []
    tolls: set[tuple[int, int, int]] = set()
    qids = {2: 0, 3: 0, 4: 0}
    for q in reports:
        rows.append([0, *q, *[-1] * 6])
        kind = random.choice((0, 0, 0, 0, 0, 0, 2, 2, 3, 4))
        if not kind:
            continue
        qids[kind] += 1
        row = [kind, q.time, q.vid, -1, -1, -1, -1, -1, -1, qids[kind], -1, -1, -1, -1, -1]
        if kind == 3:
            row[4], row[14] = random.randrange(2), random.randint(1, 69)
            if random.random() < 0.5:
                tolls.add((q.vid, row[14], row[4]))
        if kind == 4:
            # Few segments and minutes, so that the history need not be large; midnight is among them.
            row[4], row[10], row[11] = random.randrange(3), random.randrange(8), random.randrange(8)
            row[12], row[13] = random.randint(1, 7), random.choice((1, 700, 1436, 1440))
        rows.append(row)
    random.shuffle(rows)
    rows.sort(key=lambda row: row[1])
    segments = [
        (day, minute, xway, direction, segment, random.choice((0, 15, 30, 35, 45, 60)), random.randrange(30, 120), 0)
        for day in random.sample(range(1, 72), 20)
        for minute in (*range(1, 12), *range(700, 712), *range(1434, 1441))
        for xway in range(2)
        for direction in range(2)
        for segment in range(8)
        if random.random() < 0.6
    ]
    paid = [(*key, random.randrange(1000) * 2) for key in sorted(tolls)]
    paid += [(random.randint(1, vehicles), random.randint(1, 70), 0, 5) for _ in range(20)]
    return SmallCity([tuple(row) for row in rows], paid, segments)
