"""Figures 7 and 8 and Table 2: how long an invocation takes, when nothing, matches, or whole results are kept."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.harness import Options, Report, rounded
from benchmarks.psoup import workload
from benchmarks.psoup.api import MODES, Feeder, create, newest, register_all
from benchmarks.psoup.measuring import response_times
from benchmarks.psoup.workload import Columns, Join, Query
from millpond.pond import Pond

Found = list[dict[str, Any]]


def selections(options: Options, report: Report, db: Pond) -> dict[str, Found]:
    """Figures 7(a) and 7(b): equality and interval queries of one to four predicates against windows of 2^7 to 2^16 rows."""
    random = np.random.default_rng(7)
    windows = [2**n for n in range(7, options.size(17, 10))]
    count, repeats = options.size(32, 4), options.size(5, 1)
    rows = workload.rows(random, windows[-1] + 1000)
    found: dict[str, Found] = {}
    for kind, draw in (("equality", workload.equalities), ("interval", workload.intervals)):
        table = f"fig7_{kind}"
        create(db, table)
        queries = draw(random, count)
        handles = {
            (window, mode): register_all(db, table, queries, newest(window), mode)
            for window in windows
            for mode in MODES
        }
        Feeder(db, table).stream(rows, 8192)
        found[kind] = []
        for window in windows:
            mine = {mode: handles[window, mode] for mode in MODES}
            sizes = check(mine, queries, rows, window)
            times = response_times(mine, repeats)
            found[kind].append(_row({"window": window}, sizes, times, mine))
        report.say(f"Figure 7, {kind} queries: done")
        _drop(db, handles)
    return found


def intervals(options: Options, report: Report, db: Pond) -> Found:
    """Table 2: 1, 2 and 4 interval predicates, windows of 2^15 rows."""
    random = np.random.default_rng(2)
    window = options.size(2**15, 2**9)
    count, repeats = options.size(64, 4), options.size(9, 1)
    rows = workload.rows(random, window + 1000)
    create(db, "table2")
    queries = {n: workload.intervals(random, count, n) for n in (1, 2, 4)}
    handles = {
        (n, mode): register_all(db, "table2", queries[n], newest(window), mode) for n in queries for mode in MODES
    }
    Feeder(db, "table2").stream(rows, 8192)
    found = []
    for n in queries:
        mine = {mode: handles[n, mode] for mode in MODES}
        sizes = check(mine, queries[n], rows, window)
        found.append(_row({"interval predicates": n}, sizes, response_times(mine, repeats), mine))
    report.say("Table 2: done")
    _drop(db, handles)
    return found


def joins(options: Options, report: Report, db: Pond) -> Found:
    """Figure 8: two-table inequality joins against the window of each table."""
    random = np.random.default_rng(8)
    windows = [64, 192, 320, 448, 576, 704] if not options.quick else [16, 64]
    count, repeats = options.size(16, 2), options.size(5, 1)
    left, right = (workload.rows(random, windows[-1] + 100, (c,)) for c in ("a", "b"))
    create(db, "r", ("a",))
    create(db, "s", ("b",))
    queries = workload.joins(random, count)
    handles = {
        (window, mode): [db.register(_joined(q, window), keep=mode) for q in queries]
        for window in windows
        for mode in MODES
    }
    feeders = Feeder(db, "r"), Feeder(db, "s")
    for start in range(0, windows[-1] + 100, 64):
        for feeder, rows in zip(feeders, (left, right), strict=True):
            feeder.append({c: v[start : start + 64] for c, v in rows.items()})
        db.tick()
    found = []
    for window in windows:
        mine = {mode: handles[window, mode] for mode in MODES}
        expected = [q.pairs(left["a"][-window:], right["b"][-window:]) for q in queries]
        for mode, some in mine.items():
            got = [h.invoke().arrow().num_rows for h in some]
            assert got == expected, f"joins, {mode}, window of {window} rows: {got} rows, not {expected}"
        found.append(_row({"window": window}, expected, response_times(mine, repeats), mine))
    report.say("Figure 8: done")
    _drop(db, handles)
    return found


def _joined(query: Join, window: int) -> str:
    return f"SELECT r.a, s.b FROM r, s WHERE {query.sql} {newest(window)}"


def check(handles: dict[str, list[Any]], queries: list[Query], rows: Columns, window: int) -> list[int]:
    """All modes give what a naive evaluation of the newest rows gives; how many rows each query has."""
    recent = {c: v[-window:] for c, v in rows.items()}
    sizes = []
    for number, query in enumerate(queries):
        chosen = workload.mask(query, recent)
        expected = (int(chosen.sum()), *(int(v[chosen].sum()) for v in recent.values()))
        for mode, some in handles.items():
            answer = some[number].invoke().arrow()
            got = (answer.num_rows, *(int(answer[c].to_numpy().sum()) for c in recent))
            assert got == expected, f"{mode}, window of {window} rows, {query}: {got}, not {expected}"
        sizes.append(expected[0])
    return sizes


def _row(
    what: dict[str, Any], sizes: list[int], times: dict[str, dict[str, float]], handles: dict[str, list[Any]]
) -> dict[str, Any]:
    ways = {mode: sorted({handle.invoke().way for handle in handles[mode]}) for mode in ("partial", "complete")}
    return {
        **what,
        "rows a result": rounded(float(np.mean(sizes))),
        **{f"{mode}, ms": times[mode]["mean"] for mode in MODES},
        **{f"{mode}, median ms": times[mode]["median"] for mode in MODES},
        "found": "; ".join(f"{mode}: {', '.join(way)}" for mode, way in ways.items()),
    }


def _drop(db: Pond, handles: dict[Any, list[Any]]) -> None:
    for some in handles.values():
        db.drop_many(some)
