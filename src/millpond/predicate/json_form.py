"""Predicates as JSON values, and back, for files that other processes read.

A predicate is a list: what it is, then its parts. A constant is itself where JSON has it, else an object of one member.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from datetime import date
from decimal import Decimal
from typing import Any, Final, cast

from millpond.predicate.form import (
    Always,
    Among,
    And,
    Compare,
    CompareColumns,
    IsNull,
    Never,
    Not,
    Or,
    Predicate,
    Prefix,
    Value,
)


def to_json(predicate: Predicate) -> list[Any]:
    """
    >>> from_json(to_json(Not(Compare("price", "<", 20)))) == Not(Compare("price", "<", 20))
    True
    """
    if isinstance(predicate, Compare):
        return ["compare", predicate.column, predicate.operator, _constant(predicate.value)]
    if isinstance(predicate, Among):
        return ["among", predicate.column, [_constant(value) for value in predicate.values]]
    if isinstance(predicate, And | Or):
        return ["and" if isinstance(predicate, And) else "or", *map(to_json, predicate.parts)]
    if isinstance(predicate, Not):
        return ["not", to_json(predicate.part)]
    if isinstance(predicate, CompareColumns):
        return ["columns", predicate.left, predicate.operator, predicate.right, _constant(predicate.offset)]
    if isinstance(predicate, Prefix):
        return ["prefix", predicate.column, predicate.text]
    if isinstance(predicate, IsNull):
        return ["null", predicate.column]
    return ["always" if isinstance(predicate, Always) else "never"]


def from_json(data: list[Any]) -> Predicate:
    """The predicate that `to_json` made `data` of; a ValueError if it is none."""
    kind, *parts = data
    if kind not in _READ:
        raise ValueError(f"{kind!r} is no predicate")
    return _READ[kind](*parts)


def _constant(value: Any) -> Any:
    if isinstance(value, Decimal):
        return {"decimal": str(value)}
    if isinstance(value, date):
        return {"date": value.isoformat()}
    if isinstance(value, float) and not math.isfinite(value):
        return {"double": repr(value)}
    return value


_KINDS: Final[dict[str, Callable[[str], Any]]] = {"decimal": Decimal, "date": date.fromisoformat, "double": float}


def _value(data: Any) -> Any:
    if not isinstance(data, dict):
        return data
    ((kind, text),) = data.items()
    return _KINDS[kind](text)


_READ: Final[dict[str, Callable[..., Predicate]]] = {
    "compare": lambda column, operator, value: Compare(column, operator, cast("Value", _value(value))),
    "among": lambda column, values: Among(column, frozenset(map(_value, values))),
    "and": lambda *parts: And(tuple(map(from_json, parts))),
    "or": lambda *parts: Or(tuple(map(from_json, parts))),
    "not": lambda part: Not(from_json(part)),
    "columns": lambda left, operator, right, offset: CompareColumns(left, operator, right, _value(offset)),
    "prefix": Prefix,
    "null": IsNull,
    "always": Always,
    "never": Never,
}
