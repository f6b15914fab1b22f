"""How late is late: the arithmetic against a loop over the rows."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from millpond.ingest.lateness import earliest_times

NEVER = np.iinfo(np.int64).min
times = st.integers(-(2**40), 2**40)


def naive(offered: list[int], highest: int | None, heartbeat: int | None, lateness: int) -> list[int]:
    answer = []
    for time in offered:
        limits = [NEVER]
        limits += [] if highest is None else [highest - lateness]
        limits += [] if heartbeat is None else [heartbeat]
        answer.append(max(limits))
        highest = time if highest is None else max(highest, time)
    return answer


@given(st.lists(times, max_size=20), st.none() | times, st.none() | times, st.integers(0, 100))
def test_equals_a_loop(offered: list[int], highest: int | None, heartbeat: int | None, lateness: int) -> None:
    found = earliest_times(np.array(offered, dtype=np.int64), highest, heartbeat, lateness)
    assert found.tolist() == naive(offered, highest, heartbeat, lateness)


@given(st.lists(times, min_size=1, max_size=20), st.data(), st.integers(0, 100))
def test_cuts_change_nothing(offered: list[int], data: st.DataObject, lateness: int) -> None:
    cut = data.draw(st.integers(0, len(offered)))
    whole = earliest_times(np.array(offered, dtype=np.int64), None, None, lateness).tolist()
    first = earliest_times(np.array(offered[:cut], dtype=np.int64), None, None, lateness).tolist()
    highest = max(offered[:cut], default=None)
    second = earliest_times(np.array(offered[cut:], dtype=np.int64), highest, None, lateness).tolist()
    assert first + second == whole


@given(
    st.lists(st.integers(NEVER, NEVER + 20), max_size=8),
    st.none() | st.integers(NEVER, NEVER + 20),
    st.integers(0, 2**62),
)
def test_nothing_wraps_around_at_the_first_time(offered: list[int], highest: int | None, lateness: int) -> None:
    found = earliest_times(np.array(offered, dtype=np.int64), highest, None, lateness)
    assert found.tolist() == [max(NEVER, limit) for limit in naive(offered, highest, None, lateness)]
