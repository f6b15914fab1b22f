"""Where results of continuous queries become durable: one log for all of them, one synced frame a tick.

Idea. A tick's results, how far every query is, and which rows of the tables it had seen become durable together, before
anybody is shown a result. After a crash the last frame tells where to go on; what a tick sent and did not commit was
never seen, so it can be computed again. A thousand queries cost one sync.

Invariants
 1. A frame is whole and valid or it is the end of the log. Each carries the whole state after it.
 2. The rows a query sent are numbered 0, 1, 2, ... without gap; number and query identify a result for ever.
 3. A segment is deleted as a whole, the oldest first, when those after it are enough and nothing in it is wanted that is
    not in the archive of its query.

File format (little endian), a segment `<number>.results`: frames, each
    16 head: magic "MPRF", crc of all that follows, length of the state text, length of the bodies
    state as JSON: {"tick", "state", "sections": [[query folder, first number, rows, offset, length], ...]}
    bodies: Arrow IPC streams, one a section.
"""

from __future__ import annotations

import json
import os
import struct
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from millpond.arrow import from_ipc, to_ipc
from millpond.durable import disk_errors, make_folder, sync_folder
from millpond.failpoints import reach

_MAGIC = b"MPRF"
_HEAD = struct.Struct("<4sIII")
SEGMENT_BYTES = 32 << 20
SEGMENTS = 8  # kept: so much of what was sent can be fetched again


@dataclass(frozen=True)
class Sent:
    """Rows a query sent in a tick, numbered from `first`."""

    folder: str
    first: int
    rows: pa.Table


@dataclass(frozen=True)
class ResultFrame:
    tick: int
    state: Mapping[str, Any]
    sent: Sequence[Sent]


class ResultLog:
    """Written by the owner of the pond; `read` may be called by any process."""

    def __init__(self, folder: Path, *, segment_bytes: int = SEGMENT_BYTES, segments: int = SEGMENTS) -> None:
        self.folder = folder
        self._segment_bytes = segment_bytes
        self._segments = segments
        self._handle: int | None = None
        self._end = 0
        self._number = 0
        self._read: dict[str, int] = {}  # how far each segment was read
        self._ends: dict[str, dict[str, int]] = {}  # per segment: the number after the last row of each query in it

    def poll(self) -> Iterator[ResultFrame]:
        """The valid frames that were not read yet, oldest first."""
        for path in self._paths():
            frames, end = _frames(path, self._read.get(path.name, 0))
            for frame in frames:
                self._note(path.name, frame)
                yield frame
            self._read[path.name] = end

    def _note(self, segment: str, frame: ResultFrame) -> None:
        ends = self._ends.setdefault(segment, {})
        for sent in frame.sent:
            ends[sent.folder] = sent.first + sent.rows.num_rows

    def _paths(self) -> list[Path]:
        return sorted(self.folder.glob("*.results")) if self.folder.is_dir() else []

    def resume(self) -> None:
        """Take up writing after the last valid frame; everything was polled before."""
        make_folder(self.folder)
        paths = self._paths()
        if not paths:
            return
        self._number = int(paths[-1].stem)
        end = self._read.get(paths[-1].name, 0)
        with disk_errors(self.folder):
            self._handle = os.open(paths[-1], os.O_WRONLY)
            os.ftruncate(self._handle, end)
            os.lseek(self._handle, end, os.SEEK_SET)
            os.fsync(self._handle)
        self._end = end

    def append(self, frame: ResultFrame) -> None:
        """Make a frame durable."""
        data = _encode(frame)
        with disk_errors(self.folder):
            if self._handle is None or self._end >= self._segment_bytes:
                self._start_segment()
            assert self._handle is not None
            try:
                view = memoryview(data)
                while view:
                    view = view[os.write(self._handle, view) :]
                reach("results.after_write")
                os.fdatasync(self._handle)
                reach("results.after_sync")
            except BaseException:
                os.ftruncate(self._handle, self._end)
                os.lseek(self._handle, self._end, os.SEEK_SET)
                raise
            self._end += len(data)
        name = f"{self._number:012d}.results"
        self._read[name] = self._end
        self._note(name, frame)

    def _start_segment(self) -> None:
        self.close()
        self._number += 1
        path = self.folder / f"{self._number:012d}.results"
        self._handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o644)
        self._end = 0
        sync_folder(self.folder)

    def surplus(self) -> list[tuple[Path, dict[str, int]]]:
        """Segments beyond those that are kept, with the number after the last row of each query in them."""
        if len(self._read) <= self._segments:
            return []
        return [(path, self._ends.get(path.name, {})) for path in self._paths()[: -self._segments]]

    def early(self) -> dict[str, int]:
        """The number after the last row of each query in all but the newest segments: half of those that are kept."""
        found: dict[str, int] = {}
        for name in sorted(self._ends)[: -max(1, self._segments // 2)]:
            found |= self._ends[name]
        return found

    def gone(self) -> list[dict[str, int]]:
        """As a reader: for each segment that was read and that the writer has deleted, the number after the last row of
        each query in it. Told once."""
        there = {path.name for path in self._paths()}
        lost = [name for name in self._read if name not in there]
        for name in lost:
            del self._read[name]
        return [self._ends.pop(name, {}) for name in lost]

    def delete(self, segment: Path) -> None:
        reach("results.before_delete")
        segment.unlink(missing_ok=True)
        reach("results.after_delete")
        self._read.pop(segment.name, None)
        self._ends.pop(segment.name, None)

    def close(self) -> None:
        if self._handle is not None:
            os.close(self._handle)
            self._handle = None


def _encode(frame: ResultFrame) -> bytes:
    bodies = []
    sections = []
    offset = 0
    for sent in frame.sent:
        body = to_ipc(sent.rows)
        sections.append([sent.folder, sent.first, sent.rows.num_rows, offset, len(body)])
        bodies.append(body)
        offset += len(body)
    text = json.dumps({"tick": frame.tick, "state": frame.state, "sections": sections}, separators=(",", ":")).encode()
    rest = text + b"".join(bodies)
    return _HEAD.pack(_MAGIC, zlib.crc32(rest), len(text), offset) + rest


def _frames(path: Path, place: int) -> tuple[list[ResultFrame], int]:
    """The valid frames of a segment from `place` on, and where the last one ends."""
    try:
        if path.stat().st_size == place:
            return [], place
        data = memoryview(path.read_bytes())
    except FileNotFoundError:  # deleted while we looked
        return [], place
    frames = []
    while len(data) - place >= _HEAD.size:
        magic, crc, text_length, body_length = _HEAD.unpack_from(data, place)
        end = place + _HEAD.size + text_length + body_length
        rest = data[place + _HEAD.size : end]
        if magic != _MAGIC or end > len(data) or zlib.crc32(rest) != crc:
            break
        head = json.loads(bytes(rest[:text_length]))
        body = rest[text_length:]
        sent = [
            Sent(folder, first, from_ipc(body[offset : offset + length]))
            for folder, first, _rows, offset, length in head["sections"]
        ]
        frames.append(ResultFrame(head["tick"], head["state"], sent))
        place = end
    return frames, place
