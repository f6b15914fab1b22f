"""Bar 5: registering standing queries over a history of 100 million rows: answered at once, rightly, and no tick is held up.

A stream of 20,000 rows/s in ticks of a second with 20 continuous and 1,000 standing queries. By turns it is by itself for a
while, and a client registers a query over the whole history every second, asks it at once and again, and drops it ten queries
later. One tick in ten evaluates the continuous queries, so the p95 is that of these: turns are as long as it takes to have enough
of them.
There are STANDING_HISTORY rows, 100,000,000 unless told otherwise.
"""

from __future__ import annotations

import os
import threading
import time
from typing import Any

import numpy as np
import pyarrow as pa

from benchmarks.harness import Options, Report, median, p95, rounded
from benchmarks.psoup import workload
from benchmarks.psoup.api import pond
from benchmarks.psoup.workload import Array, Columns
from millpond.pond import Pond

LAP = 1_000_000
RATE = 20_000
TURNS, SECONDS = 2, 50
CREATE = (
    """CREATE STREAMING TABLE r (a INT, b INT, t BIGINT) TIMESTAMP BY t RANGE INTERVAL '700' DAY WITH (shards = 2)"""
)


def run(options: Options, report: Report) -> None:
    report.issue = 13
    total = options.size(int(os.environ.get("STANDING_HISTORY", "100000000")), 100_000)
    lap_rows, rate = options.size(LAP, 20_000), options.size(RATE, 1000)
    random = np.random.default_rng(6)
    lap = workload.rows(random, lap_rows, ("a", "b"))
    with pond(options.workdir / "pond") as db:
        db.sql(CREATE)
        stream = Stream(db, lap, rate)
        begin = time.monotonic()
        while stream.count < total:
            stream.append(min(lap_rows, 200_000))
        db.archive()
        report.say(f"{stream.count:,} rows are there, {stream.count / (time.monotonic() - begin):,.0f} rows/s")
        _others(options, db, random)
        db.start()
        for _ in range(options.size(15, 3)):
            stream.append(rate)
            db.tick()
        ticks: dict[str, list[float]] = {"nobody registers": [], "a query registered a second": []}
        asked: list[dict[str, Any]] = []
        for turn in range(options.size(TURNS, 1)):
            for phase, durations in ticks.items():
                client = Client(db, stream, random) if phase != "nobody registers" else None
                durations += _phase(db, stream, rate, options.size(SECONDS, 4), client)
                if client is not None:
                    asked += client.asked
                report.say(f"turn {turn + 1}, {phase}: done")
        for each in asked:
            stream.check(each)
    found = [
        {"": phase, "ticks": len(d), "median, s": median(d), "p95, s": p95(d), "most, s": rounded(max(d))}
        for phase, d in ticks.items()
    ]
    report.table("Ticks", found)
    for number, kind in enumerate(KINDS):
        mine = [a for a in asked if a["kind"] == number]
        _tell(report, kind.format(x="x", y="y", low="t"), mine)
    without, beside = (f["p95, s"] for f in found)
    report.bar(5, "p95 of ticks while queries are registered, to that without", beside / without, "<=", 1.2)
    report.add(history=total, registered=len(asked))


KINDS = (
    "SELECT a, b, t FROM r WHERE a = {x} AND b = {y} BEGIN 0 END NOW",
    "SELECT a, b, t FROM r WHERE a = {x} AND b = {y} BEGIN NOW - INTERVAL '1' HOUR END NOW",
    "SELECT COUNT(*) AS n, SUM(b) AS s FROM r WHERE a = {x} BEGIN 0 END NOW",
)


def _others(options: Options, db: Pond, random: np.random.Generator) -> None:
    """What ticks have to do anyway."""
    for number in range(options.size(20, 2)):
        db.sql(f"""CREATE CONTINUOUS QUERY c{number} AS SELECT b, COUNT(*) AS n, MAX(a) AS most FROM r [INTERVAL '1' MINUTE]
            WHERE a >= {number} GROUP BY b SAMPLE INTERVAL '10' SECOND""")
    for factor in (q[0] for q in workload.intervals(random, options.size(1000, 20), 1)):
        text = f"SELECT a, b, t FROM r WHERE a = {factor.low} AND b < {factor.high} BEGIN NOW - INTERVAL '1' MINUTE END NOW"
        db.register(text)


class Stream:
    """The lap again and again; row n has the time n // rate."""

    def __init__(self, db: Pond, lap: Columns, rate: int) -> None:
        self.db = db
        self.lap = lap
        self.size = len(lap["a"])
        self.rate = rate
        self.count = 0
        self._places: dict[tuple[int, int | None], Array] = {}

    def append(self, rows: int) -> None:
        numbers = np.arange(self.count, self.count + rows)
        part = {c: v[numbers % self.size] for c, v in self.lap.items()}
        self.db.append("r", pa.table({**part, "t": numbers // self.rate}))
        self.count += rows

    def check(self, asked: dict[str, Any]) -> None:
        """Compares an answer with the rows of its prefix, counted by laps."""
        wanted = self._matching(asked["x"], asked["y"])
        now = (asked["position"] - 1) // self.rate
        first = 0 if asked["begin"] is None else max(0, (now - asked["begin"]) * self.rate)
        laps, rest = np.divmod(np.array([first, asked["position"]]), self.size)
        counts = laps * len(wanted) + np.searchsorted(wanted, rest)
        expected = int(counts[1] - counts[0])
        assert asked["n"] == expected, f"{asked}: {asked['n']} rows, not {expected}"

    def _matching(self, x: int, y: int | None) -> Array:
        if (x, y) not in self._places:
            hit = self.lap["a"] == x
            self._places[x, y] = np.flatnonzero(hit if y is None else hit & (self.lap["b"] == y))
        return self._places[x, y]


class Client(threading.Thread):
    """Registers a query each second, asks it at once and once more, and drops it ten queries later."""

    def __init__(self, db: Pond, stream: Stream, random: np.random.Generator) -> None:
        super().__init__(daemon=True)
        self._db = db
        self._random = random
        self.asked: list[dict[str, Any]] = []
        self.stopping = threading.Event()
        self.error: BaseException | None = None

    def run(self) -> None:
        handles: list[Any] = []
        try:
            begin = time.monotonic()
            while not self.stopping.wait(max(0.0, begin + len(self.asked) - time.monotonic())):
                kind = len(self.asked) % len(KINDS)
                x, y = (int(v) for v in self._random.integers(0, 256, 2))
                start = time.perf_counter()
                handle = self._db.register(KINDS[kind].format(x=x, y=y))
                registered = time.perf_counter()
                answer = handle.invoke()
                first = time.perf_counter()
                handle.invoke()
                second = time.perf_counter()
                rows = answer.arrow()
                self.asked.append({
                    "kind": kind, "x": x, "y": y if kind < 2 else None, "begin": 3600 if kind == 1 else None,
                    "position": answer.position["r"], "n": rows["n"][0].as_py() if kind == 2 else rows.num_rows,
                    "registering": registered - start, "first": first - registered, "second": second - first,
                })  # fmt: skip
                handles.append(handle)
                if len(handles) > 10:
                    handles.pop(0).drop()
            for handle in handles:
                handle.drop()
        except BaseException as error:
            self.error = error


def _phase(db: Pond, stream: Stream, rate: int, seconds: int, client: Client | None) -> list[float]:
    """The seconds that each tick took."""
    if client is not None:
        client.start()
    durations = []
    begin = time.monotonic()
    for number in range(seconds):
        wait = begin + number - time.monotonic()
        if wait > 0:
            time.sleep(wait)
        stream.append(rate)
        start = time.perf_counter()
        db.tick()
        durations.append(time.perf_counter() - start)
    if client is not None:
        client.stopping.set()
        client.join()
        if client.error is not None:
            raise client.error
    return durations


def _tell(report: Report, kind: str, asked: list[dict[str, Any]]) -> None:
    if not asked:
        return
    report.table(f"{kind}: {len(asked)} queries", [
        {"": what, "median, ms": median([a[name] * 1000 for a in asked]), "p95, ms": p95([a[name] * 1000 for a in asked])}
        for what, name in (("registering", "registering"), ("first answer", "first"), ("next answer", "second"))
    ])  # fmt: skip
