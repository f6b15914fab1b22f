"""The buckets of an exponential histogram in canonical form.

A stream of units (ones, or a value v as v units at one time) stands in buckets, newest first, of sizes 1, 2, 4, ...: each size
but the largest has `spread` or `spread + 1` buckets, the largest 1 to `spread + 1`. A total has exactly one such form, so the
sizes follow from the total alone and only a time per bucket is kept: that of its newest unit.

**Why the error is bounded.** A window begins inside one bucket, of size C. What is newer is whole in the window, and amounts to
at least spread * (C - 1). So the count lies between L = newer + 1 and U = newer + C, and U / L < 1 + 1 / spread.

**Why a batch can go in at once.** The form of the new total says at which ranks, counted from the newest unit, buckets end. A
unit at such a rank is in the batch, or it ended a bucket before: an old unit that does not end a bucket never will again.
"""

from __future__ import annotations

import math
from array import array
from bisect import bisect_right

import numpy as np
import numpy.typing as npt

from millpond.synopses.base import LONG_AGO, TOO_LARGE
from millpond.synopses.layout import Floats, Ints, StateReader, StateWriter, SynopsisError

# After every time.
NEVER = TOO_LARGE
# Batches with fewer units go in one by one; measured, the two ways cost the same near here.
FEW_UNITS = 200


def spread_for(eps: float) -> int:
    """The least spread with a relative error of at most eps: the bounds' harmonic mean is off by less than 1 / (2 spread + 1)."""
    return max(1, math.ceil(1 / eps) // 2)


def ratio_error(ratio: float) -> float:
    """The relative error of the harmonic mean of two bounds when upper / lower is `ratio`."""
    return (ratio - 1) / (ratio + 1)


def error_ratio(eps: float) -> float:
    """The ratio of bounds that leaves a relative error of eps."""
    return (1 + eps) / (1 - eps)


def canonical_form(total: int, spread: int) -> list[int]:
    """How many buckets of size 1, 2, 4, ... a total has.

    >>> canonical_form(10, 2)
    [2, 2, 1]
    """
    if total <= 0:
        return []
    top = (total // spread + 1).bit_length() - 1
    rest = total - ((1 << top) - 1) * spread
    counts = [spread + (rest >> i & 1) for i in range(top)]
    most = rest >> top
    return [*counts, most] if most else counts


def newest_ranks(total: int, spread: int) -> Ints:
    """For each bucket, newest first, how many units are newer than it."""
    counts = canonical_form(total, spread)
    sizes: Ints = np.repeat(np.left_shift(1, np.arange(len(counts), dtype=np.int64)), counts)
    ranks: Ints = np.cumsum(sizes) - sizes
    return ranks


class Canonical:
    """Buckets of one stream. Knows nothing of windows but where one begins."""

    __slots__ = ("first", "generation", "levels", "spread", "total")

    def __init__(self, spread: int) -> None:
        self.spread = spread
        self.levels: list[array[int]] = []
        """levels[i]: times of the buckets of size 2**i, oldest first."""
        self.total = 0
        self.first = NEVER
        """Time of the oldest unit, LONG_AGO once buckets were dropped and it is not known, NEVER without units."""
        self.generation = 0
        """How often units were moved to the newest time of their bucket by merging. Each costs a factor 1 + 1 / spread."""

    def __len__(self) -> int:
        return sum(map(len, self.levels))

    @property
    def slack(self) -> float:
        return (1 + 1 / self.spread) ** self.generation

    @property
    def ratio(self) -> float:
        """Upper bounds are less than this many times the lower."""
        return (1 + 1 / self.spread) ** (self.generation + 1)

    def below(self, level: int) -> int:
        """Units in all buckets smaller than 2**level, for a level that is in use."""
        size = 1 << level
        return self.spread * (size - 1) + (self.total + self.spread) % size

    def push(self, time: int) -> None:
        """One unit, not older than any here."""
        if not self.total:
            self.first = time
        self.total += 1
        most = self.spread + 1
        for level in self.levels:
            level.append(time)
            if len(level) <= most:
                return
            # The two oldest become one of double size; the merged bucket's newest unit is the second one's.
            time = level[1]
            del level[:2]
        self.levels.append(array("q", [time]))

    def extend(self, times: Ints, weights: Ints | None = None) -> None:
        """Units in the order of time: one each, or `weights` (all positive)."""
        if not len(times):
            return
        if weights is None:
            if len(times) < FEW_UNITS:
                for time in times.tolist():
                    self.push(time)
                return
            added = len(times)
        else:
            ends = np.cumsum(weights)
            added = int(ends[-1])
        if self.total + added >= TOO_LARGE:
            raise SynopsisError("the total of this window is too large", detail="Totals have at most 62 bits.")
        ranks = newest_ranks(self.total + added, self.spread)
        of_batch = int(np.searchsorted(ranks, added))
        units = added - 1 - ranks[:of_batch]
        new = times[units if weights is None else np.searchsorted(ends, units, side="right")]
        held = self.times()[::-1]
        old = held[np.searchsorted(newest_ranks(self.total, self.spread), ranks[of_batch:] - added)]
        if not self.total:
            self.first = int(times[0])
        self._set(self.total + added, np.concatenate([new, old])[::-1])

    def _set(self, total: int, times: Ints) -> None:
        """`times`: of all buckets, oldest first."""
        self.total = total
        self.levels = []
        end = len(times)
        for count in canonical_form(total, self.spread):
            self.levels.append(array("q", times[end - count : end].tobytes()))
            end -= count

    def expire(self, begin: int) -> None:
        """Drop buckets with nothing after `begin`."""
        while self.levels:
            top = self.levels[-1]
            gone = bisect_right(top, begin)
            if not gone:
                return
            self.total -= gone << (len(self.levels) - 1)
            self.first = LONG_AGO
            if gone < len(top):
                del top[:gone]
                return
            self.levels.pop()
        self.first = NEVER
        self.generation = 0

    def within(self, begin: int) -> tuple[int, int]:
        """Bounds of the units after `begin`. Steps: log of the number of levels, then log of the spread."""
        levels = self.levels
        if not levels or levels[0][-1] <= begin:
            return 0, 0
        if self.first > begin:
            return self.total, self.total
        low, high = 0, len(levels)
        while high - low > 1:
            middle = (low + high) // 2
            if levels[middle][-1] > begin:
                low = middle
            else:
                high = middle
        size = 1 << low
        upper = self.below(low) + (len(levels[low]) - bisect_right(levels[low], begin)) * size
        lower = upper - size + 1
        if self.generation:
            lower = max(1, math.ceil(lower / self.slack - 1e-9))
        return lower, upper

    def times(self) -> Ints:
        """Of all buckets, oldest first."""
        parts = [np.frombuffer(level, dtype=np.int64) for level in reversed(self.levels)]
        return np.concatenate(parts) if parts else np.empty(0, dtype=np.int64)

    def sizes(self) -> Ints:
        """Of all buckets, oldest first."""
        counts = [len(level) for level in self.levels]
        return np.repeat(np.left_shift(1, np.arange(len(counts), dtype=np.int64)), counts)[::-1]

    def merged(self, other: Canonical) -> Canonical:
        """Both streams, every unit at the newest time of its bucket: never counted too little, at most 1 / spread too much."""
        both = Canonical(self.spread)
        if not self.total or not other.total:
            one = self if self.total else other
            both._set(one.total, one.times())
            both.first, both.generation = one.first, one.generation
            return both
        times = np.concatenate([self.times(), other.times()])
        order = np.argsort(times, kind="stable")
        both.extend(times[order], np.concatenate([self.sizes(), other.sizes()])[order])
        both.first = min(self.first, other.first)
        both.generation = max(self.generation, other.generation) + 1
        return both

    @property
    def nbytes(self) -> int:
        return sum(len(level) * level.itemsize for level in self.levels) + 4 * 8

    def write(self, writer: StateWriter) -> None:
        writer.number(self.total, self.first, self.generation)
        times = self.times()
        # Differences: older buckets are further apart, so each level is packed by itself.
        end = len(times)
        for level in self.levels:
            writer.numbers(times[end - len(level) : end])
            end -= len(level)

    @classmethod
    def read(cls, reader: StateReader, spread: int) -> Canonical:
        made = cls(spread)
        made.total, made.first, made.generation = reader.number(), reader.number(), reader.number()
        for _ in canonical_form(made.total, spread):
            made.levels.append(array("q", reader.numbers().tobytes()))
        return made


def bucket_bound(eps: float, units: int) -> float:
    """The most buckets for a window with so many units: (k/2 + 1)(log2(2 units / k + 1) + 1), k = ceil(1 / eps)."""
    k = math.ceil(1 / eps)
    return (k / 2 + 1) * (math.log2(2 * units / k + 1) + 1)


def interval(lower: npt.NDArray[np.int64] | Floats, upper: npt.NDArray[np.int64] | Floats) -> Floats:
    """`Estimate.between` for arrays: the harmonic mean, 0 where the lower bound is 0."""
    low, high = lower.astype(np.float64), upper.astype(np.float64)
    both = low + high
    return np.divide(2 * low * high, both, out=np.zeros_like(both), where=both > 0)
