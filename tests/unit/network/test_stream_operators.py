"""ISTREAM, DSTREAM and RSTREAM against bags of rows."""

from __future__ import annotations

from collections import Counter

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from millpond.network.engine.engine import Engine
from millpond.network.engine.stream_operators import send

SCHEMA = pa.schema([("a", pa.int64()), ("b", pa.string())])
VALUES = st.lists(st.tuples(st.sampled_from([None, 1, 2]), st.sampled_from([None, "x", ""])), max_size=8)
Rows = list[tuple[int | None, str | None]]
ENGINE = Engine()


def table(rows: Rows) -> pa.Table:
    return pa.table([pa.array([r[0] for r in rows], pa.int64()), pa.array([r[1] for r in rows])], schema=SCHEMA)


def sent(form: str, now: Rows, before: Rows | None) -> Rows:
    found = send(ENGINE, form, table(now), None if before is None else table(before))
    assert found.schema == SCHEMA
    return list(zip(found.column("a").to_pylist(), found.column("b").to_pylist(), strict=True))


@given(VALUES, VALUES)
def test_what_is_sent_is_a_difference_of_bags(now: Rows, before: Rows) -> None:
    assert sent("rstream", now, before) == now
    assert Counter(sent("istream", now, before)) == Counter(now) - Counter(before)
    assert Counter(sent("dstream", now, before)) == Counter(before) - Counter(now)


@given(VALUES, VALUES)
def test_what_is_new_comes_in_the_order_of_the_result(now: Rows, before: Rows) -> None:
    left = Counter(before)
    wanted = []
    for row in now:  # the first ones equal those that were there
        if left[row]:
            left[row] -= 1
        else:
            wanted.append(row)
    assert sent("istream", now, before) == wanted


@pytest.mark.parametrize(("form", "wanted"), [("istream", [(1, "x")]), ("dstream", []), ("rstream", [(1, "x")])])
def test_at_the_first_instant_everything_is_new_and_nothing_is_gone(form: str, wanted: Rows) -> None:
    assert sent(form, [(1, "x")], None) == wanted
