"""`uniform(p)`: the same part of everything. `REDUCE TO p PERCENT` is short for it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from millpond.reductions.base import Fraction, ReductionKind, percent, wrong_arguments


class Uniform(ReductionKind):
    name = "uniform"
    usage = "uniform(10) to read ten percent"

    def open(self, arguments: Sequence[Any]) -> Fraction:
        if len(arguments) != 1:
            raise wrong_arguments(self)
        fraction = percent(self, arguments[0])
        return lambda _portion: fraction
