"""COUNT(x): how many values are not NULL, which is known of every column that is measured."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from millpond.network.aggregates.functions.base import AggregateFunction, Ints, Numbers, Part
from millpond.schema import DataType


class Count(AggregateFunction):
    name = "count"
    null_if_none = False

    def result(self, kind: DataType) -> DataType | None:
        return DataType("BIGINT")

    def parts(self, kind: pa.DataType) -> tuple[Part, ...]:
        return ()

    def shown(self, kind: pa.DataType, counts: Ints, held: Sequence[Numbers]) -> Numbers:
        return counts
