"""AS OF: a query over streams as they were at an earlier time.

    SELECT seg, avg(spd) FROM posreports [INTERVAL '5' MINUTE] GROUP BY seg AS OF 1200

Every stream is cut at that time: later rows do not exist for the query, windows end there, and NOW() is that time. So the answer
is what a continuous query sends at that instant. Rows that came out of order are where their times put them. Standard tables
have no history and are read as they are. A stream without a window gives the rows that are kept, up to that time.

Invariant. A window is whole or refused: a time that the watermark has not reached, and rows that retention has deleted, are
errors.
"""

from __future__ import annotations

from collections.abc import Mapping

from millpond.catalog import INSTANT, StreamingTable
from millpond.errors import SqlError, UnsupportedSql
from millpond.event_time import to_event_time
from millpond.query.binding.uses import Bound, Use
from millpond.table.compartments import kept_since
from millpond.table.store import Snapshot


def times_as_of(bound: Bound, moment: int | str, watermarks: Mapping[str, int | None]) -> dict[str, int]:
    """The time at which each stream of a query is cut; raises where the rows up to then are not all known."""
    found: dict[str, int] = {}
    for name, use in bound.uses.items():
        table = use.table
        if not isinstance(table, StreamingTable):
            continue
        if use.rejected:
            raise UnsupportedSql(
                f'"{use.alias}" cannot be read AS OF a time', detail="Rejected rows have no order in time."
            )
        at = to_event_time(moment, table)
        watermark = watermarks[name]
        if watermark is None or at > watermark:
            reached = "has no rows yet" if watermark is None else f"has reached {table.shown(watermark)}"
            raise SqlError(
                f'AS OF {table.shown(at)} is ahead of table "{table.name}"', detail=f"It {reached}.", hint="Ask later."
            )
        found[name] = at
    if not found:
        raise SqlError("AS OF needs a streaming table", detail="Only streams are kept with their history.")
    return found


def check_kept(use: Use, at: int, watermark: int | None, snapshot: Snapshot | None) -> None:
    """Raise if retention has deleted rows that the query needs. What is asked is in `snapshot`, if it is known."""
    table = use.table
    assert isinstance(table, StreamingTable)
    since = snapshot.since if snapshot is not None else None
    if since is None and table.history is not None and watermark is not None:
        since = watermark - table.unit.count(table.history)
        if (
            use.window is not None and use.window.rows is not None
        ):  # it reaches back as far as rows are kept: look how far
            if snapshot is not None and snapshot.has_all and table.time_column != INSTANT:
                return
            since = kept_since(watermark, table.history, table.unit)
    start = use.window.start(table, at) if use.window is not None else None
    if since is not None and (at if start is None else start) < since:
        raise SqlError(
            f'table "{table.name}" no longer has all rows that are needed as of {table.shown(at)}',
            detail=f"It keeps those since {table.shown(since)}.",
        )
