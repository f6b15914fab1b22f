"""The form of a predicate: a condition on one row, as data that can be inspected, compared and hashed.

Filters of continuous queries evaluate predicates (`vector`), one-time queries derive bounds from them (`normal`). A predicate
is true, false or unknown for a row, as in SQL: comparing NULL is unknown, NOT unknown is unknown. A row matches when the
predicate is true.

Columns hold whole numbers, text, dates or timestamps. A timestamp is its number of microseconds since 1970 UTC, so its
constants are integers. Text is compared by code points, which is also the order of its UTF-8 bytes.

Invariant. A predicate that exists is well formed: bad parts are refused when it is built. It never changes.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date
from typing import Final, Literal, get_args

Value = int | str | date
Operator = Literal["=", "<>", "<", "<=", ">", ">="]

OPPOSITE: Final[dict[Operator, Operator]] = {"=": "<>", "<>": "=", "<": ">=", ">=": "<", ">": "<=", "<=": ">"}
"""The operator that is true where the other is false."""
MIRRORED: Final[dict[Operator, Operator]] = {"=": "=", "<>": "<>", "<": ">", ">": "<", "<=": ">=", ">=": "<="}
"""The operator that says the same when its two sides are exchanged."""

_VALUES = frozenset([int, str, date])  # exactly these: neither a bool nor a datetime
_INT64 = range(-(1 << 63), 1 << 63)


@dataclass(frozen=True)
class Compare:
    """A column compared with a constant.

    >>> Compare("seg", "<", 10).columns
    frozenset({'seg'})
    """

    column: str
    operator: Operator
    value: Value

    def __post_init__(self) -> None:
        _check_column(self.column)
        _check_operator(self.operator)
        _check_values([self.value])

    @property
    def columns(self) -> frozenset[str]:
        return frozenset([self.column])


@dataclass(frozen=True)
class CompareColumns:
    """A column compared with another one plus an offset: `left operator right + offset`.

    The sum is computed exactly, also where it exceeds the type of the column.
    """

    left: str
    operator: Operator
    right: str
    offset: int = 0

    def __post_init__(self) -> None:
        _check_column(self.left)
        _check_column(self.right)
        _check_operator(self.operator)
        if type(self.offset) is not int or self.offset not in _INT64:
            raise ValueError(f"an offset is a 64-bit integer, not {self.offset!r}")

    @property
    def columns(self) -> frozenset[str]:
        return frozenset([self.left, self.right])


@dataclass(frozen=True)
class Among:
    """A column that equals one of several constants, which are all of one type."""

    column: str
    values: frozenset[Value]

    def __post_init__(self) -> None:
        _check_column(self.column)
        if type(self.values) is not frozenset or not self.values:
            raise ValueError("the values are a frozenset with at least one element")
        _check_values(self.values)

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
        _check_values([self.text])

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


def _check_values(values: Iterable[Value]) -> None:
    kinds = set(map(type, values))
    if not kinds <= _VALUES:
        named = ", ".join(sorted(k.__name__ for k in kinds - _VALUES))
        raise ValueError(f"a constant is an int, a str or a date, not {named}")
    if len(kinds) > 1:
        raise ValueError(f"constants of different types: {', '.join(sorted(k.__name__ for k in kinds))}")
    if kinds == {str}:
        try:
            "".join(values).encode()  # type: ignore[arg-type]
        except UnicodeEncodeError as error:  # no row can hold it, and no engine can be asked about it
            raise ValueError("half of a surrogate pair is no text") from error


def _check_parts(parts: tuple[Predicate, ...], word: str) -> None:
    if type(parts) is not tuple or len(parts) < 2:
        raise ValueError(f"{word} takes a tuple of at least two predicates")
    for part in parts:
        _check_predicate(part)


def _check_predicate(part: Predicate) -> None:
    if not isinstance(part, Predicate):
        raise ValueError(f"{part!r} is no predicate")
