"""What a source of rows promises, and the one place that makes sources.

Idea. A source gives rows in an order of its own and, with each batch, the *position* after it. The position is stored
together with the rows, so rows are taken exactly once: what was stored is not read again, what was not stored is.
Nothing here knows files or sockets; a Kafka, MQTT or sensor source implements the same three methods (its position
would be the offsets of its partitions). `millpond.testing.check_source` checks the promises.

Invariants
 1. Rows read = rows in `SourceBatch.rows` + entries in `SourceBatch.bad`; nothing is dropped in silence.
 2. What becomes of a row does not depend on how rows are cut into batches.
 3. After `seek(p)` the source goes on with the first row that was not in the batch that reported `p`, nor before it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import pyarrow as pa

from millpond.arrow import BadRow
from millpond.catalog import Source
from millpond.clock import Clock
from millpond.errors import CatalogError


@dataclass(frozen=True)
class SourceBatch:
    """Some rows of a source, in its order.

    `rows` have exactly the source's declared columns and types. `bad` are rows that could not be read; their `index` is
    negative (-1, -2, ...), so that it never means a row of `rows`. `position` is a JSON value: where to resume after
    this batch, stable however often it is written and read. `places(i)` tells where row `i` came from, for `i` a place
    in `rows` or the index of a bad row, e.g. `part-01.csv:17`. `complete` is a time, in ticks, if the source knows that
    nothing at or before it comes after this batch.
    """

    rows: pa.RecordBatch | pa.Table
    bad: list[BadRow] = field(default_factory=list)
    position: Any = None
    places: Callable[[int], str] = str
    complete: int | None = None


class RowSource(Protocol):
    """A source being read by one feed. Except where said, all methods are called by one thread, the feed's."""

    def next_batch(self, most: int) -> SourceBatch | None:
        """Up to `most` rows, good and bad together and at least one, or None when there is nothing yet.

        Called by the feed, again and again: at once after a batch was accepted, about every 50 ms after None. It may
        read a file or a buffer and spend time on parsing, but not wait for rows, time or the network: what waits
        belongs in a thread of the source's own, which stops reading when its buffer is full and never drops rows.
        It raises `PondError` for what may pass (a folder gone, a disk full), leaving the source as it was: the feed
        calls again later. Any other error ends the feed. It may not keep or change a batch it has returned.
        """

    def seek(self, position: Any) -> None:
        """Go on *after* the last row of the batch that reported `position`.

        Called by whoever starts the feed, before the first `next_batch` and at most once, with the position stored by
        an earlier run; not at all when there is none. Conformance checks also call it later, to go back. It may not
        read rows. A position that cannot be resumed raises `PondError`.
        """

    def close(self) -> None:
        """Let go of files, connections and threads. Called once the last `next_batch` has returned, from any thread;
        a second call does nothing. Not called when the process dies: nothing durable may depend on it."""


def open_source(source: Source, journal_folder: Path, clock: Clock) -> RowSource:
    """Make the source that `source` defines; raises `CatalogError` if the definition cannot work.

    `journal_folder` is where the source may keep what it must remember between runs. It belongs to one feed: two
    readers of the same source each need their own, and a dropped feed's folder should be deleted.
    """
    # Imported here because the implementations build on this module.
    from millpond.sources.files import FileSource
    from millpond.sources.options import check_options, complete_column, folder_of, host_and_port, line_options
    from millpond.sources.socket import SocketSource, connector

    check_options(source)
    if source.kind.lower() == "files":
        return FileSource(
            source.name,
            folder_of(source),
            source.columns,
            source.format.lower(),
            line_options(source),
            journal_folder,
            clock,
            pattern=source.options.get("pattern", "*"),
            complete=complete_column(source),
        )
    if source.kind.lower() == "socket":
        host, port = host_and_port(source)
        return SocketSource(
            connector(host, port), f"{host}:{port}", source.columns, source.format.lower(), line_options(source)
        )
    raise CatalogError(
        f'source "{source.name}" is of kind "{source.kind}"', detail="There is: files, socket.", hint="Use one of them."
    )
