"""Entries as arrays: for each axis the span of codes that each entry accepts. The form from which blocks and tables are made,
and in which they are merged and thinned, without looking at predicates again.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from millpond.arrow import distinct
from millpond.predicate.vector import Bools, Filter
from millpond.standing.index.accepted import Accepted
from millpond.standing.index.axes import GREATEST, LEAST, Axes, Axis, Batch, Code, Int32s, Int64s

HAS, NULL, SEVERAL = 1, 2, 4  # flags of an entry on an axis: it has a factor; that accepts NULL; that has several spans
Places = npt.NDArray[np.integer[Any]]


@dataclass(frozen=True)
class Spans:
    """Spans of entries, both ends belong to them: sorted by entry, then by their begin."""

    at: Int32s
    low: Int64s
    high: Int64s

    @property
    def nbytes(self) -> int:
        return self.at.nbytes + self.low.nbytes + self.high.nbytes

    def chosen(self, wanted: Bools, at: Int32s) -> Spans:
        return Spans(at[wanted], self.low[wanted], self.high[wanted])


NO_SPANS = Spans(np.empty(0, dtype=np.int32), np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64))


@dataclass
class Factor:
    """What each entry accepts on an axis: codes from `low` to `high`, both included. LEAST and GREATEST are no limits.

    Where an entry has several spans, these are around all of them, and the spans are in `several`. Of a ranked axis the codes are
    ranks among `cuts`: a value has the rank r if r cuts are not greater than it.
    """

    low: Int64s
    high: Int64s
    flags: npt.NDArray[np.uint8]
    several: Spans
    cuts: list[Code] | None

    def __post_init__(self) -> None:
        both = np.stack([self.low, self.high], axis=1)  # whoever looks at one end of a span finds the other beside it
        self.low, self.high = both[:, 0], both[:, 1]
        self.accepts_null: Bools | None = None
        open_to_null = (self.flags & (HAS | NULL)) != HAS
        if open_to_null.any():
            self.accepts_null = open_to_null
        self.begins = bool((self.low != LEAST).any())
        self.ends = bool((self.high != GREATEST).any())
        self._members = _Members(self.several) if len(self.several.at) else None

    @property
    def nbytes(self) -> int:
        size = self.low.nbytes + self.high.nbytes + self.flags.nbytes + self.several.nbytes
        if self.accepts_null is not None:
            size += self.accepts_null.nbytes
        if self._members is not None:
            size += self._members.nbytes
        return size + sum(map(sys.getsizeof, self.cuts or ())) + 8 * len(self.cuts or ())

    def holds(self, batch: Batch, axis: Axis, places: Places, entries: Places) -> Bools:
        """Of pairs of a row and an entry, which fulfil this factor."""
        codes = batch.codes(axis, self.cuts)[places]
        holds = codes <= self.high[entries] if self.ends else np.ones(len(codes), dtype=np.bool_)
        if self.begins:
            holds &= codes >= self.low[entries]
        if self._members is not None:
            asked = np.flatnonzero(holds & ((self.flags[entries] & SEVERAL) != 0))
            holds[asked] = self._members.hold(entries[asked], codes[asked])
        nulls = batch.nulls(axis)
        if nulls is not None:
            null = nulls[places]
            holds &= ~null
            if self.accepts_null is not None:
                holds |= null & self.accepts_null[entries]
        return holds

    def spans(self) -> Spans:
        """All spans of the entries that have a factor."""
        single = ((self.flags & (HAS | SEVERAL)) == HAS) & (self.low <= self.high)
        at = np.flatnonzero(single).astype(np.int32)
        several = self.several
        return Spans(
            np.concatenate([at, several.at]),
            np.concatenate([self.low[at], several.low]),
            np.concatenate([self.high[at], several.high]),
        )

    def take(self, positions: Places) -> Factor:
        """The same of some entries, in that order; each at most once."""
        moved = np.full(len(self.low), -1, dtype=np.int32)
        moved[positions] = np.arange(len(positions), dtype=np.int32)
        at = moved[self.several.at]
        several = self.several.chosen(at >= 0, at)
        order = np.lexsort((several.low, several.at))
        several = Spans(several.at[order], several.low[order], several.high[order])
        taken = _Raw(self.low[positions], self.high[positions], self.flags[positions], several, self.cuts)
        return _joined([taken])


@dataclass(frozen=True)
class _Raw:
    low: Int64s
    high: Int64s
    flags: npt.NDArray[np.uint8]
    several: Spans
    cuts: list[Code] | None


class _Members:
    """Whether a code lies in one of an entry's several spans, for many pairs at once.

    The ends of all spans are numbered in order of (entry, code); a code lies in a span if the number of ends before it is odd.
    """

    def __init__(self, several: Spans) -> None:
        after = several.high[several.high < GREATEST] + 1
        self._cuts = distinct(np.concatenate([several.low, after]))
        self._entries = distinct(several.at)
        self._width = len(self._cuts) + 2
        number = np.searchsorted(self._entries, several.at) * self._width
        ends = np.empty(2 * len(number), dtype=np.int64)
        ends[0::2] = number + np.searchsorted(self._cuts, several.low, side="right")
        ends[1::2] = number + np.where(
            several.high < GREATEST, np.searchsorted(self._cuts, several.high, side="right") + 1, self._width - 1
        )
        self._ends = ends

    @property
    def nbytes(self) -> int:
        return self._cuts.nbytes + self._entries.nbytes + self._ends.nbytes

    def hold(self, entries: Places, codes: Int64s) -> Bools:
        keys = np.searchsorted(self._entries, entries) * self._width
        keys += np.searchsorted(self._cuts, codes, side="right")
        inside: Bools = np.searchsorted(self._ends, keys, side="right") % 2 == 1
        return inside


@dataclass
class Entries:
    """Entries with their factors; positions in all arrays are the same. `rest` is what no axis can say, by position."""

    ids: Int32s
    factors: dict[Axis, Factor]
    rest: dict[int, Filter]

    def __len__(self) -> int:
        return len(self.ids)

    @property
    def nbytes(self) -> int:
        """A filter's closures are guessed at: a kilobyte."""
        return self.ids.nbytes + sum(f.nbytes for f in self.factors.values()) + 1024 * len(self.rest)

    def take(self, positions: Places) -> Entries:
        """Some of them, each at most once, in a new order. Axes that none of them uses are left out."""
        factors = {axis: f.take(positions) for axis, f in self.factors.items() if (f.flags[positions] & HAS).any()}
        rest = {}
        if self.rest:
            rest = {n: self.rest[p] for n, p in enumerate(positions.tolist()) if p in self.rest}
        return Entries(self.ids[positions], factors, rest)

    @classmethod
    def joined(cls, parts: Sequence[Entries]) -> Entries:
        if len(parts) == 1:
            return parts[0]
        axes = dict.fromkeys(axis for part in parts for axis in part.factors)
        factors = {axis: _joined([part.factors.get(axis) or len(part) for part in parts]) for axis in axes}
        rest: dict[int, Filter] = {}
        before = 0
        for part in parts:
            rest |= {before + p: filter_ for p, filter_ in part.rest.items()}
            before += len(part)
        return cls(np.concatenate([p.ids for p in parts]), factors, rest)

    @classmethod
    def of(cls, given: Iterable[tuple[int, dict[Axis, Accepted], Filter | None]], axes: Axes) -> Entries:
        """Entries by id, what they accept and the rest."""
        ids: list[int] = []
        found: dict[Axis, tuple[list[int], list[Accepted]]] = {}
        rest = {}
        for position, (entry, factors, filter_) in enumerate(given):
            ids.append(entry)
            for axis, one in factors.items():
                at, accepted = found.get(axis) or found.setdefault(axis, ([], []))
                at.append(position)
                accepted.append(one)
            if filter_ is not None:
                rest[position] = filter_
        made = {axis: _factor(len(ids), at, ones, ranked=axes.kind(axis).ranked) for axis, (at, ones) in found.items()}
        return cls(np.array(ids, dtype=np.int32), made, rest)


def _factor(count: int, at: list[int], accepted: list[Accepted], *, ranked: bool) -> Factor:
    cuts: list[Code] | None = None
    if ranked:
        cuts, accepted = _ranked(accepted)
    low, high, flags = _nothing(count)
    where = np.array(at, dtype=np.int32)
    low[where] = [a.spans[0][0] if a.spans else GREATEST for a in accepted]
    high[where] = [a.spans[-1][1] - 1 if a.spans else LEAST for a in accepted]
    flags[where] = [HAS | NULL * a.null | SEVERAL * (len(a.spans) > 1) for a in accepted]
    several = [
        (p, low, high - 1) for p, a in zip(at, accepted, strict=True) if len(a.spans) > 1 for low, high in a.spans
    ]
    spans = NO_SPANS
    if several:
        positions, lows, highs = zip(*several, strict=True)
        spans = Spans(np.array(positions, np.int32), np.array(lows, np.int64), np.array(highs, np.int64))
    return Factor(low, high, flags, spans, cuts)


def _ranked(accepted: list[Accepted]) -> tuple[list[Code], list[Accepted]]:
    """The ends of all spans as cuts, and spans of ranks among them."""
    least = {None, ""}
    cuts = sorted({end for one in accepted for span in one.spans for end in span} - least)
    rank = {cut: i + 1 for i, cut in enumerate(cuts)} | {"": LEAST, None: GREATEST + 1}
    ranks = [one._replace(spans=tuple((rank[low], rank[high]) for low, high in one.spans)) for one in accepted]
    return cuts, ranks


def _nothing(count: int) -> tuple[Int64s, Int64s, npt.NDArray[np.uint8]]:
    return np.full(count, LEAST), np.full(count, GREATEST), np.zeros(count, dtype=np.uint8)


def _joined(parts: Sequence[Factor | _Raw | int]) -> Factor:
    """Factors of one axis of several sets of entries as one. A number stands for so many entries that have none."""
    cuts = None
    if any(not isinstance(p, int) and p.cuts is not None for p in parts):
        cuts = sorted({cut for p in parts if not isinstance(p, int) for cut in _used(p)})
    rank = {cut: i + 1 for i, cut in enumerate(cuts or ())}
    arrays, spans, before = [], [], 0
    for part in parts:
        if isinstance(part, int):
            arrays.append(_nothing(part))
            before += part
            continue
        several = part.several
        low, high, begins, ends = part.low, part.high, several.low, several.high
        if part.cuts is not None:
            ranks = np.array([0, *(rank.get(cut, 0) for cut in part.cuts)], dtype=np.int64)
            low, begins = _moved(low, ranks, 0), _moved(begins, ranks, 0)
            high, ends = _moved(high, ranks, 1), _moved(ends, ranks, 1)
        arrays.append((low, high, part.flags))
        spans.append(Spans(several.at + np.int32(before), begins, ends))
        before += len(part.low)
    lows, highs, flags = zip(*arrays, strict=True)
    one = Spans(*(np.concatenate([getattr(s, n) for s in spans]) for n in ("at", "low", "high")))
    return Factor(np.concatenate(lows), np.concatenate(highs), np.concatenate(flags), one, cuts)


def _moved(codes: Int64s, ranks: Int64s, closed: int) -> Int64s:
    """Ranks among other cuts. `closed` is 1 for last codes: the cut is the one after them."""
    limits = (codes == LEAST) | (codes == GREATEST)
    return np.where(limits, codes, ranks[np.where(limits, 0, codes + closed)] - closed)


def _used(part: Factor | _Raw) -> list[Code]:
    if part.cuts is None:
        return []
    lows = np.concatenate([part.low, part.several.low])
    highs = np.concatenate([part.high, part.several.high])
    ends = distinct(
        np.concatenate([lows[(lows != LEAST) & (lows != GREATEST)], highs[(highs != LEAST) & (highs != GREATEST)] + 1])
    )
    return [part.cuts[i - 1] for i in ends.tolist()]
