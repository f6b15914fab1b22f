"""History of one shard of a table, read from the pond's folder by a process that does not own it: a worker."""

from __future__ import annotations

import os
from pathlib import Path
from weakref import WeakValueDictionary

import pyarrow as pa

from millpond.catalog import Catalog, StandardTable, StreamingTable
from millpond.clock import SystemClock
from millpond.ingest.shards import shard_numbers
from millpond.network.state.backfill import Past
from millpond.query.binding.uses import Use
from millpond.query.local import Local
from millpond.query.shelf import ResultTable, TableShelf
from millpond.schema import Schema
from millpond.table.standard import StandardStore
from millpond.table.store import Snapshot
from millpond.table.stream import StreamTable


class FolderTables:
    """The tables of a pond's folder, opened to be read. Tails stay as they were when opened, until `close`; standard tables are
    always as they are now. The tail of `table` is that of one shard."""

    def __init__(self, pond: Path, catalog: Catalog, table: str, shard: int) -> None:
        self.catalog = catalog
        self._pond = pond
        self._table = table
        self._shard = shard
        self._streams: dict[str, StreamTable] = {}
        self._standards: dict[str, StandardStore] = {}  # by folder: reading a manifest from its beginning is expensive

    def stream(self, name: str) -> StreamTable:
        if name not in self._streams:
            shard = self._shard if name == self._table else None
            self._streams[name] = StreamTable(self._pond, self.catalog.streaming[name], shard=shard)
        return self._streams[name]

    def standard(self, definition: StandardTable) -> StandardStore:
        found = self._standards.get(definition.folder)
        if found is not None and found.definition == definition:
            found.refresh()
        else:
            found = self._standards[definition.folder] = StandardStore(self._pond, definition, SystemClock())
        return found

    def result(self, name: str) -> ResultTable | None:
        return None  # what is evaluated in shards reads tables only

    def close(self) -> None:
        for stream in self._streams.values():
            stream.close()
        self._streams.clear()
        self._standards.clear()


_engines: WeakValueDictionary[Path, Local] = WeakValueDictionary()
os.register_at_fork(after_in_child=_engines.clear)


def _engine(pond: Path) -> Local:
    """The engine that reads a pond's files for all of its shards in this process: making one takes longer than most questions."""
    folder = pond.resolve()
    engine = _engines.get(folder)
    if engine is None:
        engine = _engines[folder] = Local(folder)
    return engine


class ShardShelf(TableShelf):
    """Of one table it shows only the files of one shard."""

    def __init__(self, tables: FolderTables, table: str, shard: int) -> None:
        super().__init__(tables)
        self._table = table
        self._shard = shard

    def snapshot(self, use: Use) -> Snapshot | None:
        found = super().snapshot(use)
        if found is None or use.table.name != self._table:
            return found
        return found.with_files(lambda file: file.shard == self._shard)


class ShardPast(Past):
    """Rows of one shard of `table`; other tables as a whole."""

    def __init__(self, pond: Path, catalog: Catalog, table: str, shard: int) -> None:
        self._tables = FolderTables(pond, catalog, table, shard)
        super().__init__(ShardShelf(self._tables, table, shard), _engine(pond), catalog, pond / "shards", shard)
        self._table = catalog.streaming[table]
        self._shard = shard

    def redefine(self, catalog: Catalog) -> None:
        """Follow a new catalog."""
        self.catalog = self._tables.catalog = catalog
        self.close()

    def close(self) -> None:
        """Forget the tables' tails; they are read anew when asked for again."""
        self._tables.close()

    def _ask(self, table: StreamingTable | StandardTable, text: str, columns: Schema | None = None) -> pa.Table:
        rows = super()._ask(table, text, columns)
        if table.name != self._table.name or self._table.shards == 1 or not rows.num_rows:
            return rows
        batch = rows.combine_chunks().to_batches()[0]
        mine = shard_numbers(batch, self._table.shard_by, self._table.shards) == self._shard
        return rows.filter(pa.array(mine))
