"""From append to a subscriber in another process, beside PostgreSQL's INSERT, NOTIFY and SELECT; and where the time goes.

A row every 100 ms, to one query that sends it on; both systems in turn, a block of rows at a time, with every row durable
before it is seen. Then 100 queries at 10,000 rows/s. The clock starts before the row is handed in, and stops when the other
process has it.
"""

from __future__ import annotations

import contextlib
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

import millpond
from benchmarks.harness import Options, Report, rounded
from millpond.pond import Pond

PAUSE = 0.1  # seconds between two rows
BLOCKS = 6
QUERIES = 100
# Ways in which a hundred queries differ, and the shard key. The first is that of the bar.
VARIANTS = {
    "a computed value": ("SELECT k, t FROM r [NOW] WHERE k % {count} = {i}", "k"),
    "a column": ("SELECT k, t FROM r [NOW] WHERE s = {i}", "k"),
    "a computed value, and selecting one": ("SELECT k, k * 2 AS x, t FROM r [NOW] WHERE k % {count} = {i}", "k"),
    "the key of windows": ("SELECT ISTREAM k, s, t FROM r [s ROWS 2] WHERE s = {i}", "s"),
}
BATCH, BATCHES = 200, 50  # rows, and how often a second
PATIENCE = 120.0

SUBSCRIBER = """
import sys, time, millpond
with millpond.connect(sys.argv[1]) as db, db.subscribe(sys.argv[2], after=int(sys.argv[3])) as found:
    print("ready", flush=True)
    for batch in found:
        now = time.monotonic_ns()
        keys = batch.arrow()["k"].to_pylist()
        print(*(f"{key} {now}\\n" for key in keys), sep="", end="", flush=True)
"""
LISTENER = """
import sys, time, psycopg
with psycopg.connect(sys.argv[1], autocommit=True) as told, psycopg.connect(sys.argv[1], autocommit=True) as asked:
    told.execute("LISTEN came")
    print("ready", flush=True)
    last = -2
    for _ in told.notifies():  # its connection takes no statement meanwhile
        rows = asked.execute("SELECT k FROM r WHERE k > %s ORDER BY k", (last,)).fetchall()
        now = time.monotonic_ns()
        for (key,) in rows:
            last = key
            print(key, now, flush=True)
"""


class Receiver:
    """Another process, and when it had each row."""

    def __init__(self, program: str, *words: str) -> None:
        self.came: dict[int, int] = {}
        self._process = subprocess.Popen(
            [sys.executable, "-c", program, *words], stdout=subprocess.PIPE, text=True, bufsize=1
        )
        assert self._process.stdout is not None
        assert self._process.stdout.readline() == "ready\n"
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            key, now = line.split()
            assert int(key) not in self.came, f"row {key} came twice"
            self.came[int(key)] = int(now)

    def wait(self, count: int) -> None:
        end = time.monotonic() + PATIENCE
        while len(self.came) < count:
            assert time.monotonic() < end, f"{len(self.came)} of {count} rows came"
            assert self._process.poll() is None, "the receiver has ended"
            time.sleep(0.01)

    def close(self) -> None:
        self._process.kill()
        self._process.wait()
        assert self._process.stdout is not None
        self._process.stdout.close()


def run(options: Options, report: Report) -> None:
    report.issue = 15
    _one_row_at_a_time(options, report)
    for number, (what, (text, shard_by)) in enumerate(VARIANTS.items()):
        _many(options, report, what, text, shard_by, bar=number == 0)


def _started(folder: Path, shard_by: str = "k") -> Pond:
    db = millpond.connect(folder)
    columns = "k BIGINT, t BIGINT, s BIGINT"
    db.sql(f"CREATE STREAMING TABLE r ({columns}) TIMESTAMP BY t SHARD BY {shard_by} WITH (shards = 2)")
    return db


def _wait_until_ready(db: Pond, report: Report, first: int) -> None:
    """Start the pipeline; `first` is the key of a first row, with which receivers warm up."""
    begin = time.monotonic()
    db.start()
    while db.status()["pipeline"]["state"] != "running":
        assert db.status()["pipeline"]["state"] != "failed", db.status()
        time.sleep(0.05)
    report.say(f"Spark was ready after {time.monotonic() - begin:.1f} s")
    begin = time.monotonic()
    db.append("r", [(first, 0, first % QUERIES)])
    db.advance("r", 1)
    db.tick()
    report.say(f"the first tick took {time.monotonic() - begin:.1f} s")


def _one_row_at_a_time(options: Options, report: Report) -> None:
    block = options.size(100, 10)
    folder = options.workdir / "pond"
    ours: list[int] = []
    theirs: list[int] = []
    appended: list[float] = []
    with _started(folder) as db, _postgres(options.workdir / "postgres") as (insert, listener):
        db.sql("CREATE CONTINUOUS QUERY q AS SELECT k, t FROM r [NOW] SAMPLE REALTIME")
        _wait_until_ready(db, report, first=-1)
        ours_receiver = Receiver(SUBSCRIBER, str(folder), "q", "-1")
        ours_receiver.wait(1)
        if listener is not None:
            insert(-1)
            listener.wait(1)

        def append(key: int) -> None:
            begin = time.monotonic()
            db.append("r", [(key, key + 1, key % QUERIES)])
            db.advance("r", key + 2)
            appended.append((time.monotonic() - begin) * 1000)

        try:
            for number in range(BLOCKS):
                _block(append, number * block, block, ours)
                if listener is not None:
                    _block(insert, number * block, block, theirs)
            ours_receiver.wait(len(ours) + 1)
            if listener is not None:
                listener.wait(len(theirs) + 1)
            found = [_figures("millpond", ours, ours_receiver.came)]
            if listener is not None:
                found.append(_figures("PostgreSQL, INSERT + NOTIFY + SELECT, fsync", theirs, listener.came))
        finally:
            ours_receiver.close()
        report.table("A row every 100 ms, to a subscriber in another process, ms", found)
        _phases(report, db, "one row at a time", appended)
    report.bar(1, "median, ms", found[0]["median"], "<=", 25)
    report.bar(1, "99 % within, ms", found[0]["p99"], "<=", 120)
    if len(found) > 1:
        report.bar(1, "times PostgreSQL's median", found[0]["median"] / found[1]["median"], "<=", 10)


def _block(send: Callable[[int], None], first: int, count: int, sent: list[int]) -> None:
    begin = time.monotonic()
    for i in range(count):
        time.sleep(max(0.0, begin + i * PAUSE - time.monotonic()))
        sent.append(time.monotonic_ns())
        send(first + i)
    time.sleep(PAUSE)


def _figures(name: str, sent: list[int], came: dict[int, int]) -> dict[str, Any]:
    delays = np.array([(came[key] - at) / 1e6 for key, at in enumerate(sent)])
    assert (delays > 0).all()
    named = {"median": 50, "p90": 90, "p99": 99, "most": 100}
    return {"system": name, "rows": len(sent)} | {k: rounded(float(np.percentile(delays, p))) for k, p in named.items()}


def _phases(report: Report, db: Pond, what: str, appended: list[float]) -> None:
    """Where a tick's time goes, as the pond itself tells it."""
    ticks = db.sql("SELECT * FROM millpond.ticks").arrow()
    row = {"of": what, "append and advance": rounded(float(np.median(appended)))}
    for name in ("seconds", "plan", "shards", "whole", "commit"):
        column = name if name == "seconds" else f"{name}_seconds"
        values = [v for v in ticks[column].to_pylist() if v is not None]
        row["tick" if name == "seconds" else name] = rounded(float(np.median(values)) * 1000) if values else 0.0
    report.table(f"Where the time goes ({what}), medians in ms", [row])


def _many(options: Options, report: Report, what: str, text: str, shard_by: str, *, bar: bool) -> None:
    folder = options.workdir / f"many-{what.replace(' ', '-')}"
    seconds = options.size(20, 2)
    with _started(folder, shard_by) as db:
        for i in range(QUERIES):
            db.sql(f"CREATE CONTINUOUS QUERY q{i} AS {text.format(i=i, count=QUERIES)} SAMPLE REALTIME")
        _wait_until_ready(db, report, first=7)
        receiver = Receiver(SUBSCRIBER, str(folder), "q7", "-1")
        receiver.wait(1)
        sent: dict[int, int] = {}
        appended: list[float] = []
        begin = time.monotonic()
        try:
            for turn in range(seconds * BATCHES):
                time.sleep(max(0.0, begin + turn / BATCHES - time.monotonic()))
                keys = np.arange(turn * BATCH, (turn + 1) * BATCH) + QUERIES
                rows = pa.table({"k": keys, "t": np.full(BATCH, turn + 1), "s": keys % QUERIES})
                at = time.monotonic_ns()
                sent |= dict.fromkeys(keys[keys % QUERIES == 7].tolist(), at)
                db.append("r", rows)
                db.advance("r", turn + 2)
                appended.append((time.monotonic_ns() - at) / 1e6)
            took = time.monotonic() - begin
            receiver.wait(len(sent) + 1)
            delays = np.array([(receiver.came[key] - at) / 1e6 for key, at in sent.items()])
        finally:
            receiver.close()
        rate = seconds * BATCHES * BATCH / took
        figures = {"median": 50, "p90": 90, "p99": 99, "most": 100}
        shown = {name: rounded(float(np.percentile(delays, p))) for name, p in figures.items()}
        report.table(f"{QUERIES} queries at {rate:,.0f} rows/s, told apart by {what}, ms", [shown])
        _phases(report, db, f"{QUERIES} queries, told apart by {what}", appended)
    if bar:
        report.bar(1, f"{QUERIES} queries, 10,000 rows/s: median, ms", shown["median"], "<=", 100)


@contextlib.contextmanager
def _postgres(folder: Path) -> Iterator[tuple[Callable[[int], None], Receiver | None]]:
    """What inserts a row and tells who listens; and a listener in another process. Without a server there is none."""
    import psycopg

    from tests.postgres import running_postgres

    with (
        running_postgres(folder, {"fsync": "on", "synchronous_commit": "on"}) as dsn,
        psycopg.connect(dsn, autocommit=True) as connection,
    ):
        connection.execute("CREATE TABLE r (k BIGINT PRIMARY KEY, t BIGINT)")
        listener = Receiver(LISTENER, dsn)

        def insert(key: int) -> None:
            with connection.transaction():
                connection.execute("INSERT INTO r VALUES (%s, %s)", (key, key + 1))
                connection.execute("NOTIFY came")

        try:
            yield insert, listener
        finally:
            listener.close()
