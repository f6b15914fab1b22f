"""Checkpoints of partitioned windows and of synopses, so that filling one from history costs what came since, not the past.

What such a window holds at a time is a fact about the table's rows up to that time. So a checkpoint is good for any query with
that window, at any later time, whether the tick in which it was written was committed or not; the rows since then are
taken from history. It is not good once rows of the table were changed by UPDATE or DELETE: then all of a table's go.

A window may hold millions of keys, and no tick is to wait for them. So a checkpoint is written over many ticks, some keys at
each, and its keys stand at different times: each at the tick in which it was written, none before the time `since` at which
the checkpoint was begun. Whoever fills a window from it takes the rows later than `since` from history, and of each key
only those later than what the checkpoint has of it: up to there the checkpoint has them all. Keys that came meanwhile are not in
it; all their rows are later than `since`.

(Where windows have groups, read groups for keys.)

A checkpoint is one Arrow file with a checksum behind it, named by table, window and shard, written beside and renamed. `since` is
in the file's metadata. A file that is not as it was written is none. How often the table's rows were changed before is in
the metadata too: a checkpoint that was being written when they were is none either. When the next ones are begun, those of
windows that are no more go.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import queue
import struct
import threading
import zlib
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import pyarrow as pa

from millpond.durable import write_file
from millpond.event_time import event_times
from millpond.windows.base import Window

_SINCE = b"millpond.since"
_SHARDS = b"millpond.shards"
_CHANGES = b"millpond.changes"
_CHANGED = ".changed"
_CHECK = struct.Struct("<I")
_CHUNK = 1 << 20

_SPREAD = 64  # ticks over which a checkpoint is written
_LEAST = 1 << 14  # keys that are written at once in any case
_AHEAD = 4  # parts that may wait for the disk
_DONE, _DROP = "done", "drop"

_free = threading.Condition()
_ending: set[Path] = set()


class Keepable(Protocol):
    """What a window holds, by keys that are numbered from 0."""

    @property
    def schema(self) -> pa.Schema:
        """Of its parts."""

    @property
    def size(self) -> int:
        """How many keys there are."""

    def part(self, begin: int, end: int) -> pa.Table:
        """What is held of the keys numbered from `begin` up to `end`."""


@dataclass(frozen=True)
class CheckpointWindow:
    """The folder of its table, its fingerprint (windows with the same one hold the same), and what it holds at `upto`."""

    table: str
    fingerprint: str
    shards: int
    upto: int
    rows: Keepable


class Scribe:
    """Writes the windows of one evaluator down, some keys of each at every tick.

    A checkpoint only saves time: where there is no room for it, there is none.
    """

    def __init__(self, folder: Path, shard: int) -> None:
        self._folder, self._shard = folder, shard
        self._sheets: dict[Path, _Sheet] = {}

    def go_on(self, windows: Iterable[CheckpointWindow], tables: Collection[str], *, begin: bool) -> None:
        """Write the next keys of the checkpoints under way; where there is none, begin one if that is asked for. `windows` are
        all there are of `tables` (their folders) in this shard."""
        paths = set()
        for window in windows:
            path = _path(self._folder, window.table, window.fingerprint, self._shard)
            paths.add(path)
            sheet = self._sheets.get(path)
            if sheet is not None and sheet.rows is not window.rows:  # the window was filled anew
                self._sheets.pop(path).drop()
                sheet = None
            if sheet is None and begin:
                sheet = self._sheets[path] = _Sheet(path, window, _changes(self._folder, window.table))
            if sheet is not None and sheet.go_on():
                del self._sheets[path]
        for path in self._folder.glob(f"*-{_place(self._shard)}.snapshot") if begin else ():
            if path not in paths and _table_of(path) in tables:
                path.unlink(missing_ok=True)

    def close(self) -> None:
        """Leave what is not done."""
        for sheet in self._sheets.values():
            sheet.drop()
        self._sheets.clear()


class _Sheet:
    """A checkpoint under way. A thread of its own has the file."""

    def __init__(self, path: Path, window: CheckpointWindow, changes: int) -> None:
        self.rows = window.rows
        notes = {_SINCE: window.upto, _SHARDS: window.shards, _CHANGES: changes}
        self._schema = window.rows.schema.with_metadata({name: str(value).encode() for name, value in notes.items()})
        self._path = path
        self._temporary = path.with_name(f"{path.name}.{os.getpid()}-{id(self)}.tmp")
        self._at, self._end = 0, window.rows.size
        self._share = max(_LEAST, -(-self._end // _SPREAD))
        self._parts: queue.SimpleQueue[pa.Table | str] = queue.SimpleQueue()
        threading.Thread(target=self._write, name="millpond-checkpoint", daemon=True).start()

    def go_on(self) -> bool:
        """Hand the next keys over. True when that is all: at the tick after the last ones, for then they are durable."""
        if self._at < self._end:
            if self._parts.qsize() < _AHEAD:
                end = min(self._at + self._share, self._end)
                self._parts.put(self.rows.part(self._at, end))
                self._at = end
            return False
        self._finish(_DONE)
        return True

    def drop(self) -> None:
        self._finish(_DROP)

    def _finish(self, how: str) -> None:
        with _free:
            _ending.add(self._temporary)
        self._parts.put(how)

    def _write(self) -> None:
        how = _DROP
        try:
            how = self._write_parts()
            if how == _DONE:
                self._temporary.replace(self._path)
        except (OSError, pa.ArrowException):
            how = _DROP
            while not isinstance(self._parts.get(), str):
                pass
        finally:
            if how == _DROP:
                with contextlib.suppress(OSError):
                    self._temporary.unlink(missing_ok=True)
            with _free:
                _ending.discard(self._temporary)
                _free.notify_all()

    def _write_parts(self) -> str:
        """Write what is handed over, each part through to the disk, so that there is never much to wait for."""
        self._temporary.parent.mkdir(parents=True, exist_ok=True)
        with pa.OSFile(str(self._temporary), "wb") as sink, pa.ipc.new_file(sink, self._schema) as writer:
            handle = os.open(self._temporary, os.O_RDONLY)
            try:
                while not isinstance(part := self._parts.get(), str):
                    writer.write_table(part.replace_schema_metadata(self._schema.metadata))
                    os.fsync(handle)
            finally:
                os.close(handle)
        with open(self._temporary, "rb+") as whole:
            check = 0
            while chunk := whole.read(_CHUNK):
                check = zlib.crc32(chunk, check)
            whole.write(_CHECK.pack(check))
            os.fsync(whole.fileno())
        return part


def _forget_ending() -> None:
    """In a forked child: the threads that write are the parent's."""
    global _free
    _free = threading.Condition()
    _ending.clear()


os.register_at_fork(after_in_child=_forget_ending)


def settle() -> None:
    """Wait until the checkpoints of this process that were ended are on disk."""
    with _free:
        _free.wait_for(lambda: not _ending, timeout=60.0)


def of_keys(window: Window) -> str:
    """The fingerprint of a partitioned window."""
    kept = (window.columns, window.rows)
    return repr(kept if window.interval is None else (*kept, window.interval))


def _path(folder: Path, table: str, fingerprint: str, shard: int) -> Path:
    window = hashlib.sha256(fingerprint.encode()).hexdigest()[:16]
    return folder / f"{table}-{window}-{_place(shard)}.snapshot"


def _place(shard: int) -> str:
    return str(shard) if shard >= 0 else "whole"


def _table_of(path: Path) -> str:
    return path.name.rsplit("-", 2)[0]


def _changes(folder: Path, table: str) -> int:
    """How often rows of a table were changed."""
    path = folder / f"{table}{_CHANGED}"
    try:
        return int(path.read_text("ascii"))
    except (FileNotFoundError, NotADirectoryError):
        return 0
    except ValueError:
        return -1  # nobody knows: no checkpoint from before is good


def find(
    folder: Path,
    table: str,
    fingerprint: str,
    shard: int,
    shards: int,
    high: int,
    schema: pa.Schema,
    time_column: str,
) -> tuple[pa.Table, int] | None:
    """What was kept of a window, if nothing of it is later than `high`, and the time since which rows are to be added."""
    with contextlib.suppress(OSError, pa.ArrowException, struct.error, KeyError, ValueError, TypeError):
        with pa.memory_map(str(_path(folder, table, fingerprint, shard))) as source:
            data = source.read_buffer()
        size = data.size - _CHECK.size
        if size < 0 or _CHECK.unpack(data[size:])[0] != zlib.crc32(data[:size]):
            return None
        found = pa.ipc.open_file(data[:size]).read_all()
        notes = found.schema.metadata or {}
        since = int(notes[_SINCE])
        true = int(notes[_SHARDS]) == shards and int(notes[_CHANGES]) == _changes(folder, table)
        newest = int(event_times(found, time_column).max(initial=since))
        if newest <= high and true and found.schema.remove_metadata().equals(schema):
            return found.replace_schema_metadata(None), since
    return None


def forget(folder: Path, table: str) -> None:
    """A table's rows are changed: what is kept of it is not true any more, nor what is being written."""
    if folder.is_dir():
        write_file(folder / f"{table}{_CHANGED}", str(_changes(folder, table) + 1).encode())
    for path in folder.glob(f"{table}-*.snapshot"):
        path.unlink(missing_ok=True)


def sweep(folder: Path, tables: Collection[str]) -> None:
    """Delete what an earlier run left, and checkpoints of tables that are no more."""
    for path in folder.glob("*") if folder.is_dir() else ():
        kept = path.suffix == ".snapshot" and _table_of(path) in tables
        kept = kept or (path.suffix == _CHANGED and path.stem in tables)
        if not kept:
            path.unlink(missing_ok=True)
