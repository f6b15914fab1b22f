"""Overload: hybrid queries are added beside intake until reading history takes longer than there is time, and taken away again.

At 100,000 rows/s. Once with nothing that may be left out, once with OVERLOAD: ticks, levels and lags as time goes on. Parts
(OVERLOAD_PARTS): whole, thinned.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np

import millpond
from benchmarks.harness import CREATE, Options, Report, Watch, median, p95, rounded
from benchmarks.inflow import Inflow
from benchmarks.psoup.parts import chosen

EXACT = "SELECT dir, count(*) AS n, sum(spd) AS s FROM posreports [INTERVAL '10' SECOND] GROUP BY dir"
ALLOWED = {"whole": 0, "thinned": 99}
"""Percent of history that may be left out, by part."""
SAMPLED = 2  # seconds between the instants of a hybrid query


def run(options: Options, report: Report) -> None:
    report.issue = 14
    runs = {}
    for part in chosen(report, list(ALLOWED), "OVERLOAD_PARTS"):
        runs[ALLOWED[part]] = found = _run(options, report, ALLOWED[part])
        _tell(report, ALLOWED[part], found)
        (_judge_whole if part == "whole" else _judge_thinned)(report, found)
    _draw(report, runs)


def _window(options: Options) -> str:
    """The part of history that hybrid queries read: it is in the archive by then."""
    first, last = options.size(200, 40), options.size(80, 20)
    return f"[BEGIN NOW - INTERVAL '{first}' SECOND END NOW - INTERVAL '{last}' SECOND]"


def _hybrid(number: int, options: Options) -> str:
    return (
        f"SELECT seg, count(*) AS n, avg(spd) AS speed FROM posreports {_window(options)}"
        f" WHERE spd >= {number} AND lane = {number % 5} GROUP BY seg"
    )


def _run(options: Options, report: Report, allowed: int) -> dict[str, Any]:
    rate, most = options.size(100_000, 2_000), options.size(16, 3)
    calm, step, hold, back = (options.size(*pair) for pair in ((15, 3), (4, 2), (50, 4), (70, 8)))
    seconds = calm + most * step + hold + back
    with (
        options.folder(f"pond{allowed}") as folder,
        millpond.connect(folder, spark_master="local[2]", block_age=f"{options.size(30, 2)} seconds") as db,
    ):
        db.sql(CREATE.replace("WITH (shards", "REDUCE BY RANDOMIZE WITH (shards"))
        inflow = Inflow(db, rate, 10 * rate, seconds, first=options.size(200, 40))
        for second in range(inflow.first):  # history
            db.append("posreports", inflow.rows(second))
        db.advance("posreports", inflow.first)
        db.archive(timeout=600)
        db.sql(f"CREATE CONTINUOUS QUERY exact RANGE INTERVAL '1' HOUR AS {EXACT} SAMPLE INTERVAL '1' SECOND")
        db.start(wait=True)
        db.tick()
        report.say(f"OVERLOAD ALLOW {allowed} PERCENT: {inflow.first * rate:,} rows of history are archived")
        running = 0

        def look() -> dict[str, float]:
            lags = db.sql("SELECT name, lag_seconds FROM millpond.queries").rows()
            ticks = db.sql("SELECT seconds, left_out FROM millpond.ticks ORDER BY number DESC LIMIT 1").rows()
            took, left_out = ticks[0] if ticks else (0.0, 0)
            hybrid = [lag or 0.0 for name, lag in lags if name != "exact"]
            return {
                "queries": running,
                "lag of hybrid queries": max(hybrid, default=0.0),
                "lag of the exact query": max(lag or 0.0 for name, lag in lags if name == "exact"),
                "tick": took,
                "left out": left_out,
                "second": float(len(inflow.sent_at)),
            }

        with Watch(look) as watch, inflow:
            time.sleep(calm)
            for number in range(most):
                db.sql(
                    f"CREATE CONTINUOUS QUERY h{number} RANGE INTERVAL '1' HOUR OVERLOAD ALLOW {allowed} PERCENT"
                    f" AS {_hybrid(number, options)} SAMPLE INTERVAL '{SAMPLED}' SECOND"
                )
                running += 1
                time.sleep(step)
            time.sleep(hold)
            kept = db.sql(f"SELECT n, n_low, n_high, seg, read_fraction, instant FROM h{most - 1}").rows()
            for number in range(1, most):
                db.sql(f"DROP CONTINUOUS QUERY h{number}")
                running -= 1
        assert inflow.error is None
        begin = time.monotonic()
        db.tick()
        checked = _check(db, options, rate, inflow, kept, most - 1)
        end = calm + most * step + hold
        times = {"calm": calm, "hold": end - 3 * hold / 4, "end": end, "back": seconds}
        return {"seen": watch.seen, "behind": inflow.behind, "left": time.monotonic() - begin, **times, **checked}


def _check(
    db: millpond.Pond, options: Options, rate: int, inflow: Inflow, kept: list[Any], number: int
) -> dict[str, Any]:
    """Nothing is lost, exact results are exact, and estimates are within their bounds at their rate."""
    (count,) = db.sql("SELECT count(*) FROM posreports").rows()[0]
    assert count == (inflow.first + inflow.seconds) * rate, "rows are lost"
    wrong = 0
    last = inflow.first + inflow.seconds - 1
    instants = np.linspace(inflow.first + 10, last, options.size(40, 5)).astype(int)
    for instant in instants:
        sent = sorted(db.sql(f"SELECT dir, n, s FROM exact WHERE instant = {instant}").rows())
        wrong += sent != sorted(db.sql(f"{EXACT} AS OF {instant}").rows())
    assert not wrong, f"{wrong} of {len(instants)} exact results are wrong"
    hits = judged = 0
    for instant in sorted({row[5] for row in kept})[-5:]:
        truth = dict(db.sql(f"SELECT seg, n FROM ({_hybrid(number, options)}) AS q AS OF {instant}").rows())
        for _, low, high, seg, _, at in kept:
            if at == instant and low is not None:
                judged += 1
                hits += low <= truth[seg] <= high
    fractions = [row[4] for row in kept]
    return {"judged": judged, "hits": hits, "fraction": float(np.median(fractions)) if fractions else 1.0}


def _part(found: dict[str, Any], name: str, low: float, high: float) -> list[float]:
    return [row[name] for row in found["seen"] if low <= row["at"] < high] or [0.0]


def _tell(report: Report, allowed: int, found: dict[str, Any]) -> None:
    rows = []
    calm, hold, end = found["calm"], found["hold"], found["end"]
    phases = {"before": (0.0, calm), "all queries": (hold, end), "after": ((end + found["back"]) / 2, 1e9)}
    for phase, (low, high) in phases.items():
        ticks = _part(found, "tick", low, high)
        rows.append({
            "phase": phase, "hybrid queries": max(_part(found, "queries", low, high)),
            "tick median s": median(ticks), "p95 s": p95(ticks),
            "left out, % (median)": median(_part(found, "left out", low, high)),
            "lag of hybrid queries, most s": rounded(max(_part(found, "lag of hybrid queries", low, high))),
            "lag of the exact query, most s": rounded(max(_part(found, "lag of the exact query", low, high))),
        })  # fmt: skip
    report.table(f"OVERLOAD ALLOW {allowed} PERCENT", rows)
    report.table("What was read", [{
        "read_fraction, median": rounded(found["fraction"]), "counts within bounds": f"{found['hits']} of {found['judged']}",
        "intake most behind s": rounded(found["behind"]), "after the last row s": rounded(found["left"])}])  # fmt: skip
    report.add(**{f"seen_{allowed}": found["seen"]})


def _judge_whole(report: Report, full: dict[str, Any]) -> None:
    lag = _part(full, "lag of hybrid queries", full["hold"], full["end"])[-1]
    report.bar(5, "without OVERLOAD: lag at the end of the load, s", lag, ">=", 10)


def _judge_thinned(report: Report, thinned: dict[str, Any]) -> None:
    middle = thinned["hold"], thinned["end"]
    lags = "lag of hybrid queries"
    report.bar(5, "with it: lag, p95, s", float(np.percentile(_part(thinned, lags, *middle), 95)), "<=", 5)
    report.bar(5, "with it: tick, p95, s", float(np.percentile(_part(thinned, "tick", *middle), 95)), "<=", 1)
    report.bar(5, "with it: most that was left out, %", max(_part(thinned, "left out", *middle)), ">=", 50)
    report.bar(5, "with it: left out at the end, %", _part(thinned, "left out", thinned["end"], 1e9)[-1], "<=", 0)
    report.bar(5, "with it: the exact query's lag, p95, s",
               float(np.percentile(_part(thinned, "lag of the exact query", *middle), 95)), "<=", 3)  # fmt: skip


def _draw(report: Report, runs: dict[int, dict[str, Any]]) -> None:
    axes = report.draw(len(runs), 4)
    if axes is None:
        return
    axes = axes.reshape(4, len(runs))
    shown = ("queries", "tick", "left out", "lag of hybrid queries")
    titles = ("hybrid queries", "last tick, s", "left out, %", "lag of hybrid queries, s")
    for column, (allowed, found) in enumerate(runs.items()):
        at = [row["at"] for row in found["seen"]]
        for row, (name, title) in enumerate(zip(shown, titles, strict=True)):
            axis = axes[row][column]
            axis.plot(at, [seen[name] for seen in found["seen"]])
            axis.set(title=f"{title} (OVERLOAD ALLOW {allowed} PERCENT)", xlabel="s")
            axis.set_ylim(bottom=0)
