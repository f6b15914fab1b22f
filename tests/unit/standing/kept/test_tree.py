"""Trees of aggregates against plain Python over all rows."""

from __future__ import annotations

import math
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import millpond
from millpond.standing.kept import levels, segments, tree
from millpond.standing.kept.newest import Cut
from millpond.standing.kept.parts import Function, Measure, serves
from millpond.standing.kept.tree import AggregateTree, Tree

SCHEMA = pa.schema(
    [
        ("tiny", pa.int8()),
        ("big", pa.int64()),
        ("price", pa.decimal128(18, 4)),
        ("load", pa.float64()),
        ("ratio", pa.float32()),
        ("day", pa.date32()),
        ("at", pa.timestamp("us", tz="UTC")),
        ("name", pa.string()),
        ("flag", pa.bool_()),
    ]
)
NUMBERS = ["tiny", "big", "price", "load", "ratio"]
MEASURES = [
    Measure("count"),
    Measure("count", "flag"),
    *(Measure(f, c) for c in NUMBERS for f in ("count", "sum", "avg", "min", "max")),  # type: ignore[arg-type]
    *(Measure(f, c) for c in ("day", "at", "name") for f in ("min", "max")),  # type: ignore[arg-type]
]
Row = dict[str, Any]
Placed = tuple[int, int, Row]  # time, number, row

floats32 = st.floats(width=32)
rows = st.fixed_dictionaries(
    {
        "tiny": st.none() | st.integers(-128, 127),
        "big": st.none() | st.integers(-3, 3) | st.integers(-(2**62), 2**62),
        "price": st.none() | st.integers(-(10**18) + 1, 10**18 - 1).map(lambda n: Decimal(n).scaleb(-4)),
        "load": st.none() | st.sampled_from([0.1, -0.0, 1e16, -1e16, math.inf, -math.inf, math.nan]) | st.floats(),
        "ratio": st.none() | floats32,
        "day": st.none() | st.dates(date(1990, 1, 1), date(2030, 1, 1)),
        "at": st.none()
        | st.integers(0, 10**15).map(lambda n: datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=n)),
        "name": st.none() | st.text(max_size=2),
        "flag": st.none() | st.booleans(),
    }
)


def order(value: Any) -> Any:
    """NaN is the greatest."""
    return (math.isnan(value), 0.0 if math.isnan(value) else value) if isinstance(value, float) else value


def naive(measure: Measure, given_: list[Row]) -> Any:
    if measure.column is None:
        return len(given_)
    kind = SCHEMA.field(measure.column).type
    values = [r[measure.column] for r in given_ if r[measure.column] is not None]
    if measure.function == "count":
        return len(values)
    if not values:
        return None
    if measure.function in ("min", "max"):
        found = (min if measure.function == "min" else max)(values, key=order)
        return found + 0.0 if isinstance(found, float) else found
    if pa.types.is_floating(kind):
        total = exact(values)
        return total if measure.function == "sum" else total / len(values)
    if kind == pa.int64() and measure.function == "sum" and not -(2**63) <= sum(values) < 2**63:
        raise OverflowError
    if measure.function == "sum":
        return sum(values)
    if isinstance(values[0], int):
        return float(sum(values)) / len(values)
    mean = Fraction(sum(map(Fraction, values)), len(values)) * 10**8
    return Decimal(int(abs(mean) + Fraction(1, 2))).scaleb(-8) * (1 if mean >= 0 else -1)


def exact(values: list[float]) -> float:
    if any(map(math.isnan, values)) or {math.inf, -math.inf} <= set(values):
        return math.nan
    if any(map(math.isinf, values)):
        return next(v for v in values if math.isinf(v))
    total = sum(map(Fraction, values))
    try:
        return float(total)
    except OverflowError:
        return math.inf if total > 0 else -math.inf


def plain(value: Any) -> Any:
    return "NaN" if isinstance(value, float) and math.isnan(value) else value


def table(given_: list[Row], schema: pa.Schema = SCHEMA) -> pa.Table:
    return pa.Table.from_pylist(given_, schema=schema)


def ints(values: Any) -> Any:
    return np.array(values, dtype=np.int64)


def check(
    snapshot: Tree,
    held: list[Placed],
    low: int,
    high: int,
    below: int | None,
    also: list[Placed],
    cut: Cut | None = None,
) -> None:
    keys, cut = snapshot.shape.keys, cut or Cut()
    inside = [
        r
        for t, s, r in held
        if low <= t <= high
        and (below is None or s < below)
        and (cut.low is None or (t, s) >= cut.low)
        and (cut.high is None or (t, s) <= cut.high)
    ]
    inside += [r for t, _, r in also if low <= t <= high]
    wanted: dict[Any, list[Row]] = {} if keys else {(): []}
    for row in inside:
        wanted.setdefault(tuple(plain(row[k]) for k in keys), []).append(row)
    extra = (table([r for _, _, r in also]), ints([t for t, _, _ in also]))
    try:
        expected = {k: [plain(naive(m, rs)) for m in snapshot.shape.measures] for k, rs in wanted.items()}
    except OverflowError:
        with pytest.raises(millpond.EngineError, match='the sum of "big" is too large for BIGINT'):
            snapshot.ask(low, high, below, extra, cut)
        return
    found = snapshot.ask(low, high, below, extra, cut)
    answer = {
        tuple(map(plain, row[: len(keys)])): list(map(plain, row[len(keys) :]))
        for row in zip(*(c.to_pylist() for c in found.columns), strict=True)
    }
    assert found.num_rows == len(expected)
    assert answer == expected


ops = st.one_of(
    st.tuples(st.just("append"), st.lists(st.tuples(st.integers(0, 30), rows), max_size=12)),
    st.tuples(st.just("append"), st.lists(st.tuples(st.integers(0, 30), rows), max_size=40)),
    st.tuples(st.just("forget"), st.integers(0, 20)),
)
windows = st.tuples(st.integers(-1, 31), st.integers(-1, 31), st.none() | st.integers(0, 60))

places = st.none() | st.tuples(st.integers(-1, 31), st.integers(0, 60))


@settings(max_examples=60)
@given(
    st.lists(ops, max_size=6),
    st.lists(windows, max_size=3),
    st.lists(st.tuples(st.integers(0, 30), rows), max_size=4),
    st.sampled_from([(), ("tiny",), ("name", "flag"), ("load",)]),
    st.lists(st.sampled_from(MEASURES), min_size=1, max_size=4),
    st.sampled_from([1, 5, 512]),
    st.builds(Cut, places, places),
)
def test_answers_are_those_of_all_rows(
    done: list[Any],
    asked: list[tuple[int, int, int | None]],
    also: list[tuple[int, Row]],
    keys: tuple[str, ...],
    measures: list[Measure],
    waiting: int,
    cut: Cut,
) -> None:
    kept, held, seq, frontier = AggregateTree(SCHEMA, measures, keys), list[Placed](), 0, -100
    old: list[tuple[Tree, list[Placed], int]] = []
    fresh = [(t, -1, r) for t, r in also]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(levels, "FAN_OUT", 3)
        patch.setattr(segments, "LONGEST", 7)
        patch.setattr(tree, "_WAITING_ROWS", waiting)
        patch.setattr(tree, "_SPARE_GROUPS", 0)
        for what, given_ in done:
            if what == "append":
                new = [(t, seq + i, r) for i, (t, r) in enumerate(given_)]
                seq += len(new)
                kept.append(table([r for _, _, r in new]), ints([t for t, _, _ in new]), ints([s for _, s, _ in new]))
                held = held + new
            else:
                kept.forget_before(given_)
                frontier = max(frontier, given_)
            old.append((kept.snapshot, held, frontier))
            assert kept.snapshot.after < max(frontier, 0) or not kept.snapshot.segments
        for snapshot, then, known in old:
            for low, high, below in [*asked, (0, 30, None)]:
                check(snapshot, then, max(low, known), high, below, fresh)
                check(snapshot, then, max(low, known), high, below, [], cut)


def test_a_big_tree_answers_as_all_rows_do() -> None:
    rng = np.random.default_rng(5)
    n = 40_000
    times = np.arange(n) - rng.integers(0, 200, n) * (rng.random(n) < 0.05)
    a, g = rng.integers(-1000, 1000, n), rng.integers(0, 20, n)
    schema = pa.schema([("a", pa.int64()), ("x", pa.float64()), ("g", pa.int32())])
    whole = pa.table({"a": a, "x": rng.normal(0, 1e3, n), "g": g.astype(np.int32)}, schema=schema)
    x = np.array(whole.column("x"))
    plain_tree = AggregateTree(
        schema, [Measure("count"), Measure("sum", "a"), Measure("sum", "x"), Measure("max", "a")]
    )
    grouped = AggregateTree(schema, [Measure("sum", "a"), Measure("min", "x")], ["g"])
    at = 0
    while at < n:
        step = int(rng.choice([1, 10, 3000, 9000]))
        for each in (plain_tree, grouped):
            each.append(whole.slice(at, step), times[at : at + step], np.arange(at, min(at + step, n)))
        at += step
    assert len(plain_tree.snapshot.segments) < 2 * n / segments.LONGEST + 2
    for _ in range(60):
        low, high = sorted(rng.integers(-10, n + 10, 2).tolist())
        below = int(rng.integers(n - 2000, n + 1))
        inside = (times >= low) & (times <= high) & (np.arange(n) < below)
        (row,) = plain_tree.snapshot.ask(low, high, below).to_pylist()
        assert row["0"] == inside.sum()
        if row["0"]:
            assert (row["1"], row["2"], row["3"]) == (a[inside].sum(), math.fsum(x[inside]), a[inside].max())
        found = {r["g"]: (r["0"], r["1"]) for r in grouped.snapshot.ask(low, high, below).to_pylist()}
        assert found == {int(k): (a[inside & (g == k)].sum(), x[inside & (g == k)].min()) for k in np.unique(g[inside])}


def test_types_are_those_of_spark() -> None:
    kept = AggregateTree(SCHEMA, MEASURES)
    names = [str(kept.snapshot.ask().schema.field(i).type) for i in range(len(MEASURES))]
    kept.append(table([dict.fromkeys(SCHEMA.names)]), ints([1]), ints([1]))
    assert [str(t) for t in kept.snapshot.ask().schema.types] == names
    kinds = dict(zip(((m.function, m.column) for m in MEASURES), names, strict=True))
    assert kinds["sum", "tiny"] == kinds["sum", "big"] == kinds["count", None] == "int64"
    assert kinds["avg", "tiny"] == kinds["avg", "big"] == kinds["sum", "ratio"] == kinds["avg", "load"] == "double"
    assert (kinds["sum", "price"], kinds["avg", "price"]) == ("decimal128(28, 4)", "decimal128(22, 8)")
    assert [kinds["max", c] for c in ("tiny", "price", "ratio", "day", "at", "name")] == [
        str(SCHEMA.field(c).type) for c in ("tiny", "price", "ratio", "day", "at", "name")
    ]


@pytest.mark.parametrize(
    ("function", "kind", "can"),
    [
        ("count", None, True),
        ("sum", None, False),
        ("count", pa.binary(), True),
        ("sum", pa.int16(), True),
        ("sum", pa.decimal128(19, 2), False),
        ("avg", pa.date32(), False),
        ("max", pa.date32(), True),
        ("min", pa.string(), True),
        ("sum", pa.string(), False),
        ("min", pa.bool_(), False),
        ("stddev", pa.float64(), False),
    ],
)
def test_what_can_be_kept(function: Function, kind: pa.DataType | None, can: bool) -> None:
    assert serves(function, kind) is can


def test_sums_that_overflow_in_between_do_not_fail() -> None:
    schema = pa.schema([("a", pa.int64())])
    kept = AggregateTree(schema, [Measure("sum", "a")])
    values = [2**63 - 1] * 700 + [-(2**63 - 1)] * 700
    kept.append(pa.table({"a": values}, schema=schema), np.arange(1400), np.arange(1400))
    assert kept.snapshot.ask().column(0).to_pylist() == [0]
    with pytest.raises(millpond.EngineError, match='the sum of "a" is too large for BIGINT'):
        kept.snapshot.ask(0, 1)


def test_groups_without_rows_are_given_back() -> None:
    schema = pa.schema([("user", pa.int64())])
    kept = AggregateTree(schema, [Measure("count")], ["user"])
    for i in range(0, 40_000, 1000):
        users = np.arange(i, i + 1000)
        kept.append(pa.table({"user": users}, schema=schema), users, users)
    full = kept.bytes
    kept.forget_before(39_500)
    assert kept.bytes < full / 3
    assert kept.snapshot.groups.size < 8192
    assert kept.snapshot.ask(39_990).sort_by("user").to_pylist() == [{"user": u, "0": 1} for u in range(39_990, 40_000)]
    assert kept.snapshot.after < 39_500
    kept.append(pa.table({"user": [39_999, 7]}, schema=schema), ints([40_000, 40_001]), ints([40_000, 40_001]))
    assert kept.snapshot.ask(39_999).sort_by("user").to_pylist() == [{"user": 7, "0": 1}, {"user": 39_999, "0": 2}]
