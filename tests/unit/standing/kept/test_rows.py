"""Recent rows against a list of Python tuples."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from millpond.event_time import NEVER
from millpond.predicate.form import Always, Compare
from millpond.predicate.vector import Filter
from millpond.schema import SEQ
from millpond.standing.kept import rows as module
from millpond.standing.kept.rows import Complete, RecentRows, Rows

SCHEMA = pa.schema([("t", pa.int64()), ("a", pa.int32()), ("s", pa.string()), (SEQ, pa.int64())])
Row = tuple[int, int | None, str, int]


def table(rows: list[Row]) -> pa.Table:
    return pa.Table.from_pylist([dict(zip(SCHEMA.names, row, strict=True)) for row in rows], schema=SCHEMA)


def tuples(found: pa.Table) -> list[tuple[Any, ...]]:
    return list(zip(*(c.to_pylist() for c in found.columns), strict=True))


def append(kept: RecentRows, rows: list[Row]) -> None:
    kept.append(table(rows), np.array([r[0] for r in rows], dtype=np.int64))


def check(snapshot: Rows, model: list[Row]) -> None:
    seqs = np.array([r[3] for r in model], dtype=np.int64)
    assert snapshot.size == len(model)
    assert tuples(snapshot.take(seqs)) == model
    assert snapshot.times_of(seqs).tolist() == [r[0] for r in model]
    backwards = np.concatenate([seqs[::-1], seqs[:1]])
    assert tuples(snapshot.take(backwards, ["s", "t"])) == [(r[2], r[0]) for r in [*model[::-1], *model[:1]]]
    assert snapshot.filter(Filter(Always())).tolist() == seqs.tolist()
    starts = [c.first for c in snapshot.chunks]
    assert starts == sorted(starts)


values = st.one_of(st.none(), st.integers(0, 3))
batches = st.lists(st.tuples(st.integers(-5, 20), values, st.text(max_size=2), st.integers(0, 2)), max_size=12)
ops = st.one_of(
    st.tuples(st.just("append"), batches),
    st.tuples(st.just("thin"), st.integers(0, 60), st.lists(st.integers(0, 60), max_size=10)),
    st.tuples(st.just("drop_before"), st.integers(0, 60)),
    st.tuples(st.just("insert"), st.lists(st.integers(0, 60), max_size=10)),
)


@given(st.lists(ops, max_size=12), st.integers(1, 16))
def test_rows_are_those_of_a_list(done: list[Any], whole: int) -> None:
    kept, model, ever = RecentRows(SCHEMA), list[Row](), list[Row]()
    old = [(kept.snapshot, list(model))]
    gone: set[Row] = set()
    seq = 0
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "_WHOLE", whole)
        for what, *given_ in done:
            if what == "append":
                rows: list[Row] = []
                for time, a, text, gap in given_[0]:
                    seq += gap  # numbers may have gaps
                    rows.append((time, a, text, seq))
                    seq += 1
                append(kept, rows[::-1])
                model, ever = model + rows, ever + rows
            elif what == "thin":
                below, needed = given_
                kept.thin(below, np.array(sorted(needed), dtype=np.int64))
                model = [r for r in model if r[3] >= below or r[3] in needed]
            elif what == "insert":  # rows that are not held any more, and some that are
                again = [r for r in ever if r[3] in given_[0]]
                kept.insert(table(again[::-1]), np.array([r[0] for r in again[::-1]], dtype=np.int64))
                model = sorted({*model, *again}, key=lambda r: r[3])
            else:
                kept.drop_before(given_[0])
                model = [r for r in model if r[3] >= given_[0]]
            gone |= set(ever) - set(model)
            check(kept.snapshot, model)
            old.append((kept.snapshot, list(model)))
    complete = kept.snapshot.complete_from
    assert complete == Complete(max([r[3] + 1 for r in gone], default=0), max([r[0] for r in gone], default=NEVER))
    for snapshot, then in old:
        check(snapshot, then)


@given(
    batches, st.integers(1, 5), values, st.integers(-6, 21), st.integers(-6, 21), st.integers(0, 20), st.integers(0, 20)
)
def test_a_new_query_meets_old_rows(
    given_: list[Any], parts: int, value: int | None, low: int, high: int, first: int, below: int
) -> None:
    kept = RecentRows(SCHEMA)
    rows: list[Row] = [(time, a, text, i) for i, (time, a, text, _) in enumerate(given_)]
    for i in range(0, len(rows), parts):
        append(kept, rows[i : i + parts])
    test = Filter(Compare("a", "<=", value) if value is not None else Always())
    found = kept.snapshot.filter(test, low, high, first, below)
    assert found.tolist() == [
        r[3]
        for r in rows
        if low <= r[0] <= high and first <= r[3] < below and (value is None or (r[1] is not None and r[1] <= value))
    ]


def test_many_small_appends_are_few_chunks() -> None:
    kept = RecentRows(SCHEMA)
    for i in range(1000):
        append(kept, [(i, i, "x", i)])
    assert len(kept.snapshot.chunks) <= 10
    kept.thin(990, np.arange(0, 990, 100))
    assert len(kept.snapshot.chunks) <= 5
    assert kept.snapshot.size == 20


def test_old_rows_that_come_back_leave_recent_ones_alone() -> None:
    kept = RecentRows(SCHEMA, Complete(1_000_000, 999_999))
    for first in range(1_000_000, 1_300_000, 100_000):
        append(kept, [(i, i % 7, "x", i) for i in range(first, first + 100_000)])
    recent = kept.snapshot.chunks
    for step in (1000, 1501, 70):
        old = [(i, 1, "old", i) for i in range(0, 1_000_000, step)]
        kept.insert(table(old), np.array([r[0] for r in old], dtype=np.int64))
        assert kept.snapshot.chunks[-3:] == recent
        assert kept.snapshot.times_of(np.array([0, 999_999 // step * step, 1_000_005])).tolist()[2] == 1_000_005
    held = {*range(0, 1_000_000, 1000), *range(0, 1_000_000, 1501), *range(0, 1_000_000, 70)}
    assert kept.snapshot.size == len(held) + 300_000
    assert all(chunk.size <= 100_000 for chunk in kept.snapshot.chunks)


def test_old_rows_that_come_back_stay_in_chunks_of_a_fair_size(monkeypatch: pytest.MonkeyPatch) -> None:
    """A chunk of all of them would be copied as a whole whenever others come."""
    monkeypatch.setattr(module, "_WHOLE", 100)
    kept = RecentRows(SCHEMA, Complete(10_000, 9_999))
    for first in range(20):
        old = [(i, 1, "old", i) for i in range(first, 10_000, 97)]
        kept.insert(table(old), np.array([r[0] for r in old], dtype=np.int64))
    assert kept.snapshot.size == len({i for first in range(20) for i in range(first, 10_000, 97)})
    assert max(chunk.size for chunk in kept.snapshot.chunks) <= 100


def test_who_counts_on_all_rows_is_not_shown_those_of_which_some_are_missing() -> None:
    kept = RecentRows(SCHEMA, Complete(1000, 90))
    old = [(5, 1, "old", 5), (7, 1, "old", 7), (8, 1, "old", 8)]
    kept.insert(table(old), np.array([r[0] for r in old], dtype=np.int64))
    append(kept, [(91, 1, "x", 1000)])
    assert kept.snapshot.size == 4
    assert tuples(kept.snapshot.complete().take(np.array([1000]))) == [(91, 1, "x", 1000)]
    assert kept.snapshot.complete().size == 1


def test_a_row_that_was_removed_is_not_taken_for_another() -> None:
    kept = RecentRows(SCHEMA, Complete(10, 99))
    assert kept.snapshot.complete_from == Complete(10, 99)
    append(kept, [(i, i, "x", i) for i in range(10, 20)])
    kept.thin(18, np.array([12, 15]))
    for wrong in ([11], [13], [12, 14], [25], [12, 25], [3]):
        with pytest.raises(AssertionError, match="not held"):
            kept.snapshot.take(np.array(wrong))
    assert kept.snapshot.complete_from == Complete(18, 99)
    kept.move_on(30)
    assert kept.snapshot.below == 30


def test_bytes_go_down_with_the_rows() -> None:
    kept = RecentRows(SCHEMA)
    append(kept, [(i, i, "some text", i) for i in range(1000)])
    full = kept.bytes
    assert 30_000 < full < 60_000
    kept.thin(1000, np.arange(0, 1000, 10))
    assert kept.bytes < full / 8
    kept.drop_before(1000)
    assert kept.bytes == 0
