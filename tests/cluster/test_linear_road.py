"""Linear Road on a cluster, L = 2, three minutes of simulated time: every answer is there once and right.

The validator computes the answers anew from the input, with none of millpond; `local[*]` is held to the same.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from linear_road import generate, traffic
from linear_road.run import Run, RunConfig
from linear_road.validator import validate
from tests.cluster.standalone import Cluster

pytestmark = [pytest.mark.cluster, pytest.mark.slow]


def test_answers_are_right(four_workers: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    settings = four_workers.settings
    monkeypatch.setenv("MILLPOND_SPARK_MASTER", settings["spark_master"])
    monkeypatch.setenv("MILLPOND_DRIVER_HOST", settings["driver_host"])
    monkeypatch.setenv("MILLPOND_SPARK_CONF", " ".join(f"{k}={v}" for k, v in settings["spark_conf"].items()))
    traffic_config = traffic.TrafficConfig(xways=2, minutes=3, start_minute=100, seed=5)
    paths = generate.generate(traffic_config, tmp_path, days=2)
    config = RunConfig(
        paths["input"], tmp_path / "run", tolls=paths["tolls"], segments=paths["segments"], speed="max", shards=6
    )
    with Run(config) as run:
        run.prepare()
        run.drive()
        assert run.db.status()["pipeline"]["problem"] is None
        hosts = {owner.rpartition("-")[0] for owner in run.db._workspace.network._owners.values()}
        assert hosts <= {host.name for host in four_workers.hosts}
        assert len(hosts) > 1
        found = run.finish()
    verdict = validate(
        paths["input"], tmp_path / "run" / "output.csv", tolls=paths["tolls"], segments=paths["segments"], late_ok=True
    )
    print(f"{found['tuples']:,} tuples in {found['wall']:.0f} s; {verdict}")
    assert verdict.ok, str(verdict)
