"""Table 1 of the paper: the blocks that each design writes and reads, by its formulas and counted.

B blocks are those of the stream itself, of 8,192 bytes as the paper's; index entries are left out, as in the paper. A fraction f
of the rows is asked for.
"""

from __future__ import annotations

from collections.abc import Callable

from benchmarks.harness import rounded
from benchmarks.oscar.tables import LEVELS, Rows

COPIES = (0.2, 0.4, 0.6, 0.8, 1.0)
_BLOCK = 8192
WRITES = {"strawman": 1.0, "hybrid": 1.0, "eager": sum(COPIES), "lazy": 1.0, "lazy, with a copy": 2.0}
"""Blocks written, in B."""
READS: dict[str, Callable[[float], float]] = {
    "strawman": lambda f: 1.0,
    "hybrid": lambda f: f,
    "eager": lambda f: min(c for c in COPIES if c >= f - 1e-9),
    "lazy, first reads": lambda f: 2.0,
    "lazy, later": lambda f: f,
}
"""Blocks read and, by the first lazy read, written, in B."""


def written(counted: dict[str, float]) -> Rows:
    """`counted` are bytes by design."""
    whole = counted["strawman"]
    return [
        {
            "design": name,
            "blocks": round(counted[name] / _BLOCK),
            "of the strawman's": rounded(counted[name] / whole),
            "formula": rounded(share),
        }
        for name, share in WRITES.items()
    ]


def read(counted: dict[tuple[str, int], tuple[int, int]]) -> Rows:
    """`counted` are bytes read, and bytes in all, by design and level."""
    found = []
    for name, formula in READS.items():
        for level in LEVELS[1:]:
            some, whole = counted[name, level]
            found.append(
                {
                    "design": name,
                    "left out, %": level,
                    "blocks": round(some / _BLOCK),
                    "of all": rounded(some / whole),
                    "formula": rounded(formula(1 - level / 100)),
                }
            )
    return found
