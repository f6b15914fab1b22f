"""Which of all pairs of series are correlated, over one window.

**Method.** Each row of the window is centred and scaled to length 1 in float64 and rounded to float32; the correlation of two
series is then the product of their rows. Products of all pairs are taken block by block (a matrix product in float32, of the
blocks on and above the diagonal), pairs that come near the threshold are candidates, and each candidate is computed again in
float64 from the values. A product of two rows of length 1 in float32 is off by at most (w + 3) * 2**-24 for w slots, so with
that margin below the threshold no pair is missed, and none is reported that is not above it.

**Long windows.** The work is n * n * w / 2. With `miss` above 0 the rows are first projected on d random directions (new ones in
every slot, normally distributed), and products of the projected rows, again scaled to length 1, choose the candidates. If the
true correlation is r, then atanh of such a product is close to normal with mean atanh(r) and deviation 1 / sqrt(d - 2)
(Fisher). So a pair at the threshold is missed with probability `miss`, one further above it less often, and one that is missed in
this slot is looked at anew in the next. Nothing is reported wrongly: candidates are checked as before. d is chosen so that of
pairs that are not correlated at most one in ten thousand becomes a candidate; where d is not much smaller than w, nothing is
projected. It pays where few pairs come near the threshold, as with changes of prices; among prices themselves many do.

A series takes part when it has values in the whole window and is not constant in it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from math import atanh, ceil, sqrt, tanh
from statistics import NormalDist
from typing import Any

import numpy as np
import numpy.typing as npt

from millpond.synopses.layout import Floats, Ints

Singles = npt.NDArray[np.float32]

BLOCK = 1024
"""Series in a block: its products, 4 MB, stay in the cache until they have been looked at."""
STRIP = 1 << 20
"""Values that are centred or compared at once."""
FALSE_ALARMS = 1e-4
"""Of uncorrelated pairs, how many may become candidates by a projection."""
FEWEST_DIRECTIONS = 64
"""So that products are not off by much, and few pairs are candidates that are only near the threshold."""
CONSTANT = 1e-13
"""A length about the mean below this part of the length about zero is rounding, not movement."""


@dataclass(frozen=True, eq=False)
class Pairs:
    """Pairs of series, `first` < `second`, and their correlations."""

    first: Ints
    second: Ints
    correlation: Floats

    def __len__(self) -> int:
        return len(self.first)

    def take(self, which: npt.NDArray[Any]) -> Pairs:
        return Pairs(self.first[which], self.second[which], self.correlation[which])

    def join(self, other: Pairs) -> Pairs:
        return Pairs(
            np.concatenate([self.first, other.first]),
            np.concatenate([self.second, other.second]),
            np.concatenate([self.correlation, other.correlation]),
        )

    @classmethod
    def none(cls) -> Pairs:
        nobody = np.empty(0, dtype=np.int64)
        return cls(nobody, nobody, np.empty(0))


class SeriesRows:
    """The rows of one window: their means, lengths about the mean, and who takes part. `values` are only read."""

    def __init__(self, values: Floats) -> None:
        self.values = values
        count, width = values.shape
        self.mean, self.length = np.zeros(count), np.zeros(count)
        for part in _strips(count, width) if width else ():
            self.mean[part] = values[part].mean(axis=1)
            centred = values[part] - self.mean[part, None]
            self.length[part] = np.sqrt(np.einsum("ij,ij->i", centred, centred))
        # NaN is not larger than anything: who has no value somewhere has no length, and does not take part.
        self.takes_part: Ints = np.flatnonzero(self.length > CONSTANT * (np.abs(self.mean) * sqrt(width) + self.length))

    @property
    def width(self) -> int:
        return int(self.values.shape[1])

    def units(self, directions: Singles | None = None) -> Singles:
        """Those that take part, centred, of length 1 and as float32; or their projections, of length 1 too."""
        chosen = self.takes_part
        made = np.empty((len(chosen), self.width if directions is None else directions.shape[1]), dtype=np.float32)
        for part in _strips(len(chosen), self.width):
            rows = chosen[part]
            centred = self.values[rows]
            centred -= self.mean[rows, None]
            centred /= self.length[rows, None]
            if directions is None:
                made[part] = centred
            else:
                made[part] = centred.astype(np.float32) @ directions
        if directions is not None:
            lengths = np.sqrt(np.einsum("ij,ij->i", made, made))
            made /= np.maximum(lengths, np.float32(1e-30))[:, None]
        return made

    def correlation(self, first: Ints, second: Ints) -> Floats:
        """Of these pairs, in float64; NaN where one of the two does not take part."""
        part_of = np.zeros(len(self.values), dtype=bool)
        part_of[self.takes_part] = True
        found = np.full(len(first), np.nan)
        fine = np.flatnonzero(part_of[first] & part_of[second])
        for part in _strips(len(fine), self.width):
            a, b = first[fine[part]], second[fine[part]]
            x = self.values[a] - self.mean[a, None]
            y = self.values[b] - self.mean[b, None]
            found[fine[part]] = np.einsum("ij,ij->i", x, y) / self.length[a] / self.length[b]
        return np.clip(found, -1.0, 1.0, out=found)

    def pairs(self, first: Ints, second: Ints) -> Pairs:
        return Pairs(first, second, self.correlation(first, second))


def _strips(count: int, width: int) -> Iterator[slice]:
    step = max(1, STRIP // max(1, width))
    for begin in range(0, count, step):
        yield slice(begin, min(begin + step, count))


class Sieve:
    """Says of all pairs which may have a correlation of at least some value."""

    def __init__(self, rows: SeriesRows, aim: float, absolute: bool, miss: float, seed: int) -> None:
        """`aim` is near which correlation it will be used; `miss` how often a pair just there may be passed over."""
        self.rows, self.absolute = rows, absolute
        directions = _directions(rows.width, aim, miss, seed)
        self._units = rows.units(directions)
        self._margin = (rows.width + 4) * 2.0**-24
        self._shift = 0.0
        if directions is not None:
            self._shift = NormalDist().inv_cdf(1 - miss) / sqrt(directions.shape[1] - 2)

    def cut(self, correlation: float) -> float:
        """Where a product must lie for its pair to be a candidate."""
        if self._shift and -1 < correlation < 1:
            correlation = tanh(atanh(correlation) - self._shift)
        return correlation - self._margin

    def blocks(self) -> Iterator[Callable[[float], tuple[Ints, Ints, Singles]]]:
        """For each block a function that tells of a cut the pairs with larger products, and these."""
        units, count = self._units, len(self._units)
        room = np.empty(BLOCK * BLOCK, dtype=np.float32)
        for top in range(0, count, BLOCK):
            for left in range(top, count, BLOCK):
                a, b = units[top : top + BLOCK], units[left : left + BLOCK]
                products = np.matmul(a, b.T, out=room[: len(a) * len(b)].reshape(len(a), len(b)))
                if self.absolute:
                    np.abs(products, out=products)

                def above(cut: float, products: Singles = products, top: int = top, left: int = left) -> Any:
                    flat = np.flatnonzero(products >= np.float32(cut))
                    if top == left:
                        flat = flat[flat // products.shape[1] < flat % products.shape[1]]
                    row, column = np.divmod(flat, products.shape[1])
                    chosen = self.rows.takes_part
                    return chosen[top + row], chosen[left + column], products.reshape(-1)[flat]

                yield above


def _directions(width: int, aim: float, miss: float, seed: int) -> Singles | None:
    """Random ones, or None when projecting does not pay."""
    if not 0 < miss < 1 or not 0 < aim < 1:
        return None
    normal = NormalDist()
    far = normal.inv_cdf(1 - miss) + normal.inv_cdf(1 - FALSE_ALARMS)
    count = max(FEWEST_DIRECTIONS, ceil((far / atanh(aim)) ** 2) + 2)
    if 2 * count > width:
        return None
    return np.random.default_rng(seed).standard_normal((width, count), dtype=np.float32)


def strength(pairs: Pairs, absolute: bool) -> Floats:
    return np.abs(pairs.correlation) if absolute else pairs.correlation


def pairs_above(rows: SeriesRows, threshold: float, absolute: bool = False, miss: float = 0.0, seed: int = 0) -> Pairs:
    """All with at least this correlation, in the order of `first` and `second`."""
    sieve = Sieve(rows, threshold, absolute, miss, seed)
    cut = sieve.cut(threshold)
    found = Pairs.none()
    parts = [above(cut)[:2] for above in sieve.blocks()]
    if parts:
        found = rows.pairs(*(np.concatenate(ends) for ends in zip(*parts, strict=True)))
    found = found.take(np.flatnonzero(strength(found, absolute) >= threshold))
    return found.take(np.lexsort((found.second, found.first)))


def top_pairs(
    rows: SeriesRows, count: int, absolute: bool = False, miss: float = 0.0, seed: int = 0, guess: Pairs | None = None
) -> Pairs:
    """The `count` with the highest correlation, highest first.

    The least of any `count` pairs is a lower bound: whoever is below it is not looked at. `guess` are pairs to begin with, such
    as the best ones of the slot before.
    """
    best = Pairs.none()
    if guess is not None and len(guess):
        best = rows.pairs(guess.first, guess.second)
        best = best.take(np.flatnonzero(~np.isnan(best.correlation)))

    def least() -> float:
        return float(strength(best, absolute).min()) if len(best) >= count else -2.0

    sieve = Sieve(rows, max(0.5, least()), absolute, miss, seed)
    for above in sieve.blocks():
        first, second, products = above(sieve.cut(least()))
        few = 4 * count + 1000
        if len(products) > few:
            # The best by their products first: they raise the bound, and most of the others fall below it.
            order = np.argpartition(products, len(products) - few)
            best = _best(best.join(rows.pairs(first[order[-few:]], second[order[-few:]])), count, absolute)
            rest = order[:-few][products[order[:-few]] >= np.float32(sieve.cut(least()))]
            first, second = first[rest], second[rest]
        best = _best(best.join(rows.pairs(first, second)), count, absolute)
    return best


def _best(pairs: Pairs, count: int, absolute: bool) -> Pairs:
    # A pair that was guessed may be found again.
    pairs = pairs.take(np.unique(pairs.first << 32 | pairs.second, return_index=True)[1])
    return pairs.take(np.argsort(-strength(pairs, absolute), kind="stable")[:count])
