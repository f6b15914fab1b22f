"""Many queries that differ in values only: their predicates without reading each text.

The text is read once, with marks of our own in place of the values, and the places where the marks come out in its predicate are
noted. The predicate of a query is then that one with its values in these places. A sample of the queries is read in full and
compared; where anything differs, every text is read, up to the first of which an index can find nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from decimal import Decimal
from typing import Any

from millpond.predicate.form import Among, And, Compare, Not, Or, Predicate

Read = Callable[[Sequence[Any]], Predicate | None]
"""Reads the text with these values in full: its predicate, or None if it has none that an index can find."""
Make = Callable[[Sequence[Any]], Predicate]

_SAMPLE = 16
_NUMBER = 7_310_000_001  # marks are numbers and texts that nobody writes


def predicates_of(read: Read, values: Sequence[Sequence[Any]]) -> list[Predicate] | None:
    """The predicate of each query; None if one has none. Values of other types make another predicate."""
    found: dict[int, Predicate] = {}
    for places in _by_types(values):
        alike = [values[place] for place in places]
        make = _made(read, alike)
        for place, each in zip(places, alike, strict=True):
            predicate = (make or read)(each)
            if predicate is None:
                return None
            found[place] = predicate
    return [found[place] for place in range(len(values))]


def _by_types(values: Sequence[Sequence[Any]]) -> Iterable[list[int]]:
    """The places of lists of values that are of the same types."""
    groups: dict[tuple[type, ...], list[int]] = {}
    for place, each in enumerate(values):
        groups.setdefault(tuple(map(type, each)), []).append(place)
    return groups.values()


def _made(read: Read, values: Sequence[Sequence[Any]]) -> Make | None:
    """Makes the predicate of a query of its values, which have the same types; None if it has to be read."""
    if len(values) < 2 * _SAMPLE:
        return None
    marks = _marks(values[0])
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


def _marks(values: Sequence[Any]) -> list[Any] | None:
    """A value of the same type for each; None if one has a type for which there is none."""
    marks: list[Any] = []
    for place, value in enumerate(values):
        kind = type(value)
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
