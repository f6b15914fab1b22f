"""The rules and the refusals one by one, without a JVM. That they mean what Spark means is proved in tests/spark."""

from __future__ import annotations

import time
from collections.abc import Iterator

import duckdb
import pytest
from sqlglot import exp
from sqlglot.optimizer.annotate_types import annotate_types
from sqlglot.optimizer.qualify import qualify
from sqlglot.schema import MappingSchema

from millpond.sql.dialect import read_tree, tokenize
from millpond.sql.naming import name_outputs, spell_outputs
from millpond.sql.rules.strings import java_to_re2
from millpond.sql.translate import SPARK_SETTINGS, NotOnDuckDB, configure, needs_spark, to_duckdb

SCHEMA = {
    "p": {"vid": "int", "spd": "int", "t": "bigint", "seg": "int"},
    "r": {"at": "timestamp", "s": "string", "x": "double", "a": "decimal(10, 2)", "day": "date", "tags": "array<int>"},
}
_SCHEMA = MappingSchema(SCHEMA, dialect="spark")


def tree(sql: str) -> exp.Expression:
    query = name_outputs(read_tree(sql, tokenize(sql)))
    query = spell_outputs(qualify(query, schema=_SCHEMA, dialect="spark"), {**SCHEMA, "p": ["Vid", "Spd", "T", "Seg"]})
    return annotate_types(query, schema=_SCHEMA, dialect="spark")


def translate(sql: str) -> str:
    return to_duckdb(tree(sql))


def value(expression: str, table: str = "p") -> str:
    """The DuckDB text of one expression, with the table's name left out."""
    text = translate(f"SELECT {expression} AS v FROM {table}")
    return text.removeprefix("SELECT ").rpartition(' AS "v" FROM')[0].replace(f'"{table}".', "").replace('"', "")


@pytest.fixture
def connection() -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect() as opened:
        configure(opened)
        opened.execute("CREATE TABLE p (vid INTEGER, spd INTEGER, t BIGINT, seg INTEGER)")
        opened.execute("INSERT INTO p VALUES (1, 10, 60, 3), (2, 0, 90, NULL)")
        yield opened


@pytest.mark.parametrize(
    ("spark", "duck"),
    [
        ("spd + 1", "(spd + 1)"),
        ("600 + 60", "660"),
        ("spd / 2", "(CAST(spd AS DOUBLE) / 2.0e0)"),
        ("spd div 10", "(CAST(spd AS BIGINT) // 10)"),
        ("spd % 7", "(spd % 7)"),
        ("-2147483648", "CAST(-2147483648 AS INTEGER)"),
        ("2147483648", "2147483648"),
        ("1.50", "CAST(1.50 AS DECIMAL(3,2))"),
        ("0.05", "CAST(0.05 AS DECIMAL(2,2))"),
        ("1e3", "1000.0e0"),
        ("t + spd", "(t + CAST(spd AS BIGINT))"),
        ("CAST(spd AS BIGINT)", "CAST(spd AS BIGINT)"),
        ("CAST(2.5D AS INT)", "CAST(trunc(2.5e0) AS INTEGER)"),
        ("coalesce(spd, t)", "CAST(coalesce(CAST(spd AS BIGINT), t) AS BIGINT)"),
        ("CASE WHEN spd > 1 THEN 1 ELSE t END", "CASE WHEN (spd > 1) THEN CAST(1 AS BIGINT) ELSE t END"),
        ("spd <=> seg", "(spd IS NOT DISTINCT FROM seg)"),
        ("sum(spd)", "CAST(sum(spd) AS BIGINT)"),
        ("avg(spd)", "(CAST(sum(spd) AS DOUBLE) / count(spd))"),
        ("count(DISTINCT vid, t)", "count(DISTINCT CASE WHEN vid IS NOT NULL AND t IS NOT NULL THEN row(vid, t) END)"),
        ("count(*) FILTER (WHERE spd > 1)", "count(*) FILTER (WHERE (spd > 1))"),
        ("row_number() OVER (ORDER BY t)", "CAST(row_number() OVER (ORDER BY t ASC NULLS FIRST) AS INTEGER)"),
        ("rank() OVER (ORDER BY t DESC)", "CAST(rank() OVER (ORDER BY t DESC NULLS LAST) AS INTEGER)"),
    ],
)
def test_values(spark: str, duck: str) -> None:
    assert value(spark) == duck


@pytest.mark.parametrize(
    ("spark", "duck"),
    [
        ("a * 2", "CAST(CAST(a AS DECIMAL(12,2)) * CAST(2 AS DECIMAL(1,0)) AS DECIMAL(12,2))"),
        ("sum(a)", "CAST(sum(a) AS DECIMAL(20,2))"),
        ("x > 1.5", "(x > 1.5e0)"),
        ("day >= '2024-01-31'", "(day >= DATE '2024-01-31')"),
        ("day + INTERVAL '1' DAY", "CAST((day + INTERVAL '1 DAY') AS DATE)"),
        ("at + INTERVAL 5 MINUTES", "(at + INTERVAL '5 MINUTE')"),
        ("dayofweek(day)", "CAST((dayofweek(day) + 1) AS INTEGER)"),
        ("s LIKE 'a\\\\%'", "(s LIKE 'a\\%' ESCAPE '\\')"),
        ("s NOT LIKE 'a%'", "(NOT (s LIKE 'a%'))"),
        ("concat(s, '!')", "(s || '!')"),
        ("substring(s, 0, 2)", "substring(s, 1, 2)"),
        ("isnan(x)", "coalesce(isnan(x), FALSE)"),
        ("trim(s)", "trim(s, ' ')"),
    ],
)
def test_values_of_other_types(spark: str, duck: str) -> None:
    assert value(spark, "r") == duck


@pytest.mark.parametrize(
    ("sql", "reason"),
    [
        ("SELECT date_format(at, 'yyyy G') AS v FROM r", "date_format with the pattern 'yyyy G' is only supported on Spark"),
        ("SELECT frobnicate(vid) AS v FROM p", "function frobnicate is only supported on Spark"),
        ("SELECT tags FROM r", "type ARRAY<INT> is only supported on Spark"),
        ("SELECT NULL AS v", "a column of bare NULLs is only supported on Spark"),
        ("SELECT a / 3 AS v FROM r", "division of decimals is only supported on Spark"),
        ("SELECT CAST(x AS STRING) AS v FROM r", "an implicit cast of DOUBLE to STRING is only supported on Spark"),
        ("SELECT try_cast(s AS DECIMAL(4, 2)) AS v FROM r", "try_cast of a string to DECIMAL(4,2) is only supported on Spark"),
        ("SELECT vid FROM p WHERE vid = 'x'", "a cast of 'x' to BIGINT is only supported on Spark"),
        ("SELECT s FROM r WHERE s = 1", "an implicit cast of a string to BIGINT is only supported on Spark"),
        ("SELECT s FROM r WHERE s RLIKE '(?=a)'", "the regular expression '(?=a)' is only supported on Spark"),
        ("SELECT s FROM r WHERE s LIKE s", "like with a pattern that is not a constant is only supported on Spark"),
        ("SELECT approx_count_distinct(vid) AS v FROM p", "function approx_count_distinct is only supported on Spark"),
        ("SELECT vid FROM p TABLESAMPLE (10 PERCENT)", "sample in table is only supported on Spark"),
        ("SELECT vid FROM p GROUP BY ALL", "all in group is only supported on Spark"),
        ("SELECT max(t) AS v FROM p QUALIFY rank() OVER (ORDER BY max(t)) = 1", "QUALIFY of groups is only supported on Spark"),
        ("SELECT s FROM r WHERE s = 'it' 's'", "strings side by side are only supported on Spark"),
        ("SELECT greatest(day, '2024-01-01') AS v FROM r", "greatest of a string among others is only supported on Spark"),
        ("SELECT rank() OVER (PARTITION BY vid) AS v FROM p", "rank without an order is only supported on Spark"),
        ("SELECT (SELECT q.t FROM p q WHERE q.vid = p.vid) AS v FROM p",
         "a correlated scalar subquery that is not one aggregate is only supported on Spark"),
        ("SELECT (SELECT count(*) FROM p q WHERE q.t < p.t) AS v FROM p",
         "a scalar subquery correlated by more than equality is only supported on Spark"),
        ("SELECT vid IN (SELECT seg FROM p) AS v FROM p",
         "in with a query anywhere but in WHERE is only supported on Spark"),
        ("SELECT vid FROM p WHERE (vid, seg) IN (SELECT vid, seg FROM p)", "tuple is only supported on Spark"),
    ],
)  # fmt: skip
def test_refusals(sql: str, reason: str) -> None:
    with pytest.raises(NotOnDuckDB) as refusal:
        translate(sql)
    assert refusal.value.reason == reason


def test_a_whole_query() -> None:
    assert translate("SELECT vid, t, seg FROM p WHERE t >= 600 AND t < 1200 AND vid = 42") == (
        'SELECT "p"."vid" AS "vid", "p"."t" AS "t", "p"."seg" AS "seg" FROM "p" AS "p" '
        'WHERE (("p"."t" >= 600) AND ("p"."t" < 1200) AND ("p"."vid" = 42))'
    )


def test_the_tree_is_left_alone() -> None:
    query = tree("WITH q AS (SELECT vid, sum(spd) AS s FROM p GROUP BY 1) SELECT s / 2, vid FROM q ORDER BY 1 LIMIT 3")
    before = query.sql("spark")
    to_duckdb(query)
    assert query.sql("spark") == before


def test_orders_by_position_with_sparks_place_for_nulls() -> None:
    text = translate("SELECT spd AS vid, seg FROM p ORDER BY vid DESC, seg")
    assert text.endswith("ORDER BY 1 DESC NULLS LAST, 2 ASC NULLS FIRST")


def test_orders_by_a_key_that_the_planner_added() -> None:
    query = tree("SELECT vid FROM p")
    key = exp.column(exp.to_identifier("_seq", quoted=True), table=exp.to_identifier("p", quoted=True))
    query = query.order_by(exp.Ordered(this=key, desc=True, nulls_first=False))
    assert to_duckdb(query).endswith('ORDER BY "p"."_seq" DESC NULLS LAST')


def test_what_can_raise_stays_behind_what_stands_before_it() -> None:
    text = translate("SELECT vid FROM p WHERE spd <> 0 AND 100 / spd > 2 AND seg = 1")
    first, raising, last = '("p"."spd" <> 0)', '((100.0e0 / CAST("p"."spd" AS DOUBLE)) > 2.0e0)', '("p"."seg" = 1)'
    assert text.endswith(f"({first} AND CASE WHEN ({first}) IS NOT FALSE THEN {raising} ELSE FALSE END AND {last})")


def test_types_come_through_subqueries() -> None:
    text = translate("SELECT c / 2 AS h FROM (SELECT sum(spd) AS c FROM p) AS q")
    assert '(CAST("q"."c" AS DOUBLE) / 2.0e0)' in text


def test_sides_of_a_union_are_widened() -> None:
    text = translate("SELECT vid FROM p UNION ALL SELECT t FROM p")
    assert text.startswith('(SELECT CAST("c0" AS BIGINT) AS "vid" FROM (SELECT')


def test_a_table_can_be_replaced_and_a_window_must_be() -> None:
    query = tree("SELECT vid FROM p")
    table = query.find(exp.Table)
    assert table is not None
    table.meta["window"] = object()
    with pytest.raises(NotOnDuckDB, match="a window must be resolved before translation"):
        to_duckdb(query)
    table.meta["duckdb"] = "read_parquet('x.parquet')"
    assert "FROM read_parquet('x.parquet') AS \"p\"" in to_duckdb(query)


def test_quotes_in_names_and_texts() -> None:
    text = translate("SELECT 'it\\'s' AS `a\"b` FROM p")
    assert text == 'SELECT \'it\'\'s\' AS "a""b" FROM "p" AS "p"'


@pytest.mark.parametrize("sql", ["SELECT vid / spd AS v FROM p", "SELECT vid % spd AS v FROM p",
                                 "SELECT 1D / spd AS v FROM p", "SELECT vid + 2147483647 AS v FROM p"])  # fmt: skip
def test_errors_of_ansi_mode(sql: str, connection: duckdb.DuckDBPyConnection) -> None:
    with pytest.raises(duckdb.Error):
        connection.sql(translate(sql)).fetchall()


def test_data_that_need_spark_say_so(connection: duckdb.DuckDBPyConnection) -> None:
    connection.execute("CREATE TABLE r (s VARCHAR)")
    connection.execute("INSERT INTO r VALUES ('Straße'), ('plain')")
    with pytest.raises(duckdb.Error) as error:
        connection.sql(translate("SELECT upper(s) AS v FROM r")).fetchall()
    assert needs_spark(error.value)
    assert not needs_spark(ValueError("another"))
    assert connection.sql(translate("SELECT lower(s) AS v FROM r")).fetchall() == [("straße",), ("plain",)]


def test_spark_settings_are_the_ansi_ones() -> None:
    assert SPARK_SETTINGS["spark.sql.ansi.enabled"] == "true"
    assert SPARK_SETTINGS["spark.sql.session.timeZone"] == "UTC"


@pytest.mark.parametrize("pattern", ["a++", "(?i)a", "\\bword", "a$b", "[a&&b]", "\\p{L}", "(a", "x*+", "\\1"])
def test_regular_expressions_refused(pattern: str) -> None:
    if pattern == "(a":  # wrong on both engines, which say so themselves
        assert java_to_re2(pattern) == "(a"
        return
    with pytest.raises(NotOnDuckDB):
        java_to_re2(pattern)


def test_names_are_sparks() -> None:
    query = tree("SELECT VID, count(*), SPD + 1, CAST(t AS INT), -seg, Seg AS Where_ FROM P GROUP BY ALL")
    assert query.named_selects == ["VID", "count(1)", "(SPD + 1)", "t", "(- seg)", "Where_"]


def test_a_star_keeps_the_catalogs_spelling() -> None:
    assert tree("SELECT * FROM p").named_selects == ["Vid", "Spd", "T", "Seg"]
    nested = tree("SELECT * FROM (SELECT vid AS CarId, * FROM p) AS q")
    assert nested.named_selects == ["CarId", "Vid", "Spd", "T", "Seg"]


def test_values_are_named_col1_and_so_on() -> None:
    assert tree("SELECT * FROM (VALUES (1, 2)) AS q").named_selects == ["col1", "col2"]


def test_translation_is_quick() -> None:
    """Far below a millisecond for a small query; the bound here is loose because test machines are busy."""
    query = tree("SELECT vid, t, seg FROM p WHERE t >= 600 AND t < 1200 AND vid = 42")
    to_duckdb(query)
    best = min(_seconds(query) for _ in range(50))
    assert best < 0.001


def _seconds(query: exp.Expression) -> float:
    begin = time.perf_counter()
    to_duckdb(query)
    return time.perf_counter() - begin
