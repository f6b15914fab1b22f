"""What a query's result was at its last instant, for queries whose result cannot be worked out again.

ISTREAM and DSTREAM send differences. After a restart the result at the last instant is needed once more; it follows from the
streams' rows, which are kept, but not from a standard table, which may have changed since. So of a query that reads one, that
result is written down in each tick, before the tick becomes durable. The name says which instant it is of: a tick that was
not committed leaves a file that nobody looks for.
"""

from __future__ import annotations

import contextlib
from collections.abc import Collection, Iterable
from pathlib import Path

import pyarrow as pa

from millpond.arrow import to_ipc
from millpond.catalog import ContinuousQuery
from millpond.durable import write_file


def _path(pond: Path, query: ContinuousQuery, last: int) -> Path:
    return pond / "before" / f"{query.folder}@{query.made}@{last}.arrow"


def write(pond: Path, query: ContinuousQuery, last: int, rows: pa.Table) -> None:
    path = _path(pond, query, last)
    path.parent.mkdir(exist_ok=True)
    write_file(path, to_ipc(rows))


def find(pond: Path, query: ContinuousQuery, last: int, schema: pa.Schema) -> pa.Table | None:
    """The result at `last`, if it was written down."""
    with contextlib.suppress(OSError, pa.ArrowInvalid), pa.memory_map(str(_path(pond, query, last))) as source:
        found = pa.ipc.open_stream(source).read_all()
        return found.cast(schema) if found.schema.names == schema.names else None
    return None


def forget(pond: Path, query: ContinuousQuery, but: int) -> None:
    """The result at `but` is the only one that is still needed."""
    for path in (pond / "before").glob(f"{query.folder}@*.arrow"):
        if path != _path(pond, query, but):
            path.unlink(missing_ok=True)


def sweep(pond: Path, queries: Collection[str]) -> None:
    """Delete what is of queries that are no more; `queries` are their folders."""
    for path in (pond / "before").glob("*"):
        if path.name.partition("@")[0] not in queries:
            path.unlink(missing_ok=True)


class LastResults:
    """Writes them in each tick: before the tick becomes durable those that are new, after it those before go."""

    def __init__(self, pond: Path) -> None:
        self._pond = pond
        self._written: dict[str, tuple[int, int]] = {}  # by folder: of which revision and instant

    def write(self, results: Iterable[tuple[ContinuousQuery, int, pa.Table]]) -> list[tuple[ContinuousQuery, int]]:
        """Write down results at instants; returns which were not there yet."""
        found = []
        for query, last, rows in results:
            if self._written.get(query.folder) != (query.made, last):
                write(self._pond, query, last, rows)
                self._written[query.folder] = (query.made, last)
                found.append((query, last))
        return found

    def forget_older(self, written: Iterable[tuple[ContinuousQuery, int]]) -> None:
        for query, last in written:
            forget(self._pond, query, last)
