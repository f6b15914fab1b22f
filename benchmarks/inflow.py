"""A steady stream for the benchmarks of continuous queries: so many rows a second, of so many vehicles, in real time.

Vehicles report in turn, each the same number of seconds after its last report, and move on: which reports cross into
another segment is known by arithmetic, so that what the continuous queries send can be checked.
"""

from __future__ import annotations

import threading
import time
from typing import Self

import numpy as np
import pyarrow as pa

from benchmarks.harness import SCHEMA
from millpond.pond import Pond

SEGMENTS, XWAYS = 100, 10


class Inflow(threading.Thread):
    """Appends `rate` rows each second of real time, all with that second's time, then the heartbeat of the next.

    Vehicle v reports at seconds s with s % period == v % period, where period = vehicles / rate. Its segment is
    (v + number of its report) % SEGMENTS, so every report but the first crosses.
    """

    def __init__(
        self, db: Pond, rate: int, vehicles: int, seconds: int, table: str = "posreports", first: int = 0
    ) -> None:
        super().__init__(daemon=True)
        self._db = db
        self._table = table
        self.rate = rate
        self.period = max(1, vehicles // rate)
        self.seconds = seconds
        self.first = first
        self.sent_at: dict[int, float] = {}  # second -> when its rows were accepted and its heartbeat given
        self.behind = 0.0
        self.error: BaseException | None = None

    def rows(self, second: int) -> pa.Table:
        phase, turn = second % self.period, second // self.period
        vid = (np.arange(self.rate, dtype=np.int64) * self.period + phase).astype(np.int32)
        columns = {
            "vid": vid,
            "spd": (vid + second) % 100,
            "xway": vid % XWAYS,
            "lane": vid % 5,
            "dir": vid % 2,
            "seg": (vid + turn) % SEGMENTS,
            "pos": vid,
            "t": np.full(self.rate, second, dtype=np.int64),
        }
        return pa.table({f.name: pa.array(columns[f.name], f.type, safe=False) for f in SCHEMA})

    def run(self) -> None:
        try:
            begin = time.monotonic()
            for number in range(self.seconds):
                second = self.first + number
                rows = self.rows(second)
                wait = begin + number - time.monotonic()
                if wait > 0:
                    time.sleep(wait)
                self.behind = max(self.behind, -wait)
                for start in range(0, self.rate, 10_000):
                    self._db.append(self._table, rows.slice(start, 10_000))
                self._db.advance(self._table, second + 1)
                self.sent_at[second] = time.monotonic()
        except BaseException as error:
            self.error = error
            raise

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.join()
