"""What a standing query is: a text, and what may be kept of it. Everything else follows from these and from the tables."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from millpond.sql.parameters import written_out


@dataclass(frozen=True, slots=True)
class StandingQuery:
    """`text` is SELECT ... BEGIN ... END; where many queries differ in values only, `parameters` go in the places of its marks.

    `number` is never given twice. `reads` are the relations it reads, as (name, folder): a table of the same name that is made
    later is another one.
    """

    number: int
    name: str | None
    text: str
    keep: str
    reads: tuple[tuple[str, str], ...]
    parameters: Sequence[Any] | None = None

    @property
    def sql(self) -> str:
        """The query as one could type it."""
        return written_out(self.text, self.parameters) if self.parameters is not None else self.text

    @property
    def shown(self) -> str:
        """What an error calls it."""
        return f'"{self.name}"' if self.name is not None else str(self.number)
