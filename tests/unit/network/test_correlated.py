"""Correlated aggregates in SQL: the truth is within the bounds, whatever batches, landmarks, shards and restarts there are."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import millpond
from millpond.network.aggregates import correlated
from millpond.network.aggregates.correlated import CorrelatedMeasure, Correlations
from millpond.network.aggregates.shape import Item, Shape
from millpond.synopses.correlated import Limit, Predicate, exactly
from tests.laws.correlating import BUCKETS, CALLS, FUNCTIONS, RANGES, Call
from tests.unit.network.keeping import kept_often

SCHEMA = pa.schema(
    [("k", pa.int32()), ("name", pa.string()), ("x", pa.int64()), ("y", pa.float64()), ("t", pa.int64())]
)
SHOWN = ("value", "lower", "upper")


def measure(call: Call) -> CorrelatedMeasure:
    ends = [None if e is None else Limit(float(e[0]), float(e[1]), e[2]) for e in (call.range.low, call.range.high)]
    y = "x" if call.own or call.function == "COUNT" else "y"
    predicate = Predicate(call.range.independent, *ends)  # type: ignore[arg-type]
    return CorrelatedMeasure(call.function.lower(), predicate, "x", y, BUCKETS)


def table(rows: list[tuple]) -> pa.Table:
    columns = list(zip(*rows, strict=True)) if rows else [[] for _ in SCHEMA]
    return pa.Table.from_arrays([pa.array(c, f.type) for c, f in zip(columns, SCHEMA, strict=True)], schema=SCHEMA)


def check(found: pa.Table, groups: tuple[str, ...], calls: list[Call], rows: list[tuple]) -> None:
    truth: dict[tuple, list] = {} if groups else {(): []}
    for k, name, x, y, _ in rows:
        truth.setdefault(tuple({"k": k, "name": name}[g] for g in groups), []).append((x, y))
    shown = list(zip(*(c.to_pylist() for c in found.columns), strict=True))
    assert sorted((r[: len(groups)] for r in shown), key=repr) == sorted(truth, key=repr)
    for row in shown:
        for place, call in enumerate(calls):
            call.check(row[len(groups) + 3 * place :][:3], truth[row[: len(groups)]], exact=False)


def listed(found: pa.Table) -> list[str]:
    return sorted(repr(row) for row in found.to_pylist())


def in_parts(rows: list[tuple], low: int, high: int) -> Iterator[list[tuple]]:
    for begin in range(low, high + 1, 5):
        yield [r for r in rows if begin <= r[4] <= min(begin + 4, high)]


@pytest.mark.parametrize("groups", [("k", "name"), ("k",), ()], ids=["two columns", "one integer", "none"])
@settings(max_examples=15, deadline=None)
@given(data=st.data(), seed=st.integers(0, 10_000), between=st.sampled_from([1, 7, 30, 1000]))
def test_the_truth_since_the_landmark_is_within_the_bounds_and_a_restart_changes_nothing(
    groups: tuple[str, ...], data: Any, seed: int, between: int
) -> None:
    rng = np.random.default_rng(seed)
    times = np.sort(rng.integers(-20, 60, 300)).tolist()
    x, y = rng.integers(-5, data.draw(st.sampled_from([0, 12, 200])), 300), rng.integers(-9, 10, 300)
    rows = [
        (int(k) or None, str(n), None if a % 11 == 0 else int(a), None if b % 7 == 0 else int(b), t)
        for k, n, a, b, t in zip(rng.integers(0, 4, 300), rng.choice(["a", "b"], 300), x, y, times, strict=True)
    ]
    calls = data.draw(st.lists(st.sampled_from(CALLS), min_size=1, max_size=3, unique=True))
    items = [Item("", measure(call), shown) for call in calls for shown in SHOWN]
    shape = Shape(groups, (*(Item(g) for g in groups), *items))
    chosen = sorted(data.draw(st.sets(st.integers(-25, 75), min_size=1, max_size=6)))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(correlated, "KEPT", data.draw(st.sampled_from([0, 3, 32])))
        hold_and_restart(shape, calls, rows, chosen, between)


def hold_and_restart(shape: Shape, calls: list[Call], rows: list[tuple], chosen: list[int], between: int) -> None:
    held = Correlations(shape, SCHEMA, -30, between)
    for instant in chosen:
        part = [r for r in rows if held.upto < r[4] <= instant]
        held.upto = instant
        held.take_in(table(part), np.array([r[4] for r in part], dtype=np.int64))
        content = held.content()
        check(content, shape.groups, calls, [r for r in rows if instant // between * between <= r[4] <= instant])
    again = Correlations(shape, SCHEMA, chosen[-1], between)
    for part in in_parts(rows, again.first_missing, again.upto):
        again.take_in(table(part), np.array([r[4] for r in part], dtype=np.int64))
    assert listed(again.content()) == listed(content)


@pytest.mark.parametrize("groups", [("k", "name"), ("k",), ()], ids=["two columns", "one integer", "none"])
@settings(max_examples=10, deadline=None)
@given(data=st.data(), seed=st.integers(0, 10_000), between=st.sampled_from([7, 30, 1000]), share=st.integers(1, 4))
def test_a_snapshot_taken_over_many_ticks_and_the_rows_since_are_the_state(
    groups: tuple[str, ...], data: Any, seed: int, between: int, share: int
) -> None:
    rng = np.random.default_rng(seed)
    rows = [
        (int(rng.integers(t // 20, t // 20 + 6)), str(rng.choice(["a", "b"])), int(rng.integers(-5, 90)), 1.5, t)
        for t in np.sort(rng.integers(0, 90, 500)).tolist()
    ]
    calls = data.draw(st.lists(st.sampled_from(CALLS), min_size=1, max_size=3, unique=True))
    shape = Shape(groups, (*(Item(g) for g in groups), *(Item("", measure(c), s) for c in calls for s in SHOWN)))
    begin, end = data.draw(st.integers(0, 29)) * 3, 87
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(correlated, "KEPT", data.draw(st.sampled_from([0, 3, 32])))
        held, again = Correlations(shape, SCHEMA, -1, between, "words"), None
        parts: list[pa.Table] = []
        at = size = 0
        for instant in range(0, end + 1, 3):
            part = [r for r in rows if held.upto < r[4] <= instant]
            held.upto = instant
            held.take_in(table(part), np.array([r[4] for r in part], dtype=np.int64))
            if instant == begin:
                at, size = 0, held.size
            if at < size:
                parts.append(held.part(at, min(size, at + share)))
                at += share
        again = Correlations(shape, SCHEMA, end, between, "words")
        if parts and at >= size:
            again.restore(pa.concat_tables(parts), begin)
        assert again.first_missing > begin or at < size or not parts
        for part in in_parts(rows, again.first_missing, again.upto):
            again.take_in(table(part), np.array([r[4] for r in part], dtype=np.int64))
        again.filled()
        assert listed(again.content()) == listed(held.content())
        for state in (held, again):
            state.upto = 90
            state.take_in(table([(1, "a", 5, 0.5, 90)]), np.array([90]))
        assert listed(again.content()) == listed(held.content())


SOME = CALLS[::2]  # all are asked in `tests/laws`
ITEMS = ", ".join(item for i, call in enumerate(SOME) for item in call.all(f"c{i}"))
SOURCE = "FROM r [LANDMARK MINUTE] WHERE k <> 3 GROUP BY k"
QUERIES = {"near": f"SELECT k, {ITEMS} {SOURCE}", "exact": f"SELECT k, {ITEMS}, COUNT(*) AS n {SOURCE}"}


def feed(db: Any, rng: np.random.Generator, begin: int, end: int) -> list[tuple]:
    rows = []
    for t in range(begin, end):
        for _ in range(rng.integers(0, 12)):
            x, y = int(rng.integers(-4, 40)), int(rng.integers(-9, 10))
            rows.append((int(rng.integers(0, 5)), x if x else None, y if y else None, t))
    db.append("r", rows)
    db.tick()
    return rows


@pytest.mark.parametrize("key", ["k", "x"], ids=["in shards", "whole"])
def test_continuous_queries_hold_the_truth_at_each_instant_also_after_a_restart(
    key: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(correlated, "KEPT", 8)
    rng = np.random.default_rng(8)
    rows: list[tuple] = []
    with millpond.connect(tmp_path / "pond", shards=2) as db:
        db.sql(f"CREATE STREAMING TABLE r (k INT, x INT, y INT, t BIGINT) TIMESTAMP BY t SHARD BY {key}")
        for name, text in QUERIES.items():
            db.sql(f"CREATE CONTINUOUS QUERY {name} RANGE UNBOUNDED AS {text} SAMPLE INTERVAL '10' SECOND")
        rows += feed(db, rng, 1, 50)
        rows += feed(db, rng, 50, 105)
        shown = {q: "\n".join(r[0] for r in db.sql(f"EXPLAIN CONTINUOUS QUERY {q}").rows()) for q in QUERIES}
        assert "synopses" in shown["near"]
        assert "synopses" not in shown["exact"]
        assert ("in the 2 shards" in shown["near"]) == (key == "k")
        held = db.sql("SHOW STATE").arrow().to_pylist()
        assert any(r["holder"] == "near" and "synopses of" in r["what"] and r["bytes"] > 5000 for r in held)
    with millpond.connect(tmp_path / "pond") as db:
        rows += feed(db, rng, 105, 150)
        found = {q: db.sql(f"SELECT * FROM {q}").arrow().to_pylist() for q in QUERIES}
    instants = range(10, 149, 10)
    for query, answers in found.items():
        assert {(a["k"], a["instant"]) for a in answers} == {
            (r[0], i) for i in instants for r in rows if i // 60 * 60 <= r[3] <= i and r[0] != 3
        }
        for answer in answers:
            instant = answer["instant"]
            window = [r[1:3] for r in rows if instant // 60 * 60 <= r[3] <= instant and r[0] == answer["k"]]
            for i, call in enumerate(SOME):
                numbers = [answer[f"c{i}{suffix}"] for suffix in ("", "_lower", "_upper")]
                call.check(numbers, window, exact=query == "exact")


@pytest.mark.parametrize("key", ["k", "x"], ids=["in shards", "whole"])
def test_a_restart_reads_the_rows_since_the_snapshot_only(
    key: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    used = kept_often(monkeypatch)
    sent = []
    items = ", ".join(item for i, call in enumerate(CALLS[::9]) for item in call.all(f"c{i}"))
    for closing in ((), (5, 9)):
        rng = np.random.default_rng(8)
        folder = tmp_path / f"pond{len(closing)}"
        db = millpond.connect(folder, shards=2)
        db.sql(f"CREATE STREAMING TABLE r (k INT, x INT, y INT, t BIGINT) TIMESTAMP BY t SHARD BY {key}")
        db.sql(f"CREATE CONTINUOUS QUERY near RANGE UNBOUNDED AS SELECT k, {items} {SOURCE} SAMPLE INTERVAL '5' SECOND")
        for turn in range(12):
            feed(db, rng, 1 + 7 * turn, 8 + 7 * turn)
            if turn in closing:
                db.close()
                db = millpond.connect(folder)
        sent.append(listed(db.sql("SELECT * FROM near").arrow()))
        db.close()
    assert used
    assert min(used) > 0
    assert sent[0] == sent[1]


@pytest.mark.parametrize("key", ["k", "x"], ids=["in shards", "whole"])
def test_what_is_computed_in_the_call_is_as_what_came_computed(key: str, tmp_path: Path) -> None:
    """The same numbers, bucket by bucket: also after a restart."""
    rng = np.random.default_rng(2)
    source = "FROM r [LANDMARK MINUTE] WHERE k <> 3"
    texts = {
        "computed": f"SELECT k, x % 3 AS g, CORRELATED_SUM(y - 1 WHERE x * 2 > AVG(x * 2)) AS s {source} GROUP BY k, x % 3",
        "came": f"SELECT k, g, CORRELATED_SUM(z WHERE w > AVG(w)) AS s {source} GROUP BY k, g",
    }
    folder = tmp_path / "pond"
    db = millpond.connect(folder, shards=2)
    db.sql(
        f"CREATE STREAMING TABLE r (k INT, x INT, y INT, g INT, w INT, z INT, t BIGINT) TIMESTAMP BY t SHARD BY {key}"
    )
    for name, text in texts.items():
        db.sql(f"CREATE CONTINUOUS QUERY {name} RANGE UNBOUNDED AS {text} SAMPLE INTERVAL '5' SECOND")
    for turn in range(4):
        for t in range(1 + 25 * turn, 26 + 25 * turn):
            x, y = rng.integers(0, 200, 30), rng.integers(-9, 10, 30)
            ks = rng.integers(0, 5, 30)
            columns = (ks, x, y, x % 3, x * 2, y - 1, np.full(30, t))
            db.append("r", list(zip(*(c.tolist() for c in columns), strict=True)))
        db.tick()
        if turn == 2:
            db.close()
            db = millpond.connect(folder)
    found = [listed(db.sql(f"SELECT k, g, s, instant FROM {q}").arrow()) for q in texts]
    db.close()
    assert found[0] == found[1]
    assert len(found[0]) > 100


@pytest.fixture(scope="module")
def pond(tmp_path_factory: pytest.TempPathFactory) -> Any:
    with millpond.connect(tmp_path_factory.mktemp("asked") / "pond", auto_archive=False, engine="duckdb") as db:
        db.sql(
            "CREATE STREAMING TABLE r (k INT, x INT, y INT, d DOUBLE, p DECIMAL(6, 2), s STRING, b BOOLEAN, t BIGINT) TIMESTAMP BY t"
        )
        rng = np.random.default_rng(3)
        values = [None if v % 9 == 0 else int(v) for v in rng.integers(-20, 60, 300)]
        db.append("r", [(i % 4, values[i], values[-i], float(i), i, "a", True, i) for i in range(300)])
        yield db


@pytest.mark.parametrize("number", range(len(RANGES)))
def test_a_one_time_query_is_exact(pond: Any, number: int) -> None:
    calls = [
        Call(f, RANGES[number], own)
        for f, own in ((FUNCTIONS[0], False), ("SUM", False), ("AVG", False), ("AVG", True))
    ]
    items = ", ".join(item for i, call in enumerate(calls) for item in call.all(f"c{i}"))
    rows = pond.sql("SELECT k % 2, x, y FROM r").rows()
    for keys, end in (("k % 2", " GROUP BY k % 2 HAVING COUNT(*) > 1 ORDER BY 1"), ("1", "")):
        found = pond.sql(f"SELECT {keys}, {items} FROM r{end}").rows()
        assert len(found) == (2 if end else 1)
        for row in found:
            mine = [r[1:] for r in rows if not end or r[0] == row[0]]
            for i, call in enumerate(calls):
                call.check(row[1 + 3 * i :][:3], mine, exact=True)


def test_types_are_those_of_what_may_be_an_estimate(pond: Any) -> None:
    calls = "CORRELATED_COUNT(x > AVG(x)) AS n, CORRELATED_COUNT_LOWER(x > AVG(x)) AS l, CORRELATED_SUM_UPPER(x > AVG(x)) AS s"
    schema = pond.sql(f"SELECT {calls} FROM r").arrow().schema
    assert [str(f.type) for f in schema] == ["double", "int64", "double"]
    nothing = "CORRELATED_COUNT(x > AVG(x)), CORRELATED_SUM(y WHERE x > AVG(x)), CORRELATED_AVG(x > AVG(x))"
    assert pond.sql(f"SELECT {nothing} FROM r WHERE k = 77").rows() == [(0.0, 0.0, None)]


@pytest.mark.parametrize(
    "call",
    ["CORRELATED_COUNT(x)", "CORRELATED_COUNT()", "CORRELATED_COUNT(y WHERE x > AVG(x))", "CORRELATED_COUNT(x > AVG(y))",
     "CORRELATED_COUNT(x > -1 * AVG(x))", "CORRELATED_COUNT(x > AVG(x) AND x < MAX(x))", "CORRELATED_COUNT(x > AVG(x) * AVG(x))",
     "CORRELATED_COUNT(s > MAX(s))", "CORRELATED_COUNT(x > AVG(x)) FILTER (WHERE x > 1)", "CORRELATED_COUNT(x > AVG(x)) OVER ()",
     "SUM(CORRELATED_COUNT(x > AVG(x)))", "CORRELATED_COUNT(x > AVG(x), 2)", "CORRELATED_SUM(y, x > AVG(x))",
     "CORRELATED_SUM(s WHERE x > AVG(x))", "CORRELATED_COUNT(x > 5)", "CORRELATED_COUNT(x > 1e99999999 * AVG(x))",
     "CORRELATED_COUNT(x = MAX(x))", "CORRELATED_COUNT(x > AVG(x) OR x > 3)", "CORRELATED_COUNT(x > AVG(x) AND x > 3)",
     "CORRELATED_COUNT(x > MAX(x) / 0)", "CORRELATED_COUNT(CORRELATED_COUNT(x > AVG(x)) > 1)",
     "CORRELATED_COUNT(x > AVG(x), 5, 5)", "CORRELATED_SUM(SUM(y) WHERE x > AVG(x))", "CORRELATED_COUNT(b >= MAX(b))", "CORRELATED_COUNT(AVG(x) > MIN(x))"],
)  # fmt: skip
def test_calls_that_mean_nothing_are_refused(pond: Any, call: str) -> None:
    with pytest.raises(millpond.MillpondError, match="CORRELATED_") as caught:
        pond.sql(f"SELECT {call} FROM r")
    assert "line 1" in str(caught.value)


@pytest.mark.parametrize(
    "text",
    ["SELECT k FROM r WHERE CORRELATED_COUNT(x > AVG(x)) > 1", "SELECT COUNT(*) FROM r GROUP BY CORRELATED_COUNT(x > AVG(x))",
     "SELECT k, CORRELATED_COUNT(x > AVG(x)) FROM r GROUP BY ROLLUP (k)", "SELECT CORRELATED_COUNT(x > AVG(x), 5) AS n",
     "SELECT k, CORRELATED_COUNT(x > AVG(x)), (SELECT MAX(q.x) FROM r q WHERE q.k = r.k) FROM r GROUP BY k"],
    ids=["where", "group by", "rollup", "no from", "a subquery of the rows around"],
)  # fmt: skip
def test_places_where_it_cannot_stand_are_refused(pond: Any, text: str) -> None:
    with pytest.raises(millpond.MillpondError):
        pond.sql(text)


COUNT = "CORRELATED_COUNT(x > AVG(x)) AS n"


@pytest.mark.parametrize(
    ("text", "in_synopses"),
    [
        (f"SELECT k, {COUNT} FROM r [LANDMARK DAY] GROUP BY k", True),
        (f"SELECT {COUNT} FROM r [LANDMARK INTERVAL '90' SECOND] WHERE UPPER('a') = 'A'", True),
        ("SELECT CORRELATED_AVG(d WHERE x > AVG(x), 50) AS n FROM r [LANDMARK HOUR]", True),
        (f"SELECT {COUNT} FROM r [ROWS 500]", False),
        (f"SELECT {COUNT} FROM r [INTERVAL '1' HOUR]", False),
        (f"SELECT ISTREAM k, {COUNT} FROM r [LANDMARK DAY] GROUP BY k", False),
        (f"SELECT k, {COUNT}, COUNT(*) AS m FROM r [LANDMARK DAY] GROUP BY k", False),
        ("SELECT CORRELATED_COUNT(x + 1 > AVG(x + 1)) AS n FROM r [LANDMARK DAY]", True),
        ("SELECT CORRELATED_COUNT(p > AVG(p)) AS n FROM r [LANDMARK DAY]", False),
        (f"SELECT {COUNT} FROM r [LANDMARK DAY] WHERE t = NOW()", False),
        (f"SELECT k, {COUNT} FROM r [LANDMARK DAY] GROUP BY k HAVING COUNT(*) > 1", False),
        ("SELECT k % 2 AS o, CORRELATED_COUNT(x > AVG(x)) AS n FROM r [LANDMARK DAY] GROUP BY k % 2", True),
    ],
    ids=["grouped", "ungrouped", "doubles", "rows", "interval", "istream", "exact beside it", "a computed value", "decimals", "now",
         "having", "groups that are computed"],
)  # fmt: skip
def test_only_what_is_proved_is_held_in_synopses(pond: Any, text: str, in_synopses: bool) -> None:
    pond.sql(f"CREATE CONTINUOUS QUERY q AS {text} SAMPLE INTERVAL '1' SECOND")
    try:
        shown = "\n".join(row[0] for row in pond.sql("EXPLAIN CONTINUOUS QUERY q").rows())
    finally:
        pond.sql("DROP CONTINUOUS QUERY q")
    assert ("synopses" in shown) == in_synopses


@pytest.mark.parametrize("kind", ["TINYINT", "SMALLINT", "INT", "BIGINT", "FLOAT", "DOUBLE", "DECIMAL(5, 1)"])
def test_every_type_of_number_can_be_asked_for(pond: Any, kind: str) -> None:
    pond.sql(f"CREATE STREAMING TABLE numbers (n {kind}, t BIGINT) TIMESTAMP BY t")
    pond.append("numbers", [(1, 1)])
    text = "SELECT CORRELATED_SUM(n > AVG(n)) AS s FROM numbers"
    pond.sql(f"CREATE CONTINUOUS QUERY q RANGE UNBOUNDED AS {text} [LANDMARK DAY] SAMPLE REALTIME")
    pond.append("numbers", [(2, 2), (None, 2), (6, 3), (7, 4)])
    pond.tick()
    assert pond.sql(text).rows() == [(13.0,)]
    assert pond.sql("SELECT s FROM q ORDER BY instant").rows() == [(0.0,), (2.0,), (6.0,)]
    pond.sql("DROP CONTINUOUS QUERY q; DROP TABLE numbers")


def test_a_growing_window_is_refused(pond: Any) -> None:
    with pytest.raises(millpond.MillpondError, match="grows without bound"):
        pond.sql(f"CREATE CONTINUOUS QUERY q AS SELECT {COUNT} FROM r [UNBOUNDED] SAMPLE INTERVAL '1' SECOND")


def test_a_value_that_is_not_a_number_stops_the_query_and_says_so(pond: Any) -> None:
    pond.sql("CREATE STREAMING TABLE odd (d DOUBLE, t BIGINT) TIMESTAMP BY t")
    pond.append("odd", [(4.0, 1)])
    text = "SELECT CORRELATED_COUNT(d >= AVG(d)) AS n FROM odd [LANDMARK DAY] SAMPLE REALTIME"
    pond.sql(f"CREATE CONTINUOUS QUERY counts RANGE UNBOUNDED AS {text}")
    pond.append("odd", [(5.0, 2), (float("nan"), 3), (1.0, 8)])
    pond.tick()
    assert pond.sql("SELECT instant, n FROM counts ORDER BY instant").rows() == [(1, 1), (2, 1)]
    shown = "\n".join(row[0] for row in pond.sql("EXPLAIN CONTINUOUS QUERY counts").rows())
    assert "not a number" in shown


def test_groups_that_take_too_much_stop_the_query_and_say_so(pond: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(correlated, "MOST", 200_000)
    pond.sql("CREATE STREAMING TABLE many (k INT, x INT, t BIGINT) TIMESTAMP BY t")
    pond.append("many", [(0, 4, 1)])
    pond.sql(
        f"CREATE CONTINUOUS QUERY groups RANGE UNBOUNDED AS SELECT k, {COUNT} FROM many [LANDMARK MINUTE] GROUP BY k SAMPLE REALTIME"
    )
    pond.append("many", [(1, 1, 2), (2, 1, 3), (3, 1, 61), *((k, 1, 62) for k in range(2000)), (7, 1, 65)])
    pond.tick()
    assert [r[0] for r in pond.sql("SELECT DISTINCT instant FROM groups ORDER BY 1").rows()] == [1, 2, 3, 61]
    shown = "\n".join(row[0] for row in pond.sql("EXPLAIN CONTINUOUS QUERY groups").rows())
    assert "take more than" in shown


@pytest.mark.parametrize("call", CALLS, ids=lambda call: f"{call.sql()}")
def test_few_rows_kept_as_they_are_and_buckets_for_each_value_give_the_same(call: Call) -> None:
    rng = np.random.default_rng(5)
    counts = rng.integers(1, 9, 60)
    x, y = rng.integers(-5, 9, (60, 8)).astype(float), rng.choice([np.nan, -2.0, 0.0, 3.0], (60, 8))
    m = replace(measure(call), buckets=20)
    y = x if m.y == "x" else y
    found = exactly(m.function, m.predicate, counts, x, y)
    for g, count in enumerate(counts):
        synopsis = m.made()
        synopsis.add_many(None, (x[g, :count], y[g, :count]))
        value, lower, upper = synopsis.estimate()
        assert value == pytest.approx(found[g], rel=1e-12, nan_ok=True)
        assert lower == pytest.approx(upper, rel=1e-12, nan_ok=True)


def test_equal_values_have_themselves_as_average() -> None:
    counts, x = np.array([10, 3, 1]), np.full((3, 10), 0.1)
    for closed, expected in ((False, [0, 0, 0]), (True, [10, 3, 1])):
        assert exactly("count", Predicate.above("avg", closed=closed), counts, x, x).tolist() == expected
