"""Rows of a table by the values of its columns, found through the footers of its files.

A question about some keys that is asked at every tick must not cost what the table has in files. The least and greatest
value of every row group stand in the footers; they are read once and remembered, those of all files in one array. A lookup is a
search in that array, and reading the groups found.

It pays where the table is more or less in the order of a key. Where many groups may hold what is asked for, there is no answer
here, and the table is better read as a whole.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from millpond.arrow import distinct
from millpond.table.manifest import Version
from millpond.table.work import reading

Ints = npt.NDArray[np.int64]

_FEW = 64  # row groups that are read in any case
_SHARE = 0.1  # of all row groups: more are not read one by one
_LEAST, _GREATEST = np.iinfo(np.int64).min, np.iinfo(np.int64).max


@dataclass(frozen=True)
class _Groups:
    """All row groups of a version: the file and the number of each, and by column what it may hold."""

    files: list[str]
    file: Ints
    number: Ints
    bounds: dict[str, tuple[Ints, Ints]]


class Lookups:
    """Of one table, whose files are in `folder`. Files never change, so footers are remembered as long as a file is used."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._footers: dict[str, pq.FileMetaData] = {}
        self._known: tuple[tuple[str, int, tuple[str, ...]], _Groups] | None = None

    def rows(self, version: Version, schema: pa.Schema, keys: Mapping[str, pa.Array]) -> pa.Table | None:
        """The rows of which each column of `keys`, all of whole numbers, has one of its values; or None if that would mean
        to read much."""
        if any(name not in file.columns for file in version.files.values() for name in schema.names):
            return None  # a column came later
        groups = self._groups(version, tuple(keys))
        wanted = np.ones(len(groups.file), dtype=np.bool_)
        for column, values in keys.items():
            sought = distinct(np.array(values.to_pylist(), dtype=np.int64))
            least, greatest = groups.bounds[column]
            wanted &= np.searchsorted(sought, least) < np.searchsorted(sought, greatest, side="right")
        chosen = np.flatnonzero(wanted)
        if len(chosen) > max(_FEW, _SHARE * len(wanted)):
            return None
        parts = [schema.empty_table()]
        for file in distinct(groups.file[chosen]).tolist():
            numbers = groups.number[chosen[groups.file[chosen] == file]].tolist()
            parts.append(self._read(groups.files[file], numbers, schema.names, keys).cast(schema))
        return pa.concat_tables(parts)

    def _read(self, path: str, numbers: list[int], names: Sequence[str], keys: Mapping[str, pa.Array]) -> pa.Table:
        whole = self._folder / path
        with (
            reading(whole),
            pq.ParquetFile(
                whole, metadata=self._footers[path], memory_map=True, page_checksum_verification=True
            ) as file,
        ):
            rows = file.read_row_groups(numbers, columns=list(names), use_threads=False)
        for column, values in keys.items():  # a key may be beyond what the column's type holds
            rows = rows.filter(pc.is_in(rows.column(column).cast(pa.int64()), value_set=values.cast(pa.int64())))
        return rows

    def _groups(self, version: Version, columns: tuple[str, ...]) -> _Groups:
        key = (version.table_id, version.number, columns)
        if self._known is None or self._known[0] != key:
            self._known = (key, self._look(version, columns))
        return self._known[1]

    def _look(self, version: Version, columns: tuple[str, ...]) -> _Groups:
        for path in version.files.keys() - self._footers.keys():
            with reading(self._folder / path):
                self._footers[path] = pq.read_metadata(self._folder / path)
        for path in self._footers.keys() - version.files.keys():
            del self._footers[path]
        files = sorted(version.files)
        counts = [self._footers[path].num_row_groups for path in files]
        number = [np.arange(count) for count in counts]
        bounds = {}
        for column in columns:
            found = np.array([b for path in files for b in _bounds(self._footers[path], column)], dtype=np.int64)
            found = found.reshape(-1, 2)
            bounds[column] = (found[:, 0], found[:, 1])
        nothing = np.zeros(0, dtype=np.int64)
        return _Groups(
            files, np.repeat(np.arange(len(files)), counts), np.concatenate(number) if number else nothing, bounds
        )


def _bounds(footer: pq.FileMetaData, column: str) -> list[tuple[int, int]]:
    """What the column may hold in each row group."""
    found: list[tuple[int, int]] = []
    for number in range(footer.num_row_groups):
        group = footer.row_group(number)
        stats: Any = next(
            (
                chunk.statistics
                for chunk in (group.column(i) for i in range(group.num_columns))
                if chunk.path_in_schema == column
            ),
            None,
        )
        known = stats is not None and stats.has_min_max
        found.append((stats.min, stats.max) if known else (_LEAST, _GREATEST))
    return found
