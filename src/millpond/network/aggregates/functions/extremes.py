"""MIN and MAX, of whole numbers of the order that the values have."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import numpy as np
import pyarrow as pa

from millpond.network.aggregates import exact
from millpond.network.aggregates.functions.base import AggregateFunction, Bools, Ints, Numbers, Part, Values
from millpond.schema import DataType

_DIGITS = 18  # of a DECIMAL that fits 64 bits
_TYPES = ("TIMESTAMP", "DATE", "DOUBLE")


class Extreme(Part):
    """The least or the greatest."""

    _greater: ClassVar[np.ufunc]

    def of(self, values: Values) -> Numbers:
        return values.ranked

    def reduced(self, numbers: Numbers, begins: Ints, longest: int, column: str) -> Numbers:
        found: Numbers = self._greater.reduceat(numbers, begins)
        return found

    def merged(self, mine: Numbers, theirs: Numbers, column: str) -> Numbers:
        found: Numbers = self._greater(mine, theirs)
        return found


class Least(Extreme):
    start = int(np.iinfo(np.int64).max)
    _greater = np.minimum


class Most(Extreme):
    start = int(np.iinfo(np.int64).min)
    _greater = np.maximum


LEAST, MOST = Least(), Most()


class _OfExtreme(AggregateFunction):
    _part: ClassVar[Part]

    def result(self, kind: DataType) -> DataType | None:
        small = kind.name == "DECIMAL" and kind.precision <= _DIGITS
        return kind if kind.is_integer or small or kind.name in _TYPES else None

    def parts(self, kind: pa.DataType) -> tuple[Part, ...]:
        return (self._part,)

    def shown(self, kind: pa.DataType, counts: Ints, held: Sequence[Numbers]) -> Numbers:
        return exact.out_of_order(held[0]) if pa.types.is_floating(kind) else held[0]

    def as_arrow(self, shown: Numbers, nulls: Bools, kind: pa.DataType, column: str) -> pa.Array:
        if pa.types.is_decimal(kind):
            return pa.array(exact.as_decimals(np.where(nulls, 0, shown).astype(object), kind.scale), kind, mask=nulls)
        array = pa.array(shown, mask=nulls)
        return (array.cast(pa.int32()) if pa.types.is_date32(kind) else array).cast(kind)


class Min(_OfExtreme):
    name = "min"
    _part = LEAST


class Max(_OfExtreme):
    name = "max"
    _part = MOST
