"""Rows a second through the whole pipeline with standing queries in it: log, tail, archive and matching, on two cores."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from benchmarks.harness import Options, Report, median, rounded, timed
from benchmarks.psoup import workload
from benchmarks.psoup.api import Feeder, create, kept_bytes, newest, pond, register_all
from benchmarks.psoup.workload import Columns, Query

WINDOW = 2**15


def run(options: Options, report: Report, what: str, queries: list[Query], rows: Columns) -> dict[str, Any]:
    """Appends `rows` again and again as fast as it goes, but never more than `ahead` of them before what has been matched."""
    batch, ahead = len(rows["a"]), options.size(262_144, 8192)
    total = options.size(4_194_304, 16_384)
    declared = ", ".join(f"{c} {'STRING' if c == workload.KEY else 'INT'}" for c in rows)
    with pond(options.workdir / what.split(" ", 1)[1].replace(" ", "_")) as db:
        create(db, "r", shards=2, declared=declared)
        begin = time.perf_counter()
        handles = register_all(db, "r", queries, newest(WINDOW), "auto")
        registering = time.perf_counter() - begin
        db.start(wait=True)
        feeder, made = Feeder(db, "r"), workload.table(rows)
        for _ in range(8):  # workers take up the queries
            feeder.append(made)
            db.tick()
        ticks: list[float] = []
        begin, sent = time.perf_counter(), 0
        while sent < total:
            feeder.append(made)
            sent += batch
            if sent % ahead == 0 or sent >= total:
                ticks.append(timed(db.tick)[0] / 1000)
        took = time.perf_counter() - begin
        recent = {c: np.tile(v, -(-WINDOW // batch))[-WINDOW:] for c, v in rows.items()}
        for handle, query in list(zip(handles, queries, strict=True))[:: max(1, len(queries) // 64)]:
            answer = handle.invoke()
            expected = int(workload.mask(query, recent).sum())
            assert answer.arrow().num_rows == expected, f"{query}: {answer.arrow().num_rows} rows, not {expected}"
        kept = kept_bytes(db)
    report.say(f"{what}: the pipeline took {sent:,} rows in {took:.1f} s")
    return {"queries": what, "registering, s": rounded(registering), "rows": sent, "rows/s": rounded(sent / took),
            "ticks": len(ticks), "tick median, s": median(ticks), "kept, MB": rounded(kept / 1e6)}  # fmt: skip
