"""Groups: numbers for the values that rows are grouped by, and these values again for the numbers.

Numbers are given out by one writer. A reader holds a `GroupNames`, which knows the groups up to some number; for rows that the
writer has not seen yet it numbers the new groups by itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from millpond.arrow import integers

Codes = npt.NDArray[np.int32]
Key = tuple[object, ...]

_MOST_CHUNKS = 64
_NAN = "NaN"  # in a key: to SQL all of them are one value, to Python none equals another
_KEY_BYTES = 150  # of a key in the dictionary, about


@dataclass(frozen=True)
class GroupNames:
    """Groups 0 to `size` - 1 by some columns. `known` may hold more: those that the writer has added since."""

    names: tuple[str, ...]
    columns: tuple[pa.ChunkedArray, ...]
    size: int
    known: dict[Key, int]

    @classmethod
    def none(cls, schema: pa.Schema, names: Sequence[str]) -> GroupNames:
        return cls(tuple(names), tuple(pa.chunked_array([], schema.field(n).type) for n in names), 0, {})

    @property
    def bytes(self) -> int:
        return int(sum(c.nbytes for c in self.columns)) + _KEY_BYTES * self.size

    def find(self, rows: pa.Table) -> tuple[Codes, GroupNames]:
        """The group of each row, and the groups with those that are new. What is shared stays as it is."""
        return self._find(rows, None)

    def add(self, rows: pa.Table) -> tuple[Codes, GroupNames]:
        """The same for the writer, of whose groups these are all: the new ones become known."""
        return self._find(rows, self.known)

    def values(self, codes: Codes) -> list[pa.ChunkedArray]:
        places = pa.array(codes)
        return [column.take(places) for column in self.columns]

    def only(self, codes: Codes) -> GroupNames:
        """Some of the groups by themselves, numbered in the order given."""
        taken = replace(self, columns=tuple(self.values(codes)), size=0, known={})
        lists = [[_NAN if v != v else v for v in column.to_pylist()] for column in taken.columns]
        taken.known.update({key: i for i, key in enumerate(zip(*lists, strict=True))})
        return replace(taken, size=len(codes))

    def _find(self, rows: pa.Table, known: dict[Key, int] | None) -> tuple[Codes, GroupNames]:
        columns = [_plain(rows.column(n)) for n in self.names]
        firsts, inverse, keys = _distinct(columns)
        codes = np.empty(len(keys), dtype=np.int32)
        own: dict[Key, int] = {} if known is None else known
        size, fresh = self.size, []
        for i, key in enumerate(keys):
            code = self.known.get(key)
            if code is None or code >= self.size:
                code = own.get(key)
            if code is None:
                code = own[key] = size
                size += 1
                fresh.append(int(firsts[i]))
            codes[i] = code
        if not fresh:
            return codes[inverse], self
        grown = [_grown(old, column.take(pa.array(fresh))) for old, column in zip(self.columns, columns, strict=True)]
        return codes[inverse], replace(self, columns=tuple(grown), size=size)


def _plain(column: pa.ChunkedArray) -> pa.ChunkedArray:
    return pc.add(column, pa.scalar(0.0, column.type)) if pa.types.is_floating(column.type) else column


def _grown(old: pa.ChunkedArray, new: pa.ChunkedArray) -> pa.ChunkedArray:
    grown = pa.chunked_array([*old.chunks, *new.chunks], old.type)
    return grown if grown.num_chunks < _MOST_CHUNKS else pa.chunked_array([pa.concat_arrays(grown.chunks)])


def _distinct(columns: Sequence[pa.ChunkedArray]) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64], list[Key]]:
    """Of the distinct keys of some rows: a row of each, for each row which one it has, and the keys."""
    mixed = np.zeros(len(columns[0]), dtype=np.int64)
    lists = []
    for column in columns:
        coded = pa.concat_arrays(column.chunks) if column.num_chunks else pa.array([], column.type)
        coded = coded.dictionary_encode(null_encoding="encode")
        values = coded.dictionary.to_pylist()
        lists.append((integers(coded.indices), [_NAN if v != v else v for v in values]))
        _, mixed = np.unique(mixed * max(len(values), 1) + lists[-1][0], return_inverse=True)
    _, firsts, inverse = np.unique(mixed, return_index=True, return_inverse=True)
    keys = list(zip(*([values[i] for i in codes[firsts].tolist()] for codes, values in lists), strict=True))
    return firsts, inverse, keys
