"""Norms in groups: exact while a group is small, within the error when it has a sketch, whatever the batches."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from millpond.synopses import GroupedSlidingLp, SynopsisError, grouped_norms

GROUPS = 6


def right(rows: list[tuple[int, int, int]], p: float, slot: int, begin: int) -> float:
    values = [v for s, t, v in rows if s == slot and t > begin]
    often = np.unique(values, return_counts=True)[1].astype(float)
    return float((often**p).sum() ** (1 / p))


def batches(seed: int, turns: int) -> Any:
    random = np.random.default_rng(seed)
    time = 0
    for _ in range(turns):
        count = int(random.integers(0, 300))
        slots = random.choice(GROUPS, count, p=[0.6, 0.2, 0.1, 0.05, 0.04, 0.01])
        times = np.sort(random.integers(time, time + 9, count))
        values = random.zipf(1.4, count) % 200
        time = int(times[-1]) if count else time
        yield slots, times, values


@pytest.mark.parametrize("most", [60, 1 << 20], ids=["sketches", "exact"])
@pytest.mark.parametrize("p", [1, 1.5, 2])
def test_norms_are_those_of_the_window(p: float, most: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(grouped_norms, "_FEW", 50)
    grouped = GroupedSlidingLp(p, 0.2, 40, rate=0.999)
    grouped.most = most
    rows: list[tuple[int, int, int]] = []
    for slots, times, values in batches(int(10 * p), 25):
        grouped.add_many(slots, times, values)
        rows += zip(slots.tolist(), times.tolist(), values.tolist(), strict=True)
        now = grouped.timeline.now + 2
        for window in (5, 40):
            found = grouped.estimate(window=window, now=now)
            for slot in range(len(grouped)):
                truth = right(rows, p, slot, now - window)
                assert found.lower[slot] - 1e-9 <= truth <= found.upper[slot] + 1e-9
                assert abs(found.value[slot] - truth) <= (0.2 if slot in grouped._large else 1e-12) * truth
    assert bool(grouped._large) == (most == 60)
    again = GroupedSlidingLp.from_bytes(grouped.to_bytes())
    assert again.to_bytes() == grouped.to_bytes()
    assert again.estimate().value.tolist() == grouped.estimate().value.tolist()
    assert GroupedSlidingLp(p, 0.2, 40).error == 0.2 <= grouped.error < 0.21


def test_a_small_group_takes_less_than_a_sketch_would() -> None:
    grouped = GroupedSlidingLp(2, 0.1, 1000)
    grouped.add_many(np.arange(10_000) % 100, np.repeat(np.arange(100), 100), np.arange(10_000) % 7)
    assert grouped.nbytes < 100 * 100 * 32 + 10_000
    assert 100_000 < grouped.most < 1_000_000
    assert grouped.estimate().lower.tolist() == grouped.estimate().upper.tolist()


@pytest.mark.parametrize("most", [60, 1 << 20], ids=["sketches", "exact"])
def test_groups_move_and_go(most: int) -> None:
    one = GroupedSlidingLp(2, 0.2, 40)
    one.most = most
    for slots, times, values in batches(3, 10):
        one.add_many(slots, times, values)
    other = GroupedSlidingLp(2, 0.2, 40)
    other.most = most
    other.absorb(one.part([4, 0, 2]), [1, 7, 3])
    before = one.estimate()
    assert other.estimate([1, 7, 3], now=one.timeline.now).value.tolist() == before.value[[4, 0, 2]].tolist()
    for held, slots in ((one, [4, 0, 2]), (other, [1, 7, 3])):
        held.add_many(slots, np.full(3, one.timeline.now), [5, 5, 5])
    assert other.estimate([1, 7, 3]).upper.tolist() == one.estimate([4, 0, 2]).upper.tolist()
    one.clear([0, 2])
    assert one.estimate([0, 2]).upper.tolist() == [0, 0]
    assert one.estimate([1]).value == before.value[1]


@pytest.mark.parametrize("most", [60, 1 << 20], ids=["sketches", "exact"])
def test_merging_is_both_streams(most: int) -> None:
    one, two = GroupedSlidingLp(2, 0.2, 40, rate=0.999), GroupedSlidingLp(2, 0.2, 40, rate=0.999)
    one.most, two.most = most, most
    rows: list[tuple[int, int, int]] = []
    for turn, (slots, times, values) in enumerate(batches(5, 20)):
        (one if turn % 3 else two).add_many(slots, times, values)
        rows += zip(slots.tolist(), times.tolist(), values.tolist(), strict=True)
    both = one.merge(two)
    found = both.estimate()
    for slot in range(len(both)):
        truth = right(rows, 2, slot, both.timeline.now - 40)
        assert found.lower[slot] - 1e-9 <= truth <= found.upper[slot] + 1e-9
        assert abs(found.value[slot] - truth) <= both.error * truth + 1e-9
    with pytest.raises(SynopsisError, match="do not merge"):
        one.merge(GroupedSlidingLp(1.5, 0.2, 40))


def test_what_cannot_be_taken_changes_nothing() -> None:
    grouped = GroupedSlidingLp(2, 0.2, 40)
    assert grouped.estimate().value.tolist() == []
    grouped.add_many([0], [10], ["a"])
    before = grouped.to_bytes()
    for slots, times, values in (([0], [9], ["a"]), ([-1], [10], ["a"]), ([0, 1], [10, 11], ["a"])):
        with pytest.raises(SynopsisError):
            grouped.add_many(slots, times, values)
    with pytest.raises(SynopsisError):
        grouped.estimate([3])
    with pytest.raises(SynopsisError):
        GroupedSlidingLp(2.5, 0.2, 40)
    assert grouped.to_bytes() == before
