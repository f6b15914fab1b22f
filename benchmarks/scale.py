"""Bar 5: what a row costs in each process at 300,000 rows/s of crossings and segment statistics.

Only two cores are here, so seconds of CPU are counted and not speed: of the pond's process (without what making up rows takes),
by what its threads do; of Spark's workers; of the JVM. The pond's process is one, workers can be many: what it takes of a core
for so many rows a second says how many of them it could feed.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections import defaultdict
from collections.abc import Mapping
from typing import Any

import psutil
import pyarrow as pa

import millpond
from benchmarks.flow import QUERIES
from benchmarks.harness import CREATE, Options, Report, rounded
from benchmarks.inflow import Inflow
from millpond.pond import Pond

PERIOD = 10  # seconds between two reports of a vehicle
RATE = 300_000
ROLES = {"inflow": "intake", "millpond-pipeline": "plan, merge, commit", "millpond-worker": "receive from workers"}
"""What a thread of the pond's process does, by how its name begins."""
Seconds = dict[str, float]


class Making(Inflow):
    """Counts the seconds of CPU that its thread takes, and of these what making up rows does."""

    made = cpu = 0.0

    def run(self) -> None:
        super().run()
        self.cpu = time.thread_time()

    def rows(self, second: int) -> pa.Table:
        begin = time.thread_time()
        try:
            return super().rows(second)
        finally:
            self.made += time.thread_time() - begin


def run(options: Options, report: Report) -> None:
    report.issue = 15
    seconds = options.size(60, 8)
    rates = [options.size(rate, rate // 100) for rate in (RATE // 4, RATE // 2, RATE)]
    found = [_at(options, report, rate, seconds) for rate in rates]
    report.table("Cores that were busy", [_row(rate, f) for rate, f in zip(rates, found, strict=True)])
    report.table(
        "Of the pond's process, cores by thread",
        [{"rows/s": rate, **_by_role(f)} for rate, f in zip(rates, found, strict=True)],
    )
    pond, workers = found[-1]["the pond's process"], found[-1]["workers"]
    report.table("At how many workers the pond's process is the limit", [{
        "rows/s that one core of it serves": round(rates[-1] / pond),
        "rows/s of a worker with a core": round(rates[-1] / workers),
        "workers": rounded(workers / pond)}])  # fmt: skip
    report.bar(5, f"cores of the pond's process at {rates[-1]:,} rows/s", pond, "<=", 0.5)


def _row(rate: int, found: Mapping[str, float]) -> dict[str, Any]:
    parts = ("the pond's process", "workers", "JVM", "making up rows")
    return {"rows/s": rate, **{p: rounded(found[p]) for p in parts}, "most behind, s": rounded(found["behind"]),
            "ticks": int(found["ticks"]), "left in the end, s": rounded(found["left"])}  # fmt: skip


def _by_role(found: Mapping[str, float]) -> dict[str, float]:
    return {name: rounded(found.get(name, 0.0)) for name in (*ROLES.values(), "others")}


def _at(options: Options, report: Report, rate: int, seconds: int) -> dict[str, float]:
    with options.folder(f"pond-{rate}") as folder, millpond.connect(folder, spark_master="local[2]") as db:
        db.sql(CREATE)
        db.sql(QUERIES)
        db.start(wait=True)
        for second in range(PERIOD):  # warm, and every vehicle has reported
            _append(db, Inflow(db, rate, PERIOD * rate, 1), second)
        inflow = Making(db, rate, PERIOD * rate, seconds, first=PERIOD)
        inflow.name = "inflow"
        ticks = len(db.durations())
        before, began = _cpu(), time.monotonic()
        with inflow:
            pass
        assert inflow.error is None
        end = time.monotonic()
        db.tick()
        took, after = time.monotonic() - began, _cpu()
        left = time.monotonic() - end
        sent = db.status()["queries"]["crossings"]["sent"]
        assert sent == rate * seconds, f"{sent} crossings instead of {rate * seconds}"
        busy = {name: (after[name] - before.get(name, 0.0)) / took for name in after}
        busy["making up rows"] = inflow.made / took
        busy["the pond's process"] -= busy["making up rows"]
        busy["intake"] = inflow.cpu / took - busy["making up rows"]
        report.say(f"{rate:,} rows/s are done")
        return {**busy, "behind": inflow.behind, "left": left, "ticks": len(db.durations()) - ticks}


def _append(db: Pond, inflow: Inflow, second: int) -> None:
    db.append("posreports", inflow.rows(second))
    db.advance("posreports", second + 1)
    db.tick()


def _cpu() -> Seconds:
    """Seconds of CPU until now, by part; of the pond's process by the role of its threads too."""
    us = psutil.Process()
    found: Seconds = defaultdict(float)
    found["the pond's process"] = sum(us.cpu_times()[:2])
    names = {thread.native_id: thread.name for thread in threading.enumerate()}
    for thread in us.threads():
        role = next((r for begin, r in ROLES.items() if names.get(thread.id, "").startswith(begin)), "others")
        found[role] += thread.user_time + thread.system_time
    for process in us.children(recursive=True):
        with contextlib.suppress(psutil.Error):
            found["JVM" if process.name() == "java" else "workers"] += sum(process.cpu_times()[:2])
    return dict(found)
