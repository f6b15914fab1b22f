"""How buckets move through one level of many groups; `grouped` says when two become one, and why that is right."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from millpond.synopses.layout import Ints
from millpond.synopses.rings import Rings, Stamps, spans


class Entries(NamedTuple):
    """Buckets on their way into a level: sorted by group, oldest first. `group` counts within the groups of the batch."""

    group: Ints
    time: Stamps
    size: Ints | None
    """As in `Rings.sizes`: less than 0 for more than one row. None where all buckets of a level have one size."""


def pass_level(rings: Rings, spread: int, groups: Ints, coming: Entries, newer: Ints) -> tuple[Ints, Entries, Ints]:
    """Put what is coming into one level; gives what goes on to the next.

    Think of each group's buckets as a line: those held, then those coming. `taken` of the oldest leave, in pairs; what is
    behind stays. `newer` is what each group has in the levels before this one.
    """
    rows = rings.rows_for(groups)
    held = rings.count[rows].astype(np.int64)
    number = np.bincount(coming.group, minlength=len(groups))
    start = np.cumsum(number) - number
    length = held + number
    taken = np.maximum(length - spread, 0) // 2 * 2
    busy = np.flatnonzero(taken)
    pair, index = spans(taken[busy] // 2)
    owner = busy[pair]
    second = _on_line(rings, rows, held, start, coming, owner, 2 * index + 1)
    if coming.size is None:
        going = Entries(pair, second.time, None)
    else:
        first = _on_line(rings, rows, held, start, coming, owner, 2 * index)
        assert first.size is not None
        assert second.size is not None
        both = np.abs(first.size) + np.abs(second.size)
        ends = np.cumsum(both)
        last = np.cumsum(taken[busy] // 2) - 1
        leaving = np.diff(ends[last], prepend=0)
        staying = rings.amount[rows] + np.add.reduceat(np.abs(coming.size), start)
        staying[busy] -= leaving
        rings.amount[rows] = staying
        newer = newer + staying
        behind = newer[owner] + ends[last][pair] - ends
        fits = both - 1 <= (behind + 1) // spread  # so written nothing overflows
        going = _pairs_on(pair, first, second, both, fits)
    # The held that leave make the ring's oldest end move on; those coming that stay go behind its newest.
    rings.head[rows] = (rings.head[rows].astype(np.int64) + np.minimum(taken, held)) % rings.capacity
    rings.count[rows] = length - taken
    at = np.arange(len(coming.group), dtype=np.int64) + (held - start - taken)[coming.group]
    stay = np.flatnonzero(at >= 0)
    place = rings.place(rows[coming.group[stay]], at[stay])
    rings.put(place, coming.time[stay], None if coming.size is None else coming.size[stay])
    return groups[busy], going, newer[busy]


def _on_line(
    rings: Rings, rows: Ints, held: Ints, start: Ints, coming: Entries, group: Ints, position: Ints
) -> Entries:
    """The buckets at these positions of their groups' lines."""
    beyond = position - held[group]
    is_held = beyond < 0
    some = np.flatnonzero(is_held)
    place = rings.place(rows[group[some]], position[some])
    if len(some) == len(group):
        return Entries(group, rings.time_at(place), None if coming.size is None else rings.signed_at(place))
    other = np.flatnonzero(~is_held)
    source = start[group[other]] + beyond[other]
    time = np.empty(len(group), dtype=coming.time.dtype)
    time[some], time[other] = rings.time_at(place), coming.time[source]
    if coming.size is None:
        return Entries(group, time, None)
    size = np.empty(len(group), dtype=np.int64)
    size[some], size[other] = rings.signed_at(place), coming.size[source]
    return Entries(group, time, size)


def _pairs_on(pair: Ints, first: Entries, second: Entries, both: Ints, fits: npt.NDArray[np.bool_]) -> Entries:
    """One bucket for each pair that fits, its two for each that does not."""
    assert first.size is not None
    assert second.size is not None
    if fits.all():
        return Entries(pair, second.time, -both)
    index = np.repeat(np.arange(len(pair)), np.where(fits, 1, 2))
    is_first = np.append(index[1:] == index[:-1], False)
    size = np.where(fits[index], -both[index], np.where(is_first, first.size[index], second.size[index]))
    return Entries(pair[index], np.where(is_first, first.time[index], second.time[index]), size)
