"""Joins that need only some rows of a large relation: those whose keys are in the rows of the instant.

    SELECT r.qid, b.balance FROM requests [NOW] r LEFT JOIN balances [vid ROWS 1] b ON b.vid = r.vid

`balances` may hold millions of vehicles; the result depends on those that ask. A relation is looked up by key when it is the
right side of an inner or left join whose condition demands that its key equals columns of a relation seen through [NOW]:
no other row of it can be in the result. It is a partitioned window, whose key finds its slots, or a standard table.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from sqlglot import exp

from millpond.catalog import StandardTable
from millpond.network.plan.prepared import Prepared
from millpond.predicate.vector import Filter
from millpond.query.binding.uses import Use
from millpond.query.instant import is_own_instant
from millpond.schema import Column, DataType
from millpond.sql.predicates import read_necessary, typed_column


@dataclass(frozen=True)
class Lookup:
    """Rows of a relation whose `columns` equal `others` of the relation `by`, of whose rows only those that match
    `where` matter."""

    by: Use
    columns: tuple[str, ...]
    others: tuple[str, ...]
    where: Filter | None = field(default=None, compare=False)


def lookups(prepared: Prepared) -> dict[str, Lookup]:
    """How each relation of a query can be looked up, by its name; those that must be seen whole are not in it."""
    tree = prepared.bound.tree
    if not isinstance(tree, exp.Select) or len(list(tree.find_all(exp.Select))) > 1:
        return {}
    uses = {u.alias.lower(): u for u in (*prepared.streams, *prepared.standards)}
    moments = {a: u for a, u in uses.items() if u.window is not None and u.window.now}
    found: dict[str, Lookup] = {}
    joins = tree.args.get("joins") or []
    if any(j.side.upper() in ("RIGHT", "FULL") for j in joins):
        return {}
    for join in joins:
        use = uses.get(join.this.alias_or_name.lower()) if isinstance(join.this, exp.Table) else None
        on = join.args.get("on")
        if use is None or on is None or join.side.upper() not in ("", "LEFT") or join.kind.upper() not in ("", "INNER"):
            continue
        lookup = _lookup(use, on, moments)
        if lookup is not None:
            found[use.name] = replace(lookup, where=_where_of(tree, lookup.by))
    return found


def _where_of(tree: exp.Select, use: Use) -> Filter | None:
    """What WHERE says about one relation alone: a row of it that does not match is in no result."""

    def column_of(node: exp.Column) -> Column | None:
        return typed_column(node) if node.table.lower() == use.alias.lower() and not is_own_instant(node) else None

    where = tree.args.get("where")
    return None if where is None else Filter(read_necessary(where.this, column_of))


def _lookup(use: Use, on: exp.Expr, moments: dict[str, Use]) -> Lookup | None:
    """Through which columns the condition of a join leads to the rows of `use`."""
    by: Use | None = None
    equal: dict[str, str] = {}
    for condition in on.flatten() if isinstance(on, exp.And) else [on]:
        inner = condition.this if isinstance(condition, exp.Paren) else condition
        if not isinstance(inner, exp.EQ):
            continue
        for mine, theirs in ((inner.this, inner.expression), (inner.expression, inner.this)):
            if not (isinstance(mine, exp.Column) and isinstance(theirs, exp.Column)):
                continue
            other = moments.get(theirs.table.lower())
            if mine.table.lower() != use.alias.lower() or other is None or (by is not None and other is not by):
                continue
            if _comparable(use.columns.find(mine.name, "").type, other.columns.find(theirs.name, "").type):
                by = other
                equal[mine.name] = theirs.name
    if by is None:
        return None
    if isinstance(use.table, StandardTable):
        return Lookup(by, tuple(equal), tuple(equal.values()))
    window = use.window
    assert window is not None
    keys = {c.lower(): c for c in equal}
    if not window.columns or not {c.lower() for c in window.columns} <= set(keys):
        return None
    columns = tuple(keys[c.lower()] for c in window.columns)
    return Lookup(by, columns, tuple(equal[c] for c in columns))


def _comparable(one: DataType, other: DataType) -> bool:
    return (one.is_integer and other.is_integer) or (one == other and one.name in ("STRING", "DATE"))
