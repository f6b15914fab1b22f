"""Every synopsis over one stream keeps the promises of `Synopsis`; a new one is added to the table."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from millpond.synopses import (
    ExponentialHistogram,
    SlidingDistinct,
    SlidingExtremes,
    SlidingLp,
    SlidingMean,
    SlidingSum,
    SlidingVariance,
    Synopsis,
    SynopsisError,
)
from millpond.testing import check_synopsis


@dataclass(frozen=True)
class Case:
    make: Callable[[], Synopsis]
    different: Callable[[], Synopsis]
    over_rows: Callable[[], Synopsis]
    sample: Callable[[np.random.Generator, int], Any]
    truth: Callable[[Any], float | None]
    scale: Callable[[Any], float] | None = None
    rate: float = 1.0
    rounds: int = 30


def numbers(rng: np.random.Generator, count: int) -> Any:
    return rng.integers(0, 1001, count)


def mean(values: Any) -> float | None:
    return float(values.mean()) if len(values) else None


def norm(p: float) -> Callable[[Any], float]:
    return lambda keys: float((np.unique(keys, return_counts=True)[1].astype(float) ** p).sum() ** (1 / p))


CASES = {
    "count": Case(
        lambda: ExponentialHistogram(0.1, 500),
        lambda: ExponentialHistogram(0.2, 500),
        lambda: ExponentialHistogram(0.1, 50, rows=True),
        lambda rng, n: rng.random(n) < rng.random(),
        lambda bits: float(bits.sum()),
    ),
    "count, coarse": Case(
        lambda: ExponentialHistogram(0.9, 500),
        lambda: ExponentialHistogram(0.9, 400),
        lambda: ExponentialHistogram(0.9, 50, rows=True),
        lambda rng, n: np.ones(n, dtype=int),
        lambda bits: float(bits.sum()),
    ),
    "sum": Case(
        lambda: SlidingSum(0.1, 500, 1000),
        lambda: SlidingSum(0.1, 500, 1001),
        lambda: SlidingSum(0.1, 50, 1000, rows=True),
        numbers,
        lambda values: float(values.sum()),
    ),
    "mean": Case(
        lambda: SlidingMean(0.1, 500, 1000),
        lambda: SlidingMean(0.1, 501, 1000),
        lambda: SlidingMean(0.1, 50, 1000, rows=True),
        numbers,
        mean,
        rounds=15,
    ),
    "variance": Case(
        lambda: SlidingVariance(0.2, 500, 1000),
        lambda: SlidingVariance(0.1, 500, 1000),
        lambda: SlidingVariance(0.2, 50, 1000, rows=True),
        numbers,
        lambda values: float(values.var()) if len(values) else None,
        scale=lambda values: float((values.astype(float) ** 2).mean()),
        rounds=15,
    ),
    "extremes": Case(
        lambda: SlidingExtremes(500),
        lambda: SlidingExtremes(500, integers=True),
        lambda: SlidingExtremes(50, rows=True),
        lambda rng, n: rng.normal(size=n).round(1),
        lambda values: float(values.max() - values.min()) if len(values) else 0.0,
    ),
    "distinct": Case(
        lambda: SlidingDistinct(0.2, 500),
        lambda: SlidingDistinct(0.2, 500, seed=1),
        lambda: SlidingDistinct(0.2, 50, rows=True),
        lambda rng, n: rng.integers(0, 300, n) * 7919 + int(rng.integers(0, 1 << 40)),
        lambda values: float(len(np.unique(values))),
        rate=0.95,
    ),
    "norm, p 2": Case(
        lambda: SlidingLp(2, 0.5, 500),
        lambda: SlidingLp(2, 0.5, 500, seed=9),
        lambda: SlidingLp(2, 0.5, 50, rows=True),
        lambda rng, n: rng.integers(0, 20, n) + int(rng.integers(0, 1 << 40)),
        norm(2),
        rate=0.95,
        rounds=12,
    ),
    "norm, p 1.5": Case(
        lambda: SlidingLp(1.5, 0.5, 500),
        lambda: SlidingLp(1.4, 0.5, 500),
        lambda: SlidingLp(1.5, 0.5, 50, rows=True),
        lambda rng, n: rng.integers(0, 20, n) + int(rng.integers(0, 1 << 40)),
        norm(1.5),
        rate=0.95,
        rounds=12,
    ),
}
every_case = pytest.mark.parametrize("name", list(CASES))


@every_case
def test_promises(name: str) -> None:
    case = CASES[name]
    check_synopsis(
        case.make, case.sample, case.truth,
        scale=case.scale, rate=case.rate, different=case.different, rounds=case.rounds,
    )  # fmt: skip


@every_case
def test_over_rows_the_position_is_the_time(name: str) -> None:
    case = CASES[name]
    values = case.sample(np.random.default_rng(5), 120)
    by_rows, singly = case.over_rows(), case.over_rows()
    by_rows.add_many(None, values[:70])
    by_rows.add_many(None, values[70:])
    for value in values:
        singly.add(None, value)
    for window in (1, 7, 50):
        truth = case.truth(values[-window:])
        assert truth is not None
        for synopsis in (by_rows, singly):
            found = synopsis.estimate(window)
            slip = 1e-9 if case.rate == 1 else synopsis.error * truth  # chance may have it twice as far off
            assert found.lower - slip <= truth <= found.upper + slip
    with pytest.raises(SynopsisError, match="takes no times"):
        by_rows.add_many([1000], values[:1])
    with pytest.raises(SynopsisError, match="rows"):
        by_rows.merge(case.over_rows())


@every_case
def test_windows_that_were_not_declared_are_refused(name: str) -> None:
    synopsis = CASES[name].make()
    synopsis.add_many([1000], CASES[name].sample(np.random.default_rng(0), 1))
    for window, now in ((0, None), (501, None), (10, 999)):
        with pytest.raises(SynopsisError):
            synopsis.estimate(window, now)


@every_case
def test_bytes_that_are_not_its_own_are_refused(name: str) -> None:
    synopsis = CASES[name].make()
    synopsis.add_many([1, 2, 3], CASES[name].sample(np.random.default_rng(0), 3))
    data = synopsis.to_bytes()
    read = type(synopsis).from_bytes
    for wrong in (
        b"",
        data[:-1],
        data + b"x",
        b"XXXX" + data[4:],
        data[:4] + b"ZZZZ" + data[8:],
        data[:-1] + bytes([data[-1] ^ 1]),
    ):
        with pytest.raises(SynopsisError):
            read(wrong)
    with pytest.raises(SynopsisError, match="newer"):
        read(data[:8] + b"\xff\x00" + data[10:])


@pytest.mark.parametrize("eps", [0, 1, -0.1, 2, "x", float("nan")], ids=str)
def test_an_eps_that_means_nothing_is_refused(eps: Any) -> None:
    for make in (ExponentialHistogram, SlidingSum, SlidingMean, SlidingDistinct):
        with pytest.raises(SynopsisError, match="eps"):
            make(eps, 10)


@pytest.mark.parametrize("window", [0, -1, 1.5, None, True, 1 << 62], ids=str)
def test_a_window_that_means_nothing_is_refused(window: Any) -> None:
    for make in (lambda w: ExponentialHistogram(0.1, w), SlidingExtremes):
        with pytest.raises(SynopsisError, match="window"):
            make(window)


def test_times_are_whole_numbers() -> None:
    for times in ([1.5], np.array(["2024-01-01"], dtype="datetime64[s]"), ["1"], [[1]]):
        with pytest.raises(SynopsisError, match="times"):
            ExponentialHistogram(0.1, 10).add_many(times, [1])
    with pytest.raises(SynopsisError, match=r"2 times and 1 value$"):
        ExponentialHistogram(0.1, 10).add_many([1, 2], [1])
    with pytest.raises(SynopsisError, match="62 bits"):
        ExponentialHistogram(0.1, 10).add_many([1 << 62])


class Forgetful(ExponentialHistogram):
    """Wrong on purpose: every hundredth one is lost."""

    def add_many(self, times: Any, values: Any = None) -> None:
        bits = np.array(values)
        bits[::7] = 0
        super().add_many(times, bits)


class Clinging(SlidingSum):
    """Wrong on purpose: merging empties the other side."""

    def merge(self, other: Any) -> Any:
        both = super().merge(other)
        other.__init__(*other.parameters())
        return both


@pytest.mark.parametrize(
    ("make", "message"),
    [(lambda: Forgetful(0.1, 500), "answers are wrong"), (lambda: Clinging(0.1, 500, 1), "merge changes")],
    ids=["forgetful", "clinging"],
)
def test_the_check_finds_a_synopsis_that_breaks_a_promise(make: Callable[[], Synopsis], message: str) -> None:
    with pytest.raises(AssertionError, match=message):
        check_synopsis(make, lambda rng, n: np.ones(n, dtype=int), lambda values: float(values.sum()))
