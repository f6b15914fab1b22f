"""Where single atoms are true, over the arrays of a batch.

To NumPy NaN is neither less than, equal to nor greater than anything; in SQL it equals itself and is greater than all else.
Constants are never NaN, so `x > c` is all that is not `x <= c`. A decimal constant with more digits than the column's scale lies
between two neighbours of the column, and a comparison with the lower one says the same.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import date
from decimal import Decimal
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from millpond.predicate.columns import Bools, Columns, Numbers, to_bools
from millpond.predicate.form import MIRRORED, OPPOSITE, Among, Compare, CompareColumns, IsNull, Operator, Prefix, Value

Test = Callable[[Columns], Bools]

_NUMPY: Final[dict[Operator, Any]] = {
    "=": np.equal, "<>": np.not_equal, "<": np.less, "<=": np.less_equal, ">": np.greater, ">=": np.greater_equal,
}  # fmt: skip
_ARROW: Final[dict[Operator, Any]] = {
    "=": pc.equal, "<>": pc.not_equal, "<": pc.less, "<=": pc.less_equal, ">": pc.greater, ">=": pc.greater_equal,
}  # fmt: skip
_LEAST, _GREATEST = -(1 << 63), (1 << 63) - 1
_DAY_ZERO = date(1970, 1, 1).toordinal()
_FAR = 4 * 10**18  # from each other no two decimals of 18 digits are; and a decimal and it fit 64 bits


# -- constants ----------------------------------------------------------------------------------------------------------


def compare(atom: Compare) -> Test:
    column, operator, value = atom.column, atom.operator, atom.value
    if isinstance(value, str):
        return _compare_text(column, operator, value)
    if isinstance(value, float):
        return _compare_float(column, operator, value)
    if isinstance(value, Decimal):
        return _compare_decimal(column, operator, value)
    operate, number, kind = _NUMPY[operator], _number(value), atom.kind
    return lambda columns: known(operate(columns.numbers(column, kind), number), columns.nulls(column))


def _compare_text(column: str, operator: Operator, text: str) -> Test:
    function = _ARROW[operator]

    def run(columns: Columns) -> Bools:
        values = columns.arrow(column)
        return to_bools(function(values, pa.scalar(text, values.type)))

    return run


def _compare_float(column: str, operator: Operator, value: float) -> Test:
    if operator in (">", ">="):
        operate = _NUMPY[OPPOSITE[operator]]

        def run(columns: Columns) -> Bools:
            less = operate(columns.numbers(column, float), value)
            return known(np.logical_not(less, out=less), columns.nulls(column))

        return run
    operate = _NUMPY[operator]
    return lambda columns: known(operate(columns.numbers(column, float), value), columns.nulls(column))


def _compare_decimal(column: str, operator: Operator, value: Decimal) -> Test:
    def run(columns: Columns) -> Bools:
        numbers = columns.numbers(column, Decimal)
        found = whole(operator, value, columns.scale(column))
        if isinstance(found, bool):
            return known(np.full(columns.size, found), columns.nulls(column))
        sign, number = found
        return known(_NUMPY[sign](numbers, number), columns.nulls(column))

    return run


def whole(operator: Operator, value: Decimal, scale: int) -> tuple[Operator, int] | bool:
    """What a comparison with a decimal means for decimals of one scale, as whole numbers: a comparison with a whole number, or
    the same for all.

    >>> whole("<", Decimal("19.995"), 2)
    ('<=', 1999)
    >>> whole("=", Decimal("19.995"), 2)
    False
    """
    numerator, denominator = value.as_integer_ratio()
    number, rest = divmod(numerator * 10**scale, denominator)
    if not rest:
        return operator, number
    if operator in ("=", "<>"):
        return operator == "<>"
    return ("<=" if operator in ("<", "<=") else ">"), number


def among(atom: Among) -> Test:
    column, values = atom.column, atom.values
    if atom.kind is str:
        texts = pa.array(list(values))

        def run_text(columns: Columns) -> Bools:
            found = columns.arrow(column)
            return to_bools(pc.is_in(found, value_set=texts.cast(found.type)))

        return run_text
    if atom.kind is float:
        floats = np.sort(np.array(list(values), dtype=np.float64))
        return lambda columns: known(np.isin(columns.numbers(column, float), floats), columns.nulls(column))
    if atom.kind is Decimal:

        def run_decimals(columns: Columns) -> Bools:
            numbers, scale = columns.numbers(column, Decimal), columns.scale(column)
            scaled = [whole("=", value, scale) for value in values]  # type: ignore[arg-type]
            wanted = _int64([each[1] for each in scaled if not isinstance(each, bool)])
            return known(np.isin(numbers, wanted), columns.nulls(column))

        return run_decimals
    wanted, kind = _int64(list(map(_number, values))), atom.kind
    return lambda columns: known(np.isin(columns.numbers(column, kind), wanted), columns.nulls(column))


def _int64(numbers: list[int]) -> Numbers:
    return np.sort(np.array([n for n in numbers if _LEAST <= n <= _GREATEST], dtype=np.int64))


# -- two columns ----------------------------------------------------------------------------------------------------------


def compare_columns(atom: CompareColumns) -> Test:
    def run(columns: Columns) -> Bools:
        left, right = columns.numbers(atom.left), columns.numbers(atom.right)
        kinds = {columns.kind(atom.left), columns.kind(atom.right)}
        if float in kinds:
            assert kinds <= {float, int}, atom
            assert not atom.offset or atom.kind is float, atom
            true = _ordered(left, atom.operator, right, float(atom.offset))
        elif kinds == {Decimal}:
            scale = columns.scale(atom.left)
            assert scale == columns.scale(atom.right), "decimals of one scale"
            true = _shifted(left, whole(atom.operator, Decimal(atom.offset), scale), right)
        else:
            assert len(kinds) == 1, atom
            assert isinstance(atom.offset, int), atom
            true = _exact(left, atom.operator, right, atom.offset)
        return known(known(true, columns.nulls(atom.left)), columns.nulls(atom.right))

    return run


def _shifted(left: Numbers, comparison: tuple[Operator, int] | bool, right: Numbers) -> Bools:
    """Decimals as whole numbers: left, compared with right plus a number."""
    if isinstance(comparison, bool):
        return np.full(len(left), comparison)
    operator, offset = comparison
    true: Bools = _NUMPY[operator](left, right + max(-_FAR, min(offset, _FAR)))
    return true


def _exact(left: Numbers, operator: Operator, right: Numbers, offset: int) -> Bools:
    """Whole numbers; where the sum does not fit, it is greater or less than every value."""
    operate = _NUMPY[operator]
    if not offset:
        plain: Bools = operate(left, right)
        return plain
    right = right.astype(np.int64)
    true = operate(left, right + offset)
    if offset > 0:
        return np.where(right > _GREATEST - offset, operator in ("<", "<=", "<>"), true)
    return np.where(right < _LEAST - offset, operator in (">", ">=", "<>"), true)


def _ordered(left: Numbers, operator: Operator, right: Numbers, offset: float) -> Bools:
    """Floating numbers, of which NaN is the last. Whole numbers of up to 32 bits are exact as a DOUBLE."""
    assert all(side.dtype == np.float64 or side.dtype.itemsize <= 4 for side in (left, right))
    if offset:
        with np.errstate(over="ignore", invalid="ignore"):
            right = right + offset
    if operator in (">", ">="):
        left, right, operator = right, left, MIRRORED[operator]
    if operator == "<":
        return ~_at_most(right, left)
    if operator == "<=":
        return _at_most(left, right)
    equal: Bools = (left == right) | (np.isnan(left) & np.isnan(right))
    return equal if operator == "=" else ~equal


def _at_most(left: Numbers, right: Numbers) -> Bools:
    true: Bools = (left <= right) | np.isnan(right)
    return true


# -- the rest -----------------------------------------------------------------------------------------------------------


def prefix(atom: Prefix) -> Test:
    return lambda columns: to_bools(pc.starts_with(columns.arrow(atom.column), pattern=atom.text))


def is_null(atom: IsNull) -> Test:
    def run(columns: Columns) -> Bools:
        nulls = columns.nulls(atom.column)
        return np.zeros(columns.size, dtype=np.bool_) if nulls is None else nulls

    return run


def _number(value: Value) -> int:
    assert isinstance(value, int | date)
    return value.toordinal() - _DAY_ZERO if isinstance(value, date) else int(value)


def known(true: Bools, nulls: Bools | None) -> Bools:
    """Without what is true of a NULL."""
    return true if nulls is None else true & ~nulls
