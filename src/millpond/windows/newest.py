"""`[ROWS 4]`, `[vid ROWS 4]`, `[vid ROWS 4 WITHIN INTERVAL '5' MINUTE]`: the newest rows, of all or of each key.

Rows of equal time are ordered by arrival, so the rows of the window do not depend on how batches were cut. Where a table keeps
its rows for a while only, none that is older is in the window, so they do not depend on when retention deletes files either.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import Self

from millpond.catalog import StreamingTable
from millpond.duration import describe
from millpond.errors import SqlSyntaxError, nearest
from millpond.windows.base import Window, WindowText, names_column, written_interval


@dataclass(frozen=True)
class RowsWindow(Window):
    """With `interval`, rows older than that are not in it, even if they are among the newest."""

    keyword = "ROWS"
    examples = ("[ROWS 4]", "[vid ROWS 4]")

    rows: int = field()
    columns: tuple[str, ...] = ()
    interval: timedelta | None = None

    @classmethod
    def begins(cls, text: WindowText) -> bool:
        ahead = 0
        while text.word(ahead) not in ("]", "ROWS", ""):
            ahead += 1
        return text.word(ahead) == "ROWS"

    @classmethod
    def read(cls, text: WindowText) -> Self:
        columns = () if text.at("ROWS") and not names_column(text) else text.names("column")
        if not text.accept("ROWS"):
            near = columns and nearest(columns[-1], [cls.keyword])
            raise text.unexpected('"," or ROWS', hint=f'Did you mean "{near}"?' if near else None)
        place = text.index
        rows = text.whole("a number of rows")
        if rows < 1:
            raise SqlSyntaxError(f"window of {rows} rows has no rows", sql=text.sql, span=text.span(place))
        if not text.at("WITHIN"):
            return cls(rows, columns)
        if not columns:
            raise text.unexpected('"]"', hint="WITHIN needs columns: [vid ROWS 4 WITHIN INTERVAL '5' MINUTE].")
        text.expect("WITHIN")
        return cls(rows, columns, text.interval())

    def kept_for(self, history: timedelta) -> Window:
        return self if self.interval is not None else replace(self, interval=history)

    def start(self, table: StreamingTable, now: int | None) -> int | None:
        return None if now is None or self.interval is None else now - table.unit.count(self.interval)

    def __str__(self) -> str:
        columns = ", ".join("`" + c.replace("`", "``") + "`" for c in self.columns)
        within = f" WITHIN {written_interval(self.interval)}" if self.interval is not None else ""
        return f"[{columns}{' ' if columns else ''}ROWS {self.rows}{within}]"

    @property
    def description(self) -> str:
        within = f" of the last {describe(self.interval)}" if self.interval is not None else ""
        return f"the {self.rows} newest rows{' of each ' + ', '.join(self.columns) if self.columns else ''}{within}"
