"""ON <query> DO ..., and its twin in Python."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from millpond.catalog import Trigger, folder_name
from millpond.errors import CatalogError, counted
from millpond.extensions import shown_location
from millpond.result import Result
from millpond.results.triggers.runner import check_columns
from millpond.sinks.base import SinkKind
from millpond.sinks.registry import SINKS, check_target
from millpond.sql import statements as st
from millpond.statements.privilege import require

if TYPE_CHECKING:
    from millpond.workspace.workspace import Workspace


def create(workspace: Workspace, statement: st.CreateTrigger) -> Result:
    kind = SINKS.find(statement.kind, sql=statement.sql, span=statement.kind_place)
    return _add(workspace, statement.query, kind, statement.target, statement.options)


def on(workspace: Workspace, name: str, do: Callable[[dict[str, Any]], object] | str) -> None:
    """What `Pond.on` does: a text is a durable trigger, a callable lives as long as the process."""
    if isinstance(do, str):
        require(workspace.config, "a trigger")
        _add(workspace, name, SINKS.find("post" if "://" in do else "python"), do, {})
        return
    if not callable(do):
        raise CatalogError(
            f"{do!r} is neither a callable nor a text", hint="Give a function, an address or '<module>:<function>'."
        )
    workspace.own()
    with workspace.work:
        query = workspace.catalog.query(name)
        check_columns(query)
        workspace.triggers.add(query, workspace.network.outlet(query.name).next, do)


def _add(workspace: Workspace, name: str, kind: SinkKind, target: str, options: Mapping[str, str]) -> Result:
    """A durable trigger. It begins with the next result."""
    workspace.own()
    with workspace.work:
        catalog = workspace.catalog
        query = catalog.query(name)
        check_columns(query)
        check_target(kind, target, options)
        if any((t.folder, t.kind, t.target) == (query.folder, kind.name, target) for t in catalog.triggers.values()):
            raise CatalogError(
                f'"{query.name}" has a trigger to "{target}" already',
                hint=f"Drop it first: ON {query.name} DO NOTHING.",
            )
        start = workspace.network.outlet(query.name).next
        folder = folder_name(query.name, catalog.made)
        trigger = Trigger(folder, query.name, query.folder, kind.name, target, start, dict(options))
        workspace.change_catalog(catalog.with_trigger(trigger))
    return Result(message=f'from now on each result of "{query.name}" is {kind.done} {shown_location(target)}')


def drop(workspace: Workspace, statement: st.DropTrigger) -> Result:
    """All triggers of a query go. A call under way ends by itself."""
    workspace.own()
    with workspace.work:
        query = workspace.catalog.query(statement.query)
        count = workspace.triggers.remove(query.folder)
        changed = workspace.catalog.without_triggers(query.folder)
        count += len(workspace.catalog.triggers) - len(changed.triggers)
        if len(changed.triggers) < len(workspace.catalog.triggers):
            workspace.change_catalog(changed)
    return Result(message=f'{counted(count, "trigger")} of "{query.name}" dropped')
