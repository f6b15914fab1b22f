"""`[UNBOUNDED]`: all rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

from millpond.catalog import StreamingTable
from millpond.windows.base import Window, WindowText


@dataclass(frozen=True)
class UnboundedWindow(Window):
    keyword = "UNBOUNDED"
    examples = ("[UNBOUNDED]",)
    grows = True

    @classmethod
    def begins(cls, text: WindowText) -> bool:
        return text.at("UNBOUNDED", "]")

    @classmethod
    def read(cls, text: WindowText) -> Self:
        text.expect("UNBOUNDED")
        return cls()

    def start(self, table: StreamingTable, now: int | None) -> int | None:
        return None

    def __str__(self) -> str:
        return "[UNBOUNDED]"

    @property
    def description(self) -> str:
        return "the rows"
