"""Lengths of time: the one way to read one, and to turn one into a number of units of a table's time column.

A duration is a `timedelta`. A table counts time in whole seconds (integer time column) or microseconds (TIMESTAMP);
`TimeUnit` is that choice. Months and years are refused: their length depends on where they start.
"""

from __future__ import annotations

import enum
import re
from datetime import UTC, datetime, timedelta

from millpond.errors import SqlError

UNITS = {
    "MICROSECOND": timedelta(microseconds=1),
    "MILLISECOND": timedelta(milliseconds=1),
    "SECOND": timedelta(seconds=1),
    "MINUTE": timedelta(minutes=1),
    "HOUR": timedelta(hours=1),
    "DAY": timedelta(days=1),
    "WEEK": timedelta(weeks=1),
}
SHORT = {"US": "MICROSECOND", "MS": "MILLISECOND", "S": "SECOND", "M": "MINUTE", "H": "HOUR", "D": "DAY", "W": "WEEK",
         "SEC": "SECOND", "MIN": "MINUTE"}  # fmt: skip


# So that the difference of a time and a length, and twice that, is a 64-bit integer.
_LONGEST = timedelta(days=50_000_000) // timedelta(microseconds=1)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

FOREVER = timedelta(days=365_000)
"""For results that are kept without end: a thousand years."""


class TimeUnit(enum.Enum):
    """What event times of a table count."""

    SECOND = "second"
    MICROSECOND = "microsecond"

    def count(self, duration: timedelta) -> int:
        """`duration` in this unit; a fraction is an error, never rounded."""
        per = timedelta(seconds=1) if self is TimeUnit.SECOND else timedelta(microseconds=1)
        whole, rest = divmod(duration, per)
        if rest:
            raise SqlError(
                f"interval {describe(duration)} is finer than the time column",
                detail="An integer time column counts whole seconds.",
                hint="Use whole seconds, or a TIMESTAMP time column.",
            )
        if whole > _LONGEST:
            raise SqlError(
                f"interval {describe(duration)} is too long",
                detail="A TIMESTAMP time column counts microseconds.",
                hint="Use at most 50,000,000 days.",
            )
        return whole

    def length(self, count: int) -> timedelta:
        """So many of this unit; at most the longest time there is."""
        per = timedelta(seconds=1) if self is TimeUnit.SECOND else timedelta(microseconds=1)
        return per * min(count, timedelta.max // per)


def to_micros(value: datetime) -> int:
    """A moment as microseconds since 1970."""
    return (value - _EPOCH) // timedelta(microseconds=1)


def moment(micros: int) -> datetime:
    """Microseconds since 1970 as a `datetime`; beyond the years 1 to 9999 the nearest there is.

    >>> moment(2**62).year
    9999
    """
    try:
        return _EPOCH + timedelta(microseconds=int(micros))
    except OverflowError:
        return (datetime.min if micros < 0 else datetime.max).replace(tzinfo=UTC)


def duration(amount: str | int | float, unit: str = "SECOND") -> timedelta:
    """`INTERVAL '<amount>' <unit>`. A bare number counts seconds.

    >>> duration("5", "MINUTE")
    datetime.timedelta(seconds=300)
    """
    name = unit.upper().rstrip(".")
    name = SHORT.get(name, name)
    name = name if name in UNITS else name.removesuffix("S")
    name = SHORT.get(name, name)
    if name not in UNITS:
        raise SqlError(
            f'interval unit "{unit.lower()}" cannot be used for a window or period',
            detail="Months and years have no fixed length." if name in ("MONTH", "YEAR", "QUARTER") else None,
            hint=f"Use one of {', '.join(UNITS)}.",
        )
    try:
        value = float(amount) if not isinstance(amount, int) else amount
        result = UNITS[name] * value
    except (ValueError, OverflowError) as error:
        raise SqlError(f'interval "{amount} {unit}" is not a length of time') from error
    if result < timedelta(0):
        raise SqlError(f'interval "{amount} {unit}" is negative')
    return result


def parse_duration(text: str) -> timedelta:
    """A duration as written in an option or on a command line: `10 seconds`, `500ms`, `5`.

    >>> parse_duration("500ms")
    datetime.timedelta(microseconds=500000)
    """
    match = re.fullmatch(r"\s*(-?\d+(?:\.\d+)?)\s*([A-Za-z]*)\s*", text)
    if match is None:
        raise SqlError(f'"{text}" is not a length of time', hint="Write a number and a unit, for example '10 seconds'.")
    amount = match.group(1)
    return duration(int(amount) if amount.lstrip("-").isdigit() else amount, match.group(2) or "SECOND")


def describe(value: timedelta) -> str:
    """A duration in words, in the largest unit that keeps it whole.

    >>> describe(timedelta(seconds=300))
    '5 minutes'
    """
    for name in ("DAY", "HOUR", "MINUTE", "SECOND", "MILLISECOND", "MICROSECOND"):
        whole, rest = divmod(value, UNITS[name])
        if not rest and whole:
            return f"{whole} {name.lower()}{'' if whole == 1 else 's'}"
    return "0 seconds"
