"""Simple conditions over many rows at once, in NumPy: so that a thousand filters over one stream cost one pass of memory
each, and what they share is computed once.

Understood are comparisons of a column with a constant or another column of integers or text, IS NULL, IN, BETWEEN, AND, OR
and NOT, in SQL's three-valued logic; a condition with anything else is left to the engine.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from sqlglot import exp

from millpond.arrow import integers
from millpond.sql.literals import ints_of, kind_of, list_of, texts_of

Bools = npt.NDArray[np.bool_]
Truth = tuple[Bools, Bools | None]  # where it is true, and where it is unknown (None: nowhere)
Test = Callable[["Columns"], Truth]

_COMPARE: dict[type[exp.Expr], str] = {
    exp.EQ: "equal", exp.NEQ: "not_equal", exp.LT: "less", exp.LTE: "less_equal", exp.GT: "greater",
    exp.GTE: "greater_equal",
}  # fmt: skip
_FLIP = {"less": "greater", "less_equal": "greater_equal", "greater": "less", "greater_equal": "less_equal"}
_INTEGERS = ("TINYINT", "SMALLINT", "INT", "BIGINT")


class Batch(Protocol):
    """Rows whose columns can be had one by one."""

    @property
    def size(self) -> int:
        """How many rows."""

    def column(self, name: str) -> pa.ChunkedArray:
        """A column of all rows."""


class Columns:
    """The columns of a batch as arrays, and the atomic conditions already computed over them."""

    def __init__(self, rows: Batch) -> None:
        self._rows = rows
        self._arrays: dict[str, tuple[npt.NDArray[Any], Bools | None]] = {}
        self.known: dict[object, Truth] = {}
        self.size = rows.size

    def array(self, name: str) -> tuple[npt.NDArray[Any], Bools | None]:
        """Values, and where they are NULL."""
        found = self._arrays.get(name)
        if found is None:
            column = self._rows.column(name)
            nulls = None
            if column.null_count:
                nulls = column.is_null().combine_chunks().to_numpy(zero_copy_only=False)
                column = column.fill_null(pa.scalar(0, column.type))
            found = self._arrays[name] = (integers(column), nulls)
        return found

    def arrow(self, name: str) -> pa.ChunkedArray:
        return self._rows.column(name)


def compile_condition(condition: exp.Expr | None) -> Callable[[Columns], Bools] | None:
    """A function that tells which rows fulfil a condition, or None if it is not a simple one."""
    if condition is None:
        return lambda columns: np.ones(columns.size, dtype=np.bool_)
    try:
        test = _test(condition)
    except _NotSimple:
        return None
    return lambda columns: test(columns)[0]


class _NotSimple(Exception):
    """Leave it to the engine."""


def _test(node: exp.Expr) -> Test:
    if isinstance(node, exp.Paren):
        return _test(node.this)
    if isinstance(node, exp.And):
        return _and([_test(n) for n in node.flatten()])
    if isinstance(node, exp.Or):
        parts = [_negated(_test(n)) for n in node.flatten()]
        return _negated(_and(parts))
    if isinstance(node, exp.Not):
        return _negated(_test(node.this))
    if isinstance(node, exp.Between):
        low = exp.GTE(this=node.this, expression=node.args["low"])
        high = exp.LTE(this=node.this, expression=node.args["high"])
        return _and([_test(low), _test(high)])
    if isinstance(node, exp.Is) and isinstance(node.expression, exp.Null):
        return _is_null(_column(node.this).name)
    if isinstance(node, exp.In) and node.expressions and not node.args.get("query"):
        column = _column(node.this)
        folded = list_of(node)
        if folded is not None:
            return _among(column, folded)
        parts = [_negated(_test(exp.EQ(this=column, expression=e))) for e in node.expressions]
        return _negated(_and(parts))
    if type(node) in _COMPARE:
        return _comparison(node)
    raise _NotSimple


def _among(column: exp.Column, folded: exp.Literal) -> Test:
    """Whether a column is among a long list of literals."""
    kind = _kind(column)
    if (kind == "STRING") != (kind_of(folded) == "text"):
        raise _NotSimple
    key = ("among", column.name, folded.this)
    if kind == "STRING":
        texts = pa.array(texts_of(folded))
        return _remembered(key, lambda c: _text_among(c, column.name, texts))
    wanted = np.array(ints_of(folded), dtype=np.int64)
    return _remembered(key, lambda c: _number_among(c, column.name, wanted))


def _number_among(columns: Columns, name: str, wanted: npt.NDArray[np.int64]) -> Truth:
    values, nulls = columns.array(name)
    true = np.isin(values, wanted)
    return (true if nulls is None else true & ~nulls), nulls


def _text_among(columns: Columns, name: str, texts: pa.Array) -> Truth:
    column = columns.arrow(name)
    found = pc.is_in(column, value_set=texts.cast(column.type))
    nulls = column.is_null().combine_chunks().to_numpy(zero_copy_only=False) if column.null_count else None
    return found.combine_chunks().to_numpy(zero_copy_only=False), nulls


def _and(tests: list[Test]) -> Test:
    def run(columns: Columns) -> Truth:
        true, unknown = tests[0](columns)
        for test in tests[1:]:
            other, maybe = test(columns)
            if unknown is None and maybe is None:
                true = true & other
                continue
            a = np.zeros_like(true) if unknown is None else unknown
            b = np.zeros_like(true) if maybe is None else maybe
            unknown = (a & (other | b)) | (b & (true | a))
            true = true & other
        return true, unknown

    return run


def _negated(test: Test) -> Test:
    def run(columns: Columns) -> Truth:
        true, unknown = test(columns)
        return (~true if unknown is None else ~true & ~unknown), unknown

    return run


def _is_null(name: str) -> Test:
    def run(columns: Columns) -> Truth:
        column = columns.arrow(name)
        if not column.null_count:
            return np.zeros(columns.size, dtype=np.bool_), None
        return column.is_null().combine_chunks().to_numpy(zero_copy_only=False), None

    return run


def _comparison(node: exp.Expr) -> Test:
    operator = _COMPARE[type(node)]
    left, right = node.this, node.expression
    if not isinstance(_unwrapped(left), exp.Column):
        left, right = right, left
        operator = _FLIP.get(operator, operator)
    column = _column(left)
    kind = _kind(column)
    other = _unwrapped(right)
    if isinstance(other, exp.Column):
        if kind not in _INTEGERS or _kind(other) not in _INTEGERS:
            raise _NotSimple
        return _of_columns(operator, column.name, other.name)
    value = _constant(other, kind)
    key = (operator, column.name, value)
    if kind == "STRING":
        return _remembered(key, lambda c: _text(operator, c, column.name, value))
    return _remembered(key, lambda c: _of_constant(operator, c, column.name, value))


def _remembered(key: object, test: Test) -> Test:
    def run(columns: Columns) -> Truth:
        found = columns.known.get(key)
        if found is None:
            found = columns.known[key] = test(columns)
        return found

    return run


def _of_constant(operator: str, columns: Columns, name: str, value: Any) -> Truth:
    values, nulls = columns.array(name)
    true = getattr(np, operator)(values, value)
    return (true if nulls is None else true & ~nulls), nulls


def _of_columns(operator: str, left: str, right: str) -> Test:
    def run(columns: Columns) -> Truth:
        a, a_nulls = columns.array(left)
        b, b_nulls = columns.array(right)
        true = getattr(np, operator)(a, b)
        nulls = a_nulls if b_nulls is None else b_nulls if a_nulls is None else a_nulls | b_nulls
        return (true if nulls is None else true & ~nulls), nulls

    return _remembered((operator, left, right, "columns"), run)


def _text(operator: str, columns: Columns, name: str, value: str) -> Truth:
    column = columns.arrow(name)
    found = getattr(pc, operator)(column, pa.scalar(value, column.type))
    nulls = None
    if column.null_count:
        nulls = column.is_null().combine_chunks().to_numpy(zero_copy_only=False)
        found = found.fill_null(False)
    return found.combine_chunks().to_numpy(zero_copy_only=False), nulls


def _unwrapped(node: exp.Expr) -> exp.Expr:
    while isinstance(node, exp.Paren):
        node = node.this
    return node


def _column(node: exp.Expr) -> exp.Column:
    node = _unwrapped(node)
    if not isinstance(node, exp.Column):
        raise _NotSimple
    return node


def _kind(column: exp.Column) -> str:
    kind = column.type.sql(dialect="spark").upper() if column.type is not None else ""
    if kind not in (*_INTEGERS, "STRING"):
        raise _NotSimple
    return kind


def _constant(node: exp.Expr, kind: str) -> Any:
    negative = isinstance(node, exp.Neg)
    literal = _unwrapped(node.this) if negative else node
    if not isinstance(literal, exp.Literal):
        raise _NotSimple
    if kind == "STRING":
        if not literal.is_string or negative:
            raise _NotSimple
        return literal.this
    if literal.is_string or not literal.this.isdecimal() or len(literal.this) > 18:
        raise _NotSimple
    return -int(literal.this) if negative else int(literal.this)
