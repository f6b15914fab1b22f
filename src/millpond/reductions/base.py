"""What a reduction promises, and what a kind of reduction is.

Idea. A query reads history in portions: a run of blocks, or a file. Before each it asks its reduction which fraction of the rows
to read, so that a reduction can thin what is old, or read less while much is to do. `millpond.testing.check_reduction` checks the
promises. A `ReductionKind` is what SQL knows a reduction by: `REDUCE USING <name>(<arguments>)`; it is registered in `registry`.

Invariants
 1. A fraction is more than 0 and at most 1.
 2. It depends on the portion alone, not on the values of rows: else the rows read would not be a sample.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, ClassVar

from millpond.errors import SqlError


class ReductionError(SqlError):
    """A reduction that cannot work with what it was given."""


@dataclass(frozen=True)
class Portion:
    """A part of the archive about to be read. Portions come from the newest to the oldest.

    `age` is how long before the table's time the newest of its rows are; `rows` and `bytes` are what it has; `load` is how busy
    the pond is, where 1 is as much as it can do; `rows_read` is what this query has read so far.
    """

    age: timedelta
    rows: int
    bytes: int
    load: float = 0.0
    rows_read: int = 0


Fraction = Callable[[Portion], float]


class ReductionKind(ABC):
    """A kind of reduction: `REDUCE USING <name>(<arguments>)`."""

    name: ClassVar[str]
    usage: ClassVar[str]
    """How it is written, for messages."""

    @abstractmethod
    def open(self, arguments: Sequence[Any]) -> Fraction:
        """What is asked for each portion; raises `ReductionError` if the arguments cannot be. Called once for each query."""

    def wanted_error(self, arguments: Sequence[Any]) -> tuple[float, float] | None:
        """The relative error and the confidence that are wanted, of a kind that leaves the fraction to the answer."""
        return None


def percent(kind: ReductionKind, value: Any) -> float:
    """An argument that is a percentage, as a fraction."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value <= 100:
        raise ReductionError(
            f"{value!r} is not a percentage of rows to read",
            detail="It is more than 0 and at most 100.",
            hint=f"Write {kind.usage}.",
        )
    return value / 100


def wrong_arguments(kind: ReductionKind) -> ReductionError:
    return ReductionError(f'the arguments of reduction "{kind.name}" are others', hint=f"Write {kind.usage}.")
