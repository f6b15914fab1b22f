"""Correlated aggregates: errors of the four strategies and of plain histograms, as in Figures 4-10, 12 and 13 of the paper."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from millpond.synopses.correlated import CorrelatedAggregate, Predicate, Strategy

Array = np.ndarray[Any, np.dtype[np.float64]]
ROWS, WINDOW = 20_000, 500

# -- data -------------------------------------------------------------------------------------------------------------


def zipf(count: int, random: np.random.Generator, exponent: float = 0.7, values: int = 1_000_000) -> Array:
    """Whole numbers k = 1, 2, ... with probability proportional to 1 / k^exponent."""
    mass = np.cumsum(np.arange(1, values + 1, dtype=np.float64) ** -exponent)
    return mass.searchsorted(random.random(count) * mass[-1]) + 1.0


def multifractal(count: int, random: np.random.Generator, levels: int = 20, share: float = 0.8) -> Array:
    """The 80-20 law: of every stretch, `share` of the rows lie in its lower half, and so on down to single numbers."""
    bits = random.random((count, levels)) >= share
    return bits @ 2.0 ** np.arange(levels) + 1.0


def usage(count: int, random: np.random.Generator) -> Array:
    """Stands in for the usage of customers: whole numbers, most of them small, a few very large (log-normal)."""
    return np.floor(random.lognormal(5.0, 1.5, count)) + 1.0


def crossings(count: int, random: np.random.Generator) -> Array:
    """Stands in for latitudes of road crossings: a few towns and the land between, in the order of the map's sheets."""
    towns = random.normal(random.uniform(39.0, 39.3, 12)[random.integers(0, 12, count)], 0.01)
    places = np.where(random.random(count) < 0.7, towns, random.uniform(38.95, 39.35, count))
    sheets = np.floor((places + random.normal(0, 0.15, count)) * 20)
    return places[np.argsort(sheets, kind="stable")]


def large_first(x: Array, random: np.random.Generator) -> Array:
    """The same rows, but the first third are the largest: then the lowest value and the average drop at once."""
    ordered = np.sort(x)[::-1]
    cut = len(x) // 3
    return np.concatenate((random.permutation(ordered[:cut]), random.permutation(ordered[cut:])))


# -- the others -------------------------------------------------------------------------------------------------------


def true_histogram(x: Array, y: Array, predicate: Predicate, aggregate: float, edges: Array) -> float:
    """What a histogram with these edges says, uniform within buckets; it is built anew from all rows each time."""
    upper = edges[1:].searchsorted(x, "left").clip(0, len(edges) - 2)
    held = np.bincount(upper, y, len(edges) - 1)
    cumulative = np.concatenate(([0.0], np.cumsum(held)))
    grown = edges + np.arange(len(edges)) * 1e-12 * max(1.0, abs(edges[-1]))  # equal edges, where many rows are equal
    low, high = predicate.thresholds(aggregate)
    top = cumulative[-1] if high is None else np.interp(high, grown, cumulative, left=0.0)
    return float(top - (0.0 if low is None else np.interp(low, grown, cumulative, left=0.0)))


def equiwidth(x: Array, buckets: int) -> Array:
    return np.linspace(x.min(), x.max(), buckets + 1)


def equidepth(x: Array, buckets: int) -> Array:
    return np.quantile(x, np.linspace(0, 1, buckets + 1), method="inverted_cdf")


def memoryless(x: Array, y: Array, predicate: Predicate, start_again: bool) -> Array:
    """Only the aggregate and one number: rows that are in the range as they come are added, and never taken out; or at
    each new extreme all is forgotten. The answer after each row."""
    if predicate.is_average:
        running = np.cumsum(x) / np.arange(1, len(x) + 1)
    else:
        running = np.minimum.accumulate(x)
    held = [bool(predicate.holds(x[i : i + 1], float(running[i]))[0]) for i in range(len(x))]
    found = np.cumsum(np.where(held, y, 0.0))
    if start_again:
        news = np.flatnonzero(np.concatenate(([True], running[1:] < running[:-1])))
        before = np.concatenate(([0.0], found))[news]
        found = found - before[np.searchsorted(news, np.arange(len(x)), "right") - 1]
    return found


# -- one picture ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Figure:
    """A data set, a question, and how often it is asked: `step` rows between two answers."""

    name: str
    data: str
    dependent: str
    predicate: Predicate
    buckets: int = 10
    window: int | None = None
    adversarial: bool = False
    step: int = 10


MIN_99, MIN_1000, ABOVE = Predicate.below("min", 100.0), Predicate.below("min", 1001.0), Predicate.above("avg")
FIGURES = (
    Figure("4 (usage)", "usage", "count", MIN_99),
    Figure("4 (zipf)", "zipf", "count", MIN_1000),
    Figure("5 (usage)", "usage", "sum", MIN_99),
    Figure("5 (zipf)", "zipf", "sum", MIN_1000),
    Figure("6", "usage", "count", MIN_99, adversarial=True),
    Figure("7", "usage", "count", MIN_99, buckets=5),
    Figure("8 (usage)", "usage", "count", ABOVE),
    Figure("8 (multifractal)", "multifractal", "count", ABOVE),
    Figure("9 (usage)", "usage", "sum", ABOVE),
    Figure("9 (multifractal)", "multifractal", "sum", ABOVE),
    Figure("10", "usage", "count", ABOVE, adversarial=True),
    Figure("12 (usage)", "usage", "count", MIN_99, window=WINDOW),
    Figure("12 (multifractal)", "multifractal", "count", MIN_99, window=WINDOW),
    Figure("13 (zipf)", "zipf", "count", ABOVE, window=WINDOW),
    Figure("13 (crossings)", "crossings", "count", ABOVE, window=WINDOW),
)
MAKERS: dict[str, Callable[[int, np.random.Generator], Array]] = {
    "zipf": zipf, "multifractal": multifractal, "usage": usage, "crossings": crossings,
}  # fmt: skip
METHODS = ("upper heuristic", "lower heuristic", "equiwidth", "equidepth", *Strategy)


def rows_of(figure: Figure, count: int, seed: int) -> tuple[Array, Array]:
    random = np.random.default_rng([seed, *figure.data.encode()])
    x = MAKERS[figure.data](count, random)
    if figure.adversarial:
        x = large_first(x, random)
    return x, np.ones(count) if figure.dependent == "count" else random.exponential(10.0, count)


def answers(figure: Figure, count: int, seed: int) -> tuple[Array, dict[str, Array]]:
    """The exact answers after every `step` rows, and those of all methods."""
    x, y = rows_of(figure, count, seed)
    ends = np.arange(figure.step, count + 1, figure.step)
    found: dict[str, Array] = {}
    exact, wide, deep = (np.empty(len(ends)) for _ in range(3))
    for i, end in enumerate(ends):
        rows = slice(0 if figure.window is None else max(0, end - figure.window), end)
        aggregate = float(x[rows].mean() if figure.predicate.is_average else x[rows].min())
        exact[i] = y[rows][figure.predicate.holds(x[rows], aggregate)].sum()
        for made, edges in ((wide, equiwidth), (deep, equidepth)):
            made[i] = true_histogram(x[rows], y[rows], figure.predicate, aggregate, edges(x[rows], figure.buckets))
    if figure.window is None:
        found["upper heuristic"] = memoryless(x, y, figure.predicate, False)[ends - 1]
        if not figure.predicate.is_average:
            found["lower heuristic"] = memoryless(x, y, figure.predicate, True)[ends - 1]
    found |= {"equiwidth": wide, "equidepth": deep}
    for strategy in Strategy:
        found[strategy] = np.array([e.value for e in ours(figure, strategy, x, y, ends)])
    return exact, found


def ours(figure: Figure, strategy: Strategy, x: Array, y: Array, ends: Any, leaving: str = "given", deviations: float = 1.0) -> Iterator[Any]:
    """Estimates after each of `ends`. As in the paper, rows that leave a sliding window are known."""
    made = CorrelatedAggregate(
        figure.dependent, figure.predicate, buckets=figure.buckets, window=figure.window, strategy=strategy, leaving=leaving,
        deviations=deviations,
    )
    begin = 0
    for end in ends:
        gone = None
        if figure.window is not None and leaving == "given":
            out = slice(max(0, begin - figure.window), max(0, end - figure.window))
            gone = (x[out], y[out])
        made.add_many(None, (x[begin:end], y[begin:end]), leaving=gone)
        begin = int(end)
        yield made.estimate()


def errors(figure: Figure, exact: Array, found: Array) -> Array:
    """RMSE after each answer: of all answers so far, or of those within the last window."""
    squares = np.concatenate(([0.0], np.cumsum((found - exact) ** 2)))
    last = np.arange(1, len(squares))
    first = np.zeros_like(last) if figure.window is None else np.maximum(last - figure.window // figure.step, 0)
    return np.sqrt((squares[last] - squares[first]) / (last - first))
