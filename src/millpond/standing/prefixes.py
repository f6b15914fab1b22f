"""One prefix of the rows of each stream, taken at one moment, from which a standing query is answered; and its newest rows.

Invariant. All prefixes are taken while all of their tables' stores are locked: no append falls between two of them. A row and
the time it leads to are in the same prefix.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import ExitStack
from functools import cached_property, lru_cache
from typing import Protocol

import numpy as np
import pyarrow as pa

from millpond.arrow import integers
from millpond.catalog import Catalog, StreamingTable
from millpond.query.binding.uses import Use
from millpond.query.plan import Shelf
from millpond.schema import SEQ
from millpond.standing.answer import Visit
from millpond.table.store import Bounds, Snapshot, tail_table
from millpond.table.stream import Prefix, StreamTable


class Tables(Protocol):
    catalog: Catalog

    def stream(self, name: str) -> StreamTable:
        """A streaming table, opened."""


class PrefixShelf:
    """A shelf on which the streams of one query stand still. With a `visit` they stand where they stood then."""

    def __init__(
        self, tables: Tables, shelf: Callable[[], Shelf], streams: Iterable[Use], visit: Visit | None = None
    ) -> None:
        self._make_shelf = shelf
        self._visit = visit
        self.prefixes: dict[str, Prefix] = {}
        names = {use.table.name for use in streams if use.table.name in tables.catalog.streaming}
        opened = [tables.stream(name) for name in sorted(names)]
        with ExitStack() as locks:
            for table in opened:
                locks.enter_context(table.rows.lock)
            for table in opened:
                self.prefixes[table.definition.folder] = table.prefix()

    @cached_property
    def _shelf(self) -> Shelf:
        """Where everything else stands."""
        return self._make_shelf()

    def kept(self, use: Use) -> Snapshot | None:
        """What there is of a stream."""
        found = self._prefix(use)
        return found.snapshot if found is not None else self._shelf.snapshot(use)

    def snapshot(self, use: Use) -> Snapshot | None:
        found = None if use.rejected else self._prefix(use)
        return self._shelf.snapshot(use) if found is None else found.snapshot

    def time(self, use: Use) -> int | None:
        found = None if use.rejected else self._prefix(use)
        if found is None:
            return self._shelf.time(use)
        assert isinstance(use.table, StreamingTable)
        return self._visit.times[use.table.folder] if self._visit is not None else found.now

    def fetch(self, use: Use, columns: list[str], bounds: Bounds) -> pa.Table:
        return self._shelf.fetch(use, columns, bounds)

    def now(self, table: StreamingTable) -> int | None:
        """The time of a table in its prefix."""
        found = self.prefixes.get(table.folder)
        return found.now if found is not None else None

    def below(self, table: StreamingTable) -> int | None:
        """The number below which rows count, where not all of the prefix do."""
        return self._visit.positions.get(table.folder) if self._visit is not None else None

    def position(self, table: StreamingTable) -> int:
        """How many rows of a table count."""
        below = self.below(table)
        found = self.prefixes.get(table.folder)
        return below if below is not None else found.position if found is not None else 0

    def _prefix(self, use: Use) -> Prefix | None:
        return self.prefixes.get(use.table.folder) if isinstance(use.table, StreamingTable) else None


@lru_cache(maxsize=64)
def _nothing(schema: pa.Schema) -> pa.Table:
    return schema.empty_table()


def unseen(prefix: Prefix, position: int, schema: pa.Schema) -> pa.Table | None:
    """The rows of a prefix numbered from `position` on, in order of their numbers; None if some are in the archive already."""
    if position < prefix.snapshot.version.position:
        return None
    blocks = [block for block in prefix.snapshot.blocks if block.last_seq >= position]
    if not blocks:
        return _nothing(schema)
    rows = tail_table(blocks, schema)
    seqs = integers(rows.column(SEQ))
    wanted = seqs >= position
    if not wanted.all():
        rows = rows.filter(pa.array(wanted))
        seqs = seqs[wanted]
    if (seqs[1:] < seqs[:-1]).any():
        rows = rows.take(pa.array(np.argsort(seqs)))
    return rows
