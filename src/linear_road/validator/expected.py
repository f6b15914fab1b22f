"""All the answers an input asks for."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np
import numpy.typing as npt

from linear_road import records
from linear_road.validator.balances import Balances
from linear_road.validator.histories import Journeys, expenditures, journeys
from linear_road.validator.progress import OnProgress, Progress
from linear_road.validator.read import Input, Longs, Requests, split
from linear_road.validator.tolls import Alerts, Charges, Notifications, drive
from linear_road.wording import counted

AT_ONCE: Final = 2
"""Directions worked on at the same time: memory is for as many."""


@dataclass(frozen=True)
class Expected:
    """The right answers. Balances have no single one: `balances` tells what is right as of when."""

    notifications: Notifications
    alerts: Alerts
    requests: dict[int, Requests]
    balances: Balances
    expenditures: Longs
    """Of `requests[EXPENDITURE]`, in that order."""
    journeys: Journeys
    """Of `requests[TRAVEL_TIME]`, in that order."""
    reports: int
    notes: tuple[str, ...]
    """What in the input was left out, and why."""


def expect(
    input: Path,
    *,
    tolls: Path | None,
    segments: Path | None,
    today: int = 1,
    on_progress: OnProgress = lambda progress: None,
) -> Expected:
    """Work out the right answers to an input file. Without a history file, as if it were empty."""
    if not 1 <= today <= records.WEEK_DAYS:
        raise ValueError(f"today is a day of the week from 1 to {records.WEEK_DAYS}, not {today}")
    with split(input, on_progress) as read:
        parts = _drive(read, on_progress)
        notifications, alerts, charges = zip(*parts, strict=True) if parts else ((), (), ())
        return Expected(
            Notifications(*_joined([(part.vid, part.time, part.lav, part.toll) for part in notifications], 4)),
            Alerts(*_joined([(part.vid, part.time, part.segment) for part in alerts], 3)),
            read.requests,
            Balances(charges),
            expenditures(read.requests[records.EXPENDITURE], tolls, on_progress),
            journeys(read.requests[records.TRAVEL_TIME], segments, today, on_progress),
            read.reports,
            _notes(read),
        )


def _drive(read: Input, on_progress: OnProgress) -> list[tuple[Notifications, Alerts, Charges]]:
    def work(where: tuple[int, int]) -> tuple[Notifications, Alerts, Charges]:
        return drive(read.direction(*where), where[1])

    parts = []
    with ThreadPoolExecutor(min(AT_ONCE, os.cpu_count() or 1), "directions") as pool:
        for part in pool.map(work, read.directions):
            parts.append(part)
            on_progress(Progress("working out the answers", len(parts) / len(read.directions)))
    return parts


def _joined(parts: list[tuple[npt.NDArray[np.int32], ...]], columns: int) -> list[npt.NDArray[np.int32]]:
    if not parts:
        return [np.empty(0, np.int32)] * columns
    return [np.concatenate(column) for column in zip(*parts, strict=True)]


def _notes(read: Input) -> tuple[str, ...]:
    notes = []
    if read.outside:
        notes.append(f"{read.outside:,} position reports of the input are from outside the city and were left out")
    if read.unknown:
        notes.append(f"{counted(read.unknown, 'row')} of the input left out: of no type the benchmark has")
    return tuple(notes)
