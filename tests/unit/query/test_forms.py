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
        ("WITH w AS (SELECT 1) VALUES (2), (1) ORDER BY col1", ["col1"], [(1,), (2,)]),
        ("WITH w AS (SELECT 1 AS c) TABLE w", ["c"], [(1,)]),
        # grouping sets of nothing
        ("SELECT k, count(*) FROM e GROUP BY ROLLUP (k)", ["k", "count(1)"], []),
        ("SELECT count(*) FROM e GROUP BY GROUPING SETS (())", ["count(1)"], [(0,)]),
        # operators
        ("SELECT 2 | 1 & 0, 1 | 2 ^ 3, 1 || 2 * 3", ["(2 | (1 & 0))", "(1 | (2 ^ 3))", "concat(1, (2 * 3))"], [(2, 1, "16")]),
        ("SELECT 1 = 1 IS NULL, NOT 1 = 2", ["((1 = 1) IS NULL)", "(NOT (1 = 2))"], [(False, True)]),
        # comments between words that are one token without them, and words that are none
        ("SELECT k FROM m GROUP /* it's */ BY k ORDER -- x\nBY k", ["k"], [(2,), (3,)]),
        ("SELECT row_number() OVER (PARTITION/**/BY k ORDER /* /* */ */ BY y) AS n FROM m", ["n"], [(1,), (1,)]),
        ("SELECT double precision, foreign key FROM (SELECT 1 AS double, 2 AS foreign)", ["precision", "key"], [(1, 2)]),
    ],
)  # fmt: skip
def test_forms(pond: millpond.Pond, sql: str, names: list[str], rows: list[tuple[object, ...]]) -> None:
    found = pond.sql(sql)
    assert found.arrow().column_names == names
    assert found.rows() == rows


def test_what_except_leaves_out_is_a_column(pond: millpond.Pond) -> None:
    assert pond.sql("SELECT * EXCEPT (x) FROM (SELECT * FROM n) a JOIN m USING (k)").rows() == [(2, 0.0, 200)]
    assert pond.sql("WITH c AS (SELECT k, y FROM m) SELECT c.* EXCEPT (k) FROM c WHERE y = 200").rows() == [(200,)]
    for source in ("m", "(SELECT y + 1, k FROM m) AS s", "VALUES (1) AS v(k)"):
        with pytest.raises(millpond.MillpondError):
            pond.sql(f"SELECT * EXCEPT (z) FROM {source}")


def test_a_decimal_literal_keeps_its_sign(pond: millpond.Pond) -> None:
    found = pond.sql("SELECT -1.5BD, (- 1.5BD) + 1 AS a, 1 - -2.5BD AS b, -0.0BD, 3 -1.5BD AS c")
    assert found.arrow().column_names == ["-1.5", "a", "b", "0.0", "c"]
    assert [float(value) for value in found.rows()[0]] == [-1.5, -0.5, 3.5, 0.0, 1.5]


def test_behind_a_semi_join_the_right_side_is_not_seen(pond: millpond.Pond) -> None:
    assert pond.sql("SELECT y FROM m LEFT SEMI JOIN m AS r USING (k) WHERE y = 200").rows() == [(200,)]
    assert pond.sql("SELECT y FROM m LEFT ANTI JOIN e ON m.k = e.k WHERE y > 200").rows() == [(300,)]


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT * FROM n JOIN m USING (k) JOIN e ON e.y = m.y",
        "SELECT n.x FROM n JOIN m ON n.k = m.k JOIN e USING (k)",
        "SELECT max(m.k) FROM n JOIN m USING (k) GROUP BY ROLLUP (m.y)",
        "SELECT max(m.k) FROM n NATURAL JOIN m GROUP BY m.y WITH CUBE",
    ],
)
def test_merged_columns_that_spark_reads_otherwise_are_left_to_it(pond: millpond.Pond, sql: str) -> None:
    with pytest.raises(millpond.EngineError, match="only supported on Spark"):
        pond.sql(sql)


@pytest.mark.parametrize("joins", ["n JOIN m USING (k), e", "n NATURAL JOIN m LEFT JOIN e ON n.x = e.y"])
def test_a_merged_column_that_a_further_table_has_is_ambiguous(pond: millpond.Pond, joins: str) -> None:
    with pytest.raises(millpond.SqlError, match='column "k" is ambiguous'):
        pond.sql(f"SELECT k FROM {joins}")


def test_a_merged_column_that_is_named_with_its_table_is_not_left_to_spark(pond: millpond.Pond) -> None:
    assert pond.sql("SELECT n.k, e.y FROM n JOIN m USING (k) LEFT JOIN e ON e.k = n.k").rows() == [(2, None)]
    assert pond.sql("SELECT k FROM n JOIN m USING (k) LEFT JOIN e USING (k)").rows() == [(2,)]


def test_a_merged_column_has_the_type_that_spark_gives_it(pond: millpond.Pond) -> None:
    pond.sql("CREATE STANDARD TABLE long (k BIGINT, z INT)")
    pond.sql("INSERT INTO long VALUES (2, 5)")
    for join in ("JOIN", "LEFT JOIN"):
        for asked in (
            f"SELECT k, z FROM n {join} long USING (k) WHERE k = 2",
            f"SELECT * FROM n NATURAL {join} long WHERE k = 2",
        ):
            assert str(pond.sql(asked).arrow().schema.field("k").type) == "int32"
    with pytest.raises(millpond.EngineError, match="different types"):
        pond.sql("SELECT k FROM n FULL JOIN long USING (k)")
    assert pond.sql("SELECT n.x FROM n WHERE EXISTS (SELECT 1 FROM m JOIN long USING (k) WHERE k = n.k)").rows() == [
        (20,)
    ]


def test_only_one_cast_of_a_column_has_its_name(pond: millpond.Pond) -> None:
    found = pond.sql("SELECT CAST(x AS BIGINT), CAST((x) AS BIGINT), CAST(CAST(x AS BIGINT) AS INT) FROM n")
    assert found.arrow().column_names == ["x", "x", "CAST(CAST(x AS BIGINT) AS INT)"]


def test_a_call_of_date_is_not_named_as_a_literal(pond: millpond.Pond) -> None:
    with pytest.raises(millpond.EngineError, match="only Spark knows the name"):
        pond.sql("SELECT date('2024-02-29')")
    assert pond.sql("SELECT DATE '2024-02-29'").arrow().column_names == ["DATE '2024-02-29'"]


def test_there_is_one_zero_among_distinct_rows(pond: millpond.Pond) -> None:
    asked = ("SELECT DISTINCT d FROM n", "SELECT d FROM n GROUP BY d", "SELECT d FROM n UNION SELECT -d FROM n")
    assert [repr(pond.sql(sql).rows()) for sql in asked] == ["[(0.0,)]"] * 3


def test_names_never_show_relations_of_our_own(pond: millpond.Pond) -> None:
    for sql in ("SELECT (SELECT max(y) FROM m) FROM n", "SELECT sum(x) OVER (PARTITION BY k) FROM n"):
        assert "__r" not in pond.sql(sql).arrow().column_names[0]


@pytest.mark.parametrize(
    ("sql", "reason"),
    [
        (
            "SELECT k FROM n FULL JOIN m USING (k) FULL JOIN e USING (k)",
            "USING behind a right, full, semi or anti join",
        ),
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
