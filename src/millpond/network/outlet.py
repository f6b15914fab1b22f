"""An outlet: what one query has sent and can still be fetched, in memory, in the order it was sent.

Two kinds of reader meet here. A subscriber takes rows by number and may be behind; a query sees the result as a table,
which shows the rows within its history period (by default those of the last instant).
"""

from __future__ import annotations

import threading
from collections import deque
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from millpond.arrow import arrow_schema
from millpond.catalog import INSTANT, ContinuousQuery
from millpond.network.inlet import ticks_of
from millpond.network.instants import Progress
from millpond.schema import SEQ, Column, DataType
from millpond.table.manifest import Version
from millpond.table.store import Snapshot, empty_index
from millpond.table.tail import TailBlock

KEPT_BYTES = 128 << 20  # results of one query in memory, for those who come back, beyond what it shows as a table


@dataclass(frozen=True)
class Batch:
    first: int
    rows: pa.Table
    times: npt.NDArray[np.int64]

    @property
    def end(self) -> int:
        return self.first + len(self.times)


class Outlet:
    """Filled by one thread, read by any."""

    def __init__(self, query: ContinuousQuery, arrived: threading.Condition) -> None:
        self.query = query
        self.progress = Progress()
        self.next = 0
        self._batches: deque[Batch] = deque()
        self._size = 0
        self._arrived = arrived

    @property
    def first(self) -> int:
        """The number of the oldest row that can still be fetched."""
        with self._arrived:
            return self._batches[0].first if self._batches else self.next

    def take(self, first: int, rows: pa.Table) -> None:
        """Rows that are durable."""
        with self._arrived:
            self._batches.append(Batch(first, rows, ticks_of(rows, INSTANT)))
            self._size += rows.nbytes
            self.next = first + rows.num_rows
            if self._size > KEPT_BYTES:
                self._let_go(self.oldest_wanted(), KEPT_BYTES)
            self._arrived.notify_all()

    def _let_go(self, below: int, down_to: int) -> None:
        """Forget whole batches of rows numbered below `below`, the oldest first, until no more than `down_to` bytes are held."""
        while self._batches and self._batches[0].end <= below and self._size > down_to:
            self._size -= self._batches.popleft().rows.nbytes

    def wait(self, number: int, seconds: float) -> None:
        """Wait until the row of that number is there, at most so long."""
        with self._arrived:
            if self.next <= number:
                self._arrived.wait(seconds)

    def forget(self, below: int) -> None:
        with self._arrived:
            self._let_go(below, -1)

    def fetch(self, after: int, most: int = 1 << 62) -> pa.Table:
        """Rows numbered from `after` on, with their numbers, at most `most` of them."""
        with self._arrived:
            batches = [b for b in self._batches if b.end > after]
        parts = []
        for batch in batches:
            start = max(0, after - batch.first)
            part = batch.rows.slice(start, most)
            numbers = pa.array(np.arange(batch.first + start, batch.first + start + part.num_rows, dtype=np.int64))
            parts.append(part.append_column(pa.field(SEQ, pa.int64()), numbers))
            most -= part.num_rows
            if most <= 0:
                break
        return pa.concat_tables(parts) if parts else self.schema.empty_table()

    @property
    def schema(self) -> pa.Schema:
        return arrow_schema(self.query.columns.plus(Column(SEQ, DataType("BIGINT"))))

    def first_number(self, since: int) -> int:
        """The number of the first row whose instant is not before `since`."""
        with self._arrived:
            for batch in self._batches:
                if batch.times[-1] >= since:
                    return batch.first + int(np.searchsorted(batch.times, since))
            return self.next

    def oldest_visible(self) -> int:
        """The number of the oldest row that the result, seen as a table, still shows."""
        since = self._since()
        return self.next if since is None else self.first_number(since)

    def oldest_wanted(self) -> int:
        """The number of the oldest row that must be kept: those it shows, and as many again for its readers' windows."""
        since = self._since()
        if since is None:
            return self.next
        if self.query.history is not None:
            since -= self.query.table.unit.ticks(self.query.history)
        return self.first_number(since)

    def _since(self) -> int | None:
        complete, last = self.progress.complete, self.progress.last
        if self.query.history is None:
            return last
        if complete is None:
            return None
        return complete - self.query.table.unit.ticks(self.query.history)

    def snapshot(self, *, everything: bool = False) -> Snapshot:
        """The result as a table; or everything that is kept of it."""
        start = self.first if everything else self.oldest_visible()
        rows = self.fetch(start)
        version = Version(0, 0, {}, {}, self.query.columns)
        blocks: tuple[TailBlock, ...] = ()
        if rows.num_rows:
            times = ticks_of(rows, INSTANT)
            batches = tuple(rows.combine_chunks().to_batches())
            blocks = (
                TailBlock(batches, rows.num_rows, int(times.min()), int(times.max()), self.next - 1, rows.nbytes),
            )
        return Snapshot(Path(self.query.folder), version, blocks, empty_index())

    @property
    def rows(self) -> int:
        return sum(len(b.times) for b in self._batches)

    @property
    def bytes(self) -> int:
        return self._size
