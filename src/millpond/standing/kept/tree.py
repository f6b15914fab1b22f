"""Aggregates over any window of time, in a time that grows with the logarithm of the window.

Idea. Rows are ranked by time. A tree over them has in each node the partial aggregates of all rows below it (PSoup, Figure 12),
by group if there are groups. A window is a few nodes of each level, at most twice the fan-out. The rows lie in segments of some
thousands, each with the lower levels over it; the upper levels have a segment as their leaf. New rows wait until there are
enough of them, and then go where their times belong: as a rule into the last segment, and late ones into an older one. Only
the segments they go into and the nodes above are made again.

Invariant. A segment never changes. Times do not decrease from one segment to the next or within one. Each row is in one segment
or waits, and is in every answer whose window holds it. Nothing is ever subtracted.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from millpond.event_time import NEVER
from millpond.standing.kept import levels as levels_module
from millpond.standing.kept import segments as segments_module
from millpond.standing.kept.groups import GroupNames
from millpond.standing.kept.levels import Level, pieces, pyramid
from millpond.standing.kept.newest import Cut
from millpond.standing.kept.parts import Measure
from millpond.standing.kept.segments import Leaves, Segment, answered, cut
from millpond.standing.kept.shape import Shape, shown_level

Ints = npt.NDArray[np.int64]

_EARLIEST, _LATEST = np.iinfo(np.int64).min, np.iinfo(np.int64).max
_WAITING_ROWS = 512
_WAITING_BATCHES = 32
_SPARE_GROUPS = 1024
_WHOLE = Cut()


@dataclass(frozen=True)
class Tree:
    """The tree at one moment: what a reader asks. It never changes."""

    shape: Shape
    groups: GroupNames
    segments: tuple[Segment, ...] = ()
    top: tuple[Level, ...] = ()
    firsts: Ints = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    lasts: Ints = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    most: Ints = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    """The first time, the last time and the greatest row number of each segment."""
    waiting: tuple[Leaves, ...] = ()
    after: int = NEVER
    """Rows later than this are all there."""

    @property
    def size(self) -> int:
        return sum(len(s.rows) for s in self.segments) + sum(len(w) for w in self.waiting)

    @property
    def bytes(self) -> int:
        size = sum(s.bytes for s in self.segments) + sum(level.bytes for level in self.top)
        return size + sum(w.bytes for w in self.waiting) + (self.groups.bytes if self.shape.keys else 0)

    def ask(
        self,
        low: int | None = None,
        high: int | None = None,
        below_seq: int | None = None,
        also: tuple[pa.Table, Ints] | None = None,
        cut: Cut = _WHOLE,
    ) -> pa.Table:
        """The aggregates over the rows with `low` <= time <= `high` and a number less than `below_seq` that `cut` holds.

        `also` are rows that are not in the tree, with their times; `cut` holds all of them. The columns are the keys and then the
        measures; there is a row for each group that has rows, or exactly one without groups.
        """
        low, high = _EARLIEST if low is None else low, _LATEST if high is None else high
        groups = self.groups
        singles: list[Leaves] = []
        if also is not None and len(also[1]):
            rows, times = also
            codes = None
            if self.shape.keys:
                codes, groups = groups.find(rows)
            singles.append(
                self.shape.leaves(rows, times, np.zeros(len(times), dtype=np.int64), codes).between(low, high, None)
            )
        # Nodes tell rows apart by time alone. Rows at the very ends of the cut are looked at one by one.
        for time in {end[0] for end in (cut.low, cut.high) if end is not None and low <= end[0] <= high}:
            tied = [*self._rows(time, time, below_seq), *(w.between(time, time, below_seq) for w in self.waiting)]
            singles += [leaves.at(cut.holds(leaves.times, leaves.seqs)) for leaves in tied]
        low = low if cut.low is None else max(low, cut.low[0] + 1)
        high = high if cut.high is None else min(high, cut.high[0] - 1)
        singles += [leaves.between(low, high, below_seq) for leaves in self.waiting]
        beside = [leaves for leaves in singles if len(leaves)]
        found, single = self._collect(low, high, below_seq)
        single += beside
        if single:
            found.append(segments_module.joined(single).lifted(self.shape.kinds))
        if not found:
            return shown_level(self.shape, groups, None, lambda: [])
        level = answered(found, self.shape.kinds, grouped=bool(self.shape.keys))
        return shown_level(self.shape, groups, level, lambda: [*self._rows(low, high, below_seq), *beside])

    def _collect(self, low: int, high: int, below_seq: int | None) -> tuple[list[Level], list[Leaves]]:
        """The nodes, and the single rows, that together are the segments' part of a window."""
        found: list[Level] = []
        single: list[Leaves] = []
        begin, end = self._touched(low, high)
        if begin >= end:
            return found, single
        # Segments that are not wholly inside: those at the ends, and those with rows that are not to be seen yet.
        ends = {i for i in (begin, end - 1) if self.firsts[i] < low or self.lasts[i] > high}
        unseen: set[int] = set()
        if below_seq is not None:
            unseen = set((begin + np.flatnonzero(self.most[begin:end] >= below_seq)).tolist())
        single += [self.segments[i].rows.between(low, high, below_seq) for i in sorted(unseen)]
        for i in sorted(ends - unseen):
            segment = self.segments[i]
            first = int(segment.rows.times.searchsorted(low))
            last = int(segment.rows.times.searchsorted(high, side="right"))
            for number, a, b in pieces(segment.sizes, first, last):
                if number:
                    found.append(segment.levels[number - 1].cut(a, b))
                else:
                    single.append(segment.rows.at(slice(a, b)))
        sizes = [level.nodes for level in self.top]
        cuts = sorted(ends | unseen)
        for first, last in zip([begin, *(c + 1 for c in cuts)], [*cuts, end], strict=True):
            found += [self.top[number].cut(a, b) for number, a, b in pieces(sizes, first, last)]
        return found, [leaves for leaves in single if len(leaves)]

    def _touched(self, low: int, high: int) -> tuple[int, int]:
        return int(self.lasts.searchsorted(low)), int(self.firsts.searchsorted(high, side="right"))

    def _rows(self, low: int, high: int, below_seq: int | None) -> list[Leaves]:
        """The rows of a window that lie in segments, one by one."""
        begin, end = self._touched(low, high)
        return [segment.rows.between(low, high, below_seq) for segment in self.segments[begin:end]]


class AggregateTree:
    """Written by one thread. `snapshot` may be read from any thread: it is replaced whole.

    What `times` are is the caller's choice: ranked by row numbers it answers windows of rows.
    """

    def __init__(self, schema: pa.Schema, measures: Sequence[Measure], keys: Sequence[str] = ()) -> None:
        """`parts.serves` tells which measures can be kept."""
        shape = Shape(schema, tuple(measures), tuple(keys))
        self.snapshot = Tree(shape, GroupNames.none(schema, keys))

    @property
    def bytes(self) -> int:
        return self.snapshot.bytes

    def append(self, rows: pa.Table, times: Ints, seqs: Ints) -> None:
        """Add rows with any times."""
        if not len(times):
            return
        now, codes = self.snapshot, None
        groups = now.groups
        if now.shape.keys:
            codes, groups = groups.add(rows)
        waiting = (*now.waiting, now.shape.leaves(rows, times, seqs, codes))
        now = replace(now, groups=groups, waiting=waiting)
        if len(waiting) >= _WAITING_BATCHES or sum(map(len, waiting)) >= _WAITING_ROWS:
            now = _settled(now)
        self.snapshot = now

    def forget_before(self, time: int) -> None:
        """Rows earlier than `time` need not be held any longer. They go by segments, so some stay for a while."""
        now = self.snapshot
        gone = int(now.lasts.searchsorted(time))
        if not gone:
            return
        after = max(now.after, int(now.lasts[gone - 1]))
        now = _over(now, now.segments[gone:], 0, after)
        if now.shape.keys and now.groups.size > 2 * now.size + _SPARE_GROUPS:
            now = _regrouped(now)
        self.snapshot = now


def _settled(tree: Tree) -> Tree:
    """The rows that waited, in segments."""
    kinds = tree.shape.kinds
    rows = segments_module.joined(tree.waiting).by_time()
    tree = replace(tree, waiting=())
    if not tree.segments:
        return _over(tree, cut(rows, kinds, last=True), 0, tree.after)
    places = tree.firsts[1:].searchsorted(rows.times, side="right")
    begins = np.flatnonzero(np.concatenate([[True], places[1:] != places[:-1]])).tolist()
    segments: list[Segment] = []
    done = 0
    for begin, end in zip(begins, [*begins[1:], len(rows)], strict=True):
        place = int(places[begin])
        segments += tree.segments[done:place]
        both = segments_module.joined([tree.segments[place].rows, rows.at(slice(begin, end))]).by_time()
        segments += cut(both, kinds, last=place == len(tree.segments) - 1)
        done = place + 1
    segments += tree.segments[done:]
    return _over(tree, segments, int(places[0]), tree.after)


def _over(tree: Tree, segments: Sequence[Segment], kept: int, after: int) -> Tree:
    """The tree over other segments, of which the first `kept` are those of before."""
    new = segments[kept:]
    base = [tree.top[0].cut(0, kept)] if kept else []
    if not segments:
        nothing = np.zeros(0, dtype=np.int64)
        return replace(tree, segments=(), top=(), firsts=nothing, lasts=nothing, most=nothing, after=after)
    lowest = levels_module.joined([*base, *(s.whole for s in new)])
    return replace(
        tree,
        segments=tuple(segments),
        top=pyramid(lowest, tree.shape.kinds, tree.top, kept),
        firsts=np.concatenate([tree.firsts[:kept], [s.rows.times[0] for s in new]]),
        lasts=np.concatenate([tree.lasts[:kept], [s.rows.times[-1] for s in new]]),
        most=np.concatenate([tree.most[:kept], [s.rows.seqs.max() for s in new]]),
        after=after,
    )


def _regrouped(tree: Tree) -> Tree:
    """The tree without the groups that have no rows any more."""
    tree = _settled(tree) if tree.waiting else tree
    used = np.zeros(tree.groups.size, dtype=np.bool_)
    for segment in tree.segments:
        assert segment.rows.codes is not None
        used[segment.rows.codes] = True
    codes = np.flatnonzero(used).astype(np.int32)
    new = (np.cumsum(used) - 1).astype(np.int32)
    tree = replace(tree, groups=tree.groups.only(codes))
    return _over(tree, [s.recoded(new, tree.shape.kinds) for s in tree.segments], 0, tree.after)
