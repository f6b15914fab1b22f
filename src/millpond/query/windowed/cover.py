"""Stretches of event time: which windows of a reduction are kept, and what is left to be read from the rows. Pure arithmetic.

A stretch is (low, high), without high. A cover is a tuple of stretches, ascending, with a gap between any two.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise

Stretch = tuple[int, int]
Cover = tuple[Stretch, ...]

EVER: Stretch = (-(1 << 62), 1 << 62)
"""All of time."""


def cover(stretches: Iterable[Stretch]) -> Cover:
    """What any of the stretches covers.

    >>> cover([(5, 7), (0, 2), (2, 3), (6, 9), (4, 4)])
    ((0, 3), (5, 9))
    """
    found: list[Stretch] = []
    for low, high in sorted(s for s in stretches if s[0] < s[1]):
        if found and low <= found[-1][1]:
            found[-1] = (found[-1][0], max(high, found[-1][1]))
        else:
            found.append((low, high))
    return tuple(found)


def minus(a: Cover, b: Cover) -> Cover:
    """What `a` covers and `b` does not.

    >>> minus(((0, 10),), ((2, 3), (5, 20)))
    ((0, 2), (3, 5))
    """
    found: list[Stretch] = []
    for low, high in a:
        for start, end in b:
            if end <= low or start >= high:
                continue
            if start > low:
                found.append((low, start))
            low = max(low, end)
        if low < high:
            found.append((low, high))
    return tuple(found)


def within(a: Cover, b: Cover) -> Cover:
    """What both cover.

    >>> within(((0, 10), (20, 30)), ((5, 25),))
    ((5, 10), (20, 25))
    """
    return cover((max(low, start), min(high, end)) for low, high in a for start, end in b)


def aligned(a: Cover, width: int) -> Cover:
    """The windows of `width` that lie in one stretch as a whole.

    >>> aligned(((3, 25), (26, 29)), 10)
    ((10, 20),)
    """
    return cover((-(-low // width) * width, high // width * width) for low, high in a)


def touched(a: Cover, width: int) -> Cover:
    """The windows of `width` of which anything is covered.

    >>> touched(((3, 11), (29, 30)), 10)
    ((0, 30),)
    """
    return cover((low // width * width, -(-high // width) * width) for low, high in a)


def joined(a: Cover, most: int) -> Cover:
    """At most so many stretches that cover all of `a`: the narrowest gaps are closed.

    >>> joined(((0, 1), (2, 3), (9, 10)), 2)
    ((0, 3), (9, 10))
    """
    if len(a) <= most:
        return a
    gaps = sorted((after[0] - before[1], before[1], after[0]) for before, after in pairwise(a))
    return cover([*a, *((low, high) for _, low, high in gaps[: len(a) - most])])
