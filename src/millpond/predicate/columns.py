"""The columns of a batch as NumPy arrays whose values compare as the column's do.

Whole numbers, dates (in days) and timestamps (in microseconds) are integers. FLOAT and DOUBLE are 64-bit floats, because SQL
compares a FLOAT with numbers as a DOUBLE. A DECIMAL of at most 18 digits is the integer that it is without its point, which fits
64 bits. A truth value is 0 or 1. NumPy sorts NaN last, as SQL does, but compares it otherwise: see `atoms`.
"""

from __future__ import annotations

from datetime import date
from decimal import Decimal
from typing import Any, Final, Protocol

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from millpond.arrow import integers
from millpond.predicate.form import Value

Bools = npt.NDArray[np.bool_]
Numbers = npt.NDArray[Any]

MOST_DIGITS: Final = 18
"""Of a DECIMAL that fits 64 bits."""


class ColumnBatch(Protocol):
    """Rows whose columns can be had one by one."""

    @property
    def size(self) -> int:
        """How many rows."""

    def column(self, name: str) -> pa.ChunkedArray:
        """A column of all rows."""


class Columns:
    """The columns of a batch as arrays, and the atoms already evaluated over them. For one thread."""

    def __init__(self, rows: ColumnBatch) -> None:
        self._rows = rows
        self._numbers: dict[str, Numbers] = {}
        self._nulls: dict[str, Bools | None] = {}
        self._kinds: dict[str, type[Value]] = {}
        self.known: dict[object, Bools] = {}
        # Columns that the rows do not have, computed of them: None if that cannot be done.
        self.given: dict[str, pa.ChunkedArray | None] = {}
        self.size = rows.size

    def arrow(self, name: str) -> pa.ChunkedArray:
        given = self.given.get(name)
        return self._rows.column(name) if given is None else given

    def numbers(self, name: str, constant: type[Value] | None = None) -> Numbers:
        """The values of a column that is no text as numbers; any value where NULL. `constant` is the type of what they are
        compared with, which must be the column's."""
        found = self._numbers.get(name)
        if found is None:
            found = self._numbers[name] = _numbers(self.arrow(name))
        assert constant is None or constant is self.kind(name), f"{constant} beside {self.arrow(name).type}"
        return found

    def kind(self, name: str) -> type[Value]:
        """The type of constants that the column is compared with."""
        found = self._kinds.get(name)
        if found is None:
            found = self._kinds[name] = _kind(self.arrow(name).type)
        return found

    def scale(self, name: str) -> int:
        """Of a DECIMAL: by how many digits its numbers are shifted."""
        scale: int = self.arrow(name).type.scale
        return scale

    def nulls(self, name: str) -> Bools | None:
        """Where a column is NULL; None if nowhere."""
        if name not in self._nulls:
            column = self.arrow(name)
            self._nulls[name] = to_bools(column.is_null()) if column.null_count else None
        return self._nulls[name]


def _kind(kind: pa.DataType) -> type[Value]:
    if pa.types.is_boolean(kind):
        return bool
    if pa.types.is_floating(kind):
        return float
    if pa.types.is_decimal(kind):
        return Decimal
    return date if pa.types.is_date(kind) else str if pa.types.is_string(kind) else int


def _numbers(column: pa.ChunkedArray) -> Numbers:
    kind = column.type
    if pa.types.is_boolean(kind):
        return to_bools(column).view(np.int8)
    if pa.types.is_float32(kind):
        column, kind = column.cast(pa.float64()), pa.float64()
    if kind == pa.float64():
        return _plain(column, np.dtype(np.float64), 1)
    if pa.types.is_decimal128(kind):
        assert kind.precision <= MOST_DIGITS, kind
        return _plain(column, np.dtype(np.int64), 2)  # the lower half of each says all of it
    assert pa.types.is_signed_integer(kind) or kind == pa.date32() or getattr(kind, "unit", "") == "us", kind
    return integers(column.fill_null(pa.scalar(0, kind)) if column.null_count else column)


def _plain(column: pa.ChunkedArray, dtype: np.dtype[Any], words: int) -> Numbers:
    """The memory of a column's values, of which each takes `words` and the first one is wanted."""
    array = column.combine_chunks()
    if isinstance(array, pa.ChunkedArray):  # in pyarrow's own time
        array = pa.concat_arrays(array.chunks) if array.num_chunks else pa.array([], array.type)
    data = array.buffers()[1]
    if data is None or len(array) == 0:
        return np.zeros(len(array), dtype)
    found = np.frombuffer(data, dtype)[words * array.offset : words * (array.offset + len(array)) : words]
    return np.ascontiguousarray(found)


def to_bools(found: pa.ChunkedArray) -> Bools:
    """True where Arrow says true; what is NULL is not."""
    if found.null_count:
        found = found.fill_null(False)
    bools: Bools = found.combine_chunks().to_numpy(zero_copy_only=False)
    return bools
