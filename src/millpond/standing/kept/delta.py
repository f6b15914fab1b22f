"""The new results of a join: each tuple that has at least one new row, once.

Idea. With O and N the old and the new rows of a stream, the new tuples of A, B and C are N_A x (O_B + N_B) x (O_C + N_C), then
O_A x N_B x (O_C + N_C), then O_A x O_B x N_C: a tuple is found where its first new row is. Each product begins with the new rows
and takes in one stream after the other along a factor of the join, an equality if there is one; the other factors between the
streams filter the candidates.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from millpond.predicate.form import Operator
from millpond.standing.kept.probe import AT_ONCE, Ranked, cross, holds, probe, ranked

Ints = npt.NDArray[np.int64]


@dataclass(frozen=True)
class JoinFactor:
    """`left_column` of stream `left` compared with `right_column` of stream `right` plus an offset."""

    left: int
    left_column: str
    operator: Operator
    right: int
    right_column: str
    offset: int | float = 0

    def other(self, stream: int) -> int:
        return self.right if stream == self.left else self.left


@dataclass(frozen=True)
class Side:
    """Rows of one stream: numbers, event times, and at least the columns that factors compare."""

    seqs: Ints
    times: Ints
    columns: pa.Table

    def __len__(self) -> int:
        return len(self.seqs)

    def plus(self, other: Side) -> Side:
        if not len(self) or not len(other):
            return self if len(self) else other
        columns = pa.concat_tables([self.columns, other.columns])
        return Side(np.concatenate([self.seqs, other.seqs]), np.concatenate([self.times, other.times]), columns)


@dataclass(frozen=True)
class Tuples:
    """Results of a join: the row numbers of each stream, and the earliest and latest event time of each tuple."""

    seqs: tuple[Ints, ...]
    earliest: Ints
    latest: Ints

    def __len__(self) -> int:
        return len(self.earliest)

    def at(self, places: slice | npt.NDArray[np.generic]) -> Tuples:
        return Tuples(tuple(s[places] for s in self.seqs), self.earliest[places], self.latest[places])


def new_tuples(
    old: Sequence[Side], new: Sequence[Side], factors: Sequence[JoinFactor], at_once: int = AT_ONCE
) -> Iterator[Tuples]:
    """The tuples with at least one new row that fulfil all factors, each once, in pieces of at most `at_once`."""
    for first, fresh in enumerate(new):
        if not len(fresh):
            continue
        later = [o.plus(n) for o, n in zip(old[first + 1 :], new[first + 1 :], strict=True)]
        sides = [*old[:first], fresh, *later]
        if all(map(len, sides)):
            yield from _Product(sides, factors, at_once).tuples(first)


class _Product:
    """All tuples of some sides."""

    def __init__(self, sides: Sequence[Side], factors: Sequence[JoinFactor], at_once: int) -> None:
        self._sides = sides
        self._factors = factors
        self._at_once = at_once
        self._values: dict[JoinFactor, tuple[Ranked, Ranked]] = {}

    def tuples(self, first: int) -> Iterator[Tuples]:
        for places in self._extended({first: np.arange(len(self._sides[first]))}):
            times = np.stack([self._sides[s].times[places[s]] for s in range(len(self._sides))])
            seqs = tuple(side.seqs[places[s]] for s, side in enumerate(self._sides))
            yield Tuples(seqs, times.min(axis=0), times.max(axis=0))

    def _extended(self, bound: dict[int, Ints]) -> Iterator[dict[int, Ints]]:
        """Tuples of all streams that begin with these places of some streams."""
        if len(bound) == len(self._sides):
            yield bound
            return
        stream, along = self._next(set(bound))
        between = [f for f in self._factors if stream in (f.left, f.right) and f.other(stream) in bound]
        for mine, theirs in self._candidates(bound, stream, along):
            tuples = {**{s: places[mine] for s, places in bound.items()}, stream: theirs}
            keep = np.ones(len(theirs), dtype=np.bool_)
            for factor in between:
                if factor is not along:
                    left, right = self._ranked(factor)
                    places = tuples[factor.left], tuples[factor.right]
                    keep &= holds(left.at(places[0]), right.at(places[1]), factor.operator)
            if keep.any():
                yield from self._extended({s: p[keep] for s, p in tuples.items()})

    def _candidates(self, bound: dict[int, Ints], stream: int, along: JoinFactor | None) -> Iterator[tuple[Ints, Ints]]:
        """Pairs of a tuple so far and a row of another stream."""
        if along is None:
            size = len(next(iter(bound.values())))
            yield from cross(np.arange(size), np.arange(len(self._sides[stream])), self._at_once)
            return
        left, right = self._ranked(along)
        if along.right == stream:
            yield from probe(left.at(bound[along.left]), right, along.operator, self._at_once)
        else:
            for theirs, mine in probe(left, right.at(bound[along.right]), along.operator, self._at_once):
                yield mine, theirs

    def _next(self, bound: set[int]) -> tuple[int, JoinFactor | None]:
        """The stream to take in next and the factor to find its rows by: an equality, any other factor, or none."""
        open_ = [f for f in self._factors if (f.left in bound) != (f.right in bound)]
        if open_:
            along = min(open_, key=lambda f: ("=", "<", "<=", ">", ">=", "<>").index(f.operator))
            return (along.right if along.left in bound else along.left), along
        return next(s for s in range(len(self._sides)) if s not in bound), None

    def _ranked(self, factor: JoinFactor) -> tuple[Ranked, Ranked]:
        found = self._values.get(factor)
        if found is None:
            left = self._sides[factor.left].columns.column(factor.left_column)
            right = self._sides[factor.right].columns.column(factor.right_column)
            found = self._values[factor] = ranked(left, right, factor.offset)
        return found
