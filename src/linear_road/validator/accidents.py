"""Accidents of one direction of an expressway: where and in which minutes two vehicles are stopped at one place.

Each report of a stopped vehicle opens an interval in which it is stopped: until its next report, for at most 30 s. An
accident holds where two intervals at one place overlap; intervals of one vehicle never do.
"""

from __future__ import annotations

from typing import Final

import numpy as np
import numpy.typing as npt

from linear_road import records
from linear_road.validator.vehicles import Bools, Indices, Vehicles

EQUAL_REPORTS: Final = 4
DOWNSTREAM: Final = 5
"""Segments an accident is felt in: its own and the four upstream of it."""
CLEAR: Final = -1


def accidents(vehicles: Vehicles) -> Bools:
    """Grid of minutes x segments: whether there was an accident at some second of the minute."""
    grid = np.zeros((vehicles.minutes, records.SEGMENTS), np.bool_)
    stopped = _stopped(vehicles)
    begin = vehicles.time[stopped].astype(np.int64)
    after = np.append(vehicles.gap, records.REPORT_SECONDS)[stopped + 1]  # the next vehicle's first: never
    end = begin + np.minimum(after, records.REPORT_SECONDS)
    place = vehicles.lane[stopped].astype(np.int64) << 32 | vehicles.position[stopped].view(np.uint32)

    # One and the same sweep over all places: who comes adds one, who goes takes one away.
    place, time = np.tile(place, 2), np.concatenate((begin, end))
    change = np.repeat((1, -1), len(stopped))
    order = np.lexsort((time, place))
    place, time, together = place[order], time[order], np.cumsum(change[order])
    held = np.flatnonzero((together[:-1] >= 2) & (place[1:] == place[:-1]) & (time[1:] > time[:-1]))
    # Both who are stopped have reported within 30 s, so from one event to the next is at most that: two minutes at most.
    segment = (place[held] & 0xFFFF_FFFF).astype(np.uint32).view(np.int32) // records.SEGMENT_FEET
    for second in (time[held], time[held + 1] - 1):
        minute = second // 60 - vehicles.first_minute
        there = (minute < vehicles.minutes) & (segment >= 0) & (segment < records.SEGMENTS)
        grid[minute[there], segment[there]] = True
    return grid


def _stopped(vehicles: Vehicles) -> Indices:
    """The reports from a travel lane with which a vehicle is stopped: the fourth equal one, and those that follow."""
    lane, position = vehicles.lane, vehicles.position
    equal = (vehicles.gap[1:] == records.REPORT_SECONDS) & (position[1:] == position[:-1]) & (lane[1:] == lane[:-1])
    fourth = equal[2:] & equal[1:-1] & equal[:-2] if len(equal) > 2 else equal[:0]
    at = np.flatnonzero(fourth) + EQUAL_REPORTS - 1
    return np.asarray(at[np.isin(lane[at], records.TRAVEL_LANES)], np.intp)


def nearest_downstream(grid: Bools, direction: int) -> npt.NDArray[np.int8]:
    """For each minute and segment, the nearest segment 0-4 downstream that had an accident in it, or `CLEAR`."""
    nearest = np.full(grid.shape, CLEAR, np.int8)
    segments = np.arange(records.SEGMENTS)
    for steps in reversed(range(DOWNSTREAM)):
        ahead = segments + steps if direction == records.EAST else segments - steps
        ahead = np.clip(ahead, 0, records.SEGMENTS - 1)
        nearest = np.where(grid[:, ahead], ahead.astype(np.int8), nearest)
    return nearest
