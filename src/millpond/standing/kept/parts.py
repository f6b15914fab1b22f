"""The parts that aggregates are put together from: counts, sums, least and greatest values.

A part of several rows follows from the parts of some of them and of the others, in any order: counts and sums add up, the least
of two is the least. So a node of a tree holds the parts of all rows below it, and a question joins a few nodes.

Sums are exact. BIGINT and DECIMAL are added as two numbers of 32 bits each, so that no sum of parts overflows where the sum of
the whole does not. A DOUBLE is a whole number of 2**-140, added as eight numbers of 32 bits each; a sum is rounded once, when it
is shown. A double that is too large or too small for that sets a flag, and whoever shows the sum adds up the rows themselves.

NULLs count for nothing. As Spark has it NaN is greater than every number, and both zeros are one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from decimal import Context, Decimal
from fractions import Fraction
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from millpond.arrow import integers
from millpond.errors import EngineError

Ints = npt.NDArray[np.int64]
Array = npt.NDArray[Any]
Bools = npt.NDArray[np.bool_]
Function = Literal["count", "sum", "avg", "min", "max"]

LOST = 8  # a double that is not in the sum
_NAN, _UP, _DOWN = 1, 2, 4
_LIMB = np.int64(0xFFFFFFFF)
_LIMBS = 8  # of a sum of doubles
_POINT = 140
_MANTISSA = 53
_CONTEXT = Context(prec=80)
_INT64 = np.iinfo(np.int64)


@dataclass(frozen=True)
class Measure:
    """COUNT, SUM, AVG, MIN or MAX of a column; COUNT(*) without one."""

    function: Function
    column: str | None = None


@dataclass(frozen=True)
class Values:
    """A column as numbers: whole numbers, doubles, or texts as Python has them. `valid` is None if nothing is NULL."""

    numbers: Array
    valid: Bools | None

    def at(self, places: slice | npt.NDArray[Any]) -> Values:
        return Values(self.numbers[places], None if self.valid is None else self.valid[places])

    @property
    def bytes(self) -> int:
        size = self.numbers.nbytes + (0 if self.valid is None else self.valid.nbytes)
        if self.numbers.dtype == object:
            size += sum({id(v): len(v) + 49 for v in self.numbers if v is not None}.values())
        return size


def joined(values: Sequence[Values]) -> Values:
    numbers = np.concatenate([v.numbers for v in values])
    if all(v.valid is None for v in values):
        return Values(numbers, None)
    valid = [np.ones(len(v.numbers), dtype=np.bool_) if v.valid is None else v.valid for v in values]
    return Values(numbers, np.concatenate(valid))


@dataclass(frozen=True)
class Part:
    """`lift` makes the part of each single row, `join` makes one of many."""

    name: str
    column: str | None
    lift: Callable[[Values], Array]
    join: np.ufunc


def serves(function: str, kind: pa.DataType | None) -> bool:
    """Whether a measure of a column of this type can be kept; `kind` is None for COUNT(*)."""
    if function not in ("count", "sum", "avg", "min", "max") or kind is None:
        return function == "count"
    if function == "count":
        return True
    number = pa.types.is_signed_integer(kind) or kind in (pa.float32(), pa.float64())
    number = number or (pa.types.is_decimal128(kind) and kind.precision <= 18)
    return number or (function in ("min", "max") and (_counts_up(kind) or pa.types.is_string(kind)))


def parts_of(measures: Iterable[Measure], schema: pa.Schema) -> tuple[Part, ...]:
    """What has to be held for these measures, each part once."""
    found: dict[tuple[str, str | None], Part] = {}
    for measure in measures:
        kind = None if measure.column is None else schema.field(measure.column).type
        assert serves(measure.function, kind), f"{measure.function} of {kind}"
        for part in _parts(measure, kind):
            found[part.name, part.column] = part
    return (_ROWS, *found.values())


def _parts(measure: Measure, kind: pa.DataType | None) -> list[Part]:
    column = measure.column
    if column is None:
        return []
    found = [Part("valid", column, _lift_valid, np.add)]
    floats, texts = pa.types.is_floating(kind), pa.types.is_string(kind)
    if measure.function in ("sum", "avg"):
        if floats:
            found.append(Part("sum", column, _lift_double, np.add))
            found.append(Part("odd", column, _lift_odd, np.bitwise_or))
        elif is_wide(kind):
            found.append(Part("sum", column, _lift_wide, np.add))
        else:
            found.append(Part("sum", column, lambda v: _filled(v, 0), np.add))
    elif measure.function == "min":
        if texts:
            found.append(Part("min", column, lambda v: _filled(v, None), _LEAST))
        else:
            missing: float = np.nan if floats else _INT64.max
            found.append(Part("min", column, lambda v: _filled(v, missing), np.fmin))
    elif measure.function == "max":
        if texts:
            found.append(Part("max", column, lambda v: _filled(v, None), _GREATEST))
        else:
            least: float = -np.inf if floats else _INT64.min
            found.append(Part("max", column, lambda v: _filled(v, least), np.maximum))
    return found


def is_wide(kind: pa.DataType) -> bool:
    """Whether a sum of values of this type needs more than 64 bits."""
    return bool(kind == pa.int64() or pa.types.is_decimal(kind))


def _counts_up(kind: pa.DataType) -> bool:
    return bool(kind == pa.date32() or (pa.types.is_timestamp(kind) and kind.unit == "us"))


_LEAST = np.frompyfunc(lambda a, b: b if a is None or (b is not None and b < a) else a, 2, 1)
_GREATEST = np.frompyfunc(lambda a, b: b if a is None or (b is not None and b > a) else a, 2, 1)


# -- columns to parts -----------------------------------------------------------------------------------------------


def values_of(column: pa.ChunkedArray, *, wanted: bool = True) -> Values:
    """A column as numbers. If only its NULLs are of interest, the numbers are zeros."""
    kind = column.type
    valid: Bools | None = None
    if column.null_count:
        valid = column.is_valid().combine_chunks().to_numpy(zero_copy_only=False)
    if not wanted:
        return Values(np.zeros(len(column), dtype=np.int8), valid)
    if pa.types.is_string(kind):
        return Values(_texts(column), valid)
    if pa.types.is_decimal(kind):
        return Values(_unscaled(column, kind), valid)
    if pa.types.is_floating(kind):
        doubles = pc.cast(column, pa.float64())
        if valid is not None:
            doubles = doubles.fill_null(0.0)
        whole = _one(doubles)
        numbers = np.frombuffer(whole.buffers()[1], np.float64)[whole.offset : whole.offset + len(whole)]
        return Values(numbers + 0.0, valid)  # which makes one zero of two
    if valid is not None:
        column = column.fill_null(pa.scalar(0, kind))
    return Values(integers(column).astype(np.int64), valid)


def _one(column: pa.ChunkedArray) -> pa.Array:
    return pa.concat_arrays(column.chunks) if column.num_chunks else pa.array([], column.type)


def _texts(column: pa.ChunkedArray) -> Array:
    """Texts as Python's, equal ones as one object."""
    coded = _one(column).dictionary_encode()
    names = np.empty(len(coded.dictionary) + 1, dtype=object)
    names[:-1] = coded.dictionary.to_pylist()
    found: Array = names[integers(coded.indices.fill_null(len(coded.dictionary)))]
    return found


def _unscaled(column: pa.ChunkedArray, kind: pa.DataType) -> Ints:
    """Decimals of up to 18 digits as whole numbers of their last place; any number for NULL."""
    whole = _one(column)
    if not len(whole):
        return np.zeros(0, dtype=np.int64)
    words = np.frombuffer(whole.buffers()[1], np.int64)  # of 128 bits the lower 64 are the number
    return words[2 * whole.offset : 2 * (whole.offset + len(whole)) : 2].copy()


def _lift_valid(values: Values) -> Array:
    return np.ones(len(values.numbers), dtype=np.int64) if values.valid is None else values.valid.astype(np.int64)


_ROWS = Part("rows", None, lambda v: np.ones(len(v.numbers), dtype=np.int64), np.add)


def _filled(values: Values, missing: Any) -> Array:
    if values.valid is None:
        return values.numbers
    if values.numbers.dtype == object:
        return values.numbers  # a text that is NULL is None already
    return np.where(values.valid, values.numbers, missing)


def _lift_wide(values: Values) -> Array:
    numbers = _filled(values, 0)
    return np.stack([numbers & _LIMB, numbers >> 32], axis=1)


def _fitting(numbers: Array) -> tuple[Ints, Ints, Bools]:
    """Doubles as mantissas and places above the point; which of them can be had so."""
    parts, exponents = np.frexp(np.where(np.isfinite(numbers), numbers, 0.0))
    places = exponents.astype(np.int64) + (_POINT - _MANTISSA)
    fits = ((places >= 0) & (places < 32 * (_LIMBS - 2))) | (parts == 0)
    return np.ldexp(parts, _MANTISSA).astype(np.int64), places, fits


def _lift_double(values: Values) -> Array:
    mantissas, places, fits = _fitting(_filled(values, 0.0))
    mantissas, places = np.where(fits, mantissas, 0), np.where(fits, places, 0)
    signs, sizes = np.sign(mantissas), np.abs(mantissas)
    limb, shift = places >> 5, (places & 31).astype(np.uint64)
    low = (sizes & _LIMB).astype(np.uint64) << shift
    high = ((sizes >> 32).astype(np.uint64) << shift) + (low >> np.uint64(32))
    found = np.zeros((len(mantissas), _LIMBS), dtype=np.int64)
    rows = np.arange(len(mantissas))
    for i, word in enumerate((low & np.uint64(_LIMB), high & np.uint64(_LIMB), high >> np.uint64(32))):
        found[rows, limb + i] = word.astype(np.int64) * signs
    return found


def _lift_odd(values: Values) -> Array:
    numbers = _filled(values, 0.0)
    fits = _fitting(numbers)[2]
    found = np.where(np.isnan(numbers), _NAN, np.where(fits, 0, LOST))
    found = np.where(numbers == np.inf, _UP, np.where(numbers == -np.inf, _DOWN, found))
    return found.astype(np.uint8)


# -- parts to answers -----------------------------------------------------------------------------------------------


def whole_sums(sums: Array) -> list[int]:
    """Sums that are held in several numbers, as Python's."""
    return [sum(int(limb) << (32 * i) for i, limb in enumerate(row)) for row in sums]


def exact_sum(numbers: Iterable[float]) -> float:
    """The double nearest to a sum of finite doubles of any size."""
    total = sum(map(Fraction, numbers), Fraction(0))
    try:
        return float(total)
    except OverflowError:
        return np.inf if total > 0 else -np.inf


def rounded_double(total: int) -> float:
    return total / (1 << _POINT)


def with_odd(total: float, flags: int) -> float:
    """A sum with what is not finite among the doubles."""
    if flags & _NAN or flags & (_UP | _DOWN) == _UP | _DOWN:
        return np.nan
    return np.inf if flags & _UP else -np.inf if flags & _DOWN else total


def shown(measure: Measure, kind: pa.DataType | None, count: Ints, value: Array | None) -> pa.Array:
    """An aggregate as a column of the type that Spark gives it. `count` is of the values that are not NULL.

    `value` are sums (Python's for BIGINT, DECIMAL, and doubles, which are rounded already), least or greatest values.
    """
    if measure.function == "count":
        return pa.array(count)
    assert kind is not None
    assert value is not None
    nulls = count == 0
    if measure.function in ("min", "max"):
        return _extreme(value, nulls, kind)
    if pa.types.is_decimal(kind):
        more = (10, 0) if measure.function == "sum" else (4, 4)
        result = pa.decimal128(kind.precision + more[0], kind.scale + more[1])
        numbers = value.tolist()
        if measure.function == "avg":
            numbers = [_half_up(int(t) * 10_000, max(int(c), 1)) for t, c in zip(numbers, count, strict=True)]
        if any(abs(n) >= 10**result.precision for n in numbers):
            raise EngineError(f'the sum of "{measure.column}" is too large for {str(result).upper()}')
        return _decimals(numbers, nulls, result)
    if measure.function == "avg":
        doubles = np.array([float(v) for v in value], dtype=np.float64)
        return pa.array(doubles / np.maximum(count, 1), mask=nulls)
    if pa.types.is_floating(kind):
        return pa.array(np.array(value, dtype=np.float64), mask=nulls)
    if any(not _INT64.min <= v <= _INT64.max for v in value):
        raise EngineError(f'the sum of "{measure.column}" is too large for BIGINT')
    return pa.array(np.array(value, dtype=np.int64), mask=nulls)


def _extreme(value: Array, nulls: Bools, kind: pa.DataType) -> pa.Array:
    if pa.types.is_string(kind):
        return pa.array(value.tolist(), kind)
    if pa.types.is_decimal(kind):
        return _decimals(value, nulls, kind)
    found = pa.array(value, mask=nulls)
    return (found.cast(pa.int32()) if kind == pa.date32() else found).cast(kind)


def _decimals(numbers: Iterable[int], nulls: Bools, kind: pa.DataType) -> pa.Array:
    found = [
        None if null else Decimal(int(n)).scaleb(-kind.scale, _CONTEXT) for n, null in zip(numbers, nulls, strict=True)
    ]
    return pa.array(found, kind)


def _half_up(number: int, count: int) -> int:
    size = (2 * abs(number) + count) // (2 * count)
    return size if number >= 0 else -size
