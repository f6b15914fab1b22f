"""Rows a second through the whole pipeline with standing queries in it: log, tail, archive and matching, on two cores."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from benchmarks.harness import Options, Report, median, rounded, timed
from benchmarks.psoup import workload
from benchmarks.psoup.api import Feeder, create, newest, pond, register_all
from benchmarks.psoup.workload import Query

WINDOW = 2**15


def run(options: Options, report: Report, queries: list[Query], shards: int) -> dict[str, Any]:
    """Appends as fast as it goes, but never more than `ahead` rows before what has been matched."""
    batch, ahead = options.size(65_536, 4096), options.size(262_144, 8192)
    total = options.size(4_194_304, 16_384)
    rows = workload.rows(np.random.default_rng(3), batch)
    with pond(options.workdir / f"piped{shards}") as db:
        create(db, "r", shards=shards)
        handles = register_all(db, "r", queries, newest(WINDOW), "auto")
        db.start()
        feeder = Feeder(db, "r")
        for _ in range(8):  # workers start, and take up the queries
            feeder.append(rows)
            db.tick()
        ticks: list[float] = []
        begin, sent = time.perf_counter(), 0
        while sent < total:
            feeder.append(rows)
            sent += batch
            if sent % ahead == 0 or sent >= total:
                ticks.append(timed(db.tick)[0] / 1000)
        took = time.perf_counter() - begin
        recent = {c: np.tile(v, -(-WINDOW // batch))[-WINDOW:] for c, v in rows.items()}
        for handle, query in list(zip(handles, queries, strict=True))[:: max(1, len(queries) // 64)]:
            answer = handle.invoke()
            expected = int(workload.mask(query, recent).sum())
            assert answer.arrow().num_rows == expected, f"{query}: {answer.arrow().num_rows} rows, not {expected}"
    report.say(f"the pipeline took {sent:,} rows in {took:.1f} s")
    return {"queries": len(queries), "shards": shards, "rows": sent, "rows/s": rounded(sent / took), "ticks": len(ticks),
            "tick median, s": median(ticks)}  # fmt: skip
