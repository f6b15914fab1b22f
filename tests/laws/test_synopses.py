"""What synopses guarantee, held against counting everything: for every window up to the largest, however the stream came in."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import reduce
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from millpond.synopses import (
    ExponentialHistogram,
    GroupedExponentialHistogram,
    GroupedSlidingSum,
    SlidingDistinct,
    SlidingLp,
    SlidingSum,
)
from millpond.synopses.canonical import canonical_form
from millpond.synopses.counting import BUFFER

EPS = [0.9, 0.5, 0.34, 0.3, 0.2, 0.11, 0.1, 0.05, 0.01]
LARGEST = 60


def literal_bound(eps: float, units: int) -> float:
    """The bound on buckets as the paper states it."""
    k = math.ceil(1 / eps)
    return (k / 2 + 1) * (math.log2(2 * units / k + 1) + 1)


def truths(times: np.ndarray, values: np.ndarray, now: int, largest: int) -> np.ndarray:
    """truths[w]: what is in (now - w, now], for w from 0 to `largest`."""
    age = now - times
    by_age = np.bincount(age[age < largest], weights=values[age < largest], minlength=largest)
    return np.concatenate([[0], np.cumsum(by_age)]).astype(np.int64)


def assert_right(synopsis: Any, times: np.ndarray, values: np.ndarray, now: int, windows: Any = None) -> None:
    """Every window: the truth is within the bounds, the value within the promised error."""
    truth = truths(times, values, now, synopsis.window)
    for window in range(1, synopsis.window + 1) if windows is None else windows:
        found = synopsis.estimate(window, None if synopsis.timeline.rows else now)
        assert found.lower <= truth[window] <= found.upper, (window, found, truth[window])
        assert abs(found.value - truth[window]) <= synopsis.error * truth[window] + 1e-9, (window, found, truth[window])


def feed(synopsis: Any, times: np.ndarray, values: np.ndarray, cuts: list[int], singly: bool) -> Any:
    """The stream in pieces that end at `cuts`; every second one singly if asked, and through bytes after each."""
    for i, (start, stop) in enumerate(zip([0, *cuts], [*cuts, len(times)], strict=True)):
        if singly and i % 2:
            for time, value in zip(times[start:stop].tolist(), values[start:stop].tolist(), strict=True):
                synopsis.add(time, value)
        else:
            synopsis.add_many(times[start:stop], values[start:stop])
        synopsis = type(synopsis).from_bytes(synopsis.to_bytes())
    return synopsis


@st.composite
def streams(draw: st.DrawFn, most: int) -> tuple[np.ndarray, np.ndarray, list[int]]:
    """Times with bursts and gaps, values up to `most`, and where to cut the stream."""
    runs = draw(
        st.lists(
            st.tuples(st.integers(0, 25), st.integers(1, 40), st.integers(0, most), st.booleans()),
            min_size=1,
            max_size=30,
        )
    )
    times, values, now = [], [], 0
    for gap, length, value, together in runs:
        now += gap
        for _ in range(length):
            times.append(now)
            values.append(value)
            now += 0 if together else 1
    cuts = sorted(draw(st.lists(st.integers(0, len(times)), max_size=4)))
    return np.array(times), np.array(values), cuts


@pytest.mark.parametrize("spread", [1, 2, 3, 5, 50])
def test_every_total_has_one_canonical_form(spread: int) -> None:
    for total in range(1, 4000):
        counts = canonical_form(total, spread)
        assert sum(count << level for level, count in enumerate(counts)) == total
        assert all(spread <= count <= spread + 1 for count in counts[:-1])
        assert 1 <= counts[-1] <= spread + 1


@pytest.mark.parametrize("eps", EPS)
@settings(max_examples=40, deadline=None)
@given(data=st.data())
def test_counts_are_within_eps_in_every_window(eps: float, data: st.DataObject) -> None:
    times, bits, cuts = data.draw(streams(1))
    histogram = feed(ExponentialHistogram(eps, LARGEST), times, bits, cuts, data.draw(st.booleans()))
    now = int(times[-1])
    assert histogram.error <= eps
    assert_right(histogram, times, bits, now)
    assert_right(histogram, times, bits, now + 17)
    assert len(histogram.buckets) <= literal_bound(eps, int(truths(times, bits, now, LARGEST)[-1]))


@pytest.mark.parametrize("eps", EPS)
@settings(max_examples=40, deadline=None)
@given(data=st.data())
def test_sums_are_within_eps_in_every_window(eps: float, data: st.DataObject) -> None:
    most = data.draw(st.sampled_from([1, 9, 1000, 10**9]))
    times, values, cuts = data.draw(streams(most))
    total = feed(SlidingSum(eps, LARGEST, most), times, values, cuts, data.draw(st.booleans()))
    now = int(times[-1])
    assert total.error <= eps
    assert_right(total, times, values, now)
    total.flush()
    assert len(total.buckets) <= literal_bound(eps, int(truths(times, values, now, LARGEST)[-1]))


ADVERSARIES: dict[str, Callable[[], tuple[np.ndarray, np.ndarray]]] = {
    "all ones": lambda: (np.arange(5000), np.ones(5000, dtype=int)),
    "all at once": lambda: (np.full(5000, 7), np.ones(5000, dtype=int)),
    "ones, then nothing": lambda: (np.arange(4000), np.repeat([1, 0], [2000, 2000])),
    "a one in ever longer gaps": lambda: (np.cumsum(2 ** (np.arange(300) % 12)), np.ones(300, dtype=int)),
    "blocks that double": lambda: (np.arange(4096), (np.bitwise_count(np.arange(4096)) % 2).astype(int)),
    "bursts": lambda: (np.repeat(np.arange(0, 4000, 100), 100), np.ones(4000, dtype=int)),
    "few sparse blocks": lambda: (
        np.arange(4096),
        np.isin(np.arange(4096) % 256, [0, 1, 3, 7, 15, 31, 63, 127]).astype(int),
    ),
}


@pytest.mark.parametrize("name", list(ADVERSARIES))
@pytest.mark.parametrize("eps", [0.5, 0.1, 0.03])
def test_adversarial_streams_while_the_window_moves_over_them(name: str, eps: float) -> None:
    times, bits = ADVERSARIES[name]()
    histogram, total = ExponentialHistogram(eps, 1500), SlidingSum(eps, 1500, 1)
    for start in range(0, len(times), 371):
        part = slice(start, start + 371)
        histogram.add_many(times[part], bits[part])
        total.add_many(times[part], bits[part])
        now = int(times[part][-1])
        windows = [*range(1, 40), *range(40, 1500, 97), 1500]
        assert_right(histogram, times[: start + 371], bits[: start + 371], now, windows)
        assert_right(total, times[: start + 371], bits[: start + 371], now, windows)
        active = int(truths(times[: start + 371], bits[: start + 371], now, 1500)[-1])
        assert len(histogram.buckets) <= literal_bound(eps, active)
    for later in range(0, 1500, 111):  # silence: buckets leave from the old end
        histogram.advance(int(times[-1]) + later)
        assert_right(histogram, times, bits, int(times[-1]) + later, [1, 100, 700, 1499, 1500])


@pytest.mark.parametrize("eps", [0.5, 0.1, 0.02])
def test_one_by_one_and_together_give_the_same_buckets_while_nothing_leaves(eps: float) -> None:
    rng = np.random.default_rng(3)
    times = np.sort(rng.integers(0, 1000, 3000))
    singly, together = ExponentialHistogram(eps, 10_000), ExponentialHistogram(eps, 10_000)
    for start in range(0, 3000, 500):
        together.add_many(times[start : start + 500])
        for time in times[start : start + 500].tolist():
            singly.add(time)
        assert singly.to_bytes() == together.to_bytes()


def test_the_bucket_bound_holds_for_every_count() -> None:
    for eps in EPS:
        histogram = ExponentialHistogram(eps, 10**9)
        for units in range(1, 3000):
            histogram.add(units)
            assert len(histogram.buckets) <= literal_bound(eps, units)


def test_single_values_wait_in_a_buffer_that_is_bounded() -> None:
    total = SlidingSum(0.1, 100, 10)
    for time in range(1000):
        total.add(time, 10)
        assert len(total._times) <= BUFFER
        assert_right(total, np.arange(time + 1), np.full(time + 1, 10), time, [1, 50, 100])


@pytest.mark.parametrize("parts", [2, 4, 8, 16])
@pytest.mark.parametrize("kind", ["count", "sum"])
def test_merging_in_a_tree_costs_a_generation_for_each_level(parts: int, kind: str) -> None:
    rng = np.random.default_rng(parts)
    times = np.sort(rng.integers(0, 2000, 20_000))
    values = rng.integers(0, 2 if kind == "count" else 500, 20_000)
    owner = rng.integers(0, parts, 20_000)
    make = (lambda: ExponentialHistogram(0.1, 1000)) if kind == "count" else (lambda: SlidingSum(0.1, 1000, 500))
    level: list[Any] = []
    for part in range(parts):
        synopsis = make()
        synopsis.add_many(times[owner == part], values[owner == part])
        level.append(synopsis)
    while len(level) > 1:
        level = [one.merge(two) for one, two in zip(level[::2], level[1::2], strict=True)]
    merged = level[0]
    ratio = (1 + 1 / 5) ** (1 + math.log2(parts))
    assert merged.error == pytest.approx((ratio - 1) / (ratio + 1))
    again = type(merged).from_bytes(merged.to_bytes())
    assert again.error == merged.error
    assert_right(again, times, values, int(times[-1]))
    merged.add_many(times + 2000, values)
    assert_right(merged, np.concatenate([times, times + 2000]), np.concatenate([values, values]), int(times[-1]) + 2000)


@settings(max_examples=60, deadline=None)
@given(first=streams(50), second=streams(50), eps=st.sampled_from(EPS))
def test_merged_sums_keep_their_bounds(first: Any, second: Any, eps: float) -> None:
    parts = []
    for times, values, cuts in (first, second):
        parts.append(feed(SlidingSum(eps, LARGEST, 50), times, values, cuts, True))
    merged = parts[0].merge(parts[1])
    times, values = np.concatenate([first[0], second[0]]), np.concatenate([first[1], second[1]])
    assert_right(merged, times, values, int(times.max()))


# Groups


def group_truths(
    slots: np.ndarray, times: np.ndarray, values: np.ndarray, now: int, window: int, groups: int
) -> np.ndarray:
    inside = (times > now - window) & (times <= now)
    return np.bincount(slots[inside], weights=values[inside], minlength=groups).astype(np.int64)


def assert_groups_right(grouped: Any, slots: np.ndarray, times: np.ndarray, values: np.ndarray, now: int) -> None:
    for window in {1, 2, 3, 10, 25, grouped.window // 2, grouped.window - 1, grouped.window}:
        found = grouped.estimate(None, window, now)
        truth = group_truths(slots, times, values, now, window, len(grouped))
        assert (found.lower <= truth).all()
        assert (truth <= found.upper).all()
        assert (np.abs(found.value - truth) <= grouped.error * truth + 1e-9).all()


@pytest.mark.parametrize("window", [LARGEST, 1 << 31])
@pytest.mark.parametrize("kind", ["count", "sum"])
@settings(max_examples=40, deadline=None)
@given(data=st.data())
def test_every_group_is_within_eps(kind: str, window: int, data: st.DataObject) -> None:
    eps = data.draw(st.sampled_from(EPS))
    most = 1 if kind == "count" else data.draw(st.sampled_from([1, 30, 10**9]))
    times, values, cuts = data.draw(streams(most))
    slots = np.random.default_rng(data.draw(st.integers(0, 1000))).integers(0, data.draw(st.integers(1, 6)), len(times))
    grouped: Any = GroupedExponentialHistogram(eps, window) if kind == "count" else GroupedSlidingSum(eps, window, most)
    for start, stop in zip([0, *cuts], [*cuts, len(times)], strict=True):
        grouped.add_many(slots[start:stop], times[start:stop], values[start:stop])
        grouped = type(grouped).from_bytes(grouped.to_bytes())
    now = int(times[-1])
    assert grouped.error <= eps
    assert_groups_right(grouped, slots, times, values, now)
    if kind == "count":
        active = group_truths(slots, times, values, now, window, len(grouped))
        grouped.advance(now)
        assert all(b <= literal_bound(eps, int(n)) for b, n in zip(grouped.buckets(), active, strict=True))


@pytest.mark.parametrize("kind", ["count", "sum"])
@settings(max_examples=30, deadline=None)
@given(first=streams(20), second=streams(20), eps=st.sampled_from(EPS), groups=st.integers(1, 5))
def test_merged_groups_keep_their_bounds(kind: str, first: Any, second: Any, eps: float, groups: int) -> None:
    parts: list[Any] = []
    columns = []
    for times, values, _ in (first, second):
        values = np.minimum(values, 1) if kind == "count" else values
        slots = np.random.default_rng(len(times)).integers(0, groups, len(times))
        part: Any = (
            GroupedExponentialHistogram(eps, LARGEST) if kind == "count" else GroupedSlidingSum(eps, LARGEST, 20)
        )
        part.add_many(slots, times, values)
        parts.append(part)
        columns.append((slots, times, values))
    merged = parts[0].merge(parts[1])
    slots, times, values = (np.concatenate(pair) for pair in zip(*columns, strict=True))
    assert_groups_right(merged, slots, times, values, int(times.max()))


VALUES = {
    "falling": lambda n: np.maximum(1, (1e9 * 0.98 ** np.arange(n))).astype(int),
    "rising": lambda n: np.minimum(1e9, 1.02 ** np.arange(n)).astype(int) + 1,
    "saw": lambda n: (1e9 * 0.9 ** (np.arange(n) % 150)).astype(int) + 1,
    "mostly small": lambda n: np.where(np.arange(n) % 101 == 0, 10**9, 1),
    "random": lambda n: (10 ** (np.random.default_rng(1).random(n) * 9)).astype(int),
}


@pytest.mark.parametrize("name", list(VALUES))
def test_sums_in_groups_need_a_bucket_for_each_growth_of_the_total(name: str) -> None:
    """Not more than twice the canonical bound, whatever the order of the values."""
    values = VALUES[name](2400)
    for eps in (0.3, 0.05):
        grouped = GroupedSlidingSum(eps, 2000, 10**9 + 1)
        for start in range(0, 2400, 50):
            part = slice(start, start + 50)
            grouped.add_many(np.zeros(50, dtype=int), np.arange(2400)[part], values[part])
            inside = values[max(0, start + 50 - 2000) : start + 50]
            assert grouped.buckets()[0] <= 2 * literal_bound(eps, int(inside.sum()))
        assert_groups_right(grouped, np.zeros(2400, dtype=int), np.arange(2400), values, 2399)


# Chance


@pytest.mark.slow
@pytest.mark.parametrize("count", [10, 100, 3000, 100_000])
def test_distinct_values_are_within_eps_at_the_rate(count: int) -> None:
    right = 0
    for seed in range(150):
        synopsis = SlidingDistinct(0.05, 1000, rate=0.9, seed=seed)
        values = np.arange(count)
        synopsis.add_many(np.arange(count) * 999 // count, values)
        synopsis.add_many(np.full(count, 999), values)  # each a second time
        found = synopsis.distinct()
        right += found.lower <= count <= found.upper
    assert right >= 150 * 0.9 - 3 * math.sqrt(150 * 0.09)


@pytest.mark.slow
@pytest.mark.parametrize("p", [1, 1.3, 1.7, 2])
def test_norms_are_within_eps_at_the_rate(p: float) -> None:
    right = 0
    for seed in range(40):
        rng = np.random.default_rng(seed)
        keys, amounts = rng.zipf(1.5, 600) % 200, rng.integers(0, 20, 600)
        synopsis = SlidingLp(p, 0.3, 300, rate=0.9, seed=seed)
        synopsis.add_many(np.arange(600), keys, amounts)
        window = int(rng.integers(1, 301))
        vector = np.bincount(keys[600 - window :], weights=amounts[600 - window :])
        truth = float((vector**p).sum() ** (1 / p))
        found = synopsis.norm(window)
        right += abs(found.value - truth) <= 0.3 * truth
    assert right >= 40 * 0.9 - 3 * math.sqrt(40 * 0.09)


def test_distinct_values_of_both_sides_count_once() -> None:
    parts = []
    for shift in (0, 500, 1000):
        part = SlidingDistinct(0.05, 100)
        part.add_many(np.arange(2000) // 20, np.arange(2000) + shift)
        parts.append(part)
    whole = SlidingDistinct(0.05, 100)
    for time in range(100):
        for shift in (0, 500, 1000):
            whole.add_many(np.full(20, time), np.arange(20 * time, 20 * time + 20) + shift)
    merged = reduce(lambda one, two: one.merge(two), parts)
    assert merged.to_bytes() == whole.to_bytes()
