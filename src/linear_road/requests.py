"""Position reports of a round, and the historical requests that some of them bring.

With probability 1 % a report brings a request, from the same vehicle at the same second: half are for the account
balance, a tenth for a day's expenditure, four tenths for a travel time. A request follows its report directly in the
stream; query ids count up from 0 in stream order. Which reports bring one is drawn by expressway, also for rounds
nobody wants to see, so that query ids are those of the full run; what is asked is drawn by round, for the rounds that
are made.

What is asked: expenditure of the expressway the vehicle is on (four times in five; else any up to it) on a day of
1-69; travel time between two different segments of any expressway up to the vehicle's own, at any minute of any day of
the week. "Up to its own" makes the first expressways of a city a city: nobody there asks about others. On a half
expressway, which has only eastbound traffic and history, the journey is eastbound.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from typing import Final, Self

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from linear_road import records

REQUEST_SHARE: Final = 0.01
BALANCE_SHARE: Final = 0.5
EXPENDITURE_SHARE: Final = 0.1
SAME_XWAY_SHARE: Final = 0.8

CELL_FEET: Final = 22
"""Positions are the middles of cells of a car's length, see `expressway`."""
SEGMENT_CELLS: Final = records.SEGMENT_FEET // CELL_FEET

Ints = npt.NDArray[np.int32]
Bools = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Reports:
    """Position reports of one round in narrow columns of equal length; `second` is that of the round, `cell` is absolute."""

    second: npt.NDArray[np.int8]
    vid: Ints
    speed: npt.NDArray[np.int16]
    xway: npt.NDArray[np.int16]
    lane: npt.NDArray[np.int8]
    direction: npt.NDArray[np.int8]
    cell: npt.NDArray[np.int16]

    def rows(self, start: int, end: int) -> Self:
        return type(self)(*(getattr(self, f.name)[start:end] for f in fields(self)))

    @classmethod
    def together(cls, parts: list[Self]) -> Self:
        return parts[0] if len(parts) == 1 else cls(*(
            np.concatenate([getattr(part, f.name) for part in parts]) for f in fields(cls)
        ))  # fmt: skip


class Asking:
    """Which reports of an expressway bring a request. Call `draw` once for each round, in order."""

    def __init__(self, seed: int, xway: int) -> None:
        self._random = np.random.Generator(np.random.SFC64([seed, 0x4153_4B53, xway]))

    def draw(self, reports: int) -> Bools:
        return self._random.random(reports, dtype=np.float32) < REQUEST_SHARE


class Requests:
    """Makes the rows of a run. For each round in order: `skip` it, or `begin` it and `attach` its batches in order."""

    def __init__(self, seed: int, xways: float) -> None:
        self._seed = seed
        expressways = math.ceil(xways)
        self._half = expressways - 1 if xways < expressways else records.NONE
        self._next_query = 0

    def skip(self, requests: int) -> None:
        """Count the requests of a round whose rows are not made."""
        self._next_query += requests

    def begin(self, number: int) -> None:
        self._random = np.random.Generator(np.random.SFC64([self._seed, 0x5245_5155, number]))

    def attach(self, start: int, reports: Reports, asking: Bools, order: npt.NDArray[np.intp]) -> pa.RecordBatch:
        """The rows of some reports of the round that starts at second `start`, taken in `order`, with their requests."""
        asking = asking.take(order)
        askers = np.flatnonzero(asking)
        at = askers + np.arange(1, len(askers) + 1)
        index = np.repeat(order, asking.view(np.uint8) + np.uint8(1))
        total = len(index)

        def column(values: npt.NDArray[np.signedinteger]) -> Ints:
            return values.take(index).astype(np.int32, copy=False)

        cell = column(reports.cell)
        columns = {
            "Type": np.zeros(total, np.int32), "Time": column(reports.second) + np.int32(start),
            "VID": column(reports.vid), "Spd": column(reports.speed), "XWay": column(reports.xway),
            "Lane": column(reports.lane), "Dir": column(reports.direction), "Seg": cell // SEGMENT_CELLS,
            "Pos": cell * CELL_FEET + CELL_FEET // 2,
        }  # fmt: skip
        for name in ("Spd", "Lane", "Dir", "Seg", "Pos"):
            columns[name][at] = records.NONE
        for name, values in self._questions(columns["XWay"][at]).items():
            if name not in columns:
                columns[name] = np.full(total, records.NONE, np.int32)
            columns[name][at] = values
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

        anywhere = random.integers(0, here + 1, count, np.int32)
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
