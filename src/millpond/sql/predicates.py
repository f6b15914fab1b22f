"""The one reader of conditions: a tree of SQL becomes a `Predicate`.

`read_predicate` is exact: what it returns is true, false and unknown for the same rows as the condition in Spark, or it returns
None and the condition is left to an engine. It reads columns of whole numbers, FLOAT, DOUBLE, DECIMAL of up to 18 digits,
BOOLEAN, STRING, DATE and TIMESTAMP (in UTC): compared with literals, numbers also with each other; BETWEEN, IN, LIKE 'abc%',
IS NULL, IS TRUE, isnan, AND, OR, NOT, TRUE and FALSE.

`read_necessary` is weaker and never fails: every row for which the condition is true matches what it returns. It leaves out the
conjuncts that cannot be read. That is enough for bounds, which only ever skip.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from decimal import Decimal
from typing import Final

from sqlglot import exp

from millpond.predicate.columns import MOST_DIGITS
from millpond.predicate.form import (
    MIRRORED,
    Always,
    Among,
    And,
    Compare,
    CompareColumns,
    IsNull,
    Never,
    Not,
    Offset,
    Operator,
    Or,
    Predicate,
    Prefix,
    Value,
    all_of,
)
from millpond.schema import BITS, INTEGERS, Column, DataType
from millpond.sql.constants import FLOATING, constant, constants, is_text, number
from millpond.sql.rules.types import as_decimal

ColumnOf = Callable[[exp.Column], Column | None]
"""Finds the column that a node names, with its name in the schema and its type; None if it is none that may be read."""

OPERATORS: Final[dict[type[exp.Expr], Operator]] = {
    exp.EQ: "=", exp.NEQ: "<>", exp.LT: "<", exp.LTE: "<=", exp.GT: ">", exp.GTE: ">=",
}  # fmt: skip
_READ = frozenset([*INTEGERS, *FLOATING, "DECIMAL", "BOOLEAN", "STRING", "DATE", "TIMESTAMP"])
_EXACT_AS_DOUBLE = frozenset(["TINYINT", "SMALLINT", "INT", *FLOATING])


class _Unreadable(Exception):
    """Left to an engine."""


def typed_column(node: exp.Column) -> Column | None:
    """The column of a node that binding gave a type to."""
    kind = node.type.sql(dialect="spark").upper() if node.type is not None else ""
    if kind in _READ and kind != "DECIMAL":  # which does not say how many digits
        return Column(node.name, DataType(kind))
    return Column(node.name, DataType.parse(kind)) if kind.startswith("DECIMAL(") else None


def read_predicate(
    condition: exp.Expr, column_of: ColumnOf = typed_column, *, overflow: bool = False
) -> Predicate | None:
    """The predicate that says exactly what a condition says, or None.

    With `overflow`, `a < b + 5` is read even where the sum may exceed its type: an engine then raises an error, while the
    predicate goes on with the exact sum.
    """
    try:
        return _Reader(column_of, overflow=overflow).read(condition)
    except _Unreadable:
        return None


def read_necessary(condition: exp.Expr, column_of: ColumnOf = typed_column) -> Predicate:
    """A predicate that is true for every row for which the condition is; `Always` if nothing can be read."""
    return _Reader(column_of, overflow=True).necessary(condition)


@dataclass(frozen=True)
class _Sum:
    """A column, plus a number where one is added; its type is then what Spark adds as."""

    column: Column
    number: Offset | None = None

    @property
    def kind(self) -> DataType:
        return self.column.type


class _Reader:
    def __init__(self, column_of: ColumnOf, *, overflow: bool) -> None:
        self._column_of = column_of
        self._overflow = overflow

    def read(self, node: exp.Expr) -> Predicate:
        node = node.unnest()
        if isinstance(node, exp.And):
            return _flat(And, map(self.read, node.flatten()))
        if isinstance(node, exp.Or):
            return _flat(Or, map(self.read, node.flatten()))
        if isinstance(node, exp.Not):
            return Not(self.read(node.this))
        if isinstance(node, exp.Boolean):
            return Always() if node.this else Never()
        if isinstance(node, exp.Between):
            return And(tuple(map(self._comparison, _ends(node))))
        if isinstance(node, exp.Is):
            return self._is_null(node)
        if isinstance(node, exp.In):
            return self._among(node)
        if isinstance(node, exp.Like):
            return self._like(node)
        if isinstance(node, exp.IsNan):
            return self._is_nan(node)
        if isinstance(node, exp.Column):
            return Compare(self._column(node, "BOOLEAN").name, "=", True)
        return self._comparison(node)

    def necessary(self, node: exp.Expr) -> Predicate:
        node = node.unnest()
        if isinstance(node, exp.And):
            return all_of(map(self.necessary, node.flatten()))
        if isinstance(node, exp.Or):
            parts = [self.necessary(n) for n in node.flatten()]
            return Always() if Always() in parts else _flat(Or, parts)
        try:
            if isinstance(node, exp.Between):
                return all_of(map(self.necessary, _ends(node)))
            return self.read(node)
        except _Unreadable:
            return Always()

    # -- atoms --------------------------------------------------------------------------------------------------------

    def _comparison(self, node: exp.Expr) -> Predicate:
        operator = OPERATORS.get(type(node))
        if operator is None:
            raise _Unreadable
        left, right = node.this.unnest(), node.expression.unnest()
        if not isinstance(left, exp.Column) and isinstance(right, exp.Column):
            left, right, operator = right, left, MIRRORED[operator]
        if isinstance(left, exp.Column):
            column = self._column(left)
            value = constant(right, column.type)
            if value is not None:
                return _compared(column.name, operator, value)
        return _columns_compared(self._sum(left), operator, self._sum(right))

    def _sum(self, node: exp.Expr) -> _Sum:
        """A column, or a column plus or minus a number."""
        if isinstance(node, exp.Column):
            return _Sum(self._column(node))
        if not isinstance(node, exp.Add | exp.Sub):
            raise _Unreadable
        left, right = node.this.unnest(), node.expression.unnest()
        if isinstance(node, exp.Add) and isinstance(right, exp.Column):
            left, right = right, left
        if not isinstance(left, exp.Column):
            raise _Unreadable
        column = self._column(left)
        found = self._added(column.type, right)
        return _Sum(column, found if isinstance(node, exp.Add) else -found)

    def _added(self, kind: DataType, node: exp.Expr) -> Offset:
        """A number that is added to a column, so that the sum is exact, or a DOUBLE."""
        if kind.is_integer:
            found = constant(node, DataType("BIGINT"))
            if isinstance(found, int) and (self._overflow or _fits(kind, found)):
                return found
        elif kind.name == "DOUBLE":
            found = constant(node, kind)
            if isinstance(found, float) and math.isfinite(found):
                return found
        elif kind.name == "DECIMAL":
            value = number(node)  # neither sum has more than 37 digits then
            if value is not None and value.type.name != "DOUBLE" and as_decimal(value.type).precision <= MOST_DIGITS:
                return Decimal(value.constant)  # type: ignore[arg-type]
        raise _Unreadable

    def _is_null(self, node: exp.Is) -> Predicate:
        found: Predicate
        if isinstance(node.expression, exp.Boolean):
            name = self._column(node.this, "BOOLEAN").name
            found = And((Not(IsNull(name)), Compare(name, "=", bool(node.expression.this))))  # never unknown
        elif isinstance(node.expression, exp.Null):
            found = IsNull(self._column(node.this).name)
        else:
            raise _Unreadable
        return Not(found) if node.args.get("negate") else found

    def _is_nan(self, node: exp.IsNan) -> Predicate:
        name = self._column(node.this, *FLOATING).name
        return And((Not(IsNull(name)), _compared(name, "=", math.nan)))  # never unknown

    def _among(self, node: exp.In) -> Predicate:
        if not node.expressions or any(node.args.get(a) for a in ("query", "unnest", "field", "is_global")):
            raise _Unreadable
        column = self._column(node.this)
        values = [_present(each) for each in constants(node, column.type)]
        numbers = [each for each in values if each == each]
        if len(numbers) == len(values):
            return Among(column.name, frozenset(values))
        among = [Among(column.name, frozenset(numbers))] if numbers else []
        return _flat(Or, [*among, _compared(column.name, "=", math.nan)])

    def _like(self, node: exp.Like) -> Predicate:
        column, pattern = self._column(node.this), node.expression.unnest()
        if column.type.name != "STRING" or not isinstance(pattern, exp.Literal) or not pattern.is_string:
            raise _Unreadable
        text = pattern.this
        if not is_text(text):
            raise _Unreadable
        fixed = text[:-1] if text.endswith("%") else text
        if any(c in fixed for c in "%_\\"):
            raise _Unreadable
        found: Predicate = Compare(column.name, "=", text) if fixed == text else Prefix(column.name, fixed)
        return Not(found) if node.args.get("negate") else found

    def _column(self, node: exp.Expr, *kinds: str) -> Column:
        node = node.unnest()
        found = self._column_of(node) if isinstance(node, exp.Column) else None
        if found is None or found.type.name not in (kinds or _READ) or found.type.precision > MOST_DIGITS:
            raise _Unreadable
        return found


def _compared(column: str, operator: Operator, value: Value) -> Predicate:
    """A column compared with a constant, which may be NaN: nothing is greater, and only what exceeds infinity equals it."""
    if value == value:
        return Compare(column, operator, value)
    less, equal = Compare(column, "<=", math.inf), Compare(column, ">", math.inf)
    if operator in ("=", ">="):
        return equal
    if operator in ("<", "<>"):
        return less
    return Or((less, equal)) if operator == "<=" else And((less, equal))


def _columns_compared(left: _Sum, operator: Operator, right: _Sum) -> Predicate:
    one, other = left.kind, right.kind
    if left.number is None and right.number is None:
        offset: Offset = 0
    elif left.number is not None and right.number is None and not one.is_integer:
        return _columns_compared(right, MIRRORED[operator], left)
    else:
        offset = (right.number or 0) - (left.number or 0)  # type: ignore[operator]
    if one.is_integer and other.is_integer:
        if not -(1 << 63) <= offset < 1 << 63:
            raise _Unreadable
    elif one.name == other.name == "DECIMAL":
        if one.scale != other.scale:
            raise _Unreadable
    elif one.name in FLOATING or other.name in FLOATING:
        # A sum of doubles is rounded, so it stays on its side.
        summed = left.number is not None or (right.number is not None and other.name != "DOUBLE")
        if summed or not {one.name, other.name} <= _EXACT_AS_DOUBLE:
            raise _Unreadable
    elif one != other or one.name not in ("DATE", "TIMESTAMP", "BOOLEAN"):
        raise _Unreadable
    return CompareColumns(left.column.name, operator, right.column.name, offset or 0)


def _flat(form: type[And] | type[Or], parts: Iterable[Predicate]) -> Predicate:
    flat: list[Predicate] = []
    for part in parts:
        flat += part.parts if isinstance(part, form) else (part,)
    return form(tuple(flat)) if len(flat) > 1 else flat[0]


def _ends(node: exp.Between) -> tuple[exp.GTE, exp.LTE]:
    """BETWEEN as two comparisons. They share the nodes and must not be put into a tree."""
    if node.args.get("symmetric"):
        raise _Unreadable
    ends = exp.GTE(), exp.LTE()
    for end, name in zip(ends, ("low", "high"), strict=True):
        end.args.update(this=node.this, expression=node.args[name])  # `set` would take them out of their tree
    return ends


def _fits(kind: DataType, number: int) -> bool:
    """Whether column + number never exceeds the type of the sum, which is the wider one of the two sides'."""
    literal = 32 if -(1 << 31) <= number < 1 << 31 else 64
    return (1 << (BITS[kind.name] - 1)) + abs(number) < 1 << (max(BITS[kind.name], literal) - 1)


def _present(value: Value | None) -> Value:
    if value is None:
        raise _Unreadable
    return value
