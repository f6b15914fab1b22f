"""Idle tables: a table that is declared idle takes the time of those it is joined with, so that it holds nobody back.

Idea. At each tick an idle table gets a heartbeat, an ordinary and durable one: for each query that reads it, the least time
of the other tables of that query; of several queries the greatest such time. So rows that come later and are before it are
late, as after any heartbeat. The catalog keeps how many rows the table had accepted when it was declared idle: with the
next accepted row it is not idle any more, without anybody having to write that down.

A table with IDLE AFTER i needs no declaration: once no row has come for i, it gets the time of the wall clock, less i and its
lateness, as if a row of i ago had just come. Nothing is written down about that either. After a restart i is counted anew, so
that rows which waited for the pond are not late.
"""

from __future__ import annotations

from collections.abc import Callable

from millpond.catalog import Catalog
from millpond.clock import Clock
from millpond.network.plan.graph import bases
from millpond.table.stream import StreamTable


def is_idle(table: StreamTable) -> bool:
    """Whether a table is declared idle and has accepted no row since."""
    return table.definition.idle is not None and table.definition.idle == table.next_row


def targets(catalog: Catalog, stream: Callable[[str], StreamTable]) -> dict[str, int]:
    """The idle tables that are behind, and the time each should have."""
    idle = {name for name, table in catalog.streaming.items() if table.idle is not None and is_idle(stream(name))}
    found: dict[str, int] = {}
    if not idle:
        return found
    for query in catalog.queries.values():
        read = bases(query.name, catalog)
        active = [stream(name).now for name in read - idle]
        known = [time for time in active if time is not None]
        if query.paused or not known or len(known) < len(active):
            continue
        least = min(known)
        for name in read & idle:
            now = stream(name).now
            if now is None or now < least:
                found[name] = max(least, found.get(name, least))
    return found


def follow(catalog: Catalog, stream: Callable[[str], StreamTable], heartbeat: Callable[[str, int, int], None]) -> None:
    """Give the idle tables their heartbeats: `heartbeat` takes a table, a time, and how many rows the table may have
    accepted. If a row came first, the idleness is over and there is no heartbeat."""
    for name, time in targets(catalog, stream).items():
        rows = catalog.streaming[name].idle
        if rows is not None and stream(name).damage is None:
            heartbeat(name, time, rows)


class QuietTables:
    """The tables with IDLE AFTER: how many rows each had, and since when, as far as ticks saw it."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._seen: dict[str, tuple[int, int]] = {}  # by folder

    def follow(
        self, catalog: Catalog, stream: Callable[[str], StreamTable], heartbeat: Callable[[str, int, int], None]
    ) -> None:
        """Give those from which nothing has come for so long their heartbeats."""
        now = self._clock.micros()
        tables = {name: table for name, table in catalog.streaming.items() if table.idle_after is not None}
        self._seen = {t.folder: self._seen[t.folder] for t in tables.values() if t.folder in self._seen}
        for name, definition in tables.items():
            table = stream(name)
            rows, since = self._seen.get(definition.folder, (-1, now))
            if table.next_row != rows:
                rows, since = table.next_row, now
            self._seen[definition.folder] = rows, since
            assert definition.idle_after is not None
            quiet = definition.unit.count(definition.idle_after)
            time = now - quiet - definition.unit.count(definition.lateness)
            if now - since >= quiet and table.damage is None and (table.now is None or table.now < time):
                heartbeat(name, time, rows)
