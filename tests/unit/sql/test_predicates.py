"""Reading conditions: what is read means the same to the engine, what is not read exactly is not read."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import millpond
from millpond.predicate.form import (
    Always,
    Among,
    And,
    Compare,
    CompareColumns,
    IsNull,
    Never,
    Not,
    Or,
    Predicate,
    Prefix,
)
from millpond.predicate.vector import Columns
from millpond.sql.predicates import read_necessary, read_predicate
from tests.unit.sql.conditions import CONDITIONS, TYPES, Rows, condition, sample, truths


def equal(column: str, value: Any) -> Predicate:
    return Compare(column, "=", value)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("k = 1", equal("k", 1)),
        ("(k) != -1", Compare("k", "<>", -1)),
        ("5 < k", Compare("k", ">", 5)),
        ("k = 9223372036854775808", equal("k", 1 << 63)),
        ("k = 5L AND k = CAST(3 AS BIGINT)", And((equal("k", 5), equal("k", 3)))),
        ("k BETWEEN 1 AND 2", And((Compare("k", ">=", 1), Compare("k", "<=", 2)))),
        ("k NOT BETWEEN 1 AND 2", Not(And((Compare("k", ">=", 1), Compare("k", "<=", 2))))),
        ("k IN (1, -2)", Among("k", frozenset([1, -2]))),
        ("k NOT IN (1)", Not(Among("k", frozenset([1])))),
        ("name >= 'a'", Compare("name", ">=", "a")),
        ("name = CAST('a' AS STRING)", equal("name", "a")),
        ("name LIKE 'ab%'", Prefix("name", "ab")),
        ("name NOT LIKE '%'", Not(Prefix("name", ""))),
        ("name LIKE 'ab'", equal("name", "ab")),
        ("day < '2024-02-29'", Compare("day", "<", date(2024, 2, 29))),
        ("day IN (DATE '2024-02-29')", Among("day", frozenset([date(2024, 2, 29)]))),
        ("at = '1970-01-01 00:00:01.5'", equal("at", 1_500_000)),
        ("at = TIMESTAMP '1970-01-01 01:00:00+01:00'", equal("at", 0)),
        ("at = DATE '1970-01-02'", equal("at", 86_400_000_000)),
        ("k IS NULL OR wide IS NULL", None),
        ("x < 20", Compare("x", "<", 20.0)),
        ("x < 19.95 OR f > -0.1", Or((Compare("x", "<", 19.95), Compare("f", ">", -0.1)))),
        ("x = 1e3 AND x = 1.5D", And((equal("x", 1e3), equal("x", 1.5)))),
        ("x > double('NaN')", And((Compare("x", "<=", math.inf), Compare("x", ">", math.inf)))),
        ("x >= CAST('NaN' AS DOUBLE)", Compare("x", ">", math.inf)),
        ("x < -double('Infinity')", Compare("x", "<", -math.inf)),
        ("x IN (1, 2.5, 1e3)", Among("x", frozenset([1.0, 2.5, 1000.0]))),
        ("x IN (1, double('NaN'))", Or((Among("x", frozenset([1.0])), Compare("x", ">", math.inf)))),
        ("isnan(x)", And((Not(IsNull("x")), Compare("x", ">", math.inf)))),
        ("x = 9007199254740993", equal("x", 2.0**53)),
        ("d < 20", Compare("d", "<", Decimal(20))),
        ("d < 19.995 AND d <> 2BD", And((Compare("d", "<", Decimal("19.995")), Compare("d", "<>", Decimal(2))))),
        ("d IN (1, 2.5)", Among("d", frozenset([Decimal(1), Decimal("2.5")]))),
        ("flag", equal("flag", True)),
        ("NOT flag", Not(equal("flag", True))),
        ("flag <> FALSE", Compare("flag", "<>", False)),
        ("flag IN (TRUE)", Among("flag", frozenset([True]))),
        ("flag IS TRUE", And((Not(IsNull("flag")), equal("flag", True)))),
        ("x < y", CompareColumns("x", "<", "y")),
        ("k >= f", CompareColumns("k", ">=", "f")),
        ("x < y + 0.5", CompareColumns("x", "<", "y", 0.5)),
        ("x - 1 < y", CompareColumns("y", ">", "x", -1.0)),
        ("d < e", CompareColumns("d", "<", "e")),
        ("d + 1 <= 0.005 + e", CompareColumns("d", "<=", "e", Decimal("-0.995"))),
        ("flag = up", CompareColumns("flag", "=", "up")),
        ("k IS NOT NULL", Not(IsNull("k"))),
        ("k = 1 AND (k = 2 OR NOT t = 3)", And((equal("k", 1), Or((equal("k", 2), Not(equal("t", 3))))))),
        ("TRUE OR FALSE", Or((Always(), Never()))),
        ("k < t", CompareColumns("k", "<", "t")),
        ("day < day", CompareColumns("day", "<", "day")),
        ("small + 5 <= k", CompareColumns("k", ">=", "small", 5)),
        ("k < small - 5", CompareColumns("k", "<", "small", -5)),
        ("k > 3000000000 + k", CompareColumns("k", ">", "k", 3_000_000_000)),
        # Only an engine knows:
        ("k + 1 = 2", None),
        ("k < t + 5", None),
        ("name < name", None),
        ("day < at", None),
        ("day < day + 1", None),
        ("k = '1'", None),
        ("k = 1.0", None),
        ("k = 1e3", None),
        ("k = NULL", None),
        ("k <=> 1", None),
        ("k IN (1, NULL)", None),
        ("k IN (1, t)", None),
        ("k = CAST(300 AS TINYINT)", None),
        ("k = CAST('1' AS INT)", None),
        ("k = 1 AND wide > 1", None),
        ("wide = 1", None),
        ("d = 1e0", None),
        ("d IN (1, 2e0)", None),
        ("d = '1'", None),
        ("x = '1'", None),
        ("x = 1.5F", None),
        ("x = 9223372036854775808", None),
        ("x = NULL", None),
        ("x = y + y", None),
        ("x + 1 < y + 1", None),
        ("x < y + double('NaN')", None),
        ("f < f + 1", None),
        ("x < k + 1", None),
        ("x < t", None),
        ("x < d", None),
        ("d < k", None),
        ("d < share", None),
        ("d < e + 1e0", None),
        ("d < e + 1000000000000", None),
        ("d < CAST(20 AS DECIMAL(38,0))", None),
        ("e < 0.00000000000000000000001", None),
        ("flag = 1", None),
        ("flag = 'true'", None),
        ("k", None),
        ("isnan(k)", None),
        ("x IS TRUE", None),
        ("name = 1", None),
        ("name = CAST('42' AS INT)", None),
        ("name LIKE 'a_b%'", None),
        ("name LIKE 'a%b'", None),
        ("name LIKE 'a\\\\%'", None),
        ("name LIKE 'a|%' ESCAPE '|'", None),
        ("name ILIKE 'a%'", None),
        ("name LIKE ANY ('a%', 'b%')", None),
        ("upper(name) = 'A'", None),
        ("day = '20240229'", None),
        ("day = '2024-02-30'", None),
        ("day = '2024-W09-4'", None),
        ("day = CAST('2024-02-29 10:00:00' AS DATE)", None),
        ("day < TIMESTAMP '2024-02-29 00:00:00'", None),
        ("at = DATE '1970-01-02 10:00:00'", None),
        ("at = TIMESTAMP_NTZ '1970-01-01 00:00:00+01:00'", None),
        ("at = 5", None),
        ("k IS TRUE", None),
    ],
)
def test_reading(text: str, expected: Predicate | None) -> None:
    assert read_predicate(condition(text)) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("k = 1 AND wide > 1", equal("k", 1)),
        ("(k = 1 AND wide > 1) OR (k = 2 AND wide < 1)", Or((equal("k", 1), equal("k", 2)))),
        ("k = 1 OR wide > 1", Always()),
        ("NOT (k = 1 AND wide > 1)", Always()),
        ("NOT (wide > 1 OR k = 1)", Always()),
        ("k BETWEEN 1 AND wide", Compare("k", ">=", 1)),
        ("x < 1 AND wide > 1", Compare("x", "<", 1.0)),
        ("k < t + 5", CompareColumns("k", "<", "t", 5)),
        ("wide > 1", Always()),
    ],
)
def test_what_is_necessary(text: str, expected: Predicate) -> None:
    assert read_necessary(condition(text)) == expected


def test_sums_that_may_overflow_are_read_on_demand() -> None:
    assert read_predicate(condition("k < t + 5"), overflow=True) == CompareColumns("k", "<", "t", 5)
    assert read_predicate(condition("k < t + 9223372036854775808"), overflow=True) is None


def test_only_the_columns_that_are_found_are_read() -> None:
    assert read_predicate(condition("k = 1"), lambda _: None) is None
    assert read_necessary(condition("k = 1 AND t = 2"), lambda _: None) == Always()


def test_reading_leaves_the_tree_as_it_is() -> None:
    tree = condition("(k BETWEEN 1 AND 2) AND k IN (1, 2) AND 5 < k")
    before = tree.sql(), [node.parent for node in tree.walk()]
    read_predicate(tree)
    assert (tree.sql(), [node.parent for node in tree.walk()]) == before


@pytest.mark.parametrize(
    ("column", "values", "expected"),
    [
        ("k", [str(i) for i in range(100_000)], frozenset(range(100_000))),
        ("name", [f"'{i}'" for i in range(100_000)], frozenset(map(str, range(100_000)))),
        ("day", ["'2024-02-29'"] * 200, frozenset([date(2024, 2, 29)])),
        ("x", [str(i) for i in range(100_000)], frozenset(map(float, range(100_000)))),
        ("e", [str(i) for i in range(10_000)], frozenset(map(Decimal, range(10_000)))),
    ],
)
def test_long_lists(column: str, values: list[str], expected: frozenset[Any]) -> None:
    tree = condition(f"{column} IN ({', '.join(values)})")
    begin = time.process_time()
    assert read_predicate(tree) == Among(column, expected)
    assert time.process_time() - begin < 2
    assert read_predicate(condition(f"wide = 1 OR t IN ({', '.join(values)})")) is None


# -- against the engine ------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def pond(tmp_path_factory: pytest.TempPathFactory) -> Iterator[millpond.Pond]:
    folder: Path = tmp_path_factory.mktemp("predicates")
    with millpond.connect(folder / "pond") as db:
        columns = ", ".join(f"{name} {kind}" for name, kind in TYPES.items())
        db.sql(f"CREATE STREAMING TABLE s (id BIGINT, {columns}) TIMESTAMP BY id WITH (shards = 1)")
        db.append("s", sample())
        yield db


@given(texts=st.lists(CONDITIONS, min_size=1, max_size=8))
@settings(max_examples=25, deadline=None)
def test_predicates_match_the_rows_that_the_engine_finds(texts: list[str], pond: millpond.Pond) -> None:
    """Several conditions in one query, because asking costs more than answering."""
    tests = ", ".join(f"{text} AS c{i}" for i, text in enumerate(texts))
    found = pond.sql(f"SELECT *, {tests} FROM s ORDER BY id").arrow()
    columns = Columns(Rows(found))
    for i, text in enumerate(texts):
        assert truths(text, columns) == found.column(f"c{i}").to_pylist(), text
