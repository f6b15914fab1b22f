"""`[BEGIN NOW - INTERVAL '10' MINUTE END NOW]`: the rows between two ends, each fixed or moving with NOW.

Both ends belong to the window. An end is a time, or NOW, or so much before it; or it counts rows: `ROW 1000` is the row of that
number, `NOW - 100 ROWS` the newest row but 99. Rows are counted from the newest whose time NOW has reached. Without BEGIN the
window has no lower end, without END no upper one: then rows beyond the watermark are in it too.

A constant and NOW make the window a snapshot (both constant), a landmark (a constant BEGIN) or sliding (both moving).
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import Self

from millpond.catalog import StreamingTable
from millpond.duration import describe
from millpond.errors import SqlSyntaxError
from millpond.event_time import to_event_time
from millpond.windows.base import Window, WindowText, written_interval


@dataclass(frozen=True)
class End:
    """One end of a window: one of these is given. `back` and `rows` are before NOW; NOW itself is `back` of nothing."""

    time: int | str | None = None
    """A fixed time as it was written: a number, or the text of a timestamp."""
    back: timedelta | None = None
    row: int | None = None
    """The number of a row."""
    rows: int | None = None
    """So many rows before NOW."""

    @property
    def moves(self) -> bool:
        return self.back is not None or self.rows is not None

    @property
    def is_now(self) -> bool:
        return self.back is not None and not self.back

    @property
    def counts_rows(self) -> bool:
        return self.row is not None or self.rows is not None

    def at(self, table: StreamingTable, now: int | None) -> int | None:
        """The event time of this end, if it is one."""
        if self.time is not None:
            return to_event_time(self.time, table)
        return None if self.back is None or now is None else now - table.unit.count(self.back)

    @classmethod
    def read(cls, text: WindowText, word: str) -> Self:
        if text.accept("ROW"):
            place = text.index
            row = text.whole("the number of a row after ROW")
            if row < 0:
                raise SqlSyntaxError("rows are numbered from 0", sql=text.sql, span=text.span(place))
            return cls(row=row)
        if not text.accept("NOW"):
            if text.at_text():
                return cls(time=text.text(""))
            return cls(time=text.whole(f"NOW, NOW - INTERVAL ..., NOW - n ROWS, ROW n or a time after {word}"))
        if text.accept("("):
            text.expect(")")
        if not text.accept("-"):
            return cls(back=timedelta(0))
        place = text.index
        if text.at("INTERVAL"):
            return cls(back=text.interval())
        rows = text.whole("INTERVAL or a number of rows after NOW -")
        text.expect("ROWS", after="the number of rows")
        if rows < 0:
            raise SqlSyntaxError(f"{word} is ahead of NOW", sql=text.sql, span=text.span(place))
        return cls(rows=rows)

    def __str__(self) -> str:
        if self.row is not None:
            return f"ROW {self.row}"
        if self.rows is not None:
            return f"NOW - {self.rows} ROWS"
        if self.back is not None:
            return f"NOW - {written_interval(self.back)}" if self.back else "NOW"
        if isinstance(self.time, int):
            return str(self.time)
        text = str(self.time).replace("\\", "\\\\").replace("'", "\\'")
        return f"'{text}'"

    @property
    def description(self) -> str:
        if self.row is not None:
            return f"row {self.row}"
        if self.rows is not None:
            return f"{self.rows} rows before NOW"
        if self.back is not None:
            return f"{describe(self.back)} before NOW" if self.back else "NOW"
        return str(self.time)


@dataclass(frozen=True)
class SpanWindow(Window):
    keyword = "BEGIN"
    examples = ("[BEGIN NOW - INTERVAL '1' MINUTE END NOW]",)
    opening: End | None
    closing: End | None

    @classmethod
    def begins(cls, text: WindowText) -> bool:
        return (text.at("BEGIN") or text.at("END")) and text.word(1) not in (",", "ROWS")

    @classmethod
    def read(cls, text: WindowText) -> Self:
        place = text.index
        first = End.read(text, "BEGIN") if text.accept("BEGIN") else None
        last = End.read(text, "END") if text.accept("END") else None
        if first is None and last is None:
            raise text.unexpected("BEGIN or END")
        wrong = _wrong(first, last)
        if wrong is not None:
            message, hint = wrong
            raise SqlSyntaxError(message, hint=hint, sql=text.sql, span=text.span(place))
        return cls(first, last)

    # Rows are counted from the newest: `rows` of them, without the `skip` newest.

    @property
    def rows(self) -> int | None:  # type: ignore[override]
        return self.opening.rows if self.opening is not None else None

    @property
    def skip(self) -> int:  # type: ignore[override]
        return (self.closing.rows or 0) if self.closing is not None else 0

    @property
    def numbers(self) -> tuple[int | None, int | None]:  # type: ignore[override]
        return self.opening.row if self.opening else None, self.closing.row if self.closing else None

    @property
    def length(self) -> timedelta | None:
        return self.opening.back if self.opening is not None else None

    @property
    def needs_now(self) -> bool:
        return any(end is not None and end.moves for end in (self.opening, self.closing))

    @property
    def from_history(self) -> bool:  # type: ignore[override]
        return self.continuous

    @property
    def continuous(self) -> bool:  # type: ignore[override]
        """Both ends move in time: so it holds the same rows at an instant whenever it is evaluated, and is bounded."""
        return (
            self.opening is not None and self.closing is not None and None not in (self.opening.back, self.closing.back)
        )

    @property
    def kind(self) -> str:
        """'snapshot', 'landmark' or 'sliding'."""
        if self.opening is not None and self.opening.moves:
            return "sliding"
        return "landmark" if self.closing is None or self.closing.moves else "snapshot"

    def start(self, table: StreamingTable, now: int | None) -> int | None:
        return self.opening.at(table, now) if self.opening is not None else None

    def end(self, table: StreamingTable, now: int | None) -> int | None:
        if self.closing is None:
            return None
        if self.closing.rows is not None:
            return now  # rows are counted from there
        return self.closing.at(table, now)

    def __str__(self) -> str:
        ends = [f"BEGIN {self.opening}"] if self.opening is not None else []
        ends += [f"END {self.closing}"] if self.closing is not None else []
        return f"[{' '.join(ends)}]"

    @property
    def description(self) -> str:
        begin = f"from {self.opening.description} on" if self.opening is not None else "from the oldest on"
        return f"the rows {begin}" + (f" up to {self.closing.description}" if self.closing is not None else "")


def _wrong(first: End | None, last: End | None) -> tuple[str, str] | None:
    """What is wrong with two ends, and what to write instead."""
    if first is None or last is None:
        return None
    if first.counts_rows != last.counts_rows and not (last.is_now or first.is_now):
        return (
            "one end of the window counts rows and the other is a time",
            "Give both as times, or both as rows: BEGIN NOW - 100 ROWS END NOW - 10 ROWS.",
        )
    if first.back is not None and last.back is not None:
        empty = last.back > first.back
    elif first.rows is not None and last.rows is not None:
        empty = last.rows >= first.rows
    elif isinstance(first.time, int) and isinstance(last.time, int):
        empty = last.time < first.time
    elif isinstance(first.time, str) and isinstance(last.time, str):
        empty = False  # known when the table is
    elif first.row is not None and last.row is not None:
        empty = last.row < first.row
    else:
        empty = first.is_now and last.rows is not None and last.rows > 0
    return (f"the window ends before it begins: BEGIN {first} END {last}", "Exchange the two.") if empty else None
