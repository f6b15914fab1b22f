"""What a process that plans sees of a relation of a pond: a snapshot, and where the rows are that are in no archive file.

A streaming table's rows are in the log, and tasks read them there. Results, rejected rows and what else is in memory only go
to tasks with their orders. A relation stays open between two plans of a process, so that it reads what is new and no more.
"""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections import OrderedDict
from dataclasses import dataclass
from pathlib import Path

from millpond import catalog_file
from millpond.catalog import REJECTED_SUFFIX, Catalog, ContinuousQuery, StandardTable, StreamingTable
from millpond.clock import SystemClock
from millpond.errors import CatalogError, ResultsGone, UnknownName
from millpond.network.run.state import State
from millpond.predicate.form import Always, Predicate
from millpond.query.binding.uses import Use
from millpond.query.relation import SPARK
from millpond.results.outlet import Outlet
from millpond.results.reader import Outlets
from millpond.schema import Schema
from millpond.spark_format.conditions import read_condition
from millpond.spark_format.options import Options
from millpond.table.log import Frame
from millpond.table.standard import StandardStore
from millpond.table.store import Snapshot
from millpond.table.stream import StreamTable
from millpond.workspace.folder import prepare_folder

_KEPT = 4  # relations that stay open


@dataclass(frozen=True)
class View:
    """A relation at one moment: its rows are numbered below `end`. `frames` have the rows of the tail, where they are in a
    log."""

    snapshot: Snapshot
    end: int
    frames: tuple[Frame, ...] | None = None


class Relation(ABC):
    """Of one thread."""

    def __init__(self, use: Use) -> None:
        self.use = use

    @property
    def columns(self) -> Schema:
        return self.use.columns

    @abstractmethod
    def view(self) -> View:
        """As the relation is now, as a query sees it."""

    def first(self) -> int:
        """The number of the oldest row that a stream can begin with."""
        return 0

    def between(self, start: int, end: int) -> View:
        """As it is now, with all rows numbered from `start` up to `end` that are kept. Raises if some are lost."""
        return self.view()


class _Stream(Relation):
    def __init__(self, pond: Path, table: StreamingTable) -> None:
        super().__init__(Use("__r0", table.name, table))
        self._stream = StreamTable(pond, table)

    def view(self) -> View:
        self._stream.refresh()
        with self._stream.rows.lock:
            return View(self._stream.rows.snapshot(), self._stream.next_row, tuple(self._stream.frames))


class _Rejected(Relation):
    def __init__(self, pond: Path, table: StreamingTable) -> None:
        super().__init__(Use("__r0", table.name + REJECTED_SUFFIX, table, rejected=True))
        self._stream = StreamTable(pond, table)

    def view(self) -> View:
        self._stream.refresh()
        with self._stream.rejected.lock:
            return View(self._stream.rejected.snapshot(), self._stream.next_rejected)


class _Standard(Relation):
    def __init__(self, pond: Path, table: StandardTable) -> None:
        super().__init__(Use("__r0", table.name, table))
        self._store = StandardStore(pond, table, SystemClock())

    def view(self) -> View:
        self._store.refresh()
        snapshot = self._store.store.snapshot()
        return View(snapshot, snapshot.version.position)


class _Results(Relation):
    def __init__(self, pond: Path, query: ContinuousQuery) -> None:
        super().__init__(Use("__r0", query.name, query.table))
        self._query = query
        self._outlets = Outlets(pond, SystemClock(), State.from_json, lambda _: None)
        self._state = State()
        self._catalog = Catalog(queries={query.name.lower(): query})

    def view(self) -> View:
        return self._view(everything=False)

    def first(self) -> int:
        return self._outlet().first

    def between(self, start: int, end: int) -> View:
        view, outlet = self._view(everything=True), self._outlet()
        if start < outlet.first:
            raise ResultsGone(self._query.name, start - 1, outlet.first, lost=outlet.is_lost(start))
        for begin, behind in outlet.lost:
            if begin < end and behind > start:
                raise ResultsGone(self._query.name, max(start, begin) - 1, behind, lost=True)
        return view

    def _view(self, *, everything: bool) -> View:
        outlet = self._outlet()
        with self._outlets.arrived:
            return View(outlet.snapshot(everything=everything), outlet.next)

    def _outlet(self) -> Outlet:
        self._state = self._outlets.load(self._catalog, self._state)
        return self._outlets.by_name[self._query.name]


_open: OrderedDict[tuple[str, object], Relation] = OrderedDict()
_lock = threading.Lock()


def open_relation(options: Options) -> Relation:
    """The relation that is meant, opened."""
    pond = Path(options.pond)
    catalog = _catalog(pond)
    definition, rejected = _found(catalog, options.table)
    key = (str(pond), (definition, rejected))
    with _lock:
        if key not in _open:
            _open[key] = _made(pond, definition, rejected)
        _open.move_to_end(key)
        while len(_open) > _KEPT:
            _open.popitem(last=False)
        return _open[key]


def _made(pond: Path, definition: StreamingTable | StandardTable | ContinuousQuery, rejected: bool) -> Relation:
    if isinstance(definition, ContinuousQuery):
        return _Results(pond, definition)
    if isinstance(definition, StandardTable):
        return _Standard(pond, definition)
    return _Rejected(pond, definition) if rejected else _Stream(pond, definition)


def _catalog(pond: Path) -> Catalog:
    prepare_folder(pond, create=False)
    return catalog_file.load(pond)


def _found(catalog: Catalog, name: str) -> tuple[StreamingTable | StandardTable | ContinuousQuery, bool]:
    key = name.lower()
    if key in catalog.queries:
        return catalog.queries[key], False
    if key in catalog.streaming:
        return catalog.streaming[key], False
    if key.endswith(REJECTED_SUFFIX) and key.removesuffix(REJECTED_SUFFIX) in catalog.streaming:
        return catalog.streaming[key.removesuffix(REJECTED_SUFFIX)], True
    standard = catalog.standard.get(key)
    if standard is None:
        raise UnknownName("table", name, catalog.relation_names())
    if standard.address is not None:
        raise CatalogError(
            f'table "{standard.name}" is not kept in the pond',
            hint="Let Spark read it where it is, for example with format jdbc.",
        )
    return standard, False


def streaming_table(options: Options) -> StreamingTable:
    """The streaming table that rows are written to."""
    return _catalog(Path(options.pond)).streaming_table(options.table)


def predicate_in(options: Options) -> Predicate:
    """Which rows are read, by option `where`."""
    if options.where is None:
        return Always()
    return read_condition(options.where, options.table, _catalog(Path(options.pond)))


def spark_schema(columns: Schema) -> str:
    """Columns in Spark's words."""
    return ", ".join(f"{SPARK.quote(c.name)} {c.type}" for c in columns)
