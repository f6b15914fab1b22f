"""Bytes to rows: where lines begin and end, and what every reader of lines shares. One way to read CSV and JSON lines.

Idea. A piece of a file or of what came over a socket is first *cut* into rows (`Rows`: where each begins and ends and
in which line it stands), then any run of those rows is *parsed* into a table. Cutting first makes positions exact for
whatever number of rows is asked for, and parsing works on whole runs, which is fast.

Invariants
 1. Cutting depends on the bytes from the beginning of a row on and on nothing before, so it can start at any row.
 2. Every byte belongs to exactly one row, or to a blank line, or to `rest`: the row that is not complete yet.
 3. A row of more than `CHUNK_BYTES` is not a row: its first line is rejected and reading goes on after that line.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from millpond.arrow import BadRow
from millpond.schema import Schema
from millpond.sources.base import SourceBatch
from millpond.sources.options import LineOptions

# How much is read at once: some 200,000 short rows, so that the costs per piece vanish; memory stays below 100 MB.
CHUNK_BYTES = 8 << 20
LONGEST_TEXT = 4096  # characters of a rejected row that are kept
LF, CR, QUOTE = 10, 13, 34

Places = npt.NDArray[np.int64]
Bytes = npt.NDArray[np.uint8]


@dataclass(frozen=True)
class LineRows:
    """Row i is `data[starts[i]:ends[i]]`, without its line end; the next begins at `after[i]` or later.

    `lines[i]` lines end before it begins, `lines_after[i]` before `after[i]`. `rest` is where the incomplete row begins
    and `rest_lines` the number of lines before that. `joined`: some rows have line ends inside quotes. With a `reason`
    the rows are known to be unreadable.
    """

    data: bytes
    starts: Places
    ends: Places
    after: Places
    lines: Places
    lines_after: Places
    rest: int
    rest_lines: int
    joined: bool = False
    reason: str | None = None

    def __len__(self) -> int:
        return len(self.starts)

    def part(self, start: int, stop: int) -> LineRows:
        return self._only(slice(start, stop))

    def without(self, blank: npt.NDArray[np.bool_]) -> LineRows:
        """All but the blank ones."""
        return self._only(~blank) if blank.any() else self

    def _only(self, which: slice | npt.NDArray[np.bool_]) -> LineRows:
        """These rows, in the same data."""
        return replace(
            self,
            starts=self.starts[which],
            ends=self.ends[which],
            after=self.after[which],
            lines=self.lines[which],
            lines_after=self.lines_after[which],
        )

    def chosen(self, which: Places) -> LineRows:
        """Only these rows, in data of their own without anything between them."""
        pieces = [self.data[self.starts[i] : self.ends[i]] for i in which]
        ends = np.cumsum([len(p) + 1 for p in pieces], dtype=np.int64)
        lengths = np.array([len(p) for p in pieces], dtype=np.int64)
        return replace(
            self,
            data=b"\n".join(pieces) + b"\n",
            starts=ends - lengths - 1,
            ends=ends - 1,
            after=ends,
            lines=self.lines[which],
            lines_after=self.lines_after[which],
        )

    def bytes_of(self, i: int) -> bytes:
        return self.data[self.starts[i] : self.ends[i]]

    def text(self, i: int) -> str:
        """Row i as text to show; bytes that are not UTF-8 are written as \\xNN."""
        start = int(self.starts[i])
        end = min(int(self.ends[i]), start + 4 * LONGEST_TEXT)
        text = self.data[start:end].decode("utf-8", "backslashreplace")
        return text if len(text) <= LONGEST_TEXT else text[:LONGEST_TEXT] + "..."


@dataclass(frozen=True)
class Parsed:
    """Rows as a table. `good` are the places of its rows in the `Rows` parsed (None: all); `bad` the others, why."""

    table: pa.Table
    good: Places | None = None
    bad: list[tuple[int, str]] = field(default_factory=list)


class LineParser(Protocol):
    """Reads one format. Used by one thread; keeps no rows."""

    header: bool  # whether the first line is to be given to `with_header` before anything is parsed

    def split(self, data: bytes, whole: bool) -> LineRows:
        """Cut `data`, which begins with a row. `whole`: nothing will follow, so a last line needs no line end."""

    def parse(self, rows: LineRows) -> Parsed: ...

    def with_header(self, line: bytes) -> LineParser: ...


def line_parser(kind: str, columns: Schema, options: LineOptions) -> LineParser:
    # Imported here because the formats build on this module.
    from millpond.sources.formats.csv import CsvLines
    from millpond.sources.formats.json import JsonLines

    return CsvLines(columns, options) if kind == "csv" else JsonLines(columns, options)


def line_ends(data: bytes) -> tuple[Bytes, Places]:
    """The bytes of `data` as numbers, and the places right after each line feed."""
    numbers = np.frombuffer(data, np.uint8)
    return numbers, np.flatnonzero(numbers == LF) + 1


def cut(data: bytes, numbers: Bytes, breaks: Places, physical: Places, *, tail: bool) -> LineRows:
    """Rows that end at `breaks`, in text whose lines end at `physical`. `tail`: what follows the last is a row too."""
    rest = int(breaks[-1]) if len(breaks) else 0
    joined = len(breaks) != len(physical)
    if tail and rest < len(data):
        breaks = np.append(breaks, len(data))
        rest = len(data)
    starts = np.concatenate(([0], breaks[:-1])) if len(breaks) else breaks
    ends = breaks.copy()
    if len(breaks):
        last = numbers[ends - 1]
        ends -= (last == LF) | (last == CR)
        if b"\r\n" in data:
            ends -= (ends > starts) & (last == LF) & (numbers[np.maximum(ends - 1, 0)] == CR)
    if joined:
        lines = np.searchsorted(physical, starts, side="right")
        lines_after = np.searchsorted(physical, breaks, side="right")
    else:
        lines = np.arange(len(breaks))
        lines_after = lines + 1
    rest_lines = int(np.searchsorted(physical, rest, side="right"))
    return LineRows(data, starts, ends, breaks, lines, lines_after, rest, rest_lines, joined)


def broken_line(data: bytes, reason: str) -> LineRows:
    """The first line of `data` as a row that cannot be read; all of `data` when no line ends in it."""
    end = data.find(b"\n") + 1 or len(data)
    content = len(data[:end].rstrip(b"\r\n"))
    zero, one = np.zeros(1, np.int64), np.ones(1, np.int64)
    return LineRows(data, zero, zero + content, zero + end, zero, one, end, 1, reason=reason)


def why_broken(data: bytes) -> str:
    """The reason for a row that does not end where it could have."""
    if b"\n" in data:
        return "a quote is not closed"
    return f"the line is longer than {CHUNK_BYTES >> 20} MB"


def batch_of(
    parser: LineParser, rows: LineRows, columns: pa.Schema, place: Callable[[int], str], line: int, position: Any
) -> SourceBatch:
    """Parse `rows`, which begin in the line with number `line`; `place` names a line."""
    if rows.reason is not None:
        parsed = Parsed(columns.empty_table(), np.zeros(0, np.int64), [(i, rows.reason) for i in range(len(rows))])
    else:
        parsed = parser.parse(rows)
    numbers = rows.lines + line
    good = parsed.good
    bad = []
    for k, (i, reason) in enumerate(parsed.bad):
        # A reason may quote half a surrogate pair, which no column of text can hold.
        sayable = reason.encode("utf-8", "backslashreplace").decode()
        bad.append(BadRow(-1 - k, f"line {numbers[i]}: {sayable}", rows.text(i)))
    rejected = [i for i, _ in parsed.bad]

    def places(i: int) -> str:
        row = rejected[-1 - i] if i < 0 else i if good is None else int(good[i])
        return place(int(numbers[row]))

    return SourceBatch(parsed.table, bad, position, places)
