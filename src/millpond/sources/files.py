"""A folder of files as a source: those that are there, and those that arrive.

Idea. Files are taken in the order of their names among those not seen before, given a serial number in the `Journal`,
and read one after the other to the end. The position is `{"serial", "offset", "line", "end"}`: the file, how far it was
read (bytes, or rows for Parquet), how many lines (rows) that was, and whether that was the end of the file then.

Invariants
 1. The place of a file in the order is durable before its first row is given out.
 2. A file that came before another, and has the smaller name, is taken before it.
 3. A file is left only when it has been read to its end and another one is there; until then it may grow.
 4. A name is read once: a file replaced under a name already read is not read again.
 5. With the option `complete`, no row at or before a file's greatest time comes in a later one: who writes the files
    promises it, and that a file is complete when it appears. So time is complete as soon as a file is read.

What a writer should do: write the file aside (a name beginning with `.` or `_`, or ending in `.tmp`, is ignored) and
rename it when it is complete. A last line without a line end, and a Parquet file that cannot be read, are taken as they
are once the file has not changed for two seconds.
"""

from __future__ import annotations

import fnmatch
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from datetime import timedelta
from pathlib import Path
from typing import Any, ClassVar, Protocol

import pyarrow as pa
import pyarrow.compute as pc

from millpond.arrow import BadRow, arrow_schema
from millpond.catalog import Source
from millpond.clock import Clock
from millpond.errors import CatalogError, CorruptBlock, PondError, counted
from millpond.extensions import Option
from millpond.schema import Schema
from millpond.sources.base import Opening, SourceBatch, SourceKind
from millpond.sources.formats.lines import CHUNK_BYTES, LineRows, batch_of, broken_line, line_parser, why_broken
from millpond.sources.formats.parquet import ParquetReader
from millpond.sources.journal import Journal
from millpond.sources.options import CSV, JSON, LineOptions

SETTLED_AFTER = timedelta(seconds=2)
TRUSTED_AFTER = timedelta(milliseconds=100)
"""A folder that changes again so soon may have the same time of change."""
TRUSTED_FOR = timedelta(seconds=1)
"""Then it is listed in any case: some file systems count time in seconds."""
_BOM = b"\xef\xbb\xbf"


@dataclass(frozen=True)
class Position:
    """Where to go on: see the module. `end` tells a file that may be deleted from one that still had rows to give."""

    serial: int
    offset: int = 0
    line: int = 0
    end: bool = False


class FileReader(Protocol):
    """One open file. `read` gives the next rows and what the position then is; None: at the end, or not settled."""

    def read(self, most: int, serial: int) -> SourceBatch | None: ...

    @property
    def ended(self) -> bool: ...

    def close(self) -> None: ...


class FileSource:
    """See the module; the methods are those of `RowSource`."""

    def __init__(
        self,
        name: str,
        folder: Path,
        columns: Schema,
        kind: str,
        options: LineOptions,
        journal_folder: Path,
        clock: Clock,
        pattern: str = "*",
        complete: str | None = None,
    ) -> None:
        self._name = name
        self._folder = folder
        self._columns = columns
        self._kind = kind
        self._options = options
        self._clock = clock
        self._pattern = pattern
        self._journal = Journal(journal_folder)
        self._complete = complete
        self._greatest: int | None = None  # of that column, in this file
        self._at = Position(serial=1)
        self._file: FileReader | None = None
        self._listed: tuple[int, float] | None = None  # when the folder had changed last, and when that was seen

    def next_batch(self, most: int) -> SourceBatch | None:
        while True:
            if self._file is None:
                if self._at.serial > len(self._journal) and not self._find_files():
                    return None
                lost = self._open()
                if lost is not None:
                    return lost
            assert self._file is not None
            batch = self._file.read(most, self._at.serial)
            if batch is not None:
                self._at = Position(**batch.position)
                return batch if self._complete is None else self._marked(batch, self._complete)
            if not self._file.ended or (self._at.serial == len(self._journal) and not self._find_files()):
                return None
            self._leave(Position(self._at.serial + 1))

    def _marked(self, batch: SourceBatch, name: str) -> SourceBatch:
        """A batch that ends its file tells up to which time nothing more comes."""
        greatest = pc.max(batch.rows.column(name))
        if greatest.is_valid:
            time = int(greatest.value if pa.types.is_timestamp(greatest.type) else greatest.as_py())
            self._greatest = time if self._greatest is None else max(time, self._greatest)
        return replace(batch, complete=self._greatest) if self._at.end else batch

    def seek(self, position: Any) -> None:
        at = Position(**position)
        if not 1 <= at.serial <= len(self._journal):
            raise CorruptBlock(
                f'the journal of source "{self._name}" has no file {at.serial}',
                detail=f"It has {counted(len(self._journal), 'file')}, but rows of file {at.serial} were taken.",
                hint="Restore the journal from a copy.",
            )
        self._leave(at)

    def close(self) -> None:
        self._leave(self._at)
        self._journal.close()

    def _leave(self, to: Position) -> None:
        if self._file is not None:
            self._file.close()
            self._file = None
            self._greatest = None
        self._at = to

    def _find_files(self) -> bool:
        """Look for new files and write their order down; whether there were any.

        A folder is not listed in one moment: of two files that come meanwhile the listing may have the second and not the
        first. Whatever came before a file of the listing is there when it ends, and so in a second one.
        """
        if self._is_as_listed():
            return False
        seen = self._new_files()
        if not seen:
            return False
        last = max(seen)
        self._journal.add(sorted(seen | {name for name in self._new_files() if name < last}))
        return True

    def _is_as_listed(self) -> bool:
        """Whether nothing came since the folder was listed, by its time of change: to list it again costs as much as it has
        files, and most of them were read long ago."""
        try:
            changed = os.stat(self._folder).st_mtime_ns
        except OSError:
            return False  # to list it will fail too, and say why
        now = self._clock.monotonic()
        seen, since = self._listed or (None, 0.0)
        if changed == seen and now - since < TRUSTED_FOR.total_seconds():
            return True
        age = timedelta(microseconds=self._clock.micros() - changed // 1000)
        self._listed = (changed, now) if age >= TRUSTED_AFTER else None
        return False

    def _new_files(self) -> set[str]:
        try:
            with os.scandir(self._folder) as entries:
                return {e.name for e in entries if self._wanted(e.name) and e.is_file()}
        except OSError as error:
            raise PondError(f'folder "{self._folder}" of source "{self._name}" cannot be read: {error}') from error

    def _wanted(self, name: str) -> bool:
        if name in self._journal or name.startswith((".", "_")) or name.endswith(".tmp"):
            return False
        return fnmatch.fnmatchcase(name, self._pattern)

    def _open(self) -> SourceBatch | None:
        """Open the file the position is in. If it is gone with rows unread, that is a row that could not be read."""
        at = self._at
        name = self._journal.name(at.serial)
        shown = os.fsencode(name).decode("utf-8", "replace")
        try:
            handle = os.open(self._folder / name, os.O_RDONLY | os.O_CLOEXEC)
        except FileNotFoundError:
            return self._skip(shown, "disappeared before it was read to its end")
        except OSError as error:
            raise PondError(f'file "{shown}" of source "{self._name}" cannot be read: {error}') from error
        packed = _packed(handle)
        if packed is not None and self._kind != "parquet":
            os.close(handle)
            return self._skip(shown, f"is packed by {packed} and was not read: unpack it, under another name")
        settling = Settling(handle, self._clock)
        if self._kind == "parquet":
            self._file = ParquetReader(handle, shown, self._columns, at.offset, at.end, settling.settled)
        else:
            self._file = TextReader(handle, shown, self._columns, self._kind, self._options, at, settling)
        return None

    def _skip(self, shown: str, why: str) -> SourceBatch | None:
        """Leave a file that cannot be read, and tell it once: as a row that could not be read."""
        self._file = _Nothing()
        if self._at.end:
            return None
        self._at = replace(self._at, end=True)
        empty = arrow_schema(self._columns).empty_table()
        return SourceBatch(empty, [BadRow(-1, f'file "{shown}" {why}', shown)], asdict(self._at), lambda _: shown)


_PACKED = {
    b"\x1f\x8b\x08": "gzip",
    b"BZh": "bzip2",
    b"\xfd7zXZ": "xz",
    b"\x28\xb5\x2f\xfd": "zstd",
    b"PK\x03\x04": "zip",
}


def _packed(handle: int) -> str | None:
    """Which program packed a file, by its first bytes; those of bzip2 are a text, so more of them have to be right."""
    start = os.pread(handle, 10, 0)
    found = next((name for magic, name in _PACKED.items() if start.startswith(magic)), None)
    return None if found == "bzip2" and start[4:] != b"1AY&SY" else found


class Settling:
    """Whether a file has stopped changing: by its own time of change, or because nobody saw it change."""

    def __init__(self, handle: int, clock: Clock) -> None:
        self._handle = handle
        self._clock = clock
        self._seen: tuple[int, int] | None = None
        self._since = 0.0

    def settled(self) -> bool:
        now = os.fstat(self._handle)
        if (now.st_size, now.st_mtime_ns) != self._seen:
            self._seen = (now.st_size, now.st_mtime_ns)
            self._since = self._clock.monotonic()
        wait = SETTLED_AFTER.total_seconds()
        age = self._clock.micros() / 1e6 - now.st_mtime
        return age >= wait or self._clock.monotonic() - self._since >= wait


class TextReader:
    """One file of lines, read from `at` in chunks that end with a row."""

    def __init__(
        self,
        handle: int,
        name: str,
        columns: Schema,
        kind: str,
        options: LineOptions,
        at: Position,
        settling: Settling,
    ) -> None:
        self._handle = handle
        self._name = name
        self._schema = arrow_schema(columns)
        self._parser = line_parser(kind, columns, options)
        self._settling = settling
        self._offset, self._line = at.offset, at.line  # of the chunk
        self._size = 0
        self._rows: LineRows | None = None
        self._taken = 0

    @property
    def ended(self) -> bool:
        return self._rows is None and self._offset >= self._size

    def read(self, most: int, serial: int) -> SourceBatch | None:
        if self._rows is None and not self._fill():
            return None
        assert self._rows is not None
        stop = min(self._taken + most, len(self._rows))
        rows = self._rows.part(self._taken, stop)
        offset = self._offset + int(rows.after[-1])
        line = self._line + int(rows.lines_after[-1])
        position = Position(serial, offset, line, end=offset >= self._size)
        first = self._line + 1
        batch = batch_of(self._parser, rows, self._schema, lambda n: f"{self._name}:{n}", first, asdict(position))
        self._taken = stop
        if stop == len(self._rows):
            self._rows, self._taken = None, 0
            self._offset, self._line = offset, line
        return batch

    def close(self) -> None:
        if self._handle >= 0:
            os.close(self._handle)
            self._handle = -1

    def _fill(self) -> bool:
        """Read the next chunk; whether there are rows in it."""
        while True:
            self._size = os.fstat(self._handle).st_size
            if self._offset >= self._size:
                return False
            settled = self._settling.settled()
            if self._parser.header and not self._read_header(settled):
                return False
            # No further than the size just seen: what is written meanwhile has not settled.
            data = os.pread(self._handle, min(CHUNK_BYTES, self._size - self._offset), self._offset)
            skipped = len(_BOM) if self._offset == 0 and data.startswith(_BOM) else 0
            if skipped:
                data, self._offset = data[skipped:], skipped
            if not data:
                return False
            at_end = self._offset + len(data) >= self._size
            rows = self._parser.split(data, at_end and settled)
            if len(rows):
                self._rows = rows
                return True
            if rows.rest:  # blank lines only
                self._offset, self._line = self._offset + rows.rest, self._line + rows.rest_lines
            elif len(data) + skipped == CHUNK_BYTES or (at_end and settled):
                return self._break_line(data)
            else:
                return False

    def _break_line(self, data: bytes) -> bool:
        """Take a line that cannot be read as a row; a very long one up to where it ends."""
        rows = broken_line(data, why_broken(data))
        end = self._offset + rows.rest
        if b"\n" not in data:
            while more := os.pread(self._handle, CHUNK_BYTES, end):
                found = more.find(b"\n") + 1
                end += found or len(more)
                if found:
                    break
            else:
                if not self._settling.settled():
                    return False
            rows.after[0] = end - self._offset
        self._rows = rows
        return True

    def _read_header(self, settled: bool) -> bool:
        """Read the first line, wherever we are in the file; whether it is complete."""
        data = os.pread(self._handle, CHUNK_BYTES, 0)
        skipped = len(_BOM) if data.startswith(_BOM) else 0
        rows = self._parser.split(data[skipped:], settled)
        if not len(rows):
            if not settled and len(data) < CHUNK_BYTES:
                return False
            rows = broken_line(data[skipped:], "")
        self._parser = self._parser.with_header(rows.bytes_of(0))
        if self._offset == 0:
            self._offset, self._line = skipped + int(rows.after[0]), int(rows.lines_after[0])
        return True


class _Nothing:
    """A file that is gone."""

    ended = True

    def read(self, most: int, serial: int) -> SourceBatch | None:
        return None

    def close(self) -> None:
        pass


_PATTERN = Option("pattern", "which file names are read, with * and ?", default="*")
_COMPLETE = Option("complete", "the column of which each file has all rows up to its greatest value")


class FilesKind(SourceKind):
    """`FROM FILES '<folder>'`."""

    name = "files"
    location = "a folder"
    formats: ClassVar = {
        "csv": (*CSV, _PATTERN, _COMPLETE),
        "json": (*JSON, _PATTERN, _COMPLETE),
        "parquet": (_PATTERN, _COMPLETE),
    }

    def check(self, source: Source, options: Mapping[str, Any]) -> Source:
        if options["complete"] is not None:
            column = source.columns.find(options["complete"], source.name)
            if not (column.type.is_integer or column.type.name == "TIMESTAMP"):
                raise CatalogError(
                    f'option "complete" of source "{source.name}" names column "{column.name}", which is not a time',
                    hint="It must be an integer (seconds) or a TIMESTAMP.",
                )
        return replace(source, location=str(Path(source.location).expanduser().resolve()))

    def warning(self, source: Source) -> str | None:
        return (
            None if Path(source.location).is_dir() else f'there is no folder "{source.location}" yet, a feed needs it'
        )

    def open(self, source: Source, options: Mapping[str, Any], opening: Opening) -> FileSource:
        folder = Path(source.location)
        if not folder.is_dir():
            what = "is not a folder" if folder.exists() else "does not exist"
            raise CatalogError(
                f'folder "{source.location}" of source "{source.name}" {what}', hint="Create it first; it may be empty."
            )
        complete = options["complete"]
        return FileSource(
            source.name,
            folder,
            source.columns,
            source.format,
            LineOptions.of(options),
            opening.journal,
            opening.clock,
            pattern=options["pattern"],
            complete=None if complete is None else source.columns.find(complete, source.name).name,
        )
