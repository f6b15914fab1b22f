"""Time series: all correlated pairs of 10,000 series slide by slide, the best pairs, and moving statistics, against exact ones.

Every answer is compared with correlations of all pairs computed in float64. A slide is adding the newest values of all series and
answering. The limit of a slide is a second on two cores: two seconds of the processor, and a second on the wall when nobody else
uses the machine; both are given.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from benchmarks.harness import Options, Report, median, rounded
from millpond.synopses import Moving, Pairs, PairsAbove, SeriesMonitor, TopPairs

THRESHOLD = 0.95


def run(options: Options, report: Report) -> None:
    report.issue = 5
    series = options.size(10_000, 300)
    cases = [(options.size(window, 30), data, 0.0) for window in (60, 300) for data in ("walks", "noise")]
    cases += [(options.size(3600, 200), "noise", miss) for miss in (0.0, 0.001)]
    rows = [_pairs(options, report, series, *case) for case in cases]
    report.table(f"All pairs of {series:,} series with a correlation of at least {THRESHOLD}, at each slide", rows)
    report.table("Other queries at each slide", _others(options, series))


class Source:
    """Series that follow leaders, twenty each, more or less closely; walks, or noise without memory."""

    def __init__(self, series: int, kind: str, seed: int = 1) -> None:
        self._random = np.random.default_rng(seed)
        self._kind, self._series = kind, series
        self._leaders = -(-series // 20)
        self._share = self._random.uniform(0, 1, series)
        self._level = np.zeros(series)

    def next(self) -> Any:
        leaders = self._random.standard_normal(self._leaders)
        own = self._random.standard_normal(self._series)
        step = self._share * leaders[np.arange(self._series) // 20] + (1 - self._share) * own
        if self._kind == "noise":
            return step
        self._level += step
        return self._level.copy()

    def monitor(self, window: int) -> SeriesMonitor:
        """With a full window, given as history."""
        values = np.stack([self.next() for _ in range(window)], axis=1)
        monitor = SeriesMonitor(self._series, window)
        monitor.add_slot(window, values[:, -1])
        monitor.extend(window, values[:, :-1])
        assert monitor.covered(window) == window
        return monitor


def exact_pairs(values: Any, threshold: float) -> dict[tuple[int, int], float]:
    """By the plain formula in float64, a strip of series at a time."""
    centred = values - values.mean(axis=1, keepdims=True)
    unit = centred / np.linalg.norm(centred, axis=1, keepdims=True)
    found = {}
    for begin in range(0, len(unit), 500):
        products = unit[begin : begin + 500] @ unit.T
        first, second = np.nonzero(products >= threshold)
        upper = first + begin < second
        first, second = first[upper], second[upper]
        found.update(zip(zip((first + begin).tolist(), second.tolist(), strict=True),
                         products[first, second].tolist(), strict=True))  # fmt: skip
    return found


def _pairs(options: Options, report: Report, series: int, window: int, data: str, miss: float) -> dict[str, Any]:
    source = Source(series, data)
    monitor = source.monitor(window)
    monitor.add_query("pairs", PairsAbove(window, THRESHOLD, miss=miss))
    slides = options.size(10 if window <= 300 else 3 if miss else 1, 2)
    walls, processors = [], []
    for slide in range(slides):
        values = source.next()
        wall, processor = time.perf_counter(), time.process_time()
        monitor.add_slot(window + slide + 1, values)
        pairs = monitor.answers()["pairs"]
        walls.append(time.perf_counter() - wall)
        processors.append(time.process_time() - processor)
    truth = exact_pairs(monitor._slots.window(window), THRESHOLD - 1e-9)
    missed = _check(pairs, truth)
    assert miss > 0 or missed == 0, missed
    what = f"window {window}, {data}" + (f", miss = {miss}" if miss else "")
    report.say(f"{what}: {median(processors):.3f} s of processor, {median(walls):.3f} s on the wall")
    if window <= 300 or miss:
        report.bar(5, f"seconds of processor at a slide, {what} (two cores have 2)", median(processors), "<=", 2)
        report.bar(5, f"seconds on the wall at a slide, {what}", median(walls), "<=", 1)
    return {
        "window": window, "data": data, "may miss": miss or "none", "pairs": len(truth), "missed": missed,
        "processor s": rounded(median(processors)), "most": rounded(max(processors)),
        "wall s": rounded(median(walls)), "most on the wall": rounded(max(walls)), "MB held": rounded(monitor.nbytes / 1e6),
    }  # fmt: skip


def _check(pairs: Pairs, truth: dict[tuple[int, int], float]) -> int:
    """How many pairs are not there; those that are must be right."""
    keys = zip(pairs.first.tolist(), pairs.second.tolist(), strict=True)
    found = dict(zip(keys, pairs.correlation.tolist(), strict=True))
    for key, correlation in found.items():
        assert abs(correlation - truth[key]) < 1e-9, (key, correlation, truth[key])
    return sum(key not in found for key, correlation in truth.items() if correlation >= THRESHOLD + 1e-9)


def _others(options: Options, series: int) -> list[dict[str, Any]]:
    table = []
    window = options.size(300, 30)
    for what, query in (
        ("mean, deviation, extremes of each series", Moving(window)),
        ("the 100 best pairs", TopPairs(window, 100)),
        ("the 100 strongest pairs of either sign", TopPairs(window, 100, absolute=True)),
    ):
        source = Source(series, "walks", seed=2)
        monitor = source.monitor(window)
        monitor.add_query("it", query)
        monitor.answers()
        walls, processors = [], []
        for slide in range(options.size(10, 2)):
            monitor.add_slot(window + slide + 1, source.next())
            wall, processor = time.perf_counter(), time.process_time()
            monitor.answers()
            walls.append(time.perf_counter() - wall)
            processors.append(time.process_time() - processor)
        row = {"what": what, "window": window, "processor s": rounded(median(processors))}
        table.append(row | {"wall s": rounded(median(walls))})
    return table
