"""One level of buckets, for very many groups: a small ring of buckets for each group that has got this far.

A group gets a row when its first bucket of this level comes and gives it back when the last one leaves the window, so that memory
follows the groups that are busy, not all that exist.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from millpond.synopses.layout import Ints, StateReader, StateWriter

Stamps = npt.NDArray[np.integer[Any]]
"""Whole numbers as they are stored; times and sizes have 32 or 64 bits."""
_SMALL = 1 << 31


def grown(old: npt.NDArray[Any], length: int, fill: int | None = None) -> npt.NDArray[Any]:
    """`old` with room for `length`. What is new stays untouched (and costs no memory) unless there is something to fill in."""
    new = np.empty((length, *old.shape[1:]), dtype=old.dtype)
    new[: len(old)] = old
    if fill is not None:
        new[len(old) :] = fill
    return new


def shifted(times: Stamps, shift: int) -> Stamps:
    """Times counted from another base. What is before all that can be said stays there."""
    if not shift:
        return times
    least = int(np.iinfo(times.dtype).min)
    return np.maximum(times.astype(np.int64) + shift, least).astype(times.dtype)


def spans(lengths: Ints) -> tuple[Ints, Ints]:
    """For pieces of these lengths laid end to end: the piece and the index within it, for each element."""
    piece = np.repeat(np.arange(len(lengths), dtype=np.int64), lengths)
    starts = np.cumsum(lengths) - lengths
    return piece, np.arange(len(piece), dtype=np.int64) - starts[piece]


class Rings:
    """`row_of[group]` is the group's row or -1; its buckets stand in that row of `times` (and `sizes`), oldest first, from
    `head[row]` on and around the end.

    With `unit` every bucket here has that size and none is stored. Without it sizes are stored, as less than 0 where a bucket
    holds more than one row, and `amount[row]` is their sum. A size takes 4 bytes, until one comes that needs 8.
    """

    def __init__(self, groups: int, capacity: int, dtype: np.dtype[Any], unit: int | None) -> None:
        self.capacity = capacity
        self.unit = unit
        small: Any = np.uint8 if capacity < 256 else np.uint32
        self.row_of = np.full(groups, -1, dtype=np.int32)
        self.times: Stamps = np.empty((0, capacity), dtype=dtype)
        self.sizes: Stamps = np.empty((0, 0 if unit else capacity), dtype=np.int32)
        self.amount: Ints = np.empty(0, dtype=np.int64)
        self.count: Stamps = np.empty(0, dtype=small)
        self.head: Stamps = np.empty(0, dtype=small)
        self.used = 0
        self.free = np.empty(0, dtype=np.int32)

    # Rows

    def reserve(self, groups: int) -> None:
        self.row_of = grown(self.row_of, groups, -1)

    def rows(self, groups: Ints) -> Ints:
        return self.row_of[groups].astype(np.int64)

    def rows_for(self, groups: Ints) -> Ints:
        """A row for each of these (distinct) groups, new ones where there is none."""
        rows = self.row_of[groups]
        missing = np.flatnonzero(rows < 0)
        if len(missing):
            again = min(len(missing), len(self.free))
            fresh = len(missing) - again
            self._make_room(self.used + fresh)
            kept = len(self.free) - again
            given = np.concatenate([self.free[kept:], np.arange(self.used, self.used + fresh, dtype=np.int32)])
            self.free = self.free[:kept]
            self.used += fresh
            self.count[given], self.head[given] = 0, 0
            if not self.unit:
                self.amount[given] = 0
            rows[missing] = given
            self.row_of[groups[missing]] = given
        return rows.astype(np.int64)

    def _make_room(self, rows: int) -> None:
        if rows <= len(self.count):
            return
        room = max(rows, len(self.count) * 3 // 2, 16)
        self.times, self.count, self.head = grown(self.times, room), grown(self.count, room), grown(self.head, room)
        if not self.unit:
            self.sizes, self.amount = grown(self.sizes, room), grown(self.amount, room)

    def release(self, groups: Ints) -> None:
        """Give back the rows of these groups; those that have none are left alone."""
        rows = self.row_of[groups]
        self.free = np.concatenate([self.free, rows[rows >= 0]])
        self.row_of[groups] = -1

    # Buckets

    def place(self, rows: Ints, index: Ints | int) -> Ints:
        """Where the bucket `index` after the oldest of its row stands in the flat columns."""
        at = np.add(self.head[rows], index, dtype=np.int64)
        at -= (at >= self.capacity) * np.int64(self.capacity)
        at += rows * self.capacity
        return at

    def time_at(self, place: Ints) -> Stamps:
        return self.times.reshape(-1)[place]

    def signed_at(self, place: Ints) -> Ints:
        """Sizes as they are stored."""
        return self.sizes.reshape(-1)[place].astype(np.int64)

    def unsure_at(self, place: Ints) -> Ints:
        """How much of a bucket may be older than its time."""
        if self.unit:
            return np.full(len(place), self.unit - 1, dtype=np.int64)
        sizes = self.signed_at(place)
        return np.where(sizes < 0, -1 - sizes, 0)

    def put(self, place: Ints, times: Stamps, sizes: Ints | None) -> None:
        self.times.reshape(-1)[place] = times
        if sizes is not None:
            self._widen_for(sizes)
            self.sizes.reshape(-1)[place] = sizes

    def _widen_for(self, sizes: Stamps) -> None:
        """Room for sizes as large as these."""
        if self.sizes.dtype == np.int32 and max(int(sizes.max(initial=0)), -int(sizes.min(initial=0))) >= _SMALL:
            self.sizes = self.sizes.astype(np.int64)

    def amounts(self, rows: Ints) -> Ints:
        """The sum of the sizes in each row."""
        return self.count[rows].astype(np.int64) * self.unit if self.unit else self.amount[rows]

    def oldest(self, rows: Ints) -> Stamps:
        return self.time_at(self.place(rows, 0))

    def newest(self, rows: Ints) -> Stamps:
        return self.time_at(self.place(rows, self.count[rows].astype(np.int64) - 1))

    def older(self, rows: Ints, begin: int) -> tuple[Ints, Ints]:
        """How many buckets in each row have nothing after `begin`, and what they amount to."""
        index = np.arange(self.capacity, dtype=np.int64)
        order = (self.head[rows].astype(np.int64)[:, None] + index) % self.capacity
        past = (self.times[rows[:, None], order] <= begin) & (index < self.count[rows].astype(np.int64)[:, None])
        number: Ints = past.sum(axis=1, dtype=np.int64)
        if self.unit:
            return number, number * self.unit
        return number, np.where(past, np.abs(self.sizes[rows[:, None], order]), 0).sum(axis=1, dtype=np.int64)

    def drop_oldest(self, rows: Ints, number: Ints, amount: Ints) -> None:
        self.head[rows] = (self.head[rows].astype(np.int64) + number) % self.capacity
        self.count[rows] = self.count[rows] - number.astype(self.count.dtype)
        if not self.unit:
            self.amount[rows] -= amount

    def all(self) -> tuple[Ints, Stamps, Ints]:
        """Group, time and size of every bucket."""
        groups = np.flatnonzero(self.row_of >= 0)
        rows = self.rows(groups)
        owner, index = spans(self.count[rows].astype(np.int64))
        place = self.place(rows[owner], index)
        sizes = np.full(len(place), self.unit, dtype=np.int64) if self.unit else np.abs(self.signed_at(place))
        return groups[owner], self.time_at(place), sizes

    # Some groups

    def part(self, groups: Ints) -> Rings:
        """These groups by themselves, numbered from 0."""
        made = Rings(len(groups), self.capacity, self.times.dtype, self.unit)
        rows = self.rows(groups)
        held = np.flatnonzero(rows >= 0)
        rows = rows[held]
        made.times, made.sizes = self.times[rows], self.sizes[rows] if not self.unit else made.sizes
        made.count, made.head = self.count[rows], self.head[rows]
        if not self.unit:
            made.amount = self.amount[rows]
        made.used = len(held)
        made.row_of[held] = np.arange(len(held), dtype=np.int32)
        return made

    def absorb(self, other: Rings, groups: Ints, shift: int) -> None:
        """What the groups 0, 1, ... of `other` have, for `groups`, which have nothing here; times move by `shift`."""
        held = np.flatnonzero(other.row_of >= 0)
        if not len(held):
            return
        rows, theirs = self.rows_for(groups[held]), other.rows(held)
        self.times[rows] = shifted(other.times[theirs], shift)
        self.count[rows], self.head[rows] = other.count[theirs], other.head[theirs]
        if not self.unit:
            self._widen_for(other.sizes[theirs])
            self.sizes[rows], self.amount[rows] = other.sizes[theirs], other.amount[theirs]

    # As a whole

    @property
    def nbytes(self) -> int:
        row = self.capacity * self.times.itemsize + self.count.itemsize + self.head.itemsize
        row += 0 if self.unit else self.capacity * self.sizes.itemsize + 8
        return self.row_of.nbytes + self.used * row + self.free.nbytes

    def write(self, writer: StateWriter) -> None:
        """Group by group, each ring from its oldest on and nothing behind its newest: equal contents give equal bytes."""
        groups = np.flatnonzero(self.row_of >= 0)
        rows = self.rows(groups)
        index = np.arange(self.capacity, dtype=np.int64)
        order = (self.head[rows].astype(np.int64)[:, None] + index) % self.capacity
        held = index < self.count[rows].astype(np.int64)[:, None]
        writer.array(groups.astype(np.int32))
        writer.array(self.count[rows])
        writer.array(np.where(held, self.times[rows[:, None], order], 0).astype(self.times.dtype))
        if not self.unit:
            writer.array(np.where(held, self.sizes[rows[:, None], order], 0))
            writer.array(self.amount[rows])

    @classmethod
    def read(cls, reader: StateReader, groups: int, capacity: int, dtype: np.dtype[Any], unit: int | None) -> Rings:
        made = cls(groups, capacity, dtype, unit)
        held = reader.array()
        made.count, made.times = reader.array(), reader.array()
        made.head = np.zeros_like(made.count)
        if not unit:
            made.sizes, made.amount = reader.array(), reader.array()
        made.used = len(held)
        made.row_of[held] = np.arange(len(held), dtype=np.int32)
        return made
