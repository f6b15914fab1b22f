"""The intake log: where a row becomes durable, and the only order of arrival there is.

Idea. Accepted rows are appended to a file and synced before `append` returns; everything else (tail, archive, indices)
is derived from it. The rows of one append are one *frame*, taken whole or not at all. Inside a frame the rows lie
sorted into *sections* by shard, so a shard's worker reads its own bytes and no others: the exchange by shard key has
happened once, at the door, instead of in every reader.

Invariants
 1. Row numbers (`_seq`) of a table are 0, 1, 2, ... in order of acceptance, without gap; a frame holds one run of them.
 2. A frame is valid if its head and every section match their checksums. Frames are valid up to the end of the log;
    what follows the last valid frame was never acknowledged.
 3. Each frame carries the whole state of the intake after it (highest time, heartbeat, source positions, counts), so
    the last frame alone tells where the intake stood.
 4. A segment is deleted only when all its rows and rejected rows are in the archive.
 5. How far the log goes is noted in an anchor beside its folder (see `millpond.anchor`), so that an end that was cut off is
    not taken for one that was never written.

File format (little endian), a segment `<first row>.log`:
    8  magic "MPLOG003"     4  length n     4  crc of the schema     n  Arrow schema of the row sections, padded to a
       multiple of 64
    then frames, each padded to a multiple of 64:
    64 head: magic "MPFR", crc of all that follows up to the first section, frame length, first row, rows,
       rejected rows before this frame, rejected rows, sections, least and greatest time, length of the state text
    32 per section: kind, shard, rows, offset in the frame, length, crc
    state as JSON, padded; then the sections, each an Arrow record batch message, padded.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import struct
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa

from millpond.arrow import arrow_schema
from millpond.catalog import REJECTED_COLUMNS
from millpond.durable import disk_errors, make_folder, sync_file, sync_folder
from millpond.errors import CorruptBlock, PondError
from millpond.failpoints import reach
from millpond.schema import SEQ

_SEGMENT_MAGIC = b"MPLOG003"
_SEGMENT_HEAD = struct.Struct("<8sII")
_FRAME_MAGIC = b"MPFR"
_HEAD = struct.Struct("<4sIQQIQIHxxqqI")  # 62 bytes, padded to 64
_SECTION = struct.Struct("<BxHIQQII")  # 32 bytes
_HEAD_BYTES = 64
_ALIGN = 64
SEGMENT_BYTES = 64 << 20

ROWS, REJECTED = 0, 1

REJECTED_SCHEMA = arrow_schema(REJECTED_COLUMNS).append(pa.field(SEQ, pa.int64()))


@dataclass(frozen=True)
class IntakeState:
    """Where the intake of a table stands after a frame.

    `highest` is the greatest time accepted, `heartbeat` the greatest time promised by `advance`; both in the table's unit.
    `positions` maps each source to the place after the last row taken from it; `at` is the wall clock in microseconds;
    `frames` counts the frames that were ever written.
    """

    highest: int | None = None
    heartbeat: int | None = None
    positions: dict[str, Any] = field(default_factory=dict)
    late: int = 0
    malformed: int = 0
    ahead: int = 0
    at: int = 0
    frames: int = 0

    def to_json(self) -> dict[str, Any]:
        return {
            "highest": self.highest,
            "heartbeat": self.heartbeat,
            "positions": self.positions,
            "late": self.late,
            "malformed": self.malformed,
            "ahead": self.ahead,
            "at": self.at,
            "frames": self.frames,
        }

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> IntakeState:
        return cls(**data)

    @property
    def rejected(self) -> int:
        return self.late + self.ahead + self.malformed


@dataclass(frozen=True)
class Section:
    kind: int
    shard: int
    rows: int
    offset: int  # in the file
    length: int
    crc: int


@dataclass(frozen=True)
class Frame:
    """One append as found in a segment; the rows themselves are read section by section."""

    path: Path
    offset: int
    length: int
    first: int
    rows: int
    first_rejected: int
    rejected: int
    least: int
    greatest: int
    state: IntakeState
    sections: tuple[Section, ...]

    @property
    def end(self) -> int:
        return self.first + self.rows

    @property
    def end_rejected(self) -> int:
        return self.first_rejected + self.rejected


@dataclass(frozen=True)
class NewFrame:
    """What an append hands over: per shard a batch whose last column is `_seq`, and the rejected rows, if any."""

    first: int
    rows: int
    first_rejected: int
    least: int
    greatest: int
    state: IntakeState
    shards: Sequence[tuple[int, pa.RecordBatch]]
    rejected: pa.RecordBatch | None = None


def _pad(length: int) -> int:
    return -length % _ALIGN


def encode(frame: NewFrame) -> list[bytes | memoryview]:
    """The bytes of a frame, as pieces to be written one after another."""
    parts: list[tuple[int, int, pa.RecordBatch]] = [(ROWS, shard, batch) for shard, batch in frame.shards]
    if frame.rejected is not None and frame.rejected.num_rows:
        parts.append((REJECTED, 0, frame.rejected))
    state = json.dumps(frame.state.to_json(), separators=(",", ":")).encode()
    table_bytes = _SECTION.size * len(parts)
    offset = _HEAD_BYTES + table_bytes + len(state)
    offset += _pad(offset)
    entries = []
    bodies: list[bytes | memoryview] = []
    for kind, shard, batch in parts:
        body = memoryview(batch.serialize())
        entries.append(_SECTION.pack(kind, shard, batch.num_rows, offset, len(body), zlib.crc32(body), 0))
        bodies.append(body)
        padding = _pad(len(body))
        if padding:
            bodies.append(bytes(padding))
        offset += len(body) + padding
    rejected = frame.rejected.num_rows if frame.rejected is not None else 0

    def head(crc: int) -> bytes:
        packed = _HEAD.pack(_FRAME_MAGIC, crc, offset, frame.first, frame.rows, frame.first_rejected, rejected,
                            len(parts), frame.least, frame.greatest, len(state))  # fmt: skip
        return packed + bytes(_HEAD_BYTES - len(packed))

    preamble = b"".join(entries) + state
    preamble += bytes(_pad(_HEAD_BYTES + len(preamble)))
    crc = zlib.crc32(head(0)[8:] + preamble)
    return [head(crc) + preamble, *bodies]


def _located(frame: NewFrame, path: Path, offset: int, pieces: Sequence[bytes | memoryview]) -> Frame:
    """A frame just written, as a reader would find it."""
    rejected = frame.rejected.num_rows if frame.rejected is not None else 0
    preamble = bytes(pieces[0])
    count = _HEAD.unpack(preamble[: _HEAD.size])[7]
    sections = _sections(preamble[_HEAD_BYTES:], count, offset)
    return Frame(path, offset, sum(len(p) for p in pieces), frame.first, frame.rows, frame.first_rejected, rejected,
                 frame.least, frame.greatest, frame.state, sections)  # fmt: skip


def _sections(table: bytes, count: int, offset: int) -> tuple[Section, ...]:
    found = []
    for i in range(count):
        kind, shard, rows, start, length, crc, _ = _SECTION.unpack_from(table, i * _SECTION.size)
        found.append(Section(kind, shard, rows, offset + start, length, crc))
    return tuple(found)


def _segment_head(schema: pa.Schema) -> bytes:
    text: bytes = schema.serialize().to_pybytes()
    head = _SEGMENT_HEAD.pack(_SEGMENT_MAGIC, len(text), zlib.crc32(text)) + text
    return head + bytes(_pad(len(head)))


class LogWriter:
    """Appends frames. One per table, in the process that holds the pond's writer lock; not thread safe."""

    def __init__(self, folder: Path, schema: pa.Schema, *, segment_bytes: int = SEGMENT_BYTES) -> None:
        self.folder = folder
        self._schema = schema
        self._segment_bytes = segment_bytes
        self._handle: int | None = None
        self._path: Path | None = None
        self._end = 0
        self._broken: str | None = None
        make_folder(folder)

    def resume(self, segment: Path, end: int) -> None:
        """Go on in an existing segment after its last valid frame; bytes beyond `end` are put aside, not destroyed.

        With `end` 0 not even its head is whole: the segment is put aside as it is, and the next append starts another.
        """
        with disk_errors(self.folder):
            if end == 0:
                segment.rename(segment.with_suffix(".torn-0"))
                sync_folder(self.folder)
                return
            if segment.stat().st_size > end:
                torn = segment.with_suffix(f".torn-{end}")
                torn.write_bytes(segment.read_bytes()[end:])
                sync_file(torn)
            handle = os.open(segment, os.O_WRONLY)
            try:
                os.ftruncate(handle, end)
                os.lseek(handle, end, os.SEEK_SET)
                os.fsync(handle)
            except BaseException:
                os.close(handle)
                raise
        self._handle, self._path, self._end = handle, segment, end

    def change_schema(self, schema: pa.Schema) -> None:
        """Later frames have this schema; they go to a new segment."""
        self._schema = schema
        self._close_segment()

    def append(self, frame: NewFrame) -> Frame:
        """Write and sync one frame. On any error the log is as before, or refuses further appends until reopened."""
        if self._broken:
            raise PondError(f"the intake log is closed after a failed write: {self._broken}", hint="Reopen the pond.")
        pieces = encode(frame)
        with disk_errors(self.folder, undone="the rows of this call were not accepted"):
            if self._handle is None or self._end >= self._segment_bytes:
                self._start_segment(frame)
            assert self._handle is not None
            assert self._path is not None
            start = self._end
            try:
                for group in range(0, len(pieces), 64):  # writev takes at most 1024 pieces
                    start += _write_all(self._handle, pieces[group : group + 64])
                reach("log.after_write")
                os.fdatasync(self._handle)
                reach("log.after_sync")
            except BaseException as error:
                self._undo(error)
                raise
            written = _located(frame, self._path, self._end, pieces)
            self._end = start
            return written

    def _undo(self, error: BaseException) -> None:
        assert self._handle is not None
        try:
            os.ftruncate(self._handle, self._end)
            os.lseek(self._handle, self._end, os.SEEK_SET)
            os.fdatasync(self._handle)
        except OSError as second:
            self._broken = f"{error}; then {second}"

    def _start_segment(self, frame: NewFrame) -> None:
        self._close_segment()
        # Rows and rejected rows before it, and a number to tell apart segments that start at the same place.
        number = 0
        while (path := self.folder / f"{frame.first:020d}-{frame.first_rejected:012d}-{number:06d}.log").exists():
            number += 1
        head = _segment_head(self._schema)
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o644)
        try:
            reach("log.new_segment")
            _write_all(handle, [head])
            os.fdatasync(handle)
            sync_folder(self.folder)
        except BaseException:
            os.close(handle)
            with contextlib.suppress(OSError):
                path.unlink()
            raise
        self._handle, self._path, self._end = handle, path, len(head)

    def delete_before(self, rows: int, rejected: int) -> None:
        """Delete segments that hold nothing from row `rows` or rejected row `rejected` on.

        The last frame is always kept, whatever is archived: it tells where the intake stands.
        """
        segments = list_segments(self.folder)
        if segments and not _has_frames(segments[-1]):
            segments.pop()
        for segment, following in itertools.pairwise(segments):
            first, first_rejected = _firsts(following)
            if first > rows or first_rejected > rejected:
                break
            reach("log.before_delete")
            with contextlib.suppress(FileNotFoundError):
                segment.unlink()
            reach("log.after_delete")

    def _close_segment(self) -> None:
        if self._handle is not None:
            os.close(self._handle)
        self._handle = self._path = None

    def close(self) -> None:
        self._close_segment()


def _write_all(handle: int, pieces: Sequence[bytes | memoryview]) -> int:
    total = sum(len(p) for p in pieces)
    written = os.writev(handle, pieces)
    if written < total:  # a nearly full disk, or a signal: go on with the rest
        rest = memoryview(b"".join(bytes(p) for p in pieces))[written:]
        while rest:
            rest = rest[os.write(handle, rest) :]
    return total


def list_segments(folder: Path) -> list[Path]:
    """Segments in order of their rows."""
    return sorted(folder.glob("*.log"))


def _has_frames(segment: Path) -> bool:
    with segment.open("rb") as file:
        head = file.read(_SEGMENT_HEAD.size)
    length = _SEGMENT_HEAD.size
    if len(head) == length:
        length += _SEGMENT_HEAD.unpack(head)[1]
    return segment.stat().st_size > length + _pad(length)


def _firsts(segment: Path) -> tuple[int, int]:
    parts = segment.stem.split("-")
    return int(parts[0]), int(parts[1])


class LogReader:
    """Reads a table's log, from any process, while it is written.

    `poll` yields the frames that appeared since the last call and remembers where it stopped; a frame still being
    written is left for next time. Damage that is not at the end of the log raises `CorruptBlock`.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._segment: Path | None = None
        self._offset = 0
        self._schemas: dict[Path, pa.Schema] = {}

    @property
    def place(self) -> tuple[Path, int] | None:
        """The segment and offset after the last valid frame seen."""
        return None if self._segment is None else (self._segment, self._offset)

    def schema_of(self, segment: Path) -> pa.Schema | None:
        return self._schemas.get(segment)

    def poll(self) -> Iterator[Frame]:
        segments = [s for s in list_segments(self.folder) if self._segment is None or s >= self._segment]
        for index, segment in enumerate(segments):
            last = index == len(segments) - 1
            if segment != self._segment:
                self._segment, self._offset = segment, 0
            try:
                file = segment.open("rb")
            except FileNotFoundError:  # archived and deleted since we listed; its rows are in the archive
                continue
            with file:
                size = os.fstat(file.fileno()).st_size
                if self._offset == 0:
                    start = self._read_head(file.fileno(), segment, size, last)
                    if start is None:
                        return
                    self._offset = start
                while self._offset < size:
                    frame = read_frame(file.fileno(), segment, self._offset, size, verify=last)
                    if frame is None:
                        if last:
                            self._refuse_damage(file.fileno(), segment, size)
                            return
                        raise corrupt(segment, self._offset)
                    self._offset += frame.length
                    yield frame

    def _read_head(self, handle: int, segment: Path, size: int, last: bool) -> int | None:
        head = os.pread(handle, _SEGMENT_HEAD.size, 0)
        whole = len(head) == _SEGMENT_HEAD.size
        magic, length, crc = _SEGMENT_HEAD.unpack(head) if whole else (b"", 0, 0)
        total: int = _SEGMENT_HEAD.size + length
        total += _pad(total)
        if not whole or total > size:
            if last:
                return None
            raise corrupt(segment, 0)
        text = os.pread(handle, length, _SEGMENT_HEAD.size)
        if magic != _SEGMENT_MAGIC or zlib.crc32(text) != crc:
            raise corrupt(segment, 0)
        self._schemas[segment] = pa.ipc.read_schema(pa.py_buffer(text))
        return total

    def _refuse_damage(self, handle: int, segment: Path, size: int) -> None:
        """A torn end is normal after a crash; valid frames beyond the bad place mean damage."""
        offset = self._offset + _ALIGN
        while offset + _HEAD_BYTES <= size:
            if os.pread(handle, 4, offset) == _FRAME_MAGIC and read_frame(handle, segment, offset, size, verify=True):
                raise corrupt(segment, self._offset)
            offset += _ALIGN

    def read(self, path: Path, section: Section) -> pa.RecordBatch:
        """The rows of one section. Reads only its bytes."""
        with path.open("rb") as file:
            if section.kind == ROWS and path not in self._schemas:
                self._read_head(file.fileno(), path, os.fstat(file.fileno()).st_size, False)
            data = os.pread(file.fileno(), section.length, section.offset)
        if zlib.crc32(data) != section.crc:
            raise corrupt(path, section.offset)
        schema = REJECTED_SCHEMA if section.kind == REJECTED else self._schemas[path]
        return pa.ipc.read_record_batch(pa.py_buffer(data), schema)


def corrupt(path: Path, offset: int) -> CorruptBlock:
    return CorruptBlock(
        f'block at byte {offset} of "{path.parent.parent.name}/{path.parent.name}/{path.name}" is damaged',
        detail="Its checksum does not match its contents; the rows before it are intact.",
        hint='Restore the file from a copy, or move it and "log.anchor" away to go on without its rows.',
    )


def read_frame(handle: int, path: Path, offset: int, size: int, *, verify: bool) -> Frame | None:
    """The frame at `offset`, or None if there is no whole valid one. `verify` also checks the sections' contents."""
    head = os.pread(handle, _HEAD_BYTES, offset)
    if len(head) < _HEAD_BYTES:
        return None
    magic, crc, length, first, rows, first_rejected, rejected, count, least, greatest, state_len = _HEAD.unpack(
        head[: _HEAD.size]
    )
    if magic != _FRAME_MAGIC or offset + length > size:
        return None
    preamble_len = _SECTION.size * count + state_len
    preamble_len += _pad(_HEAD_BYTES + preamble_len)
    if _HEAD_BYTES + preamble_len > length:
        return None
    preamble = os.pread(handle, preamble_len, offset + _HEAD_BYTES)
    if zlib.crc32(head[8:] + preamble) != crc:
        return None
    sections = _sections(preamble, count, offset)
    if verify and any(zlib.crc32(os.pread(handle, s.length, s.offset)) != s.crc for s in sections):
        return None
    state = json.loads(preamble[_SECTION.size * count : _SECTION.size * count + state_len])
    return Frame(path, offset, length, first, rows, first_rejected, rejected, least, greatest,
                 IntakeState.from_json(state), sections)  # fmt: skip
