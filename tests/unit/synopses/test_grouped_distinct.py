"""Different values in groups: the estimates of a synopsis for each group, whatever the batches."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from millpond.synopses import GroupedSlidingDistinct, SlidingDistinct, SynopsisError, grouped_distinct


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("few", [1, 100, 1 << 12])
def test_estimates_are_those_of_a_synopsis_for_each_group(seed: int, few: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(grouped_distinct, "_FEW", few)
    monkeypatch.setattr(grouped_distinct, "_AT_ONCE", 3)
    random = np.random.default_rng(seed)
    grouped, single = (
        GroupedSlidingDistinct(0.1, 50, seed=seed),
        [SlidingDistinct(0.1, 50, seed=seed) for _ in range(8)],
    )
    time = 0
    for _ in range(30):
        count = int(random.integers(0, 400))
        slots = random.choice([0, 1, 2, 5, 7], count, p=[0.5, 0.3, 0.1, 0.09, 0.01])
        times = np.sort(random.integers(time, time + 9, count))
        values = random.zipf(1.3, count) % 3000
        grouped.add_many(slots, times, values)
        for slot in np.unique(slots):
            single[slot].add_many(times[slots == slot], values[slots == slot])
        time = int(times[-1]) if count else time
        for window in (1, 7, 50):
            found = grouped.estimate(window=window, now=time)
            for slot in range(len(grouped)):
                right = single[slot].estimate(window, time)
                assert (found.value[slot], found.lower[slot], found.upper[slot]) == tuple(right)
    again = GroupedSlidingDistinct.from_bytes(grouped.to_bytes())
    assert again.to_bytes() == grouped.to_bytes()
    assert again.estimate().value.tolist() == grouped.estimate().value.tolist()


def test_merging_is_adding_both() -> None:
    random = np.random.default_rng(1)
    one, two, both = (GroupedSlidingDistinct(0.1, 50) for _ in range(3))
    for time in range(100):
        slots, values = random.integers(0, 20, 100), random.integers(0, 500, 100)
        times = np.full(100, time)
        (one if time % 2 else two).add_many(slots, times, values)
        both.add_many(slots, times, values)
    assert one.merge(two).to_bytes() == both.to_bytes()
    with pytest.raises(SynopsisError, match="do not merge"):
        one.merge(GroupedSlidingDistinct(0.2, 50))


def test_texts_are_values_too_and_few_are_nearly_exact() -> None:
    grouped = GroupedSlidingDistinct(0.05, 10)
    grouped.add_many([0, 0, 1, 1], [1, 2, 3, 3], ["a", "b", "a", "a"])
    assert grouped.estimate().value.round(2).tolist() == [2, 1]
    assert grouped.estimate([1], now=12).value.round(2).tolist() == [1]
    assert grouped.estimate([0], now=12).value.tolist() == [0]


def test_groups_are_forgotten_and_memory_follows_the_window() -> None:
    grouped = GroupedSlidingDistinct(0.05, 10)
    grouped.add_many(np.arange(1000), np.zeros(1000, int), np.arange(1000))
    grouped.clear(np.arange(0, 1000, 2))
    assert grouped.estimate().value.round().tolist() == [0, 1] * 500
    before = grouped.nbytes
    grouped.add_many(np.zeros(9000, int), np.full(9000, 20), np.arange(9000))
    grouped.estimate()
    assert grouped._last.min() > 10
    assert before == 500 * 16


@pytest.mark.parametrize(
    ("slots", "times", "values"),
    [([0, 1], [7, 6], [1, 1]), ([0], [4], [1]), ([-1], [7], [1]), ([1 << 31], [7], [1]), ([0, 1], [7], [1, 1]), ([0], [7], [1, 1])],
)  # fmt: skip
def test_rows_that_cannot_be_taken_are_refused_whole(slots: Any, times: Any, values: Any) -> None:
    grouped = GroupedSlidingDistinct(0.05, 10)
    grouped.add_many([0, 1], [5, 6], [1, 2])
    state = grouped.to_bytes()
    with pytest.raises(SynopsisError):
        grouped.add_many(slots, times, values)
    assert grouped.to_bytes() == state
    with pytest.raises(SynopsisError, match="slot"):
        grouped.estimate([2])


@pytest.mark.parametrize(
    ("eps", "values"), [(0.1, 8), (0.1, 9), (0.1, 15), (0.3, 3), (0.05, 15), (0.05, 19), (0.1, 60)]
)
def test_the_rate_holds_for_few_values_too(eps: float, values: int) -> None:
    """Of few values, one that is lost by chance is more than the error that is allowed."""
    groups = 8000
    grouped = GroupedSlidingDistinct(eps, 10)
    slots = np.repeat(np.arange(groups), values)
    grouped.add_many(slots, np.ones(len(slots), dtype=np.int64), np.arange(len(slots)))
    right = np.abs(grouped.estimate().value - values) <= eps * values
    assert right.mean() >= 0.95 - 3 * (0.05 * 0.95 / groups) ** 0.5
