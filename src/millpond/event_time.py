"""Event time as integers: the times of rows, their order, and how far a query is.

An event time is an integer in its table's unit: whole numbers as they are, or microseconds of a TIMESTAMP.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, date, datetime
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from millpond.arrow import integers
from millpond.catalog import StreamingTable
from millpond.duration import TimeUnit, moment, to_micros
from millpond.errors import SqlError, brief
from millpond.schema import SEQ

NEVER = np.iinfo(np.int64).min  # before every event time


@dataclass(frozen=True)
class Progress:
    """How far a query is: every instant below `frontier` is done, the last of them was `last`.

    `frontier` is None before the query has begun: nothing is known about the time of its inputs yet.
    """

    frontier: int | None = None
    last: int | None = None

    def to_json(self) -> list[int | None]:
        return [self.frontier, self.last]

    @classmethod
    def from_json(cls, data: list[int | None]) -> Progress:
        return cls(data[0], data[1])


def times_of(column: pa.ChunkedArray | pa.Array) -> npt.NDArray[np.int64]:
    """A time column as event times."""
    found: npt.NDArray[np.int64] = integers(column).astype(np.int64, copy=False)
    return found


def event_times(rows: pa.Table, time_column: str) -> npt.NDArray[np.int64]:
    """The event times of rows."""
    return times_of(rows.column(time_column))


def sort_by_time(rows: pa.Table, time_column: str) -> pa.Table:
    """Rows in the order of (time, row number)."""
    if rows.num_rows < 2:
        return rows
    return rows.take(pc.sort_indices(rows, sort_keys=[(time_column, "ascending"), (SEQ, "ascending")]))


def to_event_time(value: Any, table: StreamingTable) -> int:
    """A time given by a user, as an event time of the table."""
    if table.unit is TimeUnit.SECOND:
        try:
            if isinstance(value, bool) or (int(value) != value and not isinstance(value, str)):
                raise ValueError
            time = int(value)
        except (TypeError, ValueError, OverflowError) as error:
            raise SqlError(
                f'{brief(value)} is not a time of table "{table.name}"', detail="Its time column counts whole seconds."
            ) from error
        kind = table.columns.find(table.time_column, table.name).type
        if not -kind.largest - 1 <= time <= kind.largest:
            raise SqlError(
                f'{brief(value)} is not a time of table "{table.name}"',
                detail=f"Its time column is a {kind}: {-kind.largest - 1} to {kind.largest}.",
            )
        return time
    found = timestamp_micros(value)
    if found is None:
        raise SqlError(f'{brief(value)} is not a time of table "{table.name}"', hint="Write '2026-01-31 12:00:00'.")
    if found != to_micros(moment(found)):
        raise SqlError(
            f'{brief(value)} is not a time of table "{table.name}"', detail="The years of a TIMESTAMP are 1 to 9999."
        )
    return found


def timestamp_micros(value: Any) -> int | None:
    """A timestamp as microseconds since 1970 UTC; without a zone it is UTC. None if it is not one."""
    if isinstance(value, str):
        try:
            value = datetime.fromisoformat(value.strip())
        except ValueError:
            return None
    if isinstance(value, date) and not isinstance(value, datetime):
        value = datetime(value.year, value.month, value.day, tzinfo=UTC)
    if isinstance(value, int) and not isinstance(value, bool):
        return value * 1_000_000
    if not isinstance(value, datetime):
        return None
    return to_micros(value if value.tzinfo is not None else value.replace(tzinfo=UTC))
