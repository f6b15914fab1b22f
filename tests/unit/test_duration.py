from __future__ import annotations

from datetime import timedelta

import pytest

from millpond.duration import TimeUnit, describe, duration, parse_duration
from millpond.errors import SqlError


@pytest.mark.parametrize(
    ("amount", "unit", "expected"),
    [
        ("5", "MINUTE", timedelta(minutes=5)),
        ("5", "minutes", timedelta(minutes=5)),
        (3, "SECOND", timedelta(seconds=3)),
        ("1.5", "HOUR", timedelta(minutes=90)),
        ("70", "DAY", timedelta(days=70)),
        ("2", "WEEKS", timedelta(weeks=2)),
        (250, "ms", timedelta(milliseconds=250)),
        (1, "us", timedelta(microseconds=1)),
        (0, "SECOND", timedelta(0)),
    ],
)
def test_intervals(amount: str | int, unit: str, expected: timedelta) -> None:
    assert duration(amount, unit) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("10 seconds", timedelta(seconds=10)),
        ("500ms", timedelta(milliseconds=500)),
        ("5", timedelta(seconds=5)),
        (" 2 h ", timedelta(hours=2)),
        ("0.5 min", timedelta(seconds=30)),
    ],
)
def test_texts(text: str, expected: timedelta) -> None:
    assert parse_duration(text) == expected


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: duration("1", "MONTH"),
            'interval unit "month" cannot be used for a window or period\n'
            "Detail: Months and years have no fixed length.\n"
            "Hint: Use one of MICROSECOND, MILLISECOND, SECOND, MINUTE, HOUR, DAY, WEEK.",
        ),
        (
            lambda: duration("1", "lightyear"),
            'interval unit "lightyear" cannot be used for a window or period\n'
            "Hint: Use one of MICROSECOND, MILLISECOND, SECOND, MINUTE, HOUR, DAY, WEEK.",
        ),
        (lambda: duration("-1", "SECOND"), 'interval "-1 SECOND" is negative'),
        (lambda: duration("x", "SECOND"), 'interval "x SECOND" is not a length of time'),
        (lambda: duration("1e30", "DAY"), 'interval "1e30 DAY" is not a length of time'),
        (
            lambda: parse_duration("soon"),
            "\"soon\" is not a length of time\nHint: Write a number and a unit, for example '10 seconds'.",
        ),
        (
            lambda: TimeUnit.SECOND.count(timedelta(milliseconds=1500)),
            "interval 1500 milliseconds is finer than the time column\n"
            "Detail: An integer time column counts whole seconds.\n"
            "Hint: Use whole seconds, or a TIMESTAMP time column.",
        ),
        (
            lambda: TimeUnit.MICROSECOND.count(timedelta(days=999_999_999)),
            "interval 999999999 days is too long\n"
            "Detail: A TIMESTAMP time column counts microseconds.\n"
            "Hint: Use at most 50,000,000 days.",
        ),
    ],
)
def test_messages(call: object, message: str) -> None:
    with pytest.raises(SqlError) as caught:
        call()  # type: ignore[operator]
    assert str(caught.value) == message


def test_units() -> None:
    assert TimeUnit.SECOND.count(timedelta(minutes=2)) == 120
    assert TimeUnit.MICROSECOND.count(timedelta(seconds=2)) == 2_000_000


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (timedelta(minutes=5), "5 minutes"),
        (timedelta(days=1), "1 day"),
        (timedelta(seconds=90), "90 seconds"),
        (timedelta(milliseconds=1), "1 millisecond"),
        (timedelta(microseconds=7), "7 microseconds"),
        (timedelta(days=70), "70 days"),
    ],
)
def test_described(value: timedelta, text: str) -> None:
    assert describe(value) == text
    assert parse_duration(text) == value


def test_nothing_is_zero_seconds() -> None:
    assert describe(timedelta(0)) == "0 seconds"
