"""One cluster for all tests that want as many Workers: it takes half a minute to start, and each of its JVMs some hundred megabytes."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from millpond.spark.session import stop_session
from tests.cluster.standalone import Cluster, why_not


@pytest.fixture(scope="package")
def network() -> None:
    """Skips where there can be no cluster."""
    reason = why_not()
    if reason is not None:
        pytest.skip(reason)


@pytest.fixture(scope="package")
def two_workers(network: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    yield from _cluster(tmp_path_factory.mktemp("cluster"), 2)


def _cluster(folder: Path, workers: int) -> Iterator[Cluster]:
    stop_session()  # of other tests
    cluster = Cluster(folder, workers)
    try:
        yield cluster
    finally:
        stop_session()
        cluster.close()
