"""Instant by instant, from history: hybrid queries, which hold nothing of their windows.

At each instant the query is asked of its tables, archive and tail, as the one-time query AS OF the instant is. Under load a part
of the rows is left out, as much as the pond's level says and the query allows; the columns that the query has for it say so.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import nullcontext
from typing import Self

import pyarrow as pa

from millpond.catalog import StreamingTable
from millpond.event_time import NEVER
from millpond.network.plan.hybrid import READ, Hybrid, estimated
from millpond.network.plan.prepared import Prepared
from millpond.network.strategies.base import Checkpoint
from millpond.network.strategies.instants import InstantStrategy
from millpond.network.time.instants import slides
from millpond.query.binding.uses import Use
from millpond.query.clauses import Refusal
from millpond.query.deadline import Deadline
from millpond.query.from_history import Answered


class HybridStrategy(InstantStrategy):
    name = "hybrid"
    manner = "instant by instant, from history"

    @classmethod
    def match(cls, prepared: Prepared) -> Self | Refusal:
        return cls(prepared) if prepared.hybrid is not None else Refusal("it holds the rows of its windows")

    def local_to(self, table: StreamingTable) -> bool:
        return False

    # -- taking up a query -------------------------------------------------------------------------------------------------

    def _prepare_short_cuts(self) -> None:
        assert self.prepared.hybrid is not None
        self._hybrid: Hybrid = self.prepared.hybrid
        self._allowed = (self.prepared.query.overload or 0) / 100

    def _fill_window(self, use: Use) -> None:
        """Nothing is held of it."""

    # -- in a step ---------------------------------------------------------------------------------------------------------

    def advance(self, begin: int, frontier: int) -> pa.Table | None:
        before, began = self.cost.evaluations, time.perf_counter()
        found = super().advance(begin, frontier)
        slide = self.prepared.slide
        assert slide is not None
        waiting = 0 if self.left is None else len(slides(self.left, frontier, slide, self.prepared.offset))
        done = self.cost.evaluations - before
        self.context.reading.add(time.perf_counter() - began, done, waiting, thinned=self._allowed > 0)
        return found

    def _sees_next(self, instant: int) -> int | None:
        historian, found = self.context.history.historian, []
        for use in self.prepared.streams:
            at = historian.next_time(use, self.prepared.start(use, instant))
            if at is not None:
                found.append(max(at, instant))
        return min(found, default=None)

    def _result(self, instant: int) -> pa.Table:
        prepared, hybrid, historian = self.prepared, self._hybrid, self.context.history.historian
        assert prepared.text is not None
        evaluation = self.context.engine.evaluation
        left_out = min(self._allowed, self.context.left_out)
        with evaluation.question() if evaluation is not None else nullcontext() as deadline:
            assert deadline is None or isinstance(deadline, Deadline)
            if not left_out:
                found = historian.everything(prepared.bound, prepared.text, instant, deadline)
                return self._typed(self._exact(found))
            found = historian.part(
                prepared.bound, prepared.text, instant, deadline,
                thinned=hybrid.thinned, shape=hybrid.shape, fraction=1 - left_out,
            )  # fmt: skip
        return self._typed(_with_fraction(found.rows, found.fraction))

    def _exact(self, found: Answered) -> pa.Table:
        """The exact answer, with the columns that say so."""
        if self.prepared.query.overload is None:
            return found.rows
        places = estimated(self._hybrid.shape)
        columns = []
        for place, column in enumerate(found.rows.columns):
            columns += [column] * (3 if place in places else 1)
        names = [str(number) for number in range(len(columns))]
        return _with_fraction(pa.Table.from_arrays(columns, names=names), 1.0)

    # -- what it holds -----------------------------------------------------------------------------------------------------

    def needs(self, use: Use) -> tuple[int, int]:
        frontier = self.progress.frontier
        return (NEVER, 0) if frontier is None else (frontier, 0)

    def checkpoints(self) -> Iterator[Checkpoint]:
        return iter(())


def _with_fraction(rows: pa.Table, fraction: float) -> pa.Table:
    return rows.append_column(READ, pa.array([fraction] * rows.num_rows, pa.float64()))
