"""Limits of statements: length, time, memory, size of a result, length of a text. Each error names limit and setting."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import millpond
from millpond.query import limits
from millpond.query.limits import machine_memory, query_memory
from millpond.query.local import Local

CROSS = "SELECT count(*) AS n FROM r a JOIN r b ON a.v < b.v + b.t JOIN r c ON c.t < a.v + b.t"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    with millpond.connect(tmp_path / "pond", auto_archive=False) as db:
        db.sql("CREATE STREAMING TABLE r (v INT, t BIGINT) TIMESTAMP BY t")
        db.append("r", [(i, i) for i in range(20_000)])
        db.sql("CREATE TABLE texts (x STRING)")
        db.sql("INSERT INTO texts VALUES ('x'), (NULL)")
    return tmp_path / "pond"


@pytest.fixture
def db(folder: Path) -> Iterator[millpond.Pond]:
    with millpond.connect(folder, auto_archive=False, query_memory=64 << 20) as pond:
        yield pond


def refused(db: millpond.Pond, sql: str) -> millpond.LimitExceeded:
    with pytest.raises(millpond.LimitExceeded) as caught:
        db.sql(sql)
    return caught.value


def test_a_query_that_takes_too_long_is_stopped(folder: Path) -> None:
    with millpond.connect(folder, auto_archive=False, query_time="200ms") as db:
        for sql in (CROSS, f"EXPLAIN ANALYZE {CROSS}", f"INSERT INTO texts SELECT CAST(n AS STRING) FROM ({CROSS})"):
            assert str(refused(db, sql)) == (
                "the query took longer than 0.2 seconds and was stopped\n"
                "Hint: Setting query_time is the limit; connect(..., query_time=...) raises it."
            )
        assert db.sql("SELECT count(*) AS n FROM texts").rows() == [(2,)]


def test_a_statement_that_is_too_long_is_refused(folder: Path) -> None:
    with millpond.connect(folder, statement_length=100) as db:
        db.sql("SELECT 1 AS a" + " " * 87)
        error = refused(db, "SELECT 1 AS a" + " " * 88)
    assert (error.primary, error.setting) == ("the statement has 101 characters, more than 100", "statement_length")
    assert error.hint == "Raise setting statement_length, or bring rows with append instead of INSERT."


def test_a_query_that_needs_too_much_memory_is_refused(db: millpond.Pond) -> None:
    numbered = "SELECT row_number() OVER (PARTITION BY a.v % 7 ORDER BY a.v * b.v) AS k FROM r a JOIN r b ON a.v < b.v"
    error = refused(db, f"SELECT count(*) AS n FROM ({numbered}) WHERE k = 1")
    assert error.primary == "the query takes more memory than 64 MiB"
    assert error.setting == "query_memory"
    assert error.detail is not None
    assert error.detail.startswith("DuckDB says: ")
    assert db.sql("SELECT count(*) AS n FROM r").rows() == [(20_000,)]


def test_a_result_that_is_too_large_is_refused(db: millpond.Pond) -> None:
    error = refused(db, "SELECT a.v, b.t FROM r a JOIN r b ON a.v < b.v")
    assert str(error) == (
        "the result is larger than 64 MiB\n"
        "Hint: Ask for fewer rows or columns, or raise setting query_memory: connect(..., query_memory=...)."
    )
    assert error.setting == "query_memory"
    assert len(db.sql("SELECT a.v, b.t FROM r a JOIN r b ON a.v = b.v")) == 20_000


def test_errors_after_the_first_rows_are_those_of_the_engine(db: millpond.Pond) -> None:
    with pytest.raises(millpond.EngineError, match="division by zero"):
        db.sql("SELECT 1 / CAST(19999 - v AS DOUBLE) AS x FROM r")


@pytest.mark.parametrize(
    ("sql", "function"),
    [
        ("SELECT repeat('x', 2000000000) AS x", "repeat"),
        ("SELECT length(repeat('x', 2000000000)) AS n", "repeat"),
        ("SELECT repeat(x, 2000000000) AS x FROM texts", "repeat"),
        ("SELECT repeat(repeat(x, 1000000), 1000000) AS x FROM texts", "repeat"),
        ("SELECT " + "repeat(" * 20 + "x" + ", 16)" * 20 + " AS x FROM texts", "repeat"),
        ("SELECT lpad('x', 2000000000, 'y') AS x", "lpad"),
        ("SELECT rpad(x, 2000000000, 'y') AS x FROM texts", "rpad"),
        ("SELECT rpad(x, 1000 * (1000 + 1000) * 1000, 'y') AS x FROM texts", "rpad"),
        ("SELECT space(2000000000) AS x", "space"),
        ("SELECT format_string('%2000000000d', 1) AS x", "format_string"),
        ("SELECT replace(repeat(x, 1000000), 'x', repeat('y', 1000000)) AS x FROM texts", "replace"),
        (f"SELECT replace(repeat(x, 1000000), 'x', '{'y' * 1000}') AS x FROM texts", "replace"),
        # DuckDB computes constants before the guard in its text is asked.
        ("SELECT replace(repeat('x', 1000000), 'x', repeat('y', 1000000)) AS x", "replace"),
        ("SELECT regexp_replace(repeat('x', 1000000), 'x', repeat('y', 1000000)) AS x", "regexp_replace"),
        ("SELECT repeat(concat(repeat('x', 1000000), 'y'), 1000000) AS x", "repeat"),
        ("SELECT repeat(upper(repeat('x', 1000000)) || 'y', 1000000) AS x", "repeat"),
    ],
)
def test_a_text_that_grows_out_of_proportion_is_refused(db: millpond.Pond, sql: str, function: str) -> None:
    error = refused(db, sql)
    assert error.primary == f"{function} would make a text of more than 1,048,576 bytes"
    assert error.setting is None


@pytest.mark.parametrize(
    ("sql", "function"),
    [
        (f"SELECT length({' || '.join(['x'] * 50)}) AS n FROM long", "||"),
        (f"SELECT length(concat({', '.join(['x'] * 50)})) AS n FROM long", "concat"),
        (f"SELECT length(concat_ws('-', {', '.join(['x'] * 50)})) AS n FROM long", "concat_ws"),
        (f"SELECT length(concat_ws(x, {', '.join(['NULL', 'y'] * 20)})) AS n FROM long", "concat_ws"),
        (f"SELECT length({' || '.join(['trim(x || x || x)'] * 10)}) AS n FROM long", "||"),
    ],
)
def test_long_texts_put_together_took_memory_beyond_the_limit(db: millpond.Pond, sql: str, function: str) -> None:
    db.sql("CREATE TABLE long (x STRING, y STRING)")
    db.append("long", [("x" * 100_000, "y"), (None, None)])
    assert refused(db, sql).primary == f"{function} would make a text of more than 1,048,576 bytes"
    db.sql("UPDATE long SET x = 'x' WHERE x IS NOT NULL")
    assert len(db.sql(sql)) == 2


def test_many_texts_made_of_constants_are_refused_together(db: millpond.Pond) -> None:
    million = "repeat('x', 1000000)"
    for sql in (
        f"SELECT concat_ws('y', {', '.join([million] * 70)}) AS x",
        f"SELECT {' || '.join([million] * 70)} AS x",
        f"SELECT {', '.join(f'{million} AS x{n}' for n in range(70))}",
    ):
        error = refused(db, sql)
        assert error.primary == "a text would be made of more than 67,108,864 bytes"
        assert error.hint == "Make it in the program that uses it."
    assert db.sql(f"SELECT length(concat({million}, {million})) AS n").rows() == [(2_000_000,)]
    assert (
        db.sql("SELECT replace(repeat('xy', 500000), 'xy', 'z') AS x, repeat(x, 0) AS y FROM texts").rows()[0][1] == ""
    )


@pytest.mark.parametrize(
    ("sql", "message"),
    [
        ("SELECT sequence(1, 2000000000) AS x", "sequence would make a list of 2,000,000,000 elements"),
        ("SELECT sequence(-1000000 * 100, 100000000, 2) AS x", "sequence would make a list of 100,000,001 elements"),
        (
            "SELECT size(array_repeat(x, 2000000000)) AS n FROM texts",
            "array_repeat would make a list of 2,000,000,000 elements",
        ),
    ],
)
def test_a_list_of_billions_was_made_while_spark_planned(db: millpond.Pond, sql: str, message: str) -> None:
    error = refused(db, sql)
    assert error.primary == f"{message}, more than 10,000,000"
    assert error.hint == "Use range() in FROM: it makes rows."


def test_texts_of_ordinary_length_are_made(db: millpond.Pond) -> None:
    sql = "SELECT length(repeat(x, 1000000)) AS a, length(rpad(x, 1000000, 'é')) AS b, replace(x, 'x', repeat('y', 3)) AS c FROM texts"
    assert db.sql(f"{sql} WHERE x IS NOT NULL").rows() == [(1_000_000, 1_000_000, "yyy")]
    assert db.sql(f"{sql} WHERE x IS NULL").rows() == [(None, None, None)]


def test_the_engine_does_not_write_into_the_callers_folder() -> None:
    local = Local(memory=64 << 20)
    try:
        [(folder, memory)] = local._connection.execute(
            "SELECT current_setting('temp_directory'), current_setting('memory_limit')"
        ).fetchall()
        assert Path(folder).is_absolute()
        assert memory == "64.0 MiB"
    finally:
        local.close()


def test_memory_is_half_of_what_there_is(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    assert query_memory(0) == machine_memory() // 2
    assert query_memory(123 << 20) == 123 << 20
    monkeypatch.setattr(limits, "_CGROUP", tmp_path / "memory.max")
    whole = machine_memory()
    (tmp_path / "memory.max").write_text("max\n")
    assert machine_memory() == whole
    (tmp_path / "memory.max").write_text("1000000\n")
    assert machine_memory() == 1_000_000


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        (
            {"query_memory": 100},
            "setting query_memory cannot be 100\nHint: Use at least 16,777,216 bytes, or 0 for half",
        ),
        ({"query_time": "-1 s"}, "setting query_time cannot be"),
        ({"statement_length": 0}, "setting statement_length must be at least 1, not 0"),
    ],
)
def test_limits_that_are_none(setting: dict[str, object], message: str, tmp_path: Path) -> None:
    with pytest.raises(millpond.CatalogError) as caught:
        millpond.connect(tmp_path / "pond", **setting)
    assert str(caught.value).startswith(message)


def test_an_evaluation_that_needs_too_much_memory_stops_its_query_only(tmp_path: Path) -> None:
    numbered = "SELECT row_number() OVER (PARTITION BY a.v % 7 ORDER BY a.v * b.v) AS k FROM r [NOW] a JOIN r [NOW] b ON a.v < b.v"
    with millpond.connect(tmp_path / "pond", auto_archive=False, evaluation_memory=16 << 20) as db:
        db.sql("CREATE STREAMING TABLE r (v INT, t BIGINT) TIMESTAMP BY t")
        db.sql(
            "CREATE CONTINUOUS QUERY big RANGE UNBOUNDED AS "
            f"SELECT count(*) AS n FROM ({numbered}) WHERE k = 1 SAMPLE INTERVAL '10' SECOND"
        )
        db.sql("CREATE CONTINUOUS QUERY small RANGE UNBOUNDED AS SELECT v FROM r [NOW] WHERE v < 2 SAMPLE REALTIME")
        db.append("r", [(i, 10) for i in range(6000)])
        db.advance("r", 11)
        db.tick()
        shown = {row[0]: row for row in db.sql("SHOW CONTINUOUS QUERIES").rows()}
        assert shown["small"][1] == "running"
        assert shown["big"][1] == "failed"
        assert "an evaluation takes more memory than 16 MiB" in shown["big"]
        assert db.sql("SELECT v FROM small ORDER BY v").rows() == [(0,), (1,)]
        ((problem,),) = db.sql("SELECT problem FROM millpond.queries WHERE name = 'big'").rows()
        assert "Setting evaluation_memory is the limit" in problem
