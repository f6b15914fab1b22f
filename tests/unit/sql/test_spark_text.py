"""The text that goes to Spark is looked at as Spark's lexer reads it."""

from __future__ import annotations

import pytest

from millpond.errors import UnsupportedSql
from millpond.sql.spark_functions import ALLOWED, REFUSED, TABLE_FUNCTIONS
from millpond.sql.spark_text import check_spark_text


@pytest.mark.parametrize(
    "text",
    [
        "SELECT reflect('a', 'b')",
        "SELECT REFLECT ('a', 'b')",
        "SELECT reflect\n-- a comment \\\n still the comment\n('a', 'b')",
        "SELECT reflect /* one /* inside */ another */ ('a', 'b')",
        "SELECT `reflect`('a', 'b')",
        "SELECT 'it''s', reflect('a', 'b')",
        r"SELECT 'a\'', reflect('a', 'b')",
        r"SELECT r'a\', reflect('a', 'b'), '\''",
        'SELECT "a", reflect("a", "b")',
        "SELECT system.builtin.reflect('a', 'b')",
        "SELECT builtin.abs(1)",
        "SELECT `builtin`.`abs`(1)",
        "SELECT IDENTIFIER('reflect')('a', 'b')",
        "SELECT * FROM IDENTIFIER('t')",
        "SELECT TRANSFORM(a) USING 'cat' FROM v",
        'SELECT TRANSFORM(a) USING "cat" FROM v',
        "FROM v MAP a USING /* here */ 'cat'",
        "SELECT TRANSFORM(a) USING R'cat' FROM v",
        "SELECT $$a$$",
        "SELECT ${env:HOME}",
        "SELECT @a",
        "SELECT {d '2020-01-01'}",
        "SELECT 1; SELECT 2",
        "SELECT /*+ REPARTITION(3) */ 1",
        "SELECT /* open",
        "SELECT 'open",
        "SELECT `open",
        "SELECT * FROM TABLE(f(1))",
        "SELECT * FROM STREAM(v)",
        "SELECT \0",
    ],
)
def test_a_text_that_calls_what_is_not_listed_is_refused(text: str) -> None:
    with pytest.raises(UnsupportedSql):
        check_spark_text(text, {})


@pytest.mark.parametrize(
    "text",
    [
        "SELECT abs(a), 'reflect(1)', \"reflect(1)\", `reflect` FROM v -- reflect('a')",
        "SELECT /* reflect('a') */ COUNT(*) FILTER (WHERE (a > 1)) OVER (PARTITION BY b) FROM v JOIN w USING (a)",
        "SELECT CAST(a AS DECIMAL(10, 2)), a IN (1, 2), EXISTS (SELECT 1), CASE WHEN (a) THEN (b) ELSE (c) END FROM v",
        "VALUES (1), (2)",
        "(SELECT 1) UNION ALL (SELECT 2) EXCEPT (SELECT 3)",
        "SELECT CAST(a AS STRUCT<b: ARRAY<INT>>).b[0], x -> x + 1, a <=> b, a || b, -1.5E3, a >>> 1 FROM v",
        "SELECT a FROM v GROUP BY GROUPING SETS ((a), ()) HAVING (a) > 1 LIMIT (1)",
        "SELECT a FROM v WHERE a LIKE 'x' ESCAPE '!' AND NOT (b) OR (c) BETWEEN (1) AND (2)",
    ],
)
def test_an_ordinary_text_is_passed(text: str) -> None:
    check_spark_text(text, {})


def test_an_alias_with_columns_is_no_call_but_hides_none() -> None:
    check_spark_text("WITH `reflect`(`a`) AS (SELECT 1) SELECT a FROM reflect", {"reflect": 1})
    with pytest.raises(UnsupportedSql):
        check_spark_text("WITH `reflect`(`a`) AS (SELECT 1) SELECT reflect('a', 'b')", {"reflect": 1})
    with pytest.raises(UnsupportedSql):
        check_spark_text("SELECT reflect('a', 'b') FROM v AS `reflect`(`a`)", {"reflect": 1})


def test_no_function_is_in_two_lists() -> None:
    assert not ALLOWED & TABLE_FUNCTIONS
    assert not (ALLOWED | TABLE_FUNCTIONS) & set(REFUSED)
