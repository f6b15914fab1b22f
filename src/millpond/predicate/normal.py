"""The normal form of a predicate, and what a conjunction says about each column by itself.

In the normal form NOT stands only before atoms that have no opposite of their own. So for every row the question "is it true?"
can be answered by AND and OR of atoms that are true: unknown is never needed in between. This holds in three-valued logic,
because De Morgan's rules do, and because `NOT a < 5` and `a >= 5` are unknown for the same rows. It holds for floating numbers,
because NaN has its place in their order.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import reduce
from typing import Any

from millpond.predicate.form import (
    OPPOSITE,
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
    Value,
    all_of,
    conjuncts,
)


def normal(predicate: Predicate) -> Predicate:
    """The same condition with NOT only before Among, Prefix and IsNull, and with flat AND and OR.

    Equalities of one column joined by OR become one Among, an Among of one value becomes an equality, and what differs from a
    truth value equals the other.

    >>> normal(Not(Or((Compare("a", "<", 5), Not(Compare("b", "=", 1))))))
    And(parts=(Compare(column='a', operator='>=', value=5), Compare(column='b', operator='=', value=1)))
    >>> normal(Or((Compare("a", "=", 1), Compare("a", "=", 2)))) == Among("a", frozenset([1, 2]))
    True
    """
    return _normal(predicate, negated=False)


def _normal(predicate: Predicate, *, negated: bool) -> Predicate:
    if isinstance(predicate, Not):
        return _normal(predicate.part, negated=not negated)
    if isinstance(predicate, And | Or):
        parts = [_normal(p, negated=negated) for p in predicate.parts]
        return all_of(parts) if isinstance(predicate, And) != negated else _any_of(parts)
    if isinstance(predicate, Always | Never):
        return Always() if isinstance(predicate, Always) != negated else Never()
    return _normal_atom(predicate, negated=negated)


def _normal_atom(atom: Atom, *, negated: bool) -> Predicate:
    if isinstance(atom, Among) and len(atom.values) == 1:
        atom = Compare(atom.column, "=", next(iter(atom.values)))
    if isinstance(atom, Compare | CompareColumns):
        if negated:
            atom = replace(atom, operator=OPPOSITE[atom.operator])
        if isinstance(atom, Compare) and atom.operator == "<>" and atom.kind is bool:
            return Compare(atom.column, "=", not atom.value)
        return atom
    return Not(atom) if negated else atom


def _any_of(predicates: list[Predicate]) -> Predicate:
    parts: dict[Predicate, None] = {}
    equal: dict[tuple[str, type[Value]], set[Value]] = {}
    for predicate in predicates:
        for part in predicate.parts if isinstance(predicate, Or) else (predicate,):
            if isinstance(part, Compare) and part.operator == "=":
                equal.setdefault((part.column, part.kind), set()).add(part.value)
            elif isinstance(part, Among):
                equal.setdefault((part.column, part.kind), set()).update(part.values)
            elif not isinstance(part, Never):
                parts[part] = None
    found = [*(_normal_atom(Among(c, frozenset(v)), negated=False) for (c, _), v in equal.items()), *parts]
    if Always() in parts:
        return Always()
    if not found:
        return Never()
    return Or(tuple(found)) if len(found) > 1 else found[0]


@dataclass(frozen=True)
class Domain:
    """The values of one column that a conjunction accepts: an interval, or a set. NULL is never accepted.

    If `values` is not None, they are the only ones accepted, and there are no ends. NaN is greater than every end, so it is
    accepted where there is no `high`.
    """

    low: Value | None = None
    high: Value | None = None
    low_open: bool = False
    high_open: bool = False
    values: frozenset[Value] | None = None

    def accepts(self, value: Value) -> bool:
        if self.values is not None:
            return value in self.values
        if self.low is not None and (value < self.low or (self.low_open and value == self.low)):  # type: ignore[operator]
            return False
        return self.high is None or bool(
            value < self.high or (not self.high_open and value == self.high)  # type: ignore[operator]
        )

    def meet(self, other: Domain) -> Domain:
        """What both accept."""
        if self.values is not None:
            return Domain(values=frozenset(filter(other.accepts, self.values)))
        if other.values is not None:
            return other.meet(self)
        low, low_open = self._narrower(other, "low")
        high, high_open = self._narrower(other, "high")
        return Domain(low, high, low_open, high_open)

    def join(self, other: Domain) -> Domain:
        """The least interval or set that accepts what either accepts."""
        if self.values is not None and other.values is not None:
            return Domain(values=self.values | other.values)
        if self.values == frozenset() or other.values == frozenset():
            return other if self.values == frozenset() else self
        mine, theirs = self._as_interval(), other._as_interval()
        low, low_open = mine._wider(theirs, "low")
        high, high_open = mine._wider(theirs, "high")
        return Domain(low, high, low_open, high_open)

    def _as_interval(self) -> Domain:
        values: Any = self.values
        return self if values is None else Domain(min(values), max(values))

    def _wider(self, other: Domain, end: str) -> tuple[Value | None, bool]:
        mine, theirs = getattr(self, end), getattr(other, end)
        if mine is None or theirs is None:
            return None, False
        if mine == theirs:
            return mine, getattr(self, f"{end}_open") and getattr(other, f"{end}_open")
        farther = self if (mine < theirs) == (end == "low") else other
        return getattr(farther, end), getattr(farther, f"{end}_open")

    def _narrower(self, other: Domain, end: str) -> tuple[Value | None, bool]:
        mine, mine_open = getattr(self, end), getattr(self, f"{end}_open")
        theirs, theirs_open = getattr(other, end), getattr(other, f"{end}_open")
        if mine is None or theirs is None:
            return (theirs, theirs_open) if mine is None else (mine, mine_open)
        if mine == theirs:
            return mine, mine_open or theirs_open
        return (mine, mine_open) if (mine > theirs) == (end == "low") else (theirs, theirs_open)


@dataclass(frozen=True)
class Conjunction:
    """A predicate as a domain for each column, AND the `rest` that no domain can say.

    A row matches exactly when each domain accepts its column's value and all of `rest` is true.
    """

    domains: Mapping[str, Domain]
    rest: tuple[Predicate, ...]


def conjunction(predicate: Predicate) -> Conjunction:
    """Take a predicate apart by columns.

    >>> conjunction(And((Compare("a", ">", 2), Compare("a", "<=", 8), IsNull("b"))))
    Conjunction(domains={'a': Domain(low=2, high=8, low_open=True, high_open=False, values=None)}, rest=(IsNull(column='b'),))
    """
    found: dict[str, list[Domain]] = {}
    rest = []
    for part in conjuncts(normal(predicate)):
        one = _domain(part)
        if one is None:
            rest.append(part)
        else:
            (column,) = part.columns
            found.setdefault(column, []).append(one)
    return Conjunction({c: reduce(Domain.meet, each) for c, each in found.items()}, tuple(rest))


def hulls(predicate: Predicate) -> dict[str, Domain]:
    """For some columns a domain that accepts the values of every row that matches. Unlike a conjunction it looks into OR.

    >>> hulls(Or((And((Compare("a", "=", 1), IsNull("b"))), Compare("a", ">", 8))))
    {'a': Domain(low=1, high=None, low_open=False, high_open=False, values=None)}
    """
    taken_apart = conjunction(predicate)
    found = dict(taken_apart.domains)
    for part in taken_apart.rest:
        if isinstance(part, Or):
            first, *others = map(hulls, part.parts)
            for column in [c for c in first if all(c in each for each in others)]:
                joined = reduce(Domain.join, (each[column] for each in others), first[column])
                found[column] = found[column].meet(joined) if column in found else joined
    return found


def _domain(part: Predicate) -> Domain | None:
    """The domain that says the same as a conjunct of the normal form."""
    if isinstance(part, Among):
        return Domain(values=part.values)
    if isinstance(part, Prefix):
        after = _after(part.text)
        return Domain(part.text, after, high_open=after is not None)
    if isinstance(part, Not) and isinstance(part.part, IsNull):
        return Domain()
    if not isinstance(part, Compare) or part.operator == "<>":
        return None
    if part.operator == "=":
        return Domain(values=frozenset([part.value]))
    is_open = part.operator in ("<", ">")
    if part.operator in (">", ">="):
        return Domain(low=part.value, low_open=is_open)
    return Domain(high=part.value, high_open=is_open)


_LAST = "\U0010ffff"


def _after(text: str) -> str | None:
    """The least text that is greater than all that begin with `text`; None if there is none."""
    text = text.rstrip(_LAST)
    if not text:
        return None
    code = ord(text[-1]) + 1
    return text[:-1] + chr(0xE000 if code == 0xD800 else code)  # surrogates are no text
