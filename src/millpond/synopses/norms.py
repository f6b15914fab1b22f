"""Lp norms of what a window adds up to, for p from 1 to 2: stable sketches in the buckets of a histogram.

An element (key, amount) adds `amount` to one coordinate of a vector; the norm is that of the window's vector. A sketch is the
product of the vector with s columns of random numbers from a p-stable law: it adds up as vectors do, and its entries are spread
like the norm. f = norm**p has f(A + B) >= f(A) + f(B) and f(A + B) <= 2**(p-1) (f(A) + f(B)). Buckets, newest first, obey

    f(bucket) <= 2**(p-1) / k * sum of f(newer buckets)              or hold one element       (invariant 3)
    f(bucket) + f(the one before it) > 1 / k * sum of f(newer ones)                            (invariant 4)

A window that begins inside a bucket has a norm between that without the bucket and that with all of it. These differ by at most
the norm of the bucket (triangle), which by invariant 3 is at most d = (2**(p-1) / k)**(1/p) of the norm of the rest; so k is
chosen for the ratio 1 + d.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from millpond.errors import counted
from millpond.synopses.base import Estimate, Synopsis, SynopsisError, Timeline, amounts, check_eps, whole
from millpond.synopses.canonical import error_ratio, ratio_error
from millpond.synopses.distinct import normal_quantile
from millpond.synopses.hashing import Hashes, hashed, mixed
from millpond.synopses.layout import Floats, Ints, StateReader, StateWriter

# Elements whose random numbers stand in memory together.
AT_ONCE = 512
# Bytes that one synopsis may come to.
MOST = 2_000_000_000
_BUCKETS = 10  # times k: about so many there are


@dataclass(slots=True)
class _Bucket:
    time: int
    """Of its newest element."""
    single: bool
    """Whether it holds one element, so that it is in a window or not."""
    sketch: Floats
    f: float


class SlidingLp(Synopsis):
    """The Lp norm of the vector that a window adds up to, for p in [1, 2]; within eps in at least `rate` of all cases.

    `add_many(times, keys, amounts)`: amounts are whole numbers, 0 or more; left out they are 1, and p = 2 then measures how
    uneven the keys are. Half of eps is the histogram's, and certain; half is the sketch's, at the rate. For p = 1 with such
    amounts the norm is their sum: take `SlidingSum`, which is certain and far smaller. Merging: each generation lets the
    histogram's part of the bounds grow by the factor 1 + 2d (d as at the top of the module). Asking costs O(buckets).
    """

    KIND = b"SLPN"

    def __init__(
        self, p: float, eps: float, window: int, rows: bool = False, rate: float = 0.95, seed: int = 0
    ) -> None:
        if not 1 <= p <= 2:
            raise SynopsisError(f"p must be from 1 to 2, not {p!r}")
        self.p = float(p)
        self.eps = check_eps(eps)
        self.timeline = Timeline(window, rows)
        self.rate = float(rate)
        self.seed = whole("seed", seed)
        self.step = error_ratio(self.eps / 2) - 1
        self.k = 2 ** (self.p - 1) / self.step**self.p
        deviations = normal_quantile(rate) / (self.eps / 2)
        self.columns = math.ceil(deviations**2 * _variance(self.p)) + 1
        if self.largest > MOST:
            raise SynopsisError(
                f"a norm within {eps} of itself would take {self.largest / 1e9:,.1f} GB",
                hint="Take a larger eps, such as 0.1.",
            )
        self._buckets: list[_Bucket] = []
        """Oldest first."""
        self._generation = 0

    @property
    def largest(self) -> int:
        """Bytes that it comes to, of a long stream."""
        return int(_BUCKETS * self.k * self.columns * 8)

    def parameters(self) -> tuple[Any, ...]:
        return (self.p, self.eps, self.timeline.window, self.timeline.rows, self.rate, self.seed)

    @property
    def error(self) -> float:
        return ratio_error((1 + self.step) * self._slack) + self.eps / 2

    @property
    def _slack(self) -> float:
        return (1 + 2 * self.step) ** self._generation

    def __len__(self) -> int:
        """How many buckets there are."""
        return len(self._buckets)

    def add_many(self, times: npt.ArrayLike | None, values: Any = None, amount: npt.ArrayLike | None = None) -> None:
        if values is None:
            raise SynopsisError("a norm needs the keys")
        keys = hashed(values, self.seed)
        much = np.ones(len(keys), dtype=np.int64) if amount is None else amounts(amount, (1 << 53) - 1)
        if len(much) != len(keys):
            raise SynopsisError(f"got {counted(len(keys), 'key')} and {counted(len(much), 'amount')}")
        stamps = self.timeline.many(times, len(keys))
        if not len(stamps):
            return
        now = int(stamps[-1])
        some = np.flatnonzero((much > 0) & (stamps > now - self.timeline.window))
        for start in range(0, len(some), AT_ONCE):
            part = some[start : start + AT_ONCE]
            self._take(stamps[part], keys[part], much[part])
        self.timeline.now = now
        self._expire(now)

    def _take(self, stamps: Ints, keys: Hashes, much: Ints) -> None:
        self._expire(int(stamps[-1]))
        different, which = np.unique(keys, return_inverse=True)
        sketches = _stable(different, self.columns, self.p)[which] * much[:, None]
        f = much.astype(np.float64) ** self.p
        news = [_Bucket(int(t), True, row, float(y)) for t, row, y in zip(stamps, sketches, f, strict=True)]
        self._join([*self._buckets, *news])

    def _join(self, pieces: list[_Bucket]) -> None:
        """Buckets of `pieces` (oldest first): from the newest on, neighbours become one where invariant 4 does not hold."""
        result = []
        newer = 0.0
        current: _Bucket | None = None
        for piece in reversed(pieces):
            if current is None:
                current = piece
            elif current.f + piece.f <= newer / self.k:
                sketch = current.sketch + piece.sketch
                current = _Bucket(current.time, False, sketch, self._f(sketch))
            else:
                result.append(current)
                newer += current.f
                current = piece
        if current is not None:
            result.append(current)
        for bucket in result:
            if bucket.sketch.base is not None:  # a row of the batch: do not keep all of the batch for it
                bucket.sketch = bucket.sketch.copy()
        self._buckets = result[::-1]

    def _expire(self, now: int) -> None:
        begin = now - self.timeline.window
        gone = 0
        while gone < len(self._buckets) and self._buckets[gone].time <= begin:
            gone += 1
        del self._buckets[:gone]
        if not self._buckets:
            self._generation = 0

    def _f(self, sketch: Floats) -> float:
        """norm**p from a sketch."""
        if self.p == 2:
            return float(sketch @ sketch) / len(sketch)
        sizes = np.abs(sketch)
        if not sizes.all():
            return 0.0
        return math.exp(self.p * float(np.mean(np.log(sizes))) - _bias(self.p, self.columns))

    def norm(self, window: int | None = None, now: int | None = None) -> Estimate:
        return self.estimate(window, now)

    def estimate(self, window: int | None = None, now: int | None = None) -> Estimate:
        begin = self.timeline.begin(window, now)
        inside = [bucket for bucket in self._buckets if bucket.time > begin]
        if not inside:
            return Estimate.exactly(0.0)
        rest = np.sum([bucket.sketch for bucket in inside[1:]], axis=0) if len(inside) > 1 else np.zeros(self.columns)
        high = self._f(rest + inside[0].sketch) ** (1 / self.p)
        low = high if inside[0].single else min(self._f(rest) ** (1 / self.p), high)
        low /= self._slack
        best = Estimate.between(low, high).value
        return Estimate(best, low / (1 + self.eps / 2), high / (1 - self.eps / 2))

    def merge(self, other: Self) -> Self:
        self._check_mergeable(other)
        if self.timeline.rows:
            raise SynopsisError("norms over rows do not merge", hint="Use a window of time.")
        both = type(self)(*self.parameters())
        both.timeline.now = max(self.timeline.now, other.timeline.now)
        parts = sorted([*self._buckets, *other._buckets], key=lambda bucket: bucket.time)
        # All of a bucket counts as having come at its time.
        both._join([_Bucket(one.time, True, one.sketch.copy(), one.f) for one in parts])
        both._generation = max(self._generation, other._generation) + (1 if self._buckets and other._buckets else 0)
        both._expire(both.timeline.now)
        return both

    def copy(self) -> Self:
        """Another one that holds the same."""
        made = type(self)(*self.parameters())
        made.timeline.now, made._generation = self.timeline.now, self._generation
        made._buckets = list(self._buckets)  # buckets are not changed, but replaced
        return made

    @property
    def nbytes(self) -> int:
        return len(self._buckets) * (self.columns * 8 + 3 * 8) + 8 * 8

    def _write(self, writer: StateWriter) -> None:
        writer.real(self.p, self.eps, self.rate)
        writer.number(self.timeline.window, self.timeline.rows, self.seed, self.timeline.now, self._generation)
        writer.numbers([bucket.time for bucket in self._buckets])
        writer.numbers([bucket.single for bucket in self._buckets])
        writer.reals([bucket.f for bucket in self._buckets])
        for bucket in self._buckets:
            writer.reals(bucket.sketch)

    @classmethod
    def _read(cls, reader: StateReader, version: int) -> Self:
        p, eps, rate = reader.real(), reader.real(), reader.real()
        made = cls(p, eps, reader.number(), bool(reader.number()), rate, reader.number())
        made.timeline.now, made._generation = reader.number(), reader.number()
        heads = zip(reader.numbers().tolist(), reader.numbers().tolist(), reader.reals().tolist(), strict=True)
        made._buckets = [_Bucket(time, bool(single), reader.reals(), f) for time, single, f in heads]
        return made


def _stable(keys: Hashes, columns: int, p: float) -> Floats:
    """For each key its row of random numbers: the same for a key wherever it comes.

    They are from the symmetric p-stable law with characteristic function exp(-|t|**p), by the method of Chambers, Mallows and
    Stuck. For p = 2 signs do as well as normal numbers: the mean square is without bias and its variance no larger.
    """
    words = mixed(keys[:, None] ^ mixed(np.arange(columns, dtype=np.uint64))[None, :])
    if p == 2:
        return (words >> np.uint64(63)).astype(np.float64) * 2 - 1
    angle = (_unit(words) - 0.5) * math.pi
    if p == 1:
        return np.tan(angle)
    wait = -np.log(_unit(mixed(words)))
    return np.sin(p * angle) / np.cos(angle) ** (1 / p) * (np.cos((1 - p) * angle) / wait) ** ((1 - p) / p)


def _unit(words: Hashes) -> Floats:
    """Between 0 and 1, neither included."""
    return ((words >> np.uint64(12)).astype(np.float64) + 0.5) / (1 << 52)


def _variance(p: float) -> float:
    """Of the estimated norm, relative, times the number of columns: for p = 2 from the mean of squares, else from the geometric
    mean, which for stable laws has a bias that is known exactly (Li, "Estimators and tail bounds for dimension reduction in
    l_alpha using stable random projections", 2008)."""
    return 0.5 if p == 2 else math.pi**2 / 12 * (p * p + 2) / p**2


def _bias(p: float, columns: int) -> float:
    """Log of the mean of |x_1 ... x_s|**(p/s) for a vector of norm 1."""
    s = columns
    one = 2 / math.pi * math.gamma(p / s) * math.gamma(1 - 1 / s) * math.sin(math.pi * p / (2 * s))
    return s * math.log(one)
