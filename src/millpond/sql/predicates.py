"""The one reader of conditions: a tree of SQL becomes a `Predicate`.

`read_predicate` is exact: what it returns is true, false and unknown for the same rows as the condition in Spark, or it returns
None and the condition is left to an engine. It reads columns of whole numbers, STRING, DATE and TIMESTAMP (in UTC): compared
with literals, whole numbers also with each other; BETWEEN, IN, LIKE 'abc%', IS NULL, AND, OR, NOT, TRUE and FALSE.

`read_necessary` is weaker and never fails: every row for which the condition is true matches what it returns. It leaves out the
conjuncts that cannot be read. That is enough for bounds, which only ever skip.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from datetime import UTC, date, datetime
from typing import Final

from sqlglot import exp

from millpond.duration import to_micros
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
    Operator,
    Or,
    Predicate,
    Prefix,
    Value,
    all_of,
)
from millpond.schema import BITS, INTEGERS, Column, DataType
from millpond.sql.literals import kind_of, list_of, values_of

ColumnOf = Callable[[exp.Column], Column | None]
"""Finds the column that a node names, with its name in the schema and its type; None if it is none that may be read."""

_OPERATORS: Final[dict[type[exp.Expr], Operator]] = {
    exp.EQ: "=", exp.NEQ: "<>", exp.LT: "<", exp.LTE: "<=", exp.GT: ">", exp.GTE: ">=",
}  # fmt: skip
_READ = frozenset([*INTEGERS, "STRING", "DATE", "TIMESTAMP"])
_DAY = re.compile(r"\d{4}-\d\d-\d\d", re.ASCII)
_MOMENT = re.compile(r"\d{4}-\d\d-\d\d(?:[ T]\d\d:\d\d(?::\d\d(?:\.\d{1,6})?)?(?P<zone>Z|[+-]\d\d:\d\d)?)?", re.ASCII)
_WITH_ZONE = (exp.DType.TIMESTAMPTZ, exp.DType.TIMESTAMPLTZ)
_WITHOUT_ZONE = (exp.DType.TIMESTAMP, exp.DType.TIMESTAMPNTZ)


class _Unreadable(Exception):
    """Left to an engine."""


def typed_column(node: exp.Column) -> Column | None:
    """The column of a node that binding gave a type to."""
    kind = node.type.sql(dialect="spark").upper() if node.type is not None else ""
    return Column(node.name, DataType(kind)) if kind in _READ else None


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
        operator = _OPERATORS.get(type(node))
        if operator is None:
            raise _Unreadable
        left, right = node.this.unnest(), node.expression.unnest()
        if not isinstance(left, exp.Column) and isinstance(right, exp.Column):
            left, right, operator = right, left, MIRRORED[operator]
        if isinstance(left, exp.Column):
            column = self._column(left)
            value = _constant(right, column.type)
            if value is not None:
                return Compare(column.name, operator, value)
        one, of_one = self._sum(left)
        other, of_other = self._sum(right)
        offset = of_other - of_one
        whole = one.type.is_integer and other.type.is_integer
        if not whole and not (one.type == other.type and one.type.name in ("DATE", "TIMESTAMP")):
            raise _Unreadable
        if not -(1 << 63) <= offset < 1 << 63:
            raise _Unreadable
        return CompareColumns(one.name, operator, other.name, offset)

    def _sum(self, node: exp.Expr) -> tuple[Column, int]:
        """A column plus or minus a whole number."""
        if isinstance(node, exp.Column):
            return self._column(node), 0
        if not isinstance(node, exp.Add | exp.Sub):
            raise _Unreadable
        left, right = node.this.unnest(), node.expression.unnest()
        if isinstance(node, exp.Add) and isinstance(right, exp.Column):
            left, right = right, left
        number = _constant(right, DataType("BIGINT"))
        if not isinstance(left, exp.Column) or not isinstance(number, int):
            raise _Unreadable
        column = self._column(left)
        if not column.type.is_integer or not (self._overflow or _fits(column.type, number)):
            raise _Unreadable
        return column, number if isinstance(node, exp.Add) else -number

    def _is_null(self, node: exp.Is) -> Predicate:
        if not isinstance(node.expression, exp.Null):
            raise _Unreadable
        found = IsNull(self._column(node.this).name)
        return Not(found) if node.args.get("negate") else found

    def _among(self, node: exp.In) -> Predicate:
        if not node.expressions or any(node.args.get(a) for a in ("query", "unnest", "field", "is_global")):
            raise _Unreadable
        column = self._column(node.this)
        return Among(column.name, frozenset(_constants(node, column.type)))

    def _like(self, node: exp.Like) -> Predicate:
        column, pattern = self._column(node.this), node.expression.unnest()
        if column.type.name != "STRING" or not isinstance(pattern, exp.Literal) or not pattern.is_string:
            raise _Unreadable
        text = _text(pattern.this)
        fixed = text[:-1] if text.endswith("%") else text
        if any(c in fixed for c in "%_\\"):
            raise _Unreadable
        found: Predicate = Compare(column.name, "=", text) if fixed == text else Prefix(column.name, fixed)
        return Not(found) if node.args.get("negate") else found

    def _column(self, node: exp.Expr) -> Column:
        node = node.unnest()
        found = self._column_of(node) if isinstance(node, exp.Column) else None
        if found is None or found.type.name not in _READ:
            raise _Unreadable
        return found


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


# -- constants --------------------------------------------------------------------------------------------------------


def _constants(node: exp.In, kind: DataType) -> Iterable[Value]:
    """The elements of an IN, which all have to be constants."""
    folded = list_of(node)
    if folded is None:
        values = [_constant(each.unnest(), kind) for each in node.expressions]
    elif kind_of(folded) == "int":
        values = [*values_of(folded)] if kind.is_integer else [None]
    elif kind.name == "STRING":
        values = [*values_of(folded)]
    else:
        values = [_from_text(str(text), kind, None) for text in values_of(folded)]
    return [_present(value) for value in values]


def _present(value: Value | None) -> Value:
    if value is None:
        raise _Unreadable
    return value


def _constant(node: exp.Expr, kind: DataType) -> Value | None:
    """The value of a literal as a column of this kind has it; None if it is no literal, or one of another kind.

    A cast may stand around the literal if it means what the bare literal means beside such a column.
    """
    to: exp.DataType | None = None
    if isinstance(node, exp.Cast):
        if type(node) not in (exp.Cast, exp.TryCast) or any(v for k, v in node.args.items() if k not in ("this", "to")):
            return None
        to, node = node.to, node.this.unnest()
    sign = 1
    if isinstance(node, exp.Neg):
        sign, node = -1, node.this.unnest()
    if not isinstance(node, exp.Literal):
        return None
    if not node.is_string:
        if not kind.is_integer or not (node.this.isascii() and node.this.isdecimal()):
            return None
        return _in_type(sign * int(node.this), to)
    return _from_text(node.this, kind, to) if sign == 1 else None


def _in_type(number: int, to: exp.DataType | None) -> int | None:
    if to is None:
        return number
    bits = BITS.get(to.sql(dialect="spark").upper())
    return number if bits is not None and -(1 << (bits - 1)) <= number < 1 << (bits - 1) else None


def _from_text(text: str, kind: DataType, to: exp.DataType | None) -> Value | None:
    """What a text literal means beside a column of text, dates or timestamps. Only spellings that no engine reads otherwise."""
    if kind.name == "STRING":
        return _text(text) if to is None or to.is_type(exp.DType.TEXT) else None
    as_day = to is not None and to.is_type(exp.DType.DATE)
    try:
        if kind.name == "DATE" and (to is None or as_day) and _DAY.fullmatch(text):
            return date.fromisoformat(text)
        if kind.name == "TIMESTAMP" and (to is None or as_day or to.is_type(*_WITH_ZONE, *_WITHOUT_ZONE)):
            return _moment(text, only_day=as_day, zone=to is None or to.is_type(*_WITH_ZONE))
    except (ValueError, OverflowError):  # 30 February
        return None
    return None


def _moment(text: str, *, only_day: bool, zone: bool) -> int | None:
    """Microseconds since 1970 UTC. `only_day`: a cast would cut off the time of day; `zone`: a zone in the text counts."""
    found = (_DAY if only_day else _MOMENT).fullmatch(text)
    if found is None or (not only_day and found["zone"] and not zone):
        return None
    value = datetime.fromisoformat(text)
    return to_micros(value if value.tzinfo is not None else value.replace(tzinfo=UTC))


def _text(text: str) -> str:
    try:
        text.encode()
    except UnicodeEncodeError:
        raise _Unreadable from None  # half of a surrogate pair: the engine says what is wrong with it
    return text
