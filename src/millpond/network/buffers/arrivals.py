"""Rows that queries over single rows see: columns to test conditions on, and the rows to take."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from millpond.event_time import event_times
from millpond.predicate.vector import Columns


class Arrived:
    """Rows that arrived in a step, or that a window holds at an instant."""

    def __init__(self, rows: pa.Table, time_column: str) -> None:
        self._rows = rows
        self._time_column = time_column
        self.moments = event_times(rows, time_column)
        self.columns = Columns(self)

    @property
    def size(self) -> int:
        return int(self._rows.num_rows)

    def at_moment(self, moment: int) -> Arrived:
        """The rows of one instant alone."""
        return Arrived(self._rows.filter(pa.array(self.moments == moment)), self._time_column)

    def column(self, name: str) -> pa.ChunkedArray:
        return self._rows.column(name)

    def rows(self, names: Iterable[str], places: npt.NDArray[np.int64] | None) -> pa.Table:
        chosen = self._rows.select(list(names))
        return chosen if places is None else chosen.take(pa.array(places))
