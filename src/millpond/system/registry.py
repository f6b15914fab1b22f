"""What a system table is, and all there are.

A system table is a name, described columns, and a function that gives its rows. To add one, write such a function in the
module of its theme and put `@system_table` on it; a new module is added to `_THEMES`. Nothing else has to change: binding,
planning, DESCRIBE and the reference page find it here.

Invariant. Within one statement each system table is made once, from one catalog, so joins of
system tables with each other and with themselves are consistent.
"""

from __future__ import annotations

import functools
import importlib
import threading
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import pyarrow as pa

from millpond.arrow import arrow_schema
from millpond.catalog import Catalog, Reduction, StandardTable, StreamingTable
from millpond.clock import Clock
from millpond.config import Config
from millpond.duration import TimeUnit
from millpond.ingest.feed import FeedRunner
from millpond.network.run.network import Network
from millpond.query.binding.uses import Use
from millpond.query.shelf import TableShelf
from millpond.query.system_names import SCHEMA, SystemTable
from millpond.query.windowed.cover import Cover
from millpond.results.triggers.supervisor import Triggers
from millpond.schema import Column, DataType, Schema
from millpond.standing.standing import StandingQueries
from millpond.table.kept_windows import KeptWindows
from millpond.table.standard import StandardStore
from millpond.table.store import Bounds, Snapshot
from millpond.table.stream import StreamTable
from millpond.tick.pipeline import Pipeline

_THEMES = ("tables", "queries", "standing", "feeds", "triggers", "functions", "layouts", "reductions", "settings")

Row = dict[str, Any]


class KeptReductions(Protocol):
    """What system tables ask of the reductions of their pond."""

    def kept(self, reduction: Reduction) -> KeptWindows:
        """The windows of a reduction that its query has not sent."""

    def sent(self, reduction: Reduction, table: StreamingTable) -> tuple[Cover, Snapshot | None]:
        """The windows that the reduction's query has sent, and the relation that holds them."""


class SystemHost(Protocol):
    """What system tables ask of their pond. All of it is only read."""

    folder: Path
    round: threading.RLock
    config: Config
    clock: Clock
    catalog: Catalog
    shelf: TableShelf
    network: Network
    standing: StandingQueries
    triggers: Triggers

    @property
    def reductions(self) -> KeptReductions:
        """The reductions by windows."""

    @property
    def owned(self) -> bool:
        """Whether this process is the one that writes the pond."""

    @property
    def pipeline(self) -> Pipeline | None:
        """The pipeline, if this process has started one."""

    def streams(self) -> dict[str, StreamTable]:
        """All streaming tables, opened."""

    def standard(self, definition: StandardTable) -> StandardStore:
        """The store of a standard table."""

    def feed(self, name: str) -> FeedRunner | None:
        """A feed, if it was started in this process."""


@dataclass(frozen=True)
class DescribedColumn:
    name: str
    type: DataType
    description: str


@dataclass(frozen=True)
class Definition:
    """A system table. `rows` gives one dict for each row; a column that it leaves out is NULL."""

    name: str
    description: str
    columns: tuple[DescribedColumn, ...]
    rows: Callable[[Reading], Iterable[Row]]

    @functools.cached_property
    def relation(self) -> SystemTable:
        return SystemTable(f"{SCHEMA}.{self.name}", Schema(tuple(Column(c.name, c.type) for c in self.columns)))


_DEFINITIONS: dict[str, Definition] = {}


def system_table(
    name: str, description: str, columns: Iterable[tuple[str, str, str]]
) -> Callable[[Callable[[Reading], Iterable[Row]]], Callable[[Reading], Iterable[Row]]]:
    """Register the function below it as the system table `millpond.<name>`. Columns are (name, type, description)."""
    described = tuple(DescribedColumn(n, DataType.parse(t), d) for n, t, d in columns)

    def register(rows: Callable[[Reading], Iterable[Row]]) -> Callable[[Reading], Iterable[Row]]:
        assert name not in _DEFINITIONS, f"system table {name} is registered twice"
        _DEFINITIONS[name] = Definition(name, description, described, rows)
        return rows

    return register


@functools.cache
def definitions() -> Mapping[str, Definition]:
    """All system tables by name, without the schema."""
    for theme in _THEMES:
        importlib.import_module(f"millpond.system.{theme}")
    return dict(sorted(_DEFINITIONS.items()))


@functools.cache
def system_tables() -> Mapping[str, SystemTable]:
    """All system tables as the binder wants them."""
    return {name: d.relation for name, d in definitions().items()}


class Reading:
    """The system tables as one statement sees them. Used by one thread."""

    def __init__(self, host: SystemHost) -> None:
        self.host = host
        self.catalog = host.catalog
        self._made: dict[str, pa.Table] = {}

    def table(self, name: str) -> pa.Table:
        """The rows of `millpond.<name>`."""
        if name not in self._made:
            definition = definitions()[name]
            schema = arrow_schema(definition.relation.columns)
            self._made[name] = pa.Table.from_pylist(list(definition.rows(self)), schema=schema)
        return self._made[name]

    def rows(self, name: str) -> list[Row]:
        """The same as plain values."""
        found: list[Row] = self.table(name).to_pylist()
        return found


class SystemShelf:
    """A pond's shelf with system tables on it. Made for one statement."""

    def __init__(self, host: SystemHost) -> None:
        self._shelf = host.shelf
        self._reading = Reading(host)

    def snapshot(self, use: Use) -> Snapshot | None:
        return None if isinstance(use.table, SystemTable) else self._shelf.snapshot(use)

    def time(self, use: Use) -> int | None:
        return None if isinstance(use.table, SystemTable) else self._shelf.time(use)

    def fetch(self, use: Use, columns: list[str], bounds: Bounds) -> pa.Table:
        if not isinstance(use.table, SystemTable):
            return self._shelf.fetch(use, columns, bounds)
        return self._reading.table(use.table.name.removeprefix(f"{SCHEMA}.")).select(columns)


# -- times ------------------------------------------------------------------------------------------------------------
# The event times of a pond's tables are integers in some and timestamps in others. In a system table an event time is
# therefore two columns: a text, as the user writes it, and a number of seconds that can be compared and subtracted.


def time_text(table: StreamingTable, time: int | None) -> str | None:
    return None if time is None else table.shown(time)


def time_seconds(table: StreamingTable, time: int | None) -> float | None:
    """The number itself, or the seconds since 1970 of a timestamp."""
    if time is None:
        return None
    return float(time) if table.unit is TimeUnit.SECOND else time / 1e6
