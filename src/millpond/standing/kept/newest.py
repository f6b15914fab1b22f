"""Where a window that counts rows begins: the n-th newest row of many, without sorting them together.

Idea. Rows lie in runs, each in the order (time, number). A run that ends before the n-th newest row, or begins behind it, needs
no look: sizes alone tell which these are. In the few that are left the time is found by binary search. Where rows come in order
that is one run, and the row is found by arithmetic.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int64]
Place = tuple[int, int]
"""Time and number of a row: the order in which rows are counted."""


@dataclass(frozen=True)
class Cut:
    """The rows from the place `low` on, up to the place `high`; both are in it. None: no such end."""

    low: Place | None = None
    high: Place | None = None

    def holds(self, times: Ints, seqs: Ints) -> npt.NDArray[np.bool_]:
        inside: npt.NDArray[np.bool_] = np.ones(len(times), dtype=np.bool_)
        if self.low is not None:
            time, seq = self.low
            inside &= (times > time) | ((times == time) & (seqs >= seq))
        if self.high is not None:
            time, seq = self.high
            inside &= (times < time) | ((times == time) & (seqs <= seq))
        return inside


@dataclass(frozen=True)
class Run:
    """Rows in the order (time, number)."""

    times: Ints
    seqs: Ints
    last: int
    """No row has a greater number."""

    def __len__(self) -> int:
        return len(self.times)

    @classmethod
    def of(cls, times: Ints, seqs: Ints) -> Self:
        """Of rows whose numbers increase."""
        last = int(seqs[-1]) if len(seqs) else -1
        if (times[1:] >= times[:-1]).all():
            return cls(times, seqs, last)
        order = np.argsort(times, kind="stable")
        return cls(times[order], seqs[order], last)

    def upto(self, high: int | None, below: int | None) -> Run:
        """The rows with time <= `high` and number < `below`."""
        run = self
        if high is not None and len(run) and run.times[-1] > high:
            end = int(run.times.searchsorted(high, side="right"))
            run = Run(run.times[:end], run.seqs[:end], run.last)
        if below is not None and run.last >= below:
            early = run.seqs < below
            run = Run(run.times[early], run.seqs[early], below - 1)
        return run

    def later(self, time: int) -> int:
        """How many rows are later than a time."""
        if not len(self.times) or self.times[-1] <= time:
            return 0
        return len(self) - int(self.times.searchsorted(time, side="right"))


def nth_newest(runs: Sequence[Run], n: int) -> Place:
    """The row that exactly n - 1 of all rows are newer than. There are at least `n`, and `n` is at least 1."""
    runs = [run for run in runs if len(run.times)]
    low = _reached([(int(run.times[0]), len(run.times)) for run in runs], n)
    high = _reached([(int(run.times[-1]), len(run.times)) for run in runs], n)
    left = n - sum(len(run) for run in runs if run.times[0] > high)
    near = [run for run in runs if run.times[-1] >= low and run.times[0] <= high]
    if len(near) == 1:
        (run,) = near
        return int(run.times[-left]), int(run.seqs[-left])
    while low < high:  # `left` rows are not earlier than `low`, and fewer are later than `high`
        middle = -(-(low + high) // 2)
        if sum(run.later(middle - 1) for run in near) >= left:
            low = middle
        else:
            high = middle - 1
    left -= sum(run.later(low) for run in near)
    tied = [run.seqs[run.times.searchsorted(low) : run.times.searchsorted(low, side="right")] for run in near]
    return low, int(np.sort(np.concatenate(tied))[-left])


def _reached(ends: Sequence[tuple[int, int]], n: int) -> int:
    """Of times with numbers of rows, the greatest at which so many rows have been counted from the newest on."""
    for time, size in sorted(ends, reverse=True):
        n -= size
        if n <= 0:
            return time
    raise AssertionError("fewer rows than are asked for")
