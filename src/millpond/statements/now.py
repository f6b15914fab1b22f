"""ALTER STREAMING TABLE ... SET NOW: take the time of a table back.

For a table whose time ran ahead: a row or a heartbeat of the year 9999 was accepted, and every later row is late. The time is
set back; rows that lie beyond it are moved to the rejected rows. Queries that have passed the new time begin anew there, as
if they were dropped and created again: what they sent cannot be taken back, and it is not kept.

Order of steps, each of which a crash may follow; the statement can then be given again:
 1. the queries are renewed in the catalog
 2. a frame of the log has the new time; from here on rows are judged by it
 3. the network reads the table from the new time on
 4. the rows beyond it are put among the rejected rows, then deleted
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pyarrow as pa

from millpond.arrow import arrow_schema, conform, integers
from millpond.catalog import Catalog, ContinuousQuery, folder_name
from millpond.errors import CatalogError, counted
from millpond.event_time import times_of, to_event_time
from millpond.failpoints import reach
from millpond.ingest.ahead import later
from millpond.network.plan.graph import bases
from millpond.result import Result
from millpond.schema import SEQ
from millpond.table.rewrite import rewrite, without_rows
from millpond.table.store import Bounds
from millpond.table.stream import StreamTable
from millpond.table.work import read_file

if TYPE_CHECKING:
    from millpond.workspace.workspace import Workspace


def take_back(workspace: Workspace, name: str, value: int | str) -> Result:
    workspace.own()
    # No tick may be under way: it would have read the table beyond the new time.
    with workspace.rounds.alone("SET NOW"), workspace.work:
        definition = workspace.catalog.streaming_table(name)
        table = workspace.stream(definition.name)
        time = to_event_time(value, definition)
        if table.now is None or time > table.now:
            stands = "has no time yet" if table.now is None else f"stands at {definition.shown(table.now)}"
            raise CatalogError(
                f'table "{definition.name}" {stands}; SET NOW only takes time back',
                hint="A heartbeat moves time on: advance() in Python.",
            )
        with workspace.reductions.looking_back(definition, time, table.now):
            renewed = _renew_queries(workspace, definition.name, time)
            reach("now.before_frame")
            intake = workspace.intake(definition.name)
            beyond = table.next_row
            intake.take_back(time)
            reach("now.after_frame")
            workspace.network.take_back(definition.name)
            moved = _move_rows(workspace, table, later(time, definition.unit.count(definition.lateness)), beyond)
    queries = f"; begun anew: {', '.join(renewed)}" if renewed else ""
    return Result(
        message=f'now of "{definition.name}" is {definition.shown(time)}; {counted(moved, "row")} rejected{queries}'
    )


def _renew_queries(workspace: Workspace, table: str, time: int) -> list[str]:
    """Queries that have passed `time` get a new folder: to the network they are new."""
    catalog: Catalog = workspace.catalog
    passed: list[ContinuousQuery] = []
    for query in catalog.queries.values():
        frontier = workspace.network.outlet(query.name).progress.frontier
        if table in bases(query.name, catalog) and frontier is not None and frontier > time:
            passed.append(query)
    if not passed:
        return []
    outlets = [workspace.network.outlet(query.name) for query in passed]
    for query in passed:
        new = replace(query, folder=folder_name(query.name, catalog.made), revision=query.revision + 1, start=None)
        catalog = catalog.with_query(new)
        owner = catalog.reductions.get(query.name)
        if owner is not None:  # whose windows from there on will be sent again
            every = catalog.streaming_table(table).unit.count(owner.every)
            catalog = catalog.with_reduction(replace(owner, begin=-(-time // every) * every))
        for trigger in [t for t in catalog.triggers.values() if t.folder == query.folder]:
            rest = {key: t for key, t in catalog.triggers.items() if key != trigger.name}
            again = replace(trigger, name=folder_name(query.name, catalog.made), folder=new.folder, start=0)
            catalog = replace(catalog, triggers=rest).with_trigger(again)
        workspace.triggers.restart(query.folder, new)
    workspace.change_catalog(catalog)
    for outlet in outlets:
        workspace.network.discard_results(outlet)
    return [query.name for query in passed]


def _move_rows(workspace: Workspace, table: StreamTable, latest: int, beyond: int) -> int:
    """Move rows later than `latest`, of those numbered below `beyond`, to the rejected rows. Returns how many."""
    workspace.rounds.archive()
    schema = arrow_schema(table.stored)
    column = table.definition.time_column
    found = []
    for file in table.rows.snapshot().select(Bounds(low=latest + 1)).files if latest < 1 << 62 else ():
        rows = pa.Table.from_batches(
            [conform(batch, schema) for batch in read_file(table.rows.folder / file.path).to_batches()], schema=schema
        )
        far = (times_of(rows[column]) > latest) & (integers(rows[SEQ]) < beyond)
        found.append(rows.filter(pa.array(far)))
    moved = pa.concat_tables(found).sort_by(SEQ) if found else schema.empty_table()
    if moved.num_rows:
        workspace.intake(table.definition.name).reject_stored(moved.drop_columns([SEQ]), latest)
        reach("now.before_commit")
        workspace.network.forget_checkpoints(table.definition.name)
        add, remove = rewrite(table.rows, table.stored, integers(moved[SEQ]), without_rows)
        clock = workspace.clock
        table.rows.commit(
            add=add, remove=remove, operation="DELETE", now_ms=clock.micros() // 1000, age=clock.monotonic()
        )
        workspace.network.refill_windows(table.definition.name)
    return int(moved.num_rows)
