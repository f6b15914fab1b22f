"""One cluster for all tests that want as many Workers: it takes half a minute to start, and each of its JVMs some hundred megabytes."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from millpond.spark.session import stop_session
from tests.cluster.standalone import Cluster, why_not


@pytest.fixture(scope="package")
def cluster_of(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[int], Cluster]]:
    """The cluster with so many Workers; there is one at a time."""
    reason = why_not()
    if reason is not None:
        pytest.skip(reason)
    there: list[Cluster] = []

    def put_away() -> None:
        stop_session()  # also that of other tests
        while there:
            there.pop().close()

    def give(workers: int) -> Cluster:
        if not there or len(there[0].hosts) != workers:
            put_away()
            there.append(Cluster(tmp_path_factory.mktemp("cluster"), workers))
        return there[0]

    try:
        yield give
    finally:
        put_away()


@pytest.fixture
def two_workers(cluster_of: Callable[[int], Cluster]) -> Cluster:
    return cluster_of(2)


@pytest.fixture
def four_workers(cluster_of: Callable[[int], Cluster]) -> Cluster:
    return cluster_of(4)
