"""Approximate aggregates in a continuous query: a million groups over a day, and the exact query over the same rows.

Rows come as fast as they are taken: a second of rows is appended and evaluated, then the next. Every result is compared with
counts and sums kept in NumPy.
"""

from __future__ import annotations

import time
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
    seconds = options.size(120, 10)
    rows = [_flow(options, report, what, groups, rate, seconds) for what in SELECTED]
    report.table(f"{groups:,} groups, {rate:,} rows a second of time, a result every 10 seconds", rows)
    near = rows[0]
    report.bar(
        4, "rows a second through the continuous query, APPROX_COUNT and APPROX_SUM", near["rows/s"], ">=", 500_000
    )
    report.bar(4, "MB of synopses", near["MB held"], "<=", 2000)


def _flow(options: Options, report: Report, what: str, groups: int, rate: int, seconds: int) -> dict[str, Any]:
    random = np.random.default_rng(3)
    counts, sums = np.zeros(groups, dtype=np.int64), np.zeros(groups, dtype=np.int64)
    with options.folder(what) as folder, millpond.connect(folder / "pond", spark_master="local[2]") as db:
        db.sql(CREATE)
        db.sql(
            f"CREATE CONTINUOUS QUERY q AS SELECT grp, {SELECTED[what]} FROM tolls [INTERVAL '24' HOUR]"
            " GROUP BY grp SAMPLE INTERVAL '10' SECOND"
        )
        db.start()
        walls, processors = [], []
        for second in range(1, seconds + 1):
            keys, values = random.integers(0, groups, rate), random.integers(0, 100, rate)
            counts += np.bincount(keys, minlength=groups)
            sums += np.bincount(keys, weights=values, minlength=groups).astype(np.int64)
            rows = pa.table({
                "grp": pa.array(keys, pa.int32()), "toll": pa.array(values, pa.int32()),
                "t": pa.array(np.full(rate, second)),
            })  # fmt: skip
            wall, processor = time.monotonic(), _processor()
            db.append("tolls", rows)
            db.advance("tolls", second + 1)
            db.tick()
            walls.append(time.monotonic() - wall)
            processors.append(_processor() - processor)
            if second % 10 == 0:
                _check(db.sql("SELECT grp, n, s FROM q").arrow(), counts, sums, EPS if what == "approximate" else 0)
                report.say(f"{what}: {second} s of rows, the last in {walls[-1]:.2f} s")
        held = db.sql("SHOW STATE").arrow().to_pylist()
        size = sum(r["bytes"] for r in held if "results" not in r["what"])
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


def _check(found: pa.Table, counts: Any, sums: Any, eps: float) -> None:
    keys = found.column("grp").to_numpy()
    assert sorted(keys.tolist()) == np.flatnonzero(counts).tolist()
    for name, truth in (("n", counts[keys]), ("s", sums[keys])):
        values = found.column(name).to_numpy()
        assert (np.abs(values - truth) <= eps * truth + 1e-9).all(), name
