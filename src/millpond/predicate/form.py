"""The form of a predicate: a condition on one row, as data that can be inspected, compared and hashed.

Filters of continuous queries evaluate predicates (`vector`), one-time queries derive bounds from them (`normal`). A predicate
is true, false or unknown for a row, as in SQL: comparing NULL is unknown, NOT unknown is unknown. A row matches when the
predicate is true.

Columns hold whole numbers, floating numbers, decimals, truth values, text, dates or timestamps, and constants are of the column's
kind: a `float` beside FLOAT and DOUBLE, a `Decimal` (of any scale, compared exactly) beside DECIMAL. A timestamp is its number of
microseconds since 1970 UTC, so its constants are integers. Text is compared by code points, which is also the order of its
UTF-8 bytes. NaN equals NaN and is greater than all other numbers, infinity too; -0.0 equals 0.0. So NaN is needed as no constant:
what equals it is greater than infinity.

Invariant. A predicate that exists is well formed: bad parts are refused when it is built. It never changes. Predicates that are
equal mean the same: 1, 1.0, Decimal(1) and True are equal to Python, so atoms compare the types of their constants too.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import date
from decimal import Decimal
from typing import Final, Literal, get_args

Value = int | str | date | float | Decimal | bool
Offset = int | float | Decimal
Operator = Literal["=", "<>", "<", "<=", ">", ">="]

OPPOSITE: Final[dict[Operator, Operator]] = {"=": "<>", "<>": "=", "<": ">=", ">=": "<", ">": "<=", "<=": ">"}
"""The operator that is true where the other is false."""
MIRRORED: Final[dict[Operator, Operator]] = {"=": "=", "<>": "<>", "<": ">", ">": "<", "<=": ">=", ">=": "<="}
"""The operator that says the same when its two sides are exchanged."""

_VALUES = frozenset([int, str, date, float, Decimal, bool])  # exactly these: no datetime
_INT64 = range(-(1 << 63), 1 << 63)
_DIGITS = 38  # of a DECIMAL


@dataclass(frozen=True)
class Compare:
    """A column compared with a constant.

    >>> Compare("seg", "<", 10).columns
    frozenset({'seg'})
    """

    column: str
    operator: Operator
    value: Value
    kind: type[Value] = field(init=False, repr=False)  # of the value

    def __post_init__(self) -> None:
        _check_column(self.column)
        _check_operator(self.operator)
        object.__setattr__(self, "kind", _checked_kind([self.value]))

    @property
    def columns(self) -> frozenset[str]:
        return frozenset([self.column])


@dataclass(frozen=True)
class CompareColumns:
    """A column compared with another one plus an offset: `left operator right + offset`.

    The sum is computed exactly, also where it exceeds the type of the column; with a `float` it is rounded as a DOUBLE is. Both
    columns are whole numbers or times, or decimals of one scale (the offset may have another), or truth values (without an
    offset); or one is a floating number and the other too, or a whole number of at most 32 bits.
    """

    left: str
    operator: Operator
    right: str
    offset: Offset = 0
    kind: type[Offset] = field(init=False, repr=False)  # of the offset

    def __post_init__(self) -> None:
        _check_column(self.left)
        _check_column(self.right)
        _check_operator(self.operator)
        if type(self.offset) is int and self.offset not in _INT64:
            raise ValueError(f"an offset is a 64-bit integer, not {self.offset!r}")
        if type(self.offset) not in (int, float, Decimal) or not math.isfinite(self.offset):
            raise ValueError(f"an offset is a number, not {self.offset!r}")
        object.__setattr__(self, "kind", _checked_kind([self.offset]))

    @property
    def columns(self) -> frozenset[str]:
        return frozenset([self.left, self.right])


@dataclass(frozen=True)
class Among:
    """A column that equals one of several constants, which are all of one type."""

    column: str
    values: frozenset[Value]
    kind: type[Value] = field(init=False, repr=False)  # of the values

    def __post_init__(self) -> None:
        _check_column(self.column)
        if type(self.values) is not frozenset or not self.values:
            raise ValueError("the values are a frozenset with at least one element")
        object.__setattr__(self, "kind", _checked_kind(self.values))

    @property
    def columns(self) -> frozenset[str]:
        return frozenset([self.column])


@dataclass(frozen=True)
class Prefix:
    """A text column that begins with `text`: LIKE 'text%'."""

    column: str
    text: str

    def __post_init__(self) -> None:
        _check_column(self.column)
        if type(self.text) is not str:
            raise ValueError(f"a prefix is text, not {self.text!r}")
        _checked_kind([self.text])

    @property
    def columns(self) -> frozenset[str]:
        return frozenset([self.column])


@dataclass(frozen=True)
class IsNull:
    """A column that is NULL. It is never unknown."""

    column: str

    def __post_init__(self) -> None:
        _check_column(self.column)

    @property
    def columns(self) -> frozenset[str]:
        return frozenset([self.column])


@dataclass(frozen=True)
class And:
    parts: tuple[Predicate, ...]

    def __post_init__(self) -> None:
        _check_parts(self.parts, "AND")

    @property
    def columns(self) -> frozenset[str]:
        return frozenset[str]().union(*(p.columns for p in self.parts))


@dataclass(frozen=True)
class Or:
    parts: tuple[Predicate, ...]

    def __post_init__(self) -> None:
        _check_parts(self.parts, "OR")

    @property
    def columns(self) -> frozenset[str]:
        return frozenset[str]().union(*(p.columns for p in self.parts))


@dataclass(frozen=True)
class Not:
    part: Predicate

    def __post_init__(self) -> None:
        _check_predicate(self.part)

    @property
    def columns(self) -> frozenset[str]:
        return self.part.columns


@dataclass(frozen=True)
class Always:
    """True for every row."""

    @property
    def columns(self) -> frozenset[str]:
        return frozenset()


@dataclass(frozen=True)
class Never:
    """False for every row."""

    @property
    def columns(self) -> frozenset[str]:
        return frozenset()


Atom = Compare | CompareColumns | Among | Prefix | IsNull
Predicate = Atom | And | Or | Not | Always | Never


def conjuncts(predicate: Predicate) -> tuple[Predicate, ...]:
    """The predicates that must all be true. `Always` has none.

    >>> conjuncts(And((IsNull("a"), And((IsNull("b"), IsNull("c"))))))
    (IsNull(column='a'), IsNull(column='b'), IsNull(column='c'))
    """
    if isinstance(predicate, Always):
        return ()
    if not isinstance(predicate, And):
        return (predicate,)
    return tuple(c for part in predicate.parts for c in conjuncts(part))


def all_of(predicates: Iterable[Predicate]) -> Predicate:
    """The conjunction of any number of predicates: flat, each part once, `Always` and `Never` worked out.

    >>> all_of([Always(), IsNull("a"), IsNull("a")])
    IsNull(column='a')
    """
    parts = dict.fromkeys(c for predicate in predicates for c in conjuncts(predicate))
    if Never() in parts:
        return Never()
    if not parts:
        return Always()
    return And(tuple(parts)) if len(parts) > 1 else next(iter(parts))


def _check_column(name: str) -> None:
    if type(name) is not str or not name:
        raise ValueError(f"a column is named by a text that is not empty, not {name!r}")


def _check_operator(operator: Operator) -> None:
    if operator not in get_args(Operator):
        raise ValueError(f"{operator!r} is none of the operators {' '.join(get_args(Operator))}")


def _checked_kind(values: Iterable[Value]) -> type[Value]:
    """The one type of constants that are well formed."""
    kinds = set(map(type, values))
    if not kinds <= _VALUES:
        named = ", ".join(sorted(k.__name__ for k in kinds - _VALUES))
        raise ValueError(f"a constant is an int, float, Decimal, bool, str or date, not {named}")
    if len(kinds) > 1:
        raise ValueError(f"constants of different types: {', '.join(sorted(k.__name__ for k in kinds))}")
    (kind,) = kinds
    if kind is str:
        try:
            "".join(values).encode()  # type: ignore[arg-type]
        except UnicodeEncodeError as error:  # no row can hold it, and no engine can be asked about it
            raise ValueError("half of a surrogate pair is no text") from error
    elif kind is float and any(map(math.isnan, values)):  # type: ignore[arg-type]
        raise ValueError("NaN is no constant: what equals it is greater than infinity")
    elif kind is Decimal and not all(map(_is_decimal, values)):  # type: ignore[arg-type]
        raise ValueError(f"a decimal constant has at most {_DIGITS} digits")
    return kind


def _is_decimal(value: Decimal) -> bool:
    _, digits, exponent = value.as_tuple()
    return isinstance(exponent, int) and max(len(digits), -exponent, value.adjusted() + 1) <= _DIGITS


def _check_parts(parts: tuple[Predicate, ...], word: str) -> None:
    if type(parts) is not tuple or len(parts) < 2:
        raise ValueError(f"{word} takes a tuple of at least two predicates")
    for part in parts:
        _check_predicate(part)


def _check_predicate(part: Predicate) -> None:
    if not isinstance(part, Predicate):
        raise ValueError(f"{part!r} is no predicate")
