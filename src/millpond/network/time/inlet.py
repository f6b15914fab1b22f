"""An inlet: one stream as it enters the network, put into the order of time.

Rows come in order of arrival and wait until time is complete beyond them; then they stand in `store`, sorted by (time,
row number), and can be cut out by time. What no window needs any more is trimmed.

Invariant. The store holds exactly the rows with `trimmed <= time < frontier` that have come, each once, in that order,
whatever batches they came in.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from millpond.arrow import integers
from millpond.event_time import NEVER, event_times
from millpond.schema import SEQ

_MANY = 64  # chunks at which neighbours are put together


class Inlet:
    def __init__(self, schema: pa.Schema, time_column: str) -> None:
        self.schema = schema
        self.time_column = time_column
        self.frontier = NEVER  # below it the stream is complete: the watermark of a table, the frontier of a query
        self.trimmed = NEVER
        self.sent = 0  # rows that came from a query in this process, to number them
        self._waiting: list[pa.Table] = []
        self._chunks: list[tuple[npt.NDArray[np.int64], pa.Table]] = []

    @property
    def rows(self) -> int:
        return int(sum(len(t) for t, _ in self._chunks) + sum(t.num_rows for t in self._waiting))

    @property
    def bytes(self) -> int:
        return int(sum(c.nbytes for _, c in self._chunks) + sum(t.nbytes for t in self._waiting))

    def begin_at(self, frontier: int) -> None:
        """What came before `frontier` was read earlier, and is asked of history where it is needed."""
        self.frontier = self.trimmed = frontier

    def push(self, rows: pa.Table) -> None:
        """Rows that came, in any order of time. A late row that its table keeps is history and nothing else."""
        if rows.num_rows and self.frontier != NEVER:
            times = event_times(rows, self.time_column)
            if int(times.min()) < self.frontier:
                rows = rows.filter(pa.array(times >= self.frontier))
        if rows.num_rows:
            self._waiting.append(rows)

    def advance(self, frontier: int) -> None:
        """Time is complete below `frontier`: the rows before it take their places."""
        if frontier <= self.frontier:
            return
        self.frontier = frontier
        if not self._waiting:
            return
        rows = self._waiting[0] if len(self._waiting) == 1 else pa.concat_tables(self._waiting)
        times = event_times(rows, self.time_column)
        if len(times) and int(times.max()) < frontier:
            done, self._waiting = rows, []
        else:
            ready = times < frontier
            done, times = rows.filter(pa.array(ready)), times[ready]
            waiting = rows.filter(pa.array(~ready))
            self._waiting = [waiting.combine_chunks()] if waiting.num_rows else []
        if not len(times):
            return
        order = np.lexsort((integers(done.column(SEQ)), times))
        if (order[1:] < order[:-1]).any():
            done, times = done.take(pa.array(order)), times[order]
        self._keep(times, done)

    def settled(self, rows: pa.Table, frontier: int) -> None:
        """Rows that are in order and complete already: results of a query, or history. They follow those there are."""
        self.frontier = max(self.frontier, frontier)
        if rows.num_rows:
            self._keep(event_times(rows, self.time_column), rows)

    def reset(self, rows: pa.Table, trimmed: int) -> None:
        """Other rows take the place of those that are complete: history reaches further back than the store did."""
        self._chunks = []
        self.trimmed = trimmed
        if rows.num_rows:
            self._keep(event_times(rows, self.time_column), rows)

    def _keep(self, times: npt.NDArray[np.int64], rows: pa.Table) -> None:
        self._chunks.append((times, rows))
        if len(self._chunks) > _MANY:
            merged = []
            for first, second in zip(self._chunks[::2], self._chunks[1::2], strict=False):
                whole = pa.concat_tables([first[1], second[1]]).combine_chunks()
                merged.append((np.concatenate([first[0], second[0]]), whole))
            if len(self._chunks) % 2:
                merged.append(self._chunks[-1])
            self._chunks = merged

    def between(self, low: int, high: int) -> pa.Table:
        """The rows with low <= time <= high, in order."""
        parts = []
        for times, rows in self._chunks:
            if not len(times) or times[-1] < low or times[0] > high:
                continue
            start, end = np.searchsorted(times, low), np.searchsorted(times, high, side="right")
            parts.append(rows.slice(int(start), int(end - start)))
        return pa.concat_tables(parts) if parts else self.schema.empty_table()

    def newest(self, count: int, high: int) -> pa.Table:
        """The `count` newest rows with time <= high, in order."""
        parts: list[pa.Table] = []
        for times, rows in reversed(self._chunks):
            if not len(times) or times[0] > high:
                continue
            end = int(np.searchsorted(times, high, side="right"))
            start = max(0, end - count)
            parts.append(rows.slice(start, end - start))
            count -= end - start
            if not count:
                break
        return pa.concat_tables(parts[::-1]) if parts else self.schema.empty_table()

    def times(self) -> list[npt.NDArray[np.int64]]:
        return [t for t, _ in self._chunks]

    def first_time(self) -> int | None:
        return int(self._chunks[0][0][0]) if self._chunks else None

    def next_time(self, low: int) -> int | None:
        """The time of the oldest row with time >= low."""
        for times, _ in self._chunks:
            start = int(np.searchsorted(times, low))
            if start < len(times):
                return int(times[start])
        return None

    def last_time(self, high: int) -> int | None:
        """The time of the newest row with time <= high."""
        for times, _ in reversed(self._chunks):
            end = int(np.searchsorted(times, high, side="right"))
            if end:
                return int(times[end - 1])
        return None

    def trim(self, before: int, *, keep: int = 0) -> None:
        """Forget rows with time < before, but for the `keep` newest of them and those of the same times."""
        if keep:
            before = self.time_before(before, keep)
        if before <= self.trimmed:
            return
        kept = []
        for times, rows in self._chunks:
            old = int(np.searchsorted(times, before))
            if old == len(times):
                continue
            kept.append((times, rows) if old < len(times) // 2 or not old else (times[old:].copy(), rows.slice(old)))
        self._chunks = kept
        self.trimmed = before

    def time_before(self, before: int, count: int) -> int:
        """The latest time such that `count` rows lie between it and `before`; the earliest there is if they are fewer."""
        for times, _ in reversed(self._chunks):
            end = int(np.searchsorted(times, before))
            if end >= count:
                return int(times[end - count])
            count -= end
        return self.trimmed
