"""Follow every vehicle along one direction of an expressway.

Reports are put in the order of vehicle and time, where what one vehicle does is a run of neighbours. Chains of reports
exactly 30 s apart are trips; in a sound file a vehicle's neighbours are 30 s apart or belong to different trips, so a
report's previous one is the neighbour before it or none. Files with reports in between cost one more sort: by vehicle,
phase (time modulo 30) and time, chains are neighbours again.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np
import numpy.typing as npt

from linear_road import records

Ints = npt.NDArray[np.int32]
Bools = npt.NDArray[np.bool_]
Indices = npt.NDArray[np.intp]

INDEX_BITS: Final = 31
NEVER: Final = np.iinfo(np.int32).max


@dataclass
class Vehicles:
    """Reports of one direction by vehicle and time, at most one a vehicle and second."""

    vid: Ints
    time: Ints
    position: Ints
    speed: npt.NDArray[np.int16]
    lane: npt.NDArray[np.uint8]
    segment: npt.NDArray[np.uint8]
    first_minute: int
    minutes: int
    """The whole minutes (time // 60) from the first report to the last; row r of a grid is `first_minute` + r."""

    def __len__(self) -> int:
        return len(self.vid)

    @cached_property
    def minute(self) -> Ints:
        """Row of each report in a grid of minutes."""
        return np.asarray(self.time // 60 - self.first_minute, np.int32)

    @cached_property
    def gap(self) -> Ints:
        """Seconds since the same vehicle's report before; `NEVER` for its first."""
        gap = np.full(len(self), NEVER, np.int32)
        same = self.vid[1:] == self.vid[:-1]
        np.subtract(self.time[1:], self.time[:-1], out=gap[1:], where=same)
        return gap

    @cached_property
    def chained(self) -> Indices | None:
        """The order in which the reports of a trip are neighbours; None if they are as they stand."""
        if not (self.gap < records.REPORT_SECONDS).any():
            return None
        return np.lexsort((self.time, self.time % records.REPORT_SECONDS, self.vid))

    @cached_property
    def previous(self) -> Indices:
        """Index of the report of the same vehicle exactly 30 s earlier; -1 where there is none."""
        chained = self.chained
        if chained is None:
            before = np.arange(-1, len(self) - 1)
            before[self.gap != records.REPORT_SECONDS] = -1
            return before
        vid, time = self.vid[chained], self.time[chained]
        follows = (vid[1:] == vid[:-1]) & (time[1:] - time[:-1] == records.REPORT_SECONDS)
        before = np.full(len(self), -1)
        before[chained[1:][follows]] = chained[:-1][follows]
        return before

    @cached_property
    def enters(self) -> Bools:
        """Whether a report is from another segment than its previous one, or the first of a trip."""
        previous = self.previous
        return np.asarray((previous < 0) | (self.segment != self.segment[previous]), np.bool_)

    @cached_property
    def entry(self) -> Indices:
        """Index of the report with which the vehicle entered the segment that this report is from."""
        chained = self.chained
        here = np.arange(len(self))
        if chained is None:
            return np.asarray(np.maximum.accumulate(np.where(self.enters, here, 0)), np.intp)
        latest = np.maximum.accumulate(np.where(self.enters[chained], here, 0))
        entry = np.empty_like(here)
        entry[chained] = chained[latest]
        return entry


def by_vehicle(reports: npt.NDArray[np.void]) -> Vehicles:
    """Follow the vehicles of the reports of one direction, given in the order of the file."""
    time = np.ascontiguousarray(reports["time"])
    if (time[1:] < time[:-1]).any():
        reports = reports[np.argsort(time, kind="stable")]
    # Sorting pairs of vehicle and place in the file as one number is several times as fast as an argsort.
    order = reports["vid"].astype(np.int64)
    order <<= INDEX_BITS
    order |= np.arange(len(reports))
    order.sort()
    vid = (order >> INDEX_BITS).astype(np.int32)
    order &= (1 << INDEX_BITS) - 1
    reports = reports[order]
    del order
    time = np.ascontiguousarray(reports["time"])
    again = np.flatnonzero((vid[1:] == vid[:-1]) & (time[1:] == time[:-1])) + 1
    if len(again):
        reports, vid, time = np.delete(reports, again), np.delete(vid, again), np.delete(time, again)
    first = int(time.min()) // 60 if len(time) else 0
    rest = {name: np.ascontiguousarray(reports[name]) for name in ("position", "speed", "lane", "segment")}
    minutes = int(time.max()) // 60 - first + 1 if len(time) else 0
    return Vehicles(vid, time, **rest, first_minute=first, minutes=minutes)
