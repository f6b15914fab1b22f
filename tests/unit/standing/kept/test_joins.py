"""Joins against nested loops."""

from __future__ import annotations

import itertools
import math
import operator
from typing import Any, get_args

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from millpond.predicate.form import Operator
from millpond.standing.kept import joins, probe
from millpond.standing.kept.delta import JoinFactor, Side, Tuples, new_tuples
from millpond.standing.kept.joins import JoinPairs, StreamWindow
from millpond.standing.kept.newest import Cut

COMPARE = {
    "=": operator.eq,
    "<>": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
operators = st.sampled_from(get_args(Operator))
INT64 = st.integers(-(2**63), 2**63 - 1)
numbers = st.none() | st.integers(-3, 3) | st.sampled_from([2**63 - 1, 2**63 - 2, -(2**63), 1 - 2**63])
offsets = st.integers(-2, 2) | st.sampled_from([2**62, -(2**62), 2**63 - 1, -(2**63)])


def key(value: Any) -> Any:
    return (math.isnan(value), 0.0 if math.isnan(value) else value) if isinstance(value, float) else value


def true(op: str, a: Any, b: Any, offset: int = 0) -> bool:
    if a is None or b is None:
        return False
    if isinstance(a, float) or isinstance(b, float):
        a, b = float(a), float(b) + offset
    elif offset:
        b += offset
    return bool(COMPARE[op](key(a), key(b)))


def pairs(
    a: list[Any], b: list[Any], kinds: tuple[pa.DataType, pa.DataType], op: Operator, offset: int, at_once: int
) -> list[Any]:
    left, right = probe.ranked(pa.chunked_array([a], kinds[0]), pa.chunked_array([b], kinds[1]), offset)
    found = []
    for i, j in probe.probe(left, right, op, at_once):
        assert 0 < len(i) == len(j) <= at_once
        found += zip(i.tolist(), j.tolist(), strict=True)
    crossed = list(itertools.product(range(len(a)), range(len(b))))
    i, j = (np.array(x, dtype=np.int64) for x in (zip(*crossed, strict=True) if crossed else ((), ())))
    held = probe.holds(left.at(i), right.at(j), op)
    assert sorted(found) == [p for p, h in zip(crossed, held.tolist(), strict=True) if h]
    return sorted(found)


@given(st.lists(numbers, max_size=8), st.lists(numbers, max_size=8), operators, offsets, st.integers(1, 9))
def test_probes_of_numbers(a: list[Any], b: list[Any], op: Operator, offset: int, at_once: int) -> None:
    found = pairs(a, b, (pa.int64(), pa.int64()), op, offset, at_once)
    assert found == [(i, j) for i, x in enumerate(a) for j, y in enumerate(b) if true(op, x, y, offset)]


values = {
    "text": (st.none() | st.text(max_size=2), pa.string()),
    "double": (
        st.none() | st.sampled_from([0.0, -0.0, math.nan, math.inf, -math.inf, 0.5]) | st.floats(),
        pa.float64(),
    ),
    "small": (st.none() | st.integers(-128, 127), pa.int8()),
}


@given(
    st.data(),
    st.sampled_from([("text", "text"), ("double", "double"), ("small", "double"), ("double", "small")]),
    operators,
)
def test_probes_of_other_types(data: st.DataObject, names: tuple[str, str], op: Operator) -> None:
    a, b = (data.draw(st.lists(values[n][0], max_size=6)) for n in names)
    offset = 0 if "text" in names else data.draw(st.integers(-2, 2))
    found = pairs(a, b, (values[names[0]][1], values[names[1]][1]), op, offset, 5)
    assert found == [(i, j) for i, x in enumerate(a) for j, y in enumerate(b) if true(op, x, y, offset)]


@pytest.mark.parametrize(
    ("left", "right", "offset", "can"),
    [
        (pa.int8(), pa.int64(), 5, True),
        (pa.float32(), pa.int64(), 5, True),
        (pa.string(), pa.string(), 0, True),
        (pa.string(), pa.string(), 1, False),
        (pa.string(), pa.int64(), 0, False),
        (pa.date32(), pa.date32(), 3, True),
        (pa.date32(), pa.timestamp("us", tz="UTC"), 0, False),
        (pa.decimal128(10, 2), pa.decimal128(10, 2), 0, True),
        (pa.decimal128(10, 2), pa.decimal128(10, 3), 0, False),
        (pa.bool_(), pa.bool_(), 0, False),
    ],
)
def test_what_can_be_compared(left: pa.DataType, right: pa.DataType, offset: int, can: bool) -> None:
    assert probe.can_compare(left, right, offset) is can


Row = tuple[int, int | None, int | None]  # time, a, b
small = st.none() | st.integers(0, 3)
rows = st.lists(st.tuples(st.integers(0, 9), small, small), max_size=5)


def side(given_: list[Row], first: int) -> Side:
    columns = pa.table(
        {"a": pa.array([r[1] for r in given_], pa.int32()), "b": pa.array([r[2] for r in given_], pa.int64())}
    )
    return Side(np.arange(first, first + len(given_)), np.array([r[0] for r in given_], dtype=np.int64), columns)


@st.composite
def factor(draw: st.DrawFn, streams: int) -> JoinFactor:
    left, right = draw(st.permutations(range(streams)))[:2]
    name = st.sampled_from(["a", "b"])
    return JoinFactor(left, draw(name), draw(operators), right, draw(name), draw(st.integers(-1, 1)))


places = st.none() | st.tuples(st.integers(0, 9), st.integers(0, 12))


@settings(max_examples=150)
@given(st.data(), st.sampled_from([2, 3]), st.integers(1, 20), st.booleans())
def test_new_tuples_come_once(data: st.DataObject, streams: int, at_once: int, one_window: bool) -> None:
    factors = data.draw(st.lists(factor(streams), max_size=3))
    ticks = data.draw(st.lists(st.tuples(*[rows] * streams), max_size=3))
    kept, held = JoinPairs(streams), [list[Row]() for _ in range(streams)]
    old = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(joins, "_WHOLE", 10)
        for tick in ticks:
            before = [side(h, 0) for h in held]
            new = [side(rows_, len(h)) for rows_, h in zip(tick, held, strict=True)]
            for part in new_tuples(before, new, factors, at_once):
                assert 0 < len(part) <= at_once
                kept.append(part)
            held = [[*h, *rows_] for h, rows_ in zip(held, tick, strict=True)]
            old.append((kept.snapshot, held))
    if one_window:
        windows = [data.draw(st.builds(StreamWindow, st.integers(-1, 10), st.integers(-1, 10)))] * streams
    else:
        ends = st.builds(StreamWindow, st.integers(-1, 5), st.integers(3, 10), st.integers(0, 3), st.integers(3, 12),
                         st.builds(Cut, places, places))  # fmt: skip
        windows = [data.draw(ends) for _ in range(streams)]
    forget = data.draw(st.integers(-1, 5))
    kept.forget_before(forget)
    for snapshot, then in [*old, (kept.snapshot, held)]:
        times = [np.array([r[0] for r in h], dtype=np.int64) for h in then]
        found = snapshot.of(windows, () if one_window else [t.__getitem__ for t in times])
        answer = list(zip(*(s.tolist() for s in found), strict=True))
        wanted = [
            at
            for at in itertools.product(*(range(len(h)) for h in then))
            if all(
                true(
                    f.operator,
                    then[f.left][at[f.left]]["_ab".index(f.left_column)],
                    then[f.right][at[f.right]]["_ab".index(f.right_column)],
                    f.offset,
                )
                for f in factors
            )
            and all(
                w.low <= then[s][p][0] <= w.high
                and w.from_seq <= p < w.below_seq
                and (w.cut.low is None or (then[s][p][0], p) >= w.cut.low)
                and (w.cut.high is None or (then[s][p][0], p) <= w.cut.high)
                for s, (p, w) in enumerate(zip(at, windows, strict=True))
            )
            and (snapshot is not kept.snapshot or min(then[s][p][0] for s, p in enumerate(at)) >= forget)
        ]
        assert sorted(answer) == wanted
        for run in snapshot.runs:
            assert (run.earliest[1:] >= run.earliest[:-1]).all()
        assert snapshot.needed(0).tolist() == sorted({s for run in snapshot.runs for s in run.seqs[0].tolist()})


def test_many_appends_are_few_runs_and_forgetting_gives_memory_back() -> None:
    kept = JoinPairs(2)
    for i in range(1000):
        one = np.array([i])
        kept.append(Tuples((one, one), one - i % 3, one))
    assert len(kept.snapshot.runs) <= 10
    assert kept.bytes == 32 * 1000
    kept.forget_before(900)
    assert kept.bytes < 32 * 300
    assert len(kept.snapshot.of([StreamWindow()] * 2)[0]) == 100
    kept.forget_before(5000)
    assert kept.bytes == 0
