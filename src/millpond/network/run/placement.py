"""Where a query is evaluated: in the shards of its table, each for itself; in two steps, the first in the shards and the second
whole; or whole, in the pond's own process.

A query is local to the shards when its result is the union of its results over them, at every instant. That is proved from its
text or not assumed: it reads one streaming table, split by SHARD BY (or not split at all), and any standard tables; and its
strategy says that it is local to that table (`Strategy.local_to`).

A query that reads a table of another system is evaluated whole, whatever its text: when that system cannot be reached the query
waits at its instant, and shards would each wait at another. So is one that Spark itself evaluates: a worker of Spark has no
session to ask. And so is a hybrid query, since one read of the table serves all shards.
"""

from __future__ import annotations

from dataclasses import dataclass

from millpond.catalog import Catalog, ContinuousQuery, StandardTable, StreamingTable
from millpond.network.plan.prepared import Prepared
from millpond.network.plan.two_phase import ColumnsOf, split
from millpond.network.strategies.registry import choose


@dataclass(frozen=True)
class Placement:
    """In the shards of `table`, or in two `steps`; whole if neither is there."""

    table: StreamingTable | None = None
    steps: tuple[ContinuousQuery, ContinuousQuery] | None = None


def place(prepared: Prepared, catalog: Catalog, columns_of: ColumnsOf) -> Placement:
    """Where a query of the catalog is evaluated. `columns_of` tells what a query selects."""
    table = shard_table(prepared, catalog)
    return Placement(table) if table is not None else Placement(steps=split(prepared, catalog, columns_of))


def shard_table(prepared: Prepared, catalog: Catalog) -> StreamingTable | None:
    """The table in whose shards a query can be evaluated, or None if it must be evaluated whole."""
    if prepared.on_spark or prepared.hybrid is not None:
        return None
    if len(prepared.streams) != 1 or prepared.query.start is not None or prepared.must_remember:
        return None
    if any(isinstance(use.table, StandardTable) and use.table.address is not None for use in prepared.standards):
        return None
    table = catalog.streaming.get(prepared.streams[0].table.name)
    if table is None or (table.shards > 1 and not table.shard_by):
        return None
    if table.shards == 1:
        return table
    return table if choose(prepared).strategy.local_to(table) else None
