"""`by_error(p [, confidence])`: as little as an error of p percent takes. `WITHIN p PERCENT` is short for it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from millpond.reductions.base import Fraction, ReductionError, ReductionKind, percent, wrong_arguments

_CONFIDENCE = 95


class ByError(ReductionKind):
    name = "by_error"
    usage = "by_error(2) for an error of two percent, or by_error(2, 99) to be surer of it"

    def open(self, arguments: Sequence[Any]) -> Fraction:
        self.wanted_error(arguments)
        return lambda _portion: 1.0

    def wanted_error(self, arguments: Sequence[Any]) -> tuple[float, float] | None:
        if len(arguments) not in (1, 2):
            raise wrong_arguments(self)
        error = percent(self, arguments[0])
        sure = arguments[1] if len(arguments) == 2 else _CONFIDENCE
        if not isinstance(sure, int | float) or not 50 <= sure < 100:
            raise ReductionError(f"{sure!r} is not a confidence", detail="It is at least 50 and less than 100 percent.")
        return error, sure / 100
