"""A query on Spark ends when its time is up, and Spark goes on."""

from __future__ import annotations

from pathlib import Path

import pytest

import millpond

ENDLESS = "SELECT count(*) AS n FROM r a JOIN r b ON a.v < b.v + b.t JOIN r c ON c.t < a.v + b.t"


def test_a_query_on_spark_that_takes_too_long_is_stopped(tmp_path: Path) -> None:
    with millpond.connect(tmp_path / "pond", auto_archive=False, engine="spark") as db:
        db.sql("CREATE STREAMING TABLE r (v INT, t BIGINT) TIMESTAMP BY t")
        db.append("r", [(i, i) for i in range(20_000)])
        assert db.sql("SELECT count(*) AS n FROM r").rows() == [(20_000,)]
    with millpond.connect(tmp_path / "pond", auto_archive=False, engine="spark", query_time="8 seconds") as db:
        with pytest.raises(millpond.LimitExceeded, match="the query took longer than 8 seconds and was stopped"):
            db.sql(ENDLESS)
        assert db.sql("SELECT count(*) AS n FROM r").rows() == [(20_000,)]


def test_long_lists_on_spark_give_what_duckdb_gives(tmp_path: Path) -> None:
    rows = ", ".join(f"({i}, 'v{i}', {i}.5, DATE '2026-01-01', {'NULL' if i % 2 else 'TRUE'})" for i in range(300))
    either = " OR ".join(f"a = {i}" for i in range(300))
    neither = " AND ".join(f"b <> 'v{i}'" for i in range(5, 300))
    sql = f"SELECT * FROM VALUES {rows} AS v(a, b, c, d, e) WHERE {{}} ORDER BY a"
    answers = []
    for engine in ("duckdb", "spark"):
        with millpond.connect(tmp_path / "pond", auto_archive=False, engine=engine) as db:
            found = [db.sql(sql.format(condition)) for condition in (either, neither)]
            answers.append([(each.rows(), each.arrow().schema.types) for each in found])
    assert answers[0] == answers[1]
    assert [len(rows) for rows, _ in answers[0]] == [300, 5]


def test_a_result_without_a_type_in_arrow_raised_a_bare_exception(tmp_path: Path) -> None:
    with (
        millpond.connect(tmp_path / "pond", auto_archive=False) as db,
        pytest.raises(millpond.EngineError, match="the query has a result that Arrow cannot hold"),
    ):
        db.sql("SELECT array(*) FROMcriticalsegs")
