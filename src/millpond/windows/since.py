"""`[SINCE 600]`: the rows since a fixed time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

from millpond.catalog import StreamingTable
from millpond.event_time import to_event_time
from millpond.windows.base import Window, WindowText, names_column


@dataclass(frozen=True)
class SinceWindow(Window):
    keyword = "SINCE"
    examples = ("[SINCE 600]",)
    grows = True

    time: int | str
    """As it was written: a number, or the text of a timestamp."""

    @classmethod
    def begins(cls, text: WindowText) -> bool:
        return text.at("SINCE") and not names_column(text)

    @classmethod
    def read(cls, text: WindowText) -> Self:
        text.expect("SINCE")
        return cls(text.text("") if text.at_text() else text.whole("a whole number or a text after SINCE"))

    def start(self, table: StreamingTable, now: int | None) -> int | None:
        return to_event_time(self.time, table)

    def __str__(self) -> str:
        if isinstance(self.time, int):
            return f"[SINCE {self.time}]"
        text = self.time.replace("\\", "\\\\").replace("'", "\\'")
        return f"[SINCE '{text}']"

    @property
    def description(self) -> str:
        return f"the rows since {self.time}"
