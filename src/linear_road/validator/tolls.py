"""Toll notifications, accident alerts and charges of one direction of an expressway."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, TypeVar

import numpy as np
import numpy.typing as npt

from linear_road import records
from linear_road.validator.accidents import CLEAR, accidents, nearest_downstream
from linear_road.validator.statistics import statistics
from linear_road.validator.vehicles import Ints, by_vehicle

Number = TypeVar("Number", bound=np.generic)

FREE_SPEED: Final = 40
FREE_CARS: Final = 50


@dataclass(frozen=True)
class Notifications:
    """Columns of equal length."""

    vid: Ints
    time: Ints
    lav: Ints
    toll: Ints


@dataclass(frozen=True)
class Alerts:
    vid: Ints
    time: Ints
    segment: Ints


@dataclass(frozen=True)
class Charges:
    vid: Ints
    time: Ints
    toll: Ints


def drive(reports: npt.NDArray[np.void], direction: int) -> tuple[Notifications, Alerts, Charges]:
    """What the reports of one direction, in the order of the file, bring about. Charges of nothing are left out."""
    vehicles = by_vehicle(reports)
    figures = statistics(vehicles)
    nearest = nearest_downstream(accidents(vehicles), direction)
    cars, accident = _minute_before(figures.cars, 0), _minute_before(nearest, CLEAR)
    priced = (figures.lav < FREE_SPEED) & (cars > FREE_CARS) & (accident == CLEAR)
    tolls = np.where(priced, 2 * (cars - FREE_CARS) ** 2, 0).astype(np.int32)

    entered = np.flatnonzero(vehicles.enters & (vehicles.lane != records.EXIT_LANE))
    minute, segment = vehicles.minute[entered], vehicles.segment[entered]
    vid, time = vehicles.vid[entered], vehicles.time[entered]
    notifications = Notifications(vid, time, figures.lav[minute, segment], tolls[minute, segment])
    seen = accident[minute, segment]
    alerted = seen != CLEAR
    alerts = Alerts(vid[alerted], time[alerted], seen[alerted].astype(np.int32))

    quoted = np.zeros(len(vehicles), np.int32)
    quoted[entered] = notifications.toll
    crossed = np.flatnonzero(vehicles.enters & (vehicles.previous >= 0))
    last = vehicles.previous[crossed]
    due = np.where(vehicles.lane[last] != records.EXIT_LANE, quoted[vehicles.entry[last]], 0)
    crossed, due = crossed[due != 0], due[due != 0]
    return notifications, alerts, Charges(vehicles.vid[crossed], vehicles.time[crossed], due)


def _minute_before(grid: npt.NDArray[Number], before_the_first: int) -> npt.NDArray[Number]:
    shifted = np.full_like(grid, before_the_first)
    shifted[1:] = grid[:-1]
    return shifted
