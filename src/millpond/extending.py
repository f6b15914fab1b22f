"""Public names for whoever adds a kind of source, sink or reduction; docs/extending.md has examples.

A kind is registered by `register_source`, `register_sink` or `register_reduction`, or offered by an installed package under the
entry points `millpond.sources`, `millpond.sinks` and `millpond.reductions`. `millpond.testing.check_source`, `check_sink` and
`check_reduction` check what it promises.
"""

from millpond.arrow import BadRow, arrow_schema
from millpond.catalog import Source
from millpond.errors import CatalogError, PondError
from millpond.extensions import Option, boolean
from millpond.reductions.base import Fraction, Portion, ReductionKind
from millpond.reductions.registry import REDUCTIONS
from millpond.sinks.base import Event, Sink, SinkFailed, SinkKind
from millpond.sinks.registry import SINKS
from millpond.sources.base import Opening, RowSource, SourceBatch, SourceKind
from millpond.sources.registry import SOURCES

register_source = SOURCES.register
register_sink = SINKS.register
register_reduction = REDUCTIONS.register

__all__ = [
    "BadRow",
    "CatalogError",
    "Event",
    "Fraction",
    "Opening",
    "Option",
    "PondError",
    "Portion",
    "ReductionKind",
    "RowSource",
    "Sink",
    "SinkFailed",
    "SinkKind",
    "Source",
    "SourceBatch",
    "SourceKind",
    "arrow_schema",
    "boolean",
    "register_reduction",
    "register_sink",
    "register_source",
]
