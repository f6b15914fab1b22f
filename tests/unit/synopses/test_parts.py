"""Extremes, bins, hash tables, hashes and the layout in bytes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from millpond.synopses import (
    Estimate,
    ExponentialHistogram,
    SlidingDistinct,
    SlidingExtremes,
    SlidingHashTable,
    SlidingHistogram,
    SlidingLp,
    SlidingMean,
    SlidingSum,
    SlidingVariance,
    SynopsisError,
)
from millpond.synopses.hashing import hashed
from millpond.synopses.layout import StateWriter, unseal

WHOLE = st.integers(-(1 << 62), (1 << 62) - 1)


def test_the_harmonic_mean_is_the_value_with_the_least_error() -> None:
    best = Estimate.between(10, 30)
    assert best.value == 15
    assert best.error == pytest.approx(0.5)
    assert all(Estimate(v, 10, 30).error > best.error for v in (12, 14, 16, 20))
    assert 12 in best
    assert 31 not in best
    assert Estimate.between(0, 5).value == 0
    assert Estimate.exactly(3).error == 0


@settings(max_examples=200, deadline=None)
@given(st.lists(WHOLE, max_size=50), st.lists(st.integers(-5, 300), max_size=300))
def test_numbers_come_back_from_bytes(far: list[int], near: list[int]) -> None:
    writer = StateWriter()
    writer.numbers(far)
    writer.numbers(near)
    writer.array(np.array(near, dtype=np.int32).reshape(-1, 1))
    writer.raw(b"abc")
    data = writer.seal(b"TEST", 3)
    reader = unseal(data, b"TEST", 3)
    assert reader.numbers().tolist() == far
    assert reader.numbers().tolist() == near
    assert reader.array().reshape(-1).tolist() == near
    assert reader.raw() == b"abc"
    reader.end()


def test_bytes_of_version_one_are_as_they_were() -> None:
    """Written once and kept here: later versions must read them."""
    histogram = ExponentialHistogram(0.5, 100)
    histogram.add_many([1, 2, 3, 3, 5, 8, 13])
    kept = KEPT_HISTOGRAM
    assert histogram.to_bytes().hex() == kept
    assert ExponentialHistogram.from_bytes(bytes.fromhex(kept)).count(10) == histogram.count(10)


KEPT_HISTOGRAM = (
    "4d5053594548495301006b0000000000000058486764000000000000e03f640000000000000000000000000000000d000000"
    "0000000007000000000000000100000000000000000000000000000001000000000000000d00000000000000000100000000"
    "0000000800000000000000000100000000000000030000000000000000"
)


@settings(max_examples=100, deadline=None)
@given(
    rows=st.lists(st.tuples(st.integers(0, 6), st.integers(-5, 5)), min_size=1, max_size=120),
    window=st.integers(1, 40),
    cut=st.integers(0, 120),
    integers=st.booleans(),
)
def test_extremes_are_exact(rows: list[tuple[int, int]], window: int, cut: int, integers: bool) -> None:
    times, values = np.cumsum([gap for gap, _ in rows]), np.array([value for _, value in rows])
    extremes = SlidingExtremes(window, integers=integers)
    extremes.add_many(times[:cut], values[:cut])
    for time, value in zip(times[cut:].tolist(), values[cut:].tolist(), strict=True):
        extremes.add(time, value)
    for length in range(1, window + 1):
        inside = values[times > times[-1] - length]
        assert (extremes.min(length), extremes.max(length)) == (inside.min(), inside.max())
    assert extremes.min(1, int(times[-1]) + 1) is None


def test_extremes_of_values_that_fall_are_few_and_of_rising_ones_all() -> None:
    falling, rising = SlidingExtremes(100), SlidingExtremes(100)
    for time in range(1000):
        falling.add(time, -time)
        rising.add(time, time)
    for one in (falling, rising):
        assert 100 <= sum(len(end.times) for end in one._ends) <= 202


def test_values_that_have_no_order_or_lose_digits_are_refused() -> None:
    for value in (float("nan"), "x", (1 << 53) + 1):
        with pytest.raises(SynopsisError):
            SlidingExtremes(10).add(1, value)
    large = SlidingExtremes(10, integers=True)
    large.add_many([1, 2], [(1 << 53) + 1, -(1 << 60) - 1])
    assert (large.min(), large.max()) == (-(1 << 60) - 1, (1 << 53) + 1)
    with pytest.raises(SynopsisError):
        large.add(3, 1.5)


@pytest.mark.parametrize("over_rows", [False, True])
def test_bins_count_what_falls_between_their_boundaries(over_rows: bool) -> None:
    rng = np.random.default_rng(1)
    values = rng.normal(size=3000)
    times = None if over_rows else np.arange(1, 3001)
    histogram = SlidingHistogram([-1, 0, 1], 0.1, 500, rows=over_rows)
    for start in range(0, 3000, 1000):
        part = slice(start, start + 1000)
        histogram.add_many(None if times is None else times[part], values[part])
    histogram = SlidingHistogram.from_bytes(histogram.to_bytes())
    for window in (1, 77, 500):
        truth = np.histogram(values[-window:], [-np.inf, -1, 0, 1, np.inf])[0]
        found = histogram.counts(window)
        assert (found.lower <= truth).all()
        assert (truth <= found.upper).all()
        assert (np.abs(found.value - truth) <= 0.1 * truth).all()


def test_a_hash_table_counts_its_buckets() -> None:
    words = np.array(["river", "stream", "pond", "mill"] * 300)
    left, right = SlidingHashTable(64, 0.1, 100), SlidingHashTable(64, 0.1, 100)
    times = np.arange(1200) // 4
    left.add_many(times, words)
    right.add_many(times, words)
    bucket = left.bucket_of(["pond"])[0]
    assert left.counts(50).lower[bucket] <= 50 <= left.counts(50).upper[bucket]
    both = left.merge(right).counts(50)
    assert both.lower[bucket] <= 100 <= both.upper[bucket]
    with pytest.raises(SynopsisError, match="do not merge"):
        left.merge(SlidingHashTable(64, 0.1, 100, seed=1))


@pytest.mark.parametrize("boundaries", [[], [1, 1], [2, 1], [[1]], [float("nan"), 1]], ids=str)
def test_boundaries_increase(boundaries: Any) -> None:
    with pytest.raises(SynopsisError, match="boundaries"):
        SlidingHistogram(boundaries, 0.1, 10)


def test_hashes_are_the_same_in_every_process() -> None:
    assert hashed([1, 2]).tolist() == hashed(np.array([1, 2], dtype=np.int8)).tolist() == HASHES["numbers"]
    assert (
        hashed(["pond", ""]).tolist() == hashed(np.array(["pond", "", "a longer text"]))[:2].tolist() == HASHES["texts"]
    )
    assert hashed([b"pond"]).tolist() == HASHES["bytes"]
    assert hashed([0.0]).tolist() == hashed([-0.0]).tolist()
    assert hashed(np.array(["a", "b"], dtype=object)).tolist() == hashed(["a", "b"]).tolist()
    assert hashed([1], seed=1) != hashed([1])
    with pytest.raises(SynopsisError, match="different types"):
        hashed(np.array([1, "a"], dtype=object))
    with pytest.raises(SynopsisError, match="cannot be hashed"):
        hashed(np.array([1j]))


HASHES = {
    "numbers": [627405149472732430, 15549969042648332857],
    "texts": [9043962277861870117, 12035550249420947055],
    "bytes": [9043962277861870117],
}


def test_a_mean_of_nothing_is_not_a_number() -> None:
    for empty in (SlidingMean(0.1, 10).mean(), SlidingVariance(0.1, 10).variance()):
        assert all(np.isnan(empty))


def test_deviation_is_the_root_of_variance() -> None:
    synopsis = SlidingVariance(0.05, 100, 1000)
    synopsis.add_many(np.arange(200), np.arange(200) % 2 * 1000)
    assert synopsis.deviation().lower <= 500 <= synopsis.deviation().upper
    assert synopsis.deviation().value == pytest.approx(synopsis.variance().value ** 0.5)


def test_values_outside_what_was_declared_are_refused_before_anything_is_taken() -> None:
    for synopsis in (SlidingSum(0.1, 10, 5), SlidingMean(0.1, 10, 5), SlidingVariance(0.1, 10, 5)):
        state = synopsis.to_bytes()
        for bad in ([6], [-1], [1.5]):
            with pytest.raises(SynopsisError, match="value"):
                synopsis.add_many([1], bad)
            with pytest.raises(SynopsisError, match="value"):
                synopsis.add(1, bad[0])
        assert synopsis.to_bytes() == state


def test_norms_are_for_p_from_one_to_two_and_need_keys() -> None:
    for p in (0.9, 2.1):
        with pytest.raises(SynopsisError, match="p must be"):
            SlidingLp(p, 0.1, 10)
    norm = SlidingLp(2, 0.5, 10)
    with pytest.raises(SynopsisError, match="1 key and 2 amounts"):
        norm.add_many([1], [1], [1, 2])
    norm.add_many([1, 1], [7, 7], [3, 0])
    assert norm.norm().value == pytest.approx(3, rel=0.5)
    assert norm.norm(now=11).value == 0


def test_buckets_of_a_norm_keep_their_invariants() -> None:
    rng = np.random.default_rng(6)
    norm = SlidingLp(2, 0.5, 400)
    norm.add_many(np.arange(3000), rng.integers(0, 50, 3000))
    newer = 0.0
    buckets = norm._buckets[::-1]
    for bucket, older in zip(buckets, [*buckets[1:], None], strict=True):
        assert bucket.single or bucket.f <= 2 * 1.3 * newer / norm.k  # a sketch tells f within some 30 %
        assert older is None or bucket.f + older.f > newer / norm.k
        newer += bucket.f
    assert len(norm) < 150


def test_distinct_needs_a_rate_and_an_eps_that_can_be() -> None:
    with pytest.raises(SynopsisError, match="rate"):
        SlidingDistinct(0.1, 10, rate=1.0)
    with pytest.raises(SynopsisError, match="registers"):
        SlidingDistinct(0.0001, 10)


def test_equal_numbers_are_one_value_whatever_their_type() -> None:
    numbers = [7.0, -0.0, 2.0**53, -3.0, 7.5, 1e300, float("nan"), float("inf")]
    whole = [7, 0, 2**53, -3]
    assert hashed(np.array(numbers))[:4].tolist() == hashed(np.array(whole)).tolist()
    assert len(set(hashed(np.array(numbers)).tolist())) == len(numbers)
    distinct = SlidingDistinct(0.05, 1000)
    distinct.add_many([1, 2], [7, 7.5])
    distinct.add(3, 7)
    assert round(distinct.distinct().value) == 2


def test_a_histogram_counts_and_does_not_add_up() -> None:
    histogram = ExponentialHistogram(0.1, 10)
    with pytest.raises(SynopsisError, match="1, or it does not, 0"):
        histogram.add_many([1, 2, 3], [2, 0, 5])
    histogram.add_many([1, 2, 3, 4], [1.0, 0.0, 1.0, 0.0])
    histogram.add_many([5, 6], [True, False])
    assert histogram.count().value == 3


def test_a_norm_that_would_not_fit_is_refused() -> None:
    with pytest.raises(SynopsisError, match="would take"):
        SlidingLp(2, 0.01, 10)


def test_what_cannot_be_hashed_is_told_by_its_type() -> None:
    with pytest.raises(SynopsisError, match="of type NoneType"):
        SlidingDistinct(0.1, 10).add(5, None)
    with pytest.raises(SynopsisError, match="different types"):
        SlidingDistinct(0.1, 10).add_many([1, 2], np.array(["a", 1], dtype=object))
