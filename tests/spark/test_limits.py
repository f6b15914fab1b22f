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
    with millpond.connect(tmp_path / "pond", auto_archive=False, engine="spark", query_time="20 seconds") as db:
        with pytest.raises(millpond.LimitExceeded, match="the query took longer than 20 seconds and was stopped"):
            db.sql(ENDLESS)
        assert db.sql("SELECT count(*) AS n FROM r").rows() == [(20_000,)]
