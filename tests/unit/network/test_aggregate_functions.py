"""What every aggregate function promises that is kept up as rows come: batches and their order do not matter, and types are as told."""

from __future__ import annotations

from datetime import date, datetime
from decimal import Decimal
from itertools import product

import numpy as np
import pyarrow as pa
import pytest

from millpond.arrow import arrow_schema
from millpond.network.aggregates.functions.registry import BY_NAME, FUNCTIONS
from millpond.network.aggregates.running import Aggregate, Running
from millpond.network.aggregates.shape import Item, Shape
from millpond.schema import Column, DataType, Schema

VALUES = {
    "INT": [3, None, -7, 3],
    "BIGINT": [2**40, -1, None, 5],
    "DOUBLE": [0.1, None, float("inf"), -0.5],
    "DECIMAL(9, 2)": [Decimal("1.25"), Decimal("-3.10"), None, Decimal("1.25")],
    "DATE": [date(2026, 1, 2), None, date(1969, 12, 31), date(2026, 1, 2)],
    "TIMESTAMP": [datetime(2026, 1, 2), None, datetime(1969, 12, 31), datetime(2026, 1, 2)],
    "STRING": ["a", None, "b", "a"],
    "BOOLEAN": [True, None, False, True],
}
TYPES = {name: DataType.parse(name) for name in VALUES}
KEPT = [(f, t) for f, t in product(FUNCTIONS, VALUES) if FUNCTIONS[f].result(TYPES[t]) is not None]


def content(function: str, kind: str, batches: list[list[int]]) -> pa.Table:
    schema = arrow_schema(Schema((Column("k", DataType("INT")), Column("x", TYPES[kind]))))
    rows = pa.table([pa.array([1, 1, 2, 1], pa.int32()), pa.array(VALUES[kind], schema.field("x").type)], schema=schema)
    held = Running(Shape(("k",), (Item("k"), Item("", Aggregate(function, "x")))), schema, -1)
    for batch in batches:
        held.take_in(rows.take(pa.array(batch, pa.int64())), np.zeros(len(batch), dtype=np.int64))
    return held.content()


@pytest.mark.parametrize(("function", "kind"), KEPT)
def test_batches_and_their_order_do_not_matter(function: str, kind: str) -> None:
    at_once = content(function, kind, [[0, 1, 2, 3]])
    for batches in ([[0], [1], [2], [3]], [[3, 2], [], [1, 0]], [[2], [3, 1, 0]]):
        assert sorted(map(repr, content(function, kind, batches).to_pylist())) == sorted(map(repr, at_once.to_pylist()))


@pytest.mark.parametrize(("function", "kind"), KEPT)
def test_a_result_has_the_type_that_was_told(function: str, kind: str) -> None:
    told = FUNCTIONS[function].result(TYPES[kind])
    assert told is not None
    assert (
        content(function, kind, [[0, 1, 2, 3]]).column(1).type
        == arrow_schema(Schema((Column("x", told),))).field("x").type
    )


@pytest.mark.parametrize(("function", "kind"), KEPT)
def test_a_group_of_nulls_has_no_value_or_none_to_count(function: str, kind: str) -> None:
    nulls = [n for n, value in enumerate(VALUES[kind]) if value is None]
    assert content(function, kind, [nulls]).column(1).to_pylist() == [None if FUNCTIONS[function].null_if_none else 0]


def test_functions_go_by_their_names_in_sql() -> None:
    assert set(BY_NAME) == {"count", "sum", "avg", "min", "max"}
    assert all(FUNCTIONS[name].name == name for name in FUNCTIONS)
