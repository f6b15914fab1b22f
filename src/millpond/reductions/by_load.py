"""`by_load(p)`: everything while the pond has time, and down to p percent as it becomes busy.

The fraction falls from all at half the load to p percent at full load, and stays there beyond.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from millpond.reductions.base import Fraction, Portion, ReductionKind, percent, wrong_arguments

_EASY = 0.5


class ByLoad(ReductionKind):
    name = "by_load"
    usage = "by_load(10) to read at least ten percent"

    def open(self, arguments: Sequence[Any]) -> Fraction:
        if len(arguments) != 1:
            raise wrong_arguments(self)
        least = percent(self, arguments[0])

        def fraction(portion: Portion) -> float:
            busy = min(1.0, max(0.0, (portion.load - _EASY) / (1 - _EASY)))
            return float(least**busy)

        return fraction
