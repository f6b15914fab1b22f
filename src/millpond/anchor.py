"""Anchors: how far a log or an archive has come, noted in a file of its own, so that a missing end is noticed.

Idea. A log that ends early looks like a log that was never longer. So whoever appends to one notes afterwards, in another
file, how far it has come. What is found when it is opened must reach at least that far; else files were deleted or cut
off. The note is made after the thing itself is on disk and is not synced: it costs microseconds, and after `kill -9` it
is still there. After a power failure it may be some seconds old; then that much could be lost unseen, and no more. An
anchor that is ahead of its log is never the work of a crash.

Invariants
 1. What a valid slot says was durable before the slot was written.
 2. One slot is valid at any time: they are written in turn.

Without the file nothing is claimed. So deleting it is how a person accepts what is left.

File format: two slots of 256 bytes, each a line: the CRC-32 of the rest, and a JSON object of integers, of which "n" counts
the notes; the rest is blanks.
"""

from __future__ import annotations

import contextlib
import json
import os
import zlib
from collections.abc import Mapping
from pathlib import Path

from millpond.durable import disk_errors, write_file
from millpond.errors import CorruptBlock

_SLOT = 256


class Anchor:
    """Written by the owner of the pond, from one thread at a time; `read` may be called by any process.

    With `keep` the file stays open between notes, for anchors that are written often and are few.
    """

    def __init__(self, path: Path, *, keep: bool = False) -> None:
        self.path = path
        self._keep = keep
        self._handle: int | None = None
        self._n = 0

    def read(self) -> dict[str, int] | None:
        """The last note, or None if there is no anchor."""
        try:
            data = self.path.read_bytes()
        except FileNotFoundError:
            return None
        except IsADirectoryError:
            data = b""
        found = [slot for at in (0, _SLOT) if (slot := _decode(data[at : at + _SLOT])) is not None]
        if not found:
            raise CorruptBlock(
                f'"{self.path.parent.name}/{self.path.name}" is damaged',
                detail="It tells how far the files beside it go. They may be whole.",
                hint="Restore it from a copy, or delete it to go on with the files as they are.",
            )
        newest = max(found, key=lambda slot: slot["n"])
        self._n = max(self._n, newest.pop("n"))
        return newest

    def note(self, *, sync: bool = False, **values: int) -> None:
        """Note how far it is; what is noted is durable already. With `sync` the note survives a power failure."""
        self._n += 1
        line, place = _encode({"n": self._n, **values}), self._n % 2 * _SLOT
        with disk_errors(self.path):
            if self._handle is None and not self.path.exists():
                # As a whole: a kill must not leave a file without a note, and there is room for both slots from the beginning.
                write_file(self.path, line.rjust(place + _SLOT, b"\0").ljust(2 * _SLOT, b"\0"))
                return
            handle = os.open(self.path, os.O_RDWR | os.O_CLOEXEC) if self._handle is None else self._handle
            try:
                os.pwrite(handle, line, place)
                if sync:
                    os.fdatasync(handle)
            finally:
                if self._keep:
                    self._handle = handle
                else:
                    os.close(handle)

    def close(self) -> None:
        if self._handle is not None:
            with contextlib.suppress(OSError):
                os.fdatasync(self._handle)
            os.close(self._handle)
            self._handle = None


def _encode(values: Mapping[str, int]) -> bytes:
    text = json.dumps(values).encode()
    line = b"%08x %s" % (zlib.crc32(text), text)
    assert len(line) < _SLOT, "a note is a few numbers"
    return line.ljust(_SLOT - 1) + b"\n"


def _decode(slot: bytes) -> dict[str, int] | None:
    check, _, text = slot.rstrip().partition(b" ")
    if len(slot) < _SLOT or check != b"%08x" % zlib.crc32(text):
        return None
    values: dict[str, int] = json.loads(text)
    return values
