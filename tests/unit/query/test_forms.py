"""Forms of queries that DuckDB answers as Spark does; tests/corpus/forms.sql proves more of them against Spark."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import millpond


@pytest.fixture(scope="module")
def pond(tmp_path_factory: pytest.TempPathFactory) -> Iterator[millpond.Pond]:
    folder: Path = tmp_path_factory.mktemp("forms")
    with millpond.connect(folder / "pond", engine="duckdb") as db:
        db.sql("CREATE STANDARD TABLE n (k INT, x INT, d DOUBLE)")
        db.sql("CREATE STANDARD TABLE m (k INT, y INT)")
        db.sql("CREATE STANDARD TABLE e (k INT, y INT)")
        db.sql("INSERT INTO n VALUES (1, 10, -0.0), (2, 20, 0.0)")
        db.sql("INSERT INTO m VALUES (2, 200), (3, 300)")
        yield db


@pytest.mark.parametrize(
    ("sql", "names", "rows"),
    [
        # hidden columns
        ("SELECT * FROM n NATURAL JOIN m", ["k", "x", "d", "y"], [(2, 20, 0.0, 200)]),
        ("SELECT count(*) FROM n NATURAL JOIN m", ["count(1)"], [(1,)]),
        # columns merged by USING
        ("SELECT k, y FROM n JOIN m USING (k) WHERE k = 2", ["k", "y"], [(2, 200)]),
        ("SELECT k FROM n FULL JOIN m USING (k) ORDER BY k", ["k"], [(1,), (2,), (3,)]),
        # forms
        ("SELECT p FROM m AS t(p, q) WHERE q = 200", ["p"], [(2,)]),
        ("SELECT count(*) FROM m, m", ["count(1)"], [(4,)]),
        ("VALUES (1, 'a'), (2, 'b')", ["col1", "col2"], [(1, "a"), (2, "b")]),
        ("TABLE m ORDER BY k DESC", ["k", "y"], [(3, 300), (2, 200)]),
        ("FROM m SELECT k WHERE k = 2", ["k"], [(2,)]),
        ("SELECT id FROM range(2)", ["id"], [(0,), (1,)]),
        ("SELECT 1 AS col1, col1 FROM VALUES (10)", ["col1", "col1"], [(1, 10)]),
        ("SELECT -128Y", ["-128"], [(-128,)]),
        # grouping sets of nothing
        ("SELECT k, count(*) FROM e GROUP BY ROLLUP (k)", ["k", "count(1)"], []),
        ("SELECT count(*) FROM e GROUP BY GROUPING SETS (())", ["count(1)"], [(0,)]),
        # operators
        ("SELECT 2 | 1 & 0, 1 | 2 ^ 3, 1 || 2 * 3", ["(2 | (1 & 0))", "(1 | (2 ^ 3))", "concat(1, (2 * 3))"], [(2, 1, "16")]),
        ("SELECT 1 = 1 IS NULL, NOT 1 = 2", ["((1 = 1) IS NULL)", "(NOT (1 = 2))"], [(False, True)]),
    ],
)  # fmt: skip
def test_forms(pond: millpond.Pond, sql: str, names: list[str], rows: list[tuple[object, ...]]) -> None:
    found = pond.sql(sql)
    assert found.arrow().column_names == names
    assert found.rows() == rows


def test_there_is_one_zero_among_distinct_rows(pond: millpond.Pond) -> None:
    asked = ("SELECT DISTINCT d FROM n", "SELECT d FROM n GROUP BY d", "SELECT d FROM n UNION SELECT -d FROM n")
    assert [repr(pond.sql(sql).rows()) for sql in asked] == ["[(0.0,)]"] * 3


def test_names_never_show_relations_of_our_own(pond: millpond.Pond) -> None:
    for sql in ("SELECT (SELECT max(y) FROM m) FROM n", "SELECT sum(x) OVER (PARTITION BY k) FROM n"):
        assert "__r" not in pond.sql(sql).arrow().column_names[0]


@pytest.mark.parametrize(
    ("sql", "reason"),
    [
        ("SELECT k FROM n FULL JOIN m USING (k) FULL JOIN e USING (k)", "USING behind a right or full join"),
        ("SELECT x + k FROM n GROUP BY k + x", "spelled otherwise"),
        ("SELECT 1 FROM n GROUP BY GROUPING SETS ((k + x), (x + k), (x))", "keys that may be alike"),
        ("SELECT grouping(k) FROM n GROUP BY k", "such a grouping"),
        ("SELECT n.k FROM n, n", 'two tables called "n"'),
        ("SELECT x AS q, q + 1 FROM n", r"only Spark knows the name of column \(q \+ 1\), which has none"),
        ("SELECT DISTINCT k, x + 1 FROM n ORDER BY x + 1", "ordering distinct rows by something else"),
        (
            "SELECT k FROM n GROUP BY k HAVING count(*) > 0 ORDER BY max(x)",
            "HAVING beside an order by another aggregate",
        ),
    ],
)
def test_what_is_left_to_spark(pond: millpond.Pond, sql: str, reason: str) -> None:
    with pytest.raises(millpond.EngineError, match=f"this query cannot run on DuckDB\n.*{reason}"):
        pond.sql(sql)
