"""Historical requests: with probability 1 % a position report brings one, from the same vehicle at the same second.

Half are for the account balance, a tenth for a day's expenditure, four tenths for a travel time. A request follows its
report directly in the stream; query ids count up from 0 in stream order. Everything is drawn from one generator in
stream order, so the requests depend on the seed and the reports only.

What is asked: expenditure of the expressway the vehicle is on (four times in five; else any) on a day of 1-69; travel
time between two different segments of any expressway, at any minute of any day of the week. On a half expressway,
which has only eastbound traffic and history, the journey is eastbound.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from linear_road import records

REQUEST_SHARE: Final = 0.01
BALANCE_SHARE: Final = 0.5
EXPENDITURE_SHARE: Final = 0.1
SAME_XWAY_SHARE: Final = 0.8

Ints = npt.NDArray[np.int32]


@dataclass(frozen=True, slots=True)
class Reports:
    """Position reports in time order, as columns of equal length; the tuple's first fields after `Type`."""

    time: Ints
    vid: Ints
    speed: Ints
    xway: Ints
    lane: Ints
    direction: Ints
    segment: Ints
    position: Ints


class Requests:
    """Adds requests to the reports of one run. Call `attach` once for each batch, in stream order, from one thread."""

    def __init__(self, seed: int, xways: float) -> None:
        self._random = np.random.Generator(np.random.SFC64([seed, 0x5245_5155]))
        self._expressways = math.ceil(xways)
        self._half = self._expressways - 1 if xways < self._expressways else records.NONE
        self._next_query = 0

    def attach(self, reports: Reports) -> pa.RecordBatch:
        """The input tuples of `reports`, with the requests some of them bring right behind their reports."""
        count = len(reports.time)
        asking = np.flatnonzero(self._random.random(count, dtype=np.float32) < REQUEST_SHARE)
        repeats = np.ones(count, np.uint8)
        repeats[asking] = 2
        at = asking + np.arange(1, len(asking) + 1)

        columns = {
            "Time": reports.time, "VID": reports.vid, "Spd": reports.speed, "XWay": reports.xway,
            "Lane": reports.lane, "Dir": reports.direction, "Seg": reports.segment, "Pos": reports.position,
        }  # fmt: skip
        columns = {name: np.repeat(column, repeats) for name, column in columns.items()}
        total = count + len(asking)
        columns["Type"] = np.zeros(total, np.int32)
        for name, values in self._questions(reports.xway[asking]).items():
            if name not in columns:
                columns[name] = np.full(total, records.NONE, np.int32)
            columns[name][at] = values
        for name in ("Spd", "Lane", "Dir", "Seg", "Pos"):
            columns[name][at] = records.NONE
        return pa.RecordBatch.from_arrays(
            [pa.array(columns[name]) for name in records.INPUT.names], schema=records.INPUT
        )

    def _questions(self, here: Ints) -> dict[str, Ints]:
        """What as many vehicles as `here` (their expressways) ask, field by field; -1 where a field does not apply."""
        count, random = len(here), self._random
        kind = random.random(count)
        balance = kind < BALANCE_SHARE
        expenditure = ~balance & (kind < BALANCE_SHARE + EXPENDITURE_SHARE)
        journey = ~balance & ~expenditure

        anywhere = random.integers(0, self._expressways, count, np.int32)
        stays = expenditure & (random.random(count) < SAME_XWAY_SHARE)
        xway = np.where(stays, here, anywhere)
        start = random.integers(0, records.SEGMENTS, count, np.int32)
        end = (start + random.integers(1, records.SEGMENTS, count, np.int32)) % records.SEGMENTS
        swap = (xway == self._half) & (end < start)
        start, end = np.where(swap, end, start), np.where(swap, start, end)
        query = np.arange(self._next_query, self._next_query + count, dtype=np.int32)
        self._next_query += count

        def only(where: npt.NDArray[np.bool_], values: Ints) -> Ints:
            return np.where(where, values, np.int32(records.NONE))

        types = np.where(balance, records.BALANCE, np.where(expenditure, records.EXPENDITURE, records.TRAVEL_TIME))
        return {
            "Type": types.astype(np.int32),
            "XWay": only(~balance, xway),
            "QID": query,
            "Sinit": only(journey, start),
            "Send": only(journey, end),
            "DOW": only(journey, random.integers(1, records.WEEK_DAYS + 1, count, np.int32)),
            "TOD": only(journey, random.integers(1, records.DAY_MINUTES + 1, count, np.int32)),
            "Day": only(expenditure, random.integers(1, records.REQUEST_DAYS + 1, count, np.int32)),
        }
