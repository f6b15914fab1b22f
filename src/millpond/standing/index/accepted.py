"""What a predicate accepts on each axis: spans of codes.

Everything about one axis becomes spans, whatever its form: `<>`, NOT IN, IS NULL, LIKE 'a%', an OR of conditions on one column.
What is about several axes at once (OR) is the rest, which is evaluated. It still says something about an axis of which each of
its sides does: `a = 1 AND b > 2 OR a = 3 AND c > 4` is only looked at where a is 1 or 3.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import reduce
from typing import NamedTuple

from millpond.predicate.form import (
    Always,
    Among,
    And,
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
    all_of,
    conjuncts,
)
from millpond.predicate.normal import conjunction, normal
from millpond.standing.index.axes import Axes, Axis, Code, Kind

Span = tuple[Code, Code]
"""From a code up to another, without it. The end is None where there is none (of numbers, it is END)."""


class Accepted(NamedTuple):
    """The codes of an axis that a condition accepts: spans in order that do not overlap; and whether NULL is accepted.

    `points` says that each span is one value.
    """

    spans: tuple[Span, ...]
    null: bool = False
    points: bool = False

    @property
    def never(self) -> bool:
        return not self.spans and not self.null


class Parts(NamedTuple):
    """A predicate taken apart: what it accepts on each axis, AND the rest (None: there is none)."""

    factors: dict[Axis, Accepted]
    rest: Predicate | None


_PLAIN = frozenset([Compare, CompareColumns, Among, Prefix, IsNull])
"""What is in normal form by itself."""


def take_apart(predicate: Predicate, axes: Axes) -> Parts | None:
    """None if it is never true."""
    parts: tuple[Predicate, ...]
    if type(predicate) is And and _PLAIN.issuperset(map(type, predicate.parts)):
        parts = predicate.parts
    elif type(predicate) in _PLAIN:
        parts = (predicate,)
    else:
        parts = conjuncts(normal(predicate))
    factors: dict[Axis, Accepted] = {}
    rest = []
    for part in parts:
        if type(part) is Compare and part.operator != "<>":  # by far the most frequent
            axis, kind = axes.columns[part.column]
            one = _compared(kind, part.operator, part.value)
            if axis in factors:
                one = _both(factors[axis], one)
            if not one.spans:
                return None
            factors[axis] = one
            continue
        if isinstance(part, Never):
            return None
        found = accepted(part, axes)
        if found is None:
            rest.append(part)
            said: Iterable[tuple[Axis, Accepted]] = implied(part, axes).items()
        else:
            said = (found,)
        for axis, one in said:
            known = factors.get(axis)
            narrower = one if known is None else _both(known, one)
            if narrower.never:
                return None
            factors[axis] = narrower
    return Parts(factors, all_of(rest) if rest else None)


def implied(part: Predicate, axes: Axes) -> dict[Axis, Accepted]:
    """What each row that matches has on some axes. A row may have it and not match."""
    one = accepted(part, axes)
    if one is not None:
        return dict([one])
    if not isinstance(part, And | Or):
        return {}
    first, *others = [implied(p, axes) for p in part.parts]
    for other in others:
        if isinstance(part, And):
            first |= {axis: _both(first[axis], a) if axis in first else a for axis, a in other.items()}
        else:
            first = {axis: _either(a, other[axis]) for axis, a in first.items() if axis in other}
    return first


def accepted(part: Predicate, axes: Axes) -> tuple[Axis, Accepted] | None:
    """What a part of the normal form says about one axis; None if it is about several, or cannot be said exactly."""
    if isinstance(part, Compare):
        axis = Axis(part.column)
        return axis, _compared(axes.kind(axis), part.operator, part.value)
    if isinstance(part, CompareColumns):
        difference = axes.of_difference(part)
        return (
            None if difference is None else (difference, _compared(axes.kind(difference), part.operator, part.offset))
        )
    if isinstance(part, And | Or):
        found = [accepted(p, axes) for p in part.parts]
        if None in found or len({axis for axis, _ in found if axis}) != 1:  # type: ignore[misc]
            return None
        sets = [one for _, one in found]  # type: ignore[misc]
        return found[0][0], reduce(_both if isinstance(part, And) else _either, sets)  # type: ignore[index]
    if isinstance(part, Always | Never):
        return None
    inner = part.part if isinstance(part, Not) else part
    assert isinstance(inner, Among | Prefix | IsNull), "a predicate in normal form"
    axis = Axis(inner.column)
    kind = axes.kind(axis)
    whole = Accepted(((kind.least, kind.end),))
    if isinstance(inner, IsNull):
        return axis, (whole if inner is not part else Accepted((), null=True))
    one = _among(kind, inner) if isinstance(inner, Among) else _begins(inner)
    return axis, one if inner is part else _outside(kind, one)


def _compared(kind: Kind, operator: Operator, value: Value) -> Accepted:
    if operator == "=":
        low, high = kind.at(value), kind.after(value)
    elif operator == ">" or operator == ">=":
        low, high = kind.after(value) if operator == ">" else kind.at(value), kind.end
    elif operator == "<" or operator == "<=":
        low, high = kind.least, kind.at(value) if operator == "<" else kind.after(value)
    else:
        return _outside(kind, _compared(kind, "=", value))
    return Accepted(((low, high),) if high is None or low < high else (), False, operator == "=")


def _among(kind: Kind, atom: Among) -> Accepted:
    return _spans(sorted((kind.at(v), kind.after(v)) for v in atom.values), points=True)


def _begins(atom: Prefix) -> Accepted:
    (domain,) = conjunction(atom).domains.values()
    return Accepted(((domain.low, domain.high),))


def _outside(kind: Kind, one: Accepted) -> Accepted:
    """All that is not accepted, and is not NULL."""
    spans, low = [], kind.least
    for begin, end in one.spans:
        spans.append((low, begin))
        low = end
        if end is None:
            return _spans(spans)
    return _spans([*spans, (low, kind.end)])


def _spans(spans: list[Span], *, points: bool = False) -> Accepted:
    return Accepted(tuple(s for s in spans if s[1] is None or s[0] < s[1]), points=points)


def _both(a: Accepted, b: Accepted) -> Accepted:
    spans: list[Span] = []
    i = j = 0
    while i < len(a.spans) and j < len(b.spans):
        (low, high), (low_b, high_b) = a.spans[i], b.spans[j]
        first = _ends_before(high, high_b)
        spans.append((max(low, low_b), high if first else high_b))
        i, j = (i + 1, j) if first else (i, j + 1)
    return _spans(spans, points=a.points or b.points)._replace(null=a.null and b.null)


def _either(a: Accepted, b: Accepted) -> Accepted:
    spans: list[Span] = []
    for low, high in sorted([*a.spans, *b.spans], key=lambda s: s[0]):
        if spans and (spans[-1][1] is None or low < spans[-1][1]):  # touching ones stay two: points stay points
            if _ends_before(spans[-1][1], high):
                spans[-1] = spans[-1][0], high
        else:
            spans.append((low, high))
    return Accepted(tuple(spans), a.null or b.null, points=a.points and b.points and not (a.null or b.null))


def _ends_before(a: Code, b: Code) -> bool:
    return b is None or (a is not None and a <= b)
