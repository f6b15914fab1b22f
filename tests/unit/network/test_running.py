"""Running aggregates against lists: the same numbers, whatever the batches."""

from __future__ import annotations

import math
from decimal import ROUND_HALF_UP, Decimal
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import millpond
from millpond.network.aggregates.functions.sums import EXACT
from millpond.network.aggregates.running import Aggregate, Running
from millpond.network.aggregates.shape import Item, Shape

SCHEMA = pa.schema([("k", pa.int32()), ("name", pa.string()), ("x", pa.int32()), ("t", pa.int64())])
MEASURES = [("count", None), ("count", "x"), ("sum", "x"), ("avg", "x"), ("min", "x"), ("max", "x")]
ITEMS = (Item("k"), Item("name"), *(Item("", Aggregate(*m)) for m in MEASURES))

rows_of = st.lists(
    st.tuples(
        st.sampled_from([None, 1, 2, 7]), st.sampled_from(["a", "b"]), st.sampled_from([None, 0, 0, 5, -3]),
        st.integers(0, 6),
    ),
    max_size=30,
)  # fmt: skip


def expected(rows: list[tuple]) -> dict[tuple, tuple]:
    """The result over rows, by group."""
    groups: dict[tuple, list] = {}
    for k, name, x, _ in rows:
        groups.setdefault((k, name), []).append(x)
    found = {}
    for key, values in groups.items():
        known = [v for v in values if v is not None]
        mean = sum(known) / len(known) if known else None
        ends = (min(known), max(known)) if known else (None, None)
        found[key] = (*key, len(values), len(known), sum(known) if known else None, mean, *ends)
    return found


@pytest.mark.parametrize("groups", [("k", "name"), ("k",)], ids=["two columns", "one integer"])
@settings(max_examples=60, deadline=None)
@given(rows=rows_of, cut=st.integers(0, 7), form=st.sampled_from(["istream", "dstream"]))
def test_changes_are_the_differences_of_the_results(groups: tuple, rows: list, cut: int, form: str) -> None:
    rows = sorted(rows, key=lambda r: r[3])
    if groups == ("k",):
        rows = [(k, None, x, t) for k, _, x, t in rows]
    items = tuple(i for i in ITEMS if i != Item("name") or "name" in groups)
    running = Running(Shape(groups, items), SCHEMA, -1)
    found: list[tuple] = []
    for low, high in ((0, cut), (cut, 8)):
        part = [r for r in rows if low <= r[3] < high]
        table = pa.Table.from_arrays([pa.array(c, f.type) for c, f in zip(zip(*part, strict=True), SCHEMA, strict=True)]
                                     if part else [pa.array([], f.type) for f in SCHEMA], schema=SCHEMA)  # fmt: skip
        sent, moments = running.changes(table, np.array([r[3] for r in part], dtype=np.int64), form)
        columns = [c.to_pylist() for c in sent.columns]
        found += zip(*columns, moments.tolist(), strict=True)

    def shown(row: tuple) -> tuple:
        return row if "name" in groups else (row[0], *row[2:])

    wanted: list[tuple] = []
    for t in range(7):
        before = set(expected([r for r in rows if r[3] < t]).values())
        after = set(expected([r for r in rows if r[3] <= t]).values())
        change = after - before if form == "istream" else before - after
        wanted += [(*shown(r), t) for r in change]
    assert sorted(found, key=repr) == sorted(wanted, key=repr)
    assert [f[-1] for f in found] == sorted(f[-1] for f in found)


doubles = st.one_of(
    st.sampled_from([None, 0.1, -0.1, 1e308, -1e308, 5e-324, -0.0, math.nan, math.inf, -math.inf]),
    st.floats(allow_nan=False, allow_infinity=False),
)
decimals = st.one_of(st.none(), st.decimals(-999999, 999999, places=2))


@settings(max_examples=80, deadline=None)
@given(rows=st.lists(st.tuples(st.sampled_from([1, 2]), doubles, decimals), max_size=25), cut=st.integers(0, 25))
def test_sums_of_doubles_and_decimals_are_the_true_ones_whatever_the_batches(rows: list, cut: int) -> None:
    schema = pa.schema([("k", pa.int32()), ("x", pa.float64()), ("p", pa.decimal128(8, 2))])
    measures = [(f, c) for c in ("x", "p") for f in ("sum", "avg", "min", "max", "distinct")]
    shape = Shape(("k",), (Item("k"), *(Item("", Aggregate(*m)) for m in measures)))
    held = Running(shape, schema, -1)
    for part in (rows[:cut][::-1], rows[cut:]):
        table = pa.Table.from_pylist([dict(zip(schema.names, r, strict=True)) for r in part], schema=schema)
        held.take_in(table, np.zeros(len(part), dtype=np.int64))
    found = {row[0]: row[1:] for row in zip(*(c.to_pylist() for c in held.content().columns), strict=True)}
    assert set(found) == {r[0] for r in rows}
    for k, shown in found.items():
        xs = [r[1] for r in rows if r[0] == k and r[1] is not None]
        ps = [r[2] for r in rows if r[0] == k and r[2] is not None]
        assert [repr(v) for v in shown] == [repr(v) for v in (*_of_doubles(xs), *_of_decimals(ps))]


def _of_doubles(xs: list[float]) -> tuple:
    if not xs:
        return (None, None, None, None, 0)
    xs = [x + 0.0 for x in xs]
    finite = [Fraction(x) for x in xs if math.isfinite(x)]
    odd = sum(x for x in xs if not math.isfinite(x))
    try:
        total = odd if odd or math.isnan(odd) else float(sum(finite))
    except OverflowError:
        total = math.inf if sum(finite) > 0 else -math.inf
    known = [x for x in xs if not math.isnan(x)]
    least = min(known) if known else math.nan
    most = math.nan if len(known) < len(xs) else max(known)
    return (total, total / len(xs), least, most, len(set(known)) + (len(known) < len(xs)))


def _of_decimals(ps: list[Decimal]) -> tuple:
    if not ps:
        return (None, None, None, None, 0)
    mean = (sum(ps) / len(ps)).quantize(Decimal("0.000001"), rounding=ROUND_HALF_UP)
    return (sum(ps), mean, min(ps), max(ps), len(set(ps)))


def test_the_distinct_values_that_are_held_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("millpond.network.aggregates.running.MOST_DISTINCT", 3)
    schema = pa.schema([("x", pa.int64())])
    held = Running(Shape((), (Item("", Aggregate("distinct", "x")),)), schema, -1)
    held.take_in(pa.table({"x": [1, 2, 1, None]}, schema=schema), np.zeros(4, dtype=np.int64))
    assert held.content().column(0).to_pylist() == [2]
    with pytest.raises(millpond.EngineError, match="more than 3 values"):
        held.take_in(pa.table({"x": [3, 4]}, schema=schema), np.zeros(2, dtype=np.int64))


def test_a_sum_of_decimals_fails_beyond_its_type() -> None:
    schema = pa.schema([("p", pa.decimal128(28, 0))])
    held = Running(Shape((), (Item("", Aggregate("sum", "p")),)), schema, -1)
    held.take_in(pa.table({"p": [Decimal(10**28 - 1)]}, schema=schema), np.zeros(1, dtype=np.int64))
    held._kept[EXACT, "p"][0] = 10**38
    with pytest.raises(millpond.EngineError, match="too large for DECIMAL"):
        held.content()


def test_balances_go_on_after_a_restart(tmp_path: object) -> None:
    folder = f"{tmp_path}/pond"
    with millpond.connect(folder, shards=2) as db:
        db.sql("CREATE STREAMING TABLE charges (vid INT, toll INT, t BIGINT) TIMESTAMP BY t SHARD BY vid")
        db.sql(
            "CREATE CONTINUOUS QUERY balances AS SELECT ISTREAM vid, SUM(toll) AS balance, COUNT(*) AS n"
            " FROM charges [UNBOUNDED] WHERE toll > 0 GROUP BY vid SAMPLE REALTIME"
        )
        db.append("charges", [(1, 10, 0), (2, 5, 0), (1, 0, 1), (1, 7, 2), (3, 1, 3)])
        db.tick()
        seen = db.resume("balances").fetch().rows()
    with millpond.connect(folder) as db:
        db.append("charges", [(2, 5, 4), (1, 1, 4), (9, 9, 5)])
        db.tick()
        seen += db.resume("balances", after=2).fetch().rows()
    assert sorted((instant, *row) for *row, instant, _ in seen) == [
        (0, 1, 10, 1), (0, 2, 5, 1), (2, 1, 17, 2), (3, 3, 1, 1), (4, 1, 18, 3), (4, 2, 10, 2),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("select", "reason"),
    [
        ("SELECT vid, toll FROM charges [UNBOUNDED]", "it has neither GROUP BY nor aggregates"),
        ("SELECT vid, STDDEV(toll) AS s FROM charges [UNBOUNDED] GROUP BY vid", "is not COUNT, SUM, AVG, MIN or MAX"),
        ("SELECT vid, SUM(DISTINCT toll) AS s FROM charges [UNBOUNDED] GROUP BY vid", "is of distinct values"),
        (
            "SELECT SUM(toll) AS s FROM charges [UNBOUNDED] GROUP BY vid",
            "it does not select vid, which it is grouped by",
        ),
        ("SELECT vid, MAX(name) AS s FROM charges [UNBOUNDED] GROUP BY vid", "is of STRING"),
        (
            "SELECT vid, COUNT(*) FILTER (WHERE toll > 1) AS s FROM charges [UNBOUNDED] GROUP BY vid",
            "neither a group's",
        ),
        ("SELECT vid, COUNT(*) AS n FROM charges [UNBOUNDED] GROUP BY ROLLUP (vid)", "it has no plain GROUP BY"),
        ("SELECT vid, COUNT(*) AS n FROM charges [UNBOUNDED] GROUP BY vid ORDER BY n", "it has ORDER BY"),
    ],
    ids=["rows", "deviation", "distinct", "hidden", "text", "filter", "rollup", "order"],
)
def test_what_cannot_be_kept_is_refused_with_the_reason(tmp_path: object, select: str, reason: str) -> None:
    with millpond.connect(f"{tmp_path}/pond") as db:
        db.sql("CREATE STREAMING TABLE charges (vid INT, toll INT, name STRING, t BIGINT) TIMESTAMP BY t")
        with pytest.raises(millpond.UnsupportedSql) as refusal:
            db.sql(f"CREATE CONTINUOUS QUERY q AS {select} SAMPLE REALTIME")
    assert reason in str(refusal.value)


@pytest.mark.parametrize(
    ("values", "fits"),
    [
        ([2**62, 2**62 - 1], True),
        ([2**62, 2**62], False),
        ([2**62] * 4, False),  # which goes round to 0
        ([-(2**63), 1], True),
        ([-(2**63), -1], False),
        ([2**63 - 1, 2**63 - 1, -(2**63), -(2**63) + 1], True),
    ],
    ids=["most", "one more", "round", "least", "one less", "there and back"],
)
def test_a_sum_is_exact_up_to_the_end_of_bigint_and_fails_beyond(values: list[int], fits: bool) -> None:
    schema = pa.schema([("k", pa.int32()), ("x", pa.int64())])
    shape = Shape(("k",), (Item("k"), Item("", Aggregate("sum", "x"))))
    rows = pa.Table.from_pydict({"k": [1] * len(values), "x": values}, schema=schema)

    def found(batch: int) -> list[int]:
        running = Running(shape, schema, -1)
        for i in range(0, len(values), batch):
            part = rows.slice(i, batch)
            running.take_in(part, np.zeros(part.num_rows, dtype=np.int64))
        return running.content().column("1").to_pylist()

    if fits:
        assert found(len(values)) == [sum(values)]
        return
    for batch in (1, len(values)):
        with pytest.raises(millpond.EngineError, match="too large for BIGINT"):
            found(batch)


def test_all_nans_are_one_group(tmp_path: object) -> None:
    with millpond.connect(f"{tmp_path}/pond", shards=2) as db:
        db.sql("CREATE STREAMING TABLE p (vid INT, x DOUBLE, t BIGINT) TIMESTAMP BY t SHARD BY vid")
        db.sql("CREATE CONTINUOUS QUERY q AS SELECT x, COUNT(*) AS n FROM p [UNBOUNDED] GROUP BY x SAMPLE INTERVAL 1")
        db.sql("CREATE CONTINUOUS QUERY w AS SELECT COUNT(*) AS n FROM p [x ROWS 1] SAMPLE INTERVAL 1")
        nan = float("nan")
        db.append("p", [(1, nan, 1), (2, nan, 1), (1, 0.0, 1), (2, -0.0, 1), (1, nan, 1)])
        db.advance("p", 2)
        db.tick()
        assert sorted(row[1] for row in db.sql("SELECT * FROM q").rows()) == [2, 3]
        assert db.sql("SELECT n FROM w").rows() == [(2,)]


def test_now_is_refused_where_a_window_only_grows(tmp_path: object) -> None:
    with millpond.connect(f"{tmp_path}/pond", shards=2) as db:
        db.sql("CREATE STREAMING TABLE p (vid INT, t BIGINT) TIMESTAMP BY t SHARD BY vid")
        with pytest.raises(millpond.MillpondError, match="grows without bound") as caught:
            db.sql("CREATE CONTINUOUS QUERY q AS SELECT vid, COUNT(*) AS n FROM p [UNBOUNDED] WHERE t > NOW() - 2 "
                   "GROUP BY vid SAMPLE INTERVAL 1")  # fmt: skip
        assert "NOW()" in str(caught.value)
