"""The rows of sessions that are not closed yet. It is not written in brackets: `session_window(...)` and SESSION( ) mean it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import Self

from millpond.catalog import StreamingTable
from millpond.duration import describe
from millpond.windows.base import Window, WindowText


@dataclass(frozen=True)
class SessionWindow(Window):
    keyword = "SESSION"
    examples = ()

    gap: timedelta

    @classmethod
    def begins(cls, text: WindowText) -> bool:
        return False

    @classmethod
    def read(cls, text: WindowText) -> Self:
        raise AssertionError("it is not written in brackets")

    def start(self, table: StreamingTable, now: int | None) -> int | None:
        return None

    def __str__(self) -> str:
        return f"sessions with gaps of {describe(self.gap)}"

    @property
    def description(self) -> str:
        return f"its {self}"
