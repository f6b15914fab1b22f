"""What a factor is about (an axis), and values turned into codes: whole numbers whose order is that of the values.

An axis is a column, or the difference of two: `a < b + 5` says that `a - b` is below 5, so it is an interval like any other.
Numbers, dates, timestamps and booleans have codes that fit 64 bits, whichever constants there are. Text is
*ranked*: its code is the number of constants (cuts) that are not greater, so it depends on who asks.

Invariant. For a constant c, `at(c)` is the least code that is not below c, `after(c)` the least one above it. So every
comparison is a half-open span of codes, and NaN is equal to itself and greater than every other number, as in SQL.
"""

from __future__ import annotations

import math
import struct
from bisect import bisect_right
from collections.abc import Callable, Sequence
from datetime import date
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from millpond.predicate.columns import MOST_DIGITS, Bools, Columns
from millpond.predicate.form import CompareColumns
from millpond.schema import INTEGERS, DataType, Schema
from millpond.standing.index.hashes import UInt64s, hashed

Int64s = npt.NDArray[np.int64]
Int32s = npt.NDArray[np.int32]
Code = Any  # an int; of text, the text itself

LEAST, END = -(1 << 63), 1 << 63
GREATEST = END - 1
_DAY_ZERO = date(1970, 1, 1).toordinal()
_NAN = struct.unpack("<q", struct.pack("<d", math.nan))[0] & GREATEST


class Axis(NamedTuple):
    """A column; or, with `right`, the difference `left - right`."""

    left: str
    right: str = ""


class Numbers:
    """Codes of a column of whole numbers, dates, timestamps, booleans or short decimals: the number without its point."""

    ranked = False
    least: Code = LEAST
    end: Code = END

    def __init__(self, kind: DataType) -> None:
        self._factor = 10**kind.scale if kind.name == "DECIMAL" else 1

    def at(self, value: Any) -> Code:
        code = value * self._factor if type(value) is int else self._rounded(value, math.ceil)
        return LEAST if code < LEAST else END if code > END else code

    def after(self, value: Any) -> Code:
        code = (value * self._factor if type(value) is int else self._rounded(value, math.floor)) + 1
        return LEAST if code < LEAST else END if code > END else code

    def _rounded(self, value: Any, rounded: Callable[[Fraction], int]) -> int:
        return value.toordinal() - _DAY_ZERO if isinstance(value, date) else rounded(Fraction(value) * self._factor)


class Reals:
    """Codes of a column of floating point numbers: their bits, so arranged that the order is that of the numbers."""

    ranked = False
    least: Code = LEAST
    end: Code = END

    def at(self, value: Any) -> Code:
        bits: int = struct.unpack("<q", struct.pack("<d", value + 0.0))[0]
        return bits ^ GREATEST if bits < 0 else bits

    def after(self, value: Any) -> Code:
        return self.at(value) + 1


class Texts:
    """Text is its own code: the least text after t is t and a zero byte."""

    ranked = True
    least: Code = ""
    end: Code = None

    def at(self, value: Any) -> Code:
        return value

    def after(self, value: Any) -> Code:
        return value + "\0"


Kind = Numbers | Reals | Texts


class Axes:
    """The axes that a table's columns give."""

    def __init__(self, schema: Schema) -> None:
        self._types = {c.name: c.type for c in schema}
        self.columns = {name: (Axis(name), _kind(kind)) for name, kind in self._types.items()}

    def kind(self, axis: Axis) -> Kind:
        return self.columns[axis.left][1]

    def of_difference(self, factor: CompareColumns) -> Axis | None:
        """The difference that a factor compares with its offset, where that can be said exactly.

        A difference that does not fit 64 bits is taken for the nearest that does, so it is not compared with the last ones. Of
        floating numbers codes are subtracted, which tells which one is greater and no more.
        """
        left, right = self._types[factor.left], self._types[factor.right]
        names = {left.name, right.name}
        if names <= {"FLOAT", "DOUBLE"}:
            exact = factor.offset == 0
        elif names == {"DECIMAL"}:
            exact = left.scale == right.scale
        else:
            exact = names <= {*INTEGERS, "DATE", "TIMESTAMP"} and LEAST < factor.offset < GREATEST
        return Axis(factor.left, factor.right) if exact else None

    def place(self, axis: Axis) -> tuple[int, int]:
        """Where an axis stands in the order of the columns: to choose the same whatever the order of factors."""
        names = list(self._types)
        return names.index(axis.left), names.index(axis.right) if axis.right else -1


def _kind(kind: DataType) -> Kind:
    if kind.name in ("FLOAT", "DOUBLE"):
        return Reals()
    if kind.name in ("STRING", "BINARY") or (kind.name == "DECIMAL" and kind.precision > MOST_DIGITS):
        return Texts()  # those that are no text can only be NULL or not
    return Numbers(kind)


class Batch:
    """The rows of a batch as codes, each column turned once. For one thread."""

    def __init__(self, columns: Columns, axes: Axes) -> None:
        self.columns = columns
        self.size = columns.size
        self._axes = axes
        self._codes: dict[Axis, Int64s] = {}
        self._nulls: dict[Axis, Bools | None] = {}
        self._hashes: dict[tuple[str, int], UInt64s] = {}
        self._unique: dict[str, tuple[list[Code], Int32s]] = {}

    def codes(self, axis: Axis, cuts: Sequence[Code] | None = None) -> Int64s:
        """The codes of all rows; any where NULL. A ranked column is asked with the cuts that its values are ranked among."""
        if cuts is not None:
            return self._ranks(axis.left, cuts)
        found = self._codes.get(axis)
        if found is None:
            if axis.right:
                found = _difference(self.codes(Axis(axis.left)), self.codes(Axis(axis.right)))
            else:
                found = _codes(self.columns, axis.left, self._axes.kind(axis))
            self._codes[axis] = found
        return found

    def nulls(self, axis: Axis) -> Bools | None:
        """Where an axis is NULL; None if nowhere."""
        if axis not in self._nulls:
            nulls = self.columns.nulls(axis.left)
            other = self.columns.nulls(axis.right) if axis.right else None
            self._nulls[axis] = other if nulls is None else nulls if other is None else nulls | other
        return self._nulls[axis]

    def texts(self, name: str) -> pa.Array:
        """A column of text in one piece."""
        return _whole(self.columns.arrow(name))

    def hashes(self, name: str, seed: int) -> UInt64s:
        """Hashes of a column of text."""
        found = self._hashes.get((name, seed))
        if found is None:
            found = self._hashes[name, seed] = hashed(self.texts(name), seed)
        return found

    def _ranks(self, name: str, cuts: Sequence[Code]) -> Int64s:
        if not cuts:
            return np.zeros(self.size, dtype=np.int64)
        if name not in self._unique:
            encoded = _whole(self.columns.arrow(name)).dictionary_encode()
            index: Int32s = encoded.indices.fill_null(0).to_numpy(zero_copy_only=False)
            self._unique[name] = encoded.dictionary.to_pylist(), index
        values, index = self._unique[name]
        if not values:  # all NULL
            return np.zeros(self.size, dtype=np.int64)
        ranks = np.fromiter((bisect_right(cuts, v) for v in values), dtype=np.int64, count=len(values))
        return ranks[index]


def _codes(columns: Columns, name: str, kind: Kind) -> Int64s:
    if isinstance(kind, Reals):
        numbers = columns.numbers(name) + 0.0  # -0.0 is 0.0
        bits = numbers.view(np.int64)
        codes = bits ^ ((bits >> 63) & GREATEST)
        codes[np.isnan(numbers)] = _NAN
        return codes
    return columns.numbers(name).astype(np.int64, copy=False)


def _difference(left: Int64s, right: Int64s) -> Int64s:
    """left - right; where that does not fit, the nearest that does."""
    found = left - right
    beyond = ((left ^ right) & (left ^ found)) < 0
    if beyond.any():
        found[beyond] = np.where(left[beyond] < 0, LEAST, GREATEST)
    return found


def _whole(column: pa.Array | pa.ChunkedArray) -> pa.Array:
    """A column in one piece."""
    if not isinstance(column, pa.ChunkedArray):
        return column
    if column.num_chunks == 1:
        return column.chunk(0)
    return pa.concat_arrays(column.chunks) if column.num_chunks else pa.array([], column.type)
