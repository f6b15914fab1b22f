"""Where the knots go: the four strategies.

Wholesale sets all knots anew whenever the region of interest changes; piecemeal keeps the knots inside the region, drops
others, and uses the free ones to split what is largest. Uniform wants buckets of equal width, quantile buckets of equal
count. Moving a knot costs exactness (the new one starts from a straight line), standing still costs resolution where it
is needed; that is the whole trade.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from statistics import NormalDist

import numpy as np

from millpond.synopses.base import Floats


class Strategy(StrEnum):
    """How knots follow the region of interest."""

    PIECEMEAL_UNIFORM = "piecemeal-uniform"
    PIECEMEAL_QUANTILE = "piecemeal-quantile"
    WHOLESALE_UNIFORM = "wholesale-uniform"
    WHOLESALE_QUANTILE = "wholesale-quantile"

    @property
    def piecemeal(self) -> bool:
        return self in (Strategy.PIECEMEAL_UNIFORM, Strategy.PIECEMEAL_QUANTILE)

    @property
    def quantile(self) -> bool:
        return self in (Strategy.PIECEMEAL_QUANTILE, Strategy.WHOLESALE_QUANTILE)


Region = tuple[float, float]


@dataclass(frozen=True)
class RowSpread:
    """How the rows are spread, as estimated: `counts` rows lie at or below `places`; both grow."""

    places: Floats
    counts: Floats

    @classmethod
    def of(cls, knots: Floats, counts: Floats, lowest: float, highest: float, total: float) -> RowSpread:
        """From the counts at knots; none lie below the lowest value, and all up to the highest."""
        places = np.concatenate(([min([lowest, *knots[:1]])], knots, [max([highest, *knots[-1:]])]))
        return cls(places, np.maximum.accumulate(np.concatenate(([0.0], counts, [total]))))

    def up_to(self, places: Floats) -> Floats:
        return np.interp(places, self.places, self.counts)


@dataclass(frozen=True)
class Aim:
    """The regions of interest, apart from each other and in order; places that should be knots; and whether the future
    place of the threshold is a normal variable around the middle of each region (an average) or not (an extreme)."""

    regions: tuple[Region, ...]
    wanted: tuple[float, ...] = ()
    normal: bool = False


def apart(regions: list[Region]) -> tuple[Region, ...]:
    """The same regions in order, those that touch made one."""
    found: list[Region] = []
    for low, high in sorted(regions):
        if found and low <= found[-1][1]:
            found[-1] = (found[-1][0], max(found[-1][1], high))
        else:
            found.append((low, high))
    return tuple(found)


def inside(knots: Floats, regions: tuple[Region, ...]) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    """Which knots lie in a region."""
    found = np.zeros(len(knots), dtype=np.bool_)
    for low, high in regions:
        found |= (knots >= low) & (knots <= high)
    return found


def place(strategy: Strategy, aim: Aim, limit: int, knots: Floats, rows: RowSpread | None, deviations: float) -> Floats:
    """The knots to have next, at most `limit`; quantile strategies need `rows`."""
    if strategy.piecemeal:
        return piecemeal(aim, limit, knots, rows)
    if rows is None:
        return uniform(aim, limit)
    return normal_quantiles(aim, limit, deviations) if aim.normal else count_quantiles(aim, limit, rows)


def uniform(aim: Aim, count: int) -> Floats:
    """Knots at equal distances; those of an extreme end with the threshold, those of an average hold both ends."""
    return np.unique(np.concatenate([_spread(r, n, aim.normal) for r, n in _shares(aim, count)]))


def normal_quantiles(aim: Aim, count: int, deviations: float) -> Floats:
    """Knots that are equally likely to be passed by a normal threshold; the region is that many deviations each way."""
    normal = NormalDist()
    low, high = normal.cdf(-deviations), normal.cdf(deviations)
    found = []
    for (a, b), n in _shares(aim, count):
        units = [normal.inv_cdf(p) / deviations for p in np.linspace(low, high, n)] if n > 1 else [0.0]
        found.append((a + b) / 2 + (b - a) / 2 * np.array(units))
    return np.unique(np.concatenate(found))


def count_quantiles(aim: Aim, count: int, rows: RowSpread) -> Floats:
    """Knots with equally many rows between them."""
    low, high = aim.regions[0][0], aim.regions[-1][1]
    first, last = rows.up_to(np.array([low, high]))
    found = np.interp(np.linspace(first, last, count + 1)[1:], rows.counts, rows.places)
    return np.unique(np.concatenate((found[(found > low) & (found < high)], [high])))


def piecemeal(aim: Aim, limit: int, knots: Floats, rows: RowSpread | None) -> Floats:
    """Keep what lies inside; make room for what is wanted; split what is largest while there are knots to spare: the widest
    bucket, or when `rows` are given the fullest."""
    measure = rows.up_to if rows else _itself
    kept = np.unique(np.concatenate((knots[inside(knots, aim.regions)], aim.wanted)))
    while len(kept) > limit:
        places = measure(np.concatenate(([aim.regions[0][0]], kept, [max(kept[-1], aim.regions[-1][1])])))
        merged = places[2:] - places[:-2]
        merged[np.isin(kept, aim.wanted)] = np.inf
        kept = np.delete(kept, int(merged.argmin()))
    while len(kept) < limit:
        place = _largest(aim, kept, measure)
        if place is None and rows:  # only empty buckets are left: split the widest of them
            place = _largest(aim, kept, _itself)
        if place is None:
            break
        kept = np.insert(kept, kept.searchsorted(place), place)
    return kept


def swap(knots: Floats, rows: RowSpread, aim: Aim) -> Floats | None:
    """Merge two neighbours and split the fullest bucket, when this brings the counts nearer to each other.

    The sum of squares falls by f²/2 for a split bucket of f rows, and grows by 2 f g for a merged pair. Around
    an average only buckets between knots take part: what lies outside is not of interest.
    """
    points = knots if aim.normal else np.concatenate((rows.places[:1], knots))
    held = np.diff(rows.up_to(points))
    if len(held) < 3:
        return None
    pairs = held[:-1] * held[1:]
    pairs[np.isin(points[1:-1], aim.wanted)] = np.inf
    full, pair = int(held.argmax()), int(pairs.argmin())
    middle = points[full] / 2 + points[full + 1] / 2
    if pair in (full - 1, full) or held[full] ** 2 / 2 <= 2 * pairs[pair]:
        return None
    if not points[full] < middle < points[full + 1]:
        return None
    return np.sort(np.append(knots[knots != points[pair + 1]], middle))


def _shares(aim: Aim, count: int) -> list[tuple[Region, int]]:
    """So many knots for each region."""
    each = max(1, count // len(aim.regions))
    return [(region, each) for region in aim.regions]


def _spread(region: Region, count: int, both_ends: bool) -> Floats:
    if both_ends:
        return np.linspace(*region, count) if count > 1 else np.array([(region[0] + region[1]) / 2])
    return np.linspace(*region, count + 1)[1:]


def _itself(places: Floats) -> Floats:
    return places


def _largest(aim: Aim, knots: Floats, measure: Callable[[Floats], Floats]) -> float | None:
    """The middle of the largest bucket inside the regions; None when none can be split."""
    best, place = 0.0, None
    for low, high in aim.regions:
        points = np.concatenate(([low], knots[(knots > low) & (knots < high)], [high]))
        sizes = np.diff(measure(points))
        middles = points[:-1] / 2 + points[1:] / 2
        sizes[(middles <= points[:-1]) | (middles >= points[1:])] = 0.0
        if sizes.max() > best:
            best, place = float(sizes.max()), float(middles[sizes.argmax()])
    return place
