"""An inlet against a list: whatever batches rows come in, it holds them once, in the order of time."""

from __future__ import annotations

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from millpond.network.time.inlet import Inlet
from millpond.network.time.instants import arrivals, slides

SCHEMA = pa.schema([("v", pa.int64()), ("t", pa.int64()), ("_seq", pa.int64())])
Row = tuple[int, int]  # time, row number

# Steps: rows of some times come, or time is complete below a value. Few different times, so that they often meet a border.
STEPS = st.lists(st.one_of(st.lists(st.integers(0, 6), min_size=1, max_size=8), st.integers(0, 8)), max_size=12)


def table(rows: list[Row]) -> pa.Table:
    columns = [[10 * n for _, n in rows], [t for t, _ in rows], [n for _, n in rows]]
    return pa.table([pa.array(c, pa.int64()) for c in columns], schema=SCHEMA)


def pairs(rows: pa.Table) -> list[Row]:
    assert rows.column("v").to_pylist() == [10 * n for n in rows.column("_seq").to_pylist()], "columns moved apart"
    return list(zip(rows.column("t").to_pylist(), rows.column("_seq").to_pylist(), strict=True))


def played(steps: list[list[int] | int]) -> tuple[Inlet, list[Row]]:
    """An inlet after the steps, and the rows it must hold below its complete time, in order."""
    inlet, offered, complete, number = Inlet(SCHEMA, "t"), [], -1, 0
    for step in steps:
        if isinstance(step, int):
            inlet.advance(step)
            complete = max(complete, step)
            continue
        rows = [(t, number + i) for i, t in enumerate(step)]
        number += len(rows)
        inlet.push(table(rows))
        offered += [row for row in rows if row[0] >= complete]  # earlier ones are late
    return inlet, sorted(row for row in offered if row[0] < complete)


@given(STEPS, st.integers(-1, 9), st.integers(-1, 9))
def test_rows_between_two_times_are_those_that_came_in_order(steps: list[list[int] | int], low: int, high: int) -> None:
    inlet, rows = played(steps)
    assert pairs(inlet.between(low, high)) == [row for row in rows if low <= row[0] <= high]


@given(STEPS, st.integers(1, 10), st.integers(-1, 9))
def test_the_newest_rows_are_the_last_of_those_before(steps: list[list[int] | int], count: int, high: int) -> None:
    inlet, rows = played(steps)
    assert pairs(inlet.newest(count, high)) == [row for row in rows if row[0] <= high][-count:]


@given(STEPS, st.integers(-1, 9))
def test_next_and_last_times(steps: list[list[int] | int], time: int) -> None:
    inlet, rows = played(steps)
    assert inlet.next_time(time) == min((t for t, _ in rows if t >= time), default=None)
    assert inlet.last_time(time) == max((t for t, _ in rows if t <= time), default=None)
    assert inlet.first_time() == (rows[0][0] if rows else None)


@given(STEPS, st.integers(0, 9), st.integers(0, 4))
def test_trimming_forgets_old_rows_and_keeps_as_many_as_asked(
    steps: list[list[int] | int], before: int, keep: int
) -> None:
    inlet, rows = played(steps)
    inlet.trim(before, keep=keep)
    old = [row for row in rows if row[0] < before]
    wanted = [row for row in rows if row[0] >= before]
    assert pairs(inlet.between(before, 99)) == wanted
    if keep:
        assert pairs(inlet.newest(keep, before - 1)) == old[-keep:]


@given(st.lists(st.lists(st.integers(0, 6)), max_size=4), st.integers(0, 7), st.integers(0, 7))
def test_arrivals_are_the_distinct_times_of_all_streams(streams: list[list[int]], begin: int, end: int) -> None:
    inlets = [played([times, 7])[0] for times in streams]
    found = arrivals([t for inlet in inlets for t in inlet.times()], begin, end)
    assert found == sorted({t for times in streams for t in times if begin <= t < end})


@given(st.integers(-50, 50), st.integers(-50, 50), st.integers(1, 9))
def test_slides_are_the_multiples_in_between(begin: int, end: int, slide: int) -> None:
    assert list(slides(begin, end, slide)) == [t for t in range(begin, end) if t % slide == 0]
