"""What a query's conditions say about the rows it can use: reasons to skip files, blocks and row groups.

Only conjuncts of a WHERE (or of an inner join's ON) that compare a column with constants are understood; anything else is
ignored, because a bound may only ever skip what the engine would filter out anyway. A condition may be applied below a
window only if it does not change which rows the window holds: below [INTERVAL], [LANDMARK], [NOW] and [SINCE] every
condition, below [cols ROWS k] those on the partitioning columns, below [ROWS k] none.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from datetime import UTC, date, datetime
from typing import Any

from sqlglot import exp
from sqlglot.optimizer.scope import Scope

from millpond.catalog import StreamingTable
from millpond.duration import TimeUnit, moment, to_micros
from millpond.errors import SqlError, brief
from millpond.query.bind import Bound, Use
from millpond.schema import DataType
from millpond.sql.literals import each_literal, kind_of, list_of, values_of
from millpond.sql.statements import Window
from millpond.table.store import Bounds

_FLIP: dict[type[exp.Expr], type[exp.Expr]] = {
    exp.LT: exp.GT,
    exp.LTE: exp.GTE,
    exp.GT: exp.LT,
    exp.GTE: exp.LTE,
    exp.EQ: exp.EQ,
}


def find_bounds(bound: Bound, now: Mapping[str, int | None]) -> dict[str, Bounds]:
    """Bounds for each use. `now` gives each use's table's time."""
    found = {name: window_bounds(use, now.get(name)) for name, use in bound.uses.items()}
    counted: dict[str, int] = {}
    for scope in bound.scopes:
        for alias, source in scope.sources.items():
            if not isinstance(source, exp.Table) or source.name not in found:
                continue
            counted[source.name] = counted.get(source.name, 0) + 1
            use = bound.uses[source.name]
            for condition in _conjuncts(scope, alias):
                found[source.name] = _tighten(found[source.name], condition, alias, use)
    return found


def window_bounds(use: Use, now: int | None) -> Bounds:
    """What the window alone says."""
    window = use.window
    if window is None or not isinstance(use.table, StreamingTable):
        return Bounds()
    low = window_start(window, use.table, now)
    if window.now:
        return Bounds(low=low, high=now)
    newest = window.rows if window.rows is not None and not window.columns else None
    return Bounds(low=low, newest=newest)


def window_start(window: Window, table: StreamingTable, now: int | None) -> int | None:
    """The earliest time in ticks a window can hold, or None if it has no such limit."""
    if window.since is not None:
        return to_ticks(window.since, table)
    if now is None:
        return None
    if window.now:
        return now
    if window.landmark is not None:
        between = table.unit.ticks(window.landmark)
        return now // between * between
    if window.interval is not None:
        return now - table.unit.ticks(window.interval)
    return None


def to_ticks(value: Any, table: StreamingTable) -> int:
    """A time given by a user, in the ticks of the table's time column."""
    if table.unit is TimeUnit.SECOND:
        try:
            if isinstance(value, bool) or (int(value) != value and not isinstance(value, str)):
                raise ValueError
            ticks = int(value)
        except (TypeError, ValueError, OverflowError) as error:
            raise SqlError(
                f'{brief(value)} is not a time of table "{table.name}"', detail="Its time column counts whole seconds."
            ) from error
        if not -(1 << 63) <= ticks < 1 << 63:
            raise SqlError(
                f'{brief(value)} is not a time of table "{table.name}"', detail="A time is a 64-bit integer."
            )
        return ticks
    found = timestamp_ticks(value)
    if found is None:
        raise SqlError(f'{brief(value)} is not a time of table "{table.name}"', hint="Write '2026-01-31 12:00:00'.")
    if found != to_micros(moment(found)):
        raise SqlError(
            f'{brief(value)} is not a time of table "{table.name}"', detail="The years of a TIMESTAMP are 1 to 9999."
        )
    return found


def timestamp_ticks(value: Any) -> int | None:
    """A timestamp as microseconds since 1970 UTC; without a zone it is UTC. None if it is not one."""
    if isinstance(value, str):
        try:
            value = datetime.fromisoformat(value.strip())
        except ValueError:
            return None
    if isinstance(value, date) and not isinstance(value, datetime):
        value = datetime(value.year, value.month, value.day, tzinfo=UTC)
    if isinstance(value, int) and not isinstance(value, bool):
        return value * 1_000_000
    if not isinstance(value, datetime):
        return None
    return to_micros(value if value.tzinfo is not None else value.replace(tzinfo=UTC))


def _conjuncts(scope: Scope, alias: str) -> Iterator[exp.Expr]:
    select = scope.expression
    if not isinstance(select, exp.Select):
        return
    where = select.args.get("where")
    if where is not None:
        yield from where.this.flatten() if isinstance(where.this, exp.And) else [where.this]
    joins = select.args.get("joins") or []
    if any(j.side or (j.kind and j.kind not in ("INNER", "CROSS")) for j in joins):
        return
    for join in joins:
        on = join.args.get("on")
        if on is not None:
            yield from on.flatten() if isinstance(on, exp.And) else [on]


def _tighten(bounds: Bounds, condition: exp.Expr, alias: str, use: Use) -> Bounds:
    condition = condition.unnest()
    if isinstance(condition, exp.And):
        for part in condition.flatten():
            bounds = _tighten(bounds, part, alias, use)
        return bounds
    if isinstance(condition, exp.Between):
        low = exp.GTE(this=condition.this.copy(), expression=condition.args["low"].copy())
        high = exp.LTE(this=condition.this.copy(), expression=condition.args["high"].copy())
        return _tighten(_tighten(bounds, low, alias, use), high, alias, use)
    if isinstance(condition, exp.In) and condition.expressions:
        column = _column(condition.this, alias, use)
        values = _constants(condition, column[1]) if column else None
        if column is None or values is None:
            return bounds
        return _among(bounds, column[0], frozenset(values), use)
    kind = type(condition)
    if kind not in _FLIP:
        return bounds
    left, right = condition.this, condition.expression
    column = _column(left, alias, use)
    value = _constant(right, column[1]) if column else None
    if column is None:
        column = _column(right, alias, use)
        value = _constant(left, column[1]) if column else None
        kind = _FLIP[kind]
    if column is None or value is None or not _may_push(use, column[0]):
        return bounds
    return _compare(bounds, column[0], kind, value, use)


def _compare(bounds: Bounds, name: str, kind: type[exp.Expr], value: Any, use: Use) -> Bounds:
    if kind is exp.EQ:
        return _among(bounds, name, frozenset([value]), use)
    low = value if kind in (exp.GT, exp.GTE) else None
    high = value if kind in (exp.LT, exp.LTE) else None
    if name == use.time_column:
        if isinstance(value, int):  # whole ticks: a strict bound can be made inclusive
            low = low + 1 if kind is exp.GT and low is not None else low
            high = high - 1 if kind is exp.LT and high is not None else high
        return replace(bounds, low=_max(bounds.low, low), high=_min(bounds.high, high))
    before = bounds.between.get(name, (None, None))
    return replace(bounds, between={**bounds.between, name: (_max(before[0], low), _min(before[1], high))})


def _among(bounds: Bounds, name: str, values: frozenset[Any], use: Use) -> Bounds:
    if not _may_push(use, name):
        return bounds
    if name == use.time_column:
        return replace(bounds, low=_max(bounds.low, min(values)), high=_min(bounds.high, max(values)))
    both = bounds.among.get(name)
    return replace(bounds, among={**bounds.among, name: values if both is None else both & values})


def _max(a: Any, b: Any) -> Any:
    return b if a is None else a if b is None else max(a, b)


def _min(a: Any, b: Any) -> Any:
    return b if a is None else a if b is None else min(a, b)


def _may_push(use: Use, column: str) -> bool:
    window = use.window
    if window is None or window.rows is None:
        return True
    return column.lower() in {c.lower() for c in window.columns}


def _column(node: exp.Expr, alias: str, use: Use) -> tuple[str, DataType] | None:
    node = node.unnest()
    if isinstance(node, exp.Column) and node.table == alias and node.name in use.columns:
        found = use.columns.find(node.name, alias)
        return found.name, found.type
    return None


_TIMESTAMPS = (exp.DType.TIMESTAMP, exp.DType.TIMESTAMPTZ, exp.DType.TIMESTAMPLTZ, exp.DType.TIMESTAMPNTZ)


def _keeps(cast: exp.Cast, kind: DataType) -> bool:
    """Whether a cast of a literal means what the bare literal would mean beside a column of this kind."""
    to = cast.to
    if kind.is_integer:
        return to.is_type(*exp.DataType.INTEGER_TYPES)
    if kind.name == "STRING":
        return to.is_type(exp.DType.TEXT)
    if kind.name == "DATE":
        return to.is_type(exp.DType.DATE)
    if kind.name == "TIMESTAMP" and to.is_type(exp.DType.DATE):
        return len(cast.this.name.strip()) <= len("2026-01-31")  # a day; the time of a longer text would be cut off
    return kind.name == "TIMESTAMP" and to.is_type(*_TIMESTAMPS)


def _constants(node: exp.In, kind: DataType) -> list[Any] | None:
    """The elements of an IN as `_constant` gives them, or None if one of them is none."""
    folded = list_of(node)
    if folded is not None and (kind.is_integer if kind_of(folded) == "int" else kind.name == "STRING"):
        return [*values_of(folded)]
    values = [_constant(each, kind) for each in each_literal(node)]
    return None if any(value is None for value in values) else values


def _constant(node: exp.Expr, kind: DataType) -> Any:
    """A literal in the form the archive keeps bounds in, or None if it is none or of another kind."""
    node = node.unnest()
    if isinstance(node, exp.Cast) and isinstance(node.this, exp.Literal):
        if not _keeps(node, kind):
            return None
        node = node.this
    negative = isinstance(node, exp.Neg)
    if negative:
        node = node.this
    if not isinstance(node, exp.Literal):
        return None
    if kind.is_integer and not node.is_string:
        try:
            return -int(node.this) if negative else int(node.this)
        except ValueError:
            return None
    if node.is_string and not negative:
        if kind.name == "STRING":
            return node.this
        if kind.name == "DATE":
            try:
                return date.fromisoformat(node.this).isoformat()
            except ValueError:
                return None
        if kind.name == "TIMESTAMP":
            return timestamp_ticks(node.this)
    return None
