"""An error in the data that only DuckDB meets is none: Spark decides, and what it says is the answer."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest import mock

import pytest

import millpond
from millpond.query import on_spark

pytestmark = pytest.mark.spark


@pytest.fixture(scope="module")
def pond(tmp_path_factory: pytest.TempPathFactory, session: Any) -> Iterator[millpond.Pond]:
    with millpond.connect(
        tmp_path_factory.mktemp("errors") / "pond", auto_archive=False, spark_master="local[2]"
    ) as db:
        db.sql("CREATE STANDARD TABLE t (n INT, k INT)")
        db.sql("INSERT INTO t VALUES (NULL, 0), (6, 3)")
        yield db


@pytest.mark.parametrize(
    ("sql", "rows"),
    [
        ("SELECT n + 1 / k AS x FROM t ORDER BY x", [(None,), (6 + 1 / 3,)]),
        ("SELECT CAST(NULL AS INT) >= n / 0 AS x FROM t", [(None,), (None,)]),
        ("SELECT k FROM t WHERE n > 6 / k", [(3,)]),
    ],
)
def test_what_spark_leaves_out_is_no_error(pond: millpond.Pond, sql: str, rows: list[tuple[object, ...]]) -> None:
    assert pond.sql(sql).rows() == rows


def test_an_error_that_spark_meets_too_is_told_by_spark(pond: millpond.Pond) -> None:
    with pytest.raises(millpond.EngineError, match="DIVIDE_BY_ZERO"):
        pond.sql("SELECT coalesce(n, 1 / k) AS x FROM t")


@pytest.mark.parametrize(
    "sql", ["SELECT 1 / k AS x FROM t", "SELECT 10 / min(k) AS x FROM t", "SELECT n * 2147483647 AS x FROM t"]
)
def test_an_error_that_spark_is_sure_to_meet_is_told_at_once(pond: millpond.Pond, sql: str) -> None:
    with (
        mock.patch.object(on_spark, "run_on_spark") as run,
        pytest.raises(millpond.EngineError, match="the query failed"),
    ):
        pond.sql(sql)
    run.assert_not_called()


def test_the_engine_that_was_asked_for_has_the_last_word(tmp_path: Path) -> None:
    with millpond.connect(tmp_path / "pond", engine="duckdb") as db:
        db.sql("CREATE STANDARD TABLE t (n INT, k INT)")
        db.sql("INSERT INTO t VALUES (NULL, 0), (6, 3)")
        with pytest.raises(millpond.EngineError, match="by zero"):
            db.sql("SELECT n + 1 / k AS x FROM t")
