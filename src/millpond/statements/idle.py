"""ALTER STREAMING TABLE ... SET IDLE and SET ACTIVE."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from millpond.result import Result

if TYPE_CHECKING:
    from millpond.workspace.workspace import Workspace


def declare(workspace: Workspace, name: str, idle: bool) -> Result:
    """Declare a table idle, or not; the next row that it accepts ends it too."""
    workspace.own()
    with workspace.work:
        catalog = workspace.catalog
        definition = catalog.streaming_table(name)
        table = workspace.stream(definition.name)
        with table.lock:
            changed = replace(definition, idle=table.next_row if idle else None)
            if changed != definition:
                workspace.change_catalog(replace(catalog.with_streaming(changed), made=catalog.made))
        workspace.stream(definition.name)
    return Result(message=f'streaming table "{definition.name}" is {"idle" if idle else "active"}')
