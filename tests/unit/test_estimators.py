"""Estimates over many seeds: bounds hold as often as they say, whatever the values, conditions and groups are."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt
import pytest

from millpond import estimators
from millpond.estimators import Cells, Estimates, Strata, average, count, needed, quantile, total
from millpond.table.draws import Draws, limit

PARTS, ROWS = 4, 20_000
STRATUM = np.repeat(np.arange(PARTS), ROWS)
NUMBERS = np.arange(PARTS * ROWS, dtype=np.int64) + 10_000_000
RANDOM = np.random.default_rng(11)
VALUES: dict[str, npt.NDArray[np.float64]] = {
    "normal": RANDOM.normal(50, 10, PARTS * ROWS),
    "skewed": RANDOM.lognormal(3, 1, PARTS * ROWS),
    "trend": RANDOM.normal(50, 10, PARTS * ROWS) + 100.0 * STRATUM,
    "mostly zero": np.where(RANDOM.random(PARTS * ROWS) < 0.2, RANDOM.lognormal(3, 1, PARTS * ROWS), 0.0),
}
MATCH = {share: RANDOM.random(PARTS * ROWS) < share for share in (1.0, 0.3, 0.1)}
GROUP = RANDOM.integers(0, 5, PARTS * ROWS)


def cells_of(rows: npt.NDArray[np.int64], values: npt.NDArray[np.float64], groups: int) -> Cells:
    """The sums that an engine would give of these rows."""
    place = STRATUM[rows] * groups + (GROUP[rows] if groups > 1 else 0)
    size = PARTS * groups
    sums = [np.bincount(place, weights=values[rows] ** power, minlength=size) for power in (1, 2, 3)]
    where = np.arange(size)
    return Cells(where // groups, where % groups, np.bincount(place, minlength=size).astype(float), *sums)


def sample(seed: int, share: float, thinned: bool) -> tuple[npt.NDArray[np.int64], Strata]:
    """The rows that are read, and what is known of the parts."""
    rows = np.flatnonzero(Draws.of_seed(seed).of_rows(NUMBERS) < limit(share))
    read = np.bincount(STRATUM[rows], minlength=PARTS)
    return rows, Strata.of([(ROWS, None if thinned else int(n), share) for n in read])


def covered(trials: int, share: float, thinned: bool, groups: int = 1) -> dict[tuple[str, str, float], float]:
    """How often the truth is within the bounds, in percent."""
    hits: dict[tuple[str, str, float], list[bool]] = {}
    ways: dict[str, Callable[[Strata, Cells, int, float], Estimates]] = {"sum": total, "average": average}
    for seed in range(trials):
        rows, strata = sample(seed, share, thinned)
        for part, match in MATCH.items():
            kept = rows[match[rows]]
            for kind, values in VALUES.items():
                cells = cells_of(kept, values, groups)
                for way, estimate in ways.items():
                    for group in range(groups):
                        true = values[match & (group == GROUP)] if groups > 1 else values[match]
                        wanted = true.sum() if way == "sum" else true.mean()
                        found = estimate(strata, cells, groups, 0.95)
                        if not found.reason[group]:
                            held = bool(found.low[group] <= wanted <= found.high[group])
                            hits.setdefault((way, kind, part), []).append(held)
            counts = cells_of(kept, np.ones(len(NUMBERS)), groups)
            found = count(strata, counts, groups, 0.95)
            for group in range(groups):
                wanted = int((match & (group == GROUP)).sum()) if groups > 1 else int(match.sum())
                hits.setdefault(("count", "", part), []).append(bool(found.low[group] <= wanted <= found.high[group]))
    # Where groups have hardly ever enough rows for bounds, those few answers tell nothing about their rate.
    least = trials * groups / 2 if groups > 1 else 0
    return {key: 100 * float(np.mean(held)) for key, held in hits.items() if len(held) > least}


@pytest.mark.parametrize("thinned", [False, True], ids=["blocks", "row by row"])
def test_bounds_hold_about_as_often_as_they_say(thinned: bool) -> None:
    found = covered(120, 0.05, thinned)
    assert len(found) == 2 * len(VALUES) * len(MATCH) + len(MATCH)
    exact = {("count", "", 1.0)} if not thinned else set()  # nothing is estimated there
    assert {key: c for key, c in found.items() if c < 88.5 and key not in exact} == {}
    assert 93.5 < np.mean([c for key, c in found.items() if key not in exact]) < 96.5


@pytest.mark.slow
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("groups", [1, 5])
@pytest.mark.parametrize("thinned", [False, True], ids=["blocks", "row by row"])
def test_bounds_hold_in_94_to_97_of_100_of_2000_trials(thinned: bool, groups: int) -> None:
    found = covered(2_000 // groups, 0.1, thinned, groups)
    exact = {("count", "", 1.0)} if not thinned and groups == 1 else set()
    assert {key: c for key, c in found.items() if not 93.3 <= c <= 97 and key not in exact} == {}
    assert 94 < np.mean([c for key, c in found.items() if key not in exact]) < 97


def test_bounds_of_skewed_values_miss_on_both_sides_alike_however_much_is_read() -> None:
    """As more is read the estimate itself becomes symmetric, and studentised it does not: half of a table is the test."""
    random = np.random.default_rng(3)
    values, rows, groups = random.lognormal(3, 1.2, 20_000), 10_000, 8
    group = random.integers(0, groups, len(values))
    truth = np.bincount(group, weights=values)
    low, high, trials = 0, 0, 300
    strata = Strata.of([(len(values), rows, 0.5)])
    for _ in range(trials):
        read = random.permutation(len(values))[:rows]
        sums = [np.bincount(group[read], weights=values[read] ** power) for power in range(4)]
        cells = Cells(np.zeros(groups, dtype=np.int64), np.arange(groups), *sums)
        found = total(strata, cells, groups, 0.95)
        assert not found.reason.any()
        low += int((truth < found.low).sum())
        high += int((truth > found.high).sum())
    shares = [100 * missed / (trials * groups) for missed in (low, high)]
    assert 94 <= 100 - sum(shares) <= 97
    assert shares[1] < 1.6 * shares[0], shares


def test_what_was_read_in_full_is_exact() -> None:
    rows = np.arange(len(NUMBERS))
    strata = Strata.of([(ROWS, ROWS, 1.0)] * PARTS)
    values = VALUES["skewed"]
    for found, wanted in (
        (total(strata, cells_of(rows, values, 1), 1, 0.95), values.sum()),
        (average(strata, cells_of(rows, values, 1), 1, 0.95), values.mean()),
    ):
        assert found.value[0] == pytest.approx(wanted)
        assert found.low[0] == pytest.approx(wanted)
        assert found.high[0] == pytest.approx(wanted)
        assert found.error[0] < 1e-9


def test_all_rows_of_a_run_are_counted_exactly() -> None:
    rows, strata = sample(1, 0.01, False)
    found = count(strata, cells_of(rows, np.ones(len(NUMBERS)), 1), 1, 0.95, all_match=True)
    assert (found.value[0], found.low[0], found.high[0]) == pytest.approx((len(NUMBERS),) * 3)


def test_rows_of_which_all_match_may_have_others_between_them() -> None:
    strata = Strata.of([(100_000, 1_000, 0.01)])
    cells = Cells.counting(np.array([0]), np.array([0]), np.array([1_000.0]))
    found = count(strata, cells, 1, 0.95)
    assert found.low[0] == pytest.approx(100_000 - 100 * 3, abs=1)


def test_a_few_rows_that_do_not_match_leave_bounds() -> None:
    rows, hits = 100_000, 0
    missing = RANDOM.choice(rows, 300, replace=False)
    for trial in range(400):
        read = Draws.of_seed(trial).of_rows(np.arange(rows)) < limit(0.01)
        others = int(read[missing].sum())
        strata = Strata.of([(rows, int(read.sum()), 0.01)])
        cells = Cells.counting(np.array([0]), np.array([0]), np.array([float(read.sum() - others)]))
        found = count(strata, cells, 1, 0.95)
        assert found.reason[0] == ""
        hits += bool(found.low[0] <= rows - 300 <= found.high[0])
    assert hits / 400 > 0.93


def test_little_is_not_promised_anything() -> None:
    strata = Strata.of([(100_000, 1_000, 0.01)])
    few = Cells.counting(np.array([0]), np.array([0]), np.array([29.0]))
    assert count(strata, few, 1, 0.95).reason[0] == estimators.TOO_FEW
    assert np.isnan(count(strata, few, 1, 0.95).low[0])
    rare = Cells(np.array([0]), np.array([0]), np.array([900.0]), *(np.array([5.0 * 10**p]) for p in range(3)))
    assert average(strata, rare, 1, 0.95).reason[0] == estimators.TOO_SKEWED
    alike = Cells(np.array([0]), np.array([0]), np.array([900.0]), *(np.array([900 * 7.0**p]) for p in (1, 2, 3)))
    assert average(strata, alike, 1, 0.95).reason[0] == estimators.ALIKE
    nothing = Cells(*(np.zeros(0, dtype=int),) * 2, *(np.zeros(0),) * 4)
    assert total(strata, nothing, 1, 0.95).reason[0] == estimators.TOO_FEW


def test_what_an_error_takes_is_foreseen() -> None:
    rows, strata = sample(1, 0.05, False)
    found = average(strata, cells_of(rows, VALUES["skewed"], 1), 1, 0.95)
    share = needed(found, 0.05, 0.01)
    rows, strata = sample(2, share, False)
    assert 0.006 < average(strata, cells_of(rows, VALUES["skewed"], 1), 1, 0.95).error[0] < 0.011


def test_quantiles_hold_too() -> None:
    values, hits = VALUES["skewed"], []
    for at in (0.1, 0.5, 0.9):
        true = np.quantile(values, at)
        for seed in range(150):
            rows, _ = sample(seed, 0.02, True)
            n = len(rows)
            _, low, high, reason = quantile(values[rows], np.full(n, 50.0), np.ones(n, dtype=bool), at, 0.95, False)
            assert reason == ""
            hits.append(low <= true <= high)
    assert 92.5 < 100 * np.mean(hits) < 97.5
