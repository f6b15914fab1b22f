"""What an evaluator asks about the past. `backfill` answers."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import Protocol

import pyarrow as pa

from millpond.catalog import ContinuousQuery
from millpond.query.from_history import Historian
from millpond.windows.base import Window


class History(Protocol):
    """What was: the rows of a stream as this evaluator would have seen them. All bounds are inclusive."""

    historian: Historian
    """Answers whole queries as of an instant."""

    def rows(self, stream: str, low: int | None, high: int) -> pa.Table:
        """Rows with low <= time <= high, sorted by (time, row number)."""

    def newest(self, stream: str, count: int, high: int) -> pa.Table:
        """The `count` newest rows with time <= high, sorted."""

    def keyed(self, stream: str, window: Window, low: int | None, high: int) -> Iterator[pa.Table]:
        """At least the newest rows of each key with low <= time <= high, as many as the partitioned window holds, in order, part
        by part."""

    def parts(self, stream: str, names: Collection[str], low: int | None, high: int) -> Iterator[pa.Table]:
        """The same rows, at least their columns of these names, part by part: they never stand in memory as a whole."""

    def kept(
        self, stream: str, fingerprint: str, high: int, schema: pa.Schema, time_column: str
    ) -> tuple[pa.Table, int] | None:
        """What was kept of a window, nothing of it later than `high`, and the time since which rows are to be added."""

    def before(self, query: ContinuousQuery, last: int, schema: pa.Schema) -> pa.Table | None:
        """The result of a query at its last instant, if it was written down."""

    def standard(self, name: str) -> pa.Table:
        """A standard table as it is now."""

    def looked_up(self, name: str, columns: Sequence[str], keys: Sequence[pa.ChunkedArray]) -> pa.Table:
        """At least the rows of a standard table whose `columns` have one of the values of `keys`."""
