"""Queries whose groups are held as numbers instead of rows: rows go in as they come, results are taken out at instants.

Invariant. At an instant a query holds what the rows of its window make of its groups, whatever steps they came in. Rows that no
later instant sees are not taken in, so they cannot fail. Where rows fail, the query stops at the first instant that sees one,
and what it sends before is as if they had not come.
"""

from __future__ import annotations

import contextlib
from abc import abstractmethod
from collections.abc import Iterator
from typing import Any, ClassVar, Protocol

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from millpond.arrow import arrow_schema
from millpond.catalog import INSTANT, StreamingTable
from millpond.errors import MillpondError, counted
from millpond.event_time import Progress
from millpond.network.aggregates.shape import Shape
from millpond.network.buffers.arrivals import Arrived
from millpond.network.plan.prepared import Prepared
from millpond.network.strategies.base import Held, Strategy
from millpond.network.strategies.parts.projection import Moments, Projection
from millpond.network.time.instants import RowInstants, awake
from millpond.query.binding.uses import Use

_NOTHING: npt.NDArray[np.int64] = np.zeros(0, dtype=np.int64)


class GroupState(Protocol):
    """The groups of a query at `upto`."""

    upto: int

    @property
    def rows(self) -> int:
        """How many groups."""

    @property
    def bytes(self) -> int:
        """What they take in memory."""

    def take_in(self, rows: pa.Table, moments: Moments) -> None:
        """Bring in rows, which come after all that were brought in."""

    def content(self) -> pa.Table:
        """All groups as they are."""


class GroupedStrategy(Strategy):
    holds: ClassVar[str]
    """What it holds of groups, for SHOW STATE."""

    def __init__(self, prepared: Prepared, shape: Shape[Any], projection: Projection) -> None:
        super().__init__(prepared)
        self.shape = shape
        self._projection = projection
        self._groups: GroupState | None = None
        self._waits = False  # whether rows are taken in at instants only
        self._quiet = False  # whether the result at the last instant had no rows
        self._rows: RowInstants  # that came last, where each row is an instant

    def local_to(self, table: StreamingTable) -> bool:
        """If it is grouped by the shard key, and not evaluated at arrivals, which are not the same in all shards."""
        at_arrivals = self.prepared.slide is None and self.prepared.query.stream_operator == "rstream"
        return set(table.shard_by) <= {g.lower() for g in self.shape.groups} and not at_arrivals

    @abstractmethod
    def _empty(self, schema: pa.Schema, upto: int) -> GroupState:
        """Groups without rows, at `upto`; `schema` has the values of rows."""

    def _begun(self, upto: int) -> GroupState:
        """What is held at `upto` before rows are taken from history."""
        return self._empty(self._values_schema(), upto)

    def _first_needed(self, after: int) -> int | None:
        """The earliest time of a row that an instant later than `after` sees; None: any."""
        return None

    def _past(self, groups: GroupState, low: int | None) -> Iterator[pa.Table]:
        """The rows from `low` on that are missing in groups."""
        stream = self.prepared.streams[0].table.name
        return self.context.history.parts(stream, self._projection.needs, low, groups.upto)

    # -- beginning --------------------------------------------------------------------------------------------------------

    def begin(self, begin: int) -> None:
        self._groups = self._empty(self._values_schema(), begin - 1)

    def fill(self) -> None:
        assert self.progress.frontier is not None
        upto = self._fill(self.progress.frontier - 1)
        self.context.reach_back(self.prepared.streams[0], upto + 1)

    def _fill(self, upto: int) -> int:
        """With the rows up to a time, those after the last instant too unless one of them fails: that is told at the next
        instant. Up to which time they are in."""
        if self.prepared.query.stream_operator == "rstream":
            with contextlib.suppress(MillpondError):
                self._fill_from_history(upto)
                return upto
        self._waits = True
        last = upto // (self.prepared.slide or 1) * (self.prepared.slide or 1)
        self._fill_from_history(last)
        return last

    def _fill_from_history(self, upto: int) -> None:
        self._groups = groups = self._begun(upto)
        time_column = self._inlets[0].time_column
        for rows in self._past(groups, self._first_needed(upto)):
            groups.take_in(*self._projection.values(self.context.engine, Arrived(rows, time_column)))

    def _values_schema(self) -> pa.Schema:
        inlet = self._inlets[0]
        if self._projection.plain is not None:
            return inlet.schema
        nothing = Arrived(
            inlet.schema.empty_table(), inlet.time_column
        )  # values have the types that the engine gives them
        return self._projection.computed(self.context.engine, nothing)[0].schema

    # -- going on ---------------------------------------------------------------------------------------------------------

    def advance(self, begin: int, frontier: int) -> pa.Table | None:
        assert self._groups is not None
        stood = self._groups.upto
        try:
            sent = self._send(begin, frontier)
        except MillpondError:
            self._fill_from_history(stood)  # it may hold part of what failed
            sent, frontier = self._send_up_to_failure(begin, frontier)
        if self.left is not None:
            frontier = self.left
        done = self._instants(begin, frontier)[-1:]
        self.progress = Progress(frontier, done[0] if done else self.progress.last)
        self._waits = self.prepared.query.stream_operator != "rstream" or (self._waits and not done)
        if self.error is None and not self._waits:
            self._take_in_early(frontier)
        return sent

    def take_in(self, begin: int, progress: Progress) -> None:
        assert progress.frontier is not None
        groups, came = self._groups, self._arrived(progress.frontier)
        assert groups is not None
        if came is not None:
            groups.take_in(*came)

    def _take_in_early(self, frontier: int) -> None:
        """Take in the rows after the last instant too, so that they need not be held until the next."""
        groups = self._groups
        assert groups is not None
        stood = groups.upto
        try:
            came = self._arrived(frontier, early=True)
            if came is not None:
                groups.take_in(*came)
        except MillpondError:
            self._fill_from_history(stood)
            self._waits = True

    def _send(self, begin: int, frontier: int) -> pa.Table | None:
        if self.prepared.query.stream_operator != "rstream":
            self.cost.evaluations += 1
            return self._changes(begin, frontier)
        send = self._send_row_by_row if self.prepared.each_row else self._send_at
        parts = [send(instant) for instant in self._in_time(awake(self._instants(begin, frontier), self._wakes))]
        return pa.concat_tables(parts) if parts else None

    def _changes(self, begin: int, frontier: int) -> pa.Table | None:
        """What is new or gone at the instants in [begin, frontier)."""
        raise AssertionError(f"{self.name} sends whole results only")

    def _send_at(self, instant: int) -> pa.Table:
        came = self._arrived(instant + 1)
        groups = self._groups
        assert groups is not None
        if came is not None:
            groups.take_in(*came)
        content = self._content(groups)
        self.cost.evaluations += 1
        self._quiet = not content.num_rows
        return self._stamped(content, np.full(content.num_rows, instant))

    def _send_row_by_row(self, instant: int) -> pa.Table:
        """The whole result at each row of a time."""
        came = self._arrived(instant + 1)
        groups = self._groups
        assert groups is not None
        assert came is not None
        values, ranks = came
        parts = []
        for rank in range(len(self._rows.times)):
            first, end = np.searchsorted(ranks, [rank, rank + 1])
            groups.take_in(values.slice(first, end - first), ranks[first:end])
            content = self._content(groups)
            self.cost.evaluations += 1
            parts.append(self._stamped(content, np.full(content.num_rows, rank)))
        return pa.concat_tables(parts)

    def _content(self, groups: GroupState) -> pa.Table:
        """The result: what the groups have."""
        return groups.content()

    def _send_up_to_failure(self, begin: int, frontier: int) -> tuple[pa.Table | None, int]:
        """What is sent at the instants before the one that fails, and that one."""
        due = awake(self._instants(begin, frontier), self._wakes)
        return self._send_each(due, frontier, lambda instant: self._send(instant, instant + 1))

    def _wakes(self, instant: int) -> int | None:
        """From when on something can be sent again. If no group has rows: when the next row comes, None if none does."""
        return self._inlets[0].next_time(instant + 1) if self._quiet else instant

    # -- rows -------------------------------------------------------------------------------------------------------------

    def _arrived(self, frontier: int, *, early: bool = False) -> tuple[pa.Table, Moments] | None:
        """The values of the rows that came up to the last instant before `frontier` (`early`: up to `frontier`), and their
        moments; None if nothing can have come. The groups stand there then. Where each row is an instant, moments are the ranks
        of rows."""
        groups, slide = self._groups, self.prepared.slide
        assert groups is not None
        upto = frontier - 1 if slide is None or early else (frontier - 1) // slide * slide
        if upto <= groups.upto:
            return None
        inlet = self._inlets[0]
        needed = self._first_needed(groups.upto)
        low = groups.upto + 1 if needed is None else max(groups.upto + 1, needed)
        came = Arrived(inlet.between(low, upto), inlet.time_column)
        groups.upto = upto
        self.cost.rows_in += came.size
        if self.prepared.each_row:
            self._rows, came = came.instants, came.each_row
        return self._projection.values(self.context.engine, came)

    def _stamped(self, rows: pa.Table, moments: Moments) -> pa.Table:
        schema = arrow_schema(self.prepared.query.columns)
        if self.prepared.each_row:
            return self._rows.stamped(rows.append_column(INSTANT, pa.array(moments)), schema)
        stamps = pa.array(moments).cast(schema.field(INSTANT).type)
        return pa.Table.from_arrays([*rows.columns, stamps], names=schema.names).cast(schema)

    def needs(self, use: Use) -> tuple[int, int]:
        return super().needs(use) if self._groups is None else (self._groups.upto + 1, 0)

    def state(self) -> Iterator[Held]:
        groups = self._groups
        if groups is not None:
            yield Held(f"{self.holds} of {counted(groups.rows, 'group')}", groups, lambda: (groups.rows, groups.bytes))
