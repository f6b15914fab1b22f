"""Snapshots of partitioned windows, so that filling one from history costs what came since, not the whole past.

A partitioned window at a time is a fact about the table's rows up to that time. So a snapshot is good for any query with
that window, at any later time, whether the tick in which it was written was committed or not; the rows since then are
taken from history. It is not good once rows of the table were changed by UPDATE or DELETE: then all of a table's go.

A snapshot is one Arrow file, named by table, window and shard, written beside and renamed; the time it stands at is in
the file's metadata. A file that cannot be read is none.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
from collections.abc import Collection
from pathlib import Path

import pyarrow as pa

_UPTO = b"millpond.upto"
_SHARDS = b"millpond.shards"


def _path(folder: Path, table: str, keys: tuple[str, ...], count: int, shard: int) -> Path:
    window = hashlib.sha256(repr((keys, count)).encode()).hexdigest()[:16]
    return folder / f"{table}-{window}-{shard if shard >= 0 else 'whole'}.snapshot"


def write(
    folder: Path, table: str, keys: tuple[str, ...], count: int, shard: int, shards: int, upto: int, rows: pa.Table
) -> None:
    """Keep the content of a window as it was at `upto`; `table` is the table's folder.

    A snapshot only saves time: where there is no room for it, there is none.
    """
    path = _path(folder, table, keys, count, shard)
    temporary = path.with_name(f"{path.name}.{os.getpid()}.tmp")
    schema = rows.schema.with_metadata({_UPTO: str(upto).encode(), _SHARDS: str(shards).encode()})
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with pa.OSFile(str(temporary), "wb") as sink, pa.ipc.new_file(sink, schema) as writer:
            writer.write_table(rows.replace_schema_metadata(schema.metadata))
        with open(temporary, "rb+") as handle:
            os.fsync(handle.fileno())
        temporary.replace(path)
    except OSError:
        with contextlib.suppress(OSError):
            temporary.unlink(missing_ok=True)


def find(
    folder: Path, table: str, keys: tuple[str, ...], count: int, shard: int, shards: int, high: int, schema: pa.Schema
) -> tuple[pa.Table, int] | None:
    """The newest content kept that is not newer than `high`, and the time it stands at."""
    with contextlib.suppress(OSError, pa.ArrowInvalid, KeyError, ValueError, TypeError):
        with pa.memory_map(str(_path(folder, table, keys, count, shard))) as source:
            found = pa.ipc.open_file(source).read_all()
        notes = found.schema.metadata or {}
        upto = int(notes[_UPTO])
        if upto <= high and int(notes[_SHARDS]) == shards and found.schema.remove_metadata().equals(schema):
            return found.replace_schema_metadata(None), upto
    return None


def forget(folder: Path, table: str) -> None:
    """A table's rows were changed: what is kept of it is not true any more."""
    for path in folder.glob(f"{table}-*.snapshot"):
        path.unlink(missing_ok=True)


def sweep(folder: Path, tables: Collection[str]) -> None:
    """Delete what an earlier run left, and snapshots of tables that are no more."""
    for path in folder.glob("*") if folder.is_dir() else ():
        kept = path.suffix == ".snapshot" and path.name.rsplit("-", 2)[0] in tables
        if not kept:
            path.unlink(missing_ok=True)
