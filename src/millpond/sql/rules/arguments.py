"""What the rules of aggregates share: their arguments, the FILTER behind them, and the order in which they see rows.

An aggregate is written once and used three ways, so each rule gets the text that follows the call (`suffix`): nothing,
` FILTER (...)`, ` OVER (...)`, or both; and the condition of the FILTER (`keep`), if there is one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from sqlglot import exp

from millpond.sql.rules.terms import NotOnDuckDB, Translator, Value, only

Aggregate = Callable[[exp.Expression, Translator, str, Value | None], Value]

ROW_ORDER: Final = "row_order"
"""An argument of calls whose answer depends on the order of rows, put there when the query is bound: an exp.Order by time and
arrival, without keys where the rows have no order. Not there: the order is open, and any is right."""


def argument(
    node: exp.Expression, tr: Translator, keep: Value | None, inner: exp.Expression | None = None
) -> tuple[str, Value]:
    """`DISTINCT ` or nothing, and the one argument of an aggregate; `inner`, if it is not simply `this`."""
    inner, prefix = inner if inner is not None else node.this, ""
    if isinstance(inner, exp.Distinct):
        if len(inner.expressions) != 1 or inner.args.get("on"):
            raise NotOnDuckDB(f"{node.key} of several distinct values is only supported on Spark")
        inner, prefix = inner.expressions[0], "DISTINCT "
    return prefix, behind(keep, tr.value(inner))


def behind(keep: Value | None, value: Value) -> Value:
    """The argument of an aggregate with a FILTER: whether Spark evaluates it for rows left out depends on its plan."""
    if keep is not None and value.raises:
        raise NotOnDuckDB("an argument that can fail behind a FILTER is only supported on Spark")
    return value


def no_window(name: str, suffix: str) -> None:
    """Refuse an aggregate with OVER."""
    if "OVER" in suffix:
        raise NotOnDuckDB(f"{name} as a window function is only supported on Spark")


def filtered_by(keep: Value | None, *conditions: str) -> str:
    """` FILTER (...)` by the condition of the call and some of the rule's own."""
    found = [f"({keep.sql})"] if keep is not None else []
    found += conditions
    return f" FILTER (WHERE {' AND '.join(found)})" if found else ""


def direction(item: exp.Ordered) -> str:
    """` ASC NULLS FIRST` and so on. sqlglot has filled in Spark's default for NULLs: small, so first when ascending."""
    only(item, "this", "desc", "nulls_first")
    way = "DESC" if item.args.get("desc") else "ASC"
    return f" {way} NULLS {'FIRST' if item.args.get('nulls_first') else 'LAST'}"


def row_order(node: exp.Expression, tr: Translator) -> list[str] | None:
    """The texts by which the rows of an aggregate are in order; None where they have no order."""
    order = node.args.get(ROW_ORDER)
    if order is None:
        return []
    return [tr.value(item.this).sql for item in order.expressions] or None


def in_order(keys: Sequence[str], *, back: bool = False) -> str:
    """` ORDER BY ...`, or nothing without keys."""
    way = " DESC NULLS LAST" if back else " ASC NULLS FIRST"
    return f" ORDER BY {', '.join(key + way for key in keys)}" if keys else ""
