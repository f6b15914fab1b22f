"""Counts and sums in groups: slots, the time line, memory, and what a query calls."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from millpond.synopses import (
    ExponentialHistogram,
    GroupedExponentialHistogram,
    GroupedSlidingDistinct,
    GroupedSlidingSum,
    SynopsisError,
)

KINDS: dict[str, Any] = {"count": GroupedExponentialHistogram, "sum": GroupedSlidingSum}
both_kinds = pytest.mark.parametrize("kind", list(KINDS))


@both_kinds
def test_few_rows_are_exact(kind: str) -> None:
    grouped = KINDS[kind](0.05, 10)
    grouped.add_many([2, 0, 2], [1, 2, 9])
    found = grouped.estimate()
    assert found.value.tolist() == found.lower.tolist() == found.upper.tolist() == [1, 0, 2]
    assert grouped.estimate([2, 2], window=1).value.tolist() == [1, 1]
    assert grouped.estimate([0], now=12).value.tolist() == [0]


@both_kinds
def test_nothing_is_nothing(kind: str) -> None:
    grouped = KINDS[kind](0.05, 10)
    grouped.add_many([], [])
    assert len(grouped) == 0
    assert len(grouped.estimate().value) == 0
    assert len(KINDS[kind].from_bytes(grouped.to_bytes())) == 0
    assert len(grouped.merge(KINDS[kind](0.05, 10))) == 0


@both_kinds
def test_rows_that_cannot_be_taken_are_refused_whole(kind: str) -> None:
    grouped = KINDS[kind](0.05, 10)
    grouped.add_many([0, 1], [5, 6])
    state = grouped.to_bytes()
    bad: list[tuple[Any, Any, Any]] = [
        ([0, 1], [7, 6], None),
        ([0], [5], None),
        ([-1], [7], None),
        ([1 << 31], [7], None),
        ([0, 1], [7], None),
        ([0], [7], [1, 1]),
        ([0.5], [7], None),
    ]
    if kind == "sum":
        bad += [([0], [7], [-1]), ([0], [7], [1 << 31]), ([0], [7], [0.5])]
    for slots, times, values in bad:
        with pytest.raises(SynopsisError):
            grouped.add_many(slots, times, values)
        assert grouped.to_bytes() == state
    for slots in ([2], [-1]):
        with pytest.raises(SynopsisError, match="slot"):
            grouped.estimate(slots)


def test_a_total_that_does_not_fit_is_refused() -> None:
    grouped = GroupedSlidingSum(0.1, 10, max_value=1 << 61)
    grouped.add_many([0], [1], [1 << 61])
    with pytest.raises(SynopsisError, match="too large"):
        grouped.add_many([0], [2], [1 << 61])


def test_values_of_any_size_keep_the_error() -> None:
    rng = np.random.default_rng(9)
    values = (2.0 ** (rng.random(400) * 52)).astype(np.int64)
    grouped = GroupedSlidingSum(0.01, 300, max_value=1 << 52)
    for start in range(0, 400, 40):
        grouped.add_many(np.zeros(40, dtype=int), np.arange(start, start + 40), values[start : start + 40])
    for window in (1, 10, 100, 250, 300):
        found, truth = grouped.estimate(window=window), int(values[-window:].sum())
        assert found.lower[0] <= truth <= found.upper[0]
        assert abs(found.value[0] - truth) <= 0.01 * truth


def test_a_group_is_an_exponential_histogram() -> None:
    rng = np.random.default_rng(2)
    times, slots = np.sort(rng.integers(0, 900, 5000)), rng.integers(0, 4, 5000)
    grouped = GroupedExponentialHistogram(0.1, 1000)
    singles = [ExponentialHistogram(0.1, 1000) for _ in range(4)]
    for start in range(0, 5000, 700):
        part = slice(start, start + 700)
        grouped.add_many(slots[part], times[part])
        for slot, single in enumerate(singles):
            single.add_many(times[part][slots[part] == slot])
    assert grouped.buckets().tolist() == [len(single.buckets) for single in singles]
    for window in (1, 30, 333, 1000):
        found = grouped.estimate(window=window, now=905)
        assert list(zip(*found, strict=True)) == [single.estimate(window, 905) for single in singles]


@both_kinds
def test_cleared_groups_begin_anew_and_their_memory_is_used_again(kind: str) -> None:
    grouped = KINDS[kind](0.5, 1000)
    rng = np.random.default_rng(1)
    sizes = []
    for turn in range(20):
        grouped.add_many(rng.integers(0, 100, 5000), np.full(5000, turn))
        sizes.append(grouped.nbytes)
        grouped.clear(np.arange(100))
        assert grouped.estimate().upper.sum() == 0
    assert max(sizes) < 1.3 * sizes[0]


@both_kinds
def test_idle_slots_are_those_with_an_empty_window(kind: str) -> None:
    grouped = KINDS[kind](0.1, 10)
    grouped.add_many([0, 1, 3, 1], [1, 5, 6, 8])
    assert grouped.idle().tolist() == [2]
    assert grouped.idle(now=11).tolist() == [0, 2]
    grouped.advance(17)
    assert grouped.idle().tolist() == [0, 2, 3]
    assert grouped.buckets().tolist() == [0, 0, 0, 0] or grouped.buckets()[1] == 1


@both_kinds
def test_memory_does_not_grow_with_what_has_left_the_window(kind: str) -> None:
    grouped = KINDS[kind](0.1, 100)
    rng = np.random.default_rng(4)
    sizes = []
    for turn in range(60):
        grouped.add_many(rng.integers(0, 50, 4000), np.sort(rng.integers(50 * turn, 50 * turn + 50, 4000)))
        sizes.append(grouped.nbytes)
    assert max(sizes[30:]) <= 1.1 * max(sizes[:10])


@both_kinds
@pytest.mark.parametrize("step", [1 << 20, 1 << 28, 1 << 33])
def test_short_times_go_on_counting_past_their_range(kind: str, step: int) -> None:
    """Times of 32 bits are counted from a base that moves."""
    window = 1 << 29
    grouped = KINDS[kind](0.2, window)
    rng = np.random.default_rng(3)
    times, slots = np.empty(0, dtype=int), np.empty(0, dtype=int)
    begin = 10**15
    for turn in range(12):
        new = np.sort(rng.integers(begin + turn * step, begin + (turn + 1) * step, 300))
        where = rng.integers(0, 3, 300)
        grouped.add_many(where, new)
        times, slots = np.append(times, new), np.append(slots, where)
        now = int(new[-1])
        for length in (1, step // 2 % window + 1, window):
            found = grouped.estimate(window=length)
            truth = np.bincount(slots[times > now - length], minlength=3)
            assert (found.lower <= truth).all()
            assert (truth <= found.upper).all()
            assert (np.abs(found.value - truth) <= 0.2 * truth).all()
        grouped = KINDS[kind].from_bytes(grouped.to_bytes())


def test_different_parameters_do_not_merge() -> None:
    for one, two in (
        (GroupedSlidingSum(0.1, 10), GroupedSlidingSum(0.1, 11)),
        (GroupedSlidingSum(0.1, 10), GroupedSlidingSum(0.1, 10, 5)),
        (GroupedSlidingSum(0.1, 10), GroupedExponentialHistogram(0.1, 10)),
    ):
        with pytest.raises(SynopsisError, match="do not merge"):
            one.merge(two)  # type: ignore[arg-type]


def test_merging_takes_apart_some_groups_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(8)
    parts = []
    for _ in range(2):
        part = GroupedExponentialHistogram(0.2, 1000)
        part.add_many(rng.integers(0, 30, 3000), np.sort(rng.integers(0, 500, 3000)))
        parts.append(part)
    at_once = parts[0].merge(parts[1])
    monkeypatch.setattr("millpond.synopses.grouped.AT_ONCE", 100)
    assert parts[0].merge(parts[1]).to_bytes() == at_once.to_bytes()


def test_bytes_keep_the_largest_value() -> None:
    one = GroupedSlidingSum(0.1, 60, 1 << 50)
    one.add_many([0], [1], [1 << 40])
    again = GroupedSlidingSum.from_bytes(one.to_bytes())
    assert again.parameters() == one.parameters()
    again.add_many([0], [2], [1 << 50])
    assert again.estimate().value[0] == (1 << 40) + (1 << 50)


def test_large_values_come_among_small_ones() -> None:
    """Sizes take more room from then on, in their level, and nothing else changes."""
    one, parts = GroupedSlidingSum(0.1, 1000, 1 << 50), []
    for time in range(60):
        values = [3, (1 << 40) if time == 30 else 5]
        one.add_many([0, 1], [time, time], values)
        parts.append(values)
        if time in (10, 45):
            one = GroupedSlidingSum.from_bytes(one.to_bytes())
        if time == 50:
            small = GroupedSlidingSum(0.1, 1000, 1 << 50)
            small.add_many([0, 1], [0, 0], [1, 1])
            small.clear([0, 1])
            small.absorb(one.part([1, 0]), [0, 1])
            assert small.estimate().value.tolist() == one.estimate([1, 0]).value.tolist()
    for slot, total in enumerate(np.sum(parts, axis=0).tolist()):
        found = one.estimate([slot])
        assert found.lower[0] <= total <= found.upper[0]
        assert abs(found.value[0] - total) <= 0.1 * total
    assert {str(level.sizes.dtype) for level in one._levels} == {"int32", "int64"}


EVERY: dict[str, Any] = {**KINDS, "distinct": GroupedSlidingDistinct}


@pytest.mark.parametrize("kind", list(EVERY))
@pytest.mark.parametrize("window", [60, 1 << 40], ids=["short times", "long times"])
@pytest.mark.parametrize("begin", [0, (1 << 30) - 300])
def test_groups_can_be_taken_out_and_put_elsewhere(kind: str, window: int, begin: int) -> None:
    """In parts taken at different times, while rows come; put together they go on like the one they are from."""
    random = np.random.default_rng(3)
    one, again = EVERY[kind](0.1, window), EVERY[kind](0.1, window)
    stands, rows, places = np.full(12, -1), [], random.permutation(12)
    for time in range(begin, begin + 450):
        slots, values = random.integers(0, 12, 20), random.integers(1, 50, 20)
        values = values % 2 if kind == "count" else values
        if time == begin:
            slots[:12] = np.arange(12)
        rows.append((time, slots, values))
        one.add_many(slots, np.full(20, time), values)
        if time in (begin + 150, begin + 250, begin + 400):
            part = np.flatnonzero(np.arange(12) % 3 == [150, 250, 400].index(time - begin))
            stands[part] = time
            taken = EVERY[kind].from_bytes(one.part(part).to_bytes())
            assert taken.estimate().value.tolist() == one.estimate(part).value.tolist()
            again.absorb(taken, places[part])
    for time, slots, values in rows:
        missing = time > stands[slots]
        again.add_many(places[slots[missing]], np.full(missing.sum(), time), values[missing])
    now = begin + 449
    for length in (1, 20, 60):
        right, found = one.estimate(window=length, now=now), again.estimate(places, window=length, now=now)
        assert found.value.tolist() == right.value.tolist()
        assert found.lower.tolist() == right.lower.tolist()


@pytest.mark.parametrize("kind", list(EVERY))
def test_groups_go_only_where_they_fit(kind: str) -> None:
    one = EVERY[kind](0.1, 60)
    one.add_many([0, 1], [1, 2], [1, 1])
    with pytest.raises(SynopsisError, match="parameters"):
        EVERY[kind](0.2, 60).absorb(one, [0, 1])
    with pytest.raises(SynopsisError, match="slot"):
        EVERY[kind](0.1, 60).absorb(one, [0])
