"""Queries of SELECT and WHERE over a partitioned window: the base of two strategies, and tests of their shard key."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator

from millpond.catalog import StreamingTable
from millpond.errors import counted
from millpond.event_time import NEVER, Progress
from millpond.network.buffers.arrivals import Arrived
from millpond.network.buffers.neighbours import Change, Neighbours, Side
from millpond.network.plan.prepared import Prepared
from millpond.network.state.checkpoints import of_keys
from millpond.network.strategies.base import Checkpoint, Held
from millpond.network.strategies.parts.selecting import SelectStrategy
from millpond.query.binding.uses import Use
from millpond.query.clauses import selected_columns


def keyed_by(prepared: Prepared, table: StreamingTable) -> bool:
    """Whether the window of a query is partitioned by the shard key of its table: then each key's rows are in one shard."""
    window = prepared.streams[0].window
    assert window is not None
    return set(table.shard_by) <= {c.lower() for c in window.columns}


def selects_shard_key(prepared: Prepared, table: StreamingTable) -> bool:
    """Whether every column of the shard key is selected as it is, so that equal rows are of one shard."""
    columns = {c.name.lower() for c in selected_columns(prepared.bound.tree) if c is not None}
    return set(table.shard_by) <= columns


def reaches_far(use: Use) -> bool:
    """Whether a partitioned window holds rows however old they are, as long as the table keeps them."""
    table, window = use.table, use.window
    assert isinstance(table, StreamingTable)
    assert window is not None
    return window.interval is None or window.interval == table.history


class KeyedStrategy(SelectStrategy):
    """Over a partitioned window, which it shares with others of its kind."""

    _window: Neighbours | None = None

    def fill(self) -> None:
        frontier = self.progress.frontier
        assert frontier is not None
        use = self.prepared.streams[0]
        assert use.window is not None
        assert use.window.rows is not None
        keyed, interval, last = use.window, self.prepared.interval(use), self.progress.last
        low = None if interval is None else min(frontier - 1, frontier - 1 if last is None else last) - interval

        def fill(window: Neighbours) -> None:
            for rows in self.context.history.keyed(use.table.name, keyed, low, frontier - 1):
                window.fill(rows)

        self._window = self.context.partitioned_window(use, frontier - 1, fill)
        self.context.reach_back(use, frontier)

    def begin(self, begin: int) -> None:
        self._window = self.context.partitioned_window(self.prepared.streams[0], begin - 1, lambda window: None)

    @abstractmethod
    def _of(self, change: Change) -> tuple[Side, Side | None]:
        """What is visible of a change."""

    def _visible(self, begin: int, frontier: int) -> tuple[Arrived | Side, Side | None]:
        assert self._window is not None
        change = self._window.advance(self._inlets[0], begin, frontier)
        return self._of(change.each_row if self.prepared.each_row else change)

    def take_in(self, begin: int, progress: Progress) -> None:
        assert self._window is not None
        assert progress.frontier is not None
        if begin < progress.frontier:
            self._window.advance(self._inlets[0], begin, progress.frontier)

    def state(self) -> Iterator[Held]:
        if self._window is not None:
            rows = self._window.rows
            what = f"partitioned window, {counted(rows.slots.size, 'key')}, shared"
            yield Held(what, self._window, lambda: (rows.rows, rows.bytes))

    def checkpoints(self) -> Iterator[Checkpoint]:
        use = self.prepared.streams[0]
        window = use.window
        assert window is not None
        if self._window is not None and self._window.upto != NEVER and reaches_far(use):
            yield Checkpoint(use.table.name, of_keys(window), self._window.upto, self._window.rows)

    def close(self) -> None:
        self._window = None
