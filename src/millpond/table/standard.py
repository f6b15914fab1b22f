"""Standard tables kept in the pond: the same open archive as a streaming table's, without log, tail and time.

Every change is one commit of the manifest, so readers in other processes see whole statements, and each version is a
consistent snapshot that stays readable while the next is made.
"""

from __future__ import annotations

import uuid
from pathlib import Path

import numpy as np
import pyarrow as pa

from millpond.arrow import arrow_schema, conform
from millpond.catalog import StandardTable
from millpond.clock import Clock
from millpond.durable import delete_folder
from millpond.schema import SEQ, with_seq
from millpond.table.block import BlockSpec, write_blocks
from millpond.table.manifest import ArchiveFile, Manifest
from millpond.table.store import Store
from millpond.table.work import choose_files, read_file

_BLOCK_ROWS = 1_000_000
_GROUP_ROWS = 24_576  # few enough that rows of a key are looked up fast, where the table is in the order of keys


class StandardStore:
    def __init__(self, pond: Path, table: StandardTable, clock: Clock) -> None:
        self.definition = table
        self._clock = clock
        folder = pond / "standard" / table.folder
        self.store = Store(Manifest(folder), BlockSpec(str(folder), None, group_rows=_GROUP_ROWS))

    @staticmethod
    def create(pond: Path, table: StandardTable, clock: Clock) -> None:
        folder = pond / "standard" / table.folder
        delete_folder(folder, pond)  # left by a creation that failed before the catalog named it
        Manifest.create(folder, table.columns, {}, clock.micros() // 1000)

    def refresh(self) -> None:
        with self.store.lock:
            self.store.manifest.refresh()

    def insert(self, rows: pa.Table) -> int:
        """Add rows whose columns are the table's, in order."""
        self.store.check()
        first = self.store.manifest.current.position
        numbers = pa.array(np.arange(first, first + rows.num_rows, dtype=np.int64))
        numbered = rows.append_column(pa.field(SEQ, pa.int64()), numbers)
        files: list[ArchiveFile] = []
        for number, start in enumerate(range(0, rows.num_rows, _BLOCK_ROWS)):
            part = numbered.slice(start, _BLOCK_ROWS)
            files += write_blocks(self.store.spec, part, 0, f"{uuid.uuid4().hex[:12]}-{number}")
        self._commit(files, [], first + rows.num_rows, "WRITE")
        self._compact()
        return int(rows.num_rows)

    def _compact(self) -> None:
        for run in choose_files(list(self.store.manifest.current.files.values()), _BLOCK_ROWS):
            columns = with_seq(self.definition.columns)
            schema = arrow_schema(columns)
            batches = [conform(b, schema) for f in run for b in read_file(self.store.folder / f.path).to_batches()]
            rows = pa.Table.from_batches(batches, schema=schema).sort_by(SEQ)
            files = write_blocks(self.store.spec, rows, 0, uuid.uuid4().hex[:12])
            self._commit(files, [f.path for f in run], None, "OPTIMIZE")

    def _commit(self, add: list[ArchiveFile], remove: list[str], position: int | None, operation: str) -> None:
        self.store.commit(add=add, remove=remove, position=position, state={"standard": True}, operation=operation,
                          now_ms=self._clock.micros() // 1000, age=self._clock.monotonic())  # fmt: skip
        self.store.manifest.checkpoint()
        self.store.delete_removed(self._clock.monotonic())
