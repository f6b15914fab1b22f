"""From what is known of the parts of a window to an answer with bounds."""

from __future__ import annotations

import math

import numpy as np

from millpond.synopses.base import Estimate, Floats
from millpond.synopses.correlated.curve import ESTIMATE, LOWER, UPPER
from millpond.synopses.correlated.predicate import Dependent

Weights = list[Floats | None]
"""What rows add to each channel; None is one each."""

_CHANNELS = {Dependent.COUNT: 1, Dependent.SUM: 2, Dependent.AVG: 3}


def channels_of(dependent: Dependent) -> int:
    """COUNT: rows. SUM: the positive y, and the negative ones turned positive. AVG: all three, of rows that have a y."""
    return _CHANNELS[dependent]


def weights_of(dependent: Dependent, y: Floats) -> Weights:
    if dependent is Dependent.COUNT:
        return [None]
    missing = np.isnan(y)
    ones: Floats | None = None
    if missing.any():
        y, ones = np.where(missing, 0.0, y), np.where(missing, 0.0, 1.0)
    sums: Weights = [np.maximum(y, 0.0), np.maximum(-y, 0.0)]
    return sums if dependent is Dependent.SUM else [ones, *sums]


def between(low: Floats | None, high: Floats | None, totals: Floats) -> Floats:
    """Rows above one threshold and up to another, from F there ([part, channel, 3] each): [part, channel, 3].

    The lower bound is of the rows that are in the range for sure. None stands for an end that is not there.
    """
    found = np.repeat(totals[:, :, None], 3, axis=2) if high is None else high.copy()
    if low is not None:
        found -= low[:, :, [ESTIMATE, UPPER, LOWER]]
    return np.maximum(found, 0.0)


def of_the_living(found: Floats, dependent: Dependent, rows: int, live: int) -> Floats:
    """The same of a part ([channel, 3]) of whose rows only the last `live` are in the window, which is not known in detail:
    a share is estimated; at most all that left, and at most all that live, are in the range."""
    left = found * (live / rows)
    left[:, LOWER] = 0.0
    left[:, UPPER] = found[:, UPPER] if live else 0.0
    if dependent is not Dependent.SUM:
        left[0, LOWER] = max(0.0, found[0, LOWER] - (rows - live))
        left[0, UPPER] = min(found[0, UPPER], live)
        left[0, ESTIMATE] = min(max(left[0, ESTIMATE], left[0, LOWER]), left[0, UPPER])
    return left


def answer(found: Floats, dependent: Dependent, y_lowest: float, y_highest: float) -> Estimate:
    """The dependent aggregate from the channels ([channel, 3]); y of all rows lies between the two given."""
    if dependent is Dependent.COUNT:
        return Estimate(*map(float, found[0]))
    plus, minus = found[-2], found[-1]
    value = float(plus[ESTIMATE] - minus[ESTIMATE])
    lower, upper = float(plus[LOWER] - minus[UPPER]), float(plus[UPPER] - minus[LOWER])
    if dependent is Dependent.SUM:
        return Estimate(value, lower, upper)
    count, fewest, most = map(float, found[0])
    if most == 0:
        return Estimate(math.nan, math.nan, math.nan)
    if fewest > 0:
        y_lowest = max(y_lowest, lower / (most if lower >= 0 else fewest))
        y_highest = min(y_highest, upper / (fewest if upper >= 0 else most))
    value = value / count if count > 0 else (y_lowest + y_highest) / 2
    return Estimate(min(max(value, y_lowest), y_highest), y_lowest, y_highest)
