"""The text that goes to Spark is looked at as Spark's lexer reads it."""

from __future__ import annotations

import pytest
from sqlglot.tokenizer_core import Token, TokenType

from millpond.errors import UnsupportedSql
from millpond.sql.dialect import tokenize
from millpond.sql.parser import parse
from millpond.sql.query_text import Instant, QueryText, View, text_of
from millpond.sql.spark_functions import ALLOWED, REFUSED, TABLE_FUNCTIONS
from millpond.sql.spark_text import check_quotes, check_spark_text
from millpond.sql.statements import Select


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
        "SELECT x, (TABLE s) FROM v",
        "SELECT 1 WHERE EXISTS (table `_q1__r0`)",
        "SELECT 1 -- a comment",
        "SELECT 1 /* a comment */",
        "SELECT TRANSFORM(a) u\u017fing 'cat' FROM v",
        "WITH x AS (SELECT 1) INSERT OVERWRITE DIRECTORY '/tmp/x' USING csv SELECT * FROM x",
        "WITH x AS (SELECT 1) \u0131nsert into y SELECT * FROM x",
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
        "SELECT abs(a), 'reflect(1)', \"reflect(1)\", `reflect`, '--', '/*' FROM v",
        "SELECT COUNT(*) FILTER (WHERE (a > 1)) OVER (PARTITION BY b) FROM v JOIN w USING (a)",
        "SELECT CAST(a AS DECIMAL(10, 2)), a IN (1, 2), EXISTS (SELECT 1), CASE WHEN (a) THEN (b) ELSE (c) END FROM v",
        "VALUES (1), (2)",
        "SELECT table, (table), v.table FROM v WHERE table IN (1)",
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


@pytest.mark.parametrize(
    "sql",
    [
        r"SELECT 'a', '\'', 'it''s', '\\', r'\', R'\', X'ff', N'a'",
        r"""SELECT "a", "\"", "b""c", "it's", '"', r"\", `a``b`, `'`, `"`""",
        "SELECT a, 1L, 1.5e-3BD, 'a' 'b', -1 FROM t [ROWS 2] WHERE a >= 1 AND b <=> 2",
        "SELECT a FROM t WHERE b = 'x' OR " + " OR ".join(f"c='{n}'" for n in range(300)) + " OR d = 2",
        "SELECT a FROM t WHERE a IN (" + ", ".join(f"'it''s {n}'" for n in range(300)) + ")",
    ],
)
def test_spark_and_the_parser_see_the_same_quotes(sql: str) -> None:
    text = _query_text(sql)
    check_quotes(sql, text.tokens)
    assert text.written(_no_view, _no_instant) == sql


def test_a_token_that_spark_quotes_differently_is_refused() -> None:
    for sql in ("'a''b'", "`a``b`", "r'a\\'"):
        (token,) = tokenize(sql)
        check_quotes(sql, [token])
        shorter = Token(token.token_type, token.text, start=token.start, end=token.end - 1)
        with pytest.raises(UnsupportedSql, match="not quoted as Spark reads it"):
            check_quotes(sql, [shorter])
    with pytest.raises(UnsupportedSql, match="not quoted as Spark reads it"):
        check_quotes("a'b", [Token(TokenType.VAR, "a'b", start=0, end=2)])


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT -- \\\n'\n TRANSFORM(a) USING \"touch /tmp/x\" AS (b STRING) FROM (SELECT 1 AS a) -- '",
        "WITH x AS (SELECT 1) -- \\\nSELECT '\n INSERT OVERWRITE DIRECTORY \"/tmp/x\" USING csv SELECT * FROM x -- '",
        "SELECT 1 /* /*+ */, reflect('a') /* */ */",
        "SELECT 1 /* /* */* */ , 'a' /* */ */ -- b",
        "SELECT 1 -- ' \r, 2 -- '",
        "SELECT GROUPING_ID(a) -- x\nFROM t -- '\n/* \" */ GROUP BY ROLLUP (a) /* the end */",
    ],
)
def test_a_comment_never_reaches_spark_which_may_end_it_elsewhere(sql: str) -> None:
    text = _query_text(sql)
    written = text.written(_no_view, _no_instant)
    check_quotes(sql, text.tokens)
    check_spark_text(written, {})
    assert [(t.token_type, t.text) for t in tokenize(written)] == [(t.token_type, t.text) for t in text.tokens]


def test_a_parameter_is_never_a_part_of_what_stands_beside_it() -> None:
    (select,) = parse("SELECT 'a'?, r", ["' OR 1"])
    assert isinstance(select, Select)
    text = text_of(select.query)
    assert text is not None
    assert text.written(_no_view, _no_instant) == r"SELECT 'a' '\' OR 1' , r"


def test_a_number_with_a_point_at_its_end_is_no_schema() -> None:
    check_spark_text("SELECT 3. IN (1, 2), 2. * (1), CASE WHEN 1. THEN (2) END", {})
    for text in ("SELECT x.reflect('a')", "SELECT 1.x.abs(1)", "SELECT 3. reflect('a')"):
        with pytest.raises(UnsupportedSql):
            check_spark_text(text, {})


def _query_text(sql: str) -> QueryText:
    (select,) = parse(sql)
    assert isinstance(select, Select)
    text = text_of(select.query)
    assert text is not None
    return text


def _no_view(view: View) -> str:
    raise AssertionError("no relation is named")


def _no_instant(instant: Instant) -> str:
    raise AssertionError("no instant is asked for")


def test_no_function_is_in_two_lists() -> None:
    assert not ALLOWED & TABLE_FUNCTIONS
    assert not (ALLOWED | TABLE_FUNCTIONS) & set(REFUSED)
