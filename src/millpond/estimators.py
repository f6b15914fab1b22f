"""Estimates from samples, with bounds that hold: of counts, sums, averages and quantiles, by groups. Pure arithmetic.

Every number of this kind that a user is shown comes from here. What is known of a sample are its `Strata`, the parts of the table
that were sampled by themselves (a run, a file, the tail), and `Cells`: for each group of the answer and each stratum, sums over
the rows that were read and matched. A row that was read and did not match counts as a zero, so a selective condition needs no
arithmetic of its own.

Two ways of sampling. Of a randomised run a fixed number of rows is read, each set of them as likely as any other (sampling
without replacement): variances are those of the rows read about their mean, and vanish as all rows are read. Rows thinned one by
one (Bernoulli) come in an unknown number, which adds to the variance.

Bounds. Sums of skewed values are not normal for a long time. Bounds are therefore those of Hall (1992): a cubic transformation
takes the skewness out of the studentised estimate before quantiles are applied, here with the terms that it has when a part of a
finite population is read. The quantiles are Student's, with the fewer degrees of freedom that the variance of skewed values has.
Where too few rows were read for
that, too few of them weigh in a sum, or the estimate is skewed nevertheless, no bounds are given, and the reason is. The limits
are measured (docs/design/0013): few rows that happen to look alike are what deceives, so they limit numbers of rows first.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import Any, Final

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

LEAST_ROWS: Final = 30
"""Matching rows that were read of a group before anything is promised about their number."""
LEAST_VALUES: Final = 200
"""Values that were read of a group before anything is promised about their sum or average."""
LEAST_WEIGHT: Final = 40
"""What the values must amount to: n values of which one in k is not zero and all others are count as n / k."""
MOST_SKEWED: Final = 0.6
"""Skewness of an estimate's own distribution beyond which no bounds are given."""

_EVEN: Final = 0.1  # an estimate less skewed than this needs no weight: its values lie on both sides of zero

TOO_FEW: Final = "too few rows of it were read"
ALIKE: Final = "all values read are alike, and others may be rare"
TOO_SKEWED: Final = "the values read are too skewed for their number"


@dataclass(frozen=True)
class Strata:
    """The parts of a table, each sampled by itself. `rows` are those it has, `read` those that were read of it.

    Where `read` is negative rows were thinned one by one, each kept with probability `share`; where `share` is 1 all were read.
    """

    rows: Floats
    read: Floats
    share: Floats

    @classmethod
    def of(cls, parts: Sequence[tuple[int, int | None, float]]) -> Strata:
        """From (rows, rows read or None if thinned one by one, share) of each."""
        rows = np.array([p[0] for p in parts], dtype=np.float64)
        read = np.array([-1 if p[1] is None else p[1] for p in parts], dtype=np.float64)
        return cls(rows, read, np.array([p[2] for p in parts], dtype=np.float64))

    @property
    def whole(self) -> npt.NDArray[np.bool_]:
        """Which were read in full."""
        found: npt.NDArray[np.bool_] = np.where(self.read >= 0, self.read >= self.rows, self.share >= 1)
        return found


@dataclass(frozen=True)
class Cells:
    """Sums over the rows that were read and matched, for each stratum and group that has any.

    `count` are rows whose value is not NULL, the others sums of their first, second and third powers.
    """

    stratum: Ints
    group: Ints
    count: Floats
    first: Floats
    second: Floats
    third: Floats

    @classmethod
    def counting(cls, stratum: Ints, group: Ints, count: Floats) -> Cells:
        """Those of a value that is 1 in every row: its total is a count."""
        return cls(stratum, group, count, count, count, count)

    def shifted(self, by: Floats) -> Cells:
        """Those of the value less that of its group."""
        b = by[self.group]
        first = self.first - b * self.count
        second = self.second - 2 * b * self.first + b * b * self.count
        third = self.third - 3 * b * self.second + 3 * b * b * self.first - b**3 * self.count
        return Cells(self.stratum, self.group, self.count, first, second, third)


@dataclass(frozen=True)
class Estimates:
    """For each group a value, its bounds (NaN where none are given) and, in `reason`, why there are none ("" where there are)."""

    value: Floats
    low: Floats
    high: Floats
    reason: npt.NDArray[Any]

    @property
    def error(self) -> Floats:
        """The greater distance of a bound, as a part of the value; infinite where there are no bounds."""
        with np.errstate(divide="ignore", invalid="ignore"):
            half = np.maximum(self.high - self.value, self.value - self.low)
            relative = np.where(half == 0, 0.0, half / np.abs(self.value))
        return np.where(np.isnan(relative), np.inf, relative)


def total(strata: Strata, cells: Cells, groups: int, confidence: float) -> Estimates:
    """The sum of a value over the matching rows of the whole table, for each group."""
    return _bounded(strata, cells, groups, _moments(strata, cells, groups), confidence, LEAST_VALUES)


def count(strata: Strata, cells: Cells, groups: int, confidence: float, *, all_match: bool = False) -> Estimates:
    """How many rows match, for each group; `all_match`: no row can fail to. Never less than were seen.

    Where all rows read matched, how many others there may be follows from that none was met (the rule of three).
    """
    moments = _moments(strata, cells, groups)
    found = _bounded(strata, cells, groups, moments, confidence, LEAST_ROWS)
    seen = np.bincount(cells.group, weights=cells.count, minlength=groups)
    low = np.maximum(found.low, seen)
    if not all_match and not strata.whole.all():
        weight = float((strata.rows / np.maximum(strata.read, 1))[~strata.whole].max())
        low = np.where(moments.variance <= 0, np.maximum(low - weight * -np.log(1 - confidence), seen), low)
        if groups == 1 and found.reason[0] == TOO_SKEWED and (strata.read >= 0).all():
            return _nearly_all(strata, found, float(strata.read.sum() - seen[0]), confidence)
    return Estimates(found.value, low, found.high, found.reason)


def _nearly_all(strata: Strata, found: Estimates, others: float, confidence: float) -> Estimates:
    """Bounds where only a handful of the rows read did not match: those of so few are Poisson's (in Byar's approximation)."""
    z = NormalDist().inv_cdf((1 + confidence) / 2)
    weights = strata.rows[~strata.whole] / np.maximum(strata.read[~strata.whole], 1)
    most = (others + 1) * (1 - 1 / (9 * (others + 1)) + z / (3 * math.sqrt(others + 1))) ** 3
    least = others * max(0.0, 1 - 1 / (9 * others) - z / (3 * math.sqrt(others))) ** 3 if others else 0.0
    rows = float(strata.rows.sum())
    low, high = np.array([rows - weights.max() * most]), np.array([rows - weights.min() * least])
    return Estimates(found.value, low, high, np.array([""], dtype=object))


def average(strata: Strata, cells: Cells, groups: int, confidence: float) -> Estimates:
    """The average of a value over the matching rows, for each group: a ratio of two totals, by its linear part."""
    rows = _moments(strata, Cells.counting(cells.stratum, cells.group, cells.count), groups).value
    sums = _moments(strata, cells, groups).value
    with np.errstate(divide="ignore", invalid="ignore"):
        value = sums / rows
        of = _moments(strata, cells.shifted(np.nan_to_num(value)), groups)
        moments = Moments(value, of.variance / rows**2, of.third / rows**3, of.joint / rows**3)
    return _bounded(strata, cells, groups, moments, confidence, LEAST_VALUES)


@dataclass(frozen=True)
class Moments:
    """Of an estimate, for each group: its value, its variance, its third cumulant, and its covariance with the estimate of its
    variance. The last two are not in proportion: as more of a table is read the estimate becomes symmetric (the rows that are not
    read are a sample too), but a sample without the great values still has both a low estimate and a low variance."""

    value: Floats
    variance: Floats
    third: Floats
    joint: Floats


def _moments(strata: Strata, cells: Cells, groups: int) -> Moments:
    """Those of totals."""
    rows, read, share = (of[cells.stratum] for of in (strata.rows, strata.read, strata.share))
    fixed = read >= 0
    n = np.where(fixed, np.maximum(read, 1), 1)
    f = np.where(fixed, np.minimum(n / np.maximum(rows, 1), 1), np.minimum(share, 1))
    mean = cells.first / n
    spread = np.maximum(cells.second - cells.first * mean, 0) / np.maximum(n - 1, 1)
    lean = (cells.third - 3 * mean * cells.second + 2 * n * mean**3) / n
    variance = np.where(fixed, rows**2 * (1 - f) / n * spread, cells.second * (1 - f) / f**2)
    cubes = np.where(fixed, rows**3 * (1 - f) / n**2 * lean, cells.third * (1 - f) / f**3)
    sums = (cells.first / f, variance, cubes * (1 - 2 * f), cubes * (1 - f))
    return Moments(*(np.bincount(cells.group, weights=s, minlength=groups).astype(np.float64) for s in sums))


def _bounded(strata: Strata, cells: Cells, groups: int, moments: Moments, confidence: float, least: int) -> Estimates:
    value = moments.value
    sampled = ~strata.whole[cells.stratum]
    seen = np.bincount(cells.group, weights=cells.count * sampled, minlength=groups).astype(np.float64)
    exact = bool(strata.whole.all())
    deviation = np.sqrt(np.maximum(moments.variance, 0))
    with np.errstate(divide="ignore", invalid="ignore"):
        skew = np.where(deviation > 0, moments.third / deviation**3, 0.0)
        joint = np.where(deviation > 0, moments.joint / deviation**3, 0.0)
    sums = [np.bincount(cells.group, weights=s * sampled, minlength=groups) for s in (cells.first, cells.second)]
    weight = sums[0] ** 2 / np.where(sums[1] > 0, sums[1], 1)
    z = NormalDist().inv_cdf((1 + confidence) / 2) * np.ones(groups)
    z = _student(z, _freedom(seen, joint))
    low = value - deviation * _hall(z, skew, joint)
    high = value - deviation * _hall(-z, skew, joint)
    reason = np.full(groups, "", dtype=object)
    if not exact:
        reason[(weight < LEAST_WEIGHT) & (np.abs(joint) > _EVEN)] = TOO_SKEWED
        reason[np.abs(joint) > MOST_SKEWED] = TOO_SKEWED
        reason[~np.isfinite(joint) | ~np.isfinite(value)] = TOO_SKEWED
        if least == LEAST_VALUES:
            reason[deviation <= 1e-12 * np.abs(value)] = ALIKE
        reason[seen < least] = TOO_FEW
    none = reason != ""
    return Estimates(value, np.where(none, np.nan, low), np.where(none, np.nan, high), reason)


def _freedom(seen: Floats, joint: Floats) -> Floats:
    """How many degrees of freedom the estimated variance has, after Satterthwaite: twice the square of its mean by its variance.

    That takes the fourth moment of the values, of which a sample tells little. Of values with variance 1 it is at least
    1 + skewness^2 (Pearson), and more where great values are rare: 3 + 2 skewness^2 is taken, which is right for normal values
    and a little more than that of exponential ones.
    """
    skewness = np.where(np.isfinite(joint), joint, 1.0)  # by the square root of the number of values
    found: Floats = 1 / (1 / np.maximum(seen - 1, 1) + skewness**2)
    return found


def _student(z: Floats, freedom: Floats) -> Floats:
    """The quantile of Student's distribution for a normal one (Cornish and Fisher's expansion: three digits from 10 on)."""
    return z + (z**3 + z) / (4 * freedom) + (5 * z**5 + 16 * z**3 + 3 * z) / (96 * freedom**2)


def _hall(z: Floats, skew: Floats, joint: Floats) -> Floats:
    """The studentised estimate T that the transformation T + a T^2 + a^2 T^3 / 3 + b takes to `z`.

    To the first order P(T <= x) is normal plus (a x^2 + b) times the density, where a is (3 joint - skew) / 6 and b is skew / 6.
    Of a sample from an infinite population joint is skew, and this is Hall's transformation.
    """
    a, b = (3 * joint - skew) / 6, skew / 6
    small = np.abs(a) < 1e-6
    of = np.where(small, 1.0, a)
    return np.where(small, z - b, (np.cbrt(1 + 3 * of * (z - b)) - 1) / of)


def needed(found: Estimates, read: float, error: float) -> float:
    """The fraction of the rows to read for a relative error, after `found` was estimated from the fraction `read`.

    Errors shrink as sqrt(1 / f - 1) does. Where nothing is promised yet, four times as much is read.
    """
    if read >= 1:
        return 1.0
    with np.errstate(divide="ignore", invalid="ignore"):
        worst = (
            (found.high - found.low) / 2 / np.abs(found.value)
        )  # how lopsided the bounds are changes as rows are read
    if not len(worst):
        return read
    if not np.isfinite(worst).all():
        return min(1.0, 4 * read)
    times = float(worst.max() / error) ** 2
    return 1 / (1 + (1 / read - 1) / times)


def quantile(
    values: Floats, weights: Floats, sampled: npt.NDArray[np.bool_], at: float, confidence: float, exact: bool
) -> tuple[float, float, float, str]:
    """A quantile of one group: its value, bounds, and why there are none.

    `weights` say how many rows of the table each value stands for, `sampled` which come from a part that was not read in full.
    Woodruff's (1952) way: the part of the rows that lies below is a ratio like any other, and its bounds are carried back.
    """
    order = np.argsort(values, kind="stable")
    values, weights, sampled = values[order], weights[order], sampled[order]
    below = np.cumsum(weights)
    everything = below[-1]
    value = float(values[np.searchsorted(below, at * everything, side="left").clip(max=len(values) - 1)])
    if exact:
        return value, value, value, ""
    seen = int(sampled.sum())
    if min(at, 1 - at) * seen < LEAST_ROWS:
        return value, np.nan, np.nan, TOO_FEW
    under = np.arange(len(values)) < np.searchsorted(below, at * everything, side="left")
    residual = (under - at) * weights * np.sqrt(np.maximum(1 - 1 / weights, 0))
    deviation = float(np.sqrt((residual[sampled] ** 2).sum())) / everything
    z = float(_student(np.array([NormalDist().inv_cdf((1 + confidence) / 2)]), np.array([seen - 1.0]))[0])
    ends = np.searchsorted(below, np.array([at - z * deviation, at + z * deviation]) * everything, side="left")
    first, last = ends.clip(0, len(values) - 1)
    return value, float(values[first]), float(values[last]), ""
