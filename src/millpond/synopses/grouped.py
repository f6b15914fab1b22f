"""Counts and sums over windows for millions of groups at once, in columns.

Every group has buckets in levels of at most `spread + 1`. A row comes into level 0 as a bucket of its own; where a level gets too
full, its oldest buckets leave in pairs for the next level, and each pair becomes one bucket (its time that of the newer) if

    size of the pair - 1  <=  (what is newer + 1) / spread

and stays two if not. This is the condition under which a window that begins inside the bucket has bounds with
upper / lower <= 1 + 1/spread (see `canonical`), and it goes on holding, because only what is newer can grow. A bucket of one
row is in the window or not, whatever its size. Of rows that count one each, a pair of level i has size 2**(i + 1) and always
fits: the levels are those of an exponential histogram, with its bound on their number, and sizes need not be stored. Of other
values, pairs that do not fit are those with which the total grows by the factor 1 + 1/spread, so there is about one bucket for
each such factor, whatever the values.

A batch of rows is sorted by group and goes through the levels once, all groups together, in a few array operations for each
level. On average half as many buckets take part in each next level, so a batch costs O(rows). All groups share one time line.

**How to use it from a query.** Number the groups 0, 1, 2, ... (slots; dictionary-encode the grouping columns) and keep that
numbering beside it. For each batch call `add_many(slots, times, values)` with times that do not go back; for each instant call
`estimate(slots, window, now)`, which gives three arrays. `clear(slots)` frees groups that are given up. `idle(now)` lists the
slots that hold nothing any more, so that their numbers can be given to others. State goes to a checkpoint with `to_bytes`.

**Unit of time.** A time takes 4 bytes if the window is shorter than 2**30 units, else 8. Where windows begin and end only at
multiples of some unit, times may be rounded up to that unit: no row changes its window, and a day in milliseconds needs 4 bytes
where one in microseconds needs 8. For windows of rows, give row numbers as times.
"""

from __future__ import annotations

from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
import numpy.typing as npt

from millpond.arrow import distinct
from millpond.errors import counted
from millpond.synopses.base import (
    TOO_LARGE,
    SynopsisError,
    Timeline,
    amounts,
    check_eps,
    which_count,
    whole,
    whole_numbers,
)
from millpond.synopses.canonical import interval, ratio_error, spread_for
from millpond.synopses.cascade import Entries, pass_level
from millpond.synopses.layout import Floats, Ints, StateReader, StateWriter, unseal
from millpond.synopses.rings import Rings, Stamps, grown, shifted
from millpond.synopses.slots import Slotted

SHORT_WINDOW = 1 << 30
# Rows that stand in memory together when two synopses are merged.
AT_ONCE = 1 << 22


class Estimates(NamedTuple):
    """`Estimate` for many groups: the truth of each lies between its `lower` and `upper`."""

    value: Floats
    lower: Ints | Floats
    upper: Ints | Floats


class _Grouped(Slotted):
    """Columns: total, first time (see `Canonical.first`) and number of sizes in use per group; a `Rings` for each size."""

    KIND: ClassVar[bytes]
    VERSION: ClassVar[int] = 1
    SIZED: ClassVar[bool]
    """Whether rows have values, so that buckets of a level differ in size."""

    def __init__(self, eps: float, window: int) -> None:
        self.eps = check_eps(eps)
        self.timeline = Timeline(window, rows=False)
        self.spread = spread_for(self.eps)
        self.generation = 0
        self._dtype: np.dtype[Any] = np.dtype(np.int32 if self.timeline.window < SHORT_WINDOW else np.int64)
        self._long_ago, self._never = int(np.iinfo(self._dtype).min), int(np.iinfo(self._dtype).max)
        self._base: int | None = None
        self._groups = 0
        self._total: Ints = np.empty(0, dtype=np.int64)
        self._first: Stamps = np.empty(0, dtype=self._dtype)
        self._top = np.empty(0, dtype=np.uint8)
        self._levels: list[Rings] = []

    # What it is

    def parameters(self) -> tuple[Any, ...]:
        return (self.eps, self.window)

    @property
    def error(self) -> float:
        """The relative error guaranteed for every group; see `ExponentialHistogram` for what merging does to it."""
        return ratio_error((1 + 1 / self.spread) ** (self.generation + 1))

    @property
    def nbytes(self) -> int:
        """Bytes in use, of all columns."""
        row = self._total.itemsize + self._first.itemsize + self._top.itemsize
        return len(self._total) * row + sum(level.nbytes for level in self._levels)

    # Adding

    def _insert(self, slots: npt.ArrayLike, times: npt.ArrayLike, values: npt.NDArray[Any] | None) -> None:
        """Rows whose `values` are 0 (or false) move the time on and nothing else."""
        groups = whole_numbers("slots", slots)
        stamps = self.timeline.many(times, len(groups))
        if values is not None and len(values) != len(groups):
            raise SynopsisError(f"got {counted(len(groups), 'slot')} and {counted(len(values), 'value')}")
        if not len(groups):
            return
        if int(groups.min()) < 0 or int(groups.max()) >= 1 << 31:
            raise SynopsisError("a slot must be from 0 to 2147483647")
        self.reserve(int(groups.max()) + 1)
        now = int(stamps[-1])
        self._rebase(int(stamps[0]), now)
        self.timeline.now = now
        begin = int(np.searchsorted(stamps, now - self.window, side="right"))
        groups, stamps = groups[begin:], stamps[begin:]
        if values is not None:
            values = values[begin:]
            some = np.flatnonzero(values)
            if len(some) < len(values):
                groups, stamps, values = groups[some], stamps[some], values[some]
            if not len(groups):
                return
        # Sorting (group, position) as one number is several times as fast as a stable sort by group.
        bits = len(groups).bit_length()
        key = (groups << bits) | np.arange(len(groups), dtype=np.int64)
        key.sort()
        order, groups = key & ((1 << bits) - 1), key >> bits
        sizes = None
        if self.SIZED:
            sizes = np.ones(len(order), dtype=np.int64) if values is None else values[order]
        self._place(groups, (stamps - self._origin).astype(self._dtype)[order], sizes)

    def _place(self, groups: Ints, times: Stamps, sizes: Ints | None) -> None:
        """Rows sorted by group and, within a group, by time, into the levels."""
        new = np.empty(len(groups), dtype=bool)
        new[0] = True
        np.not_equal(groups[1:], groups[:-1], out=new[1:])
        starts = np.flatnonzero(new)
        touched = groups[starts]
        self._expire(touched, self._stored(self.timeline.now - self.window))
        empty = self._total[touched] == 0
        if empty.any():
            self._first[touched[empty]] = times[starts[empty]]
        added = np.diff(starts, append=len(groups)) if sizes is None else np.add.reduceat(sizes, starts)
        self._total[touched] += added
        entries = Entries(np.cumsum(new) - 1, times, sizes)
        newer = np.zeros(len(touched), dtype=np.int64)
        level = 0
        while len(touched):
            if level == len(self._levels):
                self._levels.append(self._new_level(level))
            self._top[touched] = np.maximum(self._top[touched], level + 1)
            touched, entries, newer = pass_level(self._levels[level], self.spread, touched, entries, newer)
            level += 1

    def _new_level(self, level: int) -> Rings:
        return Rings(len(self._total), self.spread + 1, self._dtype, None if self.SIZED else 1 << level)

    # Time

    @property
    def _origin(self) -> int:
        return 0 if self._base is None else self._base

    def _stored(self, time: int) -> int:
        """A time as the columns hold it; what is before all of them stays before all of them."""
        return min(max(time - self._origin, self._long_ago), self._never - 1)

    def _rebase(self, first: int, now: int) -> None:
        """Keep times small enough for the columns: those of 32 bits are counted from a base that moves now and then."""
        if self._dtype == np.int64:
            return
        if self._base is None:
            self._base = first
        if now - self._base < SHORT_WINDOW:
            return
        base = now - self.window
        shift = base - self._base
        self._first = self._moved(self._first, -shift)
        for level in self._levels:
            level.times[: level.used] = shifted(level.times[: level.used], -shift)
        self._base = base

    def _moved(self, first: Stamps, shift: int) -> Stamps:
        """First times counted from another base; what means that none is known goes on meaning it."""
        known = (first != self._long_ago) & (first != self._never)
        return np.where(known, shifted(first, shift), first)

    def _expire(self, groups: Ints, begin: int) -> None:
        """Drop the buckets of these (distinct) groups with nothing after `begin`."""
        tops = self._top[groups]
        for top in range(int(tops.max(initial=0)), 0, -1):
            here = np.flatnonzero(tops == top)
            if not len(here):
                continue
            rings = self._levels[top - 1]
            rows = rings.rows(groups[here])
            past = rings.oldest(rows) <= begin
            if not past.any():
                continue
            here, rows = here[past], rows[past]
            gone, amount = rings.older(rows, begin)
            some = groups[here]
            self._total[some] -= amount
            self._first[some] = self._long_ago
            whole_level = gone == rings.count[rows]
            rings.drop_oldest(rows[~whole_level], gone[~whole_level], amount[~whole_level])
            rings.release(some[whole_level])
            tops[here[whole_level]] = top - 1
        self._top[groups] = tops
        self._first[groups[tops == 0]] = self._never

    def advance(self, now: int) -> None:
        """Nothing older than `now` will come; what has left the window is forgotten, in every group."""
        self.timeline.now = self.timeline.one(now)
        self._rebase(now, now)
        self._expire(np.arange(self._groups, dtype=np.int64), self._stored(now - self.window))

    # Groups

    def reserve(self, groups: int) -> None:
        """Room for slots below `groups`."""
        if groups > len(self._total):
            room = max(groups, len(self._total) * 3 // 2)
            self._total, self._top = grown(self._total, room, 0), grown(self._top, room, 0)
            self._first = grown(self._first, room, self._never)
            for level in self._levels:
                level.reserve(room)
        self._groups = max(self._groups, groups)

    def clear(self, slots: npt.ArrayLike) -> None:
        """Forget these groups; their slots can be used for others."""
        groups = distinct(self._known(slots))
        for level in self._levels:
            level.release(groups)
        self._total[groups], self._top[groups], self._first[groups] = 0, 0, self._never

    def idle(self, now: int | None = None) -> Ints:
        """Slots with nothing in the largest window."""
        begin = self._stored(self.timeline.begin(None, now))
        some = np.flatnonzero(self._top[: self._groups])
        empty = np.ones(self._groups, dtype=bool)
        if len(some):
            rings = self._levels[0]
            empty[some[rings.newest(rings.rows(some)) > begin]] = False
        return np.flatnonzero(empty)

    def part(self, slots: npt.ArrayLike) -> Self:
        """These groups by themselves: the first of `slots` is 0 there."""
        groups = self._known(slots)
        made = type(self)(*self.parameters())
        made.timeline.now, made.generation, made._base = self.timeline.now, self.generation, self._base
        made._groups = len(groups)
        made._total, made._first, made._top = self._total[groups], self._first[groups], self._top[groups]
        made._levels = [level.part(groups) for level in self._levels[: int(made._top.max(initial=0))]]
        return made

    def absorb(self, other: Self, slots: npt.ArrayLike) -> None:
        """Give `slots`, which hold nothing here, what the groups 0, 1, ... of `other` have. Where the time line stands here it
        stays, so that rows of other groups can follow from there; those of these groups must be later than what they have."""
        groups = self._room_for(other, slots)
        if self._base is None:
            self._base = other._base
        shift = other._origin - self._origin
        self.generation = max(self.generation, other.generation)
        self._total[groups], self._top[groups] = other._total[: len(other)], other._top[: len(other)]
        self._first[groups] = self._moved(other._first[: len(other)], shift)
        for number, level in enumerate(other._levels):
            if number == len(self._levels):
                self._levels.append(self._new_level(number))
            self._levels[number].absorb(level, groups, shift)

    # Asking

    def estimate(
        self, slots: npt.ArrayLike | None = None, window: int | None = None, now: int | None = None
    ) -> Estimates:
        """For each of `slots` (None: all), over (now - window, now]."""
        groups = self._known(slots)
        begin = self._stored(self.timeline.begin(window, now))
        upper = self._total[groups]
        lower = upper.copy()
        whole_stream = self._first[groups] > begin
        tops = np.where(whole_stream, 0, self._top[groups])
        for top in range(int(tops.max(initial=0)), 0, -1):
            here = np.flatnonzero(tops == top)
            rings = self._levels[top - 1]
            rows = rings.rows(groups[here])
            number = np.zeros(len(here), dtype=np.int64)
            past = np.flatnonzero(rings.oldest(rows) <= begin)
            number[past], amount = rings.older(rows[past], begin)
            upper[here[past]] -= amount
            some = number < rings.count[rows]
            tops[here[~some]] = top - 1
            here, rows, number = here[some], rows[some], number[some]
            lower[here] = upper[here] - rings.unsure_at(rings.place(rows, number))
        lower[upper == 0] = 0
        if self.generation:
            slack = (1 + 1 / self.spread) ** self.generation
            shrunk = np.maximum(np.ceil(lower / slack - 1e-9).astype(np.int64), 1)
            lower = np.where((lower > 0) & ~whole_stream, shrunk, lower)
        return Estimates(interval(lower, upper), lower, upper)

    def buckets(self, slots: npt.ArrayLike | None = None) -> Ints:
        """How many buckets each group has."""
        groups = self._known(slots)
        number = np.zeros(len(groups), dtype=np.int64)
        for level in self._levels:
            rows = level.rows(groups)
            number[rows >= 0] += level.count[rows[rows >= 0]].astype(np.int64)
        return number

    # Together

    def merge(self, other: Self) -> Self:
        """Slot by slot, both streams together; changes neither. One more generation of merging, as in `ExponentialHistogram`."""
        self._check_mergeable(other)
        groups = max(len(self), len(other))
        if not self._total.any() or not other._total.any():
            both = self.from_bytes((self if self._total.any() else other).to_bytes())
            both.reserve(groups)
        else:
            both = type(self)(*self.parameters())
            both.reserve(groups)
            slots, times, sizes = (np.concatenate(pair) for pair in zip(self._all(), other._all(), strict=True))
            both.timeline.now = int(times.max())
            both._rebase(int(times.min()), both.timeline.now)
            both._take_buckets(slots, times, sizes)
            both.generation = max(self.generation, other.generation) + 1
            both._first[:groups] = self._oldest_first(other, both)
        both.timeline.now = max(self.timeline.now, other.timeline.now)
        return both

    def _all(self) -> tuple[Ints, Ints, Ints]:
        """Slot, time and size of every bucket."""
        parts = [level.all() for level in self._levels]
        slots, times, sizes = (np.concatenate(column) for column in zip(*parts, strict=True))
        return slots, times.astype(np.int64) + self._origin, sizes

    def _take_buckets(self, slots: Ints, times: Ints, sizes: Ints) -> None:
        """Buckets as if all of each had come at its time. Where every row counts one, they are taken apart, some groups at a
        time so that not all rows stand in memory at once."""
        order = np.lexsort((times, slots))
        slots, stamps, sizes = slots[order], (times[order] - self._origin).astype(self._dtype), sizes[order]
        if self.SIZED:
            self._place(slots, stamps, sizes)
            return
        ends = np.append(np.flatnonzero(slots[1:] != slots[:-1]) + 1, len(slots))
        rows = np.cumsum(sizes)[ends - 1]
        start = 0
        while start < len(slots):
            done = int(sizes[:start].sum())
            upto = int(ends[min(int(np.searchsorted(rows, done + AT_ONCE)), len(ends) - 1)])
            part = slice(start, upto)
            self._place(np.repeat(slots[part], sizes[part]), np.repeat(stamps[part], sizes[part]), None)
            start = upto

    def _oldest_first(self, other: Self, both: Self) -> Stamps:
        """The first times of two merged into `both`, in its columns. What either does not know is not known."""
        result = np.full(both._groups, self._never, dtype=np.int64)
        for one in (self, other):
            column = one._first[: one._groups].astype(np.int64)
            known = (column != self._long_ago) & (column != self._never)
            moved = np.maximum(column + (one._origin - both._origin), self._long_ago)
            result[: one._groups] = np.minimum(result[: one._groups], np.where(known, moved, column))
        result[both._total[: both._groups] == 0] = self._never
        return result.astype(self._dtype)

    # Bytes

    def to_bytes(self) -> bytes:
        writer = StateWriter()
        writer.real(self.eps)
        writer.number(
            self.window, self.timeline.now, self.generation, self._base is not None, self._origin, self._groups
        )
        writer.array(self._total[: self._groups])
        writer.array(self._first[: self._groups])
        writer.array(self._top[: self._groups])
        levels = self._levels[: int(self._top.max(initial=0))]
        writer.number(len(levels))
        for level in levels:
            level.write(writer)
        self._write_own(writer)
        return writer.seal(self.KIND, self.VERSION)

    def _write_own(self, writer: StateWriter) -> None:
        """What one kind has and the others have not."""

    def _read_own(self, reader: StateReader) -> None:
        """The same, read back."""

    @classmethod
    def from_bytes(cls, data: bytes | memoryview) -> Self:
        reader = unseal(data, cls.KIND, cls.VERSION)
        made = cls(reader.real(), reader.number())
        made.timeline.now, made.generation = reader.number(), reader.number()
        based, base = reader.number(), reader.number()
        made._base = base if based else None
        made._groups = reader.number()
        made._total, made._first, made._top = reader.array(), reader.array(), reader.array()
        for _ in range(reader.number()):
            unit = None if cls.SIZED else 1 << len(made._levels)
            made._levels.append(Rings.read(reader, made._groups, made.spread + 1, made._dtype, unit))
        made._read_own(reader)
        reader.end()
        return made


class GroupedExponentialHistogram(_Grouped):
    """How many ones, for each group, in any window up to `window`; relative error at most eps in every group."""

    KIND = b"GEHI"
    SIZED = False

    def add_many(self, slots: npt.ArrayLike, times: npt.ArrayLike, values: npt.ArrayLike | None = None) -> None:
        """`values`: 1 or true for a row that counts, 0 or false for one that does not; left out, all count.
        All rows are taken, or none when the call raises."""
        self._insert(slots, times, None if values is None else which_count(values))


class GroupedSlidingSum(_Grouped):
    """The sum of whole numbers from 0 to `max_value`, for each group, in any window up to `window`; error at most eps."""

    KIND = b"GSUM"
    VERSION = 2
    SIZED = True

    def __init__(self, eps: float, window: int, max_value: int = (1 << 31) - 1) -> None:
        super().__init__(eps, window)
        self.max_value = whole("max_value", max_value, 1)

    def parameters(self) -> tuple[Any, ...]:
        return (self.eps, self.window, self.max_value)

    def _write_own(self, writer: StateWriter) -> None:
        writer.number(self.max_value)

    def _read_own(self, reader: StateReader) -> None:
        if reader.left:  # version 1 had no such number
            self.max_value = reader.number()

    def add_many(self, slots: npt.ArrayLike, times: npt.ArrayLike, values: npt.ArrayLike | None = None) -> None:
        """`values` left out are all 1. All rows are taken, or none when the call raises."""
        numbers = None if values is None else amounts(values, self.max_value)
        if (
            numbers is not None
            and int(numbers.max(initial=0)) * len(numbers) + int(self._total.max(initial=0)) >= TOO_LARGE
        ):
            raise SynopsisError("the total of a group is too large", detail="Totals have at most 62 bits.")
        self._insert(slots, times, numbers)
