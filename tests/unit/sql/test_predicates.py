"""Reading conditions: what is read means the same to the engine, what is not read exactly is not read."""

from __future__ import annotations

import time
from collections.abc import Iterator
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sqlglot import exp

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
from millpond.predicate.vector import Columns, matches
from millpond.sql.parser import parse
from millpond.sql.predicates import read_necessary, read_predicate

TYPES = {
    "k": "INT", "small": "SMALLINT", "t": "BIGINT", "name": "STRING", "day": "DATE", "at": "TIMESTAMP", "x": "DOUBLE",
    "d": "DECIMAL(5,2)",
}  # fmt: skip


def condition(text: str) -> exp.Expr:
    """A condition as binding leaves it: with types on its columns."""
    [statement] = parse(f"SELECT * FROM s WHERE {text}")
    where = statement.query.args["where"].this  # type: ignore[attr-defined]
    for column in where.find_all(exp.Column):
        column.type = exp.DataType.build(TYPES[column.name], dialect="spark")
    found: exp.Expr = where
    return found


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
        ("k IS NULL OR x IS NULL", None),
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
        ("k = 1 AND x > 1", None),
        ("d = 1", None),
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
        ("k = 1 AND x > 1", equal("k", 1)),
        ("(k = 1 AND x > 1) OR (k = 2 AND x < 1)", Or((equal("k", 1), equal("k", 2)))),
        ("k = 1 OR x > 1", Always()),
        ("NOT (k = 1 AND x > 1)", Always()),
        ("NOT (x > 1 OR k = 1)", Always()),
        ("k BETWEEN 1 AND x", Compare("k", ">=", 1)),
        ("k < t + 5", CompareColumns("k", "<", "t", 5)),
        ("x > 1", Always()),
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
    ],
)
def test_long_lists(column: str, values: list[str], expected: frozenset[Any]) -> None:
    tree = condition(f"{column} IN ({', '.join(values)})")
    begin = time.process_time()
    assert read_predicate(tree) == Among(column, expected)
    assert time.process_time() - begin < 2
    assert read_predicate(condition(f"x = 1 OR t IN ({', '.join(values)})")) is None


# -- against the engine ------------------------------------------------------------------------------------------------

SAMPLE = [
    {"id": i, "k": k, "small": small, "t": t, "name": name, "day": day, "at": at}
    for i, (k, small, t, name, day, at) in enumerate(
        zip(
            [0, 1, None, -1, 2**31 - 1, -(2**31), 2, 2] * 6,
            [0, 2, 32767, -32768, None, 1] * 8,
            [None, 0, 2, 1, 2**62, -(2**62)] * 8,
            ["", "a", "ab", "A", None, "a%", "a_", "aé", "b", "ab\n", "%", "\\"] * 4,
            [date(1970, 1, 1), None, date(2024, 2, 29), date(1, 1, 1)] * 12,
            [datetime(1970, 1, 1, tzinfo=UTC), datetime(2024, 2, 29, 12, 0, 0, 1, tzinfo=UTC), None] * 16,
            strict=True,
        )
    )
]
COMPARED = st.sampled_from(["=", "<>", "<", "<=", ">", ">="])
LITERALS = {
    "k": ["0", "1", "-1", "2147483647", "-2147483648", "3000000000", "2"],
    "small": ["0", "1", "-32768", "40000"],
    "t": ["0", "2", "4611686018427387904", "-5"],
    "name": ["''", "'a'", "'ab'", "'A'", "'aé'", "'b'"],
    "day": ["DATE '1970-01-01'", "'2024-02-29'", "DATE '0001-01-01'"],
    "at": ["TIMESTAMP '1970-01-01 00:00:00'", "'2024-02-29 12:00:00.000001'", "'2024-02-29'", "DATE '1970-01-02'"],
}
COLUMNS = st.sampled_from(sorted(LITERALS))
WHOLE = st.sampled_from(["k", "small", "t"])


def literals(column: str) -> st.SearchStrategy[str]:
    return st.sampled_from(LITERALS[column])


SIMPLE = st.one_of(
    COLUMNS.flatmap(lambda c: st.builds("{} {} {}".format, st.just(c), COMPARED, literals(c))),
    COLUMNS.flatmap(lambda c: st.builds("{1} {0} {2}".format, COMPARED, literals(c), st.just(c))),
    COLUMNS.flatmap(lambda c: st.builds("{} BETWEEN {} AND {}".format, st.just(c), literals(c), literals(c))),
    COLUMNS.flatmap(
        lambda c: st.lists(literals(c), min_size=1, max_size=4).map(lambda values: f"{c} IN ({', '.join(values)})")
    ),
    st.builds("{} IS NULL".format, COLUMNS),
    st.builds("{} {} {}".format, WHOLE, COMPARED, WHOLE),
    st.builds("{} {} small + {}".format, WHOLE, COMPARED, st.integers(0, 3)),
    st.builds("name LIKE '{}'".format, st.sampled_from(["a%", "%", "ab%", "aé%", "a", ""])),
)
CONDITIONS = st.recursive(
    SIMPLE,
    lambda inner: st.one_of(
        st.builds("({} AND {})".format, inner, inner),
        st.builds("({} OR {})".format, inner, inner),
        st.builds("(NOT {})".format, inner),
    ),
    max_leaves=5,
)


class Rows:
    def __init__(self, table: pa.Table) -> None:
        self._table = table
        self.size = table.num_rows

    def column(self, name: str) -> pa.ChunkedArray:
        return self._table.column(name)


@pytest.fixture(scope="module")
def pond(tmp_path_factory: pytest.TempPathFactory) -> Iterator[millpond.Pond]:
    folder: Path = tmp_path_factory.mktemp("predicates")
    with millpond.connect(folder / "pond") as db:
        columns = ", ".join(f"{name} {TYPES[name]}" for name in LITERALS)
        db.sql(f"CREATE STREAMING TABLE s (id BIGINT, {columns}) TIMESTAMP BY id WITH (shards = 1)")
        db.append("s", SAMPLE)
        yield db


@given(texts=st.lists(CONDITIONS, min_size=1, max_size=8))
@settings(max_examples=25, deadline=None)
def test_predicates_match_the_rows_that_the_engine_finds(texts: list[str], pond: millpond.Pond) -> None:
    """Several conditions in one query, because asking costs more than answering."""
    tests = ", ".join(f"coalesce({text}, FALSE) AS c{i}" for i, text in enumerate(texts))
    found = pond.sql(f"SELECT *, {tests} FROM s ORDER BY id").arrow()
    columns = Columns(Rows(found))
    for i, text in enumerate(texts):
        predicate = read_predicate(condition(text))
        assert predicate is not None
        assert matches(predicate, columns).tolist() == found.column(f"c{i}").to_pylist(), text
