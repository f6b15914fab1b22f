"""How far a validation is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Progress:
    """`stage` says what is being done, `share` how much of that is done, from 0 to 1."""

    stage: str
    share: float


OnProgress = Callable[[Progress], None]
