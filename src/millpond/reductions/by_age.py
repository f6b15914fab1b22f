"""`by_age(INTERVAL a, p, ...)`: what is new in full, and less of what is older."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from itertools import pairwise
from typing import Any

from millpond.reductions.base import Fraction, Portion, ReductionKind, percent, wrong_arguments


class ByAge(ReductionKind):
    name = "by_age"
    usage = "by_age(INTERVAL 1 DAY, 10, INTERVAL 30 DAY, 1): all of a day, then ten percent, and one percent beyond thirty days"

    def open(self, arguments: Sequence[Any]) -> Fraction:
        ages, levels = arguments[::2], arguments[1::2]
        if not arguments or len(ages) != len(levels) or not all(isinstance(age, timedelta) for age in ages):
            raise wrong_arguments(self)
        if any(a >= b for a, b in pairwise(ages)):
            raise wrong_arguments(self)
        steps = [(age, percent(self, level)) for age, level in zip(ages, levels, strict=True)]

        def fraction(portion: Portion) -> float:
            return next((level for age, level in reversed(steps) if portion.age >= age), 1.0)

        return fraction
