"""Public names for whoever adds a kind of source or sink; docs/extending.md has examples.

A kind is registered by `register_source` or `register_sink`, or offered by an installed package under the entry points
`millpond.sources` and `millpond.sinks`. `millpond.testing.check_source` and `check_sink` check what it promises.
"""

from millpond.arrow import BadRow, arrow_schema
from millpond.catalog import Source
from millpond.errors import CatalogError, PondError
from millpond.extensions import Option, boolean
from millpond.sinks.base import Event, Sink, SinkFailed, SinkKind
from millpond.sinks.registry import SINKS
from millpond.sources.base import Opening, RowSource, SourceBatch, SourceKind
from millpond.sources.registry import SOURCES

register_source = SOURCES.register
register_sink = SINKS.register

__all__ = [
    "BadRow",
    "CatalogError",
    "Event",
    "Opening",
    "Option",
    "PondError",
    "RowSource",
    "Sink",
    "SinkFailed",
    "SinkKind",
    "Source",
    "SourceBatch",
    "SourceKind",
    "arrow_schema",
    "boolean",
    "register_sink",
    "register_source",
]
