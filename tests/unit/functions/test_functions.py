"""User-defined functions, as SQL and Python see them."""

from __future__ import annotations

import random
from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

import millpond
from millpond import CatalogError, EngineError, FunctionError, MillpondError, Pond, SqlError, UnknownName
from tests.unit.functions import samples

HERE = "tests.unit.functions.samples"


@pytest.fixture
def db(tmp_path: Path) -> Iterator[Pond]:
    with millpond.connect(tmp_path / "pond", auto_archive=False) as pond:
        pond.sql(
            "CREATE STREAMING TABLE s (k INT, v INT, name STRING, t BIGINT) TIMESTAMP BY t LATENESS INTERVAL '20' SECOND"
        )
        yield pond


def create(db: Pond, *statements: str) -> None:
    for statement in statements:
        db.sql(statement.replace("'HERE:", f"'{HERE}:"))


def fill(db: Pond) -> None:
    db.append("s", [(1, 10, "a", 3), (2, 20, None, 1), (1, 30, "c", 2), (2, None, "d", 5), (1, 40, "e", 3)])


def message(db: Pond, statement: str, kind: type[MillpondError] = MillpondError) -> str:
    with pytest.raises(kind) as caught:
        db.sql(statement.replace("'HERE:", f"'{HERE}:"))
    return str(caught.value)


# -- scalar -----------------------------------------------------------------------------------------------------------


def test_a_scalar_function(db: Pond) -> None:
    create(db, "CREATE FUNCTION plus(x INT, y INT) RETURNS INT AS PYTHON 'HERE:add'")
    fill(db)
    result = db.sql("SELECT k, Plus(v, k) FROM s WHERE plus(v, 0) > 10 ORDER BY t, v")
    assert result.columns == ["k", "plus(v, k)"]
    assert result.rows() == [(2, 22), (1, 31), (1, 41)]
    assert db.sql("SELECT plus(plus(1, 2), 3) AS six").rows() == [(6,)]


def test_null_is_not_shown_to_a_function_unless_it_is_declared_so(db: Pond) -> None:
    create(
        db,
        "CREATE FUNCTION strict(x INT) RETURNS INT RETURNS NULL ON NULL INPUT AS PYTHON 'HERE:or_zero'",
        "CREATE FUNCTION lenient(x INT) RETURNS INT CALLED ON NULL INPUT AS PYTHON 'HERE:or_zero'",
    )
    fill(db)
    assert db.sql("SELECT strict(v), lenient(v) FROM s WHERE t = 5").rows() == [(None, 0)]
    assert db.sql("SELECT strict(NULL), lenient(NULL)").rows() == [(None, 0)]


def test_a_vectorized_function_gets_arrays_without_nulls(db: Pond) -> None:
    create(db, "CREATE FUNCTION twice(x INT) RETURNS BIGINT AS PYTHON 'HERE:twice'")
    fill(db)
    assert db.sql("SELECT twice(v) AS d FROM s ORDER BY t, v").rows() == [(40,), (60,), (20,), (80,), (None,)]


def test_without_arguments(db: Pond) -> None:
    db.create_function("answer", lambda: 42, arguments=[], returns="INT")
    fill(db)
    assert db.sql("SELECT answer() + k AS a FROM s [k ROWS 1] ORDER BY k").rows() == [(43,), (44,)]


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        ("BOOLEAN", True),
        ("TINYINT", 7),
        ("SMALLINT", 7),
        ("INT", 7),
        ("BIGINT", 1 << 40),
        ("FLOAT", 1.5),
        ("DOUBLE", 1.5),
        ("DECIMAL(10,2)", Decimal("1.50")),
        ("STRING", "it's"),
        ("BINARY", b"\x00\xff"),
        ("DATE", date(2024, 2, 29)),
        ("TIMESTAMP", datetime(2024, 2, 29, 12, tzinfo=UTC)),
    ],
)
def test_every_type_goes_in_and_out(db: Pond, kind: str, value: Any) -> None:
    seen: list[Any] = []

    def keep(x: Any) -> Any:
        seen.append(x)
        return x

    db.create_function("as_is", keep, arguments=[kind], returns=kind)
    db.create_function("all_of", lambda xs: xs[-1], arguments=[kind], returns=kind, kind="aggregate")
    db.create_function("rows_of", lambda: [(value,)], arguments=[], returns=[("x", kind)], kind="table")
    db.sql(f"CREATE TABLE one (x {kind})")
    db.append("one", [(value,)])
    assert db.sql("SELECT as_is(x) FROM one WHERE x IS NOT NULL").arrow().column(0).to_pylist()[0] in (
        value,
        value.replace(tzinfo=None) if isinstance(value, datetime) else value,
    )
    assert seen[0] == value
    db.sql("CREATE TABLE two AS SELECT all_of(x) AS x FROM one")
    db.sql("INSERT INTO two SELECT x FROM rows_of()")
    assert db.sql("SELECT x FROM two").rows() == [(value,), (value,)]


def test_a_function_stays_behind_its_guard(db: Pond) -> None:
    create(db, "CREATE FUNCTION inv(x INT) RETURNS INT AS PYTHON 'HERE:invert'")
    fill(db)
    assert db.sql("SELECT k FROM s WHERE k > 1 AND inv(k - 1) = 100 ORDER BY t").rows() == [(2,), (2,)]
    assert db.sql("SELECT DISTINCT CASE WHEN k > 1 THEN inv(k - 1) END AS x FROM s ORDER BY x").rows() == [
        (None,),
        (100,),
    ]


# -- aggregates -------------------------------------------------------------------------------------------------------


def test_an_aggregate_sees_its_values_in_time_order_then_in_order_of_arrival(db: Pond) -> None:
    create(db, "CREATE AGGREGATE path(x INT) RETURNS STRING AS PYTHON 'HERE:path'")
    fill(db)
    asked = "SELECT k, path(v) AS p FROM s GROUP BY k ORDER BY k"
    assert db.sql(asked).rows() == [(1, "30 10 40"), (2, "20")]
    db._workspace.rounds.archive()
    assert db.sql(asked).rows() == [(1, "30 10 40"), (2, "20")]
    assert db.sql("SELECT path(v) FROM s [ROWS 3]").rows() == [("10 40",)]
    assert db.sql("SELECT path(v) FROM s WHERE v > 1000").rows() == [(None,)]


def test_an_aggregate_with_its_own_order_filter_and_frame(db: Pond) -> None:
    create(db, "CREATE AGGREGATE path(x INT) RETURNS STRING AS PYTHON 'HERE:path'")
    fill(db)
    assert db.sql("SELECT path(v ORDER BY v DESC) FROM s").rows() == [("40 30 20 10",)]
    assert db.sql("SELECT path(v) FILTER (WHERE k = 1) FROM s").rows() == [("30 10 40",)]
    running = db.sql("SELECT k, path(v) OVER (PARTITION BY k ORDER BY t) AS p FROM s ORDER BY k, t, v").rows()
    assert running == [(1, "30"), (1, "30 10 40"), (1, "30 10 40"), (2, "20"), (2, "20")]
    assert db.sql("SELECT k FROM s GROUP BY k HAVING path(v) LIKE '30%'").rows() == [(1,)]


def test_where_there_is_no_time_values_come_sorted(db: Pond) -> None:
    create(db, "CREATE AGGREGATE path(x INT) RETURNS STRING AS PYTHON 'HERE:path'")
    fill(db)
    assert db.sql("SELECT path(v) FROM (SELECT v FROM s WHERE t < 5) AS q").rows() == [("10 20 30 40",)]


def test_several_arguments_stay_together(db: Pond) -> None:
    create(
        db,
        "CREATE AGGREGATE pairs(a INT, b STRING) RETURNS STRING AS PYTHON 'HERE:pairs'",
        "CREATE AGGREGATE all_pairs(a INT, b STRING) RETURNS STRING CALLED ON NULL INPUT AS PYTHON 'HERE:pairs'",
        "CREATE AGGREGATE width(x INT) RETURNS INT AS PYTHON 'HERE:span'",
    )
    fill(db)
    assert db.sql("SELECT pairs(v, name) FROM s").rows() == [("30-c 10-a 40-e",)]
    assert db.sql("SELECT all_pairs(v, name) FROM s").rows() == [("20-None 30-c 10-a 40-e None-d",)]
    assert db.sql("SELECT all_pairs(v, name) FROM s WHERE t > 99").rows() == [("",)]
    assert db.sql("SELECT k, width(v) AS w FROM s GROUP BY k ORDER BY k").rows() == [(1, 30), (2, 0)]


def test_order_holds_over_many_rows_in_archive_and_tail(db: Pond) -> None:
    create(db, "CREATE AGGREGATE path(x INT) RETURNS STRING AS PYTHON 'HERE:path'")
    chance = random.Random(7)
    rows = [(chance.randrange(5), i, None, i // 10 + chance.randrange(20)) for i in range(6000)]
    for start in range(0, 6000, 1500):
        db.append("s", rows[start : start + 1500])
        if start == 1500:
            db._workspace.rounds.archive()
    kept = {v for (v,) in db.sql("SELECT v FROM s").rows()}
    expected = []
    for key in range(5):
        mine = sorted((t, v) for k, v, _, t in rows if k == key and v in kept)
        expected.append((key, " ".join(str(v) for _, v in mine)))
    assert db.sql("SELECT k, path(v) AS p FROM s GROUP BY k ORDER BY k").rows() == expected


# -- table functions --------------------------------------------------------------------------------------------------


def test_a_table_function_stands_in_from(db: Pond) -> None:
    create(db, "CREATE TABLE FUNCTION count_to(n INT) RETURNS (i INT, bar STRING) AS PYTHON 'HERE:count_to'")
    fill(db)
    assert db.sql("SELECT * FROM count_to(1 + 1)").rows() == [(1, "x"), (2, "xx")]
    assert db.sql("SELECT * FROM count_to(0)").rows() == []
    assert db.sql("SELECT * FROM count_to(NULL)").rows() == []
    joined = "SELECT c.bar, s.v FROM s JOIN count_to(2) AS c ON c.i = s.k WHERE s.v > 10 ORDER BY s.v"
    assert db.sql(joined).rows() == [("xx", 20), ("x", 30), ("x", 40)]
    assert db.sql("SELECT z.b FROM count_to(2) AS z(a, b) WHERE z.a = 2").rows() == [("xx",)]
    assert "takes constants" in message(db, "SELECT * FROM s, count_to(s.k)", SqlError)
    assert "has no windows" in message(db, "SELECT * FROM count_to(3) [ROWS 1]", SqlError)


def test_a_table_function_can_read_the_pond_and_nothing_else(db: Pond) -> None:
    create(
        db,
        "CREATE TABLE FUNCTION newer(t BIGINT) RETURNS (v INT, t BIGINT) AS PYTHON 'HERE:newer'",
        "CREATE TABLE FUNCTION meddle() RETURNS (v INT) AS PYTHON 'HERE:meddle'",
        "CREATE TABLE FUNCTION circle() RETURNS (v INT) AS PYTHON 'HERE:circle'",
    )
    fill(db)
    assert sorted(db.sql("SELECT t, v FROM newer(2) WHERE v IS NOT NULL").rows()) == [(3, 10), (3, 40)]
    assert "a function can only SELECT from the pond" in message(db, "SELECT * FROM meddle()", FunctionError)
    assert "cannot be called by another" in message(db, "SELECT * FROM circle()", FunctionError)
    refused = message(db, "CREATE CONTINUOUS QUERY q AS SELECT n.v FROM s [NOW], newer(0) AS n SAMPLE REALTIME")
    assert refused.startswith('function "newer" reads the pond\nDetail: What it finds there would depend on when')


# -- continuous -------------------------------------------------------------------------------------------------------


def test_functions_in_continuous_queries_survive_a_restart(tmp_path: Path) -> None:
    with millpond.connect(tmp_path / "pond", auto_archive=False) as db:
        db.sql("CREATE STREAMING TABLE s (k INT, v INT, t BIGINT) TIMESTAMP BY t LATENESS INTERVAL '5' SECOND")
        create(
            db,
            "CREATE FUNCTION plus(x INT, y INT) RETURNS INT AS PYTHON 'HERE:add'",
            "CREATE AGGREGATE path(x INT) RETURNS STRING AS PYTHON 'HERE:path'",
            "CREATE TABLE FUNCTION count_to(n INT) RETURNS (i INT, bar STRING) AS PYTHON 'HERE:count_to'",
            "CREATE CONTINUOUS QUERY paths RANGE INTERVAL '1' HOUR AS SELECT k, path(v) AS p "
            "FROM s [INTERVAL '10' SECOND] GROUP BY k SAMPLE INTERVAL '10' SECOND",
            "CREATE CONTINUOUS QUERY sums RANGE INTERVAL '1' HOUR AS SELECT s.k, plus(s.v, 1) AS w, c.bar "
            "FROM s [NOW] AS s JOIN count_to(2) AS c ON c.i = s.k WHERE plus(s.v, 0) > 10 SAMPLE REALTIME",
        )
        db.append("s", [(1, 10, 4), (2, 20, 3), (1, 30, 2), (1, 40, 4)])
        db.tick()
    with millpond.connect(tmp_path / "pond", auto_archive=False) as db:
        db.append("s", [(1, 50, 12), (2, 60, 11), (2, 70, 30)])
        db.tick()
        paths = db.sql("SELECT instant, k, p FROM paths ORDER BY instant, k").rows()
        assert paths == [(10, 1, "30 10 40"), (10, 2, "20"), (20, 1, "50"), (20, 2, "60")]
        sums = db.sql("SELECT instant, k, w, bar FROM sums ORDER BY instant, w").rows()
        assert sums == [(2, 1, 31, "x"), (3, 2, 21, "xx"), (4, 1, 41, "x"), (11, 2, 61, "xx"), (12, 1, 51, "x")]


def test_a_failing_function_stops_its_query_alone(db: Pond) -> None:
    create(
        db,
        "CREATE FUNCTION inv(x INT) RETURNS INT AS PYTHON 'HERE:invert'",
        "CREATE CONTINUOUS QUERY bad AS SELECT inv(v) AS i FROM s [NOW] SAMPLE REALTIME",
        "CREATE CONTINUOUS QUERY good RANGE INTERVAL '1' HOUR AS SELECT v FROM s [NOW] SAMPLE REALTIME",
    )
    db.append("s", [(1, 5, None, 1), (1, 0, None, 2), (1, 4, None, 3), (1, 1, None, 60)])
    db.tick()
    assert db.sql("SELECT v FROM good ORDER BY instant").rows() == [(5,), (0,), (4,)]
    states = {row[0]: (row[1], row[7]) for row in db.sql("SHOW CONTINUOUS QUERIES").rows()}
    assert states["good"] == ("running", None)
    assert states["bad"] == ("failed", 'function "inv" failed for (0)')


def test_a_function_of_this_process_is_not_for_what_outlives_it(db: Pond, tmp_path: Path) -> None:
    db.create_function("local", lambda x: x, arguments=["INT"], returns="INT")
    text = message(db, "CREATE CONTINUOUS QUERY q AS SELECT local(v) AS w FROM s [NOW] SAMPLE REALTIME")
    assert text == (
        'function "local" ends with this process\nDetail: A continuous query goes on after a restart.\n'
        "Hint: Put the function into a module, so that it can be found again."
    )
    (tmp_path / "in").mkdir()
    db.sql(f"CREATE SOURCE f (k INT, v INT, name STRING, t BIGINT) FROM FILES '{tmp_path / 'in'}'")
    assert "A feed goes on after a restart." in message(db, "INSERT INTO s SELECT k, local(v), name, t FROM f")


def test_a_function_of_this_process_does_not_disturb_queries_in_shards(tmp_path: Path) -> None:
    with millpond.connect(tmp_path / "pond", auto_archive=False) as db:
        db.create_function("twice", lambda x: 2 * x, arguments=["INT"], returns="INT")
        db.sql("CREATE STREAMING TABLE r (k INT, t BIGINT) TIMESTAMP BY t SHARD BY k WITH (shards = 2)")
        db.sql("CREATE CONTINUOUS QUERY q AS SELECT k FROM r [NOW] SAMPLE REALTIME")
        db.append("r", [(1, 1), (2, 2)])
        db.tick()
        assert [row[0] for row in db.resume("q").fetch()] == [1]


def test_a_feed_can_compute_with_a_function(db: Pond, tmp_path: Path) -> None:
    create(db, "CREATE FUNCTION ten(x INT) RETURNS INT AS PYTHON 'HERE:Scale.by_ten'")
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.csv").write_text("1,5,x,10\n2,6,y,11\n")
    db.sql(f"CREATE SOURCE f (k INT, v INT, name STRING, t BIGINT) FROM FILES '{tmp_path / 'in'}'")
    db.sql("INSERT INTO s SELECT k, ten(v), name, t FROM f")
    wait_for_rows(db, 2)
    assert db.sql("SELECT v FROM s ORDER BY t").rows() == [(50,), (60,)]
    assert message(db, "DROP FUNCTION ten") == (
        'feed "s_from_f" calls function "ten"\nHint: Drop it first: DROP FEED s_from_f.'
    )


def wait_for_rows(db: Pond, count: int) -> None:
    import threading

    pause = threading.Event()
    for _ in range(2000):
        if db.status()["tables"]["s"]["accepted"] >= count:
            return
        pause.wait(0.01)
    raise AssertionError(db.status()["feeds"])


# -- definitions ------------------------------------------------------------------------------------------------------


def test_a_function_with_a_place_is_durable_and_another_lives_as_long_as_the_process(tmp_path: Path) -> None:
    with millpond.connect(tmp_path / "pond") as db:
        db.create_function("plus", samples.add, arguments=[("a", "INT"), ("b", "INT")], returns="INT")
        made = db.create_function("half", lambda x: x / 2, arguments=["DOUBLE"], returns="DOUBLE")
        assert repr(made) == ('function "half" created, for this process only: it cannot be found as module:name')
        assert db.sql("SHOW FUNCTIONS").rows() == [
            ("plus", "scalar", "a INT, b INT", "INT", "not called", f"{HERE}:add"),
            ("half", "scalar", "x1 DOUBLE", "DOUBLE", "not called", "this process only"),
        ]
        assert db.sql("SELECT plus(1, 2), half(3)").rows() == [(3, 1.5)]
        with millpond.connect(tmp_path / "pond") as reader:  # another session of the same pond
            assert reader.sql("SELECT plus(1, 2)").rows() == [(3,)]
            reader.create_function("third", lambda x: x // 3, arguments=["INT"], returns="INT")
            assert reader.sql("SELECT third(9)").rows() == [(3,)]
            assert [r[0] for r in reader.sql("SHOW FUNCTIONS").rows()] == ["plus", "third"]
            reader.sql("DROP FUNCTION third")
            reader.create_function("third", lambda x: x // 3 + 1, arguments=["INT"], returns="INT")
            assert reader.sql("SELECT third(9)").rows() == [(4,)]
    with millpond.connect(tmp_path / "pond") as db:
        assert [r[0] for r in db.sql("SHOW FUNCTIONS").rows()] == ["plus"]
        assert db.sql("SELECT plus(4, 4)").rows() == [(8,)]


def test_dropping_and_making_again(db: Pond) -> None:
    create(db, "CREATE FUNCTION f(x INT, y INT) RETURNS INT AS PYTHON 'HERE:add'")
    assert db.sql("SELECT f(2, 3)").rows() == [(5,)]
    assert message(db, "CREATE FUNCTION f(x INT) RETURNS INT AS PYTHON 'HERE:invert'") == (
        'function "f" exists already\nHint: Drop it first, or use IF NOT EXISTS.'
    )
    create(db, "CREATE FUNCTION IF NOT EXISTS f(x INT) RETURNS INT AS PYTHON 'HERE:invert'")
    assert db.sql("SELECT f(2, 3)").rows() == [(5,)]
    create(db, "CREATE CONTINUOUS QUERY q AS SELECT f(v, 1) AS w FROM s [NOW] SAMPLE REALTIME")
    assert message(db, "DROP FUNCTION f", CatalogError) == (
        'continuous query "q" calls function "f"\nHint: Drop it first: DROP CONTINUOUS QUERY q.'
    )
    create(db, "DROP CONTINUOUS QUERY q", "DROP FUNCTION F", "DROP FUNCTION IF EXISTS f")
    assert message(db, "DROP FUNCTION f", UnknownName) == 'function "f" does not exist'
    create(db, "CREATE FUNCTION f(x INT) RETURNS INT AS PYTHON 'HERE:invert'")
    assert db.sql("SELECT f(2)").rows() == [(50,)]


@pytest.mark.parametrize(
    ("statement", "expected"),
    [
        (
            "CREATE FUNCTION f(x INT) RETURNS INT AS PYTHON 'no.such.module:f'",
            'function "f": module "no.such.module" cannot be imported\n'
            "Detail: ModuleNotFoundError: No module named 'no'.\n"
            "Hint: The folder it is in must be in PYTHONPATH, or the module installed.",
        ),
        (
            "CREATE FUNCTION f(x INT) RETURNS INT AS PYTHON 'HERE:missing'",
            f'function "f": module "{HERE}" has no "missing"',
        ),
        (
            "CREATE FUNCTION f(x INT) RETURNS INT AS PYTHON 'HERE:not_a_function'",
            f'function "f": module "{HERE}" has something else than a function called "not_a_function"',
        ),
        (
            "CREATE FUNCTION f(x INT) RETURNS INT AS PYTHON 'nowhere'",
            'function "f" is to be found at "nowhere", which is not a place\n'
            "Hint: Write AS PYTHON '<module>:<name>', such as 'linear_road.functions:trajectory'.",
        ),
        (
            "CREATE FUNCTION f(x INT) RETURNS INT AS PYTHON 'HERE:add'",
            'function "f" is declared with 1 argument, but is not called so\n'
            "Detail: Declared is (x INT), in Python it is (x: 'int', y: 'int') -> 'int'.",
        ),
        (
            "CREATE FUNCTION f(t BIGINT) RETURNS INT AS PYTHON 'HERE:newer'",
            'function "f" asks for the pond\nDetail: Only a table function can read it.',
        ),
        (
            "CREATE AGGREGATE f() RETURNS INT AS PYTHON 'HERE:path'",
            'aggregate "f" has no arguments\nHint: It is called with lists of values.',
        ),
        (
            "CREATE TABLE FUNCTION f(x INT) RETURNS (a INT) AS PYTHON 'HERE:twice'",
            'function "f" cannot be vectorized\n'
            "Detail: A table function takes plain values, and one without arguments nothing at all.",
        ),
        (
            "CREATE FUNCTION sum(x INT) RETURNS INT AS PYTHON 'HERE:invert'",
            '"sum" is a function or a word of Spark\'s SQL\nHint: Take another name.',
        ),
        (
            "CREATE FUNCTION prev(x INT) RETURNS INT AS PYTHON 'HERE:invert'",
            '"prev" is a function or a word of Spark\'s SQL\nHint: Take another name.',
        ),
        (
            "CREATE FUNCTION _f(x INT) RETURNS INT AS PYTHON 'HERE:invert'",
            '"_f" cannot be the name of a function\nHint: Use letters, digits and underscores.',
        ),
    ],
)
def test_what_cannot_work_is_refused_when_it_is_declared(db: Pond, statement: str, expected: str) -> None:
    assert message(db, statement, CatalogError) == expected
    assert db.sql("SHOW FUNCTIONS").rows() == []


def test_the_python_twin_refuses_what_makes_no_sense(db: Pond) -> None:
    with pytest.raises(UnknownName, match='kind of function "scaler" does not exist'):
        db.create_function("f", len, arguments=["STRING"], returns="INT", kind="scaler")
    with pytest.raises(CatalogError, match=r'"f" is a table function: returns must be a list of columns'):
        db.create_function("f", len, arguments=["STRING"], returns="INT", kind="table")
    with pytest.raises(CatalogError, match='"f" is a scalar function: returns must be a type'):
        db.create_function("f", len, arguments=["STRING"], returns=[("a", "INT")])
    with pytest.raises(CatalogError, match='"f" is a int, which cannot be called'):
        db.create_function("f", 7, arguments=["STRING"], returns="INT")  # type: ignore[arg-type]
    db.create_function("letters", "builtins:len", arguments=["STRING"], returns="INT")
    assert db.sql("SELECT letters('four')").rows() == [(4,)]


# -- errors in queries ------------------------------------------------------------------------------------------------


def test_an_exception_names_the_function_and_the_value(db: Pond) -> None:
    create(
        db,
        "CREATE FUNCTION inv(x INT) RETURNS INT AS PYTHON 'HERE:invert'",
        "CREATE FUNCTION short(x INT) RETURNS INT AS PYTHON 'HERE:too_short'",
        "CREATE FUNCTION wrong(x INT, y INT) RETURNS STRING AS PYTHON 'HERE:add'",
        "CREATE TABLE FUNCTION count_to(n INT) RETURNS (i INT, bar STRING) AS PYTHON 'HERE:count_to'",
        "CREATE TABLE FUNCTION swapped(n INT) RETURNS (bar DATE, i INT) AS PYTHON 'HERE:count_to'",
    )
    fill(db)
    failed = message(db, "SELECT inv(k - 1) FROM s", FunctionError)
    assert failed.startswith(
        'function "inv" failed for (0)\nDetail: ZeroDivisionError: integer division or modulo by zero ('
    )
    assert "samples.py, line" in failed
    assert failed.endswith(", in invert).")
    assert message(db, "SELECT short(v) FROM s [k ROWS 1] WHERE k = 1", FunctionError) == (
        'function "short" failed for ([40])\nDetail: It gave 0 values for 1 row; it must give an Arrow array as long.'
    )
    assert message(db, "SELECT wrong(1, 2)", FunctionError) == (
        'function "wrong" failed for (1, 2)\nDetail: It gave 3, which is not STRING.'
    )
    unlucky = message(db, "SELECT * FROM count_to(20)", FunctionError)
    assert unlucky.startswith('function "count_to" failed for (20)\nDetail: ValueError: unlucky (')
    assert "Row 0 it gave is not as declared" in message(db, "SELECT * FROM swapped(1)", FunctionError)
    assert db.sql("SELECT inv(10)").rows() == [(10,)]  # the next query is not affected


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("SELECT plus(1)", 'function "plus" takes 2 arguments, not 1\nline 1: SELECT plus(1)\n               ^^^^\n'
         "Detail: It is plus(x INT, y INT)."),
        ("SELECT plus('a', 1)", 'argument "x" of function "plus" is INT, not STRING\nline 1: SELECT plus(\'a\', 1)\n'
         "               ^^^^\nHint: Write CAST(... AS INT)."),
        ("SELECT * FROM plus(1, 2)", 'function "plus" gives a value\nline 1: SELECT * FROM plus(1, 2)\n'
         "                      ^^^^"),
        ("SELECT count_to(3)", 'function "count_to" stands in FROM\nline 1: SELECT count_to(3)\n               ^^^^^^^^'),
        ("SELECT path(DISTINCT v) FROM s", 'function "path" takes values, by their place\n'
         "line 1: SELECT path(DISTINCT v) FROM s\n               ^^^^"),
        ("SELECT c.z FROM count_to(1) AS c", 'column "z" does not exist in "c"\n'
         "line 1: SELECT c.z FROM count_to(1) AS c\n               ^^^\nDetail: There is: bar, i."),
    ],
)  # fmt: skip
def test_a_wrong_call_shows_its_place(db: Pond, query: str, expected: str) -> None:
    create(
        db,
        "CREATE FUNCTION plus(x INT, y INT) RETURNS INT AS PYTHON 'HERE:add'",
        "CREATE AGGREGATE path(x INT) RETURNS STRING AS PYTHON 'HERE:path'",
        "CREATE TABLE FUNCTION count_to(n INT) RETURNS (i INT, bar STRING) AS PYTHON 'HERE:count_to'",
    )
    assert message(db, query, SqlError) == expected


def test_queries_with_functions_run_on_duckdb_or_not_at_all(db: Pond, tmp_path: Path) -> None:
    create(db, "CREATE FUNCTION plus(x INT, y INT) RETURNS INT AS PYTHON 'HERE:add'")
    fill(db)
    plan = db.sql("EXPLAIN SELECT plus(v, 1) FROM s").rows()
    assert plan[0] == ("engine: duckdb (Python runs in this process: plus)",)
    assert message(db, "SELECT plus(k, 1) AS x, approx_count_distinct(v) FROM s GROUP BY k", EngineError) == (
        "this query needs Spark, where the user's functions in it do not run: plus\n"
        "Detail: Spark is needed because: function approx_count_distinct is only supported on Spark.\n"
        "Hint: Ask in two steps: put one part's rows into a standard table with CREATE TABLE ... AS."
    )
    assert "do not run: plus" in message(db, "SELECT plus(1, 1), upper('ß' || name) FROM s", EngineError)
    with millpond.connect(tmp_path / "pond", large_rows=1) as small:
        assert small.sql("SELECT count(plus(v, 1)) FROM s").rows() == [(4,)]
    with millpond.connect(tmp_path / "pond", engine="spark") as spark:
        assert "Spark is asked for" in message(spark, "SELECT plus(v, 1) FROM s", EngineError)


def test_a_module_that_has_gone_is_told_when_it_is_needed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "passing_by.py").write_text("def one(x):\n    return 1\n")
    monkeypatch.syspath_prepend(tmp_path)
    with millpond.connect(tmp_path / "pond", auto_archive=False) as db:
        db.sql("CREATE STREAMING TABLE s (v INT, t BIGINT) TIMESTAMP BY t")
        db.sql("CREATE FUNCTION one(x INT) RETURNS INT AS PYTHON 'passing_by:one'")
        db.sql("CREATE CONTINUOUS QUERY q AS SELECT one(v) AS o FROM s [NOW] SAMPLE REALTIME")
        db.sql("CREATE CONTINUOUS QUERY r RANGE INTERVAL '1' HOUR AS SELECT v FROM s [NOW] SAMPLE REALTIME")
    (tmp_path / "passing_by.py").unlink()
    import sys

    monkeypatch.delitem(sys.modules, "passing_by")
    with millpond.connect(tmp_path / "pond", auto_archive=False) as db:
        assert message(db, "SELECT one(1)").startswith('function "one": module "passing_by" cannot be imported')
        db.append("s", [(1, 1), (2, 2)])
        db.tick()
        assert db.sql("SELECT v FROM r").rows() == [(1,)]
        states = {row[0]: row[1] for row in db.sql("SHOW CONTINUOUS QUERIES").rows()}
        assert states == {"q": "failed", "r": "running"}


def test_timestamps_are_instants(db: Pond) -> None:
    db.create_function("later", lambda x: x + timedelta(days=1), arguments=["TIMESTAMP"], returns="TIMESTAMP")
    db.sql("CREATE STREAMING TABLE moments (x TIMESTAMP) TIMESTAMP BY x")
    db.append("moments", [(datetime(2024, 2, 28, tzinfo=UTC),)])
    db.sql("CREATE TABLE kept AS SELECT later(x) AS x FROM moments")
    assert db.sql("SELECT x FROM kept").rows() == [(datetime(2024, 2, 29, tzinfo=UTC),)]


def test_the_instant_is_an_argument_of_a_table_function(db: Pond) -> None:
    create(
        db,
        "CREATE TABLE FUNCTION count_to(n BIGINT) RETURNS (i BIGINT, bar STRING) AS PYTHON 'HERE:count_to'",
        "CREATE CONTINUOUS QUERY q RANGE INTERVAL '1' HOUR AS SELECT s.v, c.i FROM s [NOW] AS s JOIN count_to(NOW()) AS c "
        "ON c.i > 1 SAMPLE REALTIME",
    )
    db.append("s", [(1, 10, None, 2), (1, 20, None, 3), (1, 30, None, 60)])
    db.tick()
    assert sorted(db.sql("SELECT instant, v, i FROM q").rows()) == [(2, 10, 2), (3, 20, 2), (3, 20, 3)]
    told = [line for (line,) in db.sql("EXPLAIN CONTINUOUS QUERY q").rows()]
    assert f"calls count_to, in Python: {HERE}:count_to" in told


def test_a_function_that_reads_may_ask_for_what_calls_another(db: Pond) -> None:
    create(db, "CREATE FUNCTION plus(x INT, y INT) RETURNS INT AS PYTHON 'HERE:add'")

    def raised(pond: millpond.Reader) -> Any:
        return pond.sql("SELECT plus(v, 1) AS w FROM s WHERE v > 10")

    def rows(pond: millpond.Reader) -> Any:
        return raised(pond).rows()

    db.create_function("raised", rows, arguments=[], returns=[("w", "INT")], kind="table")
    fill(db)
    assert db.sql("SELECT w FROM raised() ORDER BY w").rows() == [(21,), (31,), (41,)]


def test_functions_are_called_from_several_threads(db: Pond) -> None:
    from concurrent.futures import ThreadPoolExecutor

    fill(db)
    for i in range(8):
        db.create_function(f"plus_{i}", lambda x, i=i: x + i, arguments=["INT"], returns="INT")

    def ask(i: int) -> list[tuple[Any, ...]]:
        return db.sql(f"SELECT plus_{i % 8}(v) AS w FROM s WHERE v > 0 ORDER BY w").rows()

    with ThreadPoolExecutor(4) as threads:
        found = list(threads.map(ask, range(64)))
    assert found == [[(v + i % 8,) for v in (10, 20, 30, 40)] for i in range(64)]
