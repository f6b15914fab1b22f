"""CREATE and DROP REDUCTION: windows of a table, kept by a continuous query of their own or as they are asked for."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from millpond.catalog import INSTANT, ContinuousQuery, Reduction, StreamingTable
from millpond.duration import TimeUnit
from millpond.errors import CatalogError
from millpond.failpoints import reach
from millpond.query.windowed.definition import define
from millpond.reductions.registry import REDUCTIONS
from millpond.result import Result
from millpond.schema import Schema
from millpond.sql import statements as st
from millpond.sql.parser import parse
from millpond.statements import continuous
from millpond.table.compartments import kept_since
from millpond.table.kept_windows import FOLDER, KeptWindows

if TYPE_CHECKING:
    from millpond.workspace.workspace import Workspace


def create(workspace: Workspace, statement: st.CreateReduction) -> Result:
    workspace.own()
    name = statement.name.lower()
    with workspace.work:
        if statement.if_not_exists and name in workspace.catalog.reductions:
            return Result(message=f'"{name}" exists already')
        if REDUCTIONS.get(name) is not None:
            raise CatalogError(
                f'reduction "{name}" exists already',
                detail="It is a function that says how much is read.",
                hint="Take another name.",
            )
        reduction = define(statement, workspace.catalog)
        table = workspace.catalog.streaming_table(statement.table)
    told = "its windows are kept when they are asked for" if reduction.lazy else "a continuous query keeps its windows"
    query = _query(workspace, reduction, table)
    if reduction.lazy:
        _, prepared = continuous.defined(query, workspace.catalog)
        columns = workspace.network.columns(prepared)
        with workspace.work:
            workspace.catalog.check_free(name)
            workspace.change_catalog(
                workspace.catalog.with_reduction(_made(workspace, reduction, Schema(tuple(columns))))
            )
    else:
        begin = _begin(workspace, table, reduction)

        def owner(found: ContinuousQuery) -> Reduction:
            return _made(workspace, replace(reduction, begin=begin), found.columns.without(INSTANT))

        continuous.create(workspace, query, owner)
    return Result(message=f'reduction "{name}" created: {told}')


def _made(workspace: Workspace, reduction: Reduction, columns: Schema) -> Reduction:
    """The reduction with its columns, and the folder of its windows."""
    made = replace(reduction, columns=columns)
    KeptWindows.create(workspace.folder, made, workspace.clock)
    reach("reduction.before_catalog")
    return made


def _query(workspace: Workspace, reduction: Reduction, table: StreamingTable) -> st.CreateQuery:
    """The continuous query that keeps the windows, from the first row on that the table has."""
    snapshot, now = workspace.stream(table.name).rows.snapshot(), workspace.stream(table.name).now
    least = [f.least for f in snapshot.version.files.values()] + [b.least for b in snapshot.blocks]
    start: int | None = None
    if least and now is not None:
        every = table.unit.count(reduction.every)
        start = min(least) // every * every
    begins = ""
    if start is not None and now is not None and start < now:
        begins = f" FROM {start}" if table.unit is TimeUnit.SECOND else f" FROM '{table.shown(start)}'"
    text = f"CREATE CONTINUOUS QUERY `{reduction.name}` RANGE UNBOUNDED{begins} AS {reduction.computed_by}"
    (query,) = parse(text)
    assert isinstance(query, st.CreateQuery)
    return query


def _begin(workspace: Workspace, table: StreamingTable, reduction: Reduction) -> int | None:
    """The first window of which the table has all rows; None if it has all that ever came."""
    stream = workspace.stream(table.name)
    if table.history is None or stream.now is None or stream.rows.snapshot().has_all:
        return None
    every = table.unit.count(reduction.every)
    return -(-kept_since(stream.now, table.history, table.unit) // every) * every


def drop(workspace: Workspace, statement: st.Drop) -> Result:
    catalog = workspace.catalog
    if statement.if_exists and statement.name.lower() not in catalog.reductions:
        return Result(message=f'there is no reduction "{statement.name}"')
    reduction = catalog.reduction(statement.name)
    outlet = workspace.result(reduction.name)
    workspace.change_catalog(catalog.without_reduction(reduction.name))
    if outlet is not None:
        workspace.network.note_definitions()
        workspace.network.discard_results(outlet)
    workspace.rounds.delete_folder(workspace.folder / FOLDER / reduction.folder)
    return Result(message=f'reduction "{reduction.name}" dropped')
