"""Predicates evaluated row by row in three-valued logic: what the fast evaluation is compared with."""

from __future__ import annotations

import math
import operator
from collections.abc import Mapping
from datetime import date, timedelta
from decimal import Decimal
from fractions import Fraction
from typing import Any

import pyarrow as pa
from hypothesis import strategies as st

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
)

OPERATORS = {
    "=": operator.eq, "<>": operator.ne, "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge,
}  # fmt: skip
Row = Mapping[str, Any]


def placed(value: Any) -> Any:
    """A value as Python puts it into SQL's order: NaN is the last number and equals itself."""
    if isinstance(value, float):
        return (1, 0.0) if math.isnan(value) else (0, value)
    return value


def together(left: Any, right: Any) -> tuple[Any, Any]:
    """Both placed; a whole number beside a floating one is one."""
    if isinstance(left, float) or isinstance(right, float):
        left, right = float(left), float(right)
    return placed(left), placed(right)


def plus(value: Any, offset: Any) -> Any:
    if isinstance(value, date):
        return value + timedelta(offset)
    if isinstance(value, Decimal):
        return Fraction(value) + Fraction(offset)
    return value + offset


def truth(predicate: Predicate, row: Row) -> bool | None:
    """True, false, or None: unknown."""
    match predicate:
        case Always() | Never():
            return isinstance(predicate, Always)
        case And(parts):
            found = [truth(p, row) for p in parts]
            return False if False in found else None if None in found else True
        case Or(parts):
            found = [truth(p, row) for p in parts]
            return True if True in found else None if None in found else False
        case Not(part):
            inner = truth(part, row)
            return None if inner is None else not inner
        case IsNull(column):
            return row[column] is None
    if any(row[column] is None for column in predicate.columns):
        return None
    match predicate:
        case Compare(column, sign, value):
            assert type(value) is KINDS.get(column, int)
            return bool(OPERATORS[sign](placed(row[column]), placed(value)))
        case CompareColumns(left, sign, right, offset):
            return bool(OPERATORS[sign](*together(row[left], plus(row[right], offset))))
        case Among(column, values):
            return row[column] in values
        case Prefix(column, text):
            return bool(row[column].startswith(text))
    raise AssertionError(predicate)


# -- samples: few values, so that they meet, and the extremes of each type ---------------------------------------------

BITS = {"tiny": 8, "whole": 32, "big": 64, "other": 64}
TYPES = {
    "tiny": pa.int8(), "whole": pa.int32(), "big": pa.int64(), "other": pa.int64(), "name": pa.string(),
    "day": pa.date32(), "at": pa.timestamp("us", tz="UTC"), "until": pa.timestamp("us", tz="UTC"), "ratio": pa.float32(),
    "price": pa.float64(), "paid": pa.float64(), "cost": pa.decimal128(10, 2), "fee": pa.decimal128(18, 2),
    "share": pa.decimal128(18, 18), "flag": pa.bool_(), "sign": pa.bool_(),
}  # fmt: skip
KINDS: dict[str, type] = {
    "name": str, "day": date, **dict.fromkeys(["ratio", "price", "paid"], float),
    **dict.fromkeys(["cost", "fee", "share"], Decimal), "flag": bool, "sign": bool,
}  # fmt: skip
NUMBERS = [*BITS, "at", "until"]


def _within(bits: int) -> st.SearchStrategy[int]:
    least, greatest = -(1 << (bits - 1)), (1 << (bits - 1)) - 1
    return st.integers(-2, 2) | st.sampled_from([least, least + 1, greatest - 1, greatest])


TEXTS = st.text(st.sampled_from("aAb%_\\é\ud7ff\ue000\U0010ffff"), max_size=3)
DAYS = st.sampled_from([date.min, date(1969, 12, 31), date(1970, 1, 1), date(2024, 2, 29), date.max])
SINGLES = st.sampled_from([math.nan, math.inf, -math.inf, 0.0, -0.0, 0.5, 1.0, -2.0, 0.10000000149011612])
DOUBLES = SINGLES | st.sampled_from([0.1, 5e-324, 1.7976931348623157e308, -1.7976931348623157e308, 2.0**53])
FLOATS = DOUBLES.filter(lambda value: not math.isnan(value))
CENTS = st.sampled_from(
    [Decimal(d) for d in ("0.00", "0.01", "-0.01", "19.99", "20.00", "99999999.99", "-99999999.99")]
)
LARGE = CENTS | st.sampled_from([Decimal("9999999999999999.99"), Decimal("-9999999999999999.99")])
SHARES = st.sampled_from([Decimal(d) for d in ("0", "0.5", "0.999999999999999999", "-0.999999999999999999", "1E-18")])
DECIMALS = (
    LARGE | SHARES | st.sampled_from([Decimal(d) for d in ("19.995", "-0.001", "20", "1E+37", "-1E+37", "1E-38")])
)
TRUTHS = st.booleans()
CONSTANTS = _within(8) | _within(32) | _within(64) | st.sampled_from([1 << 63, -(1 << 63) - 1, 10**30])
VALUES: dict[str, st.SearchStrategy[Any]] = {
    **{name: _within(bits) for name, bits in BITS.items()}, "name": TEXTS, "day": DAYS, "at": _within(64), "until": _within(64),
    "ratio": SINGLES, "price": DOUBLES, "paid": DOUBLES, "cost": CENTS, "fee": LARGE, "share": SHARES, "flag": TRUTHS, "sign": TRUTHS,
}  # fmt: skip


@st.composite
def rows(draw: st.DrawFn) -> list[dict[str, Any]]:
    """Rows with NULLs in none, some or all columns; or no rows."""
    nullable = draw(st.frozensets(st.sampled_from(sorted(VALUES))))
    return draw(
        st.lists(
            st.fixed_dictionaries({c: (v | st.none()) if c in nullable else v for c, v in VALUES.items()}), max_size=12
        )
    )


def _constants(column: str) -> st.SearchStrategy[Any]:
    kinds: dict[type, st.SearchStrategy[Any]] = {float: FLOATS, Decimal: DECIMALS, bool: TRUTHS, int: CONSTANTS}
    return kinds.get(KINDS.get(column, int), VALUES[column])


_FLOATING = st.sampled_from(["ratio", "price", "paid"])
OPERATOR = st.sampled_from(sorted(OPERATORS))
COLUMN = st.sampled_from(sorted(VALUES))
ATOMS: st.SearchStrategy[Predicate] = st.one_of(
    COLUMN.flatmap(lambda c: st.builds(Compare, st.just(c), OPERATOR, _constants(c))),
    COLUMN.flatmap(lambda c: st.builds(Among, st.just(c), st.frozensets(_constants(c), min_size=1, max_size=12))),
    st.builds(CompareColumns, st.sampled_from(NUMBERS), OPERATOR, st.sampled_from(NUMBERS), _within(8) | _within(64)),
    st.builds(CompareColumns, _FLOATING | st.sampled_from(["tiny", "whole"]), OPERATOR, _FLOATING),
    st.builds(CompareColumns, _FLOATING, OPERATOR, st.sampled_from(["price", "paid"]), FLOATS.filter(math.isfinite)),
    st.builds(CompareColumns, st.sampled_from(["cost", "fee"]), OPERATOR, st.sampled_from(["cost", "fee"]), DECIMALS),
    st.builds(CompareColumns, st.sampled_from(["flag", "sign"]), OPERATOR, st.sampled_from(["flag", "sign"])),
    st.builds(Prefix, st.just("name"), TEXTS),
    st.builds(IsNull, COLUMN),
    st.sampled_from([Always(), Never()]),
)
PREDICATES: st.SearchStrategy[Predicate] = st.recursive(
    ATOMS,
    lambda inner: st.one_of(
        st.builds(And, st.lists(inner, min_size=2, max_size=4).map(tuple)),
        st.builds(Or, st.lists(inner, min_size=2, max_size=4).map(tuple)),
        st.builds(Not, inner),
    ),
    max_leaves=8,
)


class Rows:
    """Rows as a batch of Arrow columns, in two chunks."""

    def __init__(self, given: list[dict[str, Any]]) -> None:
        self.size = len(given)
        half = self.size // 2
        self._columns = {
            name: pa.chunked_array(
                [pa.array([r[name] for r in part], kind) for part in (given[:half], given[half:])], kind
            )
            for name, kind in TYPES.items()
        }

    def column(self, name: str) -> pa.ChunkedArray:
        return self._columns[name]
