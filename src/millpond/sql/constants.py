"""What a literal means beside a column: the constants of predicates.

Beside FLOAT and DOUBLE every number is a DOUBLE; beside DECIMAL whole numbers and decimals are exact, as long as Spark finds a
common type that loses no digit. Numbers are read and cast by the rules of the translation, and text only in spellings that no
engine reads otherwise.
"""

from __future__ import annotations

import re
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Final

from sqlglot import exp

from millpond.duration import to_micros
from millpond.predicate.form import Value
from millpond.schema import BITS, DataType
from millpond.sql.literals import kind_of, list_of, values_of
from millpond.sql.rules import terms
from millpond.sql.rules.numbers import cast_value
from millpond.sql.rules.terms import BIGINT, DOUBLE, STRING, NotOnDuckDB, type_of
from millpond.sql.rules.types import common, convert, fits, is_number, literal, number_literal

_DAY = re.compile(r"\d{4}-\d\d-\d\d", re.ASCII)
_MOMENT = re.compile(r"\d{4}-\d\d-\d\d(?:[ T]\d\d:\d\d(?::\d\d(?:\.\d{1,6})?)?(?P<zone>Z|[+-]\d\d:\d\d)?)?", re.ASCII)
_WITH_ZONE: Final = (exp.DType.TIMESTAMPTZ, exp.DType.TIMESTAMPLTZ)
_WITHOUT_ZONE: Final = (exp.DType.TIMESTAMP, exp.DType.TIMESTAMPNTZ)
FLOATING: Final = ("FLOAT", "DOUBLE")


def constant(node: exp.Expr, kind: DataType) -> Value | None:
    """The value of a literal as a column of this kind has it, NaN too; None if it is no literal, or one of another kind.

    A cast may stand around the literal if it means what the bare literal means beside such a column.
    """
    if kind.name in FLOATING or kind.name == "DECIMAL":
        found = number(node)
        return None if found is None else _beside(kind, [found])[0]
    if kind.name == "BOOLEAN":
        return bool(node.this) if isinstance(node, exp.Boolean) else None
    to: exp.DataType | None = None
    if isinstance(node, exp.Cast):
        if not _is_plain(node):
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


def constants(node: exp.In, kind: DataType) -> list[Value | None]:
    """The elements of an IN, each as a column of this kind has it; None for one that is no constant."""
    folded = list_of(node)
    elements = [each.unnest() for each in node.expressions]
    if kind.name in FLOATING or kind.name == "DECIMAL":
        if folded is None:
            found = [number(each) for each in elements]
        elif kind_of(folded) == "int" and all(fits(int(each), BIGINT) for each in values_of(folded)):
            found = [literal(each, BIGINT) for each in values_of(folded)]
        else:
            return [None]
        known = [each for each in found if each is not None]
        return [None] if len(known) < len(found) else _beside(kind, known)
    if folded is None:
        return [constant(each, kind) for each in elements]
    if kind_of(folded) == "int":
        return [*values_of(folded)] if kind.is_integer else [None]
    return [_from_text(str(text), kind, None) for text in values_of(folded)]


# -- numbers ------------------------------------------------------------------------------------------------------------


def number(node: exp.Expr) -> terms.Value | None:
    """The number that a literal is, with its type; None if it is none, or if only Spark knows."""
    try:
        found = _literal(node)
    except NotOnDuckDB:
        return None
    return found if found is not None and found.is_constant and is_number(found.type) else None


def _literal(node: exp.Expr) -> terms.Value | None:
    if isinstance(node, exp.Literal):
        return literal(node.this, STRING) if node.is_string else number_literal(node.this)
    if isinstance(node, exp.Cast) and _is_plain(node):
        inner = _literal(node.this.unnest())
        return None if inner is None else cast_value(inner, type_of(node.to))
    if not isinstance(node, exp.Neg):
        return None
    inner = node.this.unnest()
    if isinstance(inner, exp.Literal) and not inner.is_string:
        return number_literal(f"-{inner.this}")  # the sign belongs to it
    value = _literal(inner)
    return literal(-value.constant, DOUBLE) if value is not None and isinstance(value.constant, float) else None


def _beside(kind: DataType, numbers: list[terms.Value]) -> list[Value | None]:
    """Numbers as a column of floating numbers or decimals is compared with them."""
    try:
        if kind.name in FLOATING:
            return [convert(each, DOUBLE).constant for each in numbers]  # type: ignore[misc]
        met = kind
        for each in numbers:
            met = common(met, each.type)
    except NotOnDuckDB:
        return [None]
    if met.name != "DECIMAL":  # a DOUBLE makes a DOUBLE of the column
        return [None]
    return [Decimal(each.constant) for each in numbers]  # type: ignore[arg-type]


def _in_type(number: int, to: exp.DataType | None) -> int | None:
    if to is None:
        return number
    bits = BITS.get(to.sql(dialect="spark").upper())
    return number if bits is not None and -(1 << (bits - 1)) <= number < 1 << (bits - 1) else None


def _is_plain(node: exp.Cast) -> bool:
    return type(node) in (exp.Cast, exp.TryCast) and not any(v for k, v in node.args.items() if k not in ("this", "to"))


# -- text ---------------------------------------------------------------------------------------------------------------


def _from_text(text: str, kind: DataType, to: exp.DataType | None) -> Value | None:
    """What a text literal means beside a column of text, dates or timestamps. Only spellings that no engine reads otherwise."""
    if kind.name == "STRING":
        return text if is_text(text) and (to is None or to.is_type(exp.DType.TEXT)) else None
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


def is_text(text: str) -> bool:
    """Whether it is text: not with half of a surrogate pair, of which the engine says what is wrong with it."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
