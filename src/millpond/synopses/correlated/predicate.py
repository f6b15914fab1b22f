"""Which rows count: those whose x lies in a range that hangs on an aggregate of all x.

A range has up to two ends, each `factor * AGG(x) + offset`. Inside, two things make all cases one: MAX is MIN of
mirrored rows (x becomes -x, and the ends change sides), and every end is turned into "the rows with x <= t": an open or
closed end differs only by the next float. So the synopsis needs nothing but F(t), the rows up to t, near one or two
thresholds.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
import numpy.typing as npt

from millpond.synopses.base import Floats, SynopsisError


class Independent(StrEnum):
    """The aggregate that the range hangs on."""

    MIN = "min"
    MAX = "max"
    AVG = "avg"


class Dependent(StrEnum):
    """The aggregate of the rows in the range."""

    COUNT = "count"
    SUM = "sum"
    AVG = "avg"


@dataclass(frozen=True)
class Limit:
    """One end of a range: `factor * AGG(x) + offset`; a closed end belongs to the range.

    The factor is not negative: the range has to follow its aggregate, or nothing could be forgotten.
    """

    factor: float = 1.0
    offset: float = 0.0
    closed: bool = False

    def __post_init__(self) -> None:
        if not (math.isfinite(self.factor) and math.isfinite(self.offset) and self.factor >= 0):
            raise SynopsisError(f"a limit needs a finite factor of at least 0 and a finite offset, not {self}")

    def mirrored(self) -> Limit:
        return Limit(self.factor, -self.offset, self.closed)


def _independent(name: str) -> Independent:
    if name not in tuple(Independent):
        raise SynopsisError(f"a range hangs on {', '.join(Independent)}, not on {name!r}")
    return Independent(name)


@dataclass(frozen=True)
class Predicate:
    """The range of x as a function of an aggregate of x.

    >>> str(Predicate.above("avg"))
    'x > avg'
    >>> str(Predicate.below("min", 1.1, closed=True))
    'x <= 1.1*min'
    >>> str(Predicate.within("avg", 5.0))
    'avg - 5 < x < avg + 5'
    """

    independent: Independent
    low: Limit | None = None
    high: Limit | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "independent", _independent(self.independent))
        if self.low is None and self.high is None:
            raise SynopsisError("a correlated predicate needs a low or a high limit")

    @classmethod
    def above(cls, independent: str, factor: float = 1.0, offset: float = 0.0, *, closed: bool = False) -> Predicate:
        """x > factor * AGG(x) + offset, or >= when closed."""
        return cls(_independent(independent), low=Limit(factor, offset, closed))

    @classmethod
    def below(cls, independent: str, factor: float = 1.0, offset: float = 0.0, *, closed: bool = False) -> Predicate:
        """x < factor * AGG(x) + offset, or <= when closed."""
        return cls(_independent(independent), high=Limit(factor, offset, closed))

    @classmethod
    def within(cls, independent: str, distance: float, *, closed: bool = False) -> Predicate:
        """|x - AGG(x)| < distance, or <= when closed."""
        return cls(_independent(independent), Limit(1.0, -distance, closed), Limit(1.0, distance, closed))

    @property
    def is_average(self) -> bool:
        return self.independent is Independent.AVG

    def mirrored(self) -> Predicate:
        """The same rows, when each x is replaced by -x."""
        turn = {Independent.MIN: Independent.MAX, Independent.MAX: Independent.MIN, Independent.AVG: Independent.AVG}
        low, high = (end and end.mirrored() for end in (self.high, self.low))
        return Predicate(turn[self.independent], low, high)

    def limits(self) -> list[Limit]:
        return [end for end in (self.low, self.high) if end is not None]

    def thresholds(self, aggregate: float) -> tuple[float | None, float | None]:
        """(t1, t2) such that the rows in the range are those with t1 < x <= t2; None is no such end."""
        below = above = None
        if self.low is not None:
            t = self.low.factor * aggregate + self.low.offset
            below = math.nextafter(t, -math.inf) if self.low.closed else t
        if self.high is not None:
            t = self.high.factor * aggregate + self.high.offset
            above = t if self.high.closed else math.nextafter(t, -math.inf)
        return below, above

    def holds(self, x: Floats, aggregate: float) -> npt.NDArray[np.bool_]:
        """Which of some rows are in the range, when the aggregate is known."""
        below, above = self.thresholds(aggregate)
        inside = np.ones(len(x), dtype=np.bool_)
        if below is not None:
            inside &= x > below
        if above is not None:
            inside &= x <= above
        return inside

    def __str__(self) -> str:
        low = self.low and _shown(self.low, self.independent)
        high = self.high and _shown(self.high, self.independent)
        less = "<=" if self.high and self.high.closed else "<"
        if low is None or self.low is None:
            return f"x {less} {high}"
        if high is None:
            return f"x {'>=' if self.low.closed else '>'} {low}"
        return f"{low} {'<=' if self.low.closed else '<'} x {less} {high}"


def _shown(limit: Limit, independent: Independent) -> str:
    product = f"{independent}" if limit.factor == 1 else f"{limit.factor:g}*{independent}"
    if limit.offset == 0:
        return product
    return f"{product} {'+' if limit.offset > 0 else '-'} {abs(limit.offset):g}"
