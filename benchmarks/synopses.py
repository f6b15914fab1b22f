"""Synopses over windows: speed against keeping the window, river and datasketches; time to ask; memory; a million groups.

Times are of the processor, not of the clock on the wall, and of one core: nothing here waits, and others may use the machine.
"""

from __future__ import annotations

import functools
import math
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.harness import ROOT, Options, Report, median, rounded
from millpond.synopses import (
    ExponentialHistogram,
    GroupedExponentialHistogram,
    GroupedSlidingSum,
    SlidingDistinct,
    SlidingExtremes,
    SlidingLp,
    SlidingSum,
)

DAY = 86_400
PICTURES = ROOT / "docs" / "pictures"


def run(options: Options, report: Report) -> None:
    report.issue = 5
    _adding(options, report)
    _others(options, report)
    asked = _asking(options, report)
    memory = _memory(options, report)
    _groups(options, report)
    if not options.quick:
        draw(asked, memory)


def processor(action: Callable[..., Any], *arguments: Any, **named: Any) -> tuple[float, Any]:
    """Seconds of the processor, and what came of it."""
    begin = time.process_time()
    result = action(*arguments, **named)
    return time.process_time() - begin, result


# -- adding -----------------------------------------------------------------------------------------------------------


class ExactWindow:
    """The rows of the window in NumPy arrays: what a synopsis replaces."""

    def __init__(self, window: int) -> None:
        self.window = window
        self.times, self.values = np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64)
        self.start = self.end = 0

    def add_many(self, times: Any, values: Any) -> None:
        if self.end + len(times) > len(self.times):
            kept = slice(self.start, self.end)
            room = 2 * (self.end - self.start + len(times))
            for name in ("times", "values"):
                new = np.empty(room, dtype=np.int64)
                new[: self.end - self.start] = getattr(self, name)[kept]
                setattr(self, name, new)
            self.start, self.end = 0, self.end - self.start
        self.times[self.end : self.end + len(times)] = times
        self.values[self.end : self.end + len(times)] = values
        self.end += len(times)
        self.start += int(
            np.searchsorted(self.times[self.start : self.end], int(times[-1]) - self.window, side="right")
        )

    def sum(self, window: int) -> int:
        first = np.searchsorted(self.times[self.start : self.end], int(self.times[self.end - 1]) - window, side="right")
        return int(self.values[self.start + int(first) : self.end].sum())


def _stream(rows: int, seed: int = 1) -> tuple[Any, Any, Any]:
    """A day of seconds and as much again: times, bits, values up to 1000."""
    random = np.random.default_rng(seed)
    return np.sort(random.integers(0, 2 * DAY, rows)), random.random(rows) < 0.5, random.integers(0, 1001, rows)


def _adding(options: Options, report: Report) -> None:
    rows = options.size(20_000_000, 200_000)
    times, bits, values = _stream(rows)
    table = []
    for what, column, make in (
        ("count", bits, lambda: ExponentialHistogram(0.01, DAY)),
        ("sum", values, lambda: SlidingSum(0.01, DAY, 1000)),
    ):
        speeds = {}
        for batch in (1_000, 10_000, 100_000, 1_000_000):
            part = min(rows, batch * 2_000)
            spent = []
            for _ in range(options.size(3, 1)):
                synopsis, exact = make(), ExactWindow(DAY)
                spent.append((processor(_feed, synopsis, times, column, part, batch)[0],
                              processor(_feed, exact, times, column, part, batch)[0]))  # fmt: skip
            ours, kept = (median([pair[i] for pair in spent]) for i in (0, 1))
            found, truth = synopsis.estimate(3600), exact.sum(3600)
            assert found.lower <= truth <= found.upper, (found, truth)
            assert abs(found.value - truth) <= 0.01 * truth
            ask, ask_exact = (_time_of(lambda s=s: s(3600)) for s in (synopsis.estimate, exact.sum))
            speeds[batch] = part / ours / 1e6
            table.append({
                "what": what, "rows at once": batch, "synopsis M/s": rounded(part / ours / 1e6),
                "exact NumPy M/s": rounded(part / kept / 1e6), "synopsis bytes": synopsis.nbytes,
                "exact bytes": 16 * (exact.end - exact.start),
                "ask synopsis µs": rounded(ask * 1e6), "ask exact µs": rounded(ask_exact * 1e6),
            })  # fmt: skip
        report.bar(
            2,
            f"{what}, million elements a second in add_many (100,000 at once)",
            speeds[100_000],
            ">=",
            10 if what == "count" else 3,
        )
        singly = make()
        few = options.size(200_000, 2_000)
        took, _ = processor(_feed_singly, singly, times[:few].tolist(), column[:few].tolist())
        table.append({"what": what, "rows at once": 1, "synopsis M/s": rounded(few / took / 1e6)})
    report.table("Adding to a window of a day, eps = 0.01", table)


def _feed(synopsis: Any, times: Any, column: Any, rows: int, batch: int) -> None:
    for start in range(0, rows, batch):
        synopsis.add_many(times[start : start + batch], column[start : start + batch])


def _feed_singly(synopsis: Any, times: list[int], values: list[Any]) -> None:
    for one, value in zip(times, values, strict=True):
        synopsis.add(one, value)


def _ask_each(synopsis: Any, windows: list[int | None]) -> None:
    for window in windows:
        synopsis.estimate(window)


def _time_of(ask: Callable[[], Any], repeats: int = 300) -> float:
    took, _ = processor(lambda: [ask() for _ in range(repeats)])
    return took / repeats


def _others(options: Options, report: Report) -> None:
    """The other synopses, and what river and datasketches have of the same kind, which is fed one by one."""
    rows = options.size(2_000_000, 20_000)
    few = options.size(200_000, 2_000)
    times, _, values = _stream(rows, 2)
    keys = np.random.default_rng(3).zipf(1.3, rows) % 1_000_000
    table: list[dict[str, Any]] = []

    def measure(what: str, who: str, count: int, action: Callable[[], Any], window: str) -> Any:
        took, made = processor(action)
        table.append({"what": what, "who": who, "window": window, "thousand elements/s": rounded(count / took / 1e3)})
        return made

    def fed(synopsis: Any, column: Any, count: int = rows) -> Any:
        _feed(synopsis, times, column, count, 100_000)
        return synopsis

    measure(
        "largest, smallest",
        "millpond SlidingExtremes",
        rows,
        lambda: fed(SlidingExtremes(DAY), values),
        "any up to a day",
    )
    ours = measure(
        "distinct",
        "millpond SlidingDistinct, eps 0.02",
        rows,
        lambda: fed(SlidingDistinct(0.02, 2 * DAY), keys),
        "any up to two days",
    )
    truth = len(np.unique(keys))
    assert abs(ours.distinct().value - truth) <= 0.06 * truth
    small = options.size(20_000, 1_000)
    measure(
        "L2 norm",
        "millpond SlidingLp, eps 0.2",
        small,
        lambda: fed(SlidingLp(2, 0.2, DAY), keys, small),
        "any up to a day",
    )
    try:
        from river import stats, utils
    except ImportError:
        report.say("river is not installed (extra: benchmark)")
    else:

        def rolling(statistic: Any) -> Any:
            window = utils.Rolling(statistic, window_size=50_000)
            for value in values[:few].tolist():
                window.update(value)
            return window

        found = measure("sum", "river Rolling(Sum)", few, lambda: rolling(stats.Sum()), "50,000 rows, all kept")
        assert abs(found.get() - int(values[few - 50_000 if few > 50_000 else 0 : few].sum())) < 1

        def rolling_most() -> Any:
            statistic = stats.RollingMax(50_000)
            for value in values[:few].tolist():
                statistic.update(value)
            return statistic

        measure("largest", "river RollingMax", few, rolling_most, "50,000 rows, all kept")
    try:
        import datasketches
    except ImportError:
        report.say("datasketches is not installed (extra: benchmark)")
    else:

        def sketch() -> Any:
            made = datasketches.hll_sketch(14)
            for key in keys[:few].tolist():
                made.update(key)
            return made

        found = measure("distinct", "datasketches hll_sketch(14)", few, sketch, "none: all that came")
        truth = len(np.unique(keys[:few]))
        assert abs(found.get_estimate() - truth) <= 0.06 * truth
    same = SlidingSum(0.01, 50_000, 1000, rows=True)
    measure(
        "sum",
        "millpond SlidingSum, eps 0.01",
        rows,
        lambda: [same.add_many(None, values[i : i + 100_000]) for i in range(0, rows, 100_000)],
        "any up to 50,000 rows",
    )
    report.table("Other synopses, and other libraries", table)


# -- asking and memory ------------------------------------------------------------------------------------------------


@functools.cache
def _ones(eps: float, window: int) -> ExponentialHistogram:
    """A full window of ones, one at each time."""
    histogram = ExponentialHistogram(eps, window)
    for start in range(0, window, 10_000_000):
        histogram.add_many(np.arange(start, min(window, start + 10_000_000)))
    return histogram


def _sizes(options: Options) -> list[int]:
    return [10**e for e in range(3, options.size(10, 6))]


def _asking(options: Options, report: Report) -> list[dict[str, Any]]:
    random = np.random.default_rng(4)
    table = []
    for size in _sizes(options):
        histogram = _ones(0.01, size)
        windows = np.exp(random.uniform(0, math.log(size), 500)).astype(int).tolist()
        for window in windows[:200]:
            assert abs(histogram.count(window).value - window) <= 0.01 * window
        spent = [processor(_ask_each, histogram, windows)[0] / 500 for _ in range(30)]
        whole = [processor(_ask_each, histogram, [None] * 500)[0] / 500 for _ in range(30)]
        table.append(
            {"N": size, "any window µs": rounded(min(spent) * 1e6), "largest window µs": rounded(min(whole) * 1e6)}
        )
    report.table("Asking a histogram of N ones, eps = 0.01 (best of 30 times 500)", table)
    report.bar(
        2,
        "asking at the largest N against the smallest, times as long",
        table[-1]["any window µs"] / table[0]["any window µs"],
        "<=",
        3,
    )
    return table


def paper_bits(k: int, size: int) -> float:
    """Buckets as the paper bounds them, each with a time of log N and a size of log log N bits."""
    return (k / 2 + 1) * (math.log2(2 * size / k + 1) + 1) * (math.log2(size) + math.log2(math.log2(size)))


def lower_bits(k: int, size: int) -> float:
    """What any such algorithm needs: k/16 log2(N/k)**2."""
    return k / 16 * math.log2(size / k) ** 2 if size > k else 0.0


def _memory(options: Options, report: Report) -> list[dict[str, Any]]:
    table = []
    for eps in (0.1, 0.01):
        k = math.ceil(1 / eps)
        for size in _sizes(options):
            histogram = _ones(eps, size)
            assert len(histogram.buckets) <= histogram.bucket_bound
            table.append({
                "eps": eps, "N": size, "buckets": len(histogram.buckets), "bound on buckets": rounded(histogram.bucket_bound),
                "bits in memory": 8 * histogram.nbytes, "bits written": 8 * len(histogram.to_bytes()),
                "bits, paper's bound": round(paper_bits(k, size)), "bits, lower bound": round(lower_bits(k, size)),
                "bits, exact": size,
            })  # fmt: skip
    report.table("Memory of a full window of N ones", table)
    return table


# -- groups -----------------------------------------------------------------------------------------------------------


def _groups(options: Options, report: Report) -> None:
    """A million groups over a day in milliseconds, rows in random groups until a group has 100 in the window."""
    groups = options.size(1_000_000, 2_000)
    batch = options.size(500_000, 10_000)
    batches = options.size(240, 20)
    random = np.random.default_rng(5)
    table = []
    for what, make in (
        ("count", lambda: GroupedExponentialHistogram(0.05, DAY * 1000)),
        ("sum, values to 100", lambda: GroupedSlidingSum(0.05, DAY * 1000, 100)),
    ):
        grouped = make()
        grouped.reserve(groups)
        step = 2 * DAY * 1000 // batches
        spent, late, checked = 0.0, [], np.zeros(groups, dtype=np.int64)
        for turn in range(batches):
            slots = random.integers(0, groups, batch)
            times = np.sort(random.integers(turn * step, (turn + 1) * step, batch))
            values = random.integers(0, 101, batch) if what.startswith("sum") else np.ones(batch, dtype=np.int64)
            took, _ = processor(grouped.add_many, slots, times, values)
            spent += took
            if turn >= batches // 2:
                late.append(batch / took)
                checked += np.bincount(slots, weights=values, minlength=groups).astype(np.int64)
        ask, found = processor(grouped.estimate, window=batches // 2 * step, now=batches * step - 1)
        assert (found.lower <= checked).all()
        assert (checked <= found.upper).all()
        assert (np.abs(found.value - checked) <= 0.05 * checked + 1e-9).all()
        write, data = processor(grouped.to_bytes)
        table.append({
            "what": what, "groups": groups, "rows in window": batch * batches // 2,
            "M rows/s": rounded(batch * batches / spent / 1e6),
            "M rows/s, full": rounded(float(np.median(late)) / 1e6), "MB": rounded(grouped.nbytes / 1e6),
            "exact MB": rounded(batch * batches // 2 * (8 if what == "count" else 12) / 1e6), "ask all s": rounded(ask),
            "to_bytes s": rounded(write), "MB written": rounded(len(data) / 1e6),
        })  # fmt: skip
        report.bar(4, f"MB of {groups:,} groups, {what}, eps = 0.05 (library alone)", grouped.nbytes / 1e6, "<=", 2000)
        report.bar(
            4, f"rows a second into groups, {what} (library alone, one core)", float(np.median(late)), ">=", 500_000
        )
    report.table("Groups, eps = 0.05, a window of a day", table)


# -- pictures ---------------------------------------------------------------------------------------------------------


def draw(asked: list[dict[str, Any]], memory: list[dict[str, Any]]) -> None:
    """The pictures of docs/synopses.md."""
    import matplotlib

    matplotlib.use("Agg")
    matplotlib.rcParams["svg.hashsalt"] = "millpond"
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(1, 2, figsize=(9, 3.6), layout="constrained", sharey=True)
    for axis, eps in zip(axes, (0.1, 0.01), strict=True):
        rows = [row for row in memory if row["eps"] == eps]
        sizes = [row["N"] for row in rows]
        for name, style in (
            ("bits, exact", "k:"), ("bits, paper's bound", "C3--"), ("bits in memory", "C0-o"), ("bits written", "C2-s"),
            ("bits, lower bound", "C7--"),
        ):  # fmt: skip
            axis.loglog(
                sizes,
                [max(row[name], 1) for row in rows],
                style,
                label=name.replace("bits, ", "").replace("bits ", ""),
                markersize=4,
            )
        axis.set_title(f"eps = {eps}")
        axis.set_xlabel("ones in the window")
    axes[0].set_ylabel("bits")
    axes[0].legend(fontsize=8)
    _save(figure, "synopses_memory")

    figure, axis = pyplot.subplots(figsize=(4.5, 3), layout="constrained")
    for name, style in (("any window µs", "C0-o"), ("largest window µs", "C1-s")):
        axis.semilogx(
            [row["N"] for row in asked],
            [row[name] for row in asked],
            style,
            label=name.removesuffix(" µs"),
            markersize=4,
        )
    axis.set_ylim(0)
    axis.set_xlabel("ones in the window")
    axis.set_ylabel("µs to ask")
    axis.legend(fontsize=8)
    _save(figure, "synopses_asking")
    _save(_buckets(pyplot), "synopses_buckets")


def _buckets(pyplot: Any) -> Any:
    """The buckets of a small histogram, and where a window begins inside one."""
    random = np.random.default_rng(12)
    times = np.sort(random.integers(0, 100, 60))
    histogram = ExponentialHistogram(0.5, 100)
    histogram.add_many(times)
    sizes = histogram.buckets.sizes()
    ends = np.cumsum(sizes)
    figure, axis = pyplot.subplots(figsize=(9, 2.2), layout="constrained")
    axis.plot(times, np.zeros(len(times)), "k|", markersize=9)
    for i, (size, end) in enumerate(zip(sizes.tolist(), ends.tolist(), strict=True)):
        ones = times[end - size : end]
        left, right = ones[0] - 0.4, ones[-1] + 0.4
        axis.add_patch(
            pyplot.Rectangle((left, 0.35 + 0.55 * (i % 2)), right - left, 0.45, color=f"C{i % 2}", alpha=0.35)
        )
        axis.text((left + right) / 2, 0.57 + 0.55 * (i % 2), str(size), ha="center", va="center", fontsize=8)
    begin = 22
    axis.axvline(begin, color="C3", linestyle="--")
    found = histogram.count(int(times[-1]) - begin)
    truth = int((times > begin).sum())
    axis.text(
        begin + 0.8,
        1.6,
        f"window begins here: {truth} ones, known to be {found.lower} to {found.upper}",
        color="C3",
        fontsize=8,
    )
    axis.set_ylim(-0.3, 1.9)
    axis.set_yticks([])
    axis.set_xlabel("time")
    for side in ("left", "right", "top"):
        axis.spines[side].set_visible(False)
    return figure


def _save(figure: Any, name: str) -> None:
    PICTURES.mkdir(exist_ok=True)
    figure.savefig(PICTURES / f"{name}.svg", metadata={"Date": None})
