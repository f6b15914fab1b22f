"""How busy a pond is, from how long its ticks take. Pure arithmetic.

The load is the time of a tick against its budget, which is how often there is to be one. It rises at once when a tick takes
longer, and falls slowly when ticks are short again: who reads less because of it makes ticks shorter, and must not read more at
once.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

RECENT: Final = 40  # ticks that are looked at: what is older has faded to a thousandth
_FADING = 0.85


def load_of(durations: Iterable[float], budget: float) -> float:
    """The load after ticks of these lengths, the newest last.

    >>> load_of([0.1, 2.0, 0.1, 0.1], budget=1.0)
    1.445
    """
    load = 0.0
    for duration in durations:
        load = max(duration / budget, _FADING * load)
    return round(load, 3)
