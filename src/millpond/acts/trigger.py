"""ON <query> DO ..., and its twin in Python."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from millpond.acts.privilege import require
from millpond.catalog import Trigger, folder_name
from millpond.errors import CatalogError, counted
from millpond.extensions import shown_location
from millpond.result import Result
from millpond.results.triggers.runner import check_columns
from millpond.sinks.base import SinkKind
from millpond.sinks.registry import SINKS, check_target
from millpond.sql import statements as st

if TYPE_CHECKING:
    from millpond.pond import Pond


def create(pond: Pond, statement: st.CreateTrigger) -> Result:
    kind = SINKS.find(statement.kind, sql=statement.sql, span=statement.kind_place)
    return _add(pond, statement.query, kind, statement.target, statement.options)


def on(pond: Pond, name: str, do: Callable[[dict[str, Any]], object] | str) -> None:
    """What `Pond.on` does: a text is a durable trigger, a callable lives as long as the process."""
    if isinstance(do, str):
        require(pond.config, "a trigger")
        _add(pond, name, SINKS.find("post" if "://" in do else "python"), do, {})
        return
    if not callable(do):
        raise CatalogError(
            f"{do!r} is neither a callable nor a text", hint="Give a function, an address or '<module>:<function>'."
        )
    pond.own()
    with pond.work:
        query = pond.catalog.query(name)
        check_columns(query)
        pond.triggers.add(query, pond.network.outlet(query.name).next, do)


def _add(pond: Pond, name: str, kind: SinkKind, target: str, options: Mapping[str, str]) -> Result:
    """A durable trigger. It begins with the next result."""
    pond.own()
    with pond.work:
        catalog = pond.catalog
        query = catalog.query(name)
        check_columns(query)
        check_target(kind, target, options)
        if any((t.folder, t.kind, t.target) == (query.folder, kind.name, target) for t in catalog.triggers.values()):
            raise CatalogError(
                f'"{query.name}" has a trigger to "{target}" already',
                hint=f"Drop it first: ON {query.name} DO NOTHING.",
            )
        start = pond.network.outlet(query.name).next
        folder = folder_name(query.name, catalog.made)
        trigger = Trigger(folder, query.name, query.folder, kind.name, target, start, dict(options))
        pond.change_catalog(catalog.with_trigger(trigger))
    return Result(message=f'from now on each result of "{query.name}" is {kind.done} {shown_location(target)}')


def drop(pond: Pond, statement: st.DropTrigger) -> Result:
    """All triggers of a query go. A call under way ends by itself."""
    pond.own()
    with pond.work:
        query = pond.catalog.query(statement.query)
        count = pond.triggers.remove(query.folder)
        changed = pond.catalog.without_triggers(query.folder)
        count += len(pond.catalog.triggers) - len(changed.triggers)
        if len(changed.triggers) < len(pond.catalog.triggers):
            pond.change_catalog(changed)
    return Result(message=f'{counted(count, "trigger")} of "{query.name}" dropped')
