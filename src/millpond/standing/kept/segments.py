"""Segments of an aggregate tree: some thousand rows ranked by time, with levels of partial aggregates over them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from millpond.standing.kept import parts as values_module
from millpond.standing.kept.levels import FAN_OUT, Level, above, by_group, pyramid
from millpond.standing.kept.parts import Part, Values

Ints = npt.NDArray[np.int64]
Codes = npt.NDArray[np.int32]

LONGEST = 4 * FAN_OUT * FAN_OUT  # rows of a segment that is full; one that late rows came into may be twice as long


@dataclass(frozen=True)
class Leaves:
    """Rows: their times, numbers, groups and the values that are aggregated, by column."""

    times: Ints
    seqs: Ints
    codes: Codes | None
    values: dict[str, Values]

    def __len__(self) -> int:
        return len(self.times)

    @property
    def bytes(self) -> int:
        size = self.times.nbytes + self.seqs.nbytes + sum(v.bytes for v in self.values.values())
        return size + (0 if self.codes is None else self.codes.nbytes)

    def at(self, places: slice | npt.NDArray[np.generic]) -> Leaves:
        codes = None if self.codes is None else self.codes[places]
        return Leaves(self.times[places], self.seqs[places], codes, {n: v.at(places) for n, v in self.values.items()})

    def between(self, low: int, high: int, below_seq: int | None) -> Leaves:
        """The rows with `low` <= time <= `high` and a number less than `below_seq`."""
        inside = (self.times >= low) & (self.times <= high)
        if below_seq is not None:
            inside &= self.seqs < below_seq
        return self if inside.all() else self.at(inside)

    def by_time(self) -> Leaves:
        if not (self.times[1:] < self.times[:-1]).any():
            return self
        return self.at(np.argsort(self.times, kind="stable"))

    def lifted(self, kinds: Sequence[Part]) -> Level:
        times = Values(self.times, None)
        parts = tuple(k.lift(times if k.column is None else self.values[k.column]) for k in kinds)
        return Level(parts, self.codes)


def joined(leaves: Sequence[Leaves]) -> Leaves:
    first = leaves[0]
    if len(leaves) == 1:
        return first
    codes = None if first.codes is None else np.concatenate([each.codes for each in leaves if each.codes is not None])
    values = {name: values_module.joined([each.values[name] for each in leaves]) for name in first.values}
    times, seqs = (np.concatenate(arrays) for arrays in zip(*((each.times, each.seqs) for each in leaves), strict=True))
    return Leaves(times, seqs, codes, values)


@dataclass(frozen=True)
class Segment:
    """Rows in the order of time. `levels` are those above the rows, up to one node."""

    rows: Leaves
    levels: tuple[Level, ...]
    sizes: tuple[int, ...]
    bytes: int

    @classmethod
    def of(cls, rows: Leaves, kinds: Sequence[Part]) -> Segment:
        lowest = above(rows.lifted(kinds), kinds)
        levels = pyramid(lowest, kinds)
        size = rows.bytes + sum(level.bytes for level in levels)
        return cls(rows, levels, (len(rows), *(level.nodes for level in levels)), size)

    @property
    def whole(self) -> Level:
        return self.levels[-1]

    def recoded(self, new: Codes, kinds: Sequence[Part]) -> Segment:
        """The same rows with other numbers for their groups."""
        assert self.rows.codes is not None
        rows = self.rows
        return Segment.of(Leaves(rows.times, rows.seqs, new[rows.codes], rows.values), kinds)


def cut(rows: Leaves, kinds: Sequence[Part], *, last: bool) -> list[Segment]:
    """Segments of rows that are in order. The last segment of a tree is filled up before another is begun."""
    step = LONGEST
    if not last:  # late rows came into it: it stays one until it is twice too long
        step = -(-len(rows) // max(len(rows) // LONGEST, 1))
    return [Segment.of(rows.at(slice(i, i + step)), kinds) for i in range(0, len(rows), step)]


def answered(levels: Sequence[Level], kinds: Sequence[Part], *, grouped: bool) -> Level:
    """What some nodes are together: an entry for each group, or just one."""
    if grouped:
        codes = np.concatenate([level.codes for level in levels if level.codes is not None])
        parts = tuple(np.concatenate(each) for each in zip(*(level.parts for level in levels), strict=True))
        return by_group(Level(parts, codes), kinds)
    each = zip(kinds, zip(*(level.parts for level in levels), strict=True), strict=True)
    return Level(tuple(k.join.reduce(np.concatenate(p), axis=0, keepdims=True) for k, p in each))
