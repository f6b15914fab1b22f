"""Many series at once: slots, windows that come, go and change, and correlations against a plain computation."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from millpond.synopses import Correlation, Moving, Pairs, PairsAbove, SeriesMonitor, SynopsisError, TopPairs
from millpond.synopses.series import pairs as pairs_module


def fed(values: Any, keep: int, slide: int = 1, start: int = 1) -> SeriesMonitor:
    """`values[series, slot]`, one slot after another."""
    cells = np.asarray(values, dtype=float)
    monitor = SeriesMonitor(len(cells), keep * slide, slide)
    for slot, column in enumerate(cells.T, start):
        monitor.add_slot(slot * slide, column)
    return monitor


def related(rng: np.random.Generator, series: int, slots: int) -> Any:
    """Some follow one of a few leaders, some of them upside down; some go alone, and one does not move."""
    leaders = rng.standard_normal((4, slots)).cumsum(axis=1)
    own = rng.standard_normal((series, slots)).cumsum(axis=1)
    share = rng.uniform(0, 1, series)[:, None]
    sign = rng.choice([-1, 1], series)[:, None]
    values = sign * share * leaders[rng.integers(0, 4, series)] + (1 - share) * own
    values = values * 10 ** rng.uniform(-3, 3, series)[:, None] + 10 ** rng.uniform(-3, 3, series)[:, None]
    values[series // 2] = 7.25
    return values


def by_hand(values: Any) -> dict[tuple[int, int], float]:
    """The correlation of each pair, one at a time, in long double where there is one."""
    rows = np.asarray(values, dtype=np.longdouble)
    found = {}
    for a in range(len(rows)):
        for b in range(a + 1, len(rows)):
            x, y = rows[a] - rows[a].mean(), rows[b] - rows[b].mean()
            if np.ptp(rows[a]) > 0 and np.ptp(rows[b]) > 0:
                found[a, b] = float((x * y).sum() / np.sqrt((x * x).sum() * (y * y).sum()))
    return found


def as_dict(pairs: Pairs) -> dict[tuple[int, int], float]:
    keys = zip(pairs.first.tolist(), pairs.second.tolist(), strict=True)
    found = dict(zip(keys, pairs.correlation.tolist(), strict=True))
    assert len(found) == len(pairs)
    return found


@given(
    seed=st.integers(0, 10_000),
    shape=st.tuples(st.integers(1, 5), st.integers(1, 80)),
    keep=st.integers(1, 40),
    window=st.integers(1, 40),
)
@settings(max_examples=40, deadline=None)
def test_moving_statistics_are_those_of_the_last_slots(
    seed: int, shape: tuple[int, int], keep: int, window: int
) -> None:
    rng = np.random.default_rng(seed)
    values = rng.normal(1e6, 3, shape)
    values[rng.random(shape) < 0.3] = np.nan
    monitor = fed(values, max(keep, window))
    found = monitor.ask(Moving(window))
    for series in range(shape[0]):
        row, held = [], np.nan
        for value in values[series]:
            held = value if not np.isnan(value) else held
            row.append(held)
        last = [v for v in row[-window:] if not np.isnan(v)]
        assert found["count"][series] == len(last)
        if last:
            assert found["mean"][series] == pytest.approx(np.mean(last), rel=1e-12)
            assert found["deviation"][series] == pytest.approx(np.std(last), rel=1e-9, abs=1e-9)
            assert found["min"][series] == min(last)
            assert found["max"][series] == max(last)
        else:
            assert np.isnan([found[name][series] for name in ("mean", "deviation", "min", "max")]).all()


@given(
    seed=st.integers(0, 10_000),
    window=st.integers(2, 60),
    threshold=st.floats(0.05, 0.99),
    absolute=st.booleans(),
    block=st.sampled_from([3, 7, 1024]),
)
@settings(max_examples=30, deadline=None)
def test_pairs_above_are_all_and_only_those_above(
    seed: int, window: int, threshold: float, absolute: bool, block: int
) -> None:
    values = related(np.random.default_rng(seed), 17, 60)
    monitor = fed(values, 60)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pairs_module, "BLOCK", block)
        patch.setattr(pairs_module, "STRIP", 50 * block)
        found = as_dict(monitor.ask(PairsAbove(window, threshold, absolute)))
    truth = by_hand(values[:, -window:])
    for pair, correlation in truth.items():
        size = abs(correlation) if absolute else correlation
        if abs(size - threshold) > 1e-7:
            assert (pair in found) == (size > threshold), (pair, correlation)
        if pair in found:
            assert found[pair] == pytest.approx(correlation, abs=1e-7)
    assert set(found) <= set(truth)


@given(seed=st.integers(0, 10_000), window=st.integers(3, 40), count=st.integers(1, 150), absolute=st.booleans())
@settings(max_examples=30, deadline=None)
def test_top_pairs_are_the_highest_of_all_slot_after_slot(seed: int, window: int, count: int, absolute: bool) -> None:
    values = related(np.random.default_rng(seed), 14, 46)
    monitor = fed(values[:, :40], 40)
    monitor.add_query("top", TopPairs(window, count, absolute))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pairs_module, "BLOCK", 5)
        for slot in range(40, 46):
            monitor.add_slot(slot + 1, values[:, slot])
            top = monitor.answers()["top"]
            found = as_dict(top)
            truth = by_hand(values[:, slot + 1 - window : slot + 1])
            sizes = sorted((abs(c) if absolute else c for c in truth.values()), reverse=True)
            ranked = np.abs(top.correlation) if absolute else top.correlation
            assert ranked.tolist() == sorted(ranked.tolist(), reverse=True)
            assert ranked == pytest.approx(sizes[:count], abs=1e-7)
            assert all(truth[pair] == pytest.approx(c, abs=1e-7) for pair, c in found.items())


def test_products_in_float32_are_off_by_less_than_the_margin() -> None:
    rng = np.random.default_rng(3)
    for width in (2, 30, 400):
        values = rng.standard_normal((120, width)).cumsum(axis=1) * 1e5 + 1e8
        rows = pairs_module.SeriesRows(values)
        units = rows.units()
        first, second = np.triu_indices(len(units), 1)
        exact = rows.correlation(rows.takes_part[first], rows.takes_part[second])
        products = np.einsum("ij,ij->i", units[first], units[second])
        assert np.abs(products - exact).max() <= (width + 4) * 2.0**-24


def test_a_projection_misses_pairs_at_the_threshold_as_often_as_it_says() -> None:
    """3,000 pairs with a correlation of just 0.8 over 400 slots; a tenth may be missed."""
    rng = np.random.default_rng(5)
    x = rng.standard_normal((3000, 400))
    y = rng.standard_normal((3000, 400))
    x -= x.mean(axis=1, keepdims=True)
    y -= y.mean(axis=1, keepdims=True)
    x /= np.linalg.norm(x, axis=1, keepdims=True)
    y -= (x * y).sum(axis=1, keepdims=True) * x
    y /= np.linalg.norm(y, axis=1, keepdims=True)
    rows = pairs_module.SeriesRows(np.concatenate([x, 0.8001 * x + np.sqrt(1 - 0.8001**2) * y]))
    for miss in (0.3, 0.1, 0.01):
        found = pairs_module.pairs_above(rows, 0.8, miss=miss, seed=11)
        right = found.second == found.first + 3000
        missed = 1 - right.sum() / 3000
        assert 0.5 * miss < missed < 1.5 * miss, (miss, missed)
        assert (found.correlation >= 0.8).all()
    assert pairs_module._directions(400, 0.8, 0.1, 0) is not None
    assert len(pairs_module.pairs_above(rows, 0.8)) == 3000


def test_a_projection_finds_the_top_pairs_that_stand_out() -> None:
    rng = np.random.default_rng(6)
    values = rng.standard_normal((300, 500))
    for pair in range(20):
        values[2 * pair + 1] = values[2 * pair] + 0.02 * (pair + 1) * rng.standard_normal(500)
    monitor = fed(values, 500)
    monitor.add_query("top", TopPairs(500, 20, miss=1e-6))
    for _ in range(2):
        top = monitor.answer("top")
        assert sorted(top.first.tolist()) == list(range(0, 40, 2))
        assert (top.second == top.first + 1).all()


def test_windows_are_added_resized_and_removed_while_it_runs_and_are_full_at_once() -> None:
    values = np.random.default_rng(1).standard_normal((3, 50))
    monitor = fed(values[:, :30], 20)
    monitor.add_query("short", Moving(5, ("mean",)))
    assert monitor.answers()["short"]["mean"] == pytest.approx(values[:, 25:30].mean(axis=1))
    monitor.add_query("long", Moving(20, ("mean", "min")))
    assert monitor.answer("long")["mean"] == pytest.approx(values[:, 10:30].mean(axis=1))
    monitor.resize("short", 12)
    assert monitor.answer("short")["mean"] == pytest.approx(values[:, 18:30].mean(axis=1))
    monitor.add_slot(31, values[:, 30])
    assert monitor.answers()["short"]["mean"] == pytest.approx(values[:, 19:31].mean(axis=1))
    monitor.remove_query("short")
    assert list(monitor.answers()) == ["long"]
    with pytest.raises(SynopsisError, match="kept"):
        monitor.resize("long", 21)
    assert monitor.queries == {"long": Moving(20, ("mean", "min"))}


def test_a_longer_window_is_filled_from_history() -> None:
    values = np.random.default_rng(1).standard_normal((3, 50))
    monitor = fed(values[:, 20:], 10, start=21)
    monitor.extend(40, values[:, :40])
    assert monitor.covered(40) == 40
    assert monitor.ask(Moving(40))["mean"] == pytest.approx(values[:, 10:].mean(axis=1))
    monitor.extend(15)
    assert monitor.ask(Moving(15))["max"].tolist() == values[:, 35:].max(axis=1).tolist()
    monitor.add_query("all", Moving(15))
    with pytest.raises(SynopsisError, match="window of 15"):
        monitor.extend(14)


def test_history_reaches_into_a_series_that_had_begun_late() -> None:
    monitor = fed([[np.nan, np.nan, 5.0], [1.0, 2.0, 3.0]], 3)
    assert monitor.ask(Moving(3))["count"].tolist() == [1, 3]
    monitor.extend(5, [[4.0, np.nan], [0.0, 0.0]])
    assert monitor.ask(Moving(5))["mean"].tolist() == [(4 * 4 + 5) / 5, 6 / 5]


def test_rows_fall_into_slots_and_gaps_keep_the_value() -> None:
    monitor = SeriesMonitor(2, keep=50, slide=10)
    monitor.add_many([0, 1, 0, 0], [1, 5, 10, 11], [1.0, 2.0, 3.0, 4.0])
    assert monitor.now == 20
    assert monitor.ask(Moving(10))["mean"].tolist() == [4, 2]
    assert monitor.ask(Moving(20))["mean"].tolist() == [3.5, 2]
    monitor.add_many([1], [20], [6.0])
    assert monitor.ask(Moving(20))["mean"].tolist() == [3.5, 4]
    monitor.advance(45)
    assert monitor.now == 50
    assert monitor.ask(Moving(50))["mean"].tolist() == [3.8, 5.2]
    monitor.add_many([0], [10_000_000_000], [0.0])
    assert monitor.ask(Moving(50))["mean"].tolist() == [3.2, 6]


def test_a_series_that_does_not_fill_the_window_has_no_correlation() -> None:
    monitor = fed([[1.0, 2, 3, 4], [2.0, 4, 6, 8.5], [np.nan, 1, 2, 3], [5.0, 5, 5, 5]], 4)
    query = Correlation(4, ((0, 1), (1, 0), (0, 2), (0, 3)))
    found = monitor.ask(query)
    assert found[:2] == pytest.approx(np.corrcoef([1, 2, 3, 4], [2, 4, 6, 8.5])[0, 1])
    assert np.isnan(found[2:]).all()
    assert monitor.ask(Correlation(3, ((0, 2),)))[0] == pytest.approx(1)
    assert as_dict(monitor.ask(PairsAbove(4, 0.5))).keys() == {(0, 1)}


def test_more_series_come_while_it_runs() -> None:
    monitor = fed([[1.0, 2, 4]], 3)
    assert monitor.add_series(2) == range(1, 3)
    for time, row in enumerate([[1.0, 3, 1], [2.0, 6, 3], [3.0, 9, 2]], 4):
        monitor.add_slot(time, row)
    assert as_dict(monitor.ask(PairsAbove(3, 0.9))).keys() == {(0, 1)}


def test_nothing_has_been_seen() -> None:
    monitor = SeriesMonitor(3, 10)
    for query in (PairsAbove(10, 0.5), TopPairs(10, 3)):
        assert len(monitor.ask(query)) == 0
    assert monitor.ask(Moving(10))["count"].tolist() == [0, 0, 0]
    assert np.isnan(monitor.ask(Correlation(10, ((0, 1),)))).all()
    assert monitor.now is None
    assert monitor.covered(10) == 0
    monitor.advance(5)
    assert monitor.now is None


def test_bytes_hold_values_and_queries() -> None:
    values = related(np.random.default_rng(2), 12, 70)
    monitor = fed(values[:, :69], 30, slide=5)
    monitor.add_query("a", Moving(50, ("min", "mean")))
    monitor.add_query("b", PairsAbove(100, 0.4, absolute=True))
    monitor.add_query("c", TopPairs(150, 5))
    monitor.add_query("d", Correlation(20, ((0, 3),)))
    again = SeriesMonitor.from_bytes(monitor.to_bytes())
    assert again.queries == monitor.queries
    assert again.to_bytes() == monitor.to_bytes()
    for one in (monitor, again):
        one.add_slot(70 * 5, values[:, 69])
    mine, theirs = monitor.answers(), again.answers()
    assert mine["a"]["min"].tolist() == theirs["a"]["min"].tolist()
    assert as_dict(mine["b"]) == as_dict(theirs["b"])
    assert as_dict(mine["c"]) == as_dict(theirs["c"])
    assert mine["d"].tolist() == theirs["d"].tolist()
    with pytest.raises(SynopsisError):
        SeriesMonitor.from_bytes(monitor.to_bytes()[:-1])


def test_what_cannot_be_taken_is_refused_whole() -> None:
    monitor = fed([[1.0, 2], [3.0, 4]], 5, slide=10)
    state = monitor.to_bytes()
    bad: list[tuple[Any, Any, Any]] = [
        ([0], [10], [1.0]),
        ([2], [30], [1.0]),
        ([-1], [30], [1.0]),
        ([0, 0], [40, 30], [1.0, 1.0]),
        ([0], [30], [np.inf]),
        ([0], [30], [1.0, 2.0]),
        ([0], [30.5], [1.0]),
        ([0], [1 << 62], [1.0]),
    ]
    for series, times, values in bad:
        with pytest.raises(SynopsisError):
            monitor.add_many(series, times, values)
    for time, column in ((10, [1.0, 2.0]), (30, [1.0]), (30, [1.0, np.inf]), (30, ["a", "b"])):
        with pytest.raises(SynopsisError):
            monitor.add_slot(time, column)
    assert monitor.to_bytes() == state


def test_queries_that_make_no_sense_are_refused() -> None:
    monitor = SeriesMonitor(3, 100, slide=10)
    for make in (
        lambda: Moving(0),
        lambda: Moving(10, ("median",)),
        lambda: PairsAbove(10, 0.0),
        lambda: PairsAbove(10, 0.5, miss=0.5),
        lambda: TopPairs(10, 0),
        lambda: monitor.add_query("a", Moving(15)),
        lambda: monitor.add_query("a", Moving(110)),
        lambda: monitor.add_query("a", Correlation(10, ((0, 3),))),
        lambda: monitor.remove_query("a"),
        lambda: monitor.answer("a"),
        lambda: SeriesMonitor(3, 105, slide=10),
        lambda: monitor.extend(200, np.zeros((3, 2))),
    ):
        with pytest.raises(SynopsisError):
            make()
    monitor.add_query("a", Moving(10))
    with pytest.raises(SynopsisError, match="already"):
        monitor.add_query("a", Moving(20))
