"""What synopses of very many groups have in common: groups are slots, numbered from 0 by the caller, on one time line."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from millpond.errors import counted
from millpond.synopses.base import SynopsisError, Timeline, whole_numbers
from millpond.synopses.hashing import Hashes, hashed
from millpond.synopses.layout import Ints


class Slotted(ABC):
    timeline: Timeline
    _groups: int

    @property
    def window(self) -> int:
        return self.timeline.window

    def __len__(self) -> int:
        """One more than the largest slot seen."""
        return self._groups

    @abstractmethod
    def parameters(self) -> tuple[Any, ...]:
        """With which another one is made that this one merges with."""

    @abstractmethod
    def reserve(self, groups: int) -> None:
        """Room for slots below `groups`."""

    def __repr__(self) -> str:
        return f"{type(self).__name__}{self.parameters()}"

    def _hashed_rows(
        self, slots: npt.ArrayLike, times: npt.ArrayLike, values: Any, seed: int
    ) -> tuple[Ints, Ints, Hashes]:
        """The group, time and hash of each row given. They can be taken: there is room, and time has moved on."""
        groups = whole_numbers("slots", slots)
        stamps = self.timeline.many(times, len(groups))
        hashes = hashed(values, seed)
        if len(hashes) != len(groups):
            raise SynopsisError(f"got {counted(len(groups), 'slot')} and {counted(len(hashes), 'value')}")
        if len(groups):
            if int(groups.min()) < 0 or int(groups.max()) >= 1 << 31:
                raise SynopsisError("a slot must be from 0 to 2147483647")
            self.reserve(int(groups.max()) + 1)
            self.timeline.now = int(stamps[-1])
        return groups, stamps, hashes

    def _known(self, slots: npt.ArrayLike | None) -> Ints:
        """Slots that were seen; None: all."""
        if slots is None:
            return np.arange(self._groups, dtype=np.int64)
        chosen = whole_numbers("slots", slots)
        if len(chosen) and (int(chosen.min()) < 0 or int(chosen.max()) >= self._groups):
            raise SynopsisError(f"a slot must be from 0 to {self._groups - 1}")
        return chosen

    def _check_mergeable(self, other: Self) -> None:
        if type(self) is not type(other) or self.parameters() != other.parameters():
            raise SynopsisError(
                f"{self!r} and {other!r} do not merge", detail="They must be of one kind and have the same parameters."
            )

    def _empty_part(self, slots: npt.ArrayLike) -> tuple[Self, Ints]:
        """One like this for some groups, without anything of them; and the slot that each group here has there, -1 for none."""
        groups = whole_numbers("slots", slots)
        made = type(self)(*self.parameters())
        made.timeline.now = self.timeline.now
        made.reserve(len(groups))
        number = np.full(self._groups, -1, dtype=np.int64)
        number[groups] = np.arange(len(groups))
        return made, number

    def _room_for(self, other: Self, slots: npt.ArrayLike) -> Ints:
        """The slots that take the groups 0, 1, ... of `other` in, one for each."""
        self._check_mergeable(other)
        groups = whole_numbers("slots", slots)
        if len(groups) != len(other):
            raise SynopsisError(f"got {counted(len(groups), 'slot')} for {counted(len(other), 'group')}")
        self.reserve(int(groups.max(initial=-1)) + 1)
        return groups
