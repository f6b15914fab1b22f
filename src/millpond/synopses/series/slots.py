"""The newest values of many series, in slots of equal length: one row for each series, one column for each slot.

Slot s holds the time (s - 1) * slide < t <= s * slide, and in it each series has its last value of that time. A series without
a new value keeps the one before, so NaN stands only in front of a series' first value, and one look at the first column of a
window tells which series fill it.

Columns are written one after another into a table with some room; when the room is used up, the kept ones move to the front. A
window is therefore always a plain view of the table, and moving costs O(1) for each value on average.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from millpond.errors import counted
from millpond.synopses.base import LONG_AGO, TOO_LARGE, SynopsisError, whole, whole_numbers
from millpond.synopses.layout import Floats, Ints, StateReader, StateWriter

LEAST_ROOM = 16


class Slots:
    """`held` slots up to the one numbered `newest`; at most `keep` of them."""

    def __init__(self, series: int, keep: int, slide: int = 1) -> None:
        self.series = whole("the number of series", series, 1)
        self.slide = whole("a slide", slide, 1)
        self.keep = whole("what is kept", keep, 1)
        self.held = 0
        self.newest = LONG_AGO // self.slide
        self._cells: Floats = np.empty((self.series, self.keep + self._spare()))
        self._end = 0

    def _spare(self) -> int:
        return max(LEAST_ROOM, self.keep // 4)

    @property
    def now(self) -> int:
        """The end of the newest slot; LONG_AGO before the first."""
        return self.newest * self.slide if self.held else LONG_AGO

    @property
    def nbytes(self) -> int:
        return int(self._cells.nbytes)

    def window(self, slots: int) -> Floats:
        """The newest `slots` of all series, or all held when these are fewer. A view: do not write, do not keep."""
        return self._cells[:, self._end - min(slots, self.held) : self._end]

    # -- adding -------------------------------------------------------------------------------------------------------

    def slot_of(self, times: Ints) -> Ints:
        return -(-times // self.slide)

    def put(self, series: npt.ArrayLike, times: npt.ArrayLike, values: npt.ArrayLike) -> None:
        """Rows in the order of their times. All are taken, or none when the call raises."""
        rows, stamps, numbers = whole_numbers("series", series), whole_numbers("times", times), reals(values, 1)
        if not len(rows) == len(stamps) == len(numbers):
            raise SynopsisError(
                f"got {len(rows)} series, {counted(len(stamps), 'time')} and {counted(len(numbers), 'value')}"
            )
        if not len(rows):
            return
        if int(rows.min()) < 0 or int(rows.max()) >= self.series:
            raise SynopsisError("there is no such series", detail=f"They are numbered from 0 to {self.series - 1}.")
        slots = self.slot_of(stamps)
        self._check_time(int(stamps[0]), int(slots[0]))
        if (stamps[1:] < stamps[:-1]).any():
            raise SynopsisError("times go back", detail="Nothing of this call was taken.")
        if int(stamps[-1]) >= TOO_LARGE:
            raise SynopsisError("a time is out of range", detail="Times have at most 62 bits.")
        given = ~np.isnan(numbers)
        starts = np.append(np.flatnonzero(np.diff(slots, prepend=slots[0] - 1)), len(slots))
        for begin, end in zip(starts[:-1].tolist(), starts[1:].tolist(), strict=True):
            self.advance(int(slots[begin]))
            taken = begin + np.flatnonzero(given[begin:end])
            self._cells[rows[taken], self._end - 1] = numbers[taken]  # of equal series the last one stays

    def put_slot(self, time: int, values: npt.ArrayLike) -> None:
        """One value for every series; NaN where there is none."""
        time = whole("a time", time)
        numbers = reals(values, 1)
        if len(numbers) != self.series:
            raise SynopsisError(f"got {counted(len(numbers), 'value')} for {self.series} series")
        slot = -(-time // self.slide)
        self._check_time(time, slot)
        self.advance(slot)
        column = self._cells[:, self._end - 1]
        np.copyto(column, numbers, where=~np.isnan(numbers))

    def _check_time(self, time: int, slot: int) -> None:
        if time <= LONG_AGO or (self.held and slot < self.newest):
            raise SynopsisError(
                f"the slot of time {time} is past",
                detail=f"The newest slot ends at {self.now}. Nothing of this call was taken.",
            )

    def advance(self, slot: int) -> None:
        """Up to and with this slot, every series keeps its value."""
        if not self.held:
            self._column()[:] = np.nan
            self.newest = slot
            return
        for _ in range(min(slot - self.newest, self.keep)):
            column = self._column()
            column[:] = self._cells[:, self._end - 2]
        self.newest = max(self.newest, slot)

    def _column(self) -> Floats:
        """The next one, to be written; the one before it stands to its left."""
        if self._end == self._cells.shape[1]:
            stay = min(self.held, self.keep)
            # Row by row: source and target overlap, and a copy of the whole would double the memory for a moment.
            for row in self._cells:
                row[:stay] = row[self._end - stay : self._end]
            self._end = stay
        self._end += 1
        self.held = min(self.held + 1, self.keep)
        return self._cells[:, self._end - 1]

    # -- history and size ---------------------------------------------------------------------------------------------

    def grow(self, keep: int, history: npt.ArrayLike | None = None) -> None:
        """Keep `keep` slots from now on. `history` are values of the slots before the oldest held one, oldest first."""
        keep = whole("what is kept", keep, 1)
        held = self.window(self.held)
        if history is not None:
            older = reals(history, 2)
            if len(older) != self.series:
                raise SynopsisError(f"the history has {counted(len(older), 'row')} for {self.series} series")
            if not self.held and older.shape[1]:
                raise SynopsisError(
                    "there is no slot that a history could come before", hint="Add it as values, with their times."
                )
            held = hold(np.concatenate([older[:, max(0, older.shape[1] - max(0, keep - self.held)) :], held], axis=1))
        held = held[:, max(0, held.shape[1] - keep) :]
        self.keep = keep
        cells = np.empty((self.series, keep + self._spare()))
        cells[:, : held.shape[1]] = held
        self._cells, self._end, self.held = cells, held.shape[1], held.shape[1]

    def add_series(self, count: int) -> None:
        """That many more, without values so far."""
        more = np.full((whole("the number of series", count, 1), self._cells.shape[1]), np.nan)
        self._cells = np.concatenate([self._cells, more])
        self.series += count

    def write(self, writer: StateWriter) -> None:
        writer.number(self.series, self.keep, self.slide, self.newest)
        writer.array(self.window(self.held))

    @classmethod
    def read(cls, reader: StateReader) -> Slots:
        made = cls(reader.number(), reader.number(), reader.number())
        made.newest = reader.number()
        cells = reader.array()
        made._cells[:, : cells.shape[1]] = cells
        made._end = made.held = cells.shape[1]
        return made


def reals(values: npt.ArrayLike, dimensions: int) -> Floats:
    """`values` as floats: finite, or NaN where there is none."""
    given: npt.NDArray[Any] = np.asarray(values)
    if given.ndim != dimensions:
        raise SynopsisError(f"values must be in {dimensions} dimensions, not {given.ndim}")
    if given.size and given.dtype.kind not in "iufb":
        raise SynopsisError(f"values must be numbers, not {given.dtype}")
    numbers = given.astype(np.float64, copy=False)
    if np.isinf(numbers).any():
        raise SynopsisError("a value is infinite")
    return numbers


def hold(cells: Floats) -> Floats:
    """Where there is no value, the one before it in the row."""
    column = np.where(np.isnan(cells), -1, np.arange(cells.shape[1]))
    np.maximum.accumulate(column, axis=1, out=column)
    filled = np.take_along_axis(cells, np.maximum(column, 0), axis=1)
    return filled
