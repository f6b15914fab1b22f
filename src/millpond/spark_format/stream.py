"""Reading on and on: the rows of a streaming table, or the results of a continuous query, in order of their numbers.

The offset of a stream is the number of the row that comes next. Numbers are given once and for ever, and Spark keeps offsets
in its checkpoint: so each row is in one micro-batch, also after a restart. Rows that an UPDATE changes do not come again.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow as pa
from pyspark.sql.datasource import DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import (
    ReadAllAvailable,
    ReadLimit,
    ReadMaxRows,
    SupportsTriggerAvailableNow,
)

from millpond.catalog import StreamingTable
from millpond.errors import CatalogError
from millpond.spark_format.options import EARLIEST, LATEST, Options
from millpond.spark_format.parts import Part, Wanted, parts_of
from millpond.spark_format.relations import open_relation, predicate_in
from millpond.table.store import Bounds

_NEXT = "next"


class RowsReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Lives in a Python process of Spark's for as long as its query; its tasks have copies that only read."""

    def __init__(self, options: Options, schema: Any) -> None:
        relation = open_relation(options)
        if not isinstance(relation.use.table, StreamingTable) or relation.use.rejected:
            raise CatalogError(
                f'"{options.table}" cannot be read as a stream',
                detail="Streaming tables and continuous queries can.",
                hint="Read it once, with spark.read.",
            )
        self._options = options
        self._wanted = Wanted(relation.columns, schema, predicate_in(options))
        self._last: int | None = None

    def initialOffset(self) -> dict[str, int]:
        relation, start = open_relation(self._options), self._options.start
        if start == EARLIEST:
            return {_NEXT: relation.first()}
        return {_NEXT: relation.view().end if start == LATEST else int(start)}

    def latestOffset(self, start: dict[str, int], limit: ReadLimit) -> dict[str, int]:
        end = open_relation(self._options).view().end if self._last is None else self._last
        if isinstance(limit, ReadMaxRows):
            end = min(end, start[_NEXT] + limit.max_rows)
        return {_NEXT: max(end, start[_NEXT])}

    def getDefaultReadLimit(self) -> ReadLimit:
        return ReadAllAvailable() if self._options.most is None else ReadMaxRows(self._options.most)

    def reportLatestOffset(self) -> dict[str, int]:
        return {_NEXT: open_relation(self._options).view().end}

    def prepareForTriggerAvailableNow(self) -> None:
        self._last = open_relation(self._options).view().end

    def partitions(self, start: dict[str, int], end: dict[str, int]) -> Sequence[InputPartition]:
        low, high = start[_NEXT], end[_NEXT]
        if low >= high:
            return []
        relation = open_relation(self._options)
        return parts_of(relation.between(low, high), relation.columns, Bounds(), low, high)

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        return self._wanted.read(partition) if isinstance(partition, Part) else iter(())
