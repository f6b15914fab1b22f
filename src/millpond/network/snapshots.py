"""Snapshots of partitioned windows, so that filling one from history costs what came since, not the whole past.

A partitioned window at a time is a fact about the table's rows up to that time. So a snapshot is good for any query with
that window, at any later time, whether the tick in which it was written was committed or not; the rows since then are
taken from history. It is not good once rows of the table were changed by UPDATE or DELETE: then all of a table's go.

A snapshot is one Arrow file, named by table, window and shard, written beside and renamed; the time it stands at is in
the file's metadata. A file that cannot be read is none. It is written in a thread of its own, from a copy of the window, so
that no tick waits for a disk; how often the table's rows were changed before is in the metadata too, and a snapshot that was
still being written when they were is none either.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import threading
from collections.abc import Collection
from pathlib import Path

import pyarrow as pa

from millpond.durable import write_file
from millpond.network.keyed import KeyedRows

_UPTO = b"millpond.upto"
_SHARDS = b"millpond.shards"
_CHANGES = b"millpond.changes"
_CHANGED = ".changed"

_free = threading.Condition()
_under_way: set[Path] = set()


def _path(folder: Path, table: str, keys: tuple[str, ...], count: int, shard: int) -> Path:
    window = hashlib.sha256(repr((keys, count)).encode()).hexdigest()[:16]
    return folder / f"{table}-{window}-{shard if shard >= 0 else 'whole'}.snapshot"


def write(
    folder: Path, table: str, keys: tuple[str, ...], count: int, shard: int, shards: int, upto: int, rows: KeyedRows
) -> None:
    """Keep the content of a window, which stands at `upto`; `table` is the table's folder. Returns before it is on disk;
    while the one before is still being written, there is no other.

    A snapshot only saves time: where there is no room for it, there is none.
    """
    path = _path(folder, table, keys, count, shard)
    with _free:
        if path in _under_way:
            return
        _under_way.add(path)
    notes = {_UPTO: upto, _SHARDS: shards, _CHANGES: _changes(folder, table)}
    schema = rows.schema.with_metadata({name: str(value).encode() for name, value in notes.items()})
    threading.Thread(target=_write, args=(path, schema, rows.still()), name="millpond-snapshot", daemon=True).start()


def settle() -> None:
    """Wait until every snapshot of this process is on disk."""
    with _free:
        _free.wait_for(lambda: not _under_way, timeout=60.0)


def _write(path: Path, schema: pa.Schema, rows: KeyedRows) -> None:
    temporary = path.with_name(f"{path.name}.{os.getpid()}.tmp")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with pa.OSFile(str(temporary), "wb") as sink, pa.ipc.new_file(sink, schema) as writer:
            for piece in rows.pieces():
                writer.write_table(piece.replace_schema_metadata(schema.metadata))
        with open(temporary, "rb+") as handle:
            os.fsync(handle.fileno())
        temporary.replace(path)
    except OSError:
        with contextlib.suppress(OSError):
            temporary.unlink(missing_ok=True)
    finally:
        with _free:
            _under_way.discard(path)
            _free.notify_all()


def _changes(folder: Path, table: str) -> int:
    """How often rows of a table were changed."""
    path = folder / f"{table}{_CHANGED}"
    return int(path.read_text("ascii")) if path.exists() else 0


def find(
    folder: Path, table: str, keys: tuple[str, ...], count: int, shard: int, shards: int, high: int, schema: pa.Schema
) -> tuple[pa.Table, int] | None:
    """The newest content kept that is not newer than `high`, and the time it stands at."""
    with contextlib.suppress(OSError, pa.ArrowInvalid, KeyError, ValueError, TypeError):
        with pa.memory_map(str(_path(folder, table, keys, count, shard))) as source:
            found = pa.ipc.open_file(source).read_all()
        notes = found.schema.metadata or {}
        upto = int(notes[_UPTO])
        true = int(notes[_SHARDS]) == shards and int(notes[_CHANGES]) == _changes(folder, table)
        if upto <= high and true and found.schema.remove_metadata().equals(schema):
            return found.replace_schema_metadata(None), upto
    return None


def forget(folder: Path, table: str) -> None:
    """A table's rows are changed: what is kept of it is not true any more, nor what is being written."""
    if folder.is_dir():
        write_file(folder / f"{table}{_CHANGED}", str(_changes(folder, table) + 1).encode())
    for path in folder.glob(f"{table}-*.snapshot"):
        path.unlink(missing_ok=True)


def sweep(folder: Path, tables: Collection[str]) -> None:
    """Delete what an earlier run left, and snapshots of tables that are no more."""
    for path in folder.glob("*") if folder.is_dir() else ():
        kept = path.suffix == ".snapshot" and path.name.rsplit("-", 2)[0] in tables
        kept = kept or (path.suffix == _CHANGED and path.stem in tables)
        if not kept:
            path.unlink(missing_ok=True)
