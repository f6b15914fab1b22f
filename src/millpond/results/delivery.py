"""Delivery: results of a query to those who want them, in order, each once, by number.

A cursor is pulled, a subscription waits. Both know only a number; whoever keeps it can go on after any crash, his own or
the pond's. Results that have left the kept ones, or are lost, are told and never skipped in silence.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator

import pyarrow as pa

from millpond.errors import ResultsGone
from millpond.process import ProcessBound
from millpond.result import Result
from millpond.results.news import News
from millpond.results.outlet import Outlet
from millpond.schema import SEQ

_WAIT = 0.5
_BATCH = 131_072  # rows handed out at a time


class Results(Result):
    """Results of a query, with their number in the last column. `position` is that of the last row."""

    def __init__(self, rows: pa.Table, position: int) -> None:
        super().__init__(rows)
        self.position = position


class Cursor(ProcessBound):
    """A reader of a query's results that remembers its position. Get one from `Pond.resume`."""

    def __init__(self, outlet: Callable[[], Outlet], number: int, refresh: Callable[[], None]) -> None:
        self._outlet = outlet
        self._number = number
        self._refresh = refresh

    @property
    def position(self) -> int:
        """The number of the last result fetched. `db.resume(query, after=position)` continues there.

        Before the first fetch it is the number before that of the first result to come: -1 if that is the query's first.
        """
        return self._number - 1

    def fetch(self, most: int | None = None) -> Results:
        """Results since the last time, at most `most`; empty if there are none. The last column, `_seq`, numbers them."""
        self._refresh()
        return self.take(1 << 62 if most is None else most)

    def take(self, most: int = 1 << 62) -> Results:
        outlet = self._outlet()
        rows = outlet.fetch(self._number, most)
        first = rows.column(SEQ)[0].as_py() if rows.num_rows else outlet.first
        if first > self._number:
            raise ResultsGone(outlet.query.name, self.position, first, lost=outlet.is_lost(self._number))
        if rows.num_rows:
            self._number = first + rows.num_rows
        return Results(rows, self.position)

    def __iter__(self) -> Iterator[Results]:
        """Everything that is there, batch by batch: of results kept in files not all are in memory at a time."""
        while rows := self.fetch(_BATCH):
            yield rows

    @property
    def waiting(self) -> Outlet:
        return self._outlet()


class Subscription(ProcessBound):
    """Iterate over it to receive batches of results as they appear. It ends when it or its pond is closed."""

    def __init__(
        self,
        cursor: Cursor,
        refresh: Callable[[], None],
        owned: Callable[[], bool],
        ended: Callable[[], bool],
        meanwhile: Callable[[], None],
        news: News,
    ) -> None:
        self._cursor = cursor
        self._news = news  # of results that another process writes
        self._meanwhile = meanwhile  # what the owner does while he waits
        self._refresh = refresh
        self._owned = owned
        self._ended = ended
        self._closed = False

    @property
    def position(self) -> int:
        """The number of the last result received; -1 before the first."""
        return self._cursor.position

    def __iter__(self) -> Iterator[Results]:
        while (batch := self.next()) is not None:
            yield batch

    def next(self, timeout: float | None = None) -> Results | None:
        """The next batch, or None when the subscription ends or nothing came in `timeout` seconds."""
        limit = None if timeout is None else time.monotonic() + timeout
        while not self._closed and not self._ended():
            if self._owned():
                self._meanwhile()
            else:
                self._news.clear()
                self._refresh()
            batch = self._cursor.take(_BATCH)
            if len(batch):
                return batch
            left = _WAIT if limit is None else min(_WAIT, limit - time.monotonic())
            if left <= 0:
                return None
            outlet = self._cursor.waiting
            if self._owned():
                outlet.wait(batch.position + 1, left)
            else:
                self._news.wait(left)
        return None

    def close(self) -> None:
        """End the subscription: whoever iterates over it comes to the end."""
        self._closed = True

    def __enter__(self) -> Subscription:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
