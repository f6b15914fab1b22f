"""One-time UPDATE and DELETE: files that hold changed rows are written again without or with them, in one commit.

Rows are known by their number. The paper marks deleted rows and removes them when a block is written; here the rows of
the tail are archived first and the files rewritten at once, so that the open archive never shows a deleted row.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from millpond.arrow import arrow_schema, conform, integers
from millpond.schema import SEQ, Schema
from millpond.table.block import write_blocks
from millpond.table.manifest import ArchiveFile
from millpond.table.store import Store
from millpond.table.work import read_file

Change = Callable[[pa.Table, npt.NDArray[np.bool_]], pa.Table]


def without_rows(rows: pa.Table, hit: npt.NDArray[np.bool_]) -> pa.Table:
    """DELETE: the rows that were not hit."""
    return rows.filter(pa.array(~hit))


def with_values(new: pa.Table) -> Change:
    """UPDATE: `new` holds `_seq`, ascending, and the new values of the assigned columns."""
    numbers = integers(new[SEQ])

    def change(rows: pa.Table, hit: npt.NDArray[np.bool_]) -> pa.Table:
        at = np.searchsorted(numbers, integers(rows[SEQ])[hit])
        for name in new.schema.names:
            if name == SEQ:
                continue
            index = rows.schema.get_field_index(name)
            values = new[name].take(pa.array(at)).combine_chunks()
            column = pc.replace_with_mask(rows[name].combine_chunks(), pa.array(hit), values)
            rows = rows.set_column(index, rows.schema.field(index), column)
        return rows

    return change


def rewrite(
    store: Store, columns: Schema, numbers: npt.NDArray[np.int64], change: Change
) -> tuple[list[ArchiveFile], list[str]]:
    """Write anew the files that hold any of the rows `numbers` (ascending). Returns files to add and to remove."""
    add: list[ArchiveFile] = []
    remove: list[str] = []
    schema = arrow_schema(columns)
    for file in list(store.manifest.current.files.values()):
        low, high = np.searchsorted(numbers, [file.first_seq, file.last_seq + 1])
        if low == high:
            continue
        table = read_file(store.folder / file.path)
        rows = pa.Table.from_batches([conform(b, schema) for b in table.to_batches()], schema=schema)
        hit = np.isin(integers(rows[SEQ]), numbers[low:high], assume_unique=True)
        if not hit.any():
            continue
        changed = change(rows, hit)
        if changed.num_rows:
            add += write_blocks(store.spec, changed, file.shard, uuid.uuid4().hex[:12], again=file)
        remove.append(file.path)
    return add, remove
