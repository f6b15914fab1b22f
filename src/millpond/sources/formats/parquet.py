"""One Parquet file, read row group by row group; columns are found by name, extra ones ignored, missing ones NULL.

A row whose value does not fit the declared type is rejected alone; a file or row group that cannot be read is rejected
as one row.
"""

from __future__ import annotations

import os
from collections.abc import Callable

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from millpond.arrow import BadRow, arrow_schema, to_batch
from millpond.errors import IntakeError
from millpond.schema import Schema
from millpond.sources.base import SourceBatch

_UNREADABLE = (pa.ArrowException, OSError, ValueError)


class ParquetReader:
    """Reads from row `start` on. The position counts rows, so any number of rows can be asked for."""

    def __init__(
        self, handle: int, name: str, columns: Schema, start: int, end: bool, settled: Callable[[], bool]
    ) -> None:
        self._handle = handle
        self._name = name
        self._columns = columns
        self._row = start
        self.ended = end
        self._settled = settled
        self._file: pq.ParquetFile | None = None
        self._firsts = np.zeros(1, np.int64)  # the first row of each row group, then the number of rows
        self._group: tuple[int, pa.Table] | None = None

    def read(self, most: int, serial: int) -> SourceBatch | None:
        if self.ended:
            return None
        if self._file is None:
            try:
                self._open()
            except _UNREADABLE as error:
                if not self._settled():
                    return None
                return self._refuse(serial, f"the file cannot be read as Parquet: {error}", self._row, True)
        total = int(self._firsts[-1])
        if self._row >= total:
            self.ended = True
            return None
        group = int(np.searchsorted(self._firsts, self._row, side="right")) - 1
        first, after = int(self._firsts[group]), int(self._firsts[group + 1])
        try:
            table = self._read_group(group).slice(self._row - first, most)
            offer = to_batch(table, self._columns, self._name)
        except IntakeError as error:
            return self._refuse(serial, error.primary, total, True)
        except _UNREADABLE as error:
            reason = f"rows {self._row + 1} to {after} cannot be read: {error}"
            return self._refuse(serial, reason, after, after == total)
        start = self._row + 1
        good = None if offer.index is None else offer.index.to_numpy()
        bad = [BadRow(-1 - k, f"row {start + b.index}: {b.reason}", b.text) for k, b in enumerate(offer.bad)]
        rejected = [b.index for b in offer.bad]

        def places(i: int) -> str:
            return f"{self._name}:{start + (rejected[-1 - i] if i < 0 else i if good is None else int(good[i]))}"

        self._row += table.num_rows
        self.ended = self._row >= total
        return SourceBatch(pa.Table.from_batches([offer.batch]), bad, self._position(serial), places)

    def close(self) -> None:
        if self._handle >= 0:
            self._file = self._group = None
            os.close(self._handle)
            self._handle = -1

    def _open(self) -> None:
        stream = os.fdopen(self._handle, "rb", closefd=False)
        stream.seek(0)
        file = pq.ParquetFile(pa.PythonFile(stream, mode="r"))
        counts = [file.metadata.row_group(i).num_rows for i in range(file.num_row_groups)]
        self._firsts = np.concatenate(([0], np.cumsum(counts, dtype=np.int64)))
        self._file = file

    def _read_group(self, group: int) -> pa.Table:
        """The wanted columns of a row group, under their declared names."""
        if self._group is None or self._group[0] != group:
            assert self._file is not None
            there = self._file.schema_arrow.names
            by_lower = {n.lower(): n for n in reversed(there)}
            found = {c.name: c.name if c.name in there else by_lower.get(c.name.lower()) for c in self._columns}
            wanted = {ours: theirs for ours, theirs in found.items() if theirs is not None}
            table = self._file.read_row_group(group, columns=list(wanted.values()))
            rows = self._file.metadata.row_group(group).num_rows
            if wanted:
                table = pa.table({ours: table.column(theirs) for ours, theirs in wanted.items()})
            else:
                table = pa.table({self._columns.names[0]: pa.nulls(rows)})
            self._group = (group, table)
        return self._group[1]

    def _refuse(self, serial: int, reason: str, row: int, end: bool) -> SourceBatch:
        self._row, self.ended, self._group = row, end, None
        empty = arrow_schema(self._columns).empty_table()
        bad = BadRow(-1, reason.splitlines()[0], self._name)
        return SourceBatch(empty, [bad], self._position(serial), lambda _: self._name)

    def _position(self, serial: int) -> dict[str, object]:
        return {"serial": serial, "offset": self._row, "line": self._row, "end": self.ended}
