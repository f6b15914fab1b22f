"""`[INTERVAL '1' MINUTE]`: the rows of the last minute."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import timedelta
from typing import Self

from millpond.catalog import StreamingTable
from millpond.duration import describe
from millpond.windows.base import Window, WindowText, names_column, written_interval


@dataclass(frozen=True)
class IntervalWindow(Window):
    """A row exactly `interval` old is in it."""

    keyword = "INTERVAL"
    examples = ("[INTERVAL '1' MINUTE]",)

    interval: timedelta = field()

    @classmethod
    def begins(cls, text: WindowText) -> bool:
        return text.at("INTERVAL") and not names_column(text)

    @classmethod
    def read(cls, text: WindowText) -> Self:
        return cls(text.interval())

    def start(self, table: StreamingTable, now: int | None) -> int | None:
        return None if now is None else now - table.unit.count(self.interval)

    def __str__(self) -> str:
        return f"[{written_interval(self.interval)}]"

    @property
    def description(self) -> str:
        return f"the rows of the last {describe(self.interval)}"
