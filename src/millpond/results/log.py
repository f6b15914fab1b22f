"""Where results of continuous queries become durable: one log for all of them, one synced frame a tick.

Idea. A tick's results, how far every query is, and which rows of the tables it had seen become durable together, before
anybody is shown a result. After a crash the last frame tells where to go on; what a tick sent and did not commit was
never seen, so it can be computed again. A thousand queries cost one sync.

Invariants
 1. A frame is whole and valid or it is the end of the log. Each carries the whole state after it.
 2. The rows a query sent are numbered 0, 1, 2, ... without gap; number and query identify a result for ever.
 3. A segment is deleted as a whole, the oldest first, when those after it are enough and nothing in it is wanted that is
    not in the archive of its query.
 4. Frames are chained: each has a serial number and names that of the one before it. An anchor beside the folder notes the
    last serial number, how many rows were sent in all, and the oldest segment that must be there (see `millpond.anchor`).
    So frames that are missing, at the beginning, in the middle or at the end, are noticed. Numbers of results are not
    given twice: none of them exceeds the number of rows sent in all.

File format (little endian), a segment `<number>.results`: frames, each
    16 head: magic "MPRF", crc of all that follows, length of the state text, length of the bodies
    state as JSON: {"serial", "previous", "total", "tick", "state",
                    "sections": [[query folder, first number, rows, offset, length], ...]}
    bodies: Arrow IPC streams, one a section.
"""

from __future__ import annotations

import json
import os
import struct
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pyarrow as pa

from millpond.anchor import Anchor
from millpond.arrow import from_ipc, to_ipc
from millpond.durable import disk_errors, make_folder, sync_folder
from millpond.errors import CorruptBlock
from millpond.failpoints import reach
from millpond.results.news import ring

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
    """`gap`: frames before it should be in the log and are not. `skipped`: frames before it were not needed any more, and
    were deleted before this process had read them."""

    tick: int
    state: Mapping[str, Any]
    sent: Sequence[Sent]
    gap: bool = False
    skipped: bool = False


@dataclass(frozen=True)
class _Found:
    """A frame as it is in a segment, at `place`: `total` rows were sent up to its end."""

    serial: int
    previous: int
    total: int
    frame: ResultFrame
    place: int = 0


class ResultLog:
    """Written by the owner of the pond; `read` may be called by any process."""

    def __init__(self, folder: Path, *, segment_bytes: int = SEGMENT_BYTES, segments: int = SEGMENTS) -> None:
        self.folder = folder
        self._segment_bytes = segment_bytes
        self._segments = segments
        self._handle: int | None = None
        self._end = 0
        self._number = 0
        self._first = 1  # the oldest segment that must be there
        self._read: dict[str, int] = {}  # how far each segment was read
        self._ends: dict[str, dict[str, int]] = {}  # per segment: the number after the last row of each query in it
        self._anchor = Anchor(folder.with_name(f"{folder.name}.anchor"), keep=True)
        self._noted: dict[str, int] | None = None  # what the anchor said when the log was opened
        self._opened = False
        self._serial = 0  # of the last frame
        self._total = 0  # rows sent in all

    def poll(self) -> Iterator[ResultFrame]:
        """The valid frames that were not read yet, oldest first."""
        if not self._opened:
            self._noted = self._read_anchor()
            self._opened = True
        for path in self._paths():
            frames, end = _frames(path, self._read.get(path.name, 0))
            for found in frames:
                self._note(path.name, found.frame)
                apart = found.previous > self._serial
                begins = apart and self._begins(path, found.place)
                self._serial, self._total = found.serial, found.total
                yield replace(found.frame, gap=apart and not begins, skipped=begins)
            self._read[path.name] = end

    def _read_anchor(self) -> dict[str, int] | None:
        try:
            return self._anchor.read()
        except CorruptBlock:
            # Whoever damaged it may have cut the log off, too: then the frames' chain and numbers are all that is known.
            return None

    def _begins(self, path: Path, place: int) -> bool:
        """Whether the log may begin with this frame: all segments before it were no longer needed."""
        noted = self._read_anchor()  # now, for it is noted before a segment is deleted
        return place == 0 and (noted is None or int(path.stem) <= noted["first"])

    def missing_end(self) -> int | None:
        """If frames at the end are missing, a number that no result has reached; after everything was polled."""
        if self._noted is None or self._serial >= self._noted["frame"]:
            return None
        return max(self._total, self._noted["total"])

    def _note(self, segment: str, frame: ResultFrame) -> None:
        ends = self._ends.setdefault(segment, {})
        for sent in frame.sent:
            ends[sent.folder] = sent.first + sent.rows.num_rows

    def _paths(self) -> list[Path]:
        return [path for path in self._places() if path.is_file()]

    def _places(self) -> list[Path]:
        """Everything that has the name of a segment."""
        found = self.folder.glob("*.results") if self.folder.is_dir() else ()
        return sorted(path for path in found if path.stem.isdigit())

    def resume(self) -> None:
        """Take up writing after the last valid frame; everything was polled before."""
        make_folder(self.folder)
        if self._noted is not None:
            self._total = max(self._total, self._noted["total"])
        paths = self._paths()
        taken = [int(path.stem) for path in self._places()]
        self._number = max([*taken, 0 if self._noted is None else self._noted["last"]])
        self._first = int(paths[0].stem) if paths else self._number + 1
        if self._noted is not None and self.missing_end() is None:
            self._first = min(
                self._first, self._noted["first"]
            )  # those that are missing are missed until they were not needed
        if not paths or self.missing_end() is not None or int(paths[-1].stem) < self._number:
            return  # the next frame begins a segment; what is damaged is left as it is
        end = self._read.get(paths[-1].name, 0)
        with disk_errors(self.folder):
            self._handle = os.open(paths[-1], os.O_WRONLY)
            os.ftruncate(self._handle, end)
            os.lseek(self._handle, end, os.SEEK_SET)
            os.fsync(self._handle)
        self._end = end

    def append(self, frame: ResultFrame) -> None:
        """Make a frame durable."""
        serial = max(self._serial, 0 if self._noted is None else self._noted["frame"]) + 1
        total = self._total + sum(sent.rows.num_rows for sent in frame.sent)
        data = _encode(_Found(serial, self._serial, total, frame))
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
        self._serial, self._total = serial, total
        self._note_end()
        name = f"{self._number:012d}.results"
        self._read[name] = self._end
        self._note(name, frame)
        ring(self.folder)

    def _note_end(self, *, sync: bool = False) -> None:
        self._anchor.note(frame=self._serial, total=self._total, first=self._first, last=self._number, sync=sync)

    def _start_segment(self) -> None:
        self._close_segment()
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
        self._first = int(segment.stem) + 1
        self._note_end(sync=True)
        segment.unlink(missing_ok=True)
        reach("results.after_delete")
        self._read.pop(segment.name, None)
        self._ends.pop(segment.name, None)

    def _close_segment(self) -> None:
        if self._handle is not None:
            os.close(self._handle)
            self._handle = None

    def close(self) -> None:
        self._close_segment()
        self._anchor.close()


def _encode(found: _Found) -> bytes:
    frame = found.frame
    bodies = []
    sections = []
    offset = 0
    for sent in frame.sent:
        body = to_ipc(sent.rows)
        sections.append([sent.folder, sent.first, sent.rows.num_rows, offset, len(body)])
        bodies.append(body)
        offset += len(body)
    head = {
        "serial": found.serial,
        "previous": found.previous,
        "total": found.total,
        "tick": frame.tick,
        "state": frame.state,
        "sections": sections,
    }
    text = json.dumps(head, separators=(",", ":")).encode()
    rest = text + b"".join(bodies)
    return _HEAD.pack(_MAGIC, zlib.crc32(rest), len(text), offset) + rest


def _frames(path: Path, place: int) -> tuple[list[_Found], int]:
    """The valid frames of a segment from `place` on, and where the last one ends. Damage between them is passed over: the
    chain tells."""
    try:
        if path.stat().st_size == place:
            return [], place
        whole = path.read_bytes()
    except FileNotFoundError:  # deleted while we looked
        return [], place
    data = memoryview(whole)
    frames: list[_Found] = []
    end = place
    while 0 <= place <= len(data) - _HEAD.size:
        found = _frame_at(data, place)
        if found is None:
            place = whole.find(_MAGIC, place + 1)
            continue
        frames.append(found[0])
        place = end = found[1]
    return frames, end


def _frame_at(data: memoryview, place: int) -> tuple[_Found, int] | None:
    magic, crc, text_length, body_length = _HEAD.unpack_from(data, place)
    end = place + _HEAD.size + text_length + body_length
    rest = data[place + _HEAD.size : end]
    if magic != _MAGIC or end > len(data) or zlib.crc32(rest) != crc:
        return None
    head = json.loads(bytes(rest[:text_length]))
    body = rest[text_length:]
    sent = [
        Sent(folder, first, from_ipc(body[offset : offset + length]))
        for folder, first, _rows, offset, length in head["sections"]
    ]
    frame = ResultFrame(head["tick"], head["state"], sent)
    return _Found(head["serial"], head["previous"], head["total"], frame, place), end
