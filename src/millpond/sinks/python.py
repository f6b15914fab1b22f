"""`DO PYTHON '<module>:<function>'`: each row is given to a callable, and is delivered when it returns."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from typing import Any

from millpond.errors import CatalogError, UnknownName
from millpond.sinks.base import Event, SinkKind

Call = Callable[[Event], object]


class PythonKind(SinkKind):
    """`DO PYTHON '<module>:<function>'`."""

    name = "python"
    target = "'<module>:<function>'"

    def check(self, target: str, options: Mapping[str, Any]) -> None:
        find_callable(target)

    def open(self, target: str, options: Mapping[str, Any]) -> Calling:
        return Calling(find_callable(target))


class Calling:
    """Calls a callable with each row."""

    batch = 1

    def __init__(self, call: Call) -> None:
        self._call = call

    def send(self, event: Event) -> None:
        self._call(event)

    def flush(self) -> None:
        """Nothing to do: the call has returned."""

    def close(self) -> None:
        """Nothing to do."""


def find_callable(target: str) -> Call:
    """The callable named `<module>:<function>`."""
    module, _, path = target.partition(":")
    if not module or not path:
        raise CatalogError(
            f'"{target}" does not name a callable', hint="Write '<module>:<function>', for example 'alarms:ring'."
        )
    importlib.invalidate_caches()
    try:
        found: Any = importlib.import_module(module)
    except Exception as error:
        missing = error.name if isinstance(error, ModuleNotFoundError) else None
        if missing is not None and f"{module}.".startswith(f"{missing}."):
            hint = "Install it, or put its folder on PYTHONPATH of the process that owns the pond."
            raise UnknownName("module", missing, hint=hint) from error
        detail = f"{type(error).__name__}: {error}"
        raise CatalogError(f'module "{module}" cannot be imported', detail=detail) from error
    for name in path.split("."):
        if not hasattr(found, name):
            there = [n for n in dir(found) if callable(getattr(found, n, None)) and not n.startswith("_")]
            raise UnknownName("callable", path, there, where=f' in module "{module}"')
        found = getattr(found, name)
    if not callable(found):
        raise CatalogError(f'"{target}" is not callable', detail=f"It is of type {type(found).__name__}.")
    call: Call = found
    return call
