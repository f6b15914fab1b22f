"""What a source of rows promises, and what a kind of source is.

Idea. A source gives rows in an order of its own and, with each batch, the *position* after it. The position is stored
together with the rows, so rows are taken exactly once: what was stored is not read again, what was not stored is.
Nothing here knows files or sockets; a Kafka, MQTT or sensor source implements the same three methods (its position
would be the offsets of its partitions). `millpond.testing.check_source` checks the promises. A `SourceKind` is what SQL
knows a source by; it is registered in `registry`.

Invariants
 1. Rows read = rows in `SourceBatch.rows` + entries in `SourceBatch.bad`; nothing is dropped in silence.
 2. What becomes of a row does not depend on how rows are cut into batches.
 3. After `seek(p)` the source goes on with the first row that was not in the batch that reported `p`, nor before it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Protocol

import pyarrow as pa

from millpond.arrow import BadRow
from millpond.catalog import Source
from millpond.clock import Clock
from millpond.extensions import Option


@dataclass(frozen=True)
class SourceBatch:
    """Some rows of a source, in its order.

    `rows` have exactly the source's declared columns and types. `bad` are rows that could not be read; their `index` is
    negative (-1, -2, ...), so that it never means a row of `rows`. `position` is a JSON value: where to resume after
    this batch, stable however often it is written and read. `places(i)` tells where row `i` came from, for `i` a place
    in `rows` or the index of a bad row, e.g. `part-01.csv:17`. `complete` is an event time if the source knows that nothing
    at or before it comes after this batch.
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


@dataclass(frozen=True)
class Opening:
    """What a kind gets to open a source with: a folder for what the source must remember between runs, and the clock.

    The folder belongs to one feed. It need not exist yet, and is deleted with the feed.
    """

    journal: Path
    clock: Clock


class SourceKind(ABC):
    """A kind of source: `CREATE SOURCE s (...) FROM <name> '<location>' [FORMAT <format>] [WITH (<option> = ...)]`.

    `formats` has for each format the options that can be set with it; the first one is the default. A kind whose rows have
    no format names just one. A kind that reaches outside the pond is `privileged`: a server can refuse it.
    """

    name: ClassVar[str]
    location: ClassVar[str]
    """What the text after the name is, such as "a folder"."""
    formats: ClassVar[Mapping[str, tuple[Option, ...]]]
    privileged: ClassVar[bool] = True

    def check(self, source: Source, options: Mapping[str, Any]) -> Source:
        """The definition as it is to be kept; raises `CatalogError` if it cannot work. It may not reach outside: what is not
        there yet may be there when the source is opened. Called when the source is created and each time it is opened."""
        return source

    def warning(self, source: Source) -> str | None:
        """What the user should know who has just created the source."""
        return None

    @abstractmethod
    def open(self, source: Source, options: Mapping[str, Any], opening: Opening) -> RowSource:
        """The source at its beginning. `options` are the values of all options of its format."""
