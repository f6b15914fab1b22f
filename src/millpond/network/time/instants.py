"""At which instants a query is evaluated. Pure arithmetic over event times.

An instant is due once time is complete up to it: the frontier is a time before which nothing more comes, so every instant
below it can be evaluated and no other. Which instants those are depends on the rows and on nothing else: a tick may hold
none of them or a thousand.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

import numpy as np
import numpy.typing as npt

Times = npt.NDArray[np.int64]


def slides(begin: int, end: int, slide: int) -> range:
    """The multiples of `slide` in [begin, end).

    >>> list(slides(3, 9, 2))
    [4, 6, 8]
    """
    return range(-(-begin // slide) * slide, end, slide)


def awake(instants: range | list[int], wakes: Callable[[int], int | None]) -> Iterator[int]:
    """The instants, but of slides only those at which something can be sent: after a row with a time of long ago there may be
    thousands of millions. Asked after each, `wakes` tells from which time on that is; None is never.

    >>> list(awake(slides(0, 100, 10), lambda instant: 75 if instant == 20 else instant))
    [0, 10, 20, 80, 90]
    """
    if isinstance(instants, list):
        yield from instants
        return
    instant = instants.start
    while instant < instants.stop:
        yield instant
        time = wakes(instant)
        if time is None:
            return
        instant = max(instant + instants.step, slides(time, instants.stop, instants.step).start)


def arrivals(times: Iterable[Times], begin: int, end: int) -> list[int]:
    """The distinct times in [begin, end) at which a row arrived."""
    found = [t[np.searchsorted(t, begin) : np.searchsorted(t, end)] for t in times]
    found = [t for t in found if len(t)]
    if not found:
        return []
    whole = found[0] if len(found) == 1 else np.concatenate(found)
    return [int(t) for t in np.unique(whole)]
