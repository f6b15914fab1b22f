from __future__ import annotations

import datetime as dt
from decimal import Decimal
from typing import Any

import numpy as np
import pandas
import polars
import pyarrow as pa
import pytest

from millpond.arrow import arrow_schema, conform, data_type, distinct, schema_of, to_batch
from millpond.errors import IntakeError, UnknownName
from millpond.schema import TYPE_NAMES, DataType, Schema

SCHEMA = Schema.of([("k", "INT"), ("name", "STRING"), ("t", "BIGINT")])
EXPECTED = [{"k": 1, "name": "a", "t": 10}, {"k": None, "name": None, "t": 11}]


@pytest.mark.parametrize(
    "rows",
    [
        pa.table({"k": pa.array([1, None], pa.int32()), "name": ["a", None], "t": [10, 11]}),
        pa.table(
            {"t": [10, 11], "NAME": pa.array(["a", None], pa.large_string()), "K": pa.array([1, None], pa.int8())}
        ),
        pa.record_batch(
            {"k": pa.array([1, None], pa.int64()), "name": pa.array(["a", None]).dictionary_encode(), "t": [10, 11]}
        ),
        pa.table({"k": [1.0, None], "name": ["a", None], "t": ["10", "11"]}),
        pandas.DataFrame({"k": [1, None], "name": ["a", None], "t": [10, 11]}),
        polars.DataFrame({"k": [1, None], "name": ["a", None], "t": [10, 11]}),
        [(1, "a", 10), (None, None, 11)],
        [[1, "a", 10], [None, None, 11]],
        ((1, "a", 10), (None, None, 11)),
        [{"k": 1, "name": "a", "t": 10}, {"t": 11}],
        [{"T": 10, "Name": "a", "K": "1"}, {"t": "11"}],
        iter([(1, "a", 10), (None, None, 11)]),
        [(np.int64(1), "a", np.int32(10)), (None, None, 11.0)],
    ],
)
def test_every_kind_of_rows(rows: Any) -> None:
    offer = to_batch(rows, SCHEMA, "r", required=("t",))
    assert offer.bad == []
    assert offer.index is None
    assert offer.batch.schema == arrow_schema(SCHEMA)
    assert offer.batch.to_pylist() == EXPECTED


def test_a_single_dict_is_one_row() -> None:
    assert to_batch({"t": 5}, SCHEMA, "r").batch.to_pylist() == [{"k": None, "name": None, "t": 5}]


@pytest.mark.parametrize("rows", [[], pa.table({"t": pa.array([], pa.int64())}), pandas.DataFrame({"t": []})])
def test_no_rows(rows: Any) -> None:
    assert to_batch(rows, SCHEMA, "r").batch.num_rows == 0


def test_rows_that_say_nothing_are_rows() -> None:
    assert to_batch([{}, {}], SCHEMA, "r").batch.num_rows == 2


@pytest.mark.parametrize(
    ("kind", "good", "bad"),
    [
        (
            "TINYINT",
            [(127, 127), ("-128", -128), (1.0, 1)],
            [128, "x", 1.5, True, float("nan"), b"1", 10**30, dt.date(2026, 1, 1)],
        ),
        ("BIGINT", [(2**63 - 1, 2**63 - 1), (Decimal("5"), 5)], [2**63, Decimal("5.5"), float("inf")]),
        ("BOOLEAN", [(True, True), ("false", False), (np.bool_(True), True)], [1, 0.0, "maybe"]),
        ("DOUBLE", [(1, 1.0), (0.5, 0.5), ("2.5", 2.5), (Decimal("0.25"), 0.25)], ["x", True, b"1"]),
        ("STRING", [("a", "a"), ("", "")], [5, 1.5, True, b"a", dt.date(2026, 1, 1), "\ud800"]),
        ("BINARY", [(b"a", b"a"), (bytearray(b"b"), b"b"), ("c", b"c")], [5, True]),
        (
            "DATE",
            [
                (dt.date(2026, 1, 2), dt.date(2026, 1, 2)),
                ("2026-01-02", dt.date(2026, 1, 2)),
                (dt.datetime(2026, 1, 2), dt.date(2026, 1, 2)),
            ],
            [dt.datetime(2026, 1, 2, 3), 5, "soon", True],
        ),
        (
            "DECIMAL(4,2)",
            [
                (Decimal("1.5"), Decimal("1.50")),
                (3, Decimal("3.00")),
                (0.25, Decimal("0.25")),
                ("1.25", Decimal("1.25")),
            ],
            [Decimal("1.234"), 100, 0.125, "x", True],
        ),
    ],
)
def test_each_value_by_itself(kind: str, good: list[tuple[Any, Any]], bad: list[Any]) -> None:
    """A value's fate is the same alone, among good ones and among bad ones."""
    schema = Schema.of([("v", kind)])
    for value, expected in good:
        assert to_batch([(value,)], schema, "r").batch.to_pylist() == [{"v": expected}]
    for value in bad:
        offer = to_batch([(value,)], schema, "r")
        assert offer.batch.num_rows == 0
        assert len(offer.bad) == 1
    values = [v for v, _ in good] + bad
    offer = to_batch([(v,) for v in values], schema, "r")
    assert [row["v"] for row in offer.batch.to_pylist()] == [e for _, e in good]
    assert [b.index for b in offer.bad] == list(range(len(good), len(values)))
    assert offer.index is None or offer.index.to_pylist() == list(range(len(good)))


def test_timestamps() -> None:
    schema = Schema.of([("at", "TIMESTAMP")])
    noon = dt.datetime(2026, 1, 2, 12, tzinfo=dt.UTC)
    for value in (
        noon,
        dt.datetime(2026, 1, 2, 12),
        "2026-01-02 12:00:00",
        "2026-01-02T13:00:00+01:00",
        "2026-01-02 12:00:00Z",
    ):
        assert to_batch([(value,)], schema, "r").batch.to_pylist() == [{"at": noon}], value
    midnight = dt.datetime(2026, 1, 2, tzinfo=dt.UTC)
    assert to_batch([(dt.date(2026, 1, 2),)], schema, "r").batch.to_pylist() == [{"at": midnight}]
    for value in (5, 1.5, "noon", True):
        assert len(to_batch([(value,)], schema, "r").bad) == 1
    naive = pa.table({"at": pa.array([dt.datetime(2026, 1, 2, 12)], pa.timestamp("ms"))})
    assert to_batch(naive, schema, "r").batch.to_pylist() == [{"at": noon}]
    texts = pa.table({"at": ["2026-01-02 12:00:00", "noon"]})
    offer = to_batch(texts, schema, "r")
    assert offer.batch.to_pylist() == [{"at": noon}]
    assert [b.reason for b in offer.bad] == ["column \"at\": 'noon' is not a TIMESTAMP"]


def test_bad_rows_say_why_and_what_they_were() -> None:
    offer = to_batch([(1, "a", 1), ("x", "b", "y"), (3, "c", 3)], SCHEMA, "r")
    assert offer.batch.to_pylist() == [{"k": 1, "name": "a", "t": 1}, {"k": 3, "name": "c", "t": 3}]
    assert offer.index is not None
    assert offer.index.to_pylist() == [0, 2]
    assert [(b.index, b.reason, b.text) for b in offer.bad] == [
        (1, "column \"k\": 'x' is not an INT", '["x", "b", "y"]')
    ]
    arrow = to_batch(pa.table({"k": [1, 2**40], "t": [1, 2]}), SCHEMA, "r")
    assert [(b.index, b.reason, b.text) for b in arrow.bad] == [
        (1, f'column "k": {2**40} is not an INT', f'{{"k": {2**40}, "t": 2}}')
    ]


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([(1, 2)], 'row 0 has 2 values, table "r" has 3 columns\nDetail: The columns are: k, name, t.'),
        ([{"k": 1}], 'rows for table "r" lack the column "t"\nDetail: They have: k.'),
        ([{}], 'rows for table "r" lack the column "t"\nDetail: They have: no columns.'),
        ([{"t": 1}, (1, 2, 3)], 'table "r" was offered a mixture of dicts and tuple'),
        (
            [1, 2],
            'table "r" cannot take a row of type int\nHint: A row is a dict or a tuple with one value for each column.',
        ),
        (
            5,
            'table "r" cannot take rows from int\nHint: Offer an Arrow table, a pandas frame, or a list of dicts or tuples.',
        ),
        (
            "abc",
            'table "r" cannot take rows from str\nHint: Offer an Arrow table, a pandas frame, or a list of dicts or tuples.',
        ),
        (
            pa.table({"t": [dt.date(2026, 1, 1)]}),
            'column "t" is a BIGINT, but the rows offered hold date32[day]\nHint: Convert the column first.',
        ),
        (pa.table({"t": [1], "T": [2]}), 'column "T" is offered twice'),
    ],
)
def test_mistakes_about_the_whole_offer(rows: Any, message: str) -> None:
    with pytest.raises(IntakeError) as caught:
        to_batch(rows, SCHEMA, "r", required=("t",))
    assert str(caught.value) == message


def test_an_unknown_column_offers_the_nearest() -> None:
    for rows in ([{"nam": 1, "t": 1}], pa.table({"nam": [1], "t": [1]})):
        with pytest.raises(UnknownName) as caught:
            to_batch(rows, SCHEMA, "r")
        assert str(caught.value) == 'column "nam" does not exist in table "r"\nHint: Did you mean "name"?'


def test_types_go_to_arrow_and_back() -> None:
    schema = Schema.of([(f"c{i}", "DECIMAL(7,3)" if t == "DECIMAL" else t) for i, t in enumerate(TYPE_NAMES)])
    assert schema_of(arrow_schema(schema)) == schema


@pytest.mark.parametrize(
    ("arrow", "name"),
    [
        (pa.uint8(), "SMALLINT"),
        (pa.uint16(), "INT"),
        (pa.uint32(), "BIGINT"),
        (pa.float16(), "FLOAT"),
        (pa.date64(), "DATE"),
        (pa.large_string(), "STRING"),
        (pa.string_view(), "STRING"),
        (pa.null(), "STRING"),
        (pa.large_binary(), "BINARY"),
        (pa.binary(3), "BINARY"),
        (pa.timestamp("ns"), "TIMESTAMP"),
    ],
)
def test_other_arrow_types_are_widened(arrow: pa.DataType, name: str) -> None:
    assert data_type(arrow) == DataType(name)


def test_arrow_types_without_a_column_type() -> None:
    with pytest.raises(IntakeError) as caught:
        data_type(pa.list_(pa.int32()))
    assert caught.value.hint == "Convert it to one of Spark SQL's simple types."


def test_conform_adds_missing_columns() -> None:
    batch = pa.record_batch({"a": [1]})
    wider = pa.schema([pa.field("a", pa.int64()), pa.field("b", pa.string())])
    assert conform(batch, wider).to_pylist() == [{"a": 1, "b": None}]
    assert conform(batch, batch.schema) is batch


@pytest.mark.parametrize("kind", [np.int32, np.int64, np.uint64])
def test_integers_told_apart(kind: Any) -> None:
    for given in ([], [5], [5, 5], [3, 1, 2, 3, 1], list(range(1000, 0, -1)) * 2):
        values = np.array(given, dtype=kind)
        found = distinct(values)
        assert found.tolist() == sorted(set(given))
        assert found.dtype == kind
        assert values.tolist() == given, "what was given is as it was"
