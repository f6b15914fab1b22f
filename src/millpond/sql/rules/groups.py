"""GROUP BY: keys, ROLLUP, CUBE and GROUPING SETS, and how DOUBLE keys are shown."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sqlglot import exp

from millpond.sql.rules.terms import DOUBLE, NotOnDuckDB, Translator, Value, only

_GROUPINGS: dict[type[exp.Expression], str] = {exp.Rollup: "ROLLUP", exp.Cube: "CUBE"}


def group_by(node: exp.Group, tr: Translator) -> str:
    only(node, "expressions", "rollup", "cube")
    items: list[str] = []
    keys: list[str] = []
    for each in node.expressions:
        if isinstance(each, exp.GroupingSets):
            # With other keys beside it, `GROUP BY a, b GROUPING SETS (...)` could be meant, which is not a product.
            if len(node.expressions) > 1:
                raise NotOnDuckDB("grouping sets beside other keys are only supported on Spark")
            # Of the empty set alone there is a row even if there are no rows, as without GROUP BY.
            tr.scope.grouping_sets = any(not _is_empty(part) for part in each.expressions)
            if not tr.scope.grouping_sets and len(each.expressions) > 1:
                raise NotOnDuckDB("such grouping sets are only supported on Spark")
            _check_alike(each)
            return f" GROUP BY GROUPING SETS ({', '.join(_grouping_set(part, tr) for part in each.expressions)})"
        if each.__class__ in _GROUPINGS:
            tr.scope.grouping_sets = True
            _check_alike(node)
            inner = [_set_key(part, tr) for part in each.expressions]
            items.append(f"{_GROUPINGS[each.__class__]} ({', '.join(inner)})")
        else:
            inner = [_key(each, tr)]
            items += inner
        keys += inner
    for found in (*(node.args.get("rollup") or ()), *(node.args.get("cube") or ())):
        # GROUP BY a, b WITH ROLLUP: all the keys are meant
        if found.expressions or len(items) != len(keys):
            raise NotOnDuckDB("such a grouping is only supported on Spark")
        tr.scope.grouping_sets = True
        _check_alike(node)
        items = [f"{_GROUPINGS[found.__class__]} ({', '.join(keys)})"]
    tr.scope.group_keys = tuple(keys)
    return f" GROUP BY {', '.join(items)}"


def plain_zero(value: Value) -> Value:
    """What is compared to tell rows apart, as Spark shows it then: -0.0 is 0.0."""
    if value.type != DOUBLE or value.is_constant:
        return value
    return Value(f"CASE WHEN {value.sql} = 0 THEN 0e0 ELSE {value.sql} END", DOUBLE, value.raises)


def _is_empty(node: exp.Expression) -> bool:
    return isinstance(node, exp.Tuple) and not node.expressions


def _grouping_set(node: exp.Expression, tr: Translator) -> str:
    inner: list[Any] = node.expressions if isinstance(node, exp.Tuple) else [node.unnest()]
    return f"({', '.join(_set_key(part, tr) for part in inner)})"


def _check_alike(node: exp.Expression) -> None:
    """To Spark `a + b` and `b + a` are one key. Two keys of the same parts are left to it."""
    seen: dict[tuple[str, ...], str] = {}
    for key in node.find_all(exp.Binary, exp.Func):
        if isinstance(key.parent, _AROUND_KEYS) and seen.setdefault(_parts(key), key.sql("spark")) != key.sql("spark"):
            raise NotOnDuckDB("grouping sets of keys that may be alike are only supported on Spark")


_AROUND_KEYS = (exp.Group, exp.GroupingSets, exp.Rollup, exp.Cube, exp.Tuple, exp.Paren)


def _parts(node: exp.Expr) -> tuple[str, ...]:
    """Columns, literals and functions of an expression: expressions that Spark takes for one another have the same."""
    leaves = [part.sql("spark") for part in node.find_all(exp.Column, exp.Literal)]
    return tuple(sorted([*leaves, *(f"{part.key}()" for part in node.find_all(exp.Func))]))


def check_respelled(select: exp.Select) -> None:
    """`SELECT b + a ... GROUP BY a + b`: Spark sees the key in the output, and DuckDB does not."""
    keys = [key for key in select.args["group"].expressions if isinstance(key, (exp.Binary, exp.Func))]
    if not keys:
        return
    spelled = {_parts(key): key.sql("spark") for key in keys}
    clauses = (*select.expressions, select.args.get("having"), select.args.get("order"))
    if any(clause is not None and _respells(clause, spelled) for clause in clauses):
        raise NotOnDuckDB("a key of GROUP BY that is spelled otherwise in an output is only supported on Spark")


def _respells(node: exp.Expr, spelled: Mapping[tuple[str, ...], str]) -> bool:
    key = spelled.get(_parts(node)) if isinstance(node, (exp.Binary, exp.Func)) else None
    if key is not None:
        text = node.sql("spark")
        if text == key:
            return False
        if key not in text:
            return True
    return any(_respells(part, spelled) for part in node.iter_expressions())


def _set_key(node: exp.Expression, tr: Translator) -> str:
    """A key of grouping sets. Of a constant, also one that is computed, Spark does not know afterwards that it was a key."""
    if node.find(exp.Column, exp.AggFunc, exp.Placeholder) is None:
        raise NotOnDuckDB("grouping sets of constants are only supported on Spark")
    return _key(node, tr)


def _key(node: exp.Expression, tr: Translator) -> str:
    if isinstance(node, exp.Tuple):
        raise NotOnDuckDB("grouping by several columns at once is only supported on Spark")
    value = tr.value(node)
    if value.is_constant:  # DuckDB would take a number for a position
        raise NotOnDuckDB("grouping by a constant is only supported on Spark")
    return value.sql
