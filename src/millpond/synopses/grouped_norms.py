"""Lp norms over windows, for very many groups at once: what a group holds as it is, while that is smaller than a sketch.

A `SlidingLp` takes megabytes when its error is small. Of very many groups most are small, and take less as they are: each value
with the time at which it came, and how often. Equal ones at one time are one entry, so coarse times take less. Such a group is
answered exactly. One that has more entries than a sketch has room for becomes a `SlidingLp`, and stays one until it is cleared.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar, Final, NamedTuple, Self

import numpy as np
import numpy.typing as npt

from millpond.synopses.base import Timeline, whole_numbers
from millpond.synopses.grouped import Estimates
from millpond.synopses.hashing import Hashes, mixed
from millpond.synopses.layout import Floats, Ints, StateWriter, unseal
from millpond.synopses.norms import SlidingLp
from millpond.synopses.slots import Slotted

_FEW: Final = 1 << 12
"""New entries that are not worth putting with the others."""
_LEAST: Final = 1 << 10
"""Entries that a group may have in any case."""


class _Entries(NamedTuple):
    """How often a key of a group came at a time; in any order."""

    slots: Ints
    keys: Hashes
    times: Ints
    amounts: Ints

    @classmethod
    def none(cls) -> Self:
        nothing = np.empty(0, dtype=np.int64)
        return cls(nothing, np.empty(0, dtype=np.uint64), nothing, nothing)

    @classmethod
    def of(cls, slots: Ints, keys: Hashes, times: Ints) -> Self:
        """Rows as entries, in the order of time."""
        order = np.lexsort((keys, slots, times))
        slots, keys, times = slots[order], keys[order], times[order]
        new = (slots[1:] != slots[:-1]) | (keys[1:] != keys[:-1]) | (times[1:] != times[:-1])
        begins = np.flatnonzero(np.r_[True, new])
        return cls(slots[begins], keys[begins], times[begins], np.diff(np.r_[begins, len(order)]))

    def only(self, which: npt.NDArray[Any]) -> Self:
        return type(self)(*(column[which] for column in self))

    def together(self, *others: Self) -> Self:
        columns = zip(self, *others, strict=True)
        return type(self)(*(np.concatenate(parts) for parts in columns))

    def grouped(self) -> Iterator[tuple[int, Self]]:
        """The entries of each group, in the order of time."""
        order = np.lexsort((self.times, self.slots))
        for part in np.split(order, np.flatnonzero(np.diff(self.slots[order])) + 1) if len(order) else ():
            yield int(self.slots[part[0]]), self.only(part)


class GroupedSlidingLp(Slotted):
    """The Lp norm, p in [1, 2], of how often each value came, for each group, in any window up to `window`; within eps in at
    least `rate` of all cases, exact for small groups. Merging: as `SlidingLp`, where a group has a sketch."""

    KIND: ClassVar[bytes] = b"GLPN"
    VERSION: ClassVar[int] = 1

    def __init__(self, p: float, eps: float, window: int, rate: float = 0.95, seed: int = 0) -> None:
        one = SlidingLp(p, eps, window, rate=rate, seed=seed)
        self.p, self.eps, self.rate, self.seed = one.p, one.eps, one.rate, one.seed
        self.timeline = Timeline(window, rows=False)
        entry = sum(column.itemsize for column in _Entries.none())
        self.most = max(_LEAST, one.largest // entry)
        """Entries of a group that take no more than a sketch would."""
        self._groups = 0
        self._entries = _Entries.none()
        self._new: list[_Entries] = []
        self._counts: Ints = np.zeros(0, dtype=np.int64)
        self._large: dict[int, SlidingLp] = {}

    # What it is

    def parameters(self) -> tuple[Any, ...]:
        return (self.p, self.eps, self.window, self.rate, self.seed)

    @property
    def error(self) -> float:
        return max((one.error for one in self._large.values()), default=self.eps)

    @property
    def nbytes(self) -> int:
        columns = [c for part in (self._entries, *self._new) for c in part]
        return sum(c.nbytes for c in [*columns, self._counts]) + sum(one.nbytes for one in self._large.values())

    # Adding

    def add_many(self, slots: npt.ArrayLike, times: npt.ArrayLike, values: Any) -> None:
        """A row is a value of a group. All rows are taken, or none when the call raises."""
        groups, stamps, keys = self._hashed_rows(slots, times, values, self.seed)
        if len(groups):
            self._take(_Entries.of(groups, keys, stamps))

    def _take(self, entries: _Entries) -> None:
        if self._large:
            large = np.isin(entries.slots, list(self._large))
            for slot, theirs in entries.only(large).grouped():
                self._large[slot].add_many(theirs.times, theirs.keys, theirs.amounts)
            entries = entries.only(~large)
        if not len(entries.slots):
            return
        self._new.append(entries)
        np.add.at(self._counts, entries.slots, 1)
        touched = entries.slots[self._counts[entries.slots] > self.most]
        if len(touched):
            self._settle()
            touched = touched[self._counts[touched] > self.most]
        if len(touched):
            self._sketch(touched)
        elif sum(len(part.slots) for part in self._new) > max(_FEW, len(self._entries.slots) // 4):
            self._settle()

    def _settle(self) -> None:
        """One table again, of what is in the window."""
        entries = self._entries.together(*self._new)
        live = entries.times > self.timeline.now - self.window
        self._entries = entries if live.all() else entries.only(live)
        self._new = []
        self._counts = np.bincount(self._entries.slots, minlength=self._groups)

    def _sketch(self, slots: Ints) -> None:
        """These groups become sketches. Nothing is new."""
        mine = np.isin(self._entries.slots, slots)
        for slot, theirs in self._entries.only(mine).grouped():
            self._large[slot] = self._sketched(theirs)
            self._counts[slot] = 0
        self._entries = self._entries.only(~mine)

    def _sketched(self, entries: _Entries) -> SlidingLp:
        made = SlidingLp(self.p, self.eps, self.window, rate=self.rate, seed=self.seed)
        made.add_many(entries.times, entries.keys, entries.amounts)
        return made

    # Groups

    def reserve(self, groups: int) -> None:
        """Room for slots below `groups`."""
        if groups > len(self._counts):
            room = np.zeros(max(groups, 2 * len(self._counts)), dtype=np.int64)
            room[: len(self._counts)] = self._counts
            self._counts = room
        self._groups = max(self._groups, groups)

    def clear(self, slots: npt.ArrayLike) -> None:
        """Forget these groups; their slots can be used for others."""
        self._settle()
        gone = whole_numbers("slots", slots)
        self._entries = self._entries.only(~np.isin(self._entries.slots, gone))
        self._counts[gone] = 0
        for slot in self._large.keys() & set(gone.tolist()):
            del self._large[slot]

    def part(self, slots: npt.ArrayLike) -> Self:
        """These groups by themselves: the first of `slots` is 0 there."""
        self._settle()
        made, number = self._empty_part(slots)
        held = number[self._entries.slots]
        mine = self._entries.only(held >= 0)
        made._entries = mine._replace(slots=held[held >= 0])
        made._large = {int(number[s]): one.copy() for s, one in self._large.items() if number[s] >= 0}
        made._settle()
        return made

    def absorb(self, other: Self, slots: npt.ArrayLike) -> None:
        """Give `slots`, which hold nothing here, what the groups 0, 1, ... of `other` have; see `GroupedExponentialHistogram`."""
        groups = self._room_for(other, slots)
        other._settle()
        self._large |= {int(groups[slot]): one.copy() for slot, one in other._large.items()}
        self._take(other._entries._replace(slots=groups[other._entries.slots]))

    # Asking

    def estimate(
        self, slots: npt.ArrayLike | None = None, window: int | None = None, now: int | None = None
    ) -> Estimates:
        """For each of `slots` (None: all), over (now - window, now]."""
        begin = self.timeline.begin(window, now)
        self._settle()
        value = self._exact(begin)
        lower, upper = value.copy(), value.copy()
        for slot, one in self._large.items():
            end = max(begin + (window or self.window), one.timeline.now)
            value[slot], lower[slot], upper[slot] = one.estimate(window, end)
        if slots is None:
            return Estimates(value, lower, upper)
        chosen = self._known(slots)
        return Estimates(value[chosen], lower[chosen], upper[chosen])

    def _exact(self, begin: int) -> Floats:
        """The norms of what came after `begin`, in groups that have no sketch."""
        live = self._entries.only(self._entries.times > begin)
        if not len(live.slots):
            return np.zeros(self._groups)
        # Group and key in one number: that two of them are alike by accident is as unlikely as that two keys are.
        places = mixed(live.keys ^ mixed(live.slots.view(np.uint64)))
        order = np.argsort(places)
        begins = np.flatnonzero(np.r_[True, np.diff(places[order]) != 0])
        often = np.add.reduceat(live.amounts[order], begins).astype(np.float64)
        powers = np.bincount(live.slots[order][begins], often**self.p, self._groups)
        norms: Floats = np.power(powers, 1 / self.p)
        return norms

    # Together

    def merge(self, other: Self) -> Self:
        """Slot by slot, both streams together; changes neither."""
        self._check_mergeable(other)
        both = type(self)(*self.parameters())
        both.reserve(max(len(self), len(other)))
        both.timeline.now = max(self.timeline.now, other.timeline.now)
        large = self._large.keys() | other._large.keys()
        for one in (self, other):
            one._settle()
            mine = np.isin(one._entries.slots, list(large))
            made = {**one._large, **{s: self._sketched(part) for s, part in one._entries.only(mine).grouped()}}
            for slot, sketch in made.items():
                both._large[slot] = both._large[slot].merge(sketch) if slot in both._large else sketch.copy()
            both._entries = both._entries.together(one._entries.only(~mine))
        both._settle()
        over = np.flatnonzero(both._counts > both.most)
        if len(over):
            both._sketch(over)
        return both

    # Bytes

    def to_bytes(self) -> bytes:
        self._settle()
        writer = StateWriter()
        writer.real(self.p, self.eps, self.rate)
        writer.number(self.window, self.seed, self.timeline.now, self._groups)
        for column in self._entries:
            writer.array(column)
        writer.number(len(self._large))
        for slot, one in sorted(self._large.items()):
            writer.number(slot)
            writer.raw(one.to_bytes())
        return writer.seal(self.KIND, self.VERSION)

    @classmethod
    def from_bytes(cls, data: bytes | memoryview) -> Self:
        reader = unseal(data, cls.KIND, cls.VERSION)
        p, eps, rate = reader.real(), reader.real(), reader.real()
        made = cls(p, eps, reader.number(), rate, reader.number())
        made.timeline.now = reader.number()
        made.reserve(reader.number())
        made._entries = _Entries(*(reader.array() for _ in _Entries._fields))
        for _ in range(reader.number()):
            slot = reader.number()
            made._large[slot] = SlidingLp.from_bytes(reader.raw())
        reader.end()
        made._settle()
        return made
