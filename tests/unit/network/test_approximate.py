"""Approximate aggregates in SQL: within the error, against the exact query beside them, however rows come."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import millpond
from millpond.network.aggregates import approximate
from millpond.network.aggregates.approximate import Approximated, Measure, SynopsisClock
from millpond.network.aggregates.shape import Item, Shape
from tests.unit.network.keeping import kept_often

SCHEMA = pa.schema([("k", pa.int32()), ("name", pa.string()), ("x", pa.int64()), ("t", pa.int64())])
EPS = 0.2
COUNT, VALUES, SUM = Measure("count", None, EPS), Measure("count", "x", EPS), Measure("sum", "x", EPS)
# Of different values it is only likely that they are within the error; of so many registers few values share none.
OTHERS = (
    Measure("avg", "x", EPS),
    Measure("var_pop", "x", EPS),
    Measure("distinct", "x", 0.02),
    Measure("norm", "x", EPS, 2.0),
)
MEASURED = tuple(Item("", m, shown) for m in (COUNT, VALUES, SUM, *OTHERS) for shown in ("value", "lower", "upper"))


def table(rows: list[tuple]) -> pa.Table:
    columns = list(zip(*rows, strict=True)) if rows else [[] for _ in SCHEMA]
    return pa.Table.from_arrays([pa.array(c, f.type) for c, f in zip(columns, SCHEMA, strict=True)], schema=SCHEMA)


def check(found: pa.Table, groups: tuple[str, ...], rows: list[tuple]) -> None:
    """`found` against the rows of the window themselves."""
    truth: dict[tuple, list] = {}
    for k, name, x, _ in rows:
        truth.setdefault(tuple({"k": k, "name": name}[g] for g in groups), []).append(x)
    if not groups:
        truth.setdefault((), [])
    shown = list(zip(*(c.to_pylist() for c in found.columns), strict=True))
    assert sorted((r[: len(groups)] for r in shown), key=repr) == sorted(truth, key=repr)
    for row in shown:
        values = truth[row[: len(groups)]]
        known = [v for v in values if v is not None]
        total = sum(known) if known else None
        mean, variance = (float(np.mean(known)), float(np.var(known))) if known else (None, None)
        norm = math.sqrt(sum(n * n for n in Counter(known).values()))
        exact = (len(values), len(known), total, mean, variance, len(set(known)), norm)
        for place, right in enumerate(exact):
            value, lower, upper = row[len(groups) + 3 * place :][:3]
            if right is None:
                assert value is lower is upper is None
            else:
                assert lower - 1e-9 <= right <= upper + 1e-9
                of = float(np.mean(np.square(known))) if right is variance else right
                assert abs(value - right) <= EPS * of + 1e-9


def in_parts(rows: list[tuple], low: int, high: int) -> Iterator[list[tuple]]:
    for begin in range(low, high + 1, 5):
        yield [r for r in rows if begin <= r[3] <= min(begin + 4, high)]


@pytest.mark.parametrize("groups", [("k", "name"), ("k",), ()], ids=["two columns", "one integer", "none"])
@settings(max_examples=8, deadline=None)
@given(data=st.data(), seed=st.integers(0, 10_000), interval=st.integers(0, 12), slide=st.sampled_from([None, 1, 3, 5]))
def test_groups_are_those_of_the_window_and_numbers_within_the_error(
    groups: tuple[str, ...], data: Any, seed: int, interval: int, slide: int | None
) -> None:
    rng = np.random.default_rng(seed)
    times = np.sort(rng.integers(0, 60, 400)).tolist()
    rows = [(rng.choice([None, 1, 2, 7]), str(rng.choice(["a", "b"])), rng.choice([None, 0, 1, 9]), t) for t in times]
    rows = [(None if k is None else int(k), n, None if x is None else int(x), t) for k, n, x, t in rows]
    shape = Shape(groups, (*(Item(g) for g in groups), *MEASURED))
    instants = [t for t in range(75) if slide is None or t % slide == 0]
    chosen = sorted(data.draw(st.sets(st.sampled_from(instants), min_size=1, max_size=8)))
    held = Approximated(shape, SCHEMA, -1, interval, slide)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(approximate, "_FEW", 2)  # let groups go early
        for instant in chosen:
            part = [r for r in rows if held.upto < r[3] <= instant]
            held.upto = instant
            held.take_in(table(part), np.array([r[3] for r in part], dtype=np.int64))
            check(held.content(), groups, [r for r in rows if instant - interval <= r[3] <= instant])


@given(
    interval=st.integers(0, 200), slide=st.integers(1, 20), instant=st.integers(-10, 10), time=st.integers(-400, 400)
)
@settings(max_examples=300, deadline=None)
def test_the_clock_leaves_every_row_in_its_windows(interval: int, slide: int, instant: int, time: int) -> None:
    clock = SynopsisClock(interval, slide)
    now, then = clock(np.array([instant * slide, time], dtype=np.int64)).tolist()
    assert (now - clock.window < then <= now) == (instant * slide - interval <= time <= instant * slide)


@pytest.mark.parametrize("groups", [("k", "name"), ("k",), ()], ids=["two columns", "one integer", "none"])
@settings(max_examples=4, deadline=None)
@given(data=st.data(), seed=st.integers(0, 10_000), slide=st.sampled_from([None, 3]), share=st.integers(1, 4))
def test_a_snapshot_taken_over_many_ticks_and_the_rows_since_are_the_window(
    groups: tuple[str, ...], data: Any, seed: int, slide: int | None, share: int
) -> None:
    rng = np.random.default_rng(seed)
    interval = 12
    rows = [
        (int(rng.integers(t // 10, t // 10 + 6)), str(rng.choice(["a", "b"])), int(rng.integers(0, 9)), t)
        for t in np.sort(rng.integers(0, 90, 500)).tolist()
    ]
    shape = Shape(groups, (*(Item(g) for g in groups), *MEASURED))
    held = Approximated(shape, SCHEMA, -1, interval, slide, "words")
    begin = data.draw(st.integers(5, 30)) * 3
    parts: list[pa.Table] = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(approximate, "_FEW", 2)  # groups come and go
        at = end = -1
        for instant in range(0, 90, 3):
            part = [r for r in rows if held.upto < r[3] <= instant]
            held.upto = instant
            held.take_in(table(part), np.array([r[3] for r in part], dtype=np.int64))
            held.content()
            if instant == begin:
                at, end = 0, held.size
            if at < end:
                parts.append(held.part(at, min(end, at + share)))
                at += share
        again = Approximated(shape, SCHEMA, 87, interval, slide, "words")
        if at >= end >= 0 and parts:
            again.restore(pa.concat_tables(parts), begin)
        for part in in_parts(rows, again.first_missing, again.upto):
            again.take_in(table(part), np.array([r[3] for r in part], dtype=np.int64))
        again.filled()
        check(again.content(), groups, [r for r in rows if 87 - interval <= r[3] <= 87])
        for instant in (90, 93):  # and it goes on
            again.upto = instant
            again.take_in(table([(1, "a", 5, instant)]), np.array([instant]))
            more = [*rows, *((1, "a", 5, i) for i in range(90, instant + 1, 3))]
            check(
                again.content(),
                groups,
                [r for r in more if instant - interval <= r[3] <= instant and r[3] != 88 and r[3] != 89],
            )


def test_places_of_groups_that_are_gone_go_to_others() -> None:
    shape = Shape(("k",), (Item("k"), Item("", COUNT, "value")))
    held = Approximated(shape, SCHEMA, -1, 9, 1)
    for turn in range(20):
        keys = np.arange(3000) + 3000 * turn
        held.upto = 10 * turn + 5
        rows = pa.Table.from_arrays([pa.array(keys, pa.int32())], names=["k"])
        held.take_in(rows, np.full(3000, held.upto))
        found = held.content()
        assert sorted(found.column(0).to_pylist()) == keys.tolist()
        assert set(found.column(1).to_pylist()) == {1.0}
    assert held._used <= 9000


QUERIES = {
    "near": "SELECT seg, APPROX_COUNT(*, 0.1) AS n, APPROX_SUM(toll, 0.1) AS s, APPROX_COUNT_LOWER(toll, 0.1) AS low,"
    " APPROX_COUNT_UPPER(toll, 0.1) AS high, APPROX_AVG(toll, 0.1) AS a, APPROX_VAR_POP_UPPER(toll, 0.1) AS v,"
    " APPROX_DISTINCT(toll, 0.1) AS d FROM tolls [INTERVAL '30' SECOND] WHERE seg <> 3 GROUP BY seg",
    "exact": "SELECT seg, COUNT(*) AS n, SUM(toll) AS s, COUNT(toll) AS low, COUNT(toll) AS high,"
    " AVG(toll) AS a, AVG(toll * toll) - AVG(toll) * AVG(toll) AS v, COUNT(DISTINCT toll) AS d"
    " FROM tolls [INTERVAL '30' SECOND] WHERE seg <> 3 GROUP BY seg",
}


def feed(db: Any, rng: np.random.Generator, begin: int, end: int) -> None:
    rows = []
    for t in range(begin, end):
        for seg in rng.integers(0, 5, rng.integers(0, 60)).tolist():
            toll = int(rng.integers(0, 40))
            rows.append(f"({seg}, {toll if toll else 'NULL'}, {t})")
    db.sql("INSERT INTO tolls VALUES " + ", ".join(rows))
    db.tick()


def compare(db: Any) -> int:
    found = {q: db.sql(f"SELECT * FROM {q}").arrow().to_pylist() for q in QUERIES}
    exact = {(r["seg"], r["instant"]): r for r in found["exact"]}
    assert {(r["seg"], r["instant"]) for r in found["near"]} == set(exact)
    for row in found["near"]:
        right = exact[row["seg"], row["instant"]]
        assert abs(row["n"] - right["n"]) <= 0.1 * right["n"]
        assert abs(row["s"] - right["s"]) <= 0.1 * right["s"]
        assert row["low"] <= right["low"] <= row["high"]
        assert abs(row["a"] - right["a"]) <= 0.1 * right["a"]
        assert row["v"] >= right["v"] - 1e-9
        assert abs(row["d"] - right["d"]) <= 0.1 * right["d"]
    return len(exact)


@pytest.mark.parametrize("key", ["seg", "other"], ids=["in shards", "whole"])
def test_a_continuous_query_is_within_the_error_of_the_exact_one_also_after_a_restart(key: str, tmp_path: Path) -> None:
    rng = np.random.default_rng(4)
    folder = tmp_path / "pond"
    with millpond.connect(folder, shards=2) as db:
        db.sql(
            f"CREATE STREAMING TABLE tolls (seg INT, toll INT, t BIGINT) TIMESTAMP BY t SHARD BY {'seg' if key == 'seg' else 'toll'}"
        )
        for name, text in QUERIES.items():
            db.sql(f"CREATE CONTINUOUS QUERY {name} RANGE UNBOUNDED AS {text} SAMPLE INTERVAL '5' SECOND")
        feed(db, rng, 1, 40)
        feed(db, rng, 40, 90)
        before = compare(db)
        assert before > 40
        shown = "\n".join(r["plan"] for r in db.sql("EXPLAIN CONTINUOUS QUERY near").arrow().to_pylist())
        assert "synopses" in shown
        assert ("in the 2 shards" in shown) == (key == "seg")
        held = db.sql("SHOW STATE").arrow().to_pylist()
        assert any(r["holder"] == "near" and "synopses of" in r["what"] for r in held)
    with millpond.connect(folder) as db:
        feed(db, rng, 90, 140)
        assert compare(db) > before


@pytest.mark.parametrize("key", ["seg", "toll"], ids=["in shards", "whole"])
def test_a_restart_reads_the_rows_since_the_snapshot_only(
    key: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    used = kept_often(monkeypatch)
    rng = np.random.default_rng(4)
    folder = tmp_path / "pond"
    db = millpond.connect(folder, shards=2)
    db.sql(f"CREATE STREAMING TABLE tolls (seg INT, toll INT, t BIGINT) TIMESTAMP BY t SHARD BY {key}")
    for name, text in QUERIES.items():
        db.sql(f"CREATE CONTINUOUS QUERY {name} RANGE UNBOUNDED AS {text} SAMPLE INTERVAL '5' SECOND")
    for turn in range(12):
        feed(db, rng, 1 + 7 * turn, 8 + 7 * turn)
        if turn in (6, 10):
            db.close()
            db = millpond.connect(folder)
    compare(db)
    assert used
    assert min(used) > 0
    db.sql("DROP CONTINUOUS QUERY near")
    for turn in range(12, 16):
        feed(db, rng, 1 + 7 * turn, 8 + 7 * turn)
    assert not list((folder / "shards").glob("*.snapshot"))
    db.close()


@pytest.fixture(scope="module")
def pond(tmp_path_factory: pytest.TempPathFactory) -> Any:
    with millpond.connect(tmp_path_factory.mktemp("asked") / "pond", auto_archive=False, engine="duckdb") as db:
        db.sql("CREATE STREAMING TABLE tolls (seg INT, toll INT, price DOUBLE, t BIGINT) TIMESTAMP BY t")
        db.append("tolls", [(1, 5, 0.5, 1), (1, None, 1.5, 2), (2, 7, 2.5, 3), (2, -7, 2.5, 9)])
        yield db


def test_a_one_time_query_is_exact(pond: Any) -> None:
    found = pond.sql(
        "SELECT seg, APPROX_COUNT(*, 0.5) AS n, approx_count(toll, 0.5) AS c, APPROX_SUM_LOWER(toll, 0.5) AS s,"
        " APPROX_SUM(price, 0.5) AS p FROM tolls GROUP BY seg HAVING APPROX_COUNT_UPPER(*, 0.5) > 1 ORDER BY seg"
    )
    assert found.rows() == [(1, 2.0, 1.0, 5, 2.0), (2, 2.0, 2.0, 0, 5.0)]
    assert [str(f.type) for f in found.arrow().schema][1:4] == ["double", "double", "int64"]
    assert pond.sql("SELECT APPROX_COUNT(*, 0.1) FROM tolls WHERE seg = 9").rows() == [(0.0,)]
    found = pond.sql(
        "SELECT seg, APPROX_AVG(price, 0.1) AS a, APPROX_VAR_POP(price, 0.1) AS v, APPROX_DISTINCT(price, 0.1) AS d,"
        " APPROX_DISTINCT_UPPER(toll, 0.1) AS u FROM tolls GROUP BY seg ORDER BY seg"
    )
    assert found.rows() == [(1, 1.0, 0.25, 2.0, 1.0), (2, 2.5, 0.0, 1.0, 2.0)]
    assert {str(f.type) for f in found.arrow().schema} == {"int32", "double"}


NORMS = ", ".join(f"APPROX_NORM(toll % 3, {p}, 0.1) AS n{i}" for i, p in enumerate((1, 1.5, 2)))


def test_a_norm_asked_once_is_exact(pond: Any) -> None:
    pond.sql("CREATE TABLE many (seg INT, toll INT)")
    pond.append("many", [(i % 2, None if i % 5 == 0 else i) for i in range(40)])
    found = pond.sql(
        f"SELECT seg, COUNT(*) AS m, {NORMS} FROM many GROUP BY seg ORDER BY APPROX_NORM(toll, 2, 0.1), seg"
    )
    for seg, m, *norms in found.rows():
        often = Counter(i % 3 for i in range(40) if i % 5 and i % 2 == seg).values()
        assert m == 20
        assert norms == pytest.approx([sum(n**p for n in often) ** (1 / p) for p in (1, 1.5, 2)])
    assert pond.sql("SELECT APPROX_NORM_UPPER(toll, 2, 0.1) FROM many WHERE seg = 9").rows() == [(0.0,)]
    pond.sql("DROP TABLE many")


COMPUTED = {
    "near": "APPROX_COUNT(*, 0.1) AS n, APPROX_SUM(toll * 2, 0.1) AS s, APPROX_COUNT(CASE WHEN toll > 20 THEN 1 END, 0.1) AS m,"
    " APPROX_NORM(toll, 2, 0.1) AS v",
    "exact": "COUNT(*) AS n, SUM(toll * 2) AS s, COUNT(CASE WHEN toll > 20 THEN 1 END) AS m, COUNT(DISTINCT toll) AS d,"
    " APPROX_NORM(toll, 2, 0.1) AS v",
}


@pytest.mark.parametrize("groups", ["seg, FLOOR(toll / 10)", "FLOOR(toll / 10)"], ids=["in shards", "whole"])
def test_groups_and_values_may_be_computed(groups: str, tmp_path: Path) -> None:
    rng = np.random.default_rng(4)
    folder = tmp_path / "pond"
    with millpond.connect(folder, shards=2) as db:
        db.sql("CREATE STREAMING TABLE tolls (seg INT, toll INT, t BIGINT) TIMESTAMP BY t SHARD BY seg")
        keys = groups.replace("FLOOR(toll / 10)", "FLOOR(toll / 10) AS bin")
        for name, items in COMPUTED.items():
            text = f"SELECT {keys}, {items} FROM tolls [INTERVAL '30' SECOND] WHERE seg <> 3 GROUP BY {groups}"
            db.sql(f"CREATE CONTINUOUS QUERY {name} RANGE UNBOUNDED AS {text} SAMPLE INTERVAL '5' SECOND")
        feed(db, rng, 1, 60)
        shown = "\n".join(r["plan"] for r in db.sql("EXPLAIN CONTINUOUS QUERY near").arrow().to_pylist())
        assert "synopses" in shown
        assert ("in the 2 shards" in shown) == groups.startswith("seg")
    with millpond.connect(folder) as db:
        feed(db, rng, 60, 90)
        found = [db.sql(f"SELECT * FROM {q}").arrow().to_pylist() for q in COMPUTED]
    near, exact = ({(r.get("seg"), r["bin"], r["instant"]): r for r in rows} for rows in found)
    assert near.keys() == exact.keys()
    assert len(near) > 60
    for key, row in near.items():
        for name in ("n", "s", "m", "v"):
            if exact[key][name] is None:
                assert row[name] is None
            else:
                assert abs(row[name] - exact[key][name]) <= 0.1 * exact[key][name] + 1e-9


@pytest.mark.parametrize(
    "call",
    ["APPROX_MEDIAN(toll, 0.1)", "APPROX_COUNT(*, 0.1) FILTER (WHERE seg = 1)", "APPROX_SUM(toll, 0.1) OVER ()", "APPROX_COUNT(*)", "APPROX_SUM(*, 0.1)", "APPROX_SUM(toll, 1)", "APPROX_SUM(toll, 0)", "APPROX_SUM(toll, toll)",
     "APPROX_NORM(toll, 0.1)", "APPROX_NORM(toll, 3, 0.1)", "APPROX_NORM(*, 2, 0.1)", "SUM(APPROX_NORM(toll, 2, 0.1))",
     "APPROX_NORM(1, 2, 0.1)", "APPROX_NORM(toll, 2, 7)", "APPROX_NORM(toll, 2, 0.1) OVER ()", "APPROX_AVG(*, 0.1)", "APPROX_DISTINCT(toll)", "APPROX_VAR_POP(toll, 2)",
     "APPROX_COUNT(toll, '0.1')", "APPROX_COUNT(DISTINCT toll, 0.1)", "APPROX_SUM(toll, 0.1, 0.1)"],
)  # fmt: skip
def test_calls_that_say_nothing_are_refused(pond: Any, call: str) -> None:
    with pytest.raises(millpond.MillpondError, match="APPROX_"):
        pond.sql(f"SELECT {call} FROM tolls")


WINDOW = "FROM tolls [INTERVAL '5' SECOND]"


@pytest.mark.parametrize(
    ("text", "in_synopses"),
    [
        (f"SELECT seg, APPROX_COUNT(*, 0.1) AS n {WINDOW} GROUP BY seg", True),
        (f"SELECT APPROX_SUM(toll, 0.1) AS n {WINDOW} WHERE UPPER('a') = 'A'", True),
        (f"SELECT APPROX_AVG(toll, 0.1) AS a, APPROX_VAR_POP(seg, 0.1) AS v, APPROX_DISTINCT(price, 0.1) AS d {WINDOW}", True),
        (f"SELECT APPROX_AVG(price, 0.1) AS a {WINDOW}", False),
        (f"SELECT ISTREAM seg, APPROX_COUNT(*, 0.1) AS n {WINDOW} GROUP BY seg", False),
        (f"SELECT seg, APPROX_COUNT(*, 0.1) AS n, COUNT(*) AS m {WINDOW} GROUP BY seg", False),
        (f"SELECT seg, APPROX_SUM(price, 0.1) AS n {WINDOW} GROUP BY seg", False),
        (f"SELECT seg, APPROX_SUM(toll + 1, 0.1) AS n {WINDOW} GROUP BY seg", True),
        (f"SELECT FLOOR(toll / 10) AS r, APPROX_COUNT(*, 0.1) AS n {WINDOW} GROUP BY FLOOR(toll / 10)", True),
        (f"SELECT toll % 7 AS r, APPROX_NORM(seg, 2, 0.1) AS n {WINDOW} GROUP BY 1", True),
        (f"SELECT seg + 1 AS r, APPROX_COUNT(*, 0.1) AS n {WINDOW} GROUP BY seg", False),
        (f"SELECT seg, APPROX_SUM(price + 1, 0.1) AS n {WINDOW} GROUP BY seg", False),
        (f"SELECT APPROX_NORM(seg, 2, 0.1) AS n, COUNT(*) AS m {WINDOW}", False),
        (f"SELECT seg, 2 * APPROX_COUNT(*, 0.1) AS n {WINDOW} GROUP BY seg", False),
        (f"SELECT seg, APPROX_COUNT(*, 0.1) AS n {WINDOW} WHERE t = NOW() GROUP BY seg", False),
        (f"SELECT seg, APPROX_COUNT(*, 0.1) AS n {WINDOW} GROUP BY seg HAVING COUNT(*) > 1", False),
        ("SELECT seg, APPROX_COUNT(*, 0.1) AS n FROM tolls [ROWS 3] GROUP BY seg", False),
    ],
    ids=["grouped", "ungrouped", "others", "averages of doubles", "istream", "exact beside it", "doubles", "a computed value", "a computed group", "a norm", "a formula of a group", "computed doubles", "exact beside a norm", "a formula", "now", "having", "rows"],
)  # fmt: skip
def test_only_what_is_proved_is_held_in_synopses(pond: Any, text: str, in_synopses: bool) -> None:
    pond.sql(f"CREATE CONTINUOUS QUERY q AS {text} SAMPLE INTERVAL '1' SECOND")
    try:
        shown = "\n".join(row[0] for row in pond.sql("EXPLAIN CONTINUOUS QUERY q").rows())
    finally:
        pond.sql("DROP CONTINUOUS QUERY q")
    assert ("synopses" in shown) == in_synopses


def test_a_query_without_groups_has_one_row_also_over_nothing(pond: Any) -> None:
    pond.sql("CREATE STREAMING TABLE few (x INT, t BIGINT) TIMESTAMP BY t")
    pond.append("few", [(4, 1)])
    text = "SELECT APPROX_COUNT(*, 0.1) AS n, APPROX_SUM(x, 0.1) AS s FROM few [INTERVAL '2' SECOND]"
    pond.sql(f"CREATE CONTINUOUS QUERY of_all RANGE UNBOUNDED AS {text} SAMPLE INTERVAL '1' SECOND")
    pond.append("few", [(5, 2), (None, 7), (1, 8)])
    pond.tick()
    rows = pond.sql("SELECT instant, n, s FROM of_all ORDER BY instant").rows()
    assert rows == [(1, 1, 4), (2, 2, 9), (3, 2, 9), (4, 1, 5), (5, 0, None), (6, 0, None), (7, 1, None)]


def test_a_negative_value_stops_the_query_that_sums_it_and_says_so(pond: Any) -> None:
    pond.sql("CREATE STREAMING TABLE signed (x INT, t BIGINT) TIMESTAMP BY t")
    pond.append("signed", [(4, 1)])
    text = "SELECT APPROX_SUM(x, 0.1) AS s FROM signed [INTERVAL '9' SECOND] SAMPLE INTERVAL '1' SECOND"
    pond.sql(f"CREATE CONTINUOUS QUERY sums RANGE UNBOUNDED AS {text}")
    pond.append("signed", [(5, 2), (-1, 3), (1, 8)])
    pond.tick()
    assert pond.sql("SELECT instant, s FROM sums ORDER BY instant").rows() == [(1, 4), (2, 9)]
    shown = "\n".join(row[0] for row in pond.sql("EXPLAIN CONTINUOUS QUERY sums").rows())
    assert "a value must be from 0" in shown


def test_the_values_of_every_type_can_be_told_apart(tmp_path: Path) -> None:
    """Of each 300 rows with 100 different values and NULLs, in batches, so that they are hashed at different times."""
    kinds = ["INT", "BIGINT", "DOUBLE", "STRING", "BINARY", "DATE", "TIMESTAMP", "DECIMAL(20,3)", "BOOLEAN"]
    names = [f"c{i}" for i in range(len(kinds))]
    counted = ", ".join(f"APPROX_DISTINCT({n}, 0.1) AS {n}" for n in names)
    with millpond.connect(tmp_path / "pond", auto_archive=False, engine="duckdb") as db:
        columns = ", ".join(f"{n} {k}" for n, k in zip(names, kinds, strict=True))
        db.sql(f"CREATE STREAMING TABLE t ({columns}, at BIGINT) TIMESTAMP BY at")
        db.sql(
            f"CREATE CONTINUOUS QUERY q RANGE UNBOUNDED AS SELECT {counted} FROM t [INTERVAL '99' SECOND] SAMPLE INTERVAL '1' SECOND"
        )
        day = datetime(2026, 1, 1, tzinfo=UTC)
        for batch in range(3):
            rows = []
            for i in range(100):
                moment = day + timedelta(days=i)
                row = (i, i, i / 2, f"n{i}", bytes(i), moment.date(), moment, Decimal(i) / 8, i % 2 == 0)
                rows.append((*(row if i % 7 or batch else (None,) * len(row)), batch + 1))
            db.append("t", rows)
            db.tick()
        db.advance("t", 10)
        db.tick()
        found = db.sql("SELECT * FROM q WHERE instant = 9").arrow().to_pylist()[0]
    assert found["c8"] == pytest.approx(2, rel=0.1)
    for name in names[:-1]:
        assert found[name] == pytest.approx(100, rel=0.1), name


def test_rows_are_not_held_until_the_next_instant(tmp_path: Path) -> None:
    with millpond.connect(tmp_path / "pond", auto_archive=False) as db:
        db.sql("CREATE STREAMING TABLE tolls (seg INT, toll INT, t BIGINT) TIMESTAMP BY t")
        text = "SELECT seg, APPROX_COUNT(*, 0.1) AS n FROM tolls [INTERVAL '200' SECOND] GROUP BY seg"
        db.sql(f"CREATE CONTINUOUS QUERY q RANGE UNBOUNDED AS {text} SAMPLE INTERVAL '100' SECOND")
        for t in range(1, 61):
            db.append("tolls", [(i % 3, i, t) for i in range(50)])
            if t % 10 == 0:
                db.tick()
        held = {r["what"]: r["rows"] for r in db.sql("SHOW STATE").arrow().to_pylist() if r["holder"] == "tolls"}
        assert sum(held.values()) <= 100, held
        db.append("tolls", [(0, 0, 101)])
        db.tick()
        found = {r["seg"]: r["n"] for r in db.sql("SELECT * FROM q").arrow().to_pylist()}
    assert found == pytest.approx({0: 1020, 1: 1020, 2: 960}, rel=0.1)


@pytest.mark.parametrize("again", [False, True], ids=["going on", "after a restart"])
def test_a_row_that_fails_is_told_at_its_instant_and_not_before(again: bool, tmp_path: Path) -> None:
    db = millpond.connect(tmp_path / "pond", auto_archive=False)
    db.sql("CREATE STREAMING TABLE signed (x INT, t BIGINT) TIMESTAMP BY t")
    text = "SELECT APPROX_SUM(x, 0.1) AS s FROM signed [INTERVAL '20' SECOND] SAMPLE INTERVAL '10' SECOND"
    db.sql(f"CREATE CONTINUOUS QUERY sums RANGE UNBOUNDED AS {text}")
    for t, x in ((9, 1), (11, 2), (13, -1), (15, 3), (17, 4)):
        db.append("signed", [(x, t)])
        db.tick()
        assert db.sql("SHOW CONTINUOUS QUERIES").arrow().column("problem").to_pylist() == [None]
        if again and t == 15:
            db.close()
            db = millpond.connect(tmp_path / "pond", auto_archive=False)
    assert db.sql("SELECT instant, s FROM sums").rows() == [(10, 1.0)]
    db.append("signed", [(5, 21)])
    db.tick()
    assert "a value must be from 0" in db.sql("SHOW CONTINUOUS QUERIES").arrow().column("problem").to_pylist()[0]
    assert db.sql("SELECT instant, s FROM sums").rows() == [(10, 1.0)]
    db.close()


@pytest.mark.parametrize(
    ("select", "reason"),
    [
        (
            f"seg, APPROX_COUNT(*, 0.1) AS n, MAX(toll) AS m {WINDOW} GROUP BY seg",
            "MAX(toll) is neither such a call nor what it is",
        ),
        (f"ISTREAM APPROX_COUNT(*, 0.1) AS n {WINDOW}", "it sends ISTREAM"),
        ("APPROX_COUNT(*, 0.1) AS n FROM tolls [LANDMARK DAY]", "APPROX_COUNT is estimated over [INTERVAL ...] only"),
        (f"CORRELATED_COUNT(toll > AVG(toll)) AS n {WINDOW}", "is estimated over [LANDMARK ...] only"),
        (f"APPROX_COUNT(*, 0.1) AS n {WINDOW} HAVING COUNT(*) > 1", "it has HAVING"),
        (f"APPROX_SUM(price, 0.1) AS n {WINDOW}", "and estimated of integers only"),
        (f"APPROX_NORM(toll, 2, 0.001) AS n {WINDOW}", "is so small that a synopsis would save nothing"),
        (f"APPROX_DISTINCT(toll, 0.0001) AS n {WINDOW}", "is so small that a synopsis would save nothing"),
        (f"APPROX_COUNT(*, 0.1) AS n {WINDOW}", None),
        (f"COUNT(*) AS n {WINDOW}", None),
    ],
)
def test_explain_says_why_a_query_that_allows_an_error_is_exact(pond: Any, select: str, reason: str | None) -> None:
    pond.sql(f"CREATE CONTINUOUS QUERY q AS SELECT {select} SAMPLE INTERVAL '1' SECOND")
    try:
        shown = "\n".join(row[0] for row in pond.sql("EXPLAIN CONTINUOUS QUERY q").rows())
    finally:
        pond.sql("DROP CONTINUOUS QUERY q")
    assert ("exact, holding the rows" in shown) == (reason is not None)
    assert reason is None or reason in shown


def both(db: Any, near: str, exact: str, slide: int) -> None:
    for name, text in (("near", near), ("exact", exact)):
        db.sql(f"CREATE CONTINUOUS QUERY {name} RANGE UNBOUNDED AS {text} SAMPLE INTERVAL '{slide}' SECOND")


def same(db: Any) -> list[tuple]:
    near, exact = (sorted(db.sql(f"SELECT * FROM {q}").rows(), key=repr) for q in ("near", "exact"))
    assert near == exact
    return near


def test_a_gap_in_time_costs_nothing(tmp_path: Path) -> None:
    with millpond.connect(tmp_path / "pond", auto_archive=False) as db:
        db.sql("CREATE STREAMING TABLE r (k INT, t BIGINT) TIMESTAMP BY t")
        window = "FROM r [INTERVAL '10' SECOND] GROUP BY k"
        both(
            db, f"SELECT k, APPROX_COUNT(*, 0.1) AS n {window}", f"SELECT k, CAST(COUNT(*) AS DOUBLE) AS n {window}", 1
        )
        db.append("r", [(1, 3), (2, 9)])
        db.tick()
        db.append("r", [(1, 1_700_000_000), (1, 1_700_000_030)])
        db.tick()
        assert len(same(db)) == 3 * 11


@pytest.mark.parametrize("again", [False, True], ids=["going on", "after a restart"])
def test_a_row_that_no_instant_sees_harms_nothing(again: bool, tmp_path: Path) -> None:
    db = millpond.connect(tmp_path / "pond", auto_archive=False)
    db.sql("CREATE STREAMING TABLE r (k INT, v INT, t BIGINT) TIMESTAMP BY t")
    window = "FROM r [INTERVAL '10' SECOND] GROUP BY k"
    near = f"SELECT k, APPROX_SUM(v, 0.1) AS s, APPROX_COUNT(100 DIV (v + 5), 0.1) AS c {window}"
    both(db, near, f"SELECT k, CAST(SUM(v) AS DOUBLE) AS s, CAST(COUNT(100 DIV (v + 5)) AS DOUBLE) AS c {window}", 100)
    for t, v in ((1, 1), (24, -5), (50, 2), (95, 3), (99, 4), (101, 5), (150, -5), (195, 6), (201, 7)):
        db.append("r", [(1, v, t)])
        db.tick()
        if again and t in (50, 150):
            db.close()
            db = millpond.connect(tmp_path / "pond", auto_archive=False)
    assert sorted(r[-1] for r in same(db)) == [100, 200]
    db.close()


def test_values_that_are_not_numbers_are_one_value_and_odd_names_are_names(tmp_path: Path) -> None:
    with millpond.connect(tmp_path / "pond", auto_archive=False) as db:
        db.sql("CREATE STREAMING TABLE r (k INT, d DOUBLE, `(``r``.``k`` + 1)` INT, t BIGINT) TIMESTAMP BY t")
        window = "FROM r [INTERVAL '10' SECOND] GROUP BY k + 1, `(``r``.``k`` + 1)`"
        near = f"SELECT k + 1 AS a, `(``r``.``k`` + 1)` AS b, APPROX_NORM(-d, 2, 0.1) AS n, APPROX_COUNT(_seq, 0.1) AS c {window}"
        db.sql(f"CREATE CONTINUOUS QUERY near AS {near} SAMPLE INTERVAL '1' SECOND")
        near = f"SELECT k + 1 AS a, `(``r``.``k`` + 1)` AS b, APPROX_NORM(-d, 2, 0.1) AS n {window}"
        db.sql(f"CREATE CONTINUOUS QUERY other RANGE UNBOUNDED AS {near} SAMPLE INTERVAL '1' SECOND")
        assert "in synopses" in "\n".join(r[0] for r in db.sql("EXPLAIN CONTINUOUS QUERY other").rows())
        nan = float("nan")
        db.append("r", [(i % 2, (nan, -nan)[i % 4 < 2], 7, 1) for i in range(40)])
        db.advance("r", 3)
        db.tick()
        assert sorted(db.sql("SELECT a, b, n FROM other WHERE instant = 2").rows()) == [(1, 7, 20.0), (2, 7, 20.0)]


@pytest.mark.parametrize("eps", ["1e-9", "1e-300", "0.00001"])
def test_an_error_too_small_for_a_synopsis_is_answered_exactly(eps: str, tmp_path: Path) -> None:
    calls = [
        f"APPROX_COUNT(*, {eps})",
        f"APPROX_SUM(v, {eps})",
        f"APPROX_VAR_POP(v, {eps})",
        f"APPROX_DISTINCT(v, {eps})",
    ]
    with millpond.connect(tmp_path / "pond", auto_archive=False) as db:
        db.sql("CREATE STREAMING TABLE r (v INT, t BIGINT) TIMESTAMP BY t")
        items = ", ".join(f"{call} AS c{i}" for i, call in enumerate([*calls, f"APPROX_NORM(v, 1.5, {eps})"]))
        db.sql(f"CREATE CONTINUOUS QUERY q AS SELECT {items} FROM r [INTERVAL '9' SECOND] SAMPLE INTERVAL '1' SECOND")
        db.append("r", [(1, 1), (3, 2), (1, 3)])
        db.tick()
        found = db.sql("SELECT * FROM q WHERE instant = 2").rows()
        assert found == [(2.0, 4.0, 1.0, 2.0, pytest.approx(2 ** (2 / 3)), 2)]


def test_a_large_group_has_a_norm_in_a_sketch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also after a restart, from its snapshot."""
    used = kept_often(monkeypatch, 2)
    rng = np.random.default_rng(5)
    db = millpond.connect(tmp_path / "pond", auto_archive=False)
    db.sql("CREATE STREAMING TABLE r (k INT, v INT, t BIGINT) TIMESTAMP BY t")
    text = "SELECT k, APPROX_NORM(v, 2, 0.3) AS n FROM r [INTERVAL '5' SECOND] GROUP BY k"
    db.sql(f"CREATE CONTINUOUS QUERY q RANGE UNBOUNDED AS {text} SAMPLE INTERVAL '1' SECOND")
    rows: list[tuple] = []
    for t in range(1, 13):
        values = np.concatenate([rng.zipf(1.5, 500) % 1000, rng.integers(0, 1 << 30, 1500)]).tolist()
        new = [(0, v, t) for v in values] + [(1, v, t) for v in values[:50]]
        db.append("r", new)
        db.tick()
        rows += new
        if t == 9:
            db.close()
            db = millpond.connect(tmp_path / "pond", auto_archive=False)
    found = {(r["k"], r["instant"]): r["n"] for r in db.sql("SELECT * FROM q").arrow().to_pylist()}
    db.close()
    assert len(found) == 22
    assert used
    for (k, instant), n in found.items():
        often = Counter(v for key, v, t in rows if key == k and instant - 5 <= t <= instant).values()
        truth = math.sqrt(sum(c * c for c in often))
        assert abs(n - truth) <= (0.3 if k == 0 else 1e-9) * truth
        assert k == 1 or instant < 4 or n != truth
