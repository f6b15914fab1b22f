"""What is kept of a streaming table at one moment, as a value: whoever takes it sees what is true up to exactly its position.

Invariant. Of the rows numbered below `position`, all matches of an entry that `Entry.covered_in` names are kept, with their rows.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import numpy.typing as npt

from millpond.event_time import NEVER
from millpond.predicate.form import Predicate
from millpond.predicate.vector import Filter
from millpond.standing.aggregates import Aggregated
from millpond.standing.kept.matches import Matches
from millpond.standing.kept.rows import Complete, Rows
from millpond.standing.kept.tree import Tree

Ints = npt.NDArray[np.int64]
TreeKey = tuple[int, Aggregated]
"""An entry, and what is aggregated of its rows."""


@dataclass(frozen=True)
class Entry:
    """A predicate that queries have. `kept`: its matches are; else its rows are found by testing all of them."""

    number: int
    predicate: Predicate
    kept: bool
    covered: Complete
    """All matches that are numbered so, or that are later than that, are kept."""
    floor: int
    """`State.floor` when that was found out."""

    @cached_property
    def test(self) -> Filter:
        """Tells which rows match."""
        return Filter(self.predicate)

    def covered_in(self, state: State) -> Complete:
        """Which of its matches are all kept in a state. What is not kept is found among the rows."""
        if not self.kept:
            return state.rows.complete_from
        if state.floor == self.floor:
            return self.covered
        return Complete(max(self.covered.seq, state.rows.complete_from.seq), max(self.covered.after, state.floor))

    def rows_in(self, state: State, from_seq: int = 0, below_seq: int | None = None) -> Ints:
        """The numbers of the rows of a state that match, in increasing order."""
        below = state.position if below_seq is None else min(below_seq, state.position)
        if not self.kept:
            return state.rows.filter(self.test, None, None, from_seq, below)
        first = state.rows.chunks[0].first if state.rows.chunks else state.rows.below
        return state.matches.of(self.number, max(from_seq, first), below)


class Entries:
    """Entries by their numbers, as a value: a changed copy shares all but a few of them."""

    _BITS = 10

    def __init__(self, parts: Mapping[int, Mapping[int, Entry]] | None = None) -> None:
        self._parts = parts or {}

    def get(self, number: int) -> Entry | None:
        return self._parts.get(number >> self._BITS, {}).get(number)

    def changed(self, changes: Mapping[int, Entry | None]) -> Entries:
        """With these entries; without those that are None."""
        if not changes:
            return self
        parts = dict(self._parts)
        made: dict[int, dict[int, Entry]] = {}
        for number, entry in changes.items():
            key = number >> self._BITS
            part = made.get(key)
            if part is None:
                part = made[key] = dict(parts.get(key, {}))
            if entry is None:
                part.pop(number, None)
            else:
                part[number] = entry
        for key, part in made.items():
            if part:
                parts[key] = part
            else:
                parts.pop(key, None)
        return Entries(parts)


@dataclass(frozen=True)
class State:
    position: int
    rows: Rows
    matches: Matches
    now: int | None = None
    """The time of the table at that position."""
    entries: Entries = field(default_factory=Entries)
    windows: Mapping[int, Ints] = field(default_factory=dict)
    """By query: the matches not earlier than its window, of queries whose window is applied at each tick."""
    floor: int = NEVER
    """Rows up to this time may have been dropped though they match: no window needed them."""
    trees: Mapping[TreeKey, tuple[Tree, Complete]] = field(default_factory=dict)
    """Aggregates of entries, and from where on they hold all rows."""
