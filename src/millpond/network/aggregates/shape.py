"""What is asked of groups that are held as numbers or summaries instead of rows: which values make a group, what is measured.

A value of a row goes by a name: a column by its own, what is computed from columns by its text after an underscore, with which
no column of a table begins.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar


class Measuring(Protocol):
    """What is held of a group."""

    @property
    def columns(self) -> tuple[str, ...]:
        """The values of a row that it looks at."""


M = TypeVar("M", bound=Measuring)


@dataclass(frozen=True)
class Item(Generic[M]):
    """What is selected: a value of a group (`measure` is None), or a measure; of an estimate `shown` is value, lower or upper."""

    column: str
    measure: M | None = None
    shown: str = ""


@dataclass(frozen=True)
class Shape(Generic[M]):
    """The values that make a group, and what is selected. Its text is part of the names of checkpoints."""

    groups: tuple[str, ...]
    items: tuple[Item[M], ...]

    @property
    def measures(self) -> list[M]:
        return list(dict.fromkeys(i.measure for i in self.items if i.measure is not None))

    @property
    def needs(self) -> list[str]:
        """The values that are measured."""
        return list(dict.fromkeys(c for m in self.measures for c in m.columns))

    @property
    def names(self) -> list[str]:
        """The values of a row that matter."""
        return list(dict.fromkeys([*self.groups, *self.needs]))
