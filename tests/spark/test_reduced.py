"""Reduced reads on Spark: the same rows are read, and the same estimates come of them, as on DuckDB."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import millpond

QUERIES = [
    "SELECT count(*) AS n, avg(speed) AS a, sum(amount) AS s FROM readings REDUCE TO 20 PERCENT WHERE speed > 30",
    "SELECT seg, count(*) AS n, sum(amount) AS s FROM readings REDUCE TO 10 PERCENT GROUP BY seg ORDER BY seg",
    "SELECT seg, avg(speed) FILTER (WHERE vid > 9) AS a FROM readings GROUP BY seg ORDER BY a WITHIN 5 PERCENT",
    "SELECT percentile_approx(speed, 0.5) AS m FROM readings REDUCE TO 10 PERCENT",
    "SELECT _seq FROM readings REDUCE TO 7 PERCENT WHERE speed = 3 ORDER BY _seq",
    "SELECT avg(speed) AS a FROM readings [INTERVAL 200 SECOND] AS r REDUCE TO 20 PERCENT",
]


@pytest.mark.parametrize("design", ["RANDOMIZE", "REPLICATE (50, 80)", "NONE"])
def test_both_engines_read_the_same_rows(tmp_path: Path, design: str) -> None:
    random, count = np.random.default_rng(1), 60_000
    rows = pa.table(
        {
            "vid": random.integers(0, 500, count).astype("int32"),
            "seg": random.integers(0, 3, count).astype("int32"),
            "speed": random.integers(0, 120, count).astype("int32"),
            "amount": random.lognormal(3, 1, count),
            "t": np.arange(count) // 100,
        }
    )
    with millpond.connect(tmp_path / "pond", auto_archive=False, shards=2) as db:
        db.sql(
            "CREATE STREAMING TABLE readings (vid INT, seg INT, speed INT, amount DOUBLE, t BIGINT)"
            f" TIMESTAMP BY t REDUCE BY {design}"
        )
        db.append("readings", rows.slice(0, 58_000))
        db.archive()
        db.append("readings", rows.slice(58_000))
        here = [db.sql(query) for query in QUERIES]
    with millpond.connect(tmp_path / "pond", auto_archive=False, engine="spark") as db:
        for query, wanted in zip(QUERIES, here, strict=True):
            found = db.sql(query)
            assert found.columns == wanted.columns
            assert [tuple(map(_about, row)) for row in found.rows()] == wanted.rows(), query
            assert found.reduction == wanted.reduction


def _about(value: object) -> object:
    return pytest.approx(value, rel=1e-9) if isinstance(value, float) else value
