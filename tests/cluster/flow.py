"""Rows that flow into a pond in time, and results that come out of it: what came, and how long nothing came."""

from __future__ import annotations

import contextlib
import os
import signal
import threading
import time
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any, Self

import millpond
from tests.cluster.standalone import Cluster, Host, wait_until

KEYS = 7
WINDOW = 100


class Flow:
    """A pond with two queries, one that sends every row and one that counts; ten rows every 20 ms until `finish`."""

    def __init__(self, cluster: Cluster, folder: Path, **settings: Any) -> None:
        self.cluster = cluster
        self.db = millpond.connect(folder, block_rows=2000, **cluster.settings, **settings)
        self.db.sql(
            "CREATE STREAMING TABLE r (k INT, t BIGINT) TIMESTAMP BY t SHARD BY k WITH (shards = 6);"
            "CREATE CONTINUOUS QUERY q AS SELECT k, t FROM r [NOW] SAMPLE REALTIME;"
            f"CREATE CONTINUOUS QUERY n AS SELECT k, COUNT(*) AS n FROM r [INTERVAL {WINDOW}] GROUP BY k SAMPLE INTERVAL 10"
        )
        self.rows = 0
        self.arrivals: list[float] = []  # when results came
        self._ending = threading.Event()
        self._threads = [threading.Thread(target=f, daemon=True) for f in (self._push, self._listen)]

    def __enter__(self) -> Self:
        try:
            self.db.start(wait=True)
            for thread in self._threads:
                thread.start()
            wait_until(lambda: len(self.arrivals) > 10, "results come", 240.0)
        except BaseException:  # a pond that stays open keeps Spark's slots from all tests that follow
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self._end()
        self.db.close()

    def _push(self) -> None:
        while not self._ending.wait(0.02):
            begin = self.rows
            self.db.append("r", [(i % KEYS, i) for i in range(begin, begin + 10)])
            self.rows = begin + 10
            self.db.advance("r", self.rows)

    def _listen(self) -> None:
        cursor = self.db.resume("q")
        while not self._ending.wait(0.01):
            if len(cursor.fetch()):
                self.arrivals.append(time.monotonic())

    def _end(self) -> None:
        self._ending.set()
        for thread in self._threads:
            if thread.is_alive():
                thread.join()

    # -- where work is done ---------------------------------------------------------------------------------------------------

    def connected(self) -> list[Any]:
        """The workers that are connected."""
        pipeline = self.db._workspace.pipeline
        assert pipeline is not None
        return [] if pipeline._workers is None else list(pipeline._workers._known)

    def at_work(self) -> tuple[Host, int]:
        """A host, and the process of a worker there that has a part in ticks."""
        owners = set(self.db._workspace.network._owners.values())
        worker = next(found for found in self.connected() if found.name in owners)
        name, _, process = worker.name.rpartition("-")
        return next(host for host in self.cluster.hosts if host.name == name), int(process)

    @contextlib.contextmanager
    def in_a_tick(self) -> Iterator[tuple[Host, int]]:
        """A host, and the process of a worker there that is in the middle of a tick and does not go on with it."""
        host, process = self.at_work()
        worker = next(found for found in self.connected() if found.name == f"{host.name}-{process}")
        os.kill(process, signal.SIGSTOP)
        try:
            wait_until(lambda: worker.underway, "a tick has begun")
            yield host, process
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.kill(process, signal.SIGCONT)

    # -- what came ------------------------------------------------------------------------------------------------------------

    def goes_on(self, seconds: float = 90.0) -> None:
        """Wait for results of rows that are pushed from now on."""
        pushed = self.rows + 10
        wait_until(lambda: self.db.status() and self._last() >= pushed, "results come again", seconds)

    def _last(self) -> int:
        rows = self.db.sql("SELECT max(t) FROM q").rows()
        return int(rows[0][0] or 0)

    def pause(self, since: float) -> float:
        """The longest time in which no results came, from `since` on."""
        before = [at for at in self.arrivals if at < since][-1:]
        times = [*before, *(at for at in self.arrivals if at >= since), time.monotonic()]
        return max(later - earlier for earlier, later in pairwise(times))

    def check(self) -> None:
        """Stop the flow. Every row was sent once, counted right, and is in the table once: what comes without any fault."""
        self._end()
        self.db.tick()
        sent = [row[1] for row in self.db.resume("q", after=-1).fetch()]
        assert sent == list(range(self.rows)), f"{len(sent)} of {self.rows} rows"
        counted = [(instant, k, n) for k, n, instant, _ in self.db.resume("n", after=-1).fetch()]
        expected = [
            (at, k, sum(i % KEYS == k for i in range(max(0, at - WINDOW), at + 1)))
            for at in range(0, self.rows, 10)
            for k in range(min(KEYS, at + 1))
        ]
        assert sorted(counted) == expected
        self.db.archive()
        assert self.db.sql("SELECT count(*), count(DISTINCT t), min(t), max(t) FROM r").rows() == [
            (self.rows, self.rows, 0, self.rows - 1)
        ]
