"""Long chains are balanced without changing what they say; statements that are too large are refused when they are read."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from sqlglot import exp

import millpond
from millpond.sql import statements
from millpond.sql.parser import parse
from millpond.sql.sizes import MOST_ANDS, MOST_COLUMNS, MOST_SELECTS, MOST_TOKENS


def query(sql: str) -> exp.Expr:
    [statement] = parse(sql)
    assert isinstance(statement, statements.Select)
    return statement.query


def depth(tree: exp.Expr) -> int:
    deepest, level = 0, [tree]
    while level:
        level = [child for node in level for child in node.iter_expressions()]
        deepest += 1
    return deepest


@pytest.mark.parametrize("word", ["AND", "OR"])
@pytest.mark.parametrize("count", [63, 64, 65, 100, 1000])
def test_a_chain_of_conditions_keeps_its_order(word: str, count: int) -> None:
    sql = "SELECT a FROM t WHERE " + f" {word} ".join(f"a > {i}" for i in range(count))
    tree = query(sql)
    assert tree.sql("spark") == sql
    if count > 64:
        assert depth(tree) < 20


def test_a_chain_of_texts_keeps_its_order() -> None:
    sql = "SELECT " + " || ".join(f"a{i}" for i in range(1000)) + " AS x FROM t"
    assert query(sql).sql("spark") == sql
    assert depth(query(sql)) < 20


@pytest.mark.parametrize("count", [63, 64, 65, 999])
def test_a_chain_of_unions_keeps_its_order(count: int) -> None:
    sql = " UNION ALL ".join(f"SELECT {i} AS a" for i in range(count)) + " ORDER BY a LIMIT 7"
    tree = query(sql)
    assert tree.sql("spark") == sql
    if count > 64:
        assert depth(tree) < 20


def test_a_chain_of_unions_without_duplicates_too() -> None:
    sql = " UNION ".join(f"SELECT {i} AS a" for i in range(100))
    assert depth(query(sql)) < 20
    assert query(sql).sql("spark") == sql


@pytest.mark.parametrize("place", [1, 50, 98, 99])
def test_what_is_not_associative_stays_as_it_was(place: int) -> None:
    words = ["UNION" if i == place else "UNION ALL" for i in range(100)]
    mixed = "SELECT 0 AS a" + "".join(f" {word} SELECT {i} AS a" for i, word in enumerate(words))
    assert query(mixed).sql("spark") == mixed
    removed = [node for node in query(mixed).find_all(exp.Union) if node.args.get("distinct")]
    assert len(removed) == 1
    assert len(list(removed[0].this.find_all(exp.Select))) == place + 1  # all that stand before it, and one after it
    assert len(list(removed[0].expression.find_all(exp.Select))) == 1


def test_long_chains_are_answered(tmp_path: Path) -> None:
    with millpond.connect(tmp_path / "pond") as db:
        db.sql("CREATE TABLE t (a INT)")
        db.sql("INSERT INTO t VALUES (7), (9999), (NULL)")
        either = " OR ".join(f"a = {i}" for i in range(2000))
        neither = " AND ".join(f"a <> {i}" for i in range(500))
        assert db.sql(f"SELECT a FROM t WHERE {either}").rows() == [(7,)]
        assert db.sql(f"SELECT a FROM t WHERE {neither}").rows() == [(9999,)]
        union = " UNION ALL ".join(f"SELECT {i} AS a" for i in range(600))
        assert db.sql(f"SELECT count(*) AS n, sum(a) AS s FROM ({union})").rows() == [(600, 600 * 599 // 2)]
        assert sorted(db.sql(union).rows())[-1] == (599,)
        distinct = " UNION ".join(f"SELECT {i % 10} AS a" for i in range(200))
        assert sorted(db.sql(distinct).rows()) == [(i,) for i in range(10)]
        assert len(db.sql(f"{distinct} UNION ALL SELECT 1 AS a")) == 11
        assert len(db.sql(f"SELECT 1 AS a UNION ALL {distinct}")) == 10


def test_too_many_selects_are_refused() -> None:
    sql = " UNION ALL ".join(["SELECT 1 AS a"] * (MOST_SELECTS + 1))
    with pytest.raises(millpond.UnsupportedSql) as caught:
        parse(sql)
    assert caught.value.primary == "a statement has more than 1,000 SELECTs"
    assert caught.value.hint == "Insert the rows into a standard table, or write them as VALUES."


@pytest.mark.parametrize(
    ("sql", "what"),
    [
        ("SELECT " + ", ".join(f"{i} AS c{i}" for i in range(MOST_COLUMNS + 1)), "a SELECT"),
        ("CREATE TABLE t (" + ", ".join(f"c{i} INT" for i in range(MOST_COLUMNS + 1)) + ")", "a table"),
        ("CREATE STREAMING TABLE t (" + ", ".join(f"c{i} INT" for i in range(MOST_COLUMNS + 1)) + ")", "a table"),
    ],
)
def test_too_many_columns_are_refused(sql: str, what: str) -> None:
    with pytest.raises(millpond.UnsupportedSql) as caught:
        parse(sql)
    assert caught.value.primary == f"{what} of 4,097 columns is too wide"
    assert caught.value.detail == "The most is 4,096 columns."
    assert len(str(caught.value)) < 1000


def refused(sql: str) -> millpond.LimitExceeded:
    begin = time.process_time()
    with pytest.raises(millpond.LimitExceeded) as caught:
        parse(sql)
    assert time.process_time() - begin < 5
    return caught.value


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT a FROM t WHERE " + " OR ".join(f"a > {i}" for i in range(50_000)),
        "SELECT CASE " + " ".join(f"WHEN a = {i} THEN {i}" for i in range(50_000)) + " END AS x FROM t",
        "SELECT " + " || ".join(["b"] * 50_000) + " AS x FROM t",
        "SELECT a FROM t ORDER BY " + ", ".join(f"a + {i}" for i in range(50_000)),
        "INSERT INTO t VALUES " + ", ".join(f"(abs({i}))" for i in range(50_000)),
    ],
)
def test_a_statement_that_takes_too_long_to_understand_is_refused_at_once(sql: str) -> None:
    error = refused(sql)
    assert error.primary.startswith("the statement has ")
    assert error.primary.endswith(f" words and symbols, more than {MOST_TOKENS:,}")
    assert error.detail == "Lists of plain literals in IN and VALUES count as one."


@pytest.mark.parametrize(
    "sql",
    [
        " OR ".join(f"a = {i} AND b = {i}" for i in range(MOST_ANDS + 1)),
        " AND ".join(f"(a > {i} OR b = {i})" for i in range(MOST_ANDS + 2)),
        f"({' AND '.join(['a > b'] * 600)}) AND NOT ({' AND '.join(['a > b'] * 600)})",
    ],
)
def test_a_condition_that_the_engine_cannot_plan_is_refused(sql: str) -> None:
    assert refused(f"SELECT a FROM t WHERE {sql}").primary.endswith(" ANDs, more than 1,000")


def test_a_chain_of_sums_that_is_too_long_is_refused_at_once() -> None:
    begin = time.process_time()
    with pytest.raises(millpond.UnsupportedSql, match="a statement is nested too deeply"):
        parse("SELECT " + " + ".join(["a"] * 10_000) + " AS x FROM t")
    assert time.process_time() - begin < 5


def test_fifty_thousand_conditions_are_answered(tmp_path: Path) -> None:
    """They took 29 seconds."""
    with millpond.connect(tmp_path / "pond", query_time="20 seconds") as db:
        db.sql("CREATE TABLE t (a INT, b STRING)")
        db.sql("INSERT INTO t VALUES (7, 'v7'), (99999, 'v99999'), (NULL, NULL)")
        for name, value in (("a", "{}"), ("t.b", "'v{}'")):
            either = " OR ".join(f"{name} = {value.format(i)}" for i in range(50_000))
            neither = " AND ".join(f"{name} <> {value.format(i)}" for i in range(50_000))
            assert db.sql(f"SELECT a FROM t WHERE {either}").rows() == [(7,)]
            assert db.sql(f"SELECT a FROM t WHERE {neither}").rows() == [(99999,)]
            assert db.sql(f"SELECT {either} AS x FROM t ORDER BY a").rows() == [(None,), (True,), (False,)]


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT a FROM t WHERE " + " OR ".join(f"a > {i}" for i in range(3000)),
        "SELECT CASE " + " ".join(f"WHEN a = {i} THEN {i}" for i in range(1500)) + " END AS x FROM t",
    ],
)
def test_the_time_of_a_query_begins_with_its_text(sql: str, tmp_path: Path) -> None:
    with millpond.connect(tmp_path / "pond", query_time="50ms") as db:
        db.sql("CREATE TABLE t (a INT)")
        with pytest.raises(millpond.LimitExceeded, match=r"the query took longer than 0\.05 seconds and was stopped"):
            db.sql(sql)
