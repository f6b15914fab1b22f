"""Compartments: retention by whole folders (wait and throw away). Pure arithmetic.

The history period is cut into `COMPARTMENTS` equal spans of time; a row with time t belongs to compartment t // width.
A compartment is dropped once its last instant is older than the history period, so between one period and one period
plus one width is kept, and expiry never touches single rows. Tables that keep rows forever are cut by the day, which
only bounds the number of files in a folder.
"""

from __future__ import annotations

from datetime import timedelta

from millpond.duration import TimeUnit

COMPARTMENTS = 10


def width(history: timedelta | None, unit: TimeUnit) -> int:
    """The span of a compartment, in the table's unit."""
    if history is None:
        return unit.count(timedelta(days=1))
    return max(1, -(-unit.count(history) // COMPARTMENTS))


def expired(last: int, now: int | None, history: timedelta | None, unit: TimeUnit) -> bool:
    """Whether a compartment or file whose last possible time is `last` lies wholly before the history period at `now`.

    >>> expired(99, 200, timedelta(seconds=100), TimeUnit.SECOND), expired(100, 200, timedelta(seconds=100), TimeUnit.SECOND)
    (True, False)
    """
    return history is not None and now is not None and last < now - unit.count(history)


def kept_since(now: int, history: timedelta, unit: TimeUnit) -> int:
    """The time from which on all rows are kept at `now`.

    >>> kept_since(209, timedelta(seconds=100), TimeUnit.SECOND)
    100
    """
    span = width(history, unit)
    return (now - unit.count(history)) // span * span
