"""The ten weeks before the run: what each vehicle paid each day, and the state of each segment in each minute.

Both are made, not simulated: 70 days of traffic would be 560 runs of three hours. The rows are plausible, and keep
what the queries over them rely on:

1. Tolls: every vehicle that starts on an expressway by the end of the run has exactly one row for every day, on that
   expressway; sorted by vehicle and day. About 151,000 * 70 = 10.6 million rows per expressway, the number the paper
   gives. (It also speaks of a row for every expressway, which would be L times as many. They would say 0, and so does
   a row that is missing.) Zero on days without a toll.
2. Segments: every day x minute (1-1440) x expressway x direction x segment has exactly one row; sorted by day,
   expressway, minute, direction, segment. 70 * 1440 * 200 = 20.16 million rows per expressway.
3. `Cnt` and `Lav` are at least 1 everywhere, so a travel time of 60 / mean Lav minutes always exists.
4. `Toll` is the specification's formula on the row's own `Lav` and `Cnt`.

**The day.** Demand has a morning peak (8:00; eastbound is the stronger) and an evening peak (17:30; westbound) on
days of the week 1-5 and one broad, lower hump on 6 and 7. Along the road it follows the trips of the simulator:
uniform entries, exits around mile 50. The fullest segment holds `PEAK_CARS` at the full peak; days differ by a tenth
or so, and segments and minutes by chance. Speeds follow from the cars by the simulator's spacing model.

Each batch has its own generator, seeded by the run's seed and its place, so batches do not depend on one another.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from linear_road import expressway, records
from linear_road.load import TrafficConfig, vehicles

PEAK_CARS: Final = 280.0
"""93 cars per lane-mile: 11 mph by the spacing model, a toll of 2 * 230^2 = 105,800."""
NIGHT: Final = 0.06
"""Demand of the quietest hours, as a share of the peak's."""
BLOCK_VEHICLES: Final = 4096
MEDIAN_TOLLS, TOLLS_SPREAD = 20_000.0, 1.2
"""Of a vehicle's day with tolls: log-normal. One segment at 150 cars is 20,000."""
MOST_TOLLS: Final = 50_000_000

Floats = npt.NDArray[np.float32]


def day_of_week(day: int, today: int = 1) -> int:
    """The day of the week (1-7; 6 and 7 are the weekend) of history day `day`, which is that many days before today.

    >>> day_of_week(7, today=3), day_of_week(1, today=1)
    (3, 7)
    """
    return (today - day - 1) % records.WEEK_DAYS + 1


def toll_rows(config: TrafficConfig, days: int = records.HISTORY_DAYS) -> int:
    return sum(vehicles(config)) * days


def segment_rows(config: TrafficConfig, days: int = records.HISTORY_DAYS) -> int:
    directions = sum(config.directions(xway) for xway in range(config.expressways))
    return days * records.DAY_MINUTES * directions * records.SEGMENTS


def tolls(config: TrafficConfig, days: int = records.HISTORY_DAYS, today: int = 1) -> Iterator[pa.RecordBatch]:
    """The toll history of the vehicles of a run, a batch for every few thousand vehicles."""
    homes, counts = config.expressways, np.array(vehicles(config))
    calendar = np.arange(1, days + 1, dtype=np.int32)
    weekend = np.array([day_of_week(int(day), today) > 5 for day in calendar])
    stride = max(1, BLOCK_VEHICLES // homes)
    for start in range(0, int(counts.max()), stride):
        random = np.random.Generator(np.random.SFC64([config.seed, 0x544F_4C4C, start]))
        numbers = np.arange(start, start + stride)[:, None]
        vid = (numbers * homes + np.arange(homes))[numbers < counts].astype(np.int32)
        shape = (len(vid), days)
        # A few drive daily, most now and then: the share of days on the road is the square root of a uniform number.
        habit = np.sqrt(random.random((len(vid), 1), np.float32)) * np.where(weekend, np.float32(0.4), np.float32(0.9))
        drives = random.random(shape, np.float32) < habit
        paid = np.exp(random.standard_normal(shape, np.float32) * TOLLS_SPREAD) * (MEDIAN_TOLLS / 2)
        paid = np.where(drives, np.minimum(paid, MOST_TOLLS / 2), 0).astype(np.int32) * 2
        columns = (np.repeat(vid, days), np.tile(calendar, len(vid)), np.repeat(vid % homes, days), paid.ravel())
        yield pa.RecordBatch.from_arrays([pa.array(column) for column in columns], schema=records.TOLLS)


def segments(config: TrafficConfig, days: int = records.HISTORY_DAYS, today: int = 1) -> Iterator[pa.RecordBatch]:
    """The segment history, a batch for every day and expressway."""
    profile = _profile()
    for day in range(1, days + 1):
        for xway in range(config.expressways):
            random = np.random.Generator(np.random.SFC64([config.seed, 0x5345_474D, day, xway]))
            directions = config.directions(xway)
            demand = _demand(day_of_week(day, today))[:, :directions, None] * profile[:directions]
            demand *= np.float32(PEAK_CARS * np.exp(random.normal(0, 0.1)))
            yield _segment_batch(day, xway, demand, random)


def _segment_batch(day: int, xway: int, cars: Floats, random: np.random.Generator) -> pa.RecordBatch:
    """The rows of a day; `cars` is the expected number by minute, direction and segment."""
    minutes, directions, count = cars.shape
    chance = random.standard_normal(cars.shape, np.float32)
    cnt = np.maximum(cars + np.sqrt(cars) * chance, 1).astype(np.int32)
    temper = 1 + 0.06 * random.standard_normal(cars.shape, np.float32)
    mph = expressway.pace(np.maximum(cars, 1) / len(records.TRAVEL_LANES))
    lav = np.clip(np.minimum(mph, expressway.DESIRED_MEAN) * temper, expressway.CREEP, records.MAX_SPEED).astype(
        np.int32
    )
    toll = np.where((lav < 40) & (cnt > 50), 2 * (cnt - 50) ** 2, 0).astype(np.int32)
    grid = np.indices(cars.shape, np.int32)
    constant = np.ones(minutes * directions * count, np.int32)
    columns = (
        constant * day, grid[0].ravel() + 1, constant * xway, grid[1].ravel(), grid[2].ravel(),
        lav.ravel(), cnt.ravel(), toll.ravel(),
    )  # fmt: skip
    return pa.RecordBatch.from_arrays([pa.array(column) for column in columns], schema=records.SEGMENT_STATISTICS)


def _demand(weekday: int) -> Floats:
    """Demand by minute and direction, as a share of the highest."""
    hour = (np.arange(records.DAY_MINUTES) / 60)[:, None]

    def hump(centre: float, width: float) -> npt.NDArray[np.float64]:
        return np.exp(-(((hour - centre) / width) ** 2) / 2)

    midday = 0.35 * hump(13.0, 3.5)
    shape = (
        midday + hump(8.0, 1.1) * (0.9, 0.6) + hump(17.5, 1.4) * (0.55, 0.85)
        if weekday <= 5
        else 1.4 * midday * (1.0, 1.0)
    )
    return np.asarray(NIGHT + (1 - NIGHT) * np.minimum(shape, 1.0), np.float32)


def _profile() -> Floats:
    """Cars by direction and segment, as a share of the fullest: who has entered, and whose exit is not behind."""
    shares = expressway.EXIT_SHARES
    remaining = shares[-1] - shares[:-1]
    along = np.cumsum(1 / remaining) * remaining
    along /= along.max()
    return np.stack((along, along[::-1])).astype(np.float32)
