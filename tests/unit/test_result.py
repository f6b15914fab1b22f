from __future__ import annotations

import datetime as dt
import sys
from decimal import Decimal

import duckdb
import pyarrow as pa
import pytest

from millpond.errors import EngineError
from millpond.result import Result, format_table, format_value


def test_a_table_prints_with_numbers_to_the_right() -> None:
    rows = pa.table({"vid": [1, 22], "name": ["a", None], "x": [0.5, None]})
    assert repr(Result(rows)) == (
        " vid | name | x\n-----+------+------\n   1 | a    |  0.5\n  22 | NULL | NULL\n(2 rows)"
    ).replace(" vid | name | x\n", " vid | name |    x\n")


def test_one_row_and_many() -> None:
    assert repr(Result(pa.table({"a": [1]}))).endswith("(1 row)")
    shown = repr(Result(pa.table({"a": list(range(100))})))
    assert shown.endswith("(100 rows, 60 not shown)")
    assert len(shown.splitlines()) == 43


def test_a_message_prints_itself() -> None:
    assert repr(Result(message="3 rows inserted")) == "3 rows inserted"
    assert Result(message="x").rows() == []


def test_rows_in_every_form() -> None:
    table = pa.table({"a": [1, 2], "b": ["x", None]})
    result = Result(table)
    assert result.columns == ["a", "b"]
    assert result.rows() == list(result) == [(1, "x"), (2, None)]
    assert len(result) == 2
    assert result.arrow().equals(table)
    assert result.pandas().shape == (2, 2)


def test_two_columns_of_one_name() -> None:
    table = pa.Table.from_arrays([pa.array([1]), pa.array([2])], names=["a", "a"])
    assert Result(table).rows() == [(1, 2)]
    assert repr(Result(table)) == " a | a\n---+---\n 1 | 2\n(1 row)"


def test_values() -> None:
    assert format_value(None) == "NULL"
    assert format_value(True) == "true"
    assert format_value("a\nb") == "a\\nb"
    assert format_value("x" * 100) == "x" * 57 + "..."
    assert format_value(dt.datetime(2026, 1, 2, 3, 4, 5, tzinfo=dt.UTC)) == "2026-01-02 03:04:05+00:00"
    assert format_value(Decimal("1.50")) == "1.50"


def test_a_lone_column_is_shown_whole() -> None:
    assert "x" * 100 in format_table(["plan"], [["x" * 100]])


def test_no_rows() -> None:
    assert repr(Result(pa.table({"a": pa.array([], pa.int32())}))) == " a\n---\n(0 rows)"


def test_other_libraries_take_a_result_as_arrow() -> None:
    table = pa.table({"a": [1, 2], "b": ["x", None]})
    assert pa.table(Result(table)).equals(table)
    assert duckdb.connect().from_arrow(Result(table)).fetchall() == [(1, "x"), (2, None)]
    wider = pa.schema([("a", pa.int64()), ("b", pa.large_string())])
    reader = pa.RecordBatchReader.from_stream(Result(table), schema=wider)
    assert reader.read_all().schema == wider


def test_a_result_as_polars_frame() -> None:
    polars = pytest.importorskip("polars")
    frame = Result(pa.table({"a": [1, 2]})).polars()
    assert isinstance(frame, polars.DataFrame)
    assert frame["a"].to_list() == [1, 2]


def test_without_polars_that_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "polars", None)
    with pytest.raises(EngineError) as caught:
        Result(pa.table({"a": [1]})).polars()
    assert str(caught.value) == "polars is not installed\nHint: pip install polars, or use arrow() or pandas()."


def test_a_result_in_a_notebook() -> None:
    html = Result(pa.table({"a<b": [1], "text": ["<script>alert('&')</script>"]}))._repr_html_()
    assert html == (
        '<table>\n<tr><th style="text-align: right">a&lt;b</th><th>text</th></tr>\n'
        '<tr><td style="text-align: right">1</td><td>&lt;script&gt;alert(&#x27;&amp;&#x27;)&lt;/script&gt;</td></tr>\n'
        "</table>\n<p>(1 row)</p>"
    )
    many = Result(pa.table({"a": list(range(100))}))._repr_html_()
    assert many.endswith("<p>(100 rows, 60 not shown)</p>")
    assert many.count("<tr>") == 41
    assert len(Result(pa.table({"a": ["x" * 10_000], "b": [1]}))._repr_html_()) < 500
    assert Result(message="<b>3</b> rows")._repr_html_() == "<pre>&lt;b&gt;3&lt;/b&gt; rows</pre>"
