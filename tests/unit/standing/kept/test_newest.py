"""The n-th newest row against a sorted list."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from millpond.standing.kept.newest import Cut, Run, nth_newest

Placed = tuple[int, int]


def run(rows: list[Placed]) -> Run:
    return Run.of(np.array([t for t, _ in rows], dtype=np.int64), np.array([s for _, s in rows], dtype=np.int64))


@st.composite
def chunks(draw: st.DrawFn) -> list[list[Placed]]:
    """Rows numbered in the order in which they came, in chunks; times mostly rise."""
    found, seq, time = [], 0, 0
    for size in draw(st.lists(st.integers(0, 6), max_size=5)):
        rows = []
        for _ in range(size):
            time += draw(st.sampled_from([0, 0, 1, 1, 3]))
            rows.append((time - draw(st.sampled_from([0, 0, 0, 1, 9])), seq))
            seq += draw(st.integers(1, 2))
        found.append(rows)
    return found


@given(chunks(), st.none() | st.integers(-9, 20), st.none() | st.integers(0, 20))
def test_each_place_is_found(given_: list[list[Placed]], high: int | None, below: int | None) -> None:
    runs = [run(rows).upto(high, below) for rows in given_]
    left = sorted(
        (t, s) for rows in given_ for t, s in rows if (high is None or t <= high) and (below is None or s < below)
    )
    assert sum(map(len, runs)) == len(left)
    for n in range(1, len(left) + 1):
        assert nth_newest(runs, n) == left[-n]
    for time in range(-10, 20):
        assert sum(each.later(time) for each in runs) == sum(t > time for t, _ in left)


@given(chunks(), st.tuples(st.integers(0, 9), st.integers(0, 20)), st.tuples(st.integers(0, 9), st.integers(0, 20)))
def test_a_cut_has_both_ends(given_: list[list[Placed]], low: Placed, high: Placed) -> None:
    rows = [row for each in given_ for row in each]
    times, seqs = (np.array([row[i] for row in rows], dtype=np.int64) for i in (0, 1))
    assert Cut(low, high).holds(times, seqs).tolist() == [low <= row <= high for row in rows]
    assert Cut().holds(times, seqs).all()
