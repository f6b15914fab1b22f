"""The kinds of source that SQL knows. To add one, write a `SourceKind` in a module of its own and either name it here, call
`SOURCES.register`, or offer it from a package under the entry point `millpond.sources`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from millpond.catalog import Source
from millpond.clock import Clock
from millpond.errors import CatalogError
from millpond.extensions import Registry, read_options, shown_options
from millpond.sources.base import Opening, RowSource, SourceKind
from millpond.sources.files import FilesKind
from millpond.sources.socket import SocketKind

SOURCES: Registry[SourceKind] = Registry("kind of source", "millpond.sources", [FilesKind(), SocketKind()])


def check_definition(source: Source) -> Source:
    """The definition as it is to be kept; raises `CatalogError` if it cannot work."""
    kind = SOURCES.find(source.kind)
    return kind.check(source, _options(kind, source))


def open_source(source: Source, journal: Path, clock: Clock) -> RowSource:
    """Open the source that `source` defines, at its beginning; raises `CatalogError` if the definition cannot work."""
    kind = SOURCES.find(source.kind)
    options = _options(kind, source)
    return kind.open(kind.check(source, options), options, Opening(journal, clock))


def options_shown(source: Source) -> str | None:
    """What was set WITH (...), without secrets; without any value if the kind is not installed here."""
    kind = SOURCES.get(source.kind)
    return shown_options(source.options, kind.formats.get(source.format) if kind is not None else None)


def _options(kind: SourceKind, source: Source) -> dict[str, Any]:
    known = kind.formats.get(source.format)
    if known is None:
        raise CatalogError(
            f'source "{source.name}" of kind {kind.name} cannot have format "{source.format}"',
            detail=f"There is: {', '.join(kind.formats)}.",
        )
    return read_options(source.options, known, owner=f'source "{source.name}"', kind=f"{kind.name}, {source.format}")
