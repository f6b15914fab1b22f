"""Partitioned windows against lists: contents before and after each instant, and previous rows, for the keys that change."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from millpond.network.buffers import keyed_rows
from millpond.network.buffers.neighbours import Neighbours
from millpond.network.time.inlet import Inlet

SCHEMA = pa.schema([("key", pa.int64()), ("v", pa.int64()), ("t", pa.int64()), ("_seq", pa.int64())])
Row = tuple[int, int, int]  # key, value (also the row number), time

# Keys and times of rows, in order of arrival; where steps end.
ROWS = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 12)), max_size=30)
ENDS = st.lists(st.integers(1, 13), max_size=4).map(lambda ends: [*sorted(set(ends)), 14])


@pytest.fixture(scope="module", autouse=True)
def little_room() -> Iterator[None]:
    """So that slots are widened often."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(keyed_rows, "_FIRST_ROOM", 1)
        yield


def steps(given_rows: list[tuple[int, int]], ends: list[int], k: int) -> list[tuple[int, Neighbours, Inlet, int]]:
    """Play the rows; for each step where it begins, the window, its inlet and where it ends."""
    rows = [(key, n, t) for n, (key, t) in enumerate(given_rows)]
    inlet = Inlet(SCHEMA, "t")
    columns = [[r[0] for r in rows], [r[1] for r in rows], [r[2] for r in rows], [r[1] for r in rows]]
    inlet.push(pa.table([pa.array(c, pa.int64()) for c in columns], schema=SCHEMA))
    window = Neighbours(inlet, ("key",), k, -1)
    begins = [0, *ends[:-1]]
    return [(begin, window, inlet, end) for begin, end in zip(begins, ends, strict=True)]


def contents(given_rows: list[tuple[int, int]], key: int, below: int, k: int, oldest: int = -99) -> list[int]:
    """The values of the k newest rows of a key with time < below, in order, without those before `oldest`."""
    rows = sorted((t, n) for n, (who, t) in enumerate(given_rows) if who == key and t < below)
    return [n for t, n in rows[-k:] if t >= oldest]


@given(ROWS, ENDS, st.integers(1, 4), st.one_of(st.none(), st.integers(0, 6)))
def test_windows_before_and_after_each_instant(
    rows: list[tuple[int, int]], ends: list[int], k: int, interval: int | None
) -> None:
    times = sorted({t for _, t in rows})
    back = 99 if interval is None else interval
    for begin, window, inlet, end in steps(rows, ends, k):
        inlet.advance(end)
        change = window.advance(inlet, begin, end)
        touched = {(key, t) for key, t in rows if begin <= t < end}
        last = max((t for t in times if t < begin), default=None)
        earlier = {t: max((e for e in times if e < t), default=-99) for t in times}
        for side, shift in ((change.after(interval), 1), (change.before(interval, last), 0)):
            found = defaultdict(list)
            keys, values = side.column("key").to_pylist(), side.column("v").to_pylist()
            for key, value, moment in zip(keys, values, side.moments.tolist(), strict=True):
                found[key, moment].append(value)
            wanted = {
                (key, t): contents(rows, key, t + shift, k, (t if shift else earlier[t]) - back) for key, t in touched
            }
            assert found == {place: values for place, values in wanted.items() if values}


@given(ROWS, ENDS, st.integers(2, 4), st.one_of(st.none(), st.integers(0, 6)))
def test_rows_of_the_instant_with_the_row_before_them(
    rows: list[tuple[int, int]], ends: list[int], k: int, interval: int | None
) -> None:
    for begin, window, inlet, end in steps(rows, ends, k):
        inlet.advance(end)
        side = window.advance(inlet, begin, end).newest(interval)
        moments = side.moments.tolist()
        assert moments == sorted(moments)
        found = {
            (key, value, moment): previous
            for key, value, moment, previous in zip(
                side.column("key").to_pylist(),
                side.column("v").to_pylist(),
                moments,
                side.column("__prev_1_v").to_pylist(),
                strict=True,
            )
        }
        assert found == newest(rows, begin, end, k, interval)


def newest(
    rows: list[tuple[int, int]], begin: int, end: int, k: int, interval: int | None
) -> dict[tuple[int, int, int], int | None]:
    wanted: dict[tuple[int, int, int], int | None] = {}
    for key, t in {(key, t) for key, t in rows if begin <= t < end}:
        window = contents(rows, key, t + 1, k)
        for place, value in enumerate(window):
            if rows[value][1] == t:
                before = window[place - 1] if place else None
                old = before is not None and interval is not None and rows[before][1] < t - interval
                wanted[key, value, t] = None if old else before
    return wanted


def before_each(rows: list[tuple[int, int]], number: int, k: int, *, with_it: bool) -> list[int]:
    """The values of the k newest rows of a row's key that come before it, or with it, in order."""
    key, time = rows[number]
    order = sorted((t, n) for n, (who, t) in enumerate(rows) if who == key and (t, n) <= (time, number - (not with_it)))
    return [n for _, n in order[-k:]]


@given(ROWS, ENDS, st.integers(1, 4), st.one_of(st.none(), st.integers(0, 6)))
def test_windows_before_and_after_each_row(
    rows: list[tuple[int, int]], ends: list[int], k: int, interval: int | None
) -> None:
    """Rows of equal time are seen one after the other, in order of arrival."""
    for begin, window, inlet, end in steps(rows, ends, k):
        inlet.advance(end)
        change = window.advance(inlet, begin, end).each_row
        came = [n for _, n in sorted((t, n) for n, (_, t) in enumerate(rows) if begin <= t < end)]
        last = max((t for _, t in rows if t < begin), default=None)
        times = [-99 if last is None else last, *(rows[n][1] for n in came)]
        for side, with_it in ((change.after(interval), True), (change.before(interval, last), False)):
            found = defaultdict(list)
            for value, rank in zip(side.column("v").to_pylist(), side.moments.tolist(), strict=True):
                found[came[rank]].append(value)
            seen = {}
            for place, n in enumerate(came):
                oldest = times[place + with_it] - (99 if interval is None else interval)
                seen[n] = [each for each in before_each(rows, n, k, with_it=with_it) if rows[each][1] >= oldest]
            assert found == {n: values for n, values in seen.items() if values}
        side = change.newest(interval)
        assert side.moments.tolist() == list(range(len(came)))
        assert side.column("v").to_pylist() == came
        earlier = [(*before_each(rows, n, k, with_it=True), n)[-3:-1] for n in came]
        old = [
            interval is not None and rows[e[0]][1] < rows[n][1] - interval for e, n in zip(earlier, came, strict=True)
        ]
        wanted = [None if len(e) < 2 or is_old else e[0] for e, is_old in zip(earlier, old, strict=True)]
        assert side.column("__prev_1_v").to_pylist() == wanted


@given(ROWS, ENDS, st.integers(1, 3))
def test_asked_again_for_the_same_step_it_gives_the_same(rows: list[tuple[int, int]], ends: list[int], k: int) -> None:
    for begin, window, inlet, end in steps(rows, ends, k):
        inlet.advance(end)
        assert window.advance(inlet, begin, end) is window.advance(inlet, begin, end)
        assert window.stands_at(end - 1)
        assert window.stands_at(begin - 1)


@pytest.mark.parametrize("k", [10**10, 2**63 - 1])
def test_a_window_of_very_many_rows_takes_memory_for_those_that_there_are(k: int) -> None:
    window = keyed_rows.KeyedRows(SCHEMA, "t", ["key"], k)
    for t in range(50):
        numbers = pa.array([3 * t, 3 * t + 1, 3 * t + 2])
        window.take_in(pa.table([pa.array([t % 3, 0, 7]), numbers, pa.array([t] * 3), numbers], schema=SCHEMA))
    assert window.rows == 150
    assert window.bytes < 10_000_000
    assert window.content().num_rows == 150
