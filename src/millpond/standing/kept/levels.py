"""Levels of a tree of partial aggregates: a node holds the parts of some groups, made of `FAN_OUT` nodes of the level below.

Without groups a node is one entry. With groups it is an entry for each group that occurs below it, in the order of the groups'
numbers.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from millpond.standing.kept.parts import Array, Part

Ints = npt.NDArray[np.int64]
Codes = npt.NDArray[np.int32]

FAN_OUT = 32


@dataclass(frozen=True)
class Level:
    """Node i is the entries `offsets[i]` to `offsets[i + 1]`; entry i if `offsets` is None. `codes` are the entries' groups."""

    parts: tuple[Array, ...]
    codes: Codes | None = None
    offsets: Ints | None = None

    @property
    def nodes(self) -> int:
        return len(self.parts[0]) if self.offsets is None else len(self.offsets) - 1

    @property
    def bytes(self) -> int:
        arrays = [*self.parts, *(a for a in (self.codes, self.offsets) if a is not None)]
        return sum(a.nbytes for a in arrays)

    def cut(self, begin: int, end: int) -> Level:
        """Nodes `begin` up to `end`, without it."""
        if self.offsets is None:
            codes = None if self.codes is None else self.codes[begin:end]
            return Level(tuple(p[begin:end] for p in self.parts), codes)
        offsets = self.offsets[begin : end + 1]
        some = slice(int(offsets[0]), int(offsets[-1]))
        codes = None if self.codes is None else self.codes[some]
        return Level(tuple(p[some] for p in self.parts), codes, offsets - offsets[0])


def joined(levels: Sequence[Level]) -> Level:
    """The nodes of several levels side by side."""
    if len(levels) == 1:
        return levels[0]
    parts = tuple(np.concatenate(each) for each in zip(*(level.parts for level in levels), strict=True))
    if levels[0].codes is None:
        return Level(parts)
    codes = np.concatenate([level.codes for level in levels if level.codes is not None])
    counts = [
        np.ones(level.nodes, dtype=np.int64) if level.offsets is None else np.diff(level.offsets) for level in levels
    ]
    return Level(parts, codes, np.concatenate([[0], np.cumsum(np.concatenate(counts))]))


def above(level: Level, kinds: Sequence[Part]) -> Level:
    """The level above: a node for each `FAN_OUT` nodes; the last one may have fewer."""
    begins = np.arange(0, level.nodes, FAN_OUT)
    if level.codes is None:
        return Level(tuple(k.join.reduceat(p, begins, axis=0) for k, p in zip(kinds, level.parts, strict=True)))
    entries = begins if level.offsets is None else level.offsets[begins]
    counts = np.diff(np.append(entries, len(level.codes)))
    parents = np.repeat(np.arange(len(begins)), counts)
    merged = by_group(Level(level.parts, level.codes), kinds, parents)
    assert merged.offsets is not None
    return merged


def by_group(level: Level, kinds: Sequence[Part], parents: Ints | None = None) -> Level:
    """Entries as nodes with an entry for each group. `parents` tells the node of each entry; None: they become one node."""
    assert level.codes is not None
    if not len(level.codes):
        return Level(level.parts, level.codes, np.zeros(2, dtype=np.int64))
    keys = level.codes.astype(np.int64) if parents is None else (parents << 32) | level.codes
    order = np.argsort(keys, kind="stable")
    keys = keys[order]
    begins = np.flatnonzero(np.concatenate([[True], keys[1:] != keys[:-1]]))
    parts = tuple(k.join.reduceat(p[order], begins, axis=0) for k, p in zip(kinds, level.parts, strict=True))
    keys = keys[begins]
    codes = (keys & 0xFFFFFFFF).astype(np.int32)
    if parents is None:
        return Level(parts, codes, np.array([0, len(codes)]))
    nodes = np.arange(int(parents[-1]) + 2)
    return Level(parts, codes, (keys >> 32).searchsorted(nodes))


def pyramid(base: Level, kinds: Sequence[Part], old: Sequence[Level] = (), kept: int = 0) -> tuple[Level, ...]:
    """All levels over `base`, and it itself, up to one node. The first `kept` nodes of `base` are those of `old[0]`."""
    levels = [base]
    while levels[-1].nodes > 1:
        below = levels[-1]
        kept //= FAN_OUT
        number = len(levels)
        if kept and number < len(old):
            rest = above(below.cut(kept * FAN_OUT, below.nodes), kinds) if kept * FAN_OUT < below.nodes else None
            same = old[number].cut(0, kept)
            levels.append(same if rest is None else joined([same, rest]))
        else:
            levels.append(above(below, kinds))
    return tuple(levels)


def pieces(sizes: Sequence[int], begin: int, end: int) -> Iterator[tuple[int, int, int]]:
    """Nodes that together are nodes `begin` up to `end` of level 0: (level, begin, end), at most two pieces a level.

    `sizes` are the numbers of nodes of the levels, up to one node.
    """
    for number, size in enumerate(sizes):
        up_begin = -(-begin // FAN_OUT)
        up_end = -(-size // FAN_OUT) if end == size else end // FAN_OUT
        if end - begin <= FAN_OUT or up_begin >= up_end:
            if begin < end:
                yield number, begin, end
            return
        if begin < up_begin * FAN_OUT:
            yield number, begin, up_begin * FAN_OUT
        if up_end * FAN_OUT < end:
            yield number, up_end * FAN_OUT, end
        begin, end = up_begin, up_end
