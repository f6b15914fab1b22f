"""Rows that queries over single rows see: columns to test conditions on, and the rows to take."""

from __future__ import annotations

import copy
from collections.abc import Iterable
from functools import cached_property

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from millpond.event_time import event_times
from millpond.network.time.instants import RowInstants
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

    def during(self, first: int, end: int) -> Arrived:
        """The rows of the instants from `first` up to, not with, `end`."""
        here = (self.moments >= first) & (self.moments < end)
        some = Arrived(self._rows.filter(pa.array(here)), self._time_column)
        some.moments = self.moments[here]
        return some

    @cached_property
    def instants(self) -> RowInstants:
        """The rows as instants."""
        return RowInstants.of(self._rows, self._time_column)

    @cached_property
    def each_row(self) -> Arrived:
        """The same rows, each at an instant of its own, which is its rank. What was computed of columns is shared."""
        each = copy.copy(self)
        each.moments = np.arange(self.size)
        return each

    def column(self, name: str) -> pa.ChunkedArray:
        return self._rows.column(name)

    def rows(self, names: Iterable[str], places: npt.NDArray[np.int64] | None) -> pa.Table:
        chosen = self._rows.select(list(names))
        if places is None:
            return chosen
        # `take` forgets how many rows there are when they have no columns, as for `count(*)`.
        return chosen.take(pa.array(places)) if chosen.num_columns else chosen.slice(0, len(places))
