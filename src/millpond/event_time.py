"""Event time as integers: the times of rows, their order, and how far a query is.

An event time is an integer in its table's unit: whole numbers as they are, or microseconds of a TIMESTAMP.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from millpond.arrow import integers
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
