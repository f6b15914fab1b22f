"""Predicates evaluated over the columns of a batch, in NumPy.

A thousand filters over one batch cost one pass over memory each, and what they share is computed once: the result of each atom
is kept with the batch's columns, under the atom's content. A filter works on the predicate's normal form, so it only needs to
know where atoms are true; where they are unknown matters for a negated atom alone.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from millpond.predicate import atoms
from millpond.predicate.atoms import Test
from millpond.predicate.columns import Bools, ColumnBatch, Columns
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
    Or,
    Predicate,
    Prefix,
)
from millpond.predicate.normal import normal

__all__ = ["Bools", "ColumnBatch", "Columns", "Filter", "matches"]

_FEW = 8  # values of an Among that are tested one by one, because other predicates may test the same


class Filter:
    """A predicate made ready to be evaluated many times. `predicate` is what it evaluates.

    >>> import pyarrow as pa
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
        return _shared(("compare", atom.column, atom.operator, atom.value, atom.kind), atoms.compare(atom))
    if isinstance(atom, CompareColumns):
        key = ("columns", atom.left, atom.operator, atom.right, atom.offset, atom.kind)
        return _shared(key, atoms.compare_columns(atom))
    if isinstance(atom, Among):
        if 1 < len(atom.values) <= _FEW:
            values: list[Any] = sorted(atom.values)
            tests = [_atom(Compare(atom.column, "=", value)) for value in values]
            return _any(tests)
        return _shared(("among", atom.column, atom.values, atom.kind), atoms.among(atom))
    if isinstance(atom, Prefix):
        return _shared(("prefix", atom.column, atom.text), atoms.prefix(atom))
    return atoms.is_null(atom)


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
