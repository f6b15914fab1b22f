"""The rules of the traffic model as a plain program over rows, one vehicle at a time; it knows nothing of the simulator."""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Iterator
from typing import Any

import pyarrow as pa

Row = dict[str, Any]
KINDS = {0: "position", 2: "balance", 3: "expenditure", 4: "travel time"}


def broken_rules(rows: pa.Table, start: int, end: int) -> list[str]:
    """What is wrong with the rows of seconds `start` to `end`; nothing if all is well.

    Trips may be cut by the start and the end: the rules of a first or last report then do not apply.
    """
    stream = rows.to_pylist()
    found = list(_stream(stream, start, end))
    reports: defaultdict[int, list[Row]] = defaultdict(list)
    for row in stream:
        if row["Type"] == 0:
            reports[row["VID"]].append(row)
    for vehicle in reports.values():
        for trip in _trips(vehicle):
            found += _trip(trip, start, end)
        found += [
            f"{b} starts within five minutes of {a}"
            for a, b in itertools.pairwise(vehicle)
            if b["Time"] - a["Time"] != 30 and b["Time"] - a["Time"] < 300
        ]
    return found


def _stream(stream: list[Row], start: int, end: int) -> Iterator[str]:
    before: Row | None = None
    for row in stream:
        if not start <= row["Time"] < end:
            yield f"{row} is not in time"
        if before is not None and row["Time"] < before["Time"]:
            yield f"{row} is out of order"
        if row["Type"] not in KINDS:
            yield f"{row} is of no type"
        if row["Type"] != 0 and (
            before is None or before["Type"] != 0 or (row["VID"], row["Time"]) != (before["VID"], before["Time"])
        ):
            yield f"{row} is not behind its report"
        before = row


def _trips(vehicle: list[Row]) -> Iterator[list[Row]]:
    trip = vehicle[:1]
    for row in vehicle[1:]:
        if row["Time"] - trip[-1]["Time"] != 30:
            yield trip
            trip = []
        trip.append(row)
    yield trip


def _trip(trip: list[Row], start: int, end: int) -> Iterator[str]:
    if trip[0]["Lane"] != 0 and trip[0]["Time"] >= start + 30:
        yield f"{trip[0]} begins a trip elsewhere than on an entry ramp"
    if trip[-1]["Lane"] != 4 and trip[-1]["Time"] < end - 30:
        yield f"{trip[-1]} ends a trip elsewhere than on an exit ramp"
    for row in trip:
        if not 0 <= row["Spd"] <= 100 or row["Seg"] != row["Pos"] // 5280 or not 0 <= row["Pos"] < 528_000:
            yield f"{row} is impossible"
        if row["Lane"] not in range(5) or row["Dir"] not in (0, 1):
            yield f"{row} is nowhere"
    for a, b in itertools.pairwise(trip):
        forward = 1 if a["Dir"] == 0 else -1
        if (a["XWay"], a["Dir"]) != (b["XWay"], b["Dir"]):
            yield f"{b} changes expressway or direction after {a}"
        if (b["Seg"] - a["Seg"]) * forward not in (0, 1):
            yield f"{b} skips a segment or goes back after {a}"
        if (b["Pos"] - a["Pos"]) * forward != 22 * (a["Spd"] + b["Spd"]):
            yield f"{b} is not where its speed takes it after {a}"
        if b["Lane"] == 0 != a["Lane"] or a["Lane"] == 4 != b["Lane"]:
            yield f"{b} uses a ramp the wrong way after {a}"
