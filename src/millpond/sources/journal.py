"""The journal of a folder: the order in which its files are read, written down before the first of them is begun.

Idea. Files arrive in any order of names. Once a file has a serial number, "file 7, byte 1200" says for good what has
been read, however many files there are and whatever arrives later.

Invariants
 1. A serial number (1, 2, 3, ...) means the same name forever once `add` has returned.
 2. What follows the first incomplete or unreadable line was never acknowledged, so no position refers to it; it is
    ignored when the journal is opened and overwritten by the next `add`.
 3. A line whose checksum does not match is unreadable: a damaged name is never taken for another file. If a position
    refers to such a line, the source says so (`seek`).

Format: one JSON text a line, `[serial, name, checksum]`, where the checksum is the CRC-32 of `[serial, name]`.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import zlib
from collections.abc import Sequence
from pathlib import Path

from millpond.durable import disk_errors, make_folder, sync_folder
from millpond.errors import CorruptBlock, SecondWriter
from millpond.process import ProcessBound

FILE = "files.journal"


class Journal(ProcessBound):
    """Used by one source; a second opener of the same journal is refused."""

    def __init__(self, folder: Path) -> None:
        make_folder(folder)
        self._path = folder / FILE
        new = not self._path.exists()
        try:
            self._handle = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        except IsADirectoryError as error:
            raise CorruptBlock(
                f'journal "{self._path}" is a folder, not a file', hint="Restore the journal from a copy."
            ) from error
        try:
            fcntl.flock(self._handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            os.close(self._handle)
            raise SecondWriter(
                f'journal "{self._path}" is in use', hint="Two feeds need a journal folder each."
            ) from error
        if new:
            sync_folder(folder)
        self._names, self._bytes = _read(self._path.read_bytes())
        self._known = set(self._names)
        self._closed = False

    def __len__(self) -> int:
        return len(self._names)

    def __contains__(self, name: str) -> bool:
        return name in self._known

    def name(self, serial: int) -> str:
        return self._names[serial - 1]

    def add(self, names: Sequence[str]) -> None:
        """Give the next serial numbers to `names`; durable when it returns. Nothing has changed when it raises."""
        first = len(self._names) + 1
        data = b"".join(_line(first + i, name) for i, name in enumerate(names))
        with disk_errors(self._path):
            try:
                os.ftruncate(self._handle, self._bytes)
                view, at = memoryview(data), self._bytes
                while view:
                    written = os.pwrite(self._handle, view, at)
                    view, at = view[written:], at + written
                os.fsync(self._handle)
            except OSError:
                with contextlib.suppress(OSError):
                    os.ftruncate(self._handle, self._bytes)
                raise
        self._bytes += len(data)
        self._names += names
        self._known.update(names)

    def close(self) -> None:
        if not self._closed:
            self._closed = True
            fcntl.flock(self._handle, fcntl.LOCK_UN)  # a process that inherited the file must not keep it locked
            os.close(self._handle)

    def _leave_to_parent(self) -> None:
        if not self._closed:
            self._closed = True
            with contextlib.suppress(OSError):  # the parent was just closing it
                os.close(self._handle)


def _line(serial: int, name: str) -> bytes:
    check = zlib.crc32(json.dumps([serial, name]).encode())
    return json.dumps([serial, name, check]).encode() + b"\n"


def _read(data: bytes) -> tuple[list[str], int]:
    """The names, and how many bytes of `data` hold them."""
    names: list[str] = []
    size = 0
    for line in data.splitlines(keepends=True):
        try:
            serial, name, _ = json.loads(line)
        except (ValueError, TypeError):
            break
        if serial != len(names) + 1 or not isinstance(name, str) or line != _line(serial, name):
            break
        names.append(name)
        size += len(line)
    return names, size
