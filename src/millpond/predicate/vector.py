"""Predicates evaluated over the columns of a batch, in NumPy.

A thousand filters over one batch cost one pass over memory each, and what they share is computed once: the result of each atom
is kept with the batch's columns, under the atom's content. A filter works on the predicate's normal form, so it only needs to
know where atoms are true; where they are unknown matters for a negated atom alone.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import date
from typing import Any, Final, Protocol

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from millpond.arrow import integers
from millpond.predicate.form import (
    Always,
    Among,
    And,
    Atom,
    Compare,
    CompareColumns,
    IsNull,
    Never,
    Not,
    Operator,
    Or,
    Predicate,
    Prefix,
    Value,
)
from millpond.predicate.normal import normal

Bools = npt.NDArray[np.bool_]
Test = Callable[["Columns"], Bools]

_NUMPY: Final[dict[Operator, Any]] = {
    "=": np.equal, "<>": np.not_equal, "<": np.less, "<=": np.less_equal, ">": np.greater, ">=": np.greater_equal,
}  # fmt: skip
_ARROW: Final[dict[Operator, Any]] = {
    "=": pc.equal, "<>": pc.not_equal, "<": pc.less, "<=": pc.less_equal, ">": pc.greater, ">=": pc.greater_equal,
}  # fmt: skip
_FEW = 8  # values of an Among that are tested one by one, because other predicates may test the same
_LEAST, _GREATEST = -(1 << 63), (1 << 63) - 1
_DAY_ZERO = date(1970, 1, 1).toordinal()


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
        self._numbers: dict[str, npt.NDArray[Any]] = {}
        self._nulls: dict[str, Bools | None] = {}
        self.known: dict[object, Bools] = {}
        self.size = rows.size

    def arrow(self, name: str) -> pa.ChunkedArray:
        return self._rows.column(name)

    def numbers(self, name: str) -> npt.NDArray[Any]:
        """The values of a column of whole numbers, dates (in days) or timestamps (in microseconds); any value where NULL."""
        found = self._numbers.get(name)
        if found is None:
            column = self._rows.column(name)
            kind = column.type
            assert pa.types.is_signed_integer(kind) or kind == pa.date32() or getattr(kind, "unit", "") == "us", kind
            if column.null_count:
                column = column.fill_null(pa.scalar(0, kind))
            found = self._numbers[name] = integers(column)
        return found

    def nulls(self, name: str) -> Bools | None:
        """Where a column is NULL; None if nowhere."""
        if name not in self._nulls:
            column = self._rows.column(name)
            self._nulls[name] = _bools(column.is_null()) if column.null_count else None
        return self._nulls[name]


class Filter:
    """A predicate made ready to be evaluated many times. `predicate` is what it evaluates.

    >>> class Rows:
    ...     size = 3
    ...     def column(self, name): return pa.chunked_array([[1, None, 7]])
    >>> Filter(Not(Compare("a", "<", 5)))(Columns(Rows()))
    array([False, False,  True])
    """

    def __init__(self, predicate: Predicate) -> None:
        self.predicate = predicate
        self._test = _test(normal(predicate))

    def __call__(self, columns: Columns) -> Bools:
        """Where the predicate is true. The array may be shared and must not be changed."""
        return self._test(columns) if columns.size else np.zeros(0, dtype=np.bool_)


def matches(predicate: Predicate, columns: Columns) -> Bools:
    """Where a predicate is true. Whoever asks the same again keeps a `Filter`."""
    return Filter(predicate)(columns)


def _test(predicate: Predicate) -> Test:
    """A function that tells where a predicate in normal form is true."""
    if isinstance(predicate, And):
        return _all([_test(p) for p in predicate.parts])
    if isinstance(predicate, Or):
        return _any([_test(p) for p in predicate.parts])
    if isinstance(predicate, Always):
        return lambda columns: np.ones(columns.size, dtype=np.bool_)
    if isinstance(predicate, Never):
        return lambda columns: np.zeros(columns.size, dtype=np.bool_)
    if isinstance(predicate, Not):
        assert isinstance(predicate.part, Among | Prefix | IsNull), "a predicate in normal form"
        return _negated(predicate.part)
    return _atom(predicate)


def _all(tests: list[Test]) -> Test:
    first, second, *rest = tests

    def run(columns: Columns) -> Bools:
        true = first(columns) & second(columns)
        for test in rest:
            true &= test(columns)
        return true

    return run


def _any(tests: list[Test]) -> Test:
    first, second, *rest = tests

    def run(columns: Columns) -> Bools:
        true = first(columns) | second(columns)
        for test in rest:
            true |= test(columns)
        return true

    return run


def _negated(atom: Among | Prefix | IsNull) -> Test:
    test = _atom(atom)

    def run(columns: Columns) -> Bools:
        true = test(columns)
        nulls = None if isinstance(atom, IsNull) else columns.nulls(atom.column)
        return ~true if nulls is None else ~(true | nulls)

    return run


def _atom(atom: Atom) -> Test:
    if isinstance(atom, Compare):
        return _shared(("compare", atom.column, atom.operator, atom.value), _compare(atom))
    if isinstance(atom, CompareColumns):
        return _shared(("columns", atom.left, atom.operator, atom.right, atom.offset), _compare_columns(atom))
    if isinstance(atom, Among):
        if 1 < len(atom.values) <= _FEW:
            values: list[Any] = sorted(atom.values)
            tests = [_atom(Compare(atom.column, "=", value)) for value in values]
            return _any(tests)
        return _shared(("among", atom.column, atom.values), _among(atom))
    if isinstance(atom, Prefix):
        return _shared(("prefix", atom.column, atom.text), _prefix(atom))
    return _is_null(atom)


def _shared(key: tuple[object, ...], test: Test) -> Test:
    """A test made once for all predicates that make it. The key is the atom's content as a tuple, which is hashed faster than
    the atom itself."""

    def run(columns: Columns) -> Bools:
        found = columns.known.get(key)
        if found is None:
            found = columns.known[key] = test(columns)
            found.flags.writeable = False
        return found

    return run


def _compare(atom: Compare) -> Test:
    column = atom.column
    if isinstance(atom.value, str):
        function, text = _ARROW[atom.operator], atom.value

        def run_text(columns: Columns) -> Bools:
            values = columns.arrow(column)
            return _bools(function(values, pa.scalar(text, values.type)))

        return run_text
    operate, number = _NUMPY[atom.operator], _number(atom.value)
    return lambda columns: _known(operate(columns.numbers(column), number), columns.nulls(column))


def _compare_columns(atom: CompareColumns) -> Test:
    operate, offset = _NUMPY[atom.operator], atom.offset

    def run(columns: Columns) -> Bools:
        left, right = columns.numbers(atom.left), columns.numbers(atom.right)
        if offset:
            right = right.astype(np.int64)
            true = operate(left, right + offset)
            if offset > 0:  # where the sum does not fit, it is greater than every value
                true = np.where(right > _GREATEST - offset, atom.operator in ("<", "<=", "<>"), true)
            else:
                true = np.where(right < _LEAST - offset, atom.operator in (">", ">=", "<>"), true)
        else:
            true = operate(left, right)
        return _known(_known(true, columns.nulls(atom.left)), columns.nulls(atom.right))

    return run


def _among(atom: Among) -> Test:
    column = atom.column
    if isinstance(next(iter(atom.values)), str):
        texts = pa.array(list(atom.values))

        def run_text(columns: Columns) -> Bools:
            values = columns.arrow(column)
            return _bools(pc.is_in(values, value_set=texts.cast(values.type)))

        return run_text
    numbers = [n for n in map(_number, atom.values) if _LEAST <= n <= _GREATEST]
    wanted = np.sort(np.array(numbers, dtype=np.int64))
    return lambda columns: _known(np.isin(columns.numbers(column), wanted), columns.nulls(column))


def _prefix(atom: Prefix) -> Test:
    return lambda columns: _bools(pc.starts_with(columns.arrow(atom.column), pattern=atom.text))


def _is_null(atom: IsNull) -> Test:
    def run(columns: Columns) -> Bools:
        nulls = columns.nulls(atom.column)
        return np.zeros(columns.size, dtype=np.bool_) if nulls is None else nulls

    return run


def _number(value: Value) -> int:
    assert not isinstance(value, str)
    return value.toordinal() - _DAY_ZERO if isinstance(value, date) else value


def _known(true: Bools, nulls: Bools | None) -> Bools:
    return true if nulls is None else true & ~nulls


def _bools(found: pa.ChunkedArray) -> Bools:
    """True where Arrow says true; a result that is NULL is not."""
    if found.null_count:
        found = found.fill_null(False)
    bools: Bools = found.combine_chunks().to_numpy(zero_copy_only=False)
    return bools
