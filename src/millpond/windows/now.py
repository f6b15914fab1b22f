"""`[NOW]`: the rows of the instant."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

from millpond.catalog import StreamingTable
from millpond.windows.base import Window, WindowText


@dataclass(frozen=True)
class NowWindow(Window):
    keyword = "NOW"
    examples = ("[NOW]",)
    now = True

    @classmethod
    def begins(cls, text: WindowText) -> bool:
        return text.at("NOW", "]")

    @classmethod
    def read(cls, text: WindowText) -> Self:
        text.expect("NOW")
        return cls()

    def start(self, table: StreamingTable, now: int | None) -> int | None:
        return now

    def __str__(self) -> str:
        return "[NOW]"

    @property
    def description(self) -> str:
        return "[NOW], the rows of the instant"
