"""What the strategies of one evaluator share: streams, history, the engine, and whatever several of them compute in a step.

A thousand queries over one stream see the same rows. So the rows that came in a step, the contents of windows at an instant and
the partitioned windows are held once, here. What is of one step only is forgotten at its end.
"""

from __future__ import annotations

import time
import weakref
from collections.abc import Callable
from dataclasses import dataclass

import pyarrow as pa

from millpond.errors import EngineError, counted
from millpond.event_time import NEVER, event_times
from millpond.network.buffers.arrivals import Arrived
from millpond.network.buffers.neighbours import Neighbours
from millpond.network.engine.engine import Engine
from millpond.network.engine.spark_engine import SparkEngine
from millpond.network.state.history import History
from millpond.network.strategies.parts.batching import Batches
from millpond.network.time.inlet import Inlet
from millpond.query.binding.uses import Use
from millpond.windows.base import Window


@dataclass
class Reading:
    """What was read of history in a step: for how long, for how many instants, and for how many there was no time. Queries that
    allow nothing to be left out do not count: they cannot read less."""

    seconds: float = 0.0
    instants: int = 0
    waiting: int = 0

    def add(self, seconds: float, instants: int, waiting: int, *, thinned: bool) -> None:
        if thinned:
            self.seconds += seconds
            self.instants += instants
            self.waiting += waiting


SLICE = 1.0  # seconds that a step gives to queries with many instants: one that begins in the past may have millions
_SHARE = 0.1  # seconds for each of them once that is used up
_CONTENTS = 8  # contents of windows remembered within a step; a query that catches up has thousands of instants


class Context:
    """Not thread safe: all strategies of an evaluator run in its thread, one after the other."""

    def __init__(
        self,
        history: History,
        engine: Engine,
        spark: SparkEngine | None = None,
        *,
        leaves: bool = False,
        limit: float | None = None,
    ) -> None:
        self.history = history
        self.engine = engine
        self.spark = spark  # None in the shards
        self.inlets: dict[str, Inlet] = {}
        self.reading = Reading()
        self.left_out = (
            0.0  # the part of what is read of history that queries leave out in this step, as far as they allow
        )
        self.batches = Batches(engine)
        # Rows of standard tables that were looked up in this step, by query and relation: up to which instant, and the rows.
        self.fetched: dict[tuple[str, str], tuple[int, pa.Table]] = {}
        self._windows: dict[tuple[str, Window], weakref.WeakSet[Neighbours]] = {}
        self._arrived: dict[tuple[str, int, int], Arrived] = {}
        self._contents: dict[tuple[str, int, int], Arrived] = {}
        self._leaves = leaves  # whether instants may be left to the next step
        self._limit = limit  # else: how many seconds all instants of a query in one step may take
        self._slice_ends = 0.0
        self._ends: float | None = None

    def begin_step(self) -> None:
        self._slice_ends = time.perf_counter() + SLICE
        self.reading = Reading()

    def begin_query(self) -> None:
        """The time of the next query of the step begins."""
        now = time.perf_counter()
        if self._leaves:
            self._ends = max(self._slice_ends, now + min(_SHARE, SLICE))
        else:
            self._ends = None if self._limit is None else now + self._limit

    def time_is_over(self, query: str) -> bool:
        """Whether a query is to leave its other instants to the next step. An error where it cannot, because all shards of
        a table go on together."""
        if self._ends is None or time.perf_counter() < self._ends:
            return False
        if self._leaves:
            return True
        assert self._limit is not None
        raise EngineError(
            f'the instants of query "{query}" in one tick took longer than {counted(self._limit, "second")}',
            detail="Others wait for the end of a tick.",
            hint='Give the query a longer SAMPLE, or connect with a longer "evaluation_time".',
        )

    def arrived(self, stream: str, begin: int, frontier: int) -> Arrived:
        """The rows of a stream with begin <= time < frontier."""
        key = (stream, begin, frontier)
        found = self._arrived.get(key)
        if found is None:
            inlet = self.inlets[stream]
            found = self._arrived[key] = Arrived(inlet.between(begin, frontier - 1), inlet.time_column)
        return found

    def content(self, stream: str, low: int, high: int) -> Arrived:
        """The rows of a stream with low <= time <= high, as a window by time holds them."""
        key = (stream, low, high)
        found = self._contents.get(key)
        if found is None:
            if len(self._contents) >= _CONTENTS:
                self._contents.clear()
            inlet = self.inlets[stream]
            whole = inlet.between(low, high).combine_chunks()  # rows are taken from it many times
            found = self._contents[key] = Arrived(whole, inlet.time_column)
        return found

    def partitioned_window(self, use: Use, upto: int, fill: Callable[[Neighbours], None]) -> Neighbours:
        """The partitioned window of a use that stands at `upto`: one that another query has, or a new one, which `fill` fills."""
        window = use.window
        assert window is not None
        assert window.rows is not None
        known = self._windows.setdefault((use.table.name, window), weakref.WeakSet())
        for other in known:
            if other.stands_at(upto):
                return other
        made = Neighbours(self.inlets[use.table.name], window.columns, window.rows, upto)
        fill(made)
        known.add(made)
        return made

    def reach_back(self, use: Use, low: int, count: int = 0) -> None:
        """Make sure that the inlet of a use has the rows from `low` on, and the `count` rows before them."""
        inlet = self.inlets[use.table.name]
        high = inlet.frontier - 1
        if inlet.frontier == NEVER:
            return
        if count:
            before = self.history.newest(use.table.name, count, min(low - 1, high))
            if before.num_rows:
                low = int(event_times(before, inlet.time_column)[0])
        if low < inlet.trimmed:
            past = None if low == NEVER else low
            rows = self.history.rows(use.table.name, past, high) if low <= high else inlet.schema.empty_table()
            inlet.reset(rows, low)

    def end_step(self) -> None:
        """Forget what only this step needed."""
        self._arrived.clear()
        self._contents.clear()
        self.fetched.clear()
        self.batches.end_step()
        for key, windows in list(self._windows.items()):
            for window in windows:
                window.forget_step()
            if not windows:
                del self._windows[key]
