"""Value indices on disk: for one archive file and column, which row groups hold a value.

Idea. A file is written once, so its index is too: the distinct (value, row group) pairs, sorted by value, in an Arrow
file beside it. A block's values are thus grouped by key before they touch the disk, and a random key costs no random
write. A look-up is a binary search in a memory-mapped file.

Invariant. An index may only skip: every row group that holds the value is named. NULL is not indexed, because no
comparison finds it.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from millpond.arrow import integers
from millpond.catalog import file_name
from millpond.durable import disk_errors, sync_file

_MOST_OPEN: Final = 256  # indexes that are kept mapped into memory


def index_path(data_file: Path, column: str) -> Path:
    """Beside the file. A name that cannot be part of a file's name is told apart by a digest."""
    name = file_name(column)
    if name != column:
        name += "-" + hashlib.sha256(column.encode()).hexdigest()[:12]
    return data_file.with_suffix(f".{name}.idx")


def write_index(path: Path, values: pa.ChunkedArray | pa.Array, group_rows: int) -> None:
    """Write the index of a column whose rows lie in groups of `group_rows`."""
    groups = pa.array(np.arange(len(values), dtype=np.int64) // group_rows, pa.int32())
    pairs = pa.table({"value": values, "group": groups})
    if pa.types.is_integer(values.type) and values.null_count == 0:
        pairs = _distinct_integers(pairs)
    else:
        pairs = pairs.filter(pc.is_valid(pairs["value"])).group_by(["value", "group"]).aggregate([])
        pairs = pairs.sort_by([("value", "ascending"), ("group", "ascending")])
    pairs = pairs.combine_chunks()
    with disk_errors(path):
        with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_file(sink, pairs.schema) as writer:
            writer.write_table(pairs, max_chunksize=max(1, pairs.num_rows))
        sync_file(path)


def _distinct_integers(pairs: pa.Table) -> pa.Table:
    value = integers(pairs["value"])
    group = integers(pairs["group"])
    if len(value) and np.any(value[1:] < value[:-1]):
        order = np.lexsort((group, value))
        value, group = value[order], group[order]
    first = np.ones(len(value), dtype=bool)
    first[1:] = (value[1:] != value[:-1]) | (group[1:] != group[:-1])
    return pa.table({"value": pa.array(value[first], pairs["value"].type), "group": pa.array(group[first], pa.int32())})


def find_groups(path: Path, wanted: Iterable[Any]) -> set[int]:
    """The row groups that hold any of the wanted values. The values must be of the column's own type."""
    state = os.stat(path)
    index = _opened(str(path), state.st_ino, state.st_size, state.st_mtime_ns)
    if index is None:
        return set()
    found: set[int] = set()
    if pa.types.is_date(index.value.type):  # bounds are written as texts
        wanted = [date.fromisoformat(item) if isinstance(item, str) else item for item in wanted]
    for item in wanted:
        if index.numbers is not None:
            low = int(np.searchsorted(index.numbers, item, "left"))
            high = int(np.searchsorted(index.numbers, item, "right"))
        else:
            low, high = _search(index.value, item, left=True), _search(index.value, item, left=False)
        found.update(index.group.slice(low, high - low).to_pylist())
    return found


@dataclass(frozen=True)
class _Index:
    """An index that is mapped into memory. `numbers` are its values if they are integers."""

    value: pa.Array
    group: pa.Array
    numbers: np.ndarray[Any, Any] | None


@lru_cache(maxsize=_MOST_OPEN)
def _opened(path: str, _inode: int, _size: int, _changed: int) -> _Index | None:
    """An index of a file as it is now, None if it is empty. To open one takes longer than to search it."""
    with pa.memory_map(path) as source:
        reader = pa.ipc.open_file(source)
        if reader.num_record_batches == 0:
            return None
        value, group = reader.get_batch(0).columns
    return _Index(value, group, integers(value) if pa.types.is_integer(value.type) else None)


def _search(values: pa.Array, item: Any, *, left: bool) -> int:
    low, high = 0, len(values)
    while low < high:
        middle = (low + high) // 2
        at = values[middle].as_py()
        if at < item or (not left and at == item):
            low = middle + 1
        else:
            high = middle
    return low
