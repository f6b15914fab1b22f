"""Where a query is evaluated: in the shards of its table, each for itself, or whole, in the pond's own process.

A query is local to the shards when its result is the union of its results over them, at every instant. That is proved
from its text or not assumed:
- it reads one streaming table, split by SHARD BY (or not split at all), and any standard tables;
- of the kind `rows`: always; of the kind `newest`: when the window is partitioned by the shard key. Of the kind
  `neighbours`: when it is so partitioned (each key's rows are in one shard) and the shard key is selected (so that nothing
  cancels across shards);
- evaluated instant by instant: when it is grouped by the shard key, over a window by time or one partitioned by the shard
  key, at fixed slides (instants of arrival are not the same in all shards), and without ORDER BY, LIMIT or subqueries.
"""

from __future__ import annotations

from sqlglot import exp

from millpond.catalog import Catalog, StreamingTable
from millpond.network.aggregates.holders import grouped_by
from millpond.network.plan.kinds import AGGREGATES, INSTANTS, NEIGHBOURS, NEWEST, ROWS, kind_of, remembers
from millpond.network.plan.prepared import Prepared
from millpond.network.plan.two_phase import PREFIX


def shard_table(prepared: Prepared, catalog: Catalog) -> StreamingTable | None:
    """The table in whose shards a query can be evaluated, or None if it must be evaluated whole."""
    if len(prepared.streams) != 1 or prepared.query.start is not None or remembers(prepared):
        return None
    use = prepared.streams[0]
    table = catalog.streaming.get(use.table.name)
    if table is None or (table.shards > 1 and not table.shard_by):
        return None
    if table.shards == 1:
        return table
    kind = kind_of(prepared).name
    window = use.window
    assert window is not None
    by_key = set(table.shard_by) <= {c.lower() for c in window.columns}
    if kind == ROWS:
        return table
    if kind == NEWEST:  # rows of an instant cancel nothing
        return table if by_key else None
    if kind == NEIGHBOURS:
        return table if by_key and _selects(prepared.bound.tree, table) else None
    if kind in AGGREGATES:
        arrivals = prepared.slide is None and prepared.query.form == "rstream"  # are not the same in all shards
        return (
            table if set(table.shard_by) <= {g.lower() for g in grouped_by(prepared, kind)} and not arrivals else None
        )
    assert kind == INSTANTS
    by_time = window.rows is None
    return table if (by_time or by_key) and _grouped(prepared, table) else None


def _selects(tree: exp.Expr, table: StreamingTable) -> bool:
    """Whether every column of the shard key is selected as it is."""
    if not isinstance(tree, exp.Select):
        return False
    items = [e.this if isinstance(e, exp.Alias) else e for e in tree.expressions]
    return set(table.shard_by) <= {i.name.lower() for i in items if isinstance(i, exp.Column)}


def _grouped(prepared: Prepared, table: StreamingTable) -> bool:
    tree = prepared.bound.tree
    if prepared.slide is None or not isinstance(tree, exp.Select):
        return False
    if prepared.name.startswith(PREFIX):
        return True  # proved when it was split: what the shards send for a group is added up afterwards
    if any(tree.args.get(c) for c in ("order", "limit", "offset", "distinct", "with_", "laterals", "joins", "qualify")):
        return False
    group = tree.args.get("group")
    if group is None or any(group.args.get(k) for k in ("grouping_sets", "cube", "rollup", "totals", "all")):
        return False
    if any(isinstance(n, (exp.Subquery, exp.Exists, exp.Window)) for n in tree.walk()):
        return False
    if sum(isinstance(n, exp.Select) for n in tree.walk()) > 1:
        return False
    keys = {e.name.lower() for e in group.expressions if isinstance(e, exp.Column)}
    if not set(table.shard_by) <= keys:
        return False
    return prepared.query.form == "rstream" or _selects(tree, table)
