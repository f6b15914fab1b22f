"""ALTER STREAMING TABLE ... SET IDLE and SET ACTIVE."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from millpond.result import Result

if TYPE_CHECKING:
    from millpond.pond import Pond


def declare(pond: Pond, name: str, idle: bool) -> Result:
    """Declare a table idle, or not; the next row that it accepts ends it too."""
    pond.own()
    with pond.work:
        catalog = pond.catalog
        definition = catalog.streaming_table(name)
        table = pond.stream(definition.name)
        with table.lock:
            changed = replace(definition, idle=table.next_row if idle else None)
            if changed != definition:
                pond.change_catalog(replace(catalog.with_streaming(changed), made=catalog.made))
        pond.stream(definition.name)
    return Result(message=f'streaming table "{definition.name}" is {"idle" if idle else "active"}')
