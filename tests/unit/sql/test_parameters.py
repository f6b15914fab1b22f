"""Parameters: values for `?` and `:name`, typed, never text."""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sqlglot import exp

import millpond
from millpond.sql import statements
from millpond.sql.parser import parse


@pytest.fixture
def db(tmp_path: Path) -> Iterator[millpond.Pond]:
    with millpond.connect(tmp_path / "pond", auto_archive=False) as pond:
        pond.sql("CREATE TABLE t (a INT, b STRING)")
        pond.sql("INSERT INTO t VALUES (1, 'x'), (2, 'y'), (3, NULL)")
        yield pond


def refused(db: millpond.Pond, sql: str, parameters: Any) -> str:
    with pytest.raises(millpond.SqlError) as caught:
        db.sql(sql, parameters)
    return str(caught.value)


def test_question_marks_take_values_in_order(db: millpond.Pond) -> None:
    assert db.sql("SELECT a FROM t WHERE a > ? AND b = ?", [1, "y"]).rows() == [(2,)]
    assert db.sql("SELECT a FROM t WHERE a IN (?, ?) ORDER BY a LIMIT ?", (1, 3, 1)).rows() == [(1,)]


def test_names_take_values_by_name_as_often_as_they_stand(db: millpond.Pond) -> None:
    sql = "SELECT a FROM t WHERE a >= :low AND a < :high AND :low <= :high"
    assert db.sql(sql, {"low": 2, "high": 3}).rows() == [(2,)]


def test_changes_take_parameters(db: millpond.Pond) -> None:
    db.sql("INSERT INTO t VALUES (?, ?), (:a, 'no')".replace(":a", "?"), [7, "it's", 8])
    db.sql("UPDATE t SET b = :b WHERE a = :a", {"a": 8, "b": "new"})
    db.sql("DELETE FROM t WHERE a < ?", [3])
    assert db.sql("SELECT a, b FROM t ORDER BY a").rows() == [(3, None), (7, "it's"), (8, "new")]


def test_parameters_of_several_statements(db: millpond.Pond) -> None:
    assert db.sql("INSERT INTO t VALUES (?, 'z'); SELECT b FROM t WHERE a = ?", [9, 9]).rows() == [("z",)]


def test_parameters_in_windows_intervals_and_explain(db: millpond.Pond) -> None:
    db.sql("CREATE STREAMING TABLE s (v INT, t BIGINT) TIMESTAMP BY t")
    db.append("s", [(i, i) for i in range(10)])
    assert db.sql("SELECT count(*) AS n FROM s [ROWS ?]", [4]).rows() == [(4,)]
    written = db.sql("SELECT count(*) AS n FROM s [INTERVAL 3 SECOND]").rows()
    assert db.sql("SELECT count(*) AS n FROM s [INTERVAL :n SECOND]", {"n": 3}).rows() == written
    assert db.sql("SELECT min(v) AS n FROM s [SINCE ?]", [6]).rows() == [(6,)]
    assert db.sql("EXPLAIN SELECT * FROM s WHERE v = ?", [4]).rows()


VALUES = [
    (5, 5, "int32"), (-5, -5, "int32"), (3_000_000_000, 3_000_000_000, "int64"), (-(2**63), -(2**63), "int64"),
    (1.5, 1.5, "double"), (-0.1, -0.1, "double"), (1e300, 1e300, "double"), (2.0, 2.0, "double"),
    (math.inf, math.inf, "double"), (-math.inf, -math.inf, "double"),
    ("it's", "it's", "string"), ("a\\nb\\", "a\\nb\\", "string"), ("\n\t -- ; /* ?", "\n\t -- ; /* ?", "string"),
    ("", "", "string"), ("😀", "😀", "string"), ("') OR ('1'='1", "') OR ('1'='1", "string"),
    (True, True, "bool"), (False, False, "bool"),
    (Decimal("12.50"), Decimal("12.50"), "decimal128(4, 2)"), (Decimal("-3"), Decimal("-3"), "decimal128(1, 0)"),
    (Decimal("0.005"), Decimal("0.005"), "decimal128(3, 3)"), (Decimal("1E+3"), Decimal(1000), "decimal128(4, 0)"),
    (dt.date(2026, 1, 31), dt.date(2026, 1, 31), "date32[day]"),
    (dt.datetime(2026, 1, 31, 12, 30, 0, 5), dt.datetime(2026, 1, 31, 12, 30, 0, 5), "timestamp[us]"),
    (dt.datetime(2026, 1, 31, 12, tzinfo=dt.timezone(dt.timedelta(hours=2))),
     dt.datetime(2026, 1, 31, 10), "timestamp[us]"),
    (np.int64(7), 7, "int32"), (np.float32(0.5), 0.5, "double"), (np.bool_(True), True, "bool"),
]  # fmt: skip


@pytest.mark.parametrize(("value", "expected", "kind"), VALUES, ids=[repr(v) for v, *_ in VALUES])
def test_a_value_comes_back_as_it_is(db: millpond.Pond, value: Any, expected: Any, kind: str) -> None:
    [statement] = parse("SELECT ? AS x", [value])
    assert isinstance(statement, statements.Select)
    found = db.sql("SELECT ? AS x FROM t LIMIT 1", [value])
    assert found.rows() == [(expected,)]
    assert str(found.arrow().schema.field("x").type) == kind


def test_bytes_are_a_literal_of_their_own() -> None:
    [statement] = parse("SELECT ? AS x", [b"\x00\xff'"])
    assert isinstance(statement, statements.Select)
    assert statement.query.sql("spark") == "SELECT X'00ff27' AS x"


def test_null_is_a_value(db: millpond.Pond) -> None:
    assert db.sql("SELECT a FROM t WHERE coalesce(b, :b) IS NULL", {"b": None}).rows() == [(3,)]
    assert math.isnan(db.sql("SELECT ? AS x FROM t LIMIT 1", [math.nan]).rows()[0][0])


@given(st.text())
@settings(max_examples=200, deadline=None)
def test_a_text_is_one_literal_whatever_it_holds(value: str) -> None:
    for sql, parameters in (("SELECT ? AS x", [value]), ("SELECT :v AS x", {"v": value})):
        [statement] = parse(sql, parameters)  # type: ignore[arg-type]
        assert isinstance(statement, statements.Select)
        [item] = statement.query.expressions
        assert isinstance(item.this, exp.Literal)
        assert (item.this.this, item.this.is_string) == (value, True)


def test_marks_in_texts_and_comments_are_none(db: millpond.Pond) -> None:
    assert db.sql("SELECT '?' AS a, ':b' AS b, \"?\" AS c -- ? :d", []).rows() == [("?", ":b", "?")]
    assert db.sql("SELECT '?:x' AS a, ? AS b", [1]).rows() == [("?:x", 1)]


def test_wrong_numbers_of_parameters(db: millpond.Pond) -> None:
    assert refused(db, "SELECT ? AS a, ? AS b", [1]) == (
        "1 parameter is given, and the statement has 2\nline 1: SELECT ? AS a, ? AS b\n                       ^"
    )
    assert refused(db, "SELECT ? AS a", [1, 2, 3]) == "3 parameters are given, and the statement has 1"
    assert refused(db, "SELECT 1 AS a", [1]) == "1 parameter is given, and the statement has 0"
    assert refused(db, "SELECT ? AS a", None) == (
        "parameter has no value\nline 1: SELECT ? AS a\n               ^\n"
        "Hint: Give the values too: db.sql(text, [1, 'a']) for ?, db.sql(text, {'name': 1}) for :name."
    )
    assert refused(db, "SELECT :x AS a", None).startswith('parameter "x" has no value\nline 1: SELECT :x AS a\n')


def test_wrong_names_of_parameters(db: millpond.Pond) -> None:
    assert refused(db, "SELECT :vid AS a", {"vld": 1}) == (
        'parameter "vid" does not exist\nline 1: SELECT :vid AS a\n               ^^^^\nHint: Did you mean "vld"?'
    )
    assert refused(db, "SELECT :a AS a", {"a": 1, "b": 2}) == (
        'parameter "b" is given, and the statement does not have it\nHint: Leave it out.'
    )


def test_mixed_parameters(db: millpond.Pond) -> None:
    hint = "Hint: Use one of them throughout: a list for ?, a dict for :name."
    for parameters in ([1], {"b": 1}):
        text = refused(db, "SELECT ? AS a, :b AS b", parameters)
        assert text.startswith("the statement has both ? and :name\n")
        assert text.endswith(hint)
    assert refused(db, "SELECT ? AS a", {"a": 1}).startswith("the parameters have names, and the statement has ?\n")
    assert refused(db, "SELECT :a AS a", [1]).startswith("the parameters have no names, and the statement has :name\n")


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ("x", "parameters are a list, a tuple or a dict, not 'x'\nHint: A single one is [value], or {'name': value}."),
        (5, "parameters are a list, a tuple or a dict, not 5\nHint: A single one is [value], or {'name': value}."),
        ({1: 2}, "the name of a parameter is a text, not 1"),
    ],
)
def test_what_are_no_parameters(db: millpond.Pond, parameters: Any, message: str) -> None:
    assert refused(db, "SELECT ? AS a", parameters) == message


def test_a_value_without_a_type(db: millpond.Pond) -> None:
    assert refused(db, "SELECT ? AS a", [[1, 2]]) == (
        "parameter cannot be [1, 2], which is a list\nline 1: SELECT ? AS a\n               ^\n"
        "Detail: A parameter is one of: None, bool, int, float, str, bytes, Decimal, date, datetime."
    )
    assert refused(db, "SELECT ? AS a", [Decimal("1E+40")]).startswith("parameter cannot be Decimal('1E+40')")
    assert refused(db, "SELECT :a AS a", {"a": Decimal("NaN")}).startswith("parameter \"a\" cannot be Decimal('NaN')")


@pytest.mark.parametrize(
    "sql",
    [
        "CREATE STREAMING TABLE x (v INT, t BIGINT) TIMESTAMP BY t RANGE INTERVAL ? SECOND",
        "CREATE CONTINUOUS QUERY q AS SELECT a FROM t WHERE a = ? SAMPLE INTERVAL '1' SECOND",
        "CREATE TABLE x AS SELECT ? AS a",
        "DROP TABLE ?",
    ],
)
def test_statements_that_are_kept_take_no_parameters(db: millpond.Pond, sql: str) -> None:
    word = sql.split()[0]
    text = refused(db, sql, [1])
    assert text.startswith(f"{word} takes no parameters\n")
    assert text.endswith("Detail: It is kept as it is written.\nHint: Write the value itself.")


def test_a_feed_takes_no_parameters(db: millpond.Pond, tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    db.sql("CREATE STREAMING TABLE s (v INT, t BIGINT) TIMESTAMP BY t")
    db.sql(f"CREATE SOURCE f (v INT, t BIGINT) FROM FILES '{tmp_path / 'in'}'")
    assert refused(db, "INSERT INTO s SELECT v, t FROM f WHERE v > ?", [1]).startswith("a feed takes no parameters\n")


def test_errors_about_a_value_show_its_mark(db: millpond.Pond) -> None:
    with pytest.raises(millpond.SqlError) as caught:
        db.sql("SELECT a FROM t [ROWS ?]", ["x"])
    assert caught.value.span is not None
    assert caught.value.sql is not None
    assert caught.value.sql[caught.value.span.start : caught.value.span.end] == "?"


def test_parameters_beside_a_long_list(db: millpond.Pond) -> None:
    numbers = ", ".join(map(str, range(2, 500)))
    assert db.sql(f"SELECT a FROM t WHERE a IN ({numbers}) AND b = ?", ["y"]).rows() == [(2,)]
    assert refused(db, f"SELECT a FROM t WHERE a IN ({numbers}) AND b = ?", None).startswith("parameter has no value")


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT 1 AS a FROM ?",
        "SELECT 1 AS ?",
        "SELECT a FROM p AS ?",
        "SELECT a FROM p ?",
        "SELECT a FROM p JOIN ? ON TRUE",
        "SELECT a FROM p, ?",
        "WITH ? AS (SELECT 1 AS a) SELECT a FROM p",
        "INSERT INTO ? VALUES (1)",
        "DELETE FROM ?",
        "UPDATE ? SET a = 1",
    ],
)
@pytest.mark.parametrize("value", ["p", True, 7])
def test_a_parameter_is_never_a_name(db: millpond.Pond, sql: str, value: Any) -> None:
    db.sql("CREATE TABLE p (a INT)")
    with pytest.raises(millpond.SqlSyntaxError) as caught:
        db.sql(sql, [value])
    assert caught.value.primary == "expected a name, but found a parameter"
    assert caught.value.hint == "A parameter is a value. Write the name itself."
    assert caught.value.span is not None
    assert sql[caught.value.span.start : caught.value.span.end] == "?"


@pytest.mark.parametrize(
    "sql", ["SELECT a FROM p AS t(?)", "SELECT 1 ?", "SELECT p.? FROM p", "SELECT stack(1, 2) AS (?)"]
)
@pytest.mark.parametrize("value", ["a", True])
def test_a_parameter_is_not_a_column_either(db: millpond.Pond, sql: str, value: Any) -> None:
    db.sql("CREATE TABLE p (a INT)")
    with pytest.raises(millpond.SqlError):
        db.sql(sql, [value])


@pytest.mark.parametrize(
    "sql",
    ["SELECT a FROM 'p'", 'SELECT a FROM "p"', "SELECT 1 AS 'p'", "SELECT a FROM p AS 'p'", "SELECT a FROM p 'p'"],
)
def test_a_text_is_never_a_name(db: millpond.Pond, sql: str) -> None:
    db.sql("CREATE TABLE p (a INT)")
    with pytest.raises(millpond.SqlSyntaxError) as caught:
        db.sql(sql)
    assert caught.value.primary in ("expected a name, but found text 'p'", 'expected a name, but found text "p"')
    assert caught.value.hint == "A text is a value. Names need no quotes, or stand in backquotes."


def test_a_number_is_never_a_name(db: millpond.Pond) -> None:
    with pytest.raises(millpond.SqlSyntaxError, match="expected a name, but found number 5"):
        db.sql("SELECT 1 AS 5")
