"""Nothing reaches an engine that is not on a list: hostile statements are refused when they are bound."""

from __future__ import annotations

import gc
import itertools
from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlglot import exp

import millpond
from millpond.catalog import Catalog
from millpond.errors import MillpondError, SqlError
from millpond.query.allowed import NODES, check_allowed
from millpond.query.binding.bind import bind
from millpond.query.on_spark import spark_text
from millpond.sql.parser import parse
from millpond.sql.statements import Select
from tests.corpus import Case, load_corpus
from tests.corpus.tables import SCHEMA

# Expressions that would run code, read files, or tell about the machine.
HOSTILE_VALUES = [
    "reflect('java.lang.System', 'exit', 7)",
    "java_method('java.lang.Runtime', 'getRuntime')",
    "try_reflect('java.lang.System', 'getenv', 'HOME')",
    "`reflect`('java.lang.System', 'exit', 7)",
    "RefLect('java.lang.System', 'exit', 7)",
    "system.builtin.reflect('java.lang.System', 'exit', 7)",
    "builtin.reflect('java.lang.System', 'exit', 7)",
    "reflect('java.lang.System', 'exit', 7) /* sqlglot.anonymous */",
    "abs(/* inside */ reflect('java.lang.System', 'exit', 7))",
    "CASE WHEN reflect('java.lang.System', 'exit', 7) = 1 THEN 1 END",
    "transform(array(1), x -> reflect('java.lang.System', 'exit', x))",
    "CAST(reflect('java.lang.System', 'exit', 7) AS INT)",
    "sum(reflect('a', 'b')) OVER (ORDER BY reflect('a', 'c'))",
    "(SELECT max(reflect('a', 'b')))",
    "read_parquet('/etc/passwd')",
    "read_csv('/etc/passwd')",
    "read_text('/etc/passwd')",
    "read_blob('/etc/passwd')",
    "read_files('/etc/passwd')",
    "getenv('HOME')",
    "current_setting('home_directory')",
    "query('SELECT 1')",
    "input_file_name()",
    "version()",
    "user()",
    "current_user",
    "current_user()",
    "session_user()",
    "current_catalog()",
    "current_database()",
    "spark_partition_id()",
    "xpath_string('<!DOCTYPE a SYSTEM \"file:///etc/passwd\"><a>1</a>', 'a')",
    "from_xml('<p><a>1</a></p>', 'a INT', map('rowValidationXSDPath', '/etc/passwd'))",
    "from_protobuf(x'00', 'm', '/etc/passwd')",
    "from_avro(x'00', '{}')",
    "ai_query('x', 'y')",
    "http_request('http://localhost')",
    "secret('a', 'b')",
    "IDENTIFIER('reflect')",
    "openjson('x')",
    "xmltable('x')",
    "json_table('x', '$')",
    "predict('x')",
    "${env:HOME}",
    "@home",
    ":home",
    "?",
    "$1",
]

HOSTILE_RELATIONS = [
    "read_parquet('/etc/passwd')",
    "read_csv('/etc/passwd')",
    "read_json('/etc/passwd')",
    "read_text('/etc/passwd')",
    "glob('/*')",
    "parquet_scan('/etc/passwd')",
    "sniff_csv('/etc/passwd')",
    "duckdb_settings()",
    "python_worker_logs()",
    "sql_keywords()",
    "collations()",
    "abs(1)",
    "reflect('java.lang.System', 'exit', 7)",
    "explode(array(reflect('java.lang.System', 'exit', 7)))",
    "range(length(reflect('java.lang.System', 'exit', 7)))",
    "IDENTIFIER('s')",
    "TABLE(range(3))",
    "STREAM(s)",
    "ROWS FROM (range(3))",
    "parquet.`/etc/passwd`",
    "csv.`/etc/passwd`",
    "text.`file:///etc/passwd`",
    "json.`http://localhost/x`",
    "`/etc/passwd`",
    "'/etc/passwd'",
    "default.s",
    "spark_catalog.default.s",
    "information_schema.tables",
    "sqlite_master",
    "pg_catalog.pg_class",
    "s VERSION AS OF 1",
    "s TIMESTAMP AS OF '2024-01-01'",
    "s FOR SYSTEM_TIME AS OF '2024-01-01'",
    "s LATERAL VIEW reflect('java.lang.System', 'exit', 7) v AS x",
    "s LATERAL VIEW explode(array(reflect('a', 'b'))) v AS x",
    "s JOIN LATERAL reflect('a', 'b')",
    "s TABLESAMPLE (reflect('a', 'b') ROWS)",
    "s PIVOT (max(reflect('a', 'b')) FOR a IN (1, 2))",
    "(VALUES (reflect('java.lang.System', 'exit', 7)))",
    "VALUES (1, reflect('java.lang.System', 'exit', 7))",
    "@v",
    "__r0",
    "__r1",
]

HOSTILE_QUERIES = [
    "SELECT TRANSFORM('x') USING 'cat /etc/hostname'",
    "SELECT TRANSFORM(a) USING 'cat' AS (b STRING) FROM s",
    "SELECT TRANSFORM(a) ROW FORMAT DELIMITED FIELDS TERMINATED BY ',' USING 'cat' AS (b) FROM s",
    "SELECT MAP a USING 'cat' FROM s",
    "SELECT REDUCE a USING 'cat' FROM s",
    "FROM s MAP a USING 'cat'",
    "FROM s SELECT TRANSFORM(a) USING 'cat'",
    "FROM s INSERT OVERWRITE DIRECTORY '/tmp/x' SELECT a",
    "SELECT a INTO x FROM s",
    "SELECT a FROM s FOR UPDATE",
    "WITH c AS (SELECT TRANSFORM('x') USING 'cat') SELECT * FROM c",
    "SELECT * FROM (SELECT TRANSFORM('x') USING 'cat')",
    "WITH __r0 AS (SELECT 1 AS a) SELECT * FROM __r0, s",
    "WITH reflect (a) AS (SELECT 1) SELECT reflect('a', 'b') FROM reflect",
    "SELECT a FROM s ORDER BY reflect('a', 'b')",
    "SELECT a FROM s GROUP BY a, reflect('a', 'b')",
    "SELECT a FROM s GROUP BY a HAVING max(reflect('a', 'b')) = 'x'",
    "SELECT a FROM s LIMIT length(reflect('a', 'b'))",
    "SELECT count(*) FILTER (WHERE reflect('a', 'b') = 'x') FROM s",
    "SELECT a FROM s UNION ALL SELECT length(reflect('a', 'b'))",
    "SELECT a FROM s |> EXTEND reflect('a', 'b') AS x",
    "VALUES (reflect('java.lang.System', 'exit', 7))",
    "COPY s TO '/tmp/x'",
    "ATTACH '/tmp/x'",
    "INSTALL httpfs",
    "LOAD httpfs",
    "SET spark.sql.variable.substitute = true",
    "ADD JAR '/tmp/x.jar'",
    "CALL system.x()",
    "PRAGMA database_list",
    "CREATE TEMPORARY FUNCTION f AS 'java.lang.System'",
    "EXECUTE IMMEDIATE 'SELECT 1'",
    "DECLARE x INT",
    "CACHE TABLE s",
]

# Every place where an expression can stand. `{}` is the expression.
PLACES = {
    "select": "SELECT {} FROM s",
    "no table": "SELECT {}",
    "window": "SELECT {} FROM s [INTERVAL '1' MINUTE]",
    "where": "SELECT a FROM s WHERE {} IS NULL",
    "subquery": "SELECT a FROM s WHERE a IN (SELECT {} FROM u)",
    "derived table": "SELECT x FROM (SELECT {} AS x FROM s)",
    "cte": "WITH c AS (SELECT {} AS x FROM s) SELECT x FROM c",
    "join": "SELECT s.a FROM s JOIN u ON s.a = u.a AND {} IS NULL",
    "explain": "EXPLAIN SELECT {} FROM s",
    "explain analyze": "EXPLAIN ANALYZE SELECT {} FROM s",
    "insert": "INSERT INTO u (a) SELECT {} FROM s",
    "insert values": "INSERT INTO u (a) VALUES ({})",
    "insert into a stream": "INSERT INTO s VALUES (1, {}, 3)",
    "create table as": "CREATE STANDARD TABLE made AS SELECT {} AS x FROM s",
    "update": "UPDATE u SET b = {}",
    "update where": "UPDATE u SET b = 'x' WHERE {} IS NULL",
    "delete": "DELETE FROM u WHERE {} IS NULL",
    "feed": "INSERT INTO s SELECT a, {}, t FROM src",
    "continuous query": "CREATE CONTINUOUS QUERY q AS SELECT a, {} AS x FROM s [INTERVAL '1' MINUTE] SAMPLE REALTIME",
    "streaming view": "CREATE STREAMING VIEW q AS SELECT a FROM s [INTERVAL '1' MINUTE] WHERE {} IS NULL SAMPLE REALTIME",
}

RELATION_PLACES = {
    "select": "SELECT * FROM {}",
    "join": "SELECT * FROM u, {}",
    "subquery": "SELECT a FROM s WHERE EXISTS (SELECT * FROM {})",
    "cte": "WITH c AS (SELECT * FROM {}) SELECT * FROM c",
    "explain": "EXPLAIN SELECT * FROM {}",
    "insert": "INSERT INTO u SELECT * FROM {}",
    "create table as": "CREATE STANDARD TABLE made AS SELECT * FROM {}",
    "update": "UPDATE u SET b = 'x' WHERE a IN (SELECT 1 FROM {})",
    "continuous query": "CREATE CONTINUOUS QUERY q AS SELECT s.a FROM s [INTERVAL '1' MINUTE], {} SAMPLE REALTIME",
}


@pytest.fixture(scope="module", params=["auto", "duckdb", "spark"])
def db(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[millpond.Pond]:
    """A pond whose engines must not be reached: with Spark it would fail or take seconds, DuckDB is closed."""
    folder = tmp_path_factory.mktemp("pond")
    (folder / "in").mkdir()
    with millpond.connect(folder / "pond", engine=request.param, auto_archive=False) as pond:
        pond.sql("CREATE STREAMING TABLE s (a INT, b STRING, t BIGINT) TIMESTAMP BY t")
        pond.sql("CREATE STANDARD TABLE u (a INT, b STRING)")
        pond.sql(f"CREATE SOURCE src (a INT, b STRING, t BIGINT) FROM FILES '{folder / 'in'}'")
        yield pond
    del pond
    gc.collect()  # an engine that a forked child of another test would free instead brings that child down


@pytest.fixture
def no_engine(monkeypatch: pytest.MonkeyPatch) -> None:
    def reached(*_: object, **__: object) -> None:
        raise AssertionError("an engine was reached")

    monkeypatch.setattr("millpond.statements.ask.make_plan", reached)
    monkeypatch.setattr("millpond.query.local.Local.run", reached)
    monkeypatch.setattr("millpond.query.local.Local.run_over", reached)
    monkeypatch.setattr("millpond.spark.session.session_for", reached)


@pytest.mark.usefixtures("no_engine")
@pytest.mark.parametrize("place", PLACES)
def test_a_hostile_expression_is_refused_wherever_it_stands(place: str, db: millpond.Pond) -> None:
    for value in HOSTILE_VALUES:
        with pytest.raises(SqlError):
            db.sql(PLACES[place].format(value))
    assert not db._workspace.catalog.queries
    assert not db._workspace.catalog.feeds
    assert "made" not in db._workspace.catalog.standard


@pytest.mark.usefixtures("no_engine")
@pytest.mark.parametrize("place", RELATION_PLACES)
def test_a_hostile_relation_is_refused_wherever_it_stands(place: str, db: millpond.Pond) -> None:
    for relation in HOSTILE_RELATIONS:
        with pytest.raises(SqlError):
            db.sql(RELATION_PLACES[place].format(relation))


@pytest.mark.usefixtures("no_engine")
@pytest.mark.parametrize("sql", HOSTILE_QUERIES)
def test_a_hostile_query_is_refused(sql: str, db: millpond.Pond) -> None:
    for text in (sql, f"EXPLAIN {sql}", f"INSERT INTO u {sql}", f"CREATE STANDARD TABLE made AS {sql}"):
        with pytest.raises(SqlError):
            db.sql(text)


def _kinds() -> list[type[exp.Expression]]:
    kinds = (k for k in vars(exp).values() if isinstance(k, type) and issubclass(k, exp.Expression))
    return sorted(set(kinds), key=lambda k: k.__name__)


def test_a_node_of_another_kind_is_refused() -> None:
    """Every class that sqlglot has and nobody listed, put where an expression stands."""
    no_calls = [k for k in _kinds() if not issubclass(k, (exp.Func, exp.JSONPath, exp.JSONPathPart))]
    others = [k for k in no_calls if k not in NODES]
    assert len(others) > 300
    for kind in others:
        tree = exp.Select(expressions=[exp.Alias(this=kind(), alias=exp.to_identifier("x"))])
        with pytest.raises(SqlError):
            check_allowed(tree, Catalog(), "")


def test_typed_functions_that_are_allowed_were_reviewed() -> None:
    """sqlglot knows functions of forty databases. None of those that read or tell may pass as a class."""
    catalog = Catalog()
    passed = []
    for kind in _kinds():
        if not issubclass(kind, exp.Func) or kind in (exp.Func, exp.Anonymous, exp.Count):
            continue
        try:
            check_allowed(exp.Select(expressions=[kind()]), catalog, "")
        except SqlError:
            continue
        passed.append(kind.__name__)
    suspicious = (
        "Read",
        "Current",
        "Session",
        "Version",
        "Xml",
        "XML",
        "AI",
        "Predict",
        "File",
        "Load",
        "Open",
        "Http",
    )
    assert [p for p in passed if p.startswith(suspicious)] == [
        "CurrentDate",
        "CurrentTime",
        "CurrentTimestamp",
        "CurrentTimezone",
    ]


@pytest.mark.parametrize("case", [c for c in load_corpus() if not c.error], ids=lambda c: c.id)
def test_the_corpus_is_allowed(case: Case) -> None:
    statement = parse(case.sql)[0]
    assert isinstance(statement, Select)
    check_allowed(statement.query, Catalog(), case.sql)


def test_the_corpus_passes_as_text_for_spark(tmp_path: Path) -> None:
    """What sqlglot makes of the trees calls nothing that is not listed either."""
    with millpond.connect(tmp_path / "pond", auto_archive=False) as db:
        for name, columns in SCHEMA.items():
            db.sql(f"CREATE STANDARD TABLE {name} ({', '.join(f'{c} {kind}' for c, kind in columns.items())})")
        cases = [case for case in load_corpus() if not case.error]
        for case in cases:
            statement = parse(case.sql)[0]
            assert isinstance(statement, Select)
            spark_text(bind(statement.query, db._workspace.catalog, case.sql, spark_decides=True), {}, None)
        assert len(cases) > 400


def test_ordinary_queries_on_spark_are_allowed(db: millpond.Pond) -> None:
    for sql in (
        "SELECT * FROM range(3)",
        "SELECT col FROM explode(array(1, 2))",
        "SELECT a, x FROM s LATERAL VIEW explode(array(1, 2)) v AS x",
        "SELECT a, x FROM s LATERAL VIEW OUTER posexplode(array(1, 2)) v AS p, x",
        "SELECT * FROM s PIVOT (sum(a) FOR b IN ('x', 'y'))",
        "SELECT * FROM s TABLESAMPLE (10 PERCENT)",
        "SELECT transform(array(1), x -> x + 1), named_struct('a', 1).a, map('k', 1)['k'], array(1)[0]",
        "SELECT get_json_object(b, '$.x.y'), from_json(b, 'x INT'), to_json(struct(a)) FROM s",
        "SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY a), listagg(b, ',') FROM s",
        "SELECT /*+ BROADCAST(s) */ a FROM s",
        "SELECT rand(), uuid(), monotonically_increasing_id(), current_timestamp, current_date()",
        "SELECT try_cast(b AS INT), b::INT, position('a' IN b), extract(YEAR FROM now()), date_format(now(), 'yyyy') FROM s",
        "SELECT raise_error('no'), assert_true(a > 0) FROM s",
        "SELECT sha2(b, 256), aes_encrypt(b, '0000111122223333'), regexp_replace(b, 'a', 'b') FROM s",
        "SELECT make_interval(1), timestampadd(DAY, 1, now()), date_diff(now(), now()), unix_timestamp() FROM s",
    ):  # fmt: skip
        statement = parse(sql)[0]
        assert isinstance(statement, Select)
        check_allowed(statement.query, Catalog(), sql)
        if "PIVOT" not in sql:  # its columns cannot be named yet
            spark_text(bind(statement.query, db._workspace.catalog, sql), {}, None)


@pytest.mark.parametrize("name", ["user", "`user`", "USER", "current_path", "session_user"])
def test_a_name_left_to_spark_was_a_call_without_parentheses(db: millpond.Pond, name: str) -> None:
    sql = f"SELECT {name} FROM s LATERAL VIEW explode(array(1)) v AS x"
    statement = parse(sql)[0]
    assert isinstance(statement, Select)
    with pytest.raises(millpond.UnsupportedSql, match="cannot be called in a query"):
        bind(statement.query, db._workspace.catalog, sql, spark_decides=True)


def test_columns_may_be_called_like_what_cannot_be_called(db: millpond.Pond) -> None:
    db.sql("CREATE TABLE people (user STRING, version INT)")
    for sql in (
        "SELECT user, version FROM people",
        "SELECT user, x FROM people LATERAL VIEW explode(array(1)) v AS x",
        "SELECT a AS user FROM s ORDER BY user",
        "SELECT a AS user FROM s UNION ALL SELECT version FROM people ORDER BY user",
        "SELECT version, count(*) AS n FROM people GROUP BY version HAVING version > 1 ORDER BY version",
        "SELECT transform(array(1), user -> user + 1) AS x",
    ):
        statement = parse(sql)[0]
        assert isinstance(statement, Select)
        bind(statement.query, db._workspace.catalog, sql, spark_decides=True)


def test_an_optimizer_hint_is_taken_out(db: millpond.Pond) -> None:
    statement = parse("SELECT /*+ REPARTITION(1000000) */ a FROM (SELECT /*+ COALESCE(1) */ 1 AS a)")[0]
    assert isinstance(statement, Select)
    check_allowed(statement.query, Catalog(), statement.sql)
    assert "/*" not in statement.query.sql("spark")


def test_a_count_of_nothing_is_told(db: millpond.Pond) -> None:
    for sql in ("SELECT COUNT() FROM s", "SELECT COUNT(DISTINCT) FROM s", "SELECT count() OVER () FROM s"):
        with pytest.raises(millpond.TypeMismatch, match="COUNT needs something to count"):
            db.sql(sql)


def test_the_check_is_linear() -> None:
    """Ten times the values take about ten times as long, not a hundred times."""
    import time

    def took(count: int) -> float:
        sql = f"SELECT a FROM s WHERE a IN ({', '.join(map(str, range(count)))})"
        statement = parse(sql)[0]
        assert isinstance(statement, Select)
        best = float("inf")
        for _ in range(3):
            begin = time.perf_counter()
            check_allowed(statement.query, Catalog(), sql)
            best = min(best, time.perf_counter() - begin)
        return best

    assert took(20_000) < 40 * took(2_000)


def test_numbers_and_texts_of_a_user_are_never_taken_for_the_instant(tmp_path: Path) -> None:
    number, text = 4611686018427387847, "2261-12-31 23:59:59.987654"
    with millpond.connect(tmp_path / "pond", engine="duckdb") as db:
        db.sql("CREATE STREAMING TABLE s (a BIGINT, t BIGINT) TIMESTAMP BY t")
        db.sql("CREATE STREAMING TABLE w (b STRING, t TIMESTAMP) TIMESTAMP BY t")
        db.append("s", [(number, 5)])
        db.append("w", [(text, "2024-01-01 00:00:00")])
        for window in ("", "[ROWS 1]", "[INTERVAL '1' MINUTE]"):
            asked = f"SELECT {number} AS n, 'order {number}' AS o FROM s {window} WHERE a = {number}"
            assert db.sql(asked).rows() == [(number, f"order {number}")]
            asked = f"SELECT '{text}' AS o, b FROM w {window} WHERE b = '{text}'"
            assert db.sql(asked).rows() == [(text, text)]


def test_now_in_a_condition_on_time_does_not_skip_rows(tmp_path: Path) -> None:
    """The number that stood for NOW() was taken for a bound on the time of rows."""
    with millpond.connect(tmp_path / "pond", engine="duckdb") as db:
        db.sql("CREATE STREAMING TABLE s (a INT, t BIGINT) TIMESTAMP BY t")
        db.append("s", [(1, 4), (2, 5)])
        assert db.sql("SELECT a FROM s [INTERVAL '1' MINUTE] WHERE t = NOW()").rows() == [(2,)]
        assert db.sql("SELECT a FROM s [INTERVAL '1' MINUTE] WHERE t >= NOW() - 1 ORDER BY a").rows() == [(1,), (2,)]


def test_a_misspelt_function_is_told_with_the_nearest_name(db: millpond.Pond) -> None:
    with pytest.raises(millpond.UnknownName, match='function "uper" does not exist') as error:
        db.sql("SELECT uper(b) FROM s")
    assert error.value.hint == 'Did you mean "upper"?'


def test_a_refusal_names_the_function(db: millpond.Pond) -> None:
    for value, place in itertools.product(HOSTILE_VALUES[:3], PLACES.values()):
        with pytest.raises(MillpondError, match=r'function ".*" cannot be called in a query'):
            db.sql(place.format(value))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("SELECT CAST(a AS DECIMAL(10, AS1)) AS x FROM one", "this query cannot run on DuckDB"),
        ("SELECT date_diff( , '2024-02-29') AS c FROM one", "this query cannot run on DuckDB"),
        ("SELECT a FROM one UNION ALL SELECT a, 1 FROM one ORDER BY nowhere", 'column "nowhere" does not exist'),
    ],
)
def test_text_that_hardly_is_a_query_gets_an_error_of_ours(tmp_path: Path, text: str, message: str) -> None:
    with millpond.connect(tmp_path / "pond", auto_archive=False, engine="duckdb") as db:
        db.sql("CREATE TABLE one (a INT)")
        with pytest.raises(millpond.MillpondError) as caught:
            db.sql(text)
        assert caught.value.primary == message


@pytest.mark.parametrize("sql", ["SELECT {} AS x", "SELECT 1 AS x ORDER BY {}", "SELECT upper({}) AS x"])
@pytest.mark.parametrize(
    ("written", "name", "hint"),
    [
        ("'a' COLLATE noaccents", "noaccents", "There is: "),
        ("'a' COLLATE UNICODE_IC", "UNICODE_IC", 'Did you mean "UNICODE_CI"?'),
        ("collate('a', 'utf8')", "utf8", "There is: "),
        ("'a' COLLATE `x; DROP`", "x; DROP", "There is: "),
    ],
)
def test_an_unknown_collation_is_told(sql: str, written: str, name: str, hint: str, db: millpond.Pond) -> None:
    with pytest.raises(millpond.UnknownName) as caught:
        db.sql(sql.format(written))
    assert caught.value.primary == f'collation "{name}" does not exist'
    assert hint in str(caught.value)


@pytest.mark.parametrize("name", ["UNICODE", "unicode_ci_ai", "de", "sr_Cyrl_CI", "en_USA_AI", "UTF8_LCASE_RTRIM"])
def test_a_collation_of_spark_is_left_to_it(name: str) -> None:
    [statement] = parse(f"SELECT 'a' COLLATE {name} AS x")
    assert isinstance(statement, Select)
    check_allowed(statement.query, Catalog(), statement.sql)
