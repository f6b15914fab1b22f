"""Rows and queries as the paper draws them, and a naive judge: which rows fulfil which query.

Values are uniform in 0..255. A constant is a multiple of 32 with probability 0.2, else uniform. An interval begins at a
constant and has a size that is uniform in 0..255. A query has a factor on each of one to four columns: all equalities, or all
intervals.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

Array = np.ndarray[Any, Any]
Columns = Mapping[str, Array]

VALUES = 256
COLUMNS = ("a", "b", "c", "d")
KEY = "k"


@dataclass(frozen=True)
class Factor:
    """`low <= column <= high`; an equality where the two are the same number."""

    column: str
    low: int
    high: int

    @property
    def template(self) -> str:
        """SQL with `?` for `parameters`."""
        if self.low == self.high:
            return f"{self.column} = ?"
        return f"{self.column} >= ? AND {self.column} <= ?"

    @property
    def parameters(self) -> list[int | str]:
        if self.column == KEY:
            return [name(self.low)]
        return [self.low] if self.low == self.high else [self.low, self.high]


Query = tuple[Factor, ...]
"""A conjunction; a column occurs in it once at most."""


def where(query: Query) -> str:
    """SQL, for an engine that reads literals."""
    literals = (repr(v) for f in query for v in f.parameters)
    return " AND ".join(f.template for f in query).replace("?", "{}").format(*literals)


def name(key: int) -> str:
    """A key is a number where it is drawn, and a text where it is matched."""
    return f"S{key}"


def constants(random: np.random.Generator, count: int) -> Array:
    popular = random.integers(0, VALUES // 32, count) * 32
    return np.where(random.random(count) < 0.2, popular, random.integers(0, VALUES, count))


def rows(random: np.random.Generator, count: int, columns: Sequence[str] = COLUMNS) -> dict[str, Array]:
    return {c: random.integers(0, VALUES, count, dtype=np.int32) for c in columns}


def _factors(random: np.random.Generator, count: int, factors: int | None) -> Iterator[Sequence[str]]:
    """The columns of each query: so many, or one to four if None."""
    for _ in range(count):
        size = int(random.integers(1, len(COLUMNS) + 1)) if factors is None else factors
        yield [COLUMNS[i] for i in sorted(random.permutation(len(COLUMNS))[:size])]


def equalities(random: np.random.Generator, count: int, factors: int | None = None) -> list[Query]:
    return [
        tuple(Factor(c, int(v), int(v)) for c, v in zip(named, constants(random, len(named)), strict=True))
        for named in _factors(random, count, factors)
    ]


def intervals(random: np.random.Generator, count: int, factors: int | None = None) -> list[Query]:
    found = []
    for named in _factors(random, count, factors):
        lows, sizes = constants(random, len(named)), random.integers(0, VALUES, len(named))
        highs = np.minimum(lows + sizes, VALUES - 1)
        found.append(tuple(Factor(c, int(a), int(b)) for c, a, b in zip(named, lows, highs, strict=True)))
    return found


def selective(random: np.random.Generator, count: int, keys: int) -> list[Query]:
    """An equality on the column `k` of `keys` different texts, and an interval on `a`: alerts of one instrument, say.

    Each text is named by equally many queries.
    """
    lows, sizes = constants(random, count), random.integers(0, VALUES, count)
    highs = np.minimum(lows + sizes, VALUES - 1)
    chosen = np.concatenate([random.permutation(keys) for _ in range(-(-count // keys))])[:count]
    return [
        (Factor(KEY, int(k), int(k)), Factor("a", int(a), int(b))) for k, a, b in zip(chosen, lows, highs, strict=True)
    ]


def keyed_rows(random: np.random.Generator, count: int, keys: int) -> dict[str, Array]:
    return {KEY: random.integers(0, keys, count, dtype=np.int32), **rows(random, count, ("a",))}


# -- joins ------------------------------------------------------------------------------------------------------------

OPERATORS = {"<": np.less, "<=": np.less_equal, "=": np.equal, ">=": np.greater_equal, ">": np.greater}
INEQUALITIES = ("<", "<=", ">=", ">")


@dataclass(frozen=True)
class Join:
    """`r.a operator s.b + offset`."""

    operator: str
    offset: int

    @property
    def sql(self) -> str:
        sign = "-" if self.offset < 0 else "+"
        return f"r.a {self.operator} s.b {sign} {abs(self.offset)}"

    def pairs(self, left: Array, right: Array) -> int:
        """How many, by trying them all."""
        return int(OPERATORS[self.operator](left[:, None], right[None, :] + self.offset).sum())


def joins(random: np.random.Generator, count: int) -> list[Join]:
    signs = random.choice([-1, 1], count)
    names = random.choice(INEQUALITIES, count)
    return [Join(str(n), int(s * c)) for n, s, c in zip(names, signs, constants(random, count), strict=True)]


# -- the naive judge --------------------------------------------------------------------------------------------------


def mask(query: Query, columns: Columns) -> Array:
    """Which rows fulfil the query."""
    found = np.ones(len(next(iter(columns.values()))), dtype=bool)
    for factor in query:
        found &= (columns[factor.column] >= factor.low) & (columns[factor.column] <= factor.high)
    return found


def judged(queries: Sequence[Query], columns: Columns) -> tuple[int, int]:
    """The number of matches, and the sum of (query + 1) * (row + 1) modulo 2^64: no two mistakes are likely to agree."""
    matches = checksum = 0
    for number, query in enumerate(queries):
        hit = np.flatnonzero(mask(query, columns))
        matches += len(hit)
        checksum += (number + 1) * (int(hit.sum()) + len(hit))
    return matches, checksum % 2**64


def table(columns: Columns) -> pa.Table:
    return pa.table({c: pa.array(map(name, v.tolist()), pa.string()) if c == KEY else v for c, v in columns.items()})


def plain(columns: Columns) -> pa.Table:
    """The numbers as they are, keys too."""
    return pa.table(dict(columns))
