"""What an aggregate function promises that is kept up as rows come, and the parts that it is held as.

A *part* is a number for each group: it makes a number of a row's value, and one number of two. Numbers are combined in any order
and in any batches, so a part has to be exact: sums of whole numbers, or the greater of two. A function says which parts it takes
for a type of values, and shows its result from them. Functions that take the same part of a column share it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from millpond.arrow import integers
from millpond.network.aggregates import exact
from millpond.schema import DataType

Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]
Numbers = npt.NDArray[Any]


class Values:
    """The values of a column of some rows, as the numbers that parts are made of; each is made once, when it is asked for.
    What stands for NULL does not matter."""

    def __init__(self, column: pa.ChunkedArray, fresh: Callable[[], Ints]) -> None:
        self._column = column
        self._fresh = fresh

    @cached_property
    def fresh(self) -> Ints:
        """1 for the rows that bring a value their group has not seen."""
        return self._fresh()

    @cached_property
    def doubles(self) -> npt.NDArray[np.float64]:
        return np.asarray(self._column.cast(pa.float64()).fill_null(0.0).combine_chunks(), dtype=np.float64)

    @cached_property
    def exact(self) -> Numbers:
        """Doubles and decimals as whole numbers of any size."""
        if pa.types.is_decimal(self._column.type):
            return exact.whole_decimals(self._column)
        return exact.whole_doubles(self.doubles)

    @cached_property
    def ranked(self) -> Ints:
        """Whole numbers of the same order."""
        kind = self._column.type
        if pa.types.is_decimal(kind):
            return self.exact.astype(np.int64)
        return exact.in_order(self.doubles) if pa.types.is_floating(kind) else self.whole

    @cached_property
    def whole(self) -> Ints:
        """Integers, and the days or microseconds of times."""
        column = self._column
        if column.null_count:
            zero = pa.scalar(0, pa.int32()).cast(column.type) if pa.types.is_date32(column.type) else 0
            column = column.fill_null(zero if isinstance(zero, pa.Scalar) else pa.scalar(zero, column.type))
        if pa.types.is_timestamp(column.type):
            column = column.cast(pa.int64())
        elif pa.types.is_date32(column.type):
            column = column.cast(pa.int32())
        return integers(column).astype(np.int64, copy=False)


class Part(ABC):
    """A number for each group. `start` is that of a group without values."""

    start: ClassVar[int] = 0
    dtype: ClassVar[type] = np.int64
    more_bytes: ClassVar[int] = 0
    """What a number takes beside its place in an array."""
    distinguishes: ClassVar[bool] = False
    """Whether the values that each group has seen have to be held."""

    @abstractmethod
    def of(self, values: Values) -> Numbers: ...

    def reduced(self, numbers: Numbers, begins: Ints, longest: int, column: str) -> Numbers:
        """Those of runs of at most `longest` rows."""
        found: Numbers = np.add.reduceat(numbers, begins)
        return found

    def merged(self, mine: Numbers, theirs: Numbers, column: str) -> Numbers:
        found: Numbers = np.add(mine, theirs)
        return found


class AggregateFunction(ABC):
    """An aggregate of one value of a row. NULLs do not count."""

    name: ClassVar[str]
    """The name in SQL, in small letters."""
    null_if_none: ClassVar[bool] = True
    """Whether it is NULL for a group without values."""

    @abstractmethod
    def result(self, kind: DataType) -> DataType | None:
        """Its type for values of this one; None if it cannot be kept up."""

    @abstractmethod
    def parts(self, kind: pa.DataType) -> tuple[Part, ...]:
        """What it is held as."""

    @abstractmethod
    def shown(self, kind: pa.DataType, counts: Ints, held: Sequence[Numbers]) -> Numbers:
        """Its values, to be compared, of how many values there are and what is held as its parts."""

    def as_arrow(self, shown: Numbers, nulls: Bools, kind: pa.DataType, column: str) -> pa.Array:
        """These values as they are given to the user."""
        return pa.array(shown, mask=nulls)
