"""Idle tables: a table that is declared idle takes the time of those it is joined with, so that it holds nobody back.

Idea. At each tick an idle table gets a heartbeat, an ordinary and durable one: for each query that reads it, the least time
of the other tables of that query; of several queries the greatest such time. So rows that come later and are before it are
late, as after any heartbeat. The catalog keeps how many rows the table had accepted when it was declared idle: with the
next accepted row it is not idle any more, without anybody having to write that down.
"""

from __future__ import annotations

from collections.abc import Callable

from millpond.catalog import Catalog
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
