"""The kinds of sink that SQL knows. To add one, write a `SinkKind` in a module of its own and either name it here, call
`SINKS.register`, or offer it from a package under the entry point `millpond.sinks`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from millpond.extensions import Registry, read_options, shown_location
from millpond.sinks.base import Sink, SinkKind
from millpond.sinks.http import PostKind
from millpond.sinks.python import PythonKind

# NOTHING ends the triggers of a query; "callable" is what SHOW TRIGGERS calls a Python object of this process.
SINKS: Registry[SinkKind] = Registry(
    "kind of sink", "millpond.sinks", [PostKind(), PythonKind()], reserved=("nothing", "callable")
)


def check_target(kind: SinkKind, target: str, options: Mapping[str, str]) -> None:
    """Raise `CatalogError` if no trigger can have this target and these options."""
    kind.check(target, _values(kind, target, options))


def open_sink(name: str, target: str, options: Mapping[str, str]) -> Sink:
    """Open a sink of the kind `name`."""
    kind = SINKS.find(name)
    return kind.open(target, _values(kind, target, options))


def _values(kind: SinkKind, target: str, options: Mapping[str, str]) -> dict[str, Any]:
    return read_options(options, kind.options, owner=f'the trigger to "{shown_location(target)}"', kind=kind.name)
