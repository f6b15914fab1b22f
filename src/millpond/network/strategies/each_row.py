"""Row by row: the one-time query over the contents of the windows up to and with each row. It fits every query that is sampled at
each row.

Windows end at the row: of the rows of its time, those that arrived later are not in them. The rows of one time are evaluated
together or not at all, so progress is a time here as everywhere, and after the last row of a time the windows hold what they
hold at that time under any sampling.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Self

import numpy as np
import pyarrow as pa

from millpond.arrow import integers
from millpond.catalog import StandardTable, StreamingTable
from millpond.event_time import event_times
from millpond.network.plan.prepared import Prepared
from millpond.network.strategies.instants import InstantStrategy, PartitionedWindow
from millpond.network.strategies.parts.one_time import own_instants
from millpond.network.time.instants import ROW
from millpond.query.binding.uses import Use
from millpond.query.clauses import Refusal
from millpond.schema import SEQ


class EachRowStrategy(InstantStrategy):
    name = "each row"
    manner = "row by row, each with the windows that end at it"

    @classmethod
    def match(cls, prepared: Prepared) -> Self | Refusal:
        return cls(prepared) if prepared.each_row else Refusal("it is not evaluated at each row")

    def local_to(self, table: StreamingTable) -> bool:
        return False  # a result is that over all rows before

    def prepare(self) -> None:
        super().prepare()
        self._predicate = None
        self._later = 0  # rows of the time that come after the one that is evaluated
        self._number: int | None = None  # the number of that row; None: the newest
        foreign = (u.table for u in self.prepared.standards)
        self._may_wait = any(isinstance(t, StandardTable) and t.address is not None for t in foreign)

    def _send_at(self, instant: int) -> pa.Table:
        """What is sent at the rows of a time."""
        inlet = self._inlets[0]
        rows = inlet.between(instant, instant)
        stood = self._before, self._standing() if self._may_wait else {}
        for slots in self._slots.values():
            slots.rows.take_in(inlet.between(slots.upto + 1, instant - 1))
            slots.upto = instant
        sent = []
        try:
            for place, number in enumerate(integers(rows.column(SEQ)).tolist()):
                for slots in self._slots.values():
                    slots.rows.take_in(rows.slice(place, 1))
                self._later, self._number = rows.num_rows - 1 - place, number
                part = self._stamped(self._send(instant), instant)
                sent.append(part.append_column(ROW, pa.array(np.full(part.num_rows, number))))
        except BaseException:
            self._before = stood[0]  # nothing of this time is sent, and all of it is due again
            self._slots.update(stood[1])
            raise
        finally:
            self._later, self._number = 0, None
        self._progress_to(instant)
        return pa.concat_tables(sent)

    def _standing(self) -> dict[str, PartitionedWindow]:
        """Partitioned windows as they are, for a query that may have to wait for another system and go on from here."""
        return {name: copy.deepcopy(slots) for name, slots in self._slots.items()}

    def _content(self, use: Use, instant: int, keys: Sequence[pa.ChunkedArray] | None = None) -> pa.Table:
        content = self._cut(use, instant, keys)
        if not use.own_instant:
            return content
        times, numbers = event_times(content, self._inlets[0].time_column), integers(content.column(SEQ))
        number = self._number
        if number is None:
            number = int(numbers[times == instant].max(initial=-1))
        return own_instants(use, content, instant, (times == instant) & (numbers == number))

    def _cut(self, use: Use, instant: int, keys: Sequence[pa.ChunkedArray] | None) -> pa.Table:
        """The content of a window up to and with the row."""
        inlet, window = self._inlets[0], use.window
        assert window is not None
        if window.columns:
            return super()._content(use, instant, keys)
        if window.rows is None:
            rows = inlet.between(self.prepared.start(use, instant), instant)
            rows = rows.slice(0, rows.num_rows - self._later)
            return rows.slice(max(rows.num_rows - 1, 0)) if window.now else rows
        newest = inlet.newest(window.rows + self._later, instant)
        newest = newest.slice(0, newest.num_rows - self._later)
        newest = newest.slice(max(newest.num_rows - window.rows, 0))
        interval = self.prepared.interval(use)
        if interval is None:
            return newest
        return newest.filter(pa.array(event_times(newest, inlet.time_column) >= instant - interval))
