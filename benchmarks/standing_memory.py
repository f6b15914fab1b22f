"""Bar 6: bytes a query and a match; what dropping gives back; and a bound that holds when ten times as much is wanted.

Two accounts: what millpond counts as kept, which the setting `standing_memory` bounds, and the memory of the process.
"""

from __future__ import annotations

import gc
from typing import Any

import numpy as np
import psutil
import pyarrow as pa

from benchmarks.harness import Options, Report, rounded
from benchmarks.psoup import workload
from benchmarks.psoup.api import Feeder, create, kept_bytes, newest, pond, register_all
from benchmarks.psoup.workload import KEY, Query

MEGA = 1e6


def run(options: Options, report: Report) -> None:
    report.issue = 13
    report.table("Bytes a query and a match", [_selective(options, report), _dense(options, report)])
    _bound(options, report)


def process_bytes() -> int:
    """Memory of this process, after what is free was given back."""
    gc.collect()
    pa.default_memory_pool().release_unused()
    _trim()
    memory = psutil.Process().memory_info()
    return int(memory.rss - getattr(memory, "shared", 0))


def _trim() -> None:
    import ctypes

    try:
        ctypes.CDLL("libc.so.6").malloc_trim(0)
    except OSError:  # another C library keeps what is free
        return


def _selective(options: Options, report: Report) -> dict[str, Any]:
    """100,000 queries that name a value."""
    random = np.random.default_rng(21)
    count = options.size(100_000, 500)
    queries = workload.selective(random, count, count)
    rows = workload.keyed_rows(random, options.size(1_000_000, 5000), count)
    matches = sum(len(hits) for hits in _hits(queries, rows))
    return _measured(options, report, "name a value", queries, rows, matches, f"{KEY} STRING, a INT")


def _hits(queries: list[Query], rows: workload.Columns) -> list[Any]:
    """Which rows fulfil queries that name a value."""
    order = np.argsort(rows[KEY], kind="stable")
    keys = rows[KEY][order]
    found = []
    for key, factor in queries:
        mine = order[np.searchsorted(keys, key.low) : np.searchsorted(keys, key.low, "right")]
        values = rows[factor.column][mine]
        found.append(mine[(values >= factor.low) & (values <= factor.high)])
    return found


def _dense(options: Options, report: Report) -> dict[str, Any]:
    """4,096 interval queries."""
    random = np.random.default_rng(22)
    queries = workload.intervals(random, options.size(4096, 64))
    rows = workload.rows(random, options.size(200_000, 2000))
    matches, _ = workload.judged(queries, rows)
    return _measured(options, report, "intervals", queries, rows, matches, "a INT, b INT, c INT, d INT")


def _measured(
    options: Options,
    report: Report,
    what: str,
    queries: list[Query],
    rows: workload.Columns,
    matches: int,
    declared: str,
) -> dict[str, Any]:
    with pond(options.workdir / what.replace(" ", "_"), standing_memory=1 << 33) as db:
        create(db, "r", declared=declared)
        feeder = Feeder(db, "r")
        feeder.append({c: v[:1] for c, v in rows.items()})
        count = len(rows["a"])
        before = kept_bytes(db), process_bytes()
        handles = register_all(db, "r", queries, newest(2 * count), "partial")
        for handle in handles[:3]:
            handle.invoke()
        db.tick()
        registered = kept_bytes(db), process_bytes()
        feeder.stream(rows, 50_000)
        full = kept_bytes(db), process_bytes()
        db.drop_many(handles)
        del handles
        db.tick()
        dropped = kept_bytes(db), process_bytes()
    report.say(f"{what}: done")
    rows_bytes = sum(v.nbytes for v in workload.table(rows).itercolumns()) + 16 * count
    return {
        "queries": f"{len(queries):,} {what}",
        "bytes a query, counted": rounded((registered[0] - before[0]) / len(queries)),
        "of the process": rounded((registered[1] - before[1]) / len(queries)),
        "matches": matches,
        "bytes a match, counted": rounded((full[0] - registered[0] - rows_bytes) / matches),
        "with its share of the rows, of the process": rounded((full[1] - registered[1]) / matches),
        "kept after dropping all, MB": rounded((dropped[0] - before[0]) / MEGA),
        "of the process, MB": f"{before[1] / MEGA:.0f} before, {full[1] / MEGA:.0f} full, {dropped[1] / MEGA:.0f} dropped",
        "given back": rounded(1 - (dropped[0] - before[0]) / max(1, full[0] - before[0])),
    }


# -- the bound --------------------------------------------------------------------------------------------------------


def _bound(options: Options, report: Report) -> None:
    random = np.random.default_rng(23)
    queries = workload.intervals(random, options.size(2048, 64))
    rows = workload.rows(random, options.size(1_500_000, 20_000))
    wanted = _loaded(options, queries, rows, None)
    report.say(f"without a bound {wanted['most kept'] / MEGA:,.0f} MB are kept")
    limit = int(wanted["most kept"] / 10)
    bounded = _loaded(options, queries, rows, limit)
    report.table("A load that wants ten times as much as is allowed", [
        {"standing_memory, MB": rounded(limit / MEGA) if bound else None,
         "most kept after a tick, MB": rounded(f["most kept"] / MEGA), "process grew by, MB": rounded(f["grown"] / MEGA),
         "answers checked": f["checked"], "of them from what is kept": f["from kept"], "seconds": rounded(f["seconds"])}
        for bound, f in ((False, wanted), (True, bounded))
    ])  # fmt: skip
    report.bar(6, "most that was kept after a tick, to the bound", bounded["most kept"] / limit, "<=", 1)
    report.bar(6, "growth of the process, bounded to unbounded", bounded["grown"] / wanted["grown"], "<=", 0.5)


def _loaded(options: Options, queries: list[Query], rows: workload.Columns, limit: int | None) -> dict[str, Any]:
    import time

    name = "bounded" if limit is not None else "unbounded"
    window = len(rows["a"])
    with pond(options.workdir / name, standing_memory=limit if limit is not None else 1 << 34) as db:
        create(db, "r")
        begin_bytes = process_bytes()
        handles = register_all(db, "r", queries, newest(window), "partial")
        feeder = Feeder(db, "r")
        most = grown = 0
        begin = time.monotonic()
        for start in range(0, window, 50_000):
            feeder.append({c: v[start : start + 50_000] for c, v in rows.items()})
            db.tick()
            most = max(most, kept_bytes(db))
            grown = max(grown, psutil.Process().memory_info().rss - begin_bytes)
        took = time.monotonic() - begin
        checked = list(zip(handles, queries, strict=True))[:: max(1, len(queries) // 20)]
        ways = []
        for handle, query in checked:
            answer = handle.invoke()
            expected = int(workload.mask(query, rows).sum())
            assert answer.arrow().num_rows == expected, f"{query}: {answer.arrow().num_rows} rows, not {expected}"
            ways.append(answer.way)
            most = max(most, kept_bytes(db)) if limit is None else most
    kept = sum("scratch" not in way for way in ways)
    return {"most kept": most, "grown": grown, "checked": len(checked), "from kept": kept, "seconds": took}
