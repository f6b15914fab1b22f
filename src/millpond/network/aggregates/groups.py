"""The groups of a query: numbers for the values they are grouped by, and these values again for the numbers."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from millpond.network.buffers.keyed_rows import KeySlots

Ints = npt.NDArray[np.int64]

_MOST_CHUNKS = 64


class Groups:
    """Groups by some columns are numbered from 0. A query that is not grouped has one group, number 0."""

    def __init__(self, schema: pa.Schema, names: Sequence[str]) -> None:
        self.names = tuple(names)
        self._schema = schema
        self._slots = KeySlots([schema.field(n).type for n in names])
        self._columns: list[pa.ChunkedArray] = [pa.chunked_array([], schema.field(n).type) for n in names]

    @property
    def size(self) -> int:
        return self._slots.size if self.names else 1

    @property
    def bytes(self) -> int:
        return int(sum(c.nbytes for c in self._columns)) + self._slots.bytes

    def find(self, rows: pa.Table, count: int) -> Ints:
        """The group of each of `count` rows; new ones get the next numbers."""
        if not self.names:
            return np.zeros(count, dtype=np.int64)
        columns = [rows.column(n) for n in self.names]
        known = self._slots.size
        found = self._slots.find(columns)
        if self._slots.size > known:
            fresh = np.flatnonzero(found >= known)
            firsts = fresh[np.unique(found[fresh], return_index=True)[1]]
            for i, column in enumerate(columns):
                grown = pa.chunked_array([*self._columns[i].chunks, *column.take(pa.array(firsts)).chunks], column.type)
                few = grown.num_chunks < _MOST_CHUNKS
                self._columns[i] = grown if few else pa.chunked_array([grown.combine_chunks()])
        return found

    def column(self, name: str, groups: Ints) -> pa.ChunkedArray:
        """The values of one of the columns for some groups."""
        return self._columns[self.names.index(name)].take(pa.array(groups))

    def only(self, groups: Ints) -> tuple[Groups, Ints]:
        """Some of the groups by themselves, and which number each of them has there."""
        fewer = Groups(self._schema, self.names)
        rows = pa.Table.from_arrays([self.column(n, groups) for n in self.names], names=list(self.names))
        return fewer, fewer.find(rows, len(groups))
