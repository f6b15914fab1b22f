"""What a query's conditions say about the rows it can use: reasons to skip files, blocks and row groups.

A WHERE and the ON of an inner join are read as predicates that every row of the result matches; what cannot be read is left out.
Bounds are what these predicates say about single columns. A bound may only ever skip what the engine would filter out anyway.
Columns of floating numbers, decimals and truth values have none: no file records what it holds of them, and NaN is greater than
every maximum.
A condition may be applied below a window only if it does not change which rows the window holds: below [INTERVAL], [LANDMARK],
[NOW] and [SINCE] every condition, below [cols ROWS k] those on the partitioning columns, below [ROWS k] none.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from datetime import date
from decimal import Decimal
from typing import Any

from sqlglot import exp

from millpond.catalog import StreamingTable
from millpond.predicate.form import Predicate, Value, all_of
from millpond.predicate.normal import Domain, hulls
from millpond.query.binding.uses import Bound, Use
from millpond.schema import Column
from millpond.sql.predicates import ColumnOf, read_necessary
from millpond.table.store import Bounds

_NO_TIME = ((1 << 63) - 1, -(1 << 63))  # a first and a last time between which there is nothing


def find_bounds(bound: Bound, now: Mapping[str, int | None]) -> dict[str, Bounds]:
    """Bounds for each use. `now` gives each use's table's time."""
    found = {name: window_bounds(use, now.get(name)) for name, use in bound.uses.items()}
    for scope in bound.scopes:
        stated = list(conditions(scope.expression))
        for alias, source in scope.sources.items():
            if not isinstance(source, exp.Table) or source.name not in found:
                continue
            use = bound.uses[source.name]
            find = column_of(alias, use)
            predicate = all_of(read_necessary(condition, find) for condition in stated)
            found[source.name] = narrowed(found[source.name], predicate, use)
    return found


def window_bounds(use: Use, now: int | None) -> Bounds:
    """What the window alone says."""
    window = use.window
    if window is None or not isinstance(use.table, StreamingTable):
        return Bounds()
    low, high = window.start(use.table, now), window.end(use.table, now)
    # Where it ends in time, the newest rows of the table need not be its own.
    newest = window.rows if window.rows is not None and not window.columns and high is None else None
    return Bounds(low=low, high=high, newest=newest)


def conditions(select: exp.Expr) -> Iterator[exp.Expr]:
    """What must be true for every row of the result."""
    if not isinstance(select, exp.Select):
        return
    where = select.args.get("where")
    if where is not None:
        yield where.this
    joins = select.args.get("joins") or []
    if any(j.side or (j.kind and j.kind not in ("INNER", "CROSS")) for j in joins):
        return
    for join in joins:
        on = join.args.get("on")
        if on is not None:
            yield on


def column_of(alias: str, use: Use) -> ColumnOf:
    """Finds the columns of one relation."""

    def find(node: exp.Column) -> Column | None:
        return use.columns.find(node.name, alias) if node.table == alias and node.name in use.columns else None

    return find


def narrowed(bounds: Bounds, predicate: Predicate, use: Use) -> Bounds:
    """`bounds` without rows that do not match `predicate`, as far as bounds can say it."""
    among, between = dict(bounds.among), dict(bounds.between)
    low, high = bounds.low, bounds.high
    for name, domain in hulls(predicate).items():
        if not _may_push(use, name) or not _has_bounds(domain):
            continue
        if name == use.time_column:
            first, last = _times(domain)
            low, high = _max(low, first), _min(high, last)
        elif domain.values is not None:
            values = frozenset(map(_archived, domain.values))
            among[name] = among[name] & values if name in among else values
        elif domain.low is not None or domain.high is not None:
            first, last = between.get(name, (None, None))
            between[name] = (_max(first, _archived(domain.low)), _min(last, _archived(domain.high)))
    return replace(bounds, low=low, high=high, among=among, between=between)


def _times(domain: Domain) -> tuple[int | None, int | None]:
    """The first and the last time of a domain. Times are integers, so an open end can be made a closed one."""
    if domain.values is not None:
        times = [v for v in domain.values if isinstance(v, int)]
        return (min(times), max(times)) if times else _NO_TIME
    low, high = domain.low, domain.high
    return (
        low + domain.low_open if isinstance(low, int) else None,
        high - domain.high_open if isinstance(high, int) else None,
    )


def _has_bounds(domain: Domain) -> bool:
    """Whether an archive may know something of such values."""
    ends = domain.values or {domain.low, domain.high}
    return not any(isinstance(end, float | Decimal | bool) for end in ends)


def _archived(value: Value | None) -> Any:
    """A constant in the form in which the archive keeps minima and maxima."""
    return value.isoformat() if isinstance(value, date) else value


def _max(a: Any, b: Any) -> Any:
    return b if a is None else a if b is None else max(a, b)


def _min(a: Any, b: Any) -> Any:
    return b if a is None else a if b is None else min(a, b)


def _may_push(use: Use, column: str) -> bool:
    window = use.window
    if window is None or (window.rows is None and not window.skip):
        return True
    return column.lower() in {c.lower() for c in window.columns}
