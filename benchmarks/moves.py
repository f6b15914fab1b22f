"""Bar 6: a shard that moves to a worker that does not know it, with and without a checkpoint; and very many shards in one worker.

A table of 4 million rows of 500,000 keys in four shards, and one of four times as many, with a partitioned window over each. The
shard is forgotten, as if another worker had had it, and its task of a tick is run: the time includes filling the window and
evaluating the rows of the tick. Then 256 shards in one worker: ticks, and how often a window was filled again.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import pyarrow as pa

import millpond
from benchmarks.harness import Options, Report, median, rounded
from millpond.network.run import tick_plan, worker
from millpond.pond import Pond

QUERY = "SELECT ISTREAM k, v, PREV(v) AS before FROM r [k ROWS 2] WHERE v <> PREV(v) SAMPLE REALTIME"
SECOND = 100_000  # rows of history with the same time
PART = 50  # of the keys, those that have a new value in a tick
SHARDS, MANY = 4, 256


def run(options: Options, report: Report) -> None:
    report.issue = 15
    keys = options.size(500_000, 5_000)
    moved = []
    for rows in (options.size(4_000_000, 40_000), options.size(16_000_000, 80_000)):
        with options.folder(f"pond-{rows}") as folder:
            moved += _moved(options, folder / "pond", rows, keys)
            report.say(f"{rows:,} rows: one of {SHARDS} shards has moved")
    report.table("One of four shards moves: its task, s", moved)
    with options.folder("many") as folder:
        many = _many(options, folder / "pond", keys)
    report.table(f"{MANY} shards in one worker", [many])
    for bar in moved[:2]:
        report.bar(6, f"a shard moves, {bar['from']}, s", bar["median"], "<=", 1 if bar["from"] == "history" else 0.3)
    report.bar(6, f"windows filled again in ticks of {MANY} shards", many["filled again"], "<=", 0)


def _rows(keys: int, begin: int, count: int, time_of: int) -> pa.Table:
    number = np.arange(begin, begin + count, dtype=np.int64)
    return pa.table({"k": number * 7919 % keys, "v": number // keys, "t": np.full(count, time_of, np.int64)})


def _filled(folder: Path, rows: int, keys: int, shards: int) -> Pond:
    """A pond with an archived history, and a query over it that has seen all of it. What keys have is known by arithmetic."""
    db = millpond.connect(folder, auto_archive=False)
    db.sql(
        f"CREATE STREAMING TABLE r (k BIGINT, v BIGINT, t BIGINT) TIMESTAMP BY t SHARD BY k WITH (shards = {shards})"
    )
    for begin in range(0, rows, SECOND):
        db.append("r", _rows(keys, begin, min(SECOND, rows - begin), begin // SECOND))
    db.advance("r", rows // SECOND + 1)
    db.archive()
    db.sql(f"CREATE CONTINUOUS QUERY q AS {QUERY}")
    db.tick()
    return db


class Ticks:
    """Appends rows and ticks, and keeps count of what is sent: every key has a new value, so every row is."""

    def __init__(self, db: Pond, rows: int, keys: int) -> None:
        self._db, self._keys, self._new = db, keys, keys // PART
        self._next = -(-rows // keys) * keys  # so that each key's next value differs from its last
        self._time = rows // SECOND + 2
        for _ in range(3):  # a new query first sends what is there already; then its shards are filled
            self._tick()
        self._sent = self._count()

    def one(self) -> float:
        took = self._tick()
        self._sent += self._new
        sent = self._count()
        assert sent == self._sent, f"{sent} results instead of {self._sent}"
        return took

    def _tick(self) -> float:
        self._db.append("r", _rows(self._keys, self._next, self._new, self._time))
        self._db.advance("r", self._time + 1)
        self._next += self._new
        self._time += 1
        begin = time.monotonic()
        self._db.tick()
        return time.monotonic() - begin

    def _count(self) -> int:
        return int(self._db.status()["queries"]["q"]["sent"])


@contextmanager
def _watched() -> Iterator[list[tuple[int, bool, float]]]:
    """What tasks took: the shard, whether it was filled, seconds."""
    seen: list[tuple[int, bool, float]] = []
    step, fill = worker.Shard.step, worker.Shard._fill
    filled = set()

    def timed(self: Any, task: Any) -> Any:
        begin = time.monotonic()
        try:
            return step(self, task)
        finally:
            seen.append((task.shard, id(self) in filled, time.monotonic() - begin))
            filled.discard(id(self))

    def noted(self: Any, task: Any) -> None:
        filled.add(id(self))
        fill(self, task)

    with patch.object(worker.Shard, "step", timed), patch.object(worker.Shard, "_fill", noted):
        yield seen


def _moved(options: Options, folder: Path, rows: int, keys: int) -> list[dict[str, Any]]:
    repeats = options.size(9, 3)
    found = []
    with _filled(folder, rows, keys, SHARDS) as db:
        ticks = Ticks(db, rows, keys)
        for what in ("history", "checkpoint"):
            if what == "checkpoint":
                _wait_for_checkpoints(db, ticks)
            times = []
            for number in range(repeats):
                with _watched() as seen:
                    if what == "history":
                        _delete_checkpoints(db)
                    _forget(number % SHARDS)
                    ticks.one()
                moved = [seconds for shard, filled, seconds in seen if filled]
                assert len(moved) == 1, f"{len(moved)} shards were filled instead of one"
                times += moved
            found.append(
                {"rows": rows, "keys": keys, "from": what, "median": median(times), "most": rounded(max(times))}
            )
    return found


def _forget(shard: int) -> None:
    for key in [k for k in worker._shards if k[3] == shard]:
        worker._shards.pop(key).close()


def _checkpoints(db: Pond) -> list[Path]:
    return list((db.folder / "shards").glob("*.snapshot"))


def _delete_checkpoints(db: Pond) -> None:
    for path in _checkpoints(db):
        path.unlink()


def _wait_for_checkpoints(db: Pond, ticks: Ticks) -> None:
    end = time.monotonic() + 600
    with patch.object(tick_plan, "CHECKPOINT_TICKS", 2):  # they are begun now
        while len(_checkpoints(db)) < SHARDS:
            assert time.monotonic() < end, "no checkpoints were written"
            ticks.one()


def _many(options: Options, folder: Path, keys: int) -> dict[str, Any]:
    rows = options.size(4_000_000, 40_000)
    with _filled(folder, rows, keys, MANY) as db:
        ticks = Ticks(db, rows, keys)
        ticks.one()
        with _watched() as seen:
            times = [ticks.one() for _ in range(options.size(20, 3))]
        memory = sum(shard.bytes for shard in worker._shards.values())
    filled = sum(filled for _, filled, _ in seen)
    return {"rows": rows, "keys": keys, "ticks": len(times), "median": median(times), "most": rounded(max(times)),
            "tasks": len(seen), "filled again": filled, "counted, MB": round(memory / 1e6)}  # fmt: skip
