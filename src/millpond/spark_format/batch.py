"""Reading a relation once: as it was when the data frame was first used. Whoever loads it again sees what came since."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow as pa
from pyspark.sql.datasource import DataSourceReader, InputPartition

from millpond.predicate.form import Compare
from millpond.query.bounds import narrowed
from millpond.spark_format.options import LATEST, Options
from millpond.spark_format.parts import Part, Wanted, parts_of
from millpond.spark_format.relations import open_relation, predicate_in
from millpond.table.store import Bounds


class TableReader(DataSourceReader):
    """Made and asked for partitions where Spark plans, sent to its workers in between."""

    def __init__(self, options: Options, schema: Any) -> None:
        self._options = options
        self._wanted = Wanted(open_relation(options).columns, schema, predicate_in(options))

    def partitions(self) -> Sequence[InputPartition]:
        relation = open_relation(self._options)
        view = relation.view()
        bounds = narrowed(Bounds(low=view.snapshot.since), self._wanted.predicate, relation.use)
        start, end = self._options.start, self._options.end
        low = view.end if start == LATEST else start if isinstance(start, int) else 0
        found = parts_of(view, relation.columns, bounds, low, view.end if end is None else end)
        if view.snapshot.since is not None and relation.use.time_column is not None:
            for part in found:  # files may begin with rows that the relation has left behind
                part.also = Compare(relation.use.time_column, ">=", view.snapshot.since)
        return found

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        return self._wanted.read(partition) if isinstance(partition, Part) else iter(())
