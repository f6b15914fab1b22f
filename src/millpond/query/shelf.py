"""The shelf of a pond: where the planner finds the rows behind each relation of a query, and their time.

One class for everybody who asks: one-time queries, windows that are filled from history, and workers of Spark, which open
tables in the pond's folder for themselves. They differ in how tables are opened, and in whether all kept results of a
continuous query are shown or only those that the query shows.
"""

from __future__ import annotations

from typing import Protocol

import pyarrow as pa

from millpond.catalog import StandardTable, StreamingTable
from millpond.event_time import Progress
from millpond.foreign_tables import registry as foreign_tables
from millpond.query.binding.uses import Use
from millpond.table.standard import StandardStore
from millpond.table.store import Bounds, Snapshot
from millpond.table.stream import StreamTable


class ResultTable(Protocol):
    """The results of a continuous query, as a table."""

    progress: Progress

    def snapshot(self, *, everything: bool = False) -> Snapshot:
        """Those that the query shows, or everything that is kept."""


class Tables(Protocol):
    """Opens tables. Called once for each use of a table in a query, from the thread that asks."""

    def stream(self, name: str) -> StreamTable:
        """A streaming table."""

    def standard(self, definition: StandardTable) -> StandardStore:
        """A standard table that is kept in the pond."""

    def result(self, name: str) -> ResultTable | None:
        """The results of a continuous query; None if there is no query of that name."""


class TableShelf:
    """See `query.plan.Shelf` for who calls it. With `all_results` results are shown as long as they are kept."""

    def __init__(self, tables: Tables, *, all_results: bool = False) -> None:
        self._tables = tables
        self._all_results = all_results

    def snapshot(self, use: Use) -> Snapshot | None:
        result = self._tables.result(use.table.name)
        if result is not None:
            return result.snapshot(everything=self._all_results)
        if isinstance(use.table, StreamingTable):
            table = self._tables.stream(use.table.name)
            return (table.rejected if use.rejected else table.rows).snapshot()
        if isinstance(use.table, StandardTable) and use.table.address is None:
            return self._tables.standard(use.table).store.snapshot()
        return None

    def time(self, use: Use) -> int | None:
        result = self._tables.result(use.table.name)
        if result is not None:
            return result.progress.frontier
        return self._tables.stream(use.table.name).now if isinstance(use.table, StreamingTable) else None

    def fetch(self, use: Use, columns: list[str], bounds: Bounds) -> pa.Table:
        assert isinstance(use.table, StandardTable)
        return foreign_tables.fetch(use.table, columns, bounds)
