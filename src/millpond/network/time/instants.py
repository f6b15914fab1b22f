"""At which instants a query is evaluated. Pure arithmetic over event times.

An instant is due once time is complete up to it: the frontier is a time before which nothing more comes, so every instant
below it can be evaluated and no other. Which instants those are depends on the rows and on nothing else: a tick may hold
none of them or a thousand.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from millpond.arrow import distinct, integers
from millpond.catalog import INSTANT
from millpond.event_time import event_times
from millpond.schema import SEQ

ROW = "__row"
"""Where each row is an instant, the last column of what is sent: the number of that row. It puts in order what several shards
send, and is taken off then."""

Times = npt.NDArray[np.int64]


def slides(begin: int, end: int, slide: int, offset: int = 0) -> range:
    """The multiples of `slide` plus `offset` in [begin, end).

    >>> list(slides(3, 9, 2)), list(slides(3, 9, 5, 1))
    ([4, 6, 8], [6])
    """
    return range(offset - (offset - begin) // slide * slide, end, slide)


def awake(instants: range | list[int], wakes: Callable[[int], int | None]) -> Iterator[int]:
    """The instants, but of slides only those at which something can be sent: after a row with a time of long ago there may be
    thousands of millions. Asked after each, `wakes` tells from which time on that is; None is never.

    >>> list(awake(slides(0, 100, 10), lambda instant: 75 if instant == 20 else instant))
    [0, 10, 20, 80, 90]
    """
    if isinstance(instants, list):
        yield from instants
        return
    instant = instants.start
    while instant < instants.stop:
        yield instant
        time = wakes(instant)
        if time is None:
            return
        instant = max(instant + instants.step, slides(time, instants.stop, instants.step, instants.start).start)


def arrivals(times: Iterable[Times], begin: int, end: int) -> list[int]:
    """The distinct times in [begin, end) at which a row arrived."""
    found = [t[np.searchsorted(t, begin) : np.searchsorted(t, end)] for t in times]
    found = [t for t in found if len(t)]
    if not found:
        return []
    whole = found[0] if len(found) == 1 else np.concatenate(found)
    return [int(t) for t in distinct(whole)]


@dataclass(frozen=True)
class RowInstants:
    """Instants that are rows: the times and numbers of rows in their order. Such an instant is known by its rank in it."""

    times: Times
    numbers: Times

    @classmethod
    def of(cls, rows: pa.Table, time_column: str) -> RowInstants:
        return cls(event_times(rows, time_column), integers(rows.column(SEQ)).astype(np.int64, copy=False))

    def at(self, time: int) -> tuple[int, int]:
        """The ranks of a time: from the first up to, not with, the second."""
        return int(np.searchsorted(self.times, time)), int(np.searchsorted(self.times, time, side="right"))

    def stamped(self, rows: pa.Table, schema: pa.Schema) -> pa.Table:
        """Rows whose last column is the rank of their instant, in the order of these and with the column ROW. `schema` is that of
        the query's result."""
        ranks = integers(rows.column(rows.num_columns - 1))
        if (ranks[1:] < ranks[:-1]).any():
            order = np.argsort(ranks, kind="stable")
            rows, ranks = rows.take(pa.array(order)), ranks[order]
        times = pa.chunked_array([pa.array(self.times[ranks]).cast(schema.field(INSTANT).type)])
        plain = pa.Table.from_arrays([*rows.columns[:-1], times], names=schema.names).cast(schema)
        return plain.append_column(ROW, pa.array(self.numbers[ranks]))
