"""Many queries that differ in values only: their predicates without reading each text.

The text is read once, with marks of our own in place of the values, and the places where the marks come out in its predicate are
noted. The predicate of a query is then that one with its values in these places. A sample of the queries is read in full and
compared; where anything differs, every text is read.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from decimal import Decimal
from typing import Any

from millpond.predicate.form import Among, And, Compare, Not, Or, Predicate

Read = Callable[[Sequence[Any]], Predicate | None]
"""Reads the text with these values in full: its predicate, or None if it has none that an index can find."""
Make = Callable[[Sequence[Any]], Predicate]

_SAMPLE = 16
_NUMBER = 7_310_000_001  # marks are numbers and texts that nobody writes


def predicates_of(read: Read, values: Sequence[Sequence[Any]]) -> list[Predicate | None]:
    """The predicate of each query."""
    make = _made(read, values)
    if make is None:
        return [read(each) for each in values]
    return [make(each) for each in values]


def _made(read: Read, values: Sequence[Sequence[Any]]) -> Make | None:
    """Makes the predicate of a query of its values; None if it has to be read."""
    if len(values) < 2 * _SAMPLE:
        return None
    marks = _marks(values)
    if marks is None:
        return None
    pattern = read(marks)
    if pattern is None:
        return None
    used: set[int] = set()
    make = _maker(pattern, marks, used)
    if make is None or len(used) != len(marks):
        return None
    step = max(1, len(values) // _SAMPLE)
    sample = [*values[::step], values[-1]]
    return make if all(read(each) == make(each) for each in sample) else None


def _marks(values: Sequence[Sequence[Any]]) -> list[Any] | None:
    """A value of the same kind for each place; None if kinds differ between the queries."""
    marks: list[Any] = []
    for place, kinds in enumerate(zip(*(map(type, each) for each in values), strict=True)):
        if len(set(kinds)) > 1:
            return None
        kind = kinds[0]
        if kind is int:
            marks.append(_NUMBER + place)
        elif kind is str:
            marks.append(f"\ue000{place}\ue001")
        elif kind is float:
            marks.append(_NUMBER + place + 0.5)
        else:
            return None
    return marks


def _maker(predicate: Predicate, marks: Sequence[Any], used: set[int]) -> Make | None:
    if isinstance(predicate, Compare):
        column, operator, constant = predicate.column, predicate.operator, predicate.value
        place = _place(constant, marks)
        if place is None:
            return lambda values: predicate
        used.add(place)
        kind = type(constant)
        if kind is type(marks[place]):
            return lambda values: Compare(column, operator, values[place])
        if kind in (float, Decimal):
            return lambda values: Compare(column, operator, kind(values[place]))
        return None
    if isinstance(predicate, And | Or):
        parts = [_maker(part, marks, used) for part in predicate.parts]
        if any(part is None for part in parts):
            return None
        form = type(predicate)
        return lambda values: form(tuple(part(values) for part in parts if part is not None))
    if isinstance(predicate, Not | Among) and any(str(mark) in repr(predicate) for mark in marks):
        return None
    return lambda values: predicate


def _place(constant: Any, marks: Sequence[Any]) -> int | None:
    return next((place for place, mark in enumerate(marks) if constant == mark), None)
