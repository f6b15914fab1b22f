"""Bar 5, second half: the time of a tick against the size of the state (0.1 to 5 million keys) and of the history."""

from __future__ import annotations

import time

import numpy as np

import millpond
from benchmarks.flow import QUERIES
from benchmarks.harness import CREATE, Options, Report, median, p95
from benchmarks.inflow import Inflow


def run(options: Options, report: Report) -> None:
    report.issue = 3
    rate = options.size(100_000, 1_000)
    keys = [options.size(k, k // 100) for k in (100_000, 1_000_000, 2_500_000, 5_000_000)]
    by_state = [_ticks(options, report, f"keys-{k}", rate, k, 0) for k in keys]
    report.table("Tick against keys", by_state)
    histories = [options.size(h, h // 1000) for h in (0, 10_000_000, 100_000_000)]
    by_history = [_ticks(options, report, f"history-{h}", rate, options.size(1_000_000, 10_000), h) for h in histories]
    report.table("Tick against history", by_history)
    for what, rows in (("keys", by_state), ("history", by_history)):
        medians = [r["tick median s"] for r in rows]
        report.bar(5, f"slowest median tick to fastest, over {what}", max(medians) / min(medians), "<=", 1.5)
    axes = report.draw(2)
    if axes is not None:
        for axis, rows, name in ((axes[0], by_state, "keys"), (axes[1], by_history, "history rows")):
            axis.plot([r[name] for r in rows], [r["tick median s"] for r in rows], marker="o")
            axis.set(xlabel=name, title="median tick, s")
            axis.set_ylim(bottom=0)


def _ticks(options: Options, report: Report, name: str, rate: int, keys: int, history: int) -> dict[str, float]:
    """Medians of ticks of `rate` rows, once all keys have been seen and so many rows lie behind."""
    with options.folder(name) as folder, millpond.connect(folder / "pond", spark_master="local[2]") as db:
        db.sql(CREATE)
        flow = Inflow(db, rate, max(keys, rate), 1)
        second = 0
        for second in range(history // rate):
            db.append("posreports", flow.rows(second))
        if history:
            db.advance("posreports", second + 1)
            db.archive()
        db.sql(QUERIES)
        db.start()
        first = second + 1
        durations = []
        for number in range(flow.period + 25):
            db.append("posreports", flow.rows(first + number))
            db.advance("posreports", first + number + 1)
            begin = time.monotonic()
            db.tick()
            if number >= flow.period:
                durations.append(time.monotonic() - begin)
        sent = db.resume("crossings", after=0).fetch(1)
        assert len(sent) or not flow.period, "nothing crossed"
        report.say(f"{name}: median {np.median(durations):.3f} s")
        rows = db.status()["tables"]["posreports"]["rows"]
    return {"keys": keys, "history rows": history, "rows in the end": rows, "ticks": len(durations),
            "tick median s": median(durations), "p95 s": p95(durations)}  # fmt: skip
