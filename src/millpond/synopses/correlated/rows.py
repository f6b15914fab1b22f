"""The exact answer, for many groups of few rows at once: where rows are so few that they take no more than buckets would."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from millpond.synopses.base import Floats, Ints
from millpond.synopses.correlated.panes import mean_above
from millpond.synopses.correlated.predicate import Dependent, Independent, Predicate


def exactly(dependent: str, predicate: Predicate, counts: Ints, x: Floats, y: Floats) -> Floats:
    """The dependent aggregate of each group. Row g of x and y has the rows of group g, `counts[g]` of them, in order; what stands
    behind them does not count. A y that is NaN is none. An average of nothing is NaN."""
    there = np.arange(x.shape[1]) < counts[:, None]
    inside = there & _in_range(predicate, x, _independent(predicate.independent, counts, x, there)[:, None])
    if dependent == Dependent.COUNT:
        return np.asarray(inside.sum(axis=1), dtype=np.float64)
    inside &= ~np.isnan(y)
    sums: Floats = np.where(inside, y, 0.0).sum(axis=1)
    if dependent == Dependent.SUM:
        return sums
    chosen = inside.sum(axis=1)
    return np.asarray(np.divide(sums, chosen, out=np.full(len(counts), np.nan), where=chosen > 0))


def _independent(kind: Independent, counts: Ints, x: Floats, there: npt.NDArray[np.bool_]) -> Floats:
    """Of each group; of one without rows, anything."""
    if kind is Independent.AVG:
        origin = x[:, 0]
        above = np.where(there, x - origin[:, None], 0.0).sum(axis=1)
        return np.asarray(mean_above(origin, above, np.maximum(counts, 1)))
    if kind is Independent.MIN:
        return np.asarray(np.where(there, x, np.inf).min(axis=1))
    return np.asarray(np.where(there, x, -np.inf).max(axis=1))


def _in_range(predicate: Predicate, x: Floats, aggregate: Floats) -> npt.NDArray[np.bool_]:
    inside = np.ones(x.shape, dtype=np.bool_)
    if (low := predicate.low) is not None:
        end = low.factor * aggregate + low.offset
        inside &= x >= end if low.closed else x > end
    if (high := predicate.high) is not None:
        end = high.factor * aggregate + high.offset
        inside &= x <= end if high.closed else x < end
    return inside
