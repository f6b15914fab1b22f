"""Mistakes about aggregates and set operations are told at their place, and no Spark is asked; what is right is left alone."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import millpond


@pytest.fixture(scope="module")
def db(tmp_path_factory: pytest.TempPathFactory) -> Iterator[millpond.Pond]:
    with millpond.connect(tmp_path_factory.mktemp("aggregates") / "pond", engine="duckdb") as pond:
        pond.sql("CREATE STREAMING TABLE clicks (visitor STRING, page STRING, t BIGINT) TIMESTAMP BY t")
        pond.append("clicks", [("ada", "/home", 100), ("ada", "/prices", 130)])
        yield pond


@pytest.mark.parametrize(
    ("select", "message"),
    [
        ("SELECT visitor, COUNT(*) FROM clicks", 'column "visitor" must stand in GROUP BY or in an aggregate'),
        ("SELECT visitor AS v, MAX(t) AS t FROM clicks", 'column "visitor" must stand in GROUP BY or in an aggregate'),
        (
            "SELECT page, COUNT(*) FROM clicks GROUP BY visitor",
            'column "page" must stand in GROUP BY or in an aggregate',
        ),
        ("SELECT * FROM clicks GROUP BY visitor", 'column "page" must stand in GROUP BY or in an aggregate'),
        (
            "SELECT visitor FROM clicks WHERE COUNT(*) > 1",
            "COUNT cannot stand in WHERE, which looks at one row at a time",
        ),
        ("SELECT page FROM clicks UNION SELECT page, t FROM clicks", "the sides of UNION have 1 and 2 columns"),
        ("SELECT page, t FROM clicks EXCEPT SELECT t FROM clicks", "the sides of EXCEPT have 2 and 1 columns"),
    ],
)
def test_a_mistake_is_told_at_once(db: millpond.Pond, select: str, message: str) -> None:
    with pytest.raises(millpond.SqlSyntaxError) as told:
        db.sql(select)
    assert told.value.primary == message
    assert told.value.hint


def test_it_is_told_where_a_query_is_registered(db: millpond.Pond) -> None:
    with pytest.raises(millpond.SqlSyntaxError, match="must stand in GROUP BY"):
        db.sql("CREATE STANDING QUERY s AS SELECT visitor, COUNT(*) FROM clicks")
    with pytest.raises(millpond.SqlSyntaxError, match="must stand in GROUP BY"):
        db.sql("CREATE CONTINUOUS QUERY c AS SELECT visitor, COUNT(*) AS n FROM clicks [NOW] SAMPLE REALTIME")


@pytest.mark.parametrize(
    ("select", "rows"),
    [
        ("SELECT visitor, COUNT(*) FROM clicks GROUP BY visitor", [("ada", 2)]),
        ("SELECT visitor AS v, COUNT(*) FROM clicks GROUP BY 1", [("ada", 2)]),
        ("SELECT visitor AS v, COUNT(*) FROM clicks GROUP BY v", [("ada", 2)]),
        ("SELECT page, COUNT(*) OVER () AS n FROM clicks ORDER BY page", [("/home", 2), ("/prices", 2)]),
        ("SELECT page, (SELECT MAX(t) FROM clicks) AS m FROM clicks WHERE t < 120", [("/home", 130)]),
        ("SELECT page FROM clicks WHERE t = (SELECT MAX(t) FROM clicks)", [("/prices",)]),
        ("SELECT visitor FROM clicks GROUP BY visitor HAVING COUNT(*) > 1", [("ada",)]),
        ("SELECT upper(visitor) AS v, COUNT(*) FROM clicks GROUP BY upper(visitor)", [("ADA", 2)]),
    ],
)
def test_what_is_right_is_answered(db: millpond.Pond, select: str, rows: list[tuple]) -> None:
    assert db.sql(select).rows() == rows


def test_a_merged_column_beside_a_further_table_is_ambiguous(db: millpond.Pond) -> None:
    for join in ("clicks NATURAL JOIN clicks [SINCE 0] AS b", "clicks JOIN clicks AS b USING (page)"):
        with pytest.raises(millpond.SqlError) as told:
            db.sql(f"SELECT page FROM {join} JOIN clicks AS d ON d.visitor = 'ada'")
        assert told.value.primary == 'column "page" is ambiguous'
        assert told.value.detail == "It is in b, clicks, d."
    assert db.sql("SELECT page FROM clicks JOIN clicks AS b USING (page) JOIN clicks AS d USING (page)").rows() == [
        ("/home",),
        ("/prices",),
    ]


@pytest.mark.parametrize(
    ("joins", "detail"),
    [
        (
            "clicks a LEFT JOIN clicks b ON false NATURAL JOIN clicks [SINCE 0] AS c",
            'Several tables before it have "visitor".',
        ),
        (
            "others a RIGHT JOIN clicks b ON false NATURAL JOIN clicks [SINCE 0] AS c",
            "It follows another outer or semi join.",
        ),
    ],
)
def test_a_natural_join_whose_columns_would_be_others_is_refused(db: millpond.Pond, joins: str, detail: str) -> None:
    db.sql("CREATE STANDARD TABLE IF NOT EXISTS others (k INT)")
    with pytest.raises(
        millpond.UnsupportedSql, match="NATURAL JOIN is not supported beside a window in this query"
    ) as told:
        db.sql(f"SELECT COUNT(*) FROM {joins}")
    assert told.value.detail == detail


def test_a_mode_that_is_the_smallest_has_the_name_that_spark_gives_it(db: millpond.Pond) -> None:
    assert db.sql("SELECT mode(t, true), mode(t) FROM clicks").columns[0] == "mode() WITHIN GROUP (ORDER BY t DESC)"
