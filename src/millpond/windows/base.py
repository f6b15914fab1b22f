"""What every kind of window answers. The rest of millpond asks these questions and never which kind it has.

A window is described by where it begins in time (`start`) and by how many of the newest rows it holds (`rows`, for each
value of `columns`). Both can be open.

Invariant: as `now` moves on, a window never begins earlier than before.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from datetime import timedelta
from typing import ClassVar, Protocol, Self

from millpond.catalog import StreamingTable
from millpond.errors import Span, SqlSyntaxError


class WindowText(Protocol):
    """The tokens between the brackets of a window: what a kind needs to read itself (`sql.cursor.TokenCursor` is one)."""

    sql: str
    index: int

    def at(self, *words: str) -> bool: ...
    def at_word(self) -> bool: ...
    def at_text(self) -> bool: ...
    def at_quoted_name(self) -> bool: ...
    def word(self, ahead: int = 0) -> str: ...
    def accept(self, *words: str) -> bool: ...
    def expect(self, *words: str, after: str = "") -> None: ...
    def interval(self) -> timedelta: ...
    def whole(self, what: str) -> int: ...
    def text(self, what: str) -> str: ...
    def names(self, kind: str) -> tuple[str, ...]: ...
    def span(self, start: int, end: int | None = None) -> Span: ...
    def unexpected(self, expected: str, words: tuple[str, ...] = (), *, hint: str | None = None) -> SqlSyntaxError: ...


class Window(ABC):
    """A window of a streaming table. Kinds are frozen dataclasses: equal when they hold the same rows."""

    keyword: ClassVar[str]
    """The word it begins with in brackets."""
    examples: ClassVar[tuple[str, ...]]
    """How it is written, for the hint of an error."""

    rows: int | None = None
    """How many of the newest rows it holds; None if their number does not matter."""
    columns: tuple[str, ...] = ()
    """It holds `rows` rows for each value of these columns."""
    interval: timedelta | None = None
    """How far back it reaches, if that is the same at every instant."""
    now: bool = False
    """Whether it holds the rows of the instant alone."""
    before: bool = False
    """Whether it ends before the instant: the rows of the instant itself are not in it."""
    grows: bool = False
    """Whether rows come into it and none ever leaves."""
    continuous: bool = True
    """Whether a continuous query can read through it."""
    from_history: bool = False
    """Whether a continuous query reads it from the table at each instant, and holds nothing of it."""
    skip: int = 0
    """How many of the newest rows are not in it."""
    numbers: tuple[int | None, int | None] = (None, None)
    """The first and the last row number it holds, where it is bounded by them."""

    @property
    def length(self) -> timedelta | None:
        """How far back it reaches at most, if it has an end in time."""
        return self.interval

    @property
    def needs_now(self) -> bool:
        """Whether it is empty as long as its table has no time yet."""
        return self.now or self.length is not None

    def last(self, now: int) -> int:
        """The latest event time it holds at the instant `now`, when nothing later is known."""
        return now - 1 if self.before else now

    def end(self, table: StreamingTable, now: int | None) -> int | None:
        """The latest event time of `table` it holds at `now`, however much later rows there are; None if it has no such limit."""
        return None if now is None or not (self.before or self.now) else self.last(now)

    def kept_for(self, history: timedelta) -> Window:
        """The same over a table that keeps its rows for `history`."""
        return self

    @classmethod
    @abstractmethod
    def begins(cls, text: WindowText) -> bool:
        """Whether the words after the bracket are those of this kind."""

    @classmethod
    @abstractmethod
    def read(cls, text: WindowText) -> Self:
        """The window written here, up to the closing bracket."""

    @abstractmethod
    def start(self, table: StreamingTable, now: int | None) -> int | None:
        """The earliest event time of `table` it holds at `now`; None if it has no such limit."""

    @abstractmethod
    def __str__(self) -> str:
        """The window as it is written, brackets included."""

    @property
    @abstractmethod
    def description(self) -> str:
        """Which rows it holds, in words, for EXPLAIN."""


def names_column(text: WindowText) -> bool:
    """Whether the word here is the name of a column, even if it is a keyword: `[now ROWS 1]`, `[rows, interval ROWS 2]`."""
    return text.word(1) in (",", "ROWS")


def written_interval(length: timedelta) -> str:
    return f"INTERVAL '{length.total_seconds():.6f}' SECOND"
