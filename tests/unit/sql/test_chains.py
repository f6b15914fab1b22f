"""Long chains are balanced without changing what they say; statements that are too large are refused when they are read."""

from __future__ import annotations

from pathlib import Path

import pytest
from sqlglot import exp

import millpond
from millpond.sql import statements
from millpond.sql.parser import parse
from millpond.sql.sizes import MOST_COLUMNS, MOST_SELECTS


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
    sql = "SELECT a FROM t WHERE " + f" {word} ".join(f"a = {i}" for i in range(count))
    tree = query(sql)
    assert tree.sql("spark") == sql
    if count > 64:
        assert depth(tree) < 20


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
