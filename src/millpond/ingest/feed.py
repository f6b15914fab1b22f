"""A feed: a thread that carries rows from a source to a table.

    poll -> transform -> offer(rows, position, bad rows), again and again

Invariant. The position moves only with an accepted offer. A batch that could not be stored is kept and offered again,
so no row is lost or repeated by a full disk; a feed that ends between two batches resumes after the last one stored.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any, TypeVar

import pyarrow as pa

from millpond.arrow import BadRow, row_texts
from millpond.clock import Clock
from millpond.errors import EngineError, FunctionError, PondError
from millpond.ingest.intake import Origin, Receipt
from millpond.sources.base import RowSource, SourceBatch

# One offer is one fsync: enough rows that it does not matter, few enough that rows are visible soon.
MOST_ROWS = 100_000
T = TypeVar("T")
# What a SELECT raises because of a row.
_ROW_ERRORS = (EngineError, FunctionError)


@dataclass(frozen=True)
class FeedOptions:
    """`idle`: how often to look when there was nothing. A failed step is tried again after `retry_first`, then twice as
    long each time, up to `retry_longest`."""

    most_rows: int = MOST_ROWS
    idle: timedelta = timedelta(milliseconds=50)
    retry_first: timedelta = timedelta(milliseconds=100)
    retry_longest: timedelta = timedelta(seconds=10)


_OPTIONS = FeedOptions()


@dataclass(frozen=True)
class FeedProgress:
    """What a feed has done since it started. `read` = `filtered` + `accepted` + `late` + `ahead` + `malformed`.

    `retries` counts failed steps; `trouble` is why the last one failed, None once it worked. `position` is the last one
    stored, `at` when that was, in microseconds since 1970.
    """

    read: int = 0
    accepted: int = 0
    late: int = 0
    ahead: int = 0
    malformed: int = 0
    filtered: int = 0
    batches: int = 0
    retries: int = 0
    trouble: str | None = None
    position: Any = None
    at: int | None = None


class FeedRunner:
    """Runs one feed. `offer` stores rows and position together or raises; it is called by the feed's thread only.

    `transform` is the feed's SELECT: it maps a table with the source's columns to one with the target's and gives one
    row or none for each row, in order. `source` is closed when the feed ends.
    """

    def __init__(
        self,
        name: str,
        source: RowSource,
        offer: Callable[[Any, Origin, Sequence[BadRow]], Receipt],
        transform: Callable[[pa.Table], pa.Table] | None,
        clock: Clock,
        options: FeedOptions = _OPTIONS,
    ) -> None:
        self.name = name
        self._source = source
        self._offer = offer
        self._transform = transform
        self._clock = clock
        self._options = options
        self._stop = threading.Event()
        self._progress = FeedProgress()
        self._error: Exception | None = None
        self._thread = threading.Thread(target=self._run, name=f"feed {name}", daemon=True)

    def start(self) -> None:
        """Begin; once only."""
        self._thread.start()

    def ask_to_stop(self) -> None:
        """End after the step under way; does not wait for it."""
        self._stop.set()

    def stop(self, timeout: float = 10.0) -> bool:
        """End after the step under way, at most `timeout` seconds; whether it has ended. From any thread, repeatedly.

        A batch not yet stored is dropped here and read again by the next run.
        """
        self._stop.set()
        if self._thread.ident is None:  # never started
            self._source.close()
            return True
        self._thread.join(timeout)
        return not self._thread.is_alive()

    @property
    def running(self) -> bool:
        return self._thread.is_alive()

    @property
    def error(self) -> Exception | None:
        """Why the feed ended by itself; None while it runs or when it was stopped."""
        return self._error

    @property
    def progress(self) -> FeedProgress:
        """A snapshot, from any thread."""
        return self._progress

    # -- the feed's thread ------------------------------------------------------------------------------------------

    def _run(self) -> None:
        try:
            while not self._stop.is_set():
                batch = self._retried(lambda: self._source.next_batch(self._options.most_rows))
                if batch is not None:
                    self._carry(batch)
                elif not self._stop.is_set():
                    self._stop.wait(self._options.idle.total_seconds())
        except Exception as error:
            self._error = error
        finally:
            self._source.close()

    def _carry(self, batch: SourceBatch) -> None:
        rows: Any = batch.rows
        places = batch.places
        bad = batch.bad
        failed: dict[int, str] = {}
        if self._transform is not None:
            table = rows if isinstance(rows, pa.Table) else pa.Table.from_batches([rows])
            rows, failed = self._transformed(table, self._transform)
            if self._stop.is_set() and failed:
                return
            if failed:
                lowest = min([0, *(b.index for b in bad)])  # the bad rows of a source are -1, -2, ...
                texts = row_texts(table.take(list(failed)).combine_chunks().to_batches()[0])
                found = enumerate(zip(failed.values(), texts, strict=True), 1)
                bad = [*bad, *(BadRow(lowest - k, reason, text) for k, (reason, text) in found)]
            places = _places(batch, list(failed), rows.num_rows)
        origin = Origin(self.name, batch.position, places, complete=batch.complete)
        receipt = self._retried(lambda: self._offer(rows, origin, bad))
        if receipt is None:  # stopped while it was retried
            return
        before = self._progress
        self._progress = replace(
            before,
            read=before.read + batch.rows.num_rows + len(batch.bad),
            accepted=before.accepted + receipt.accepted,
            late=before.late + receipt.late,
            ahead=before.ahead + receipt.ahead,
            malformed=before.malformed + receipt.malformed,
            filtered=before.filtered + batch.rows.num_rows - rows.num_rows - len(failed),
            batches=before.batches + 1,
            position=batch.position,
            at=self._clock.micros(),
        )

    def _transformed(
        self, table: pa.Table, transform: Callable[[pa.Table], pa.Table]
    ) -> tuple[pa.Table, dict[int, str]]:
        """The rows of `table` after the SELECT, and by place those it failed for, with the reason.

        It is not told which row it was, so the rows are halved until it is alone. An error that also comes without any row
        is not the rows' and ends the feed.
        """
        try:
            return transform(table), {}
        except _ROW_ERRORS:
            done = [transform(table.slice(0, 0))]
        failed: dict[int, str] = {}
        parts = [(0, table.num_rows)]
        while parts and not self._stop.is_set():
            start, end = parts.pop()
            try:
                done.append(transform(table.slice(start, end - start)))
            except _ROW_ERRORS as error:
                if end - start == 1:
                    failed[start] = error.primary
                else:
                    middle = (start + end) // 2
                    parts += [(middle, end), (start, middle)]
        return pa.concat_tables(done), failed

    def _retried(self, step: Callable[[], T]) -> T | None:
        """The result of `step`, tried until it does not raise a `PondError`; None when stopped before."""
        wait = self._options.retry_first
        while not self._stop.is_set():
            try:
                result = step()
            except PondError as error:
                before = self._progress
                self._progress = replace(before, retries=before.retries + 1, trouble=str(error))
                self._stop.wait(wait.total_seconds())
                wait = min(2 * wait, self._options.retry_longest)
            else:
                if self._progress.trouble is not None:
                    self._progress = replace(self._progress, trouble=None)
                return result
        return None


def _places(batch: SourceBatch, failed: Sequence[int], count: int) -> Callable[[int], str]:
    """Places of the `count` rows that came out of a SELECT, and of the bad and `failed` ones.

    When some were filtered out, a row is only known to be between the first and the last.
    """
    last = batch.rows.num_rows - 1
    unread = -min([0, *(b.index for b in batch.bad)])
    gone = set(failed)
    kept = [i for i in range(batch.rows.num_rows) if i not in gone] if gone else None

    def places(i: int) -> str:
        if i < -unread:
            return batch.places(failed[-1 - i - unread])
        if i >= 0 and count + len(failed) != batch.rows.num_rows and last > 0:
            return f"{batch.places(0)} to {batch.places(last)}"
        return batch.places(i if i < 0 or kept is None or i >= len(kept) else kept[i])

    return places
