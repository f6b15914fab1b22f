from __future__ import annotations

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from millpond.duration import TimeUnit
from millpond.table.compartments import COMPARTMENTS, expired, width

SECOND = TimeUnit.SECOND


def test_width() -> None:
    assert width(None, SECOND) == 86_400
    assert width(timedelta(seconds=100), SECOND) == 10
    assert width(timedelta(seconds=101), SECOND) == 11
    assert width(timedelta(seconds=3), SECOND) == 1
    assert width(timedelta(days=1), TimeUnit.MICROSECOND) == 8_640_000_000


@pytest.mark.parametrize(("last", "now", "gone"), [(99, 200, True), (100, 200, False), (99, None, False)])
def test_expired(last: int, now: int | None, gone: bool) -> None:
    assert expired(last, now, timedelta(seconds=100), SECOND) is gone


def test_forever_is_forever() -> None:
    assert not expired(-(10**12), 10**12, None, SECOND)


@given(st.integers(1, 1000), st.integers(-2000, 2000), st.integers(-2000, 2000))
def test_between_one_period_and_a_tenth_more_is_kept(history: int, time: int, now: int) -> None:
    period = timedelta(seconds=history)
    span = width(period, SECOND)
    last = (time // span + 1) * span - 1  # of the row's compartment
    if expired(last, now, period, SECOND):
        assert time < now - history
    else:
        assert time >= now - history - span
    assert span <= history / COMPARTMENTS + 1
