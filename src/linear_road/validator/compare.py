"""Pair the rows of an output with the answers expected.

Both sides have a key (vehicle or query, and time). Where a key occurs once on both sides, the two are a pair, and the
question is whether the expected answer admits the row. A key that occurs more often is settled by trying all pairs of
it: first those that are admitted, then the rest in order. Of every key, expected answers left over are missing, rows
left over unexpected: a doubled row is.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from linear_road.validator.read import Longs
from linear_road.validator.vehicles import Bools, Indices

Admits = Callable[[Indices, Indices], Bools]
"""For expected answers and rows of the output, given by index, side by side: whether the row is a right answer."""


@dataclass(frozen=True)
class Matching:
    expected: Indices
    rows: Indices
    """Side by side: the expected answers that were given, and the rows that give them."""
    right: Bools
    """Of each such pair."""
    missing: Indices
    unexpected: Indices


def key(who: npt.NDArray[np.int32], time: npt.NDArray[np.int32]) -> Longs:
    return (who.astype(np.int64) << 32) | time.view(np.uint32)


def match(expected: Longs, rows: Longs, admits: Admits) -> Matching:
    """Pair expected answers and rows by their keys."""
    by_key, rows_by_key = np.argsort(expected, kind="stable"), np.argsort(rows, kind="stable")
    expected, rows = expected[by_key], rows[rows_by_key]
    low, high = np.searchsorted(rows, expected), np.searchsorted(rows, expected, "right")
    twin = np.zeros(len(expected), np.bool_)
    twin[1:] = expected[1:] == expected[:-1]
    twin[:-1] |= twin[1:]

    once = np.flatnonzero((high - low == 1) & ~twin)
    pairs = [(once, low[once])]
    several = np.flatnonzero((high - low > 1) & ~twin)
    pairs.append((several, _first_admitted(several, low, high, admits, by_key, rows_by_key)))
    pairs.append(_settle(np.flatnonzero(twin & (high > low)), low, high, admits, by_key, rows_by_key))

    e = np.concatenate([pair[0] for pair in pairs])
    r = np.concatenate([pair[1] for pair in pairs])
    answered, used = np.zeros(len(expected), np.bool_), np.zeros(len(rows), np.bool_)
    answered[e], used[r] = True, True
    e, r = by_key[e], rows_by_key[r]
    return Matching(e, r, admits(e, r), by_key[~answered], rows_by_key[~used])


def _first_admitted(
    several: Indices, low: Indices, high: Indices, admits: Admits, by_key: Indices, rows_by_key: Indices
) -> Indices:
    """For expected answers whose key has several rows: the first row that is right, or else the first."""
    count = high[several] - low[several]
    e = np.repeat(several, count)
    begin = np.cumsum(count) - count
    r = np.arange(len(e)) - np.repeat(begin - low[several], count)
    rank = np.where(admits(by_key[e], rows_by_key[r]), r, r + len(rows_by_key))
    if not len(several):
        return np.empty(0, np.intp)
    return np.asarray(np.minimum.reduceat(rank, begin) % len(rows_by_key), np.intp)


def _settle(
    twins: Indices, low: Indices, high: Indices, admits: Admits, by_key: Indices, rows_by_key: Indices
) -> tuple[Indices, Indices]:
    """Pairs among answers that share their key with other answers (which no sound input brings about)."""
    paired: list[tuple[int, int]] = []
    for group in np.split(twins, np.flatnonzero(np.diff(low[twins])) + 1) if len(twins) else []:
        rows = np.arange(low[group[0]], high[group[0]])
        e, r = np.repeat(group, len(rows)), np.tile(rows, len(group))
        admitted = admits(by_key[e], rows_by_key[r]).reshape(len(group), len(rows))
        free_e, free_r = list(range(len(group))), list(range(len(rows)))
        for wanted in (True, False):
            for i in list(free_e):
                j = next((j for j in free_r if admitted[i, j] or not wanted), None)
                if j is not None:
                    paired.append((int(group[i]), int(rows[j])))
                    free_e.remove(i)
                    free_r.remove(j)
    both = np.array(paired, np.intp).reshape(-1, 2)
    return both[:, 0], both[:, 1]
