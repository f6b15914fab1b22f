"""Approximate aggregates in a continuous query: a million groups over a day, and the exact query over the same rows.

Rows come as fast as they are taken: a second of rows is appended and evaluated, then the next. Every result is compared with
counts and sums kept in NumPy. Then the pond is closed and opened again, twice: with the snapshots of the synopses that were
written meanwhile, and without any, so that all rows are read from history.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import pyarrow as pa

import millpond
from benchmarks.harness import Options, Report, median, rounded

EPS = 0.05
CREATE = "CREATE STREAMING TABLE tolls (grp INT, toll INT, t BIGINT) TIMESTAMP BY t SHARD BY grp WITH (shards = 2)"
SELECTED = {
    "approximate": f"APPROX_COUNT(*, {EPS}) AS n, APPROX_SUM(toll, {EPS}) AS s",
    "exact": "COUNT(*) AS n, SUM(toll) AS s",
}


def run(options: Options, report: Report) -> None:
    report.issue = 5
    groups = options.size(1_000_000, 1_000)
    rate = options.size(500_000, 2_000)
    seconds = {"approximate": options.size(230, 10), "exact": options.size(120, 10)}  # a snapshot is begun at tick 120
    restarts: list[dict[str, Any]] = []
    rows = [_flow(options, report, what, groups, rate, seconds[what], restarts) for what in SELECTED]
    report.table(f"{groups:,} groups, {rate:,} rows a second of time, a result every 10 seconds", rows)
    report.table("The pond closed and opened again", restarts)
    near = rows[0]
    report.bar(
        4, "rows a second through the continuous query, APPROX_COUNT and APPROX_SUM", near["rows/s"], ">=", 500_000
    )
    report.bar(4, "MB of synopses", near["MB held"], "<=", 2000)


def _flow(
    options: Options, report: Report, what: str, groups: int, rate: int, seconds: int, restarts: list[dict[str, Any]]
) -> dict[str, Any]:
    random = np.random.default_rng(3)
    truth = _Truth(groups)
    with options.folder(what) as folder:
        db = millpond.connect(folder / "pond", spark_master="local[2]")
        db.sql(CREATE)
        db.sql(
            f"CREATE CONTINUOUS QUERY q AS SELECT grp, {SELECTED[what]} FROM tolls [INTERVAL '24' HOUR]"
            " GROUP BY grp SAMPLE INTERVAL '10' SECOND"
        )
        db.start()
        db.archive()  # waits for Spark, whose workers take over what was held here
        walls, processors = [], []
        for second in range(1, seconds + 1):
            keys, values = random.integers(0, groups, rate), random.integers(0, 100, rate)
            rows = truth.taken(keys, values, second)
            wall, processor = time.monotonic(), _processor()
            db.append("tolls", rows)
            db.advance("tolls", second + 1)
            db.tick()
            walls.append(time.monotonic() - wall)
            processors.append(_processor() - processor)
            if second % 10 == 0:
                truth.check(db.sql("SELECT grp, n, s FROM q").arrow(), EPS if what == "approximate" else 0)
                report.say(f"{what}: {second} s of rows, the last in {walls[-1]:.2f} s")
        held = db.sql("SHOW STATE").arrow().to_pylist()
        size = sum(r["bytes"] for r in held if "results" not in r["what"])
        db.close()
        if what == "approximate":
            restarts += _restarts(folder / "pond", report, truth, seconds)
    return {
        "query": what, "rows/s": rounded(rate * seconds / sum(walls)), "wall s a second of rows": rounded(median(walls)),
        "with a result": rounded(max(walls[9::10], default=0.0)), "processor s": rounded(median(processors)),
        "MB held": rounded(size / 1e6), "rows in window": rate * seconds,
    }  # fmt: skip


def _processor() -> float:
    """Seconds of the processor, of this process and all it started."""
    me = psutil.Process()
    times = [me.cpu_times()]
    for child in me.children(recursive=True):
        try:
            times.append(child.cpu_times())
        except psutil.NoSuchProcess:
            continue
    return sum(t.user + t.system for t in times)


class _Truth:
    """Counts and sums of all groups, exactly."""

    def __init__(self, groups: int) -> None:
        self._counts, self._sums = np.zeros(groups, dtype=np.int64), np.zeros(groups, dtype=np.int64)

    def taken(self, keys: Any, values: Any, second: int) -> pa.Table:
        groups = len(self._counts)
        self._counts += np.bincount(keys, minlength=groups)
        self._sums += np.bincount(keys, weights=values, minlength=groups).astype(np.int64)
        return pa.table({
            "grp": pa.array(keys, pa.int32()), "toll": pa.array(values, pa.int32()),
            "t": pa.array(np.full(len(keys), second)),
        })  # fmt: skip

    def check(self, found: pa.Table, eps: float) -> None:
        keys = found.column("grp").to_numpy()
        assert sorted(keys.tolist()) == np.flatnonzero(self._counts).tolist()
        for name, exact in (("n", self._counts[keys]), ("s", self._sums[keys])):
            values = found.column(name).to_numpy()
            assert (np.abs(values - exact) <= eps * exact + 1e-9).all(), name


def _restarts(pond: Path, report: Report, truth: _Truth, seconds: int) -> list[dict[str, Any]]:
    """From opening the pond to the next result, with snapshots and without."""
    found = []
    for how in ("from a snapshot and the rows since", "from all rows"):
        snapshots = list(pond.glob("shards/*.snapshot"))
        size = sum(path.stat().st_size for path in snapshots)
        if how == "from all rows":
            for path in snapshots:
                path.unlink()
        began = time.monotonic()
        db = millpond.connect(pond, spark_master="local[2]")
        db.start()
        db.archive()
        opened = time.monotonic() - began
        for _ in range(10):  # up to the next instant
            seconds += 1
            keys = np.arange(1000)
            db.append("tolls", truth.taken(keys, np.ones(1000, dtype=np.int64), seconds))
            db.advance("tolls", seconds + 1)
            db.tick()
        wall = time.monotonic() - began
        truth.check(db.sql("SELECT grp, n, s FROM q").arrow(), EPS)
        db.close()
        report.say(f"opened again, {how}: a result after {wall:.1f} s")
        found.append({
            "filled": how, "s to open": rounded(opened), "s to the first result": rounded(wall),
            "MB of snapshots": rounded(size / 1e6),
        })  # fmt: skip
    return found
