"""How many different values, in any window: HyperLogLog with a time for every rank."""

from __future__ import annotations

import math
from statistics import NormalDist
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from millpond.synopses.base import LONG_AGO, Estimate, Synopsis, SynopsisError, Timeline, check_eps, whole
from millpond.synopses.hashing import Hashes, hashed
from millpond.synopses.layout import Floats, Ints, StateReader, StateWriter

# One register's worth of relative standard error.
DEVIATION = 1.04


def precision_for(eps: float, rate: float) -> int:
    """How many bits number the registers with which eps holds at the rate.

    For many values by the standard error. Of fewer than 1 / eps values one that meets another in its register is more than eps
    of all, so that may not happen more often than the rate allows.
    """
    few = math.ceil(1 / eps) - 1
    registers = max((DEVIATION * normal_quantile(rate) / eps) ** 2, few * (few - 1) / 2 / (1 - rate))
    precision = max(4, math.ceil(math.log2(registers)))
    if precision > 26:
        raise SynopsisError(f"eps {eps} would need {2**precision} registers", hint="Take a larger one.")
    return precision


def places_of(hashes: Hashes, precision: int) -> tuple[Ints, Ints]:
    """The register of each hash, and its rank less one."""
    register = (hashes & np.uint64((1 << precision) - 1)).astype(np.int64)
    # The rank is one more than the zeros after which the first one comes; a guard ends the row of zeros.
    rest = (hashes >> np.uint64(precision)) | np.uint64(1 << (64 - precision))
    zeros = np.bitwise_count((rest & (~rest + np.uint64(1))) - np.uint64(1)).astype(np.int64)
    return register, zeros


def normal_quantile(rate: float) -> float:
    """How many deviations from the middle hold `rate` of all cases."""
    if not 0 < rate < 1:
        raise SynopsisError(f"a rate must be more than 0 and less than 1, not {rate!r}")
    return NormalDist().inv_cdf((1 + rate) / 2)


class SlidingDistinct(Synopsis):
    """The number of different values in any window up to `window`, within eps in at least `rate` of all cases.

    A hash sends every value to one of m registers and gives it a rank: r with chance 2**-r. HyperLogLog keeps the largest rank of
    each register; this keeps, for each register and rank, when it last came, and so has the largest rank for every window.
    m is the power of two from which eps holds at the rate (`precision_for`). Merging loses nothing: the
    result is that of one synopsis over both streams. Chance is in the hash, so `seed` repeats a result; asking twice does not
    make it better. Memory: m times about log2(number of values / m) + 10 times of 8 bytes.
    """

    KIND = b"SDIV"

    def __init__(self, eps: float, window: int, rows: bool = False, rate: float = 0.95, seed: int = 0) -> None:
        self.eps = check_eps(eps)
        self.timeline = Timeline(window, rows)
        self.rate = float(rate)
        self.seed = whole("seed", seed)
        self.precision = precision_for(self.eps, self.rate)
        self.registers = 1 << self.precision
        self._last: Ints = np.empty((0, self.registers), dtype=np.int64)
        """_last[r - 1, register]: when a value of rank r last came. Ranks that never came have no row."""

    def parameters(self) -> tuple[Any, ...]:
        return (self.eps, self.timeline.window, self.timeline.rows, self.rate, self.seed)

    @property
    def error(self) -> float:
        return self.eps

    def add_many(self, times: npt.ArrayLike | None, values: Any = None) -> None:
        if values is None:
            raise SynopsisError("distinct values need the values")
        hashes = hashed(values, self.seed)
        stamps = self.timeline.many(times, len(hashes))
        if not len(stamps):
            return
        register, zeros = places_of(hashes, self.precision)
        self._grow(int(zeros.max()) + 1)
        # Of several times for one place the last is kept, and times do not go back.
        self._last.reshape(-1)[zeros * self.registers + register] = stamps
        self.timeline.now = int(stamps[-1])

    def _grow(self, ranks: int) -> None:
        if ranks > len(self._last):
            more = np.full((ranks - len(self._last), self.registers), LONG_AGO, dtype=np.int64)
            self._last = np.concatenate([self._last, more])

    def distinct(self, window: int | None = None, now: int | None = None) -> Estimate:
        return self.estimate(window, now)

    def estimate(self, window: int | None = None, now: int | None = None) -> Estimate:
        begin = self.timeline.begin(window, now)
        ranks = np.zeros(self.registers, dtype=np.int64)
        for rank, last in enumerate(self._last, start=1):
            ranks[last > begin] = rank
        counts = np.bincount(ranks, minlength=66 - self.precision)
        value = float(cardinalities(counts.reshape(1, -1), self.precision)[0])
        # A register that is not empty has had at least one value of its own.
        certain = int(np.count_nonzero(ranks))
        return Estimate(max(value, certain), max(value / (1 + self.eps), certain), max(value / (1 - self.eps), certain))

    def merge(self, other: Self) -> Self:
        self._check_mergeable(other)
        if self.timeline.rows:
            raise SynopsisError("distinct values over rows do not merge", hint="Use a window of time.")
        both = type(self)(*self.parameters())
        both.timeline.now = max(self.timeline.now, other.timeline.now)
        both._grow(max(len(self._last), len(other._last)))
        for one in (self, other):
            np.maximum(both._last[: len(one._last)], one._last, out=both._last[: len(one._last)])
        return both

    @property
    def nbytes(self) -> int:
        return self._last.nbytes + 5 * 8

    def _write(self, writer: StateWriter) -> None:
        """Only the times that still matter: in the window, and later than all of a higher rank in their register."""
        writer.real(self.eps, self.rate)
        writer.number(self.timeline.window, self.timeline.rows, self.seed, self.timeline.now, len(self._last))
        above = np.full(self.registers, self.timeline.now - self.timeline.window, dtype=np.int64)
        for last in self._last[::-1]:
            matter = np.flatnonzero(last > above)
            writer.numbers(matter)
            writer.numbers(last[matter])
            np.maximum(above, last, out=above)

    @classmethod
    def _read(cls, reader: StateReader, version: int) -> Self:
        eps, rate = reader.real(), reader.real()
        made = cls(eps, reader.number(), bool(reader.number()), rate, reader.number())
        made.timeline.now = reader.number()
        made._grow(reader.number())
        for last in made._last[::-1]:
            matter = reader.numbers()
            last[matter] = reader.numbers()
        return made


def cardinalities(counts: Ints, precision: int) -> Floats:
    """How many values lead to `counts[i, r]` registers of rank r, for each i.

    The estimator of Ertl ("New cardinality estimation algorithms for HyperLogLog sketches", 2017): without bias from none to
    more than any stream has, so there is no switch from one formula to another.
    """
    registers = 1 << precision
    most = 64 - precision
    z = registers * _tau(1 - counts[:, most + 1] / registers)
    for rank in range(most, 0, -1):
        z = (z + counts[:, rank]) / 2
    z += registers * _sigma(counts[:, 0] / registers)
    found: Floats = registers**2 / (2 * math.log(2) * z)
    return found


def _sigma(x: Floats) -> Floats:
    """x + the sum of x**(2**k) * 2**(k - 1); infinite at 1."""
    x = x.copy()
    endless = x == 1
    x[endless] = 0
    y, z, before = 1.0, x.copy(), np.full_like(x, math.nan)
    while (z != before).any():
        x *= x
        before = z
        z = z + x * y
        y += y
    z[endless] = math.inf
    return z


def _tau(x: Floats) -> Floats:
    """(1 - x - the sum of (1 - x**(2**-k))**2 * 2**-k) / 3; 0 at both ends."""
    ends = (x == 0) | (x == 1)
    x = np.where(ends, 1.0, x)
    y, z, before = 1.0, 1 - x, np.full_like(x, math.nan)
    while (z != before).any():
        x = np.sqrt(x)
        before = z
        y /= 2
        z = z - (1 - x) ** 2 * y
    result: Floats = np.where(ends, 0.0, z / 3)
    return result
