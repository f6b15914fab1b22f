"""What a query's result was at its last instant, for queries whose result cannot be worked out again.

ISTREAM and DSTREAM send differences. After a restart the result at the last instant is needed once more; it follows from the
streams' rows, which are kept, but not from a standard table, which may have changed since. So of a query that reads one, that
result is written down in each tick, before the tick becomes durable. The name says which instant it is of: a tick that was
not committed leaves a file that nobody looks for.

A file is an Arrow stream and its CRC-32, four bytes. One that is not as it was written stops the query: differences to a wrong
result would be wrong. If there is none, the result is worked out again with the standard table as it is.
"""

from __future__ import annotations

import contextlib
import struct
import zlib
from collections.abc import Collection, Iterable
from pathlib import Path

import pyarrow as pa

from millpond.arrow import from_ipc, to_ipc
from millpond.catalog import ContinuousQuery
from millpond.durable import write_file
from millpond.errors import CorruptBlock

_CHECK = struct.Struct("<I")


def _path(pond: Path, query: ContinuousQuery, last: int) -> Path:
    return pond / "before" / f"{query.folder}@{query.revision}@{last}.arrow"


def write(pond: Path, query: ContinuousQuery, last: int, rows: pa.Table) -> None:
    path = _path(pond, query, last)
    path.parent.mkdir(exist_ok=True)
    data = to_ipc(rows)
    write_file(path, data + _CHECK.pack(zlib.crc32(data)))


def find(pond: Path, query: ContinuousQuery, last: int, schema: pa.Schema) -> pa.Table | None:
    """The result at `last`, if it was written down."""
    path = _path(pond, query, last)
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise _damaged(path, query, str(error)) from error
    rows, check = data[: -_CHECK.size], data[-_CHECK.size :]
    if check != _CHECK.pack(zlib.crc32(rows)):
        raise _damaged(path, query, "Its checksum does not match its contents.")
    found = from_ipc(rows)
    return found.cast(schema) if found.schema.names == schema.names else None


def _damaged(path: Path, query: ContinuousQuery, why: str) -> CorruptBlock:
    return CorruptBlock(
        f'the last result of query "{query.name}" cannot be read',
        detail=f"{path}: {why}",
        hint="Restore the file from a copy, or let the query begin anew: RESUME it.",
    )


def forget(pond: Path, query: ContinuousQuery, but: int) -> None:
    """The result at `but` is the only one that is still needed."""
    for path in (pond / "before").glob(f"{query.folder}@*.arrow"):
        if path != _path(pond, query, but):
            _delete(path)


def sweep(pond: Path, queries: Collection[str]) -> None:
    """Delete what is of queries that are no more; `queries` are their folders."""
    for path in (pond / "before").glob("*"):
        if path.name.partition("@")[0] not in queries:
            _delete(path)


def _delete(path: Path) -> None:
    with contextlib.suppress(OSError):  # it is only in the way
        path.unlink()


class LastResults:
    """Writes them in each tick: before the tick becomes durable those that are new, after it those before go."""

    def __init__(self, pond: Path) -> None:
        self._pond = pond
        self._written: dict[str, tuple[int, int]] = {}  # by folder: of which revision and instant

    def write(self, results: Iterable[tuple[ContinuousQuery, int, pa.Table]]) -> list[tuple[ContinuousQuery, int]]:
        """Write down results at instants; returns which were not there yet."""
        found = []
        for query, last, rows in results:
            if self._written.get(query.folder) != (query.revision, last):
                write(self._pond, query, last, rows)
                self._written[query.folder] = (query.revision, last)
                found.append((query, last))
        return found

    def forget_older(self, written: Iterable[tuple[ContinuousQuery, int]]) -> None:
        for query, last in written:
            forget(self._pond, query, last)
