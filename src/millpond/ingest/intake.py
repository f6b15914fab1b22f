"""The intake of a streaming table: one order of steps, in one place, whatever the source.

    convert -> reject malformed rows -> reject those too far ahead -> judge lateness -> number -> split by shard
            -> append rows, rejects and position

Invariant. rows offered = rows accepted + rows rejected, always; the rows of an offer, its rejected rows and the source's
position after it become durable together, so that an offer is taken exactly once.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from millpond.arrow import BadRow, arrow_schema, conform, integers, row_texts, to_batch
from millpond.clock import Clock
from millpond.duration import TimeUnit
from millpond.errors import IntakeError, RowsRejected, counted
from millpond.event_time import times_of
from millpond.ingest.ahead import later, latest_times
from millpond.ingest.lateness import earliest_times, less
from millpond.ingest.shards import shard_numbers, split
from millpond.schema import SEQ, Schema
from millpond.table.log import REJECTED_SCHEMA, NewFrame
from millpond.table.stream import StreamTable


@dataclass(frozen=True)
class Receipt:
    """What became of appended rows: `accepted` ones are durable and visible; those that are `late`, too far `ahead` or
    `malformed` are rejected.

    Rejected rows are in `<table>_rejected`; `first_reason` is the reason of the first malformed one.

    >>> Receipt("clicks", accepted=7, late=1, malformed=2).rejected
    3
    """

    table: str
    accepted: int
    late: int = 0
    malformed: int = 0
    first_reason: str | None = field(default=None, compare=False)
    ahead: int = 0

    @property
    def rejected(self) -> int:
        """Late and malformed rows and those too far ahead together."""
        return self.late + self.ahead + self.malformed


@dataclass(frozen=True)
class Origin:
    """Where an offer comes from: a source's name and its position after this offer; `places` locate single rows.

    `key` is what the position is kept under; the source's name if it is not given. `complete` is a time, in the table's unit, if
    nothing at or before it comes after these rows.
    """

    source: str = "append"
    position: Any = None
    places: Callable[[int], str] = str
    key: str | None = None
    complete: int | None = None


APPEND = Origin()
_LAST = 1 << 62


class Intake:
    """Takes offers for one table, from any thread."""

    def __init__(
        self,
        table: StreamTable,
        clock: Clock,
        make_room: Callable[[StreamTable], None],
        arrived: Callable[[], None] = lambda: None,
    ) -> None:
        self.table = table
        self._arrived = arrived  # called when time has moved: only then can a query have something to send
        self._clock = clock
        self._make_room = make_room
        self._turn = 0

    def offer(
        self, rows: Any, origin: Origin = APPEND, *, bad: Sequence[BadRow] = (), columns: Schema | None = None
    ) -> Receipt:
        """Take rows. `bad` are rows the source could not even read. Returns when everything is durable."""
        definition = self.table.definition
        time = definition.time_column
        wanted = (
            columns if columns is not None else definition.explicit if definition.implicit_time else definition.columns
        )
        required = () if definition.implicit_time else (time,)
        offer = to_batch(rows, wanted, definition.name, required=required)
        batch = offer.batch
        places = np.arange(batch.num_rows) if offer.index is None else integers(offer.index)
        rejects = [*bad, *offer.bad]
        self._make_room(self.table)
        with self.table.lock:
            state = self.table.state
            arrival = max(self._clock.micros(), state.at)
            if definition.implicit_time:
                stamps = pa.array(np.full(batch.num_rows, arrival)).cast(pa.timestamp("us", tz="UTC"))
                arrays = {**{n: batch.column(i) for i, n in enumerate(batch.schema.names)}, time: stamps}
                batch = pa.RecordBatch.from_arrays(
                    [arrays[n] for n in definition.columns.names], names=definition.columns.names
                )
            batch, places = self._reject_null_times(batch, places, rejects)
            malformed = len(rejects)
            first_reason = rejects[0].reason if rejects else None
            times = times_of(batch.column(batch.schema.get_field_index(time)))
            batch, times, places, ahead = self._reject_ahead(batch, times, places, rejects, arrival)
            batch, times, late = self._reject_late(batch, times, places, rejects)
            receipt = Receipt(definition.name, batch.num_rows, late, malformed, first_reason, ahead)
            if receipt.accepted or receipt.rejected or origin.position is not None:
                heartbeat = state.heartbeat
                # A source that says it is complete up to a time too far ahead has read it from a row that was rejected.
                limit = self._latest(arrival)
                far = limit is not None and origin.complete is not None and origin.complete > limit
                if origin.complete is not None and origin.complete < _LAST and not far:
                    heartbeat = max(origin.complete + 1, heartbeat if heartbeat is not None else origin.complete)
                self._append(batch, times, rejects, origin, receipt, arrival, heartbeat)
        return receipt

    def advance(self, time: int, *, follows: bool = False) -> None:
        """A heartbeat: nothing earlier than `time` is still to come. `follows`: it is the time of another table."""
        with self.table.lock:
            state = self.table.state
            if state.heartbeat is not None and time <= state.heartbeat:
                return
            arrival = max(self._clock.micros(), state.at)
            limit = self._latest(arrival)
            if limit is not None and time > limit and not follows:
                shown = self.table.definition.shown
                raise IntakeError(
                    f'heartbeat {shown(time)} of table "{self.table.definition.name}" is too far ahead',
                    detail=f"The latest it takes now is {shown(limit)}.",
                    hint=f"Check the time, or ALTER STREAMING TABLE {self.table.definition.name} SET AHEAD UNBOUNDED.",
                )
            self._append(None, np.empty(0, np.int64), [], Origin(), Receipt("", 0), arrival, heartbeat=time)

    def take_back(self, time: int) -> None:
        """The table's time is `time` again; it was later. What was accepted beyond it is not touched here."""
        with self.table.lock:
            state = self.table.state
            latest = later(time, self.table.definition.unit.count(self.table.definition.lateness))
            new = replace(
                state,
                highest=None if state.highest is None else min(state.highest, latest),
                heartbeat=None if state.heartbeat is None else min(state.heartbeat, time),
                at=max(self._clock.micros(), state.at),
                frames=state.frames + 1,
            )
            first, first_rejected = self.table.next_row, self.table.next_rejected
            self.table.append(NewFrame(first, 0, first_rejected, 0, 0, new, ()))

    def reject_stored(self, rows: pa.Table, latest: int) -> None:
        """Put rows that are in the table among the rejected rows: they are later than `latest`."""
        shown, name = self.table.definition.shown, self.table.definition.time_column
        batch = rows.combine_chunks().to_batches()[0]
        times = times_of(batch.column(batch.schema.get_field_index(name))).tolist()
        rejects = [
            BadRow(i, f"too far ahead: {name} = {shown(time)} is after {shown(latest)}, by SET NOW", text)
            for i, (time, text) in enumerate(zip(times, row_texts(batch), strict=True))
        ]
        with self.table.lock:
            arrival = max(self._clock.micros(), self.table.state.at)
            receipt = Receipt("", 0, ahead=len(rejects))
            self._append(None, np.empty(0, np.int64), rejects, Origin("SET NOW"), receipt, arrival)

    # -- steps ------------------------------------------------------------------------------------------------------

    def _reject_null_times(
        self, batch: pa.RecordBatch, places: npt.NDArray[np.int64], rejects: list[BadRow]
    ) -> tuple[pa.RecordBatch, npt.NDArray[np.int64]]:
        name = self.table.definition.time_column
        column = batch.column(batch.schema.get_field_index(name))
        if not column.null_count:
            return batch, places
        missing = integers(column.is_null().cast(pa.int8())).astype(bool)
        texts = row_texts(batch.filter(pa.array(missing)))
        reason = f'time column "{name}" is NULL'
        rejects += [BadRow(int(i), reason, text) for i, text in zip(places[missing], texts, strict=True)]
        return batch.filter(pa.array(~missing)), places[~missing]

    def _latest(self, arrival: int) -> int | None:
        """The latest time that may be promised now, if there is a bound."""
        definition, state = self.table.definition, self.table.state
        if definition.ahead is None:
            return None
        if definition.unit is TimeUnit.MICROSECOND:
            return later(arrival, definition.unit.count(definition.ahead))
        known = [t for t in (state.highest, state.heartbeat) if t is not None]
        return later(max(known), definition.unit.count(definition.ahead)) if known else None

    def _reject_ahead(
        self,
        batch: pa.RecordBatch,
        times: npt.NDArray[np.int64],
        places: npt.NDArray[np.int64],
        rejects: list[BadRow],
        arrival: int,
    ) -> tuple[pa.RecordBatch, npt.NDArray[np.int64], npt.NDArray[np.int64], int]:
        definition, state = self.table.definition, self.table.state
        if definition.ahead is None or not len(times):
            return batch, times, places, 0
        if definition.unit is TimeUnit.MICROSECOND:
            latest = np.full(len(times), self._latest(arrival), dtype=np.int64)
        else:
            known = max((t for t in (state.highest, state.heartbeat) if t is not None), default=None)
            latest = latest_times(times, known, definition.unit.count(definition.ahead))
        far = times > latest
        if not far.any():
            return batch, times, places, 0
        texts = row_texts(batch.filter(pa.array(far)))
        name, shown = definition.time_column, definition.shown
        for place, text, time, limit in zip(places[far], texts, times[far], latest[far], strict=True):
            reason = f"too far ahead: {name} = {shown(time)} is after {shown(limit)}"
            rejects.append(BadRow(int(place), reason, text))
        return batch.filter(pa.array(~far)), times[~far], places[~far], int(far.sum())

    def _reject_late(
        self,
        batch: pa.RecordBatch,
        times: npt.NDArray[np.int64],
        places: npt.NDArray[np.int64],
        rejects: list[BadRow],
    ) -> tuple[pa.RecordBatch, npt.NDArray[np.int64], int]:
        definition, state = self.table.definition, self.table.state
        lateness = definition.unit.count(definition.lateness)
        # A row that is not late by this is no earlier than the table's time was when the row came.
        earliest = limits = earliest_times(times, state.highest, state.heartbeat, lateness)
        if definition.late == "keep":
            earliest = np.full(len(times), np.iinfo(np.int64).min)
        if definition.history is not None:
            earliest = np.maximum(earliest, less(limits, definition.unit.count(definition.history)))
        late = times < earliest
        if not late.any():
            return batch, times, 0
        texts = row_texts(batch.filter(pa.array(late)))
        name = definition.time_column
        for place, text, time, limit in zip(places[late], texts, times[late], earliest[late], strict=True):
            reason = (
                f"late: {name} = {self.table.definition.shown(time)} is before {self.table.definition.shown(limit)}"
            )
            rejects.append(BadRow(int(place), reason, text))
        return batch.filter(pa.array(~late)), times[~late], int(late.sum())

    def _append(
        self,
        batch: pa.RecordBatch | None,
        times: npt.NDArray[np.int64],
        rejects: Sequence[BadRow],
        origin: Origin,
        receipt: Receipt,
        arrival: int,
        heartbeat: int | None = None,
    ) -> None:
        table, before = self.table, self.table.now
        state = table.state
        highest = state.highest
        shards: list[tuple[int, pa.RecordBatch]] = []
        if batch is not None and batch.num_rows:
            highest = max(int(times.max()), highest) if highest is not None else int(times.max())
            shards = self._shards(batch)
        positions = state.positions
        if origin.position is not None:
            positions = {**positions, origin.key or origin.source: origin.position}
        new = replace(
            state,
            highest=highest,
            heartbeat=state.heartbeat if heartbeat is None else heartbeat,
            positions=positions,
            late=state.late + receipt.late,
            malformed=state.malformed + receipt.malformed,
            ahead=state.ahead + receipt.ahead,
            at=arrival,
            frames=state.frames + 1,
        )
        table.append(
            NewFrame(
                first=table.next_row,
                rows=receipt.accepted,
                first_rejected=table.next_rejected,
                least=int(times.min()) if len(times) else 0,
                greatest=int(times.max()) if len(times) else 0,
                state=new,
                shards=shards,
                rejected=self._rejected(rejects, origin, arrival) if rejects else None,
            )
        )
        if table.now != before:
            self._arrived()

    def _shards(self, batch: pa.RecordBatch) -> list[tuple[int, pa.RecordBatch]]:
        definition = self.table.definition
        first = self.table.next_row
        numbers = pa.array(np.arange(first, first + batch.num_rows, dtype=np.int64))
        # A column may have been added since the rows were converted; the log has the columns of now.
        batch = conform(batch, arrow_schema(definition.columns))
        numbered = batch.append_column(pa.field(SEQ, pa.int64()), numbers)
        if definition.shards == 1:
            return [(0, numbered)]
        if not definition.shard_by:  # any shard will do: take turns, frame by frame
            self._turn = (self._turn + 1) % definition.shards
            return [(self._turn, numbered)]
        return split(numbered, shard_numbers(numbered, definition.shard_by, definition.shards), definition.shards)

    def _rejected(self, rejects: Sequence[BadRow], origin: Origin, arrival: int) -> pa.RecordBatch:
        count = len(rejects)
        first = self.table.next_rejected
        return pa.RecordBatch.from_arrays(
            [
                pa.array(np.full(count, arrival)).cast(pa.timestamp("us", tz="UTC")),
                pa.array([r.reason for r in rejects], pa.string()),
                pa.array([origin.source] * count, pa.string()),
                pa.array([origin.places(r.index) for r in rejects], pa.string()),
                pa.array([r.text for r in rejects], pa.string()),
                pa.array(np.arange(first, first + count, dtype=np.int64)),
            ],
            schema=REJECTED_SCHEMA,
        )


def warn_malformed(receipt: Receipt) -> None:
    """Tell a caller who is there to hear it that rows were malformed; late rows are ordinary and only counted."""
    if receipt.malformed:
        total = counted(receipt.accepted + receipt.rejected, "row")
        were = "was" if receipt.malformed == 1 else "were"
        warnings.warn(
            f'{receipt.malformed:,} of {total} offered to "{receipt.table}" {were} malformed; first: '
            f'{receipt.first_reason}. They are in "{receipt.table}_rejected".',
            RowsRejected,
            stacklevel=3,
        )
