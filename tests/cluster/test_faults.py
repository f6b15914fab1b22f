"""What ends or is cut off in the middle of ticks: nothing is lost, nothing is doubled, and results come again soon.

That is said of the rows that came: all that come of such rows without any fault, once. Pauses are printed (`pytest -s`).
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from millpond.tick import pipeline as pipelines
from tests.cluster.flow import Flow
from tests.cluster.standalone import Cluster, Host, kill, wait_until

pytestmark = [pytest.mark.cluster, pytest.mark.slow]

SOON = 5.0  # seconds that results may pause when a process ends
ALONE = 10.0  # if it was the only one at work: Spark has to start another first
CUT_OFF = 10.0  # when the network is cut: four until that is noticed, and what it takes to go on
BUSY = max(
    1.0, os.getloadavg()[0] / (os.cpu_count() or 1) / 2
)  # others keep the machine busy; the JVMs here do so up to 1


def busy() -> float:
    """How many times as long everything may take, because others keep the machine busy; the processes here do so up to 1."""
    return max(1.0, os.getloadavg()[0] / (os.cpu_count() or 1) / 2)


@contextmanager
def pausing(flow: Flow, what: str, most: float) -> Iterator[None]:
    """What happens pauses results for no longer than that."""
    since = time.monotonic()
    yield
    flow.goes_on()
    pause = flow.pause(since)
    print(f"{len(flow.cluster.hosts)} workers, {what}: results paused for {pause:.1f} s")
    assert pause <= most * busy()


def end_one_after_the_other(flow: Flow, slots: int) -> Host:
    """kill -9 of a Python worker, of an executor, of a Worker; the host of the last."""

    def all_are_there() -> None:
        wait_until(lambda: len(flow.connected()) == slots, "Spark has given its place to another")

    most = SOON if slots > 1 else ALONE
    with flow.in_a_tick() as (_, process), pausing(flow, "kill -9 of a Python worker", most):
        kill(process)
    all_are_there()
    with flow.in_a_tick() as (host, _), pausing(flow, "kill -9 of an executor", most):
        (executor,) = host.executors()
        kill(executor)
    all_are_there()
    with flow.in_a_tick() as (host, _), pausing(flow, "kill -9 of a Worker", ALONE):
        assert host.worker is not None
        kill(host.worker.pid)
    return host


@pytest.mark.parametrize("workers", [2, 4])
def test_processes_end(request: pytest.FixtureRequest, tmp_path: Path, workers: int) -> None:
    cluster: Cluster = request.getfixturevalue("two_workers" if workers == 2 else "four_workers")
    with Flow(cluster, tmp_path / "pond") as flow:
        host = end_one_after_the_other(flow, workers - 1)
        assert flow.db.status()["pipeline"]["state"] == "running"
        cluster.start_worker(host)
        wait_until(host.executors, "the Worker that was started anew has an executor")
        flow.check()


def test_a_link_is_cut(four_workers: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """For a moment, and for so long that shifts end meanwhile and Spark gives the executor up."""
    monkeypatch.setattr(pipelines, "_SHIFT", 10.0)
    with Flow(four_workers, tmp_path / "pond") as flow:
        wait_until(lambda: len(flow.connected()) == 3, "a shift has begun")
        for seconds in (2, 50):
            host, _ = flow.at_work()
            with pausing(flow, f"network cut for {seconds} s", CUT_OFF):
                host.down()
                threading.Event().wait(seconds)
                assert seconds < 10 or flow.pause(time.monotonic() - 10) < 10 * busy(), "others have its shards"
                host.up()
            wait_until(lambda: len(flow.connected()) == 3, "all workers are connected")
        flow.check()
