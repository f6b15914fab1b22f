"""Standing queries beside the pipeline: rows are matched in Spark's workers, and answers are those of a one-time query."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import millpond
from millpond.standing import keeper

pytestmark = pytest.mark.spark

WINDOW = "BEGIN NOW - INTERVAL '20000' SECOND END NOW"


@pytest.fixture
def in_workers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(keeper, "_FEW_ROWS", 1)
    monkeypatch.setattr(keeper, "_LITTLE_WORK", 1)


def quotes(first: int, count: int) -> pa.Table:
    random = np.random.default_rng(first)
    return pa.table(
        {
            "symbol": pa.array([f"s{i}" for i in random.integers(0, 50, count)]),
            "price": pa.array(random.uniform(0, 100, count)),
            "volume": pa.array(random.integers(0, 1000, count), pa.int32()),
            "t": pa.array(np.arange(first, first + count)),
        }
    )


def test_rows_are_matched_in_the_workers(tmp_path: Path, in_workers: None, monkeypatch: pytest.MonkeyPatch) -> None:
    taken: list[int] = []
    take = keeper.KeptTable.take_matched
    monkeypatch.setattr(
        keeper.KeptTable,
        "take_matched",
        lambda self, plan, found: taken.append(plan.prefix.position) or take(self, plan, found),
    )
    with millpond.connect(tmp_path / "pond", spark_master="local[2]", shards=2, tick="50ms") as db:
        db.sql("CREATE STREAMING TABLE quotes (symbol STRING, price DOUBLE, volume INT, t BIGINT) TIMESTAMP BY t")
        asked = [
            db.register(f"SELECT symbol, volume, t FROM quotes WHERE {where} {WINDOW}")
            for where in ("symbol = 's7'", "volume BETWEEN 100 AND 120", "symbol IN ('s1', 's2') AND volume < 500")
        ]
        db.start()
        assert db._workspace.pipeline is not None
        assert db._workspace.pipeline.ready.wait(120)
        for first in range(0, 40_000, 8_000):
            db.append("quotes", quotes(first, 8_000))
            db.tick()
        late = db.register(f"SELECT symbol, t FROM quotes WHERE symbol = 's9' {WINDOW}")
        asked[0].drop()
        db.append("quotes", quotes(40_000, 8_000))
        db.tick()
        db.archive()
        for handle in (*asked[1:], late):
            answer = handle.invoke()
            assert answer.way == "plain"
            assert answer.position == {"quotes": 48_000}
            assert (
                answer.rows()
                == db.sql(handle.sql.replace("FROM quotes", f"FROM quotes [{WINDOW}]").removesuffix(WINDOW)).rows()
            )
    assert 40_000 in taken
    assert 48_000 in taken
