"""COUNT(DISTINCT x): the values of each group are held, up to a bound, and how many of them there are."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from millpond.network.aggregates.functions.base import AggregateFunction, Ints, Numbers, Part, Values
from millpond.schema import DataType

_TYPES = ("BOOLEAN", "STRING", "DATE", "TIMESTAMP", "DECIMAL", "DOUBLE")


class DistinctValues(Part):
    distinguishes = True

    def of(self, values: Values) -> Numbers:
        return values.fresh


DISTINCT_VALUES = DistinctValues()


class CountDistinct(AggregateFunction):
    name = "distinct"
    null_if_none = False

    def result(self, kind: DataType) -> DataType | None:
        return DataType("BIGINT") if kind.is_integer or kind.name in _TYPES else None

    def parts(self, kind: pa.DataType) -> tuple[Part, ...]:
        return (DISTINCT_VALUES,)

    def shown(self, kind: pa.DataType, counts: Ints, held: Sequence[Numbers]) -> Numbers:
        return held[0]
