"""Aggregates whose answer hangs on the order of rows: FIRST, LAST, MAX_BY, LISTAGG and the like.

Spark takes rows as they come, which is open. Here they have an order wherever streams are read: by time and arrival. Rows that
are equal in it (in a join) are told apart by their values, so that the answer is the same whatever the engine meets first,
and one of those that Spark may give. Where rows have no order, what needs one is left to Spark; ties of MAX_BY are then
decided by the values alone.
"""

from __future__ import annotations

from sqlglot import exp

from millpond.sql.rules.arguments import (
    Aggregate,
    argument,
    behind,
    direction,
    filtered_by,
    in_order,
    no_window,
    row_order,
)
from millpond.sql.rules.numbers import cast_value
from millpond.sql.rules.terms import (
    BOOLEAN,
    DATE,
    DOUBLE,
    STRING,
    TIMESTAMP,
    NotOnDuckDB,
    Translator,
    Value,
    only,
    unproved,
)

_LAST = (exp.Last, exp.LastValue)


def _told(node: exp.Expression) -> str:
    return unproved(node).split(" is ")[0]


def orderable(value: Value) -> bool:
    """Whether both engines put values of a type into the same order."""
    known = value.type in (DOUBLE, STRING, DATE, TIMESTAMP, BOOLEAN) or value.type.name == "DECIMAL"
    return known or value.type.is_integer


def pick(node: exp.Expression, tr: Translator, suffix: str, keep: Value | None) -> Value:
    return _pick(node, tr, suffix, keep)


def ignoring_nulls(node: exp.Expression, tr: Translator, suffix: str, keep: Value | None) -> Value:
    if node.this.__class__ not in PICKS:
        raise NotOnDuckDB(unproved(node.this))
    return _pick(node.this, tr, suffix, keep, nulls=not isinstance(node, exp.IgnoreNulls))


def _pick(node: exp.Expression, tr: Translator, suffix: str, keep: Value | None, *, nulls: bool = True) -> Value:
    """FIRST, LAST and ANY_VALUE. `nulls`: a row in which the value is NULL is a row like any other."""
    no_window(_told(node), suffix)
    only(node, "this", "row_order")
    value = behind(keep, tr.value(node.this))
    order = row_order(node, tr)
    if order is None or not orderable(value):
        raise NotOnDuckDB(f"{_told(node)} of rows without an order is only supported on Spark")
    name = "last" if isinstance(node, _LAST) else "first"
    filter = filtered_by(keep, *([] if nulls else [f"{value.sql} IS NOT NULL"]))
    return Value(f"{name}({value.sql}{in_order([*order, value.sql])}){filter}", value.type, value.raises)


def by_another(node: exp.Expression, tr: Translator, suffix: str, keep: Value | None) -> Value:
    """MAX_BY and MIN_BY: of rows that are equal in the key the last one, as Spark takes them. A key that is NULL never counts."""
    no_window(_told(node), suffix)
    only(node, "this", "expression", "row_order")
    value, key = behind(keep, tr.value(node.this)), behind(keep, tr.value(node.expression))
    if isinstance(node.this, exp.Distinct) or not (orderable(value) and orderable(key)):
        raise NotOnDuckDB(f"such a {_told(node).removeprefix('function ')} is only supported on Spark")
    later = [*(row_order(node, tr) or []), value.sql]
    filter = filtered_by(keep, f"{key.sql} IS NOT NULL")
    if isinstance(node, exp.ArgMax):
        sql = f"last({value.sql}{in_order([key.sql, *later])}){filter}"
    else:
        first = ", ".join([f"{key.sql} ASC NULLS FIRST", *(f"{each} DESC NULLS LAST" for each in later)])
        sql = f"first({value.sql} ORDER BY {first}){filter}"
    return Value(sql, value.type, value.raises or key.raises)


def joined_texts(node: exp.Expression, tr: Translator, suffix: str, keep: Value | None) -> Value:
    """LISTAGG and STRING_AGG. Without ORDER BY in it, texts are in the order of rows."""
    no_window("listagg", suffix)
    only(node, "this", "separator", "row_order")
    inner, written = node.this, None
    if isinstance(inner, exp.Order):
        inner, written = inner.this, inner
    prefix, value = argument(node, tr, keep, inner)
    between = node.args.get("separator")
    separator = tr.value(between) if between is not None else Value("''", STRING, constant="")
    if not (value.type == STRING or value.type.is_integer) or not isinstance(separator.constant, str):
        raise NotOnDuckDB(f"listagg of {value.type} is only supported on Spark")
    if written is not None:
        only(written, "this", "expressions")
        keys = [(tr.value(item.this), direction(item)) for item in written.expressions]
        if prefix and [key.sql for key, _ in keys] != [value.sql]:
            raise NotOnDuckDB("listagg of distinct texts in another order is only supported on Spark")
        order = [f"{key.sql}{way}" for key, way in keys]
        order += [] if prefix else [f"{key} ASC NULLS FIRST" for key in (row_order(node, tr) or [])]
        order += [f"{value.sql} ASC NULLS FIRST"] if not prefix else []
        by = f" ORDER BY {', '.join(order)}"
    elif prefix:
        by = in_order([value.sql])  # which of equal texts comes first is open, so they are in the order of the alphabet
    else:
        rows = row_order(node, tr)
        if rows is None:
            raise NotOnDuckDB("listagg of rows without an order is only supported on Spark")
        by = in_order([*rows, value.sql])
    if prefix and value.type != STRING:
        raise NotOnDuckDB(f"listagg of distinct {value.type} is only supported on Spark")
    texts = cast_value(value, STRING).sql
    return Value(f"string_agg({prefix}{texts}, {separator.sql}{by}){filtered_by(keep)}", STRING, value.raises)


PICKS: dict[type[exp.Expression], Aggregate] = {
    exp.First: pick,
    exp.FirstValue: pick,
    exp.Last: pick,
    exp.LastValue: pick,
    exp.AnyValue: pick,
}

AGGREGATES: dict[type[exp.Expression], Aggregate] = {
    **PICKS,
    exp.IgnoreNulls: ignoring_nulls,
    exp.RespectNulls: ignoring_nulls,
    exp.ArgMax: by_another,
    exp.ArgMin: by_another,
    exp.GroupConcat: joined_texts,
}
