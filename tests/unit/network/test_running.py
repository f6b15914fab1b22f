"""Running aggregates against lists: the same numbers, whatever the batches."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import millpond
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
        ("SELECT vid, toll FROM charges [UNBOUNDED]", "it has no plain GROUP BY"),
        ("SELECT vid, SUM(toll + 1) AS s FROM charges [UNBOUNDED] GROUP BY vid", "not an aggregate of a column"),
        ("SELECT SUM(toll) AS s FROM charges [UNBOUNDED] GROUP BY vid", 'it does not select "vid"'),
        ("SELECT vid, SUM(w) AS s FROM charges [UNBOUNDED] GROUP BY vid", "only integers add up"),
    ],
    ids=["rows", "expression", "hidden", "double"],
)
def test_what_cannot_be_kept_is_refused_with_the_reason(tmp_path: object, select: str, reason: str) -> None:
    with millpond.connect(f"{tmp_path}/pond") as db:
        db.sql("CREATE STREAMING TABLE charges (vid INT, toll INT, w DOUBLE, t BIGINT) TIMESTAMP BY t")
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
