"""Randomised runs: how rows are dealt to blocks, and which blocks are read for a fraction. Pure.

Idea. The rows of a run (what one task writes into one compartment) are dealt to blocks by their draws. Blocks halve: one takes
the draws of the upper half, the next those of the upper half of the rest, down to a smallest one of about `LEAST_ROWS` rows. A
block is a file. Since a row's draw does not depend on anything in the row, each block is a uniform sample of the run, and so is
any set of blocks; and since shares halve, any fraction is a sum of them, as a number is of powers of two. So a run of two million
rows is ten or eleven files, of which any part can be read to a thousandth, without a byte of the others.

Invariant. The blocks of a run share no draw, and together have all of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
import numpy.typing as npt

from millpond.table.draws import DRAWS

LEAST_ROWS: Final = 2048
"""About how many rows the smallest block of a run has: DuckDB's own step. Less would be more footer than rows."""
_MOST_HALVINGS = 20
_DRAW_BITS = DRAWS.bit_length()

Range = tuple[int, int]
"""The draws of a block: from the first up to, and without, the second."""


def deal(rows: int) -> list[Range]:
    """The draws of each block of a run of so many rows, from the smallest block to the largest.

    >>> [round((high - low) / DRAWS, 3) for low, high in deal(10_000)]
    [0.25, 0.25, 0.5]
    """
    halvings = min(_MOST_HALVINGS, max(0, (rows // LEAST_ROWS).bit_length() - 1))
    ends = [DRAWS >> halving for halving in range(halvings, -1, -1)]
    return list(zip([0, *ends[:-1]], ends, strict=True))


def blocks_of(draws: npt.NDArray[np.uint32], blocks: int) -> npt.NDArray[np.uint8]:
    """Which of so many blocks, as they were dealt, each draw is in. Blocks halve, so it is the place of the highest bit that is
    set, which is the exponent of a floating number; the lowest eight bits decide nothing, and would not fit into one of 32.

    >>> blocks_of(np.array([0, (DRAWS >> 1) - 1, DRAWS >> 1, DRAWS - 1], dtype=np.uint32), 3).tolist()
    [0, 1, 2, 2]
    """
    exponents = ((draws + np.uint32(1)) >> np.uint32(8)).astype(np.float32).view(np.uint32) >> np.uint32(23)
    smallest = np.uint32(127 + _DRAW_BITS - 8 - blocks)
    found: npt.NDArray[np.uint8] = (np.maximum(exponents, smallest) - smallest).astype(np.uint8)
    return found


def choose(blocks: Sequence[Range], fraction: float, taken: Sequence[int] = ()) -> list[int]:
    """Which of the blocks of a run to read for a fraction of its rows: the nearest that can be, and at least one.

    With `taken`, blocks that have been read, these are among them.

    >>> choose(deal(10_000), 0.75), choose(deal(10_000), 0.5), choose(deal(10_000), 0.01)
    ([1, 2], [2], [0])
    >>> choose(deal(10_000), 0.5, taken=[0])
    [0, 1]
    """
    shares = [high - low for low, high in blocks]
    slack = min(shares, default=0) / 2
    wanted = fraction * DRAWS - sum(shares[place] for place in taken)
    others = [place for place in range(len(blocks)) if place not in taken]
    more, left = _fill(shares, others, wanted, slack)
    if taken and left > slack and len(more) < len(others):
        # The others fall short, because some that would fit are taken: the next larger one takes the place of the smaller ones.
        larger = min((place for place in others if place not in more), key=lambda place: shares[place])
        more = [larger, *(place for place in more if shares[place] >= shares[larger])]
    chosen = {*taken, *more}
    if not chosen and blocks:
        chosen.add(min(range(len(blocks)), key=lambda place: shares[place]))
    return sorted(chosen)


def _fill(shares: Sequence[int], places: Sequence[int], wanted: float, slack: float) -> tuple[list[int], float]:
    """The largest blocks that fit into what is wanted, and how much is left."""
    found = []
    for place in sorted(places, key=lambda place: (-shares[place], -place)):
        if shares[place] <= wanted + slack:
            found.append(place)
            wanted -= shares[place]
    return found, wanted
