"""The kinds of reduction that SQL knows. To add one, write a `ReductionKind` in a module of its own and either name it here, call
`REDUCTIONS.register`, or offer it from a package under the entry point `millpond.reductions`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from millpond.extensions import Registry
from millpond.reductions.base import Fraction, Portion, ReductionError, ReductionKind
from millpond.reductions.by_age import ByAge
from millpond.reductions.by_error import ByError
from millpond.reductions.by_load import ByLoad
from millpond.reductions.uniform import Uniform


class _Function(ReductionKind):
    """A function of the user: it is given the portion and the arguments of the query."""

    def __init__(self, name: str, function: Callable[..., float]) -> None:
        self.name = name  # type: ignore[misc]
        self.usage = f"{name}(...) as the function takes it"  # type: ignore[misc]
        self._function = function

    def open(self, arguments: Sequence[Any]) -> Fraction:
        def fraction(portion: Portion) -> float:
            try:
                return self._function(portion, *arguments)
            except Exception as error:
                detail = f"{type(error).__name__}: {error}"
                raise ReductionError(f'reduction "{self.name}" failed', detail=detail) from error

        return fraction


def register_function(name: str, function: Callable[..., float]) -> None:
    """Let `REDUCE USING <name>(...)` call a function, in this process: with the portion, and what stands in the parentheses."""
    REDUCTIONS.register(_Function(name.lower(), function))


REDUCTIONS: Registry[ReductionKind] = Registry(
    "reduction", "millpond.reductions", [Uniform(), ByAge(), ByLoad(), ByError()]
)
