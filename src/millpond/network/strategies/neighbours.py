"""Key by key: what changes in a partitioned window, for the keys that change.

Fits a query of SELECT and WHERE over [cols ROWS k], evaluated at each arrival, that sends ISTREAM or DSTREAM. At an instant
only the keys with a row of that instant change, so the difference of the results is that of the results over these keys. Where
each row is an instant, one key changes.

Rows of a table that keeps them for a while only, or of a window with WITHIN, also leave by their age, at any instant. For ISTREAM
that does not matter as long as it only takes rows from the result: where PREV is used, a condition must leave out rows that have
no previous one. And what goes must not equal what comes at the same instant: either the time of a row is selected, or all rows
are seen in one place, where the instant before is known.
"""

from __future__ import annotations

from typing import Self

from sqlglot import exp

from millpond.catalog import StreamingTable
from millpond.network.buffers.neighbours import Change, Side
from millpond.network.plan.prepared import Prepared
from millpond.network.strategies.parts.keyed import KeyedStrategy, keyed_by, selects_shard_key
from millpond.network.strategies.parts.projection import Projection
from millpond.network.strategies.parts.selecting import not_plain, shows_number, shows_time
from millpond.query.binding.uses import Previous
from millpond.query.clauses import Refusal

_COMPARISONS = (exp.EQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE)
_STRICT = (exp.Paren, exp.Neg, exp.Add, exp.Sub, exp.Mul, exp.Div, exp.Abs)
"""What is NULL where one of its parts is."""


class NeighbourStrategy(KeyedStrategy):
    name = "neighbours"
    manner = "key by key, for the keys that change"

    @classmethod
    def match(cls, prepared: Prepared) -> Self | Refusal:
        use, tree = prepared.streams[0], prepared.bound.tree
        window = use.window
        assert window is not None
        if (refusal := not_plain(prepared, tree)) is not None:
            return refusal
        assert isinstance(tree, exp.Select)
        if not window.columns:
            return Refusal("its window is not [cols ROWS k]")
        if prepared.query.stream_operator == "rstream":
            return Refusal("it sends its whole result, also of keys that do not change")
        if window.interval is not None and prepared.query.stream_operator == "dstream":
            return Refusal("rows leave its window by their age")
        if window.interval is not None and not previous_before(tree) <= previous_needed(tree):
            return Refusal("what PREV gives changes as rows leave its window by their age")
        projection = Projection.of(prepared, tree)
        return projection if isinstance(projection, Refusal) else cls(prepared, projection)

    def local_to(self, table: StreamingTable) -> bool:
        """If the shard key is selected too: then nothing that is gone in one shard equals what is new in another. Where each row
        is an instant, that cannot be: one shard changes."""
        prepared, use = self.prepared, self.prepared.streams[0]
        if not keyed_by(prepared, table) or not (prepared.each_row or selects_shard_key(prepared, table)):
            return False
        assert use.window is not None
        tree = prepared.bound.tree
        return use.window.interval is None or table.shards == 1 or shows_time(tree, use) or shows_number(tree)

    def _of(self, change: Change) -> tuple[Side, Side | None]:
        interval = self.prepared.interval(self.prepared.streams[0])
        after, before = change.after(interval), change.before(interval, self.progress.last)
        return (after, before) if self.prepared.query.stream_operator == "istream" else (before, after)


def previous_before(tree: exp.Expr) -> set[int]:
    """How many rows back PREV goes."""
    found = (Previous.of(column.name) for column in tree.find_all(exp.Column))
    return {each.back for each in found if each is not None}


def previous_needed(tree: exp.Select) -> set[int]:
    """For which of them WHERE leaves out a row that has no such row before it, where PREV is NULL."""
    where = tree.args.get("where")
    conditions = (
        where.this.flatten() if where is not None and isinstance(where.this, exp.And) else [where and where.this]
    )
    found: set[int] = set()
    for condition in conditions:
        inner = condition.unnest() if condition is not None else None
        if isinstance(inner, exp.Not) and isinstance(inner.this.unnest(), exp.Is):
            found |= (
                _strict(inner.this.unnest().this) if isinstance(inner.this.unnest().expression, exp.Null) else set()
            )
        elif isinstance(inner, _COMPARISONS):
            found |= _strict(inner.this) | _strict(inner.expression)
    return found


def _strict(value: exp.Expr) -> set[int]:
    """The rows back whose NULL makes a value NULL."""
    if isinstance(value, exp.Column):
        previous = Previous.of(value.name)
        return set() if previous is None else {previous.back}
    if isinstance(value, _STRICT):
        return set().union(*(_strict(part) for part in value.iter_expressions()))
    return set()
