"""Key by key: what changes in a partitioned window, for the keys that change.

Fits a query of SELECT and WHERE over [cols ROWS k], evaluated at each arrival, that sends ISTREAM or DSTREAM. At an instant
only the keys with a row of that instant change, so the difference of the results is that of the results over these keys. Where
each row is an instant, one key changes.
"""

from __future__ import annotations

from typing import Self

from sqlglot import exp

from millpond.catalog import StreamingTable
from millpond.network.buffers.neighbours import Change, Side
from millpond.network.plan.prepared import Prepared
from millpond.network.strategies.parts.keyed import KeyedStrategy, keyed_by, selects_shard_key
from millpond.network.strategies.parts.projection import Projection
from millpond.network.strategies.parts.selecting import not_plain
from millpond.query.clauses import Refusal


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
        if not window.columns or window.interval is not None:
            return Refusal("its window is not [cols ROWS k] without an interval")
        if prepared.query.stream_operator == "rstream":
            return Refusal("it sends its whole result, also of keys that do not change")
        projection = Projection.of(prepared, tree)
        return projection if isinstance(projection, Refusal) else cls(prepared, projection)

    def local_to(self, table: StreamingTable) -> bool:
        """If the shard key is selected too: then nothing that is gone in one shard equals what is new in another. Where each row
        is an instant, that cannot be: one shard changes."""
        return keyed_by(self.prepared, table) and (self.prepared.each_row or selects_shard_key(self.prepared, table))

    def _of(self, change: Change) -> tuple[Side, Side | None]:
        if self.prepared.query.stream_operator == "istream":
            return change.after, change.before
        return change.before, change.after
