"""Correlated aggregates: bounds hold, batches and bytes change nothing, and few values make it exact."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from millpond.synopses.correlated import CorrelatedAggregate, Limit, Predicate, Strategy

PREDICATES = [
    Predicate.above("avg"),
    Predicate.below("avg", closed=True),
    Predicate.within("avg", 6.0),
    Predicate.below("min", 4.0),
    Predicate.below("min", 1.0, 5.0, closed=True),
    Predicate.above("max", 0.5, closed=True),
    Predicate.below("max", 0.75),
    Predicate("min", Limit(1.0, 1.0), Limit(3.0, 2.0, True)),  # type: ignore[arg-type]
    Predicate("max", Limit(0.25, 0.0), Limit(1.0, -3.0)),  # type: ignore[arg-type]
]
DEPENDENTS = ["count", "sum", "avg"]
WINDOWS = [(None, "estimated"), (13, "estimated"), (40, "estimated"), (13, "given"), (40, "given")]


def naive(dependent: str, predicate: Predicate, rows: list[tuple[int, int]]) -> Fraction | None:
    """The answer by its definition, in exact arithmetic."""
    xs = [x for x, _ in rows]
    aggregate = {"min": min(xs), "max": max(xs), "avg": Fraction(sum(xs), len(xs))}[predicate.independent]

    def end(limit: Limit) -> Fraction:
        return Fraction(limit.factor) * aggregate + Fraction(limit.offset)

    def holds(x: int) -> bool:
        low, high = predicate.low, predicate.high
        above = low is None or x > end(low) or (low.closed and x == end(low))
        return above and (high is None or x < end(high) or (high.closed and x == end(high)))

    ys = [y for x, y in rows if holds(x)]
    if dependent == "count":
        return Fraction(len(ys))
    if dependent == "sum":
        return Fraction(sum(ys))
    return Fraction(sum(ys), len(ys)) if ys else None


def feed(synopsis: CorrelatedAggregate, rows: list[tuple[int, int]], begin: int, end: int) -> None:
    x, y = (np.array([row[i] for row in rows[begin:end]], dtype=np.float64) for i in (0, 1))
    leaving: Any = None
    if synopsis.window is not None and synopsis.leaving == "given":
        gone = rows[max(0, begin - synopsis.window) : max(0, end - synopsis.window)]
        leaving = tuple(np.array([row[i] for row in gone], dtype=np.float64) for i in (0, 1))
    synopsis.add_many(None, (x, y), leaving=leaving)


def window_of(synopsis: CorrelatedAggregate, rows: list[tuple[int, int]], end: int) -> list[tuple[int, int]]:
    return rows[0 if synopsis.window is None else max(0, end - synopsis.window) : end]


@st.composite
def streams(draw: st.DrawFn, largest: int = 400) -> list[tuple[int, int]]:
    """Rows from a few shapes: any order, falling, rising, and large ones first; y of both signs. Long enough, mostly, to
    fill windows and buckets several times: those come from a seed, as lists of that length would take long to draw."""
    if draw(st.booleans()) and draw(st.booleans()):
        rows = draw(st.lists(st.tuples(st.integers(-20, largest), st.integers(-9, 9)), min_size=1, max_size=30))
    else:
        random = np.random.default_rng(draw(st.integers(0, 1 << 32)))
        size, reach = draw(st.integers(50, 130)), draw(st.sampled_from([12, 60, largest]))
        xs = random.integers(draw(st.sampled_from([-20, 1])), reach, size)
        rows = list(zip(xs.tolist(), random.integers(-9, 10, size).tolist(), strict=True))
    shape = draw(st.sampled_from(["any", "falling", "rising", "large first"]))
    if shape == "falling":
        rows.sort(reverse=True)
    elif shape == "rising":
        rows.sort()
    elif shape == "large first":
        rows = sorted(rows, reverse=True)[: len(rows) // 2] + rows
    return rows


@st.composite
def synopses(draw: st.DrawFn, buckets: int | None = None, leaving: str | None = None) -> CorrelatedAggregate:
    window, how = draw(st.sampled_from([w for w in WINDOWS if leaving is None or w[0] is None or w[1] == leaving]))
    return CorrelatedAggregate(
        draw(st.sampled_from(DEPENDENTS)),
        draw(st.sampled_from(PREDICATES)),
        buckets=draw(st.integers(3, 8)) if buckets is None else buckets,
        window=window,
        panes=draw(st.integers(1, 6)),
        strategy=draw(st.sampled_from(list(Strategy))),
        leaving=how,
        deviations=draw(st.sampled_from([1.0, 3.0])),
    )


cuts = st.lists(st.integers(1, 40), min_size=1, max_size=30)


def check_bounds(synopsis: CorrelatedAggregate, rows: list[tuple[int, int]], sizes: list[int]) -> None:
    at = 0
    while at < len(rows):
        end = min(len(rows), at + sizes[at % len(sizes)])
        feed(synopsis, rows, at, end)
        at = end
        truth = naive(synopsis.dependent, synopsis.predicate, window_of(synopsis, rows, at))
        found = synopsis.estimate()
        if truth is None:  # no row is in the range: an average may still be estimated, where the buckets cannot know
            continue
        assert not math.isnan(found.value)
        assert found.lower - 1e-9 <= truth <= found.upper + 1e-9, f"{found} does not hold {float(truth)}"
        assert found.lower - 1e-9 <= found.value <= found.upper + 1e-9


@settings(max_examples=50, deadline=None)
@given(synopses(), streams(), cuts)
def test_the_bounds_hold_the_exact_answer(
    synopsis: CorrelatedAggregate, rows: list[tuple[int, int]], sizes: list[int]
) -> None:
    check_bounds(synopsis, rows, sizes)


@pytest.mark.slow
@settings(max_examples=1500, deadline=None)
@given(synopses(), streams(), cuts)
def test_the_bounds_hold_the_exact_answer_on_many_streams(
    synopsis: CorrelatedAggregate, rows: list[tuple[int, int]], sizes: list[int]
) -> None:
    check_bounds(synopsis, rows, sizes)


@settings(max_examples=35, deadline=None)
@given(synopses(buckets=200, leaving="given"), streams(largest=100), cuts)
def test_it_is_exact_when_each_value_has_its_bucket(
    synopsis: CorrelatedAggregate, rows: list[tuple[int, int]], sizes: list[int]
) -> None:
    at = 0
    while at < len(rows):
        end = min(len(rows), at + sizes[at % len(sizes)])
        feed(synopsis, rows, at, end)
        at = end
        if synopsis.independent().lower != synopsis.independent().upper:
            continue  # the lowest value has left, and the first pane does not know the next one
        xs = [x for x, _ in window_of(synopsis, rows, at)]
        aggregate = {"min": min(xs), "max": max(xs), "avg": sum(xs) / len(xs)}[synopsis.predicate.independent]
        assert synopsis.independent().value == pytest.approx(aggregate, abs=1e-9)
        truth = naive(synopsis.dependent, synopsis.predicate, window_of(synopsis, rows, at))
        found = synopsis.estimate()
        if truth is None:
            assert math.isnan(found.value)
        else:
            assert found == pytest.approx((float(truth),) * 3, abs=1e-9)


@settings(max_examples=35, deadline=None)
@given(st.data(), streams(), cuts)
def test_batches_and_bytes_change_nothing(data: st.DataObject, rows: list[tuple[int, int]], sizes: list[int]) -> None:
    whole = data.draw(synopses())
    parts, passed = (type(whole).from_bytes(whole.to_bytes()) for _ in range(2))
    scaled = [(x * 0.1, y * 0.3) for x, y in rows]  # sums that rounding touches
    feed(whole, scaled, 0, len(rows))  # type: ignore[arg-type]
    at = 0
    while at < len(rows):
        end = min(len(rows), at + sizes[at % len(sizes)])
        feed(parts, scaled, at, end)  # type: ignore[arg-type]
        feed(passed, scaled, at, end)  # type: ignore[arg-type]
        passed = type(whole).from_bytes(passed.to_bytes())
        at = end
    assert parts.to_bytes() == whole.to_bytes()
    assert passed.to_bytes() == whole.to_bytes()
    assert repr(parts.estimate()) == repr(whole.estimate())


@settings(max_examples=35, deadline=None)
@given(st.data(), streams(), streams(), streams())
def test_merged_landmark_windows_hold_the_rows_of_both(
    data: st.DataObject, one: list[tuple[int, int]], two: list[tuple[int, int]], more: list[tuple[int, int]]
) -> None:
    made = data.draw(synopses().filter(lambda s: s.window is None))
    other = type(made).from_bytes(made.to_bytes())
    feed(made, one, 0, len(one))
    feed(other, two, 0, len(two))
    before = made.to_bytes(), other.to_bytes()
    merged = made.merge(other)
    assert (made.to_bytes(), other.to_bytes()) == before
    for rows in ([*one, *two], [*one, *two, *more]):
        truth = naive(made.dependent, made.predicate, rows)
        found = merged.estimate()
        if truth is not None:
            assert found.lower - 1e-9 <= truth <= found.upper + 1e-9
        feed(merged, more, 0, len(more))


@settings(max_examples=15, deadline=None)
@given(streams(), st.sampled_from(list(Strategy)), st.sampled_from(DEPENDENTS), st.sampled_from([None, 25]))
def test_a_maximum_is_the_minimum_of_mirrored_rows(
    rows: list[tuple[int, int]], strategy: Strategy, dependent: str, window: int | None
) -> None:
    up = CorrelatedAggregate(dependent, Predicate.above("max", 0.5, -2.0), buckets=4, window=window, strategy=strategy)
    down = CorrelatedAggregate(dependent, Predicate.below("min", 0.5, 2.0), buckets=4, window=window, strategy=strategy)
    feed(up, rows, 0, len(rows))
    feed(down, [(-x, y) for x, y in rows], 0, len(rows))
    assert repr(up.estimate()) == repr(down.estimate())
