"""Sums that do not depend on the order of addition: of doubles and of decimals, as whole numbers.

A DOUBLE is a multiple of 2**-1127 (smaller than the smallest), so doubles add up exactly as Python's integers. The sum is rounded
once, when it is shown: the double nearest to the true sum. It is the same whatever batches the rows came in and however often
the state was built anew. An engine that adds one double after the other rounds at each step, and ends some bits off.
"""

from __future__ import annotations

import decimal
import math
from decimal import Decimal

import numpy as np
import numpy.typing as npt
import pyarrow as pa

Ints = npt.NDArray[np.int64]
Objects = npt.NDArray[np.object_]
Floats = npt.NDArray[np.float64]

_POINT = 1127
_ONE = 1 << _POINT
_MANTISSA = 53
_CONTEXT = decimal.Context(prec=80)
_SIGN = np.int64(-(2**63))
_NAN = np.int64(np.array([np.nan]).view(np.int64)[0] & np.int64(2**63 - 1))


def whole_doubles(values: Floats) -> Objects:
    """Finite doubles as whole numbers; 0 for those that are not finite."""
    parts, exponents = np.frexp(np.where(np.isfinite(values), values, 0.0))
    numbers = np.ldexp(parts, _MANTISSA).astype(np.int64).astype(object)
    shifts = (exponents.astype(np.int64) + (_POINT - _MANTISSA)).astype(object)
    found: Objects = np.left_shift(numbers, shifts)
    return found


def rounded_double(total: int) -> float:
    """The double nearest to a sum."""
    try:
        return total / _ONE
    except OverflowError:
        return math.inf if total > 0 else -math.inf


def in_order(values: Floats) -> Ints:
    """Doubles as integers of the same order, in which NaN is the largest and all of them, and both zeros, are one."""
    plain = np.where(values == 0, 0.0, values)
    bits = plain.view(np.int64)
    found = np.where(bits < 0, np.bitwise_xor(np.bitwise_not(bits), _SIGN), bits)
    return np.where(np.isnan(plain), _NAN, found)


def out_of_order(numbers: Ints) -> Floats:
    """What `in_order` made them of."""
    bits = np.where(numbers < 0, np.bitwise_not(np.bitwise_xor(numbers, _SIGN)), numbers)
    return bits.view(np.float64)


def whole_decimals(column: pa.ChunkedArray) -> Objects:
    """Decimals as whole numbers of their last place; 0 for NULL."""
    places = column.type.scale
    found = np.empty(len(column), dtype=object)
    found[:] = [0 if v is None else int(v.scaleb(places, _CONTEXT)) for v in column.to_pylist()]
    return found


def as_decimals(numbers: Objects, places: int) -> Objects:
    found = np.empty(len(numbers), dtype=object)
    found[:] = [Decimal(int(n)).scaleb(-places, _CONTEXT) for n in numbers]
    return found


def divided(totals: Objects, counts: Ints) -> Objects:
    """The averages of decimals, in whole numbers of four more places, half away from zero."""
    found = np.empty(len(totals), dtype=object)
    found[:] = [_half_up(int(t) * 10_000, max(int(c), 1)) for t, c in zip(totals, counts, strict=True)]
    return found


def _half_up(number: int, count: int) -> int:
    size = (2 * abs(number) + count) // (2 * count)
    return size if number >= 0 else -size
