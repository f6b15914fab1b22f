"""An outlet: what one query has sent and can still be fetched, in the order it was sent.

Two kinds of reader meet here. A subscriber takes rows by number and may be behind; a query sees the result as a table,
which shows the rows within its history period (by default those of the last instant).

The newest rows are in memory, older ones in the files of the archive. The seam between them is the archive's position: its
files hold what is below, memory is asked for what is not. Whoever reads takes the batches in memory first and the
archive's version after them; rows leave memory only after a version holds them, so in that order none is missed.

Invariant. What is kept has no gap but for results that are lost: rows that are in no file are let go only when there is no
file. Rows on both sides of such a gap are kept; `fetch` ends at it, so whoever comes to it is told.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from millpond.arrow import arrow_schema, conformed
from millpond.catalog import INSTANT, ContinuousQuery
from millpond.event_time import Progress, event_times
from millpond.results.archive import ResultArchive
from millpond.schema import SEQ, with_seq
from millpond.table.manifest import Version
from millpond.table.store import Snapshot, empty_index
from millpond.table.tail import TailBlock

KEPT_BYTES = 128 << 20  # results of one query in memory
FILE_BYTES = 96 << 20  # results that become a file at a time, as they are in memory
_LOOSE = 64  # batches at which neighbours are put together: a small one costs more than its rows
_FIRST = -(1 << 63)  # the first time there is
_JOINED_ROWS, _JOINED_BYTES = 65_536, 4 << 20


@dataclass(frozen=True)
class ResultBatch:
    first: int
    rows: pa.Table
    times: npt.NDArray[np.int64]
    bytes: int

    @classmethod
    def of(cls, first: int, rows: pa.Table) -> ResultBatch:
        return cls(first, rows, event_times(rows, INSTANT), rows.nbytes)

    @property
    def end(self) -> int:
        return self.first + len(self.times)

    @cached_property
    def numbered(self) -> pa.Table:
        """The rows with their numbers."""
        numbers = pa.array(np.arange(self.first, self.end, dtype=np.int64))
        return self.rows.append_column(pa.field(SEQ, pa.int64()), numbers)

    def between(self, low: int, high: int) -> pa.Table:
        """The rows numbered from `low` up to `high`, without it, with their numbers."""
        begin = max(0, low - self.first)
        return self.numbered.slice(begin, max(0, min(high, self.end) - self.first - begin))

    def rest(self, number: int) -> ResultBatch:
        """The rows from `number` on, in memory of their own."""
        kept = np.arange(number - self.first, len(self.times), dtype=np.int64)
        return ResultBatch.of(number, self.rows.take(pa.array(kept)))


def _joined(batches: Iterable[ResultBatch]) -> deque[ResultBatch]:
    """Batches with small neighbours put together, the newer the sooner, so that each row is copied a few times at most."""
    runs: list[list[ResultBatch]] = []
    rows = size = 0
    for batch in reversed(list(batches)):
        count = len(batch.times)
        fits = rows + count <= _JOINED_ROWS and size + batch.bytes <= _JOINED_BYTES and count <= 4 * rows
        alike = runs and batch.rows.schema.equals(runs[-1][-1].rows.schema)  # else columns were added between them
        if alike and fits and batch.end == runs[-1][-1].first:
            runs[-1].append(batch)
            rows, size = rows + count, size + batch.bytes
        else:
            runs.append([batch])
            rows, size = count, batch.bytes
    found: deque[ResultBatch] = deque()
    for run in reversed(runs):
        if len(run) == 1:
            found += run
        else:
            found.append(
                ResultBatch.of(run[-1].first, pa.concat_tables([b.rows for b in reversed(run)]).combine_chunks())
            )
    return found


class Outlet:
    """Filled by one thread, read by any; another one moves rows to the archive. `problem` tells why it cannot.

    `read_from` tells the time from which on results of a query have yet to be read by others.
    """

    def __init__(
        self,
        query: ContinuousQuery,
        arrived: threading.Condition,
        archive: ResultArchive | None = None,
        read_from: Callable[[str], int | None] = lambda _: None,
    ) -> None:
        self.query = query
        self.archive = archive
        self.progress = Progress()
        self.next = 0 if archive is None else archive.position
        self.problem: str | None = None
        self.lost: tuple[
            tuple[int, int], ...
        ] = ()  # known to be lost and not acknowledged: from a number up to another
        self._batches: deque[ResultBatch] = deque()
        self._size = 0
        self._crowd = _LOOSE
        self._arrived = arrived
        self._read_from = read_from

    # -- filling ----------------------------------------------------------------------------------------------------

    def take(self, first: int, rows: pa.Table) -> None:
        """Rows that are durable. Those that are known already are left out. Results between these and the last are lost."""
        with self._arrived:
            if first < self.next:
                rows = rows.slice(self.next - first)
                first = self.next
            if not rows.num_rows:
                return
            self._add(ResultBatch.of(first, rows))
            self.next = first + rows.num_rows
            if self._size > KEPT_BYTES:
                self._let_go(self.oldest_wanted(), KEPT_BYTES)
            self._arrived.notify_all()

    def _add(self, batch: ResultBatch) -> None:
        self._batches.append(batch)
        self._size += batch.bytes
        if len(self._batches) > self._crowd:
            self._batches = _joined(self._batches)
            self._size = sum(b.bytes for b in self._batches)
            self._crowd = len(self._batches) + _LOOSE

    def skip_to(self, number: int) -> None:
        """Rows below `number` have left the log unseen: they and all in memory are in the archive or no longer wanted."""
        with self._arrived:
            self._batches.clear()
            self._size = 0
            self.next = max(self.next, number)

    def lose(self, first: int, end: int) -> None:
        """The results numbered from `first` up to `end`, without it, are lost."""
        with self._arrived:
            if (first, end) not in self.lost:
                self.lost = (*self.lost, (first, end))

    def acknowledge(self) -> None:
        """Somebody knows what is lost: who begins with the oldest result is not told any more."""
        with self._arrived:
            self.lost = ()

    def _let_go(self, below: int, down_to: int) -> None:
        """Forget whole batches of rows numbered below `below`, the oldest first, until no more than `down_to` bytes are held."""
        while not self._in_files and self._batches and self._batches[0].end <= below and self._size > down_to:
            self._size -= self._batches.popleft().bytes

    @property
    def _in_files(self) -> bool:
        return self.archive is not None and self.archive.holds

    def forget(self, below: int) -> None:
        """Rows below `below` have left the log: they are in the archive or no longer wanted."""
        with self._arrived:
            self._let_go(below, -1)

    def refresh(self) -> bool:
        """As a reader, take in what the writer archived. Returns whether that was more than the log has told."""
        if self.archive is None:
            return False
        with self._arrived:
            self.archive.refresh()
            ahead = self.archive.position > self.next
            self.next = max(self.next, self.archive.position)
            self.left()
            return ahead

    # -- moving to the archive ----------------------------------------------------------------------------------------

    def may_leave(self, end: int) -> bool:
        """Whether nobody needs the rows below `end` in the log: they are in files, or not wanted any more."""
        with self._arrived:
            if self.archive is not None and end <= self.archive.position:
                return True
            return not self._in_files and end <= self.oldest_wanted()

    def crowded(self) -> int:
        """The number below which rows should move to the archive, because too many are wanted; 0 if there is room."""
        if self.query.history is None or self._size <= KEPT_BYTES:
            return 0
        with self._arrived:
            surplus = self._size - KEPT_BYTES // 2
            for batch in self._batches:
                if batch.bytes >= surplus:
                    return batch.first + -(-len(batch.times) * surplus // batch.bytes)
                surplus -= batch.bytes
            return self.next

    def leaving(self, below: int) -> pa.Table | None:
        """The oldest rows that are in no file, up to `below`, with their numbers; as many as make a file."""
        with self._arrived:
            start = 0 if self.archive is None else self.archive.position
            if not self._in_files:
                start = max(start, self.oldest_wanted())
            batches = [b for b in self._batches if b.end > start and b.first < below]
        parts: list[pa.Table] = []
        room = FILE_BYTES
        for batch in batches:
            begin = max(start, batch.first)
            if parts and begin > start:  # lost results lie between: a file has none
                break
            end = begin + max(1, room * len(batch.times) // batch.bytes)
            part = batch.between(begin, min(end, below))
            parts.append(part)
            room -= part.nbytes
            start = batch.end
            if room <= 0 or end < min(batch.end, below):
                break
        return self._together(parts) if parts else None

    @property
    def is_stale(self) -> bool:
        """Whether the archive has files that are no longer wanted."""
        return self.archive is not None and self.archive.in_use and self.archive.is_stale(self.wanted_since())

    def left(self) -> None:
        """The archive holds more than before: forget what it holds."""
        assert self.archive is not None
        with self._arrived:
            position = self.archive.position
            while self._batches and self._batches[0].first < position:
                batch = self._batches.popleft()
                self._size -= batch.bytes
                if batch.end > position:
                    batch = batch.rest(position)
                    self._batches.appendleft(batch)
                    self._size += batch.bytes

    # -- reading ----------------------------------------------------------------------------------------------------

    def wait(self, number: int, seconds: float) -> None:
        """Wait until the row of that number is there, at most so long."""
        with self._arrived:
            if self.next <= number:
                self._arrived.wait(seconds)

    def _kept(self) -> tuple[list[ResultBatch], int, Snapshot]:
        """What is in memory, the number behind it, and what is in files. Together that is all; some may be in both."""
        while True:
            with self._arrived:
                batches, end = list(self._batches), self.next
            if self.archive is None:
                return batches, end, Snapshot(Path(self.query.folder), _none(self.query), (), empty_index())
            files = self.archive.snapshot()
            if files.version.position <= end:  # else so much was archived meanwhile that a part of a tick would show
                return batches, end, files

    @property
    def first(self) -> int:
        """The number of the oldest row that can still be fetched."""
        batches, end, files = self._kept()
        found = self.archive.first(files.version) if self.archive is not None else None
        if found is not None:
            return found
        position = files.version.position
        return next((max(b.first, position) for b in batches if b.end > position), end)

    def begins(self, number: int) -> int:
        """Where somebody begins who wants the results from `number` on, the first of them that is kept: if some before it
        are lost and not acknowledged, with those, so that he is told."""
        return min((first for first, end in self.lost if first < number <= end), default=number)

    def is_lost(self, number: int) -> bool:
        """Whether a result that is not kept was lost, and did not leave because it was no longer wanted."""
        return number > self.first or any(first <= number < end for first, end in self.lost)

    def fetch(self, after: int, most: int = 1 << 62) -> pa.Table:
        """Rows numbered from `after` on, or from the first that is kept, with their numbers and without a gap: at most `most`."""
        batches, _, files = self._kept()
        parts: list[pa.Table] = []
        end = -1
        for part in self._parts(batches, files, after, most):
            first = part.column(SEQ)[0].as_py()
            if parts and first != end:
                break
            parts.append(part)
            end = first + part.num_rows
        return self._together(parts)

    def _parts(self, batches: list[ResultBatch], files: Snapshot, after: int, most: int) -> Iterator[pa.Table]:
        position = files.version.position
        if after < position and self.archive is not None:
            for part in self.archive.read(files.version, after, most):
                most -= part.num_rows
                yield part
        for batch in batches:
            start = max(after, position, batch.first)
            if most <= 0:
                return
            if start < batch.end:
                part = batch.between(start, start + most)
                most -= part.num_rows
                yield part

    def _together(self, parts: list[pa.Table]) -> pa.Table:
        schema = self.schema
        return pa.concat_tables(
            [p if p.schema.equals(schema) else conformed(p, schema).cast(schema) for p in parts]
            or [schema.empty_table()]
        )

    @property
    def schema(self) -> pa.Schema:
        return arrow_schema(with_seq(self.query.columns))

    def first_number(self, since: int) -> int:
        """The number of the first row whose instant is not before `since`."""
        batches, end, files = self._kept()
        if self.archive is not None:
            found = self.archive.first_number(files.version, since)
            if found is not None:
                return found
        return max(files.version.position, _first_since(batches, since, end))

    def oldest_wanted(self) -> int:
        """The number of the oldest row in memory that must be kept: those it shows, and as many again for its readers'
        windows."""
        since = self.wanted_since()
        with self._arrived:
            return self.next if since is None else _first_since(self._batches, since, self.next)

    def wanted_since(self) -> int | None:
        """The time before which no row must be kept: as seen from here, and from the reader that is furthest behind."""
        since = self._since()
        if since is None:
            return None
        read = self._read_from(self.query.name)
        length = 0 if self.query.history is None else self.query.table.unit.count(self.query.history)
        return since - length if read is None else max(_FIRST, min(since, read) - length)

    def _since(self) -> int | None:
        complete, last = self.progress.frontier, self.progress.last
        if self.query.history is None:
            return last
        if complete is None:
            return None
        return complete - self.query.table.unit.count(self.query.history)

    def snapshot(self, *, everything: bool = False) -> Snapshot:
        """The result as a table; or everything that is kept of it."""
        since = _FIRST if everything else self._since()
        batches, _, files = self._kept()
        if since is None:
            return Snapshot(files.folder, _none(self.query), (), empty_index())
        position = files.version.position
        blocks = []
        for batch in batches:
            start = max(position, batch.first + int(np.searchsorted(batch.times, since)))
            if start < batch.end:
                rows = batch.between(start, batch.end)
                times = batch.times[start - batch.first :]
                parts = tuple(rows.to_batches())
                blocks.append(TailBlock(parts, len(times), int(times[0]), int(times[-1]), batch.end - 1, rows.nbytes))
        shown = None if everything or not files.version.files else since
        return replace(files, blocks=tuple(blocks), since=shown)

    @property
    def rows(self) -> int:
        """Rows in memory."""
        with self._arrived:
            return sum(len(b.times) for b in self._batches)

    @property
    def bytes(self) -> int:
        return self._size


def _first_since(batches: Iterable[ResultBatch], since: int, end: int) -> int:
    """The number of the first row whose instant is not before `since`, or `end` if there is none."""
    for batch in batches:
        if batch.times[-1] >= since:
            return batch.first + int(np.searchsorted(batch.times, since))
    return end


def _none(query: ContinuousQuery) -> Version:
    return Version(0, 0, {}, {}, query.columns)
