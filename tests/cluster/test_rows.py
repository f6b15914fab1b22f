"""A pond whose workers are on other hosts: the rows are right, and it is told when no worker comes."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import millpond
from millpond.spark.session import stop_session
from tests.cluster.standalone import Cluster

pytestmark = pytest.mark.cluster


def test_a_table_and_a_continuous_query(two_workers: Cluster, tmp_path: Path) -> None:
    with millpond.connect(tmp_path / "pond", block_rows=1000, **two_workers.settings) as db:
        db.sql(
            "CREATE STREAMING TABLE r (k INT, t BIGINT) TIMESTAMP BY t SHARD BY k WITH (shards = 4);"
            "CREATE CONTINUOUS QUERY n AS SELECT k, COUNT(*) AS n FROM r [INTERVAL 100] GROUP BY k SAMPLE INTERVAL 10"
        )
        db.start(wait=True)
        for begin in range(0, 2000, 500):
            db.append("r", [(i % 7, i) for i in range(begin, begin + 500)])
            db.advance("r", begin + 500)
            db.tick()
        found = {(k, instant): n for k, n, instant, _ in db.resume("n", after=-1).fetch()}
        assert found == {
            (k, at): sum(i % 7 == k for i in range(max(0, at - 100), at + 1))
            for at in range(0, 2000, 10)
            for k in range(min(7, at + 1))
        }
        assert db.status()["pipeline"]["workers"] == 1
        owners = set(db._workspace.network._owners.values())
        assert {owner.rpartition("-")[0] for owner in owners} <= {host.name for host in two_workers.hosts}
        db.archive()
        assert db.sql("SELECT count(*), count(DISTINCT t) FROM r").rows() == [(2000, 2000)]


@pytest.fixture
def too_small(two_workers: Cluster) -> Iterator[dict[str, Any]]:
    """Settings of a pond that wants larger executors than there can be."""
    stop_session()
    yield {**two_workers.settings, "spark_conf": {"spark.executor.memory": "600m"}}
    stop_session()


@pytest.mark.slow
def test_that_no_worker_comes_is_told(too_small: dict[str, Any], tmp_path: Path) -> None:
    with millpond.connect(tmp_path / "pond", worker_wait="5 seconds", **too_small) as db:
        db.sql("CREATE STREAMING TABLE r (k INT, t BIGINT) TIMESTAMP BY t SHARD BY k")
        with pytest.raises(millpond.EngineError, match="no worker of Spark has connected within 5 seconds") as caught:
            db.start(wait=True)
        assert f"reached {too_small['driver_host']}:" in str(caught.value)
        told = db.status()["pipeline"]
        assert (told["state"], told["workers"]) == ("retrying", 0)
        assert told["problem"].startswith("no worker of Spark has connected")
        db.append("r", [(1, 1)])
        assert db.sql("SELECT count(*) FROM r").rows() == [(1,)]
