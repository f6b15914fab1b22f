"""Row by row, each with those before it of its key: the rows of the instant in a partitioned window.

Fits a query of SELECT and WHERE over [cols ROWS k], evaluated at each arrival, with `time = NOW()` among its conditions,
that sends RSTREAM, or ISTREAM where the row's time is selected. Its result holds rows of the instant only, and none of an earlier
result. Where each row is an instant, its result is that row, and ISTREAM needs the number of the row.
"""

from __future__ import annotations

from typing import Self

from sqlglot import exp

from millpond.catalog import StreamingTable
from millpond.network.buffers.neighbours import Change, Side
from millpond.network.plan.prepared import Prepared
from millpond.network.strategies.parts.keyed import KeyedStrategy, keyed_by
from millpond.network.strategies.parts.projection import Projection
from millpond.network.strategies.parts.selecting import not_plain, shows_number, shows_time
from millpond.query.binding.uses import Use
from millpond.query.clauses import Refusal
from millpond.query.instant import is_instant, is_own_instant


class NewestStrategy(KeyedStrategy):
    name = "newest"
    manner = "row by row, each with those before it of its key"

    @classmethod
    def match(cls, prepared: Prepared) -> Self | Refusal:
        use, tree, operator = prepared.streams[0], prepared.bound.tree, prepared.query.stream_operator
        window = use.window
        assert window is not None
        if not window.columns:
            return Refusal("its window is not partitioned")
        if operator == "dstream":
            return Refusal("it sends what is gone")
        arriving = _without_arrival(tree, use)
        if arriving is None:
            return Refusal("it does not ask for the rows of the instant: time = NOW()")
        if (refusal := not_plain(prepared, arriving)) is not None:
            return refusal
        if operator == "istream" and not (shows_number(tree) or (shows_time(tree, use) and not prepared.each_row)):
            what = "number (_seq)" if prepared.each_row else "time"
            return Refusal(f"it does not select the {what} of a row, so that rows of two instants may be equal")
        projection = Projection.of(prepared, arriving)
        return projection if isinstance(projection, Refusal) else cls(prepared, projection)

    def remembers(self) -> bool:
        return False  # its result holds rows of the instant alone, which no earlier one had

    def local_to(self, table: StreamingTable) -> bool:
        return keyed_by(self.prepared, table)

    def _of(self, change: Change) -> tuple[Side, Side | None]:
        return change.newest(self.prepared.interval(self.prepared.streams[0])), None


def _without_arrival(tree: exp.Expr, use: Use) -> exp.Select | None:
    """The query without its condition `time = NOW()`, or None if it has none."""
    where = tree.args.get("where") if isinstance(tree, exp.Select) else None
    if where is None or not isinstance(tree.args["from_"].this, exp.Table):
        return None
    conditions = list(where.this.flatten()) if isinstance(where.this, exp.And) else [where.this]
    kept = [c for c in conditions if not _is_arrival(c, use)]
    if len(kept) == len(conditions):
        return None
    copy = tree.copy()
    assert isinstance(copy, exp.Select)
    copy.set("where", exp.Where(this=exp.and_(*(c.copy() for c in kept))) if kept else None)
    return copy


def _is_arrival(condition: exp.Expr, use: Use) -> bool:
    if isinstance(condition, exp.Paren):
        return _is_arrival(condition.this, use)
    if not isinstance(condition, exp.EQ):
        return False
    sides = [condition.this, condition.expression]
    named = any(isinstance(s, exp.Column) and s.name == use.time_column for s in sides)
    return named and any(is_instant(s) or is_own_instant(s) for s in sides)
