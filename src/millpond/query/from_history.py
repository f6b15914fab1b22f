"""A continuous query asked of history: the one-time query AS OF an instant, over all or over a part of the rows.

The windows of the instant are complete, and retention keeps the rows that a query has yet to read, so nothing is checked but what
the query itself says. Its text for DuckDB is known; planning finds the files and blocks that an instant needs.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass

import pyarrow as pa

from millpond.catalog import Function, StreamingTable
from millpond.errors import EngineError
from millpond.query.binding.uses import Bound, Use
from millpond.query.deadline import Deadline
from millpond.query.local import Local
from millpond.query.plan import Plan, Shelf, make_plan
from millpond.query.reduced_read import Estimating, some_rows, told
from millpond.query.reduced_shape import Shape
from millpond.sql.reduce import CONFIDENCE
from millpond.sql.translate import NotOnDuckDB
from millpond.table.store import Bounds, Snapshot
from millpond.table.thinning import Amount, Thinning

Note = Callable[[str, float], None]
"""Is told of a table that a part of it was read."""


@dataclass(frozen=True)
class Answered:
    """The rows of an answer, and which part of the rows it was made from."""

    rows: pa.Table
    fraction: float = 1.0


class _AsAt:
    """A shelf whose streams stand at an instant."""

    def __init__(self, shelf: Shelf, instant: int) -> None:
        self._shelf = shelf
        self._instant = instant

    def snapshot(self, use: Use) -> Snapshot | None:
        return self._shelf.snapshot(use)

    def time(self, use: Use) -> int | None:
        return self._instant if isinstance(use.table, StreamingTable) else None

    def fetch(self, use: Use, columns: list[str], bounds: Bounds) -> pa.Table:
        return self._shelf.fetch(use, columns, bounds)


class Historian:
    """Answers the questions of one pond's continuous queries."""

    def __init__(self, shelf: Shelf, local: Local, note: Note = lambda _table, _fraction: None) -> None:
        self._shelf = shelf
        self._local = local
        self._note = note

    def everything(self, bound: Bound, text: str, instant: int, deadline: Deadline | None) -> Answered:
        """The exact answer."""
        return Answered(self._run(self._plan(bound, text, instant), deadline))

    def part(
        self,
        bound: Bound,
        text: str,
        instant: int,
        deadline: Deadline | None,
        *,
        thinned: Collection[str],
        shape: Shape | None,
        fraction: float,
    ) -> Answered:
        """The answer from a part of the rows of the uses `thinned`: fewer rows; or, with a `shape`, estimates with bounds."""
        plan = self._plan(bound, text, instant)

        def ask(each: Plan, _rows: int) -> pa.Table:
            return self._run(each, deadline)

        def compute(text: str, tables: dict[str, pa.Table], functions: Mapping[str, Function]) -> pa.Table:
            return self._local.run_over(text, tables, functions, deadline)

        def wanted(_amount: Amount) -> float:
            return fraction

        if shape is None:
            rows, read = some_rows(plan, dict.fromkeys(thinned, wanted), ask)
            self._told(bound, read)
            return Answered(rows, told(list(read.values()), None, ()).fraction)
        estimating = Estimating(plan, shape, CONFIDENCE, engine="duckdb", ask=ask, compute=compute)
        found = estimating.read(wanted)
        self._told(bound, {shape.use.name: estimating.thinning})
        rows, reduction = estimating.answer(*found)
        return Answered(rows, reduction.fraction)

    def next_time(self, use: Use, low: int) -> int | None:
        """A time not after that of the oldest row of a use with time >= `low`; None if there is none."""
        snapshot = self._shelf.snapshot(use)
        assert snapshot is not None
        spans = [(f.least, f.greatest) for f in snapshot.version.files.values()]
        spans += [(b.least, b.greatest) for b in snapshot.blocks]
        return min((max(least, low) for least, greatest in spans if greatest >= low), default=None)

    def _plan(self, bound: Bound, text: str, instant: int) -> Plan:
        streams = [u.table for u in bound.uses.values() if isinstance(u.table, StreamingTable)]
        moment = streams[0].value(instant)  # they count time in one unit
        shelf = _AsAt(self._shelf, instant)
        return make_plan(bound, shelf, engine="duckdb", large_rows=1 << 62, as_of=moment, text=text)

    def _run(self, plan: Plan, deadline: Deadline | None) -> pa.Table:
        try:
            return self._local.run(plan, deadline=deadline, most=self._local.memory).rows
        except NotOnDuckDB as refusal:
            raise EngineError(
                "the query met a value on which DuckDB and Spark differ", detail=f"{refusal}."
            ) from refusal

    def _told(self, bound: Bound, read: Mapping[str, Thinning]) -> None:
        for name, thinning in read.items():
            if thinning.asked < 1:
                self._note(bound.uses[name].table.name, thinning.asked)
