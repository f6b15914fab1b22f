"""SUM and AVG. Doubles and decimals are added up as whole numbers of any size; see `exact`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import ClassVar

import numpy as np
import pyarrow as pa

from millpond.errors import EngineError
from millpond.network.aggregates import exact
from millpond.network.aggregates.functions.base import AggregateFunction, Bools, Ints, Numbers, Part, Values
from millpond.schema import DataType

_SURE = 2.0**62  # sums below it cannot leave BIGINT, however a float rounds
_PRECISION = 38  # the most digits that a DECIMAL has


class Total(Part):
    """A sum of integers, which fails beyond BIGINT."""

    def of(self, values: Values) -> Numbers:
        return values.whole

    def reduced(self, numbers: Numbers, begins: Ints, longest: int, column: str) -> Numbers:
        """NumPy's sums alone would go round at the end of BIGINT."""
        if max(float(numbers.max()), -float(numbers.min())) * longest < _SURE:
            return super().reduced(numbers, begins, longest, column)
        try:
            return super().reduced(numbers.astype(object), begins, longest, column).astype(np.int64)
        except OverflowError:
            raise _too_large(column) from None

    def merged(self, mine: Numbers, theirs: Numbers, column: str) -> Numbers:
        both = super().merged(mine, theirs, column)
        if (((mine ^ both) & (theirs ^ both)) < 0).any():  # it has the sign of neither
            raise _too_large(column)
        return both


class ExactTotal(Part):
    """A sum of doubles that are finite, or of decimals, as a whole number."""

    dtype = object
    more_bytes = 180

    def of(self, values: Values) -> Numbers:
        return values.exact


class Occurrences(Part):
    """How many values are NaN, or infinite."""

    def __init__(self, occurs: Callable[[Numbers], Bools]) -> None:
        self._occurs = occurs

    def of(self, values: Values) -> Numbers:
        return self._occurs(values.doubles).astype(np.int64)


TOTAL, EXACT = Total(), ExactTotal()
NANS, UPS, DOWNS = Occurrences(np.isnan), Occurrences(np.isposinf), Occurrences(np.isneginf)


class _OfTotal(AggregateFunction):
    _more: ClassVar[tuple[int, int]]
    """How many more digits and decimal places than its values a result has."""

    def result(self, kind: DataType) -> DataType | None:
        if kind.name != "DECIMAL":
            return kind if kind.name == "DOUBLE" else None
        precision, scale = kind.precision + self._more[0], kind.scale + self._more[1]
        return DataType("DECIMAL", precision, scale) if precision <= _PRECISION else None

    def parts(self, kind: pa.DataType) -> tuple[Part, ...]:
        if pa.types.is_integer(kind):
            return (TOTAL,)
        return (EXACT,) if pa.types.is_decimal(kind) else (EXACT, NANS, UPS, DOWNS)

    def as_arrow(self, shown: Numbers, nulls: Bools, kind: pa.DataType, column: str) -> pa.Array:
        if not pa.types.is_decimal(kind):
            return pa.array(shown, mask=nulls)
        result = pa.decimal128(kind.precision + self._more[0], kind.scale + self._more[1])
        if any(abs(n) >= 10**result.precision for n in shown):
            raise EngineError(f'the sum of "{column}" is too large for {str(result).upper()}')
        return pa.array(exact.as_decimals(shown, result.scale), result, mask=nulls)


class Sum(_OfTotal):
    name = "sum"
    _more = (10, 0)

    def result(self, kind: DataType) -> DataType | None:
        return DataType("BIGINT") if kind.is_integer else super().result(kind)

    def shown(self, kind: pa.DataType, counts: Ints, held: Sequence[Numbers]) -> Numbers:
        return _doubles(held) if pa.types.is_floating(kind) else held[0]


class Avg(_OfTotal):
    name = "avg"
    _more = (4, 4)

    def result(self, kind: DataType) -> DataType | None:
        return DataType("DOUBLE") if kind.is_integer else super().result(kind)

    def shown(self, kind: pa.DataType, counts: Ints, held: Sequence[Numbers]) -> Numbers:
        if pa.types.is_decimal(kind):
            return exact.divided(held[0], counts)
        totals = _doubles(held) if pa.types.is_floating(kind) else held[0]
        found: Numbers = totals / np.maximum(counts, 1)
        return found


def _doubles(held: Sequence[Numbers]) -> Numbers:
    """The sums of doubles, with what is not finite among them."""
    totals = np.array([exact.rounded_double(t) for t in held[0]], dtype=np.float64)
    nans, ups, downs = (occurrences > 0 for occurrences in held[1:])
    totals = np.where(ups, np.inf, np.where(downs, -np.inf, totals))
    return np.where(nans | (ups & downs), np.nan, totals)


def _too_large(column: str) -> EngineError:
    return EngineError(f'the sum of "{column}" is too large for BIGINT')
