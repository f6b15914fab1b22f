"""Bar 4: how long an invocation takes: results of up to 100 rows out of 2^15 while ticks run; aggregates of 2^7 to 2^20 rows.

A thread invokes handles one after the other while rows flow in and the pipeline ticks. Each answer says of which prefix of the
rows it is, and is compared with a naive evaluation of the window that ends there.
"""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from benchmarks.harness import Options, Report, median, p95, rounded
from benchmarks.psoup import workload
from benchmarks.psoup.api import Feeder, create, newest, pond, register, register_all
from benchmarks.psoup.workload import Columns, Factor, Query
from millpond.pond import Pond

WINDOW = 2**15
MOST = 100


def run(options: Options, report: Report) -> None:
    report.issue = 13
    with pond(options.workdir / "pond") as db:
        found = _selections(options, report, db)
    with pond(options.workdir / "aggregates") as db:
        trees = _aggregates(options, report, db)
    _chart(report, found, trees)


# -- small results while ticks run ------------------------------------------------------------------------------------


@dataclass
class Asker(threading.Thread):
    """Invokes handles in turn until told to stop."""

    handles: list[Any]
    times: list[float] = field(default_factory=list)
    seen: list[tuple[int, int, int, int]] = field(default_factory=list)
    """Handle, position, rows and their sum of `a`."""
    error: BaseException | None = None

    def __post_init__(self) -> None:
        super().__init__(daemon=True)
        self.stopping = threading.Event()

    def run(self) -> None:
        turn = 0
        try:
            while not self.stopping.is_set():
                number = turn % len(self.handles)
                turn += 1
                begin = time.perf_counter()
                answer = self.handles[number].invoke()
                rows = answer.arrow()
                self.times.append((time.perf_counter() - begin) * 1000)
                total = int(rows["a"].to_numpy().sum())
                self.seen.append((number, answer.position["r"], rows.num_rows, total))
        except BaseException as error:
            self.error = error

    __hash__ = threading.Thread.__hash__


def _selections(options: Options, report: Report, db: Pond) -> list[dict[str, Any]]:
    random = np.random.default_rng(4)
    window = options.size(WINDOW, 512)
    lap = workload.rows(random, 2 * window)
    queries = _small(random, lap, window, options.size(100, 10))
    create(db, "r", shards=2)
    handles = {
        mode: register_all(db, "r", queries, newest(window), mode) for mode in ("partial", "complete", "nothing")
    }
    db.start()
    feeder = Feeder(db, "r")
    for _ in range(4):
        feeder.append(lap)
        db.tick()
    seconds = options.size(20, 2)
    found = []
    for mode, some in handles.items():
        for handle in some:
            handle.invoke()
        asker = Asker(some)
        asker.start()
        ticks = _flow(feeder, lap, options.size(20_000, 500), seconds)
        asker.stopping.set()
        asker.join()
        if asker.error is not None:
            raise asker.error
        _check(asker, queries, lap, window)
        sizes = [rows for _, _, rows, _ in asker.seen]
        row = {"keep": mode, "window": window, "invocations": len(asker.times), "rows a result, median": median(sizes)}
        row |= {"most": max(sizes), "median, ms": median(asker.times), "p95, ms": p95(asker.times)}
        found.append({**row, "ticks meanwhile": ticks})
        report.say(f"{mode}: {len(asker.times)} invocations during {ticks} ticks")
    report.table("Results of up to 100 rows, from a thread while ticks run", found)
    times = {f["keep"]: f["median, ms"] for f in found}
    report.bar(4, "median of an invocation, ms", times["partial"], "<=", 1)
    report.bar(4, "from scratch to that", times["nothing"] / times["partial"], ">=", 50)
    return found


def _small(random: np.random.Generator, lap: Columns, window: int, count: int) -> list[Query]:
    """Queries with 1 to 100 rows in a window, wherever it is: of both kinds, with two to four predicates."""
    found: list[Query] = []
    while len(found) < count:
        for query in [*workload.intervals(random, 50, 4), *workload.equalities(random, 10, 2)]:
            hit = np.concatenate([workload.mask(query, lap)] * 2)
            counts = np.cumsum(hit)
            sizes = counts[window:] - counts[:-window]
            if sizes.min() >= 1 and sizes.max() <= MOST and len(found) < count:
                found.append(query)
    return found


def _flow(feeder: Feeder, lap: Columns, rate: int, seconds: int) -> int:
    """So many rows a second, in ten batches with a tick after each, if ticks are as quick as that; says how many there were."""
    begin, size = time.monotonic(), rate // 10
    total = len(lap["a"])
    ticks = 0
    for number in range(10 * seconds):
        wait = begin + number / 10 - time.monotonic()
        if wait > 0:
            time.sleep(wait)
        places = np.arange(feeder.count, feeder.count + size) % total
        feeder.append({c: v[places] for c, v in lap.items()})
        if wait > -1 / 10:
            feeder.db.tick()
            ticks += 1
    return ticks


def _check(asker: Asker, queries: list[Query], lap: Columns, window: int) -> None:
    total = len(lap["a"])
    for number, position, rows, sum_of_a in asker.seen[:: max(1, len(asker.seen) // 2000)]:
        places = np.arange(position - window, position) % total
        chosen = places[workload.mask(queries[number], {c: v[places] for c, v in lap.items()})]
        expected = (len(chosen), int(lap["a"][chosen].sum()))
        assert (rows, sum_of_a) == expected, f"{queries[number]} at row {position}: {(rows, sum_of_a)}, not {expected}"


# -- aggregates -------------------------------------------------------------------------------------------------------

AGGREGATES = "COUNT(*) AS n, SUM(a) AS s, AVG(a) AS m, MIN(a) AS low, MAX(a) AS high"
FILTER: Query = (Factor("b", 32, 200),)


def _aggregates(options: Options, report: Report, db: Pond) -> list[dict[str, Any]]:
    random = np.random.default_rng(5)
    powers = range(7, options.size(21, 11))
    rows = workload.rows(random, 2 ** powers[-1] + 1000)
    create(db, "r")
    handles = {
        (power, mode): register(db, "r", FILTER, newest(2**power), mode, AGGREGATES)
        for power in powers
        for mode in ("auto", "nothing")
    }
    Feeder(db, "r").stream(rows, 65_536)
    repeats = options.size(300, 5)
    found = []
    for power in powers:
        recent = {c: v[-(2**power) :] for c, v in rows.items()}
        chosen = recent["a"][workload.mask(FILTER, recent)].astype(np.int64)
        expected = (len(chosen), int(chosen.sum()), float(chosen.mean()), int(chosen.min()), int(chosen.max()))
        row: dict[str, Any] = {"window": 2**power}
        for mode, times in (("auto", repeats), ("nothing", max(3, repeats // 30))):
            handle = handles[power, mode]
            ((*got,),) = handle.invoke().rows()
            assert np.allclose(got, expected, rtol=1e-12), f"window of 2^{power} rows, {mode}: {got}, not {expected}"
            row["kept, ms" if mode == "auto" else "from scratch, ms"] = median([_timed(handle) for _ in range(times)])
        found.append(row)
    report.table(f"SELECT {AGGREGATES} of the rows with b between 32 and 200", found)
    kept = [row["kept, ms"] for row in found]
    slope = float(np.polyfit(list(powers), kept, 1)[0])
    report.add(milliseconds_for_each_doubling=rounded(slope))
    report.bar(4, f"aggregates: 2^{powers[-1]} rows to 2^{powers[0]} (their logarithms: {powers[-1] / powers[0]:.3g})",
               kept[-1] / kept[0], "<=", powers[-1] / powers[0])  # fmt: skip
    report.say("aggregates: done")
    return found


def _timed(handle: Any) -> float:
    begin = time.perf_counter()
    handle.invoke().arrow()
    return (time.perf_counter() - begin) * 1000


def _chart(report: Report, found: list[dict[str, Any]], trees: list[dict[str, Any]]) -> None:
    axes = report.draw(2)
    if axes is None:
        return
    axes[0].bar([f["keep"] for f in found], [f["median, ms"] for f in found])
    axes[0].axhline(1.0, color="grey", linestyle="--", linewidth=0.8)
    axes[0].set(yscale="log", title="invocation while ticks run, median ms")
    for name in ("kept, ms", "from scratch, ms"):
        axes[1].plot([t["window"] for t in trees], [t[name] for t in trees], marker="o", label=name[:-4])
    axes[1].set(xscale="log", yscale="log", xlabel="window, rows", title="aggregates, median ms")
    axes[1].legend(fontsize=8)
