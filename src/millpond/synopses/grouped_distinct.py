"""How many different values over windows, for very many groups at once: the synopsis of `distinct`, sparse and in columns.

`SlidingDistinct` has a time for each register and rank. Of very many groups most are small, and most of these times were never
set. So only those that were stand here, all groups in one sorted column: group, register and rank in one number, and beside it
when that rank last came. What is new stands in a short column of its own until it is worth merging; what has left the
largest window goes on that occasion. A group takes 16 bytes for each different value, and never more than for all of its
registers. The estimates are those of a `SlidingDistinct` for each group, to the last bit.
"""

from __future__ import annotations

from typing import Any, ClassVar, Final, Self

import numpy as np
import numpy.typing as npt

from millpond.synopses.base import Timeline, check_eps, whole, whole_numbers
from millpond.synopses.distinct import cardinalities, places_of, precision_for
from millpond.synopses.grouped import Estimates
from millpond.synopses.layout import Ints, StateWriter, unseal
from millpond.synopses.slots import Slotted

_RANK: Final = 6
"""Bits of a rank."""
_FEW: Final = 1 << 12
"""New places that are not worth merging."""
_AT_ONCE: Final = 1 << 12
"""Groups whose registers are counted at once."""


class GroupedSlidingDistinct(Slotted):
    """How many different values, for each group, in any window up to `window`; within eps in at least `rate` of all cases."""

    KIND: ClassVar[bytes] = b"GDIV"
    VERSION: ClassVar[int] = 1

    def __init__(self, eps: float, window: int, rate: float = 0.95, seed: int = 0) -> None:
        self.eps = check_eps(eps)
        self.timeline = Timeline(window, rows=False)
        self.rate = float(rate)
        self.seed = whole("seed", seed)
        self.precision = precision_for(self.eps, self.rate)
        self._bits = self.precision + _RANK  # of a place within its group
        self._groups = 0
        nothing = np.empty(0, dtype=np.int64)
        self._places, self._last = nothing, nothing
        self._new_places, self._new_last = nothing, nothing

    # What it is

    def parameters(self) -> tuple[Any, ...]:
        return (self.eps, self.window, self.rate, self.seed)

    @property
    def error(self) -> float:
        return self.eps

    @property
    def nbytes(self) -> int:
        return sum(a.nbytes for a in (self._places, self._last, self._new_places, self._new_last))

    # Adding

    def add_many(self, slots: npt.ArrayLike, times: npt.ArrayLike, values: Any) -> None:
        """A row is a value of a group. All rows are taken, or none when the call raises."""
        groups, stamps, hashes = self._hashed_rows(slots, times, values, self.seed)
        if not len(groups):
            return
        register, zeros = places_of(hashes, self.precision)
        places = ((groups << self.precision | register) << _RANK) | (zeros + 1)
        order = np.argsort(places, kind="stable")
        self._take(*_newest(places[order], stamps[order]))

    def _take(self, places: Ints, last: Ints) -> None:
        """Distinct places in order, none of them with a time before one that is here."""
        for column, times in ((self._places, self._last), (self._new_places, self._new_last)):
            if not len(column):
                continue
            at = np.minimum(np.searchsorted(column, places), len(column) - 1)
            here = column[at] == places
            times[at[here]] = np.maximum(times[at[here]], last[here])
            places, last = places[~here], last[~here]
        if len(places):
            self._new_places, self._new_last = _merged(self._new_places, self._new_last, places, last)
        if len(self._new_places) > max(_FEW, len(self._places) // 4):
            self._settle()

    def _settle(self) -> None:
        """One column again, of what is in the window."""
        places, last = _merged(self._places, self._last, self._new_places, self._new_last)
        live = last > self.timeline.now - self.window
        self._places, self._last = (places, last) if live.all() else (places[live], last[live])
        self._new_places = self._new_last = np.empty(0, dtype=np.int64)

    # Groups

    def reserve(self, groups: int) -> None:
        """Slots below `groups` are known."""
        self._groups = max(self._groups, groups)

    def clear(self, slots: npt.ArrayLike) -> None:
        """Forget these groups; their slots can be used for others."""
        self._settle()
        gone = np.zeros(self._groups, dtype=bool)
        gone[whole_numbers("slots", slots)] = True
        kept = ~gone[self._places >> (self._bits)]
        self._places, self._last = self._places[kept], self._last[kept]

    def part(self, slots: npt.ArrayLike) -> Self:
        """These groups by themselves: the first of `slots` is 0 there."""
        self._settle()
        made, number = self._empty_part(slots)
        held = number[self._places >> self._bits]
        mine = held >= 0
        made._put(held[mine], self._places[mine], self._last[mine])
        return made

    def absorb(self, other: Self, slots: npt.ArrayLike) -> None:
        """Give `slots`, which hold nothing here, what the groups 0, 1, ... of `other` have; see `GroupedExponentialHistogram`."""
        groups = self._room_for(other, slots)
        other._settle()
        self._put(groups[other._places >> self._bits], other._places, other._last)

    def _put(self, groups: Ints, places: Ints, last: Ints) -> None:
        """Places of other groups, as those of `groups`."""
        moved = (groups << self._bits) | (places & ((1 << self._bits) - 1))
        order = np.argsort(moved)
        self._take(moved[order], last[order])

    # Asking

    def estimate(
        self, slots: npt.ArrayLike | None = None, window: int | None = None, now: int | None = None
    ) -> Estimates:
        """For each of `slots` (None: all), over (now - window, now]."""
        begin = self.timeline.begin(window, now)
        self._settle()
        live = self._places[self._last > begin]
        # Of a register the largest rank counts: the last of its places.
        highest = np.ones(len(live), dtype=bool)
        np.not_equal(live[1:] >> _RANK, live[:-1] >> _RANK, out=highest[:-1])
        live = live[highest]
        groups = live >> (self._bits)
        ranks, most = live & ((1 << _RANK) - 1), 66 - self.precision
        value, certain = np.zeros(self._groups), np.bincount(groups, minlength=self._groups).astype(np.float64)
        some = np.flatnonzero(certain)
        number = np.cumsum(certain > 0) - 1  # of a group among those with values
        for start in range(0, len(some), _AT_ONCE):
            part = some[start : start + _AT_ONCE]
            low, high = np.searchsorted(groups, [part[0], part[-1] + 1])
            cells = (number[groups[low:high]] - start) * most + ranks[low:high]
            counts = np.bincount(cells, minlength=len(part) * most).reshape(len(part), most)
            counts[:, 0] = (1 << self.precision) - counts[:, 1:].sum(axis=1)
            value[part] = cardinalities(counts, self.precision)
        if slots is not None:
            chosen = self._known(slots)
            value, certain = value[chosen], certain[chosen]
        # A register that is not empty has had at least one value of its own.
        bounds = (np.maximum(value / (1 + self.eps), certain), np.maximum(value / (1 - self.eps), certain))
        return Estimates(np.maximum(value, certain), *bounds)

    # Together

    def merge(self, other: Self) -> Self:
        """Slot by slot, both streams together; changes neither, and nothing is lost."""
        self._check_mergeable(other)
        both = type(self)(*self.parameters())
        both.reserve(max(len(self), len(other)))
        both.timeline.now = max(self.timeline.now, other.timeline.now)
        for one in (self, other):
            one._settle()
            both._take(one._places, one._last)
        return both

    # Bytes

    def to_bytes(self) -> bytes:
        self._settle()
        writer = StateWriter()
        writer.real(self.eps, self.rate)
        writer.number(self.window, self.seed, self.timeline.now, self._groups)
        writer.array(self._places)
        writer.array(self._last)
        return writer.seal(self.KIND, self.VERSION)

    @classmethod
    def from_bytes(cls, data: bytes | memoryview) -> Self:
        reader = unseal(data, cls.KIND, cls.VERSION)
        eps, rate = reader.real(), reader.real()
        made = cls(eps, reader.number(), rate, reader.number())
        made.timeline.now, made._groups = reader.number(), reader.number()
        made._places, made._last = reader.array(), reader.array()
        reader.end()
        return made


def _newest(places: Ints, times: Ints) -> tuple[Ints, Ints]:
    """Each place once, with the last of its times; equal places stand together, in the order of their times."""
    last = np.ones(len(places), dtype=bool)
    np.not_equal(places[1:], places[:-1], out=last[:-1])
    return places[last], times[last]


def _merged(places: Ints, times: Ints, more: Ints, later: Ints) -> tuple[Ints, Ints]:
    """Two columns of places in order, none in both, as one."""
    if not len(more):
        return places, times
    if not len(places):
        return more, later
    together = np.concatenate([places, more])
    order = np.argsort(together, kind="stable")  # two rows in order: found and merged in one pass
    return together[order], np.concatenate([times, later])[order]
