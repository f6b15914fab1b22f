"""How far ahead is too far: the arithmetic against a loop over the rows."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from millpond.ingest.ahead import later, latest_times

LAST = np.iinfo(np.int64).max
times = st.integers(-50, 50) | st.integers(LAST - 5, LAST)


def naive(offered: list[int], before: int | None, ahead: int) -> list[bool]:
    accepted = []
    for time in offered:
        fits = before is None or time <= before + ahead
        accepted.append(fits)
        if fits:
            before = time if before is None else max(before, time)
    return accepted


def accepted(offered: list[int], before: int | None, ahead: int) -> list[bool]:
    array = np.array(offered, dtype=np.int64)
    return (array <= latest_times(array, before, ahead)).tolist()  # type: ignore[no-any-return]


@given(st.lists(times, max_size=20), st.none() | times, st.integers(0, 100))
def test_equals_a_loop(offered: list[int], before: int | None, ahead: int) -> None:
    assert accepted(offered, before, ahead) == naive(offered, before, ahead)


@given(st.lists(times, max_size=20), st.data(), st.integers(0, 100))
def test_cuts_change_nothing(offered: list[int], data: st.DataObject, ahead: int) -> None:
    cut = data.draw(st.integers(0, len(offered)))
    whole = accepted(offered, None, ahead)
    first = accepted(offered[:cut], None, ahead)
    before = max((time for time, fits in zip(offered, first, strict=False) if fits), default=None)
    assert first + accepted(offered[cut:], before, ahead) == whole


def test_nothing_wraps_around() -> None:
    assert later(LAST - 1, 5) == LAST
