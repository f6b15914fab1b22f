"""Predicates evaluated row by row in three-valued logic: what the fast evaluation is compared with."""

from __future__ import annotations

import operator
from collections.abc import Mapping
from datetime import date, timedelta
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
            return bool(OPERATORS[sign](row[column], value))
        case CompareColumns(left, sign, right, offset):
            other = row[right] + (timedelta(offset) if isinstance(row[right], date) else offset)
            return bool(OPERATORS[sign](row[left], other))
        case Among(column, values):
            return row[column] in values
        case Prefix(column, text):
            return bool(row[column].startswith(text))
    raise AssertionError(predicate)


# -- samples: few values, so that they meet, and the extremes of each type ---------------------------------------------

BITS = {"tiny": 8, "whole": 32, "big": 64, "other": 64}
TYPES = {
    "tiny": pa.int8(), "whole": pa.int32(), "big": pa.int64(), "other": pa.int64(), "name": pa.string(),
    "day": pa.date32(), "at": pa.timestamp("us", tz="UTC"), "until": pa.timestamp("us", tz="UTC"),
}  # fmt: skip
NUMBERS = [*BITS, "at", "until"]


def _within(bits: int) -> st.SearchStrategy[int]:
    least, greatest = -(1 << (bits - 1)), (1 << (bits - 1)) - 1
    return st.integers(-2, 2) | st.sampled_from([least, least + 1, greatest - 1, greatest])


TEXTS = st.text(st.sampled_from("aAb%_\\é\ud7ff\ue000\U0010ffff"), max_size=3)
DAYS = st.sampled_from([date.min, date(1969, 12, 31), date(1970, 1, 1), date(2024, 2, 29), date.max])
CONSTANTS = _within(8) | _within(32) | _within(64) | st.sampled_from([1 << 63, -(1 << 63) - 1, 10**30])
VALUES: dict[str, st.SearchStrategy[Any]] = {
    **{name: _within(bits) for name, bits in BITS.items()}, "name": TEXTS, "day": DAYS, "at": _within(64), "until": _within(64),
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
    return CONSTANTS if column in NUMBERS else VALUES[column]


OPERATOR = st.sampled_from(sorted(OPERATORS))
COLUMN = st.sampled_from(sorted(VALUES))
ATOMS: st.SearchStrategy[Predicate] = st.one_of(
    COLUMN.flatmap(lambda c: st.builds(Compare, st.just(c), OPERATOR, _constants(c))),
    COLUMN.flatmap(lambda c: st.builds(Among, st.just(c), st.frozensets(_constants(c), min_size=1, max_size=12))),
    st.builds(CompareColumns, st.sampled_from(NUMBERS), OPERATOR, st.sampled_from(NUMBERS), _within(8) | _within(64)),
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
