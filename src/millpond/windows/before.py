"""`[INTERVAL '1' MINUTE BEFORE NOW]`: the rows of the minute before the instant, without those of the instant itself.

With SAMPLE by the same length every row is in one window. Group windows (`GROUP BY window(...)`, TUMBLE, HOP) become this.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import Self

from millpond.catalog import StreamingTable
from millpond.duration import describe
from millpond.errors import SqlSyntaxError
from millpond.windows.base import Window, WindowText, names_column, written_interval


@dataclass(frozen=True)
class BeforeWindow(Window):
    """A row exactly `size` old is in it."""

    keyword = "INTERVAL"
    examples = ("[INTERVAL '1' MINUTE BEFORE NOW]",)
    before = True

    size: timedelta

    @property
    def length(self) -> timedelta | None:
        return self.size

    @classmethod
    def begins(cls, text: WindowText) -> bool:
        if not text.at("INTERVAL") or names_column(text):
            return False
        ahead = 0
        while text.word(ahead) not in ("]", "BEFORE", ""):
            ahead += 1
        return text.word(ahead) == "BEFORE"

    @classmethod
    def read(cls, text: WindowText) -> Self:
        place = text.index
        size = text.interval()
        text.expect("BEFORE", "NOW")
        if not size:
            raise SqlSyntaxError("window of 0 seconds has no rows", sql=text.sql, span=text.span(place))
        return cls(size)

    def start(self, table: StreamingTable, now: int | None) -> int | None:
        return None if now is None else now - table.unit.count(self.size)

    def __str__(self) -> str:
        return f"[{written_interval(self.size)} BEFORE NOW]"

    @property
    def description(self) -> str:
        return f"the rows of the {describe(self.size)} before the instant"
