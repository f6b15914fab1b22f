"""The network of a pond at work, in the process that owns the pond: gather rows, evaluate, commit, hand out.

A tick takes the rows accepted since the last one and evaluates every instant that has become complete. Its results, how
far each query is and how far into each table the network has read become durable in one frame, and are shown only then.

Invariant. `state` is what the last durable frame says; everything in memory can be made again from it and from the
tables' rows. So a crash is a pause, and adding a query is the same act as taking it up again after one.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import pyarrow as pa

from millpond.arrow import arrow_schema, integers
from millpond.catalog import Catalog, ContinuousQuery
from millpond.errors import MillpondError
from millpond.network.engine import Engine
from millpond.network.evaluate import Evaluator, result_columns
from millpond.network.inlet import NEVER
from millpond.network.instants import Progress
from millpond.network.outlet import Outlet
from millpond.network.past import Past
from millpond.network.prepare import Prepared, in_order, prepare
from millpond.query.local import Local
from millpond.query.plan import Shelf
from millpond.schema import SEQ, Schema
from millpond.table.results import ResultFrame, ResultLog, Sent
from millpond.table.store import tail_table
from millpond.table.stream import StreamTable


class Host(Shelf, Protocol):
    """What the network asks of its pond."""

    folder: Path
    local: Local
    catalog: Catalog

    def stream(self, name: str) -> StreamTable:
        """A streaming table, opened."""


@dataclass
class Seen:
    """How far into a table the network has read: rows below `position`, time below `complete`."""

    position: int
    complete: int | None


@dataclass
class State:
    """What a frame says. Queries and tables are known by their folders, which are never used twice."""

    tick: int = 0
    progress: dict[str, Progress] = field(default_factory=dict)
    numbers: dict[str, int] = field(default_factory=dict)
    seen: dict[str, Seen] = field(default_factory=dict)
    failed: dict[str, str] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        return {
            "progress": {k: p.to_json() for k, p in self.progress.items()},
            "numbers": self.numbers,
            "seen": {k: [s.position, s.complete] for k, s in self.seen.items()},
            "failed": self.failed,
        }

    @classmethod
    def from_json(cls, tick: int, data: Mapping[str, Any]) -> State:
        return cls(
            tick,
            {k: Progress.from_json(p) for k, p in data["progress"].items()},
            dict(data["numbers"]),
            {k: Seen(*s) for k, s in data["seen"].items()},
            dict(data["failed"]),
        )


class Network:
    """Owned by the pond; `tick` and `sync` run under the pond's `work` lock, reading is free."""

    def __init__(self, host: Host) -> None:
        self._host = host
        self.arrived = threading.Condition()
        self.outlets: dict[str, Outlet] = {}
        self.state = State()
        self._log = ResultLog(host.folder / "results")
        self._evaluator: Evaluator | None = None
        self._past: Past | None = None
        self._known: dict[str, tuple[int, Prepared]] = {}

    # -- opening ----------------------------------------------------------------------------------------------------

    def load(self) -> None:
        """Take in what is in the log and not known yet."""
        catalog = self._host.catalog
        by_folder = {q.folder: q for q in catalog.queries.values()}
        self._open_outlets(catalog)
        for frame in self._log.poll():
            self.state = State.from_json(frame.tick, frame.state)
            for sent in frame.sent:
                query = by_folder.get(sent.folder)
                if query is not None and sent.first >= self.outlets[query.name].next:
                    self.outlets[query.name].take(sent.first, sent.rows)
        self._show_progress()

    def become_writer(self) -> None:
        self.load()
        self._log.resume()

    def _open_outlets(self, catalog: Catalog) -> None:
        for name in [n for n in self.outlets if n not in catalog.queries]:
            del self.outlets[name]
        for query in catalog.queries.values():
            found = self.outlets.get(query.name)
            if found is None or found.query.folder != query.folder:
                self.outlets[query.name] = Outlet(query, self.arrived)
                self.outlets[query.name].next = self.state.numbers.get(query.folder, 0)
            elif found.query != query:
                found.query = query

    def _show_progress(self) -> None:
        for outlet in self.outlets.values():
            outlet.progress = self.state.progress.get(outlet.query.folder, Progress())

    # -- the definitions --------------------------------------------------------------------------------------------

    def sync(self) -> None:
        """Bring the evaluator to the catalog's queries: new ones begin now, altered ones go on, filled from history."""
        catalog = self._host.catalog
        self._open_outlets(catalog)
        if self._evaluator is None:
            if not catalog.queries:
                return
            self._past = Past(self._host, self._host.local, catalog)
            self._evaluator = Evaluator(self._past, threads=2)
        assert self._past is not None
        self._past.catalog = catalog
        for name in list(self._known):
            query = catalog.queries.get(name)
            if query is None or query.paused or (query.folder, query.made) != self._key(name):
                self._evaluator.drop(name)
                del self._known[name]
        self._forget_tables(catalog)
        for query in in_order(catalog.queries):
            if query.name not in self._known and not query.paused:
                self._take_up(query, catalog)
        self._keep_frames()

    def _key(self, name: str) -> tuple[str, int]:
        prepared = self._known[name][1]
        return prepared.query.folder, prepared.query.made

    def _forget_tables(self, catalog: Catalog) -> None:
        live = {q.folder for q in catalog.queries.values()}
        for store in (self.state.progress, self.state.numbers, self.state.failed):
            for folder in [f for f in store if f not in live]:
                del store[folder]

    def _take_up(self, query: ContinuousQuery, catalog: Catalog) -> None:
        assert self._evaluator is not None
        prepared = prepare(query, catalog)
        for use in prepared.streams:
            self._open_inlet(use.table.name)
        progress = self.state.progress.get(query.folder)
        if progress is None:
            progress = self._begin(prepared)
            self.state.progress[query.folder] = progress
        try:
            self._evaluator.add(prepared, progress)
        except MillpondError as error:
            self.state.failed[query.folder] = str(error)
            return
        self._known[query.name] = (query.made, prepared)
        self.outlets[query.name].progress = progress

    def _open_inlet(self, name: str) -> None:
        """A stream's inlet, standing where the network has read the stream to."""
        assert self._evaluator is not None
        assert self._past is not None
        if name in self._evaluator.inlets:
            return
        relation = self._host.catalog.relation(name)
        if name in self._host.catalog.queries:
            query = self._host.catalog.queries[name]
            progress = self.state.progress.get(query.folder, Progress())
            inlet = self._evaluator.open(relation)  # type: ignore[arg-type]
            if progress.complete is not None:
                inlet.complete = inlet.trimmed = progress.complete
            return
        table = self._host.stream(name)
        seen = self.state.seen.get(table.definition.folder)
        if seen is None:
            with table.lock:
                seen = Seen(table.next_row, table.now)
            self.state.seen[table.definition.folder] = seen
        inlet = self._evaluator.open(relation)  # type: ignore[arg-type]
        if seen.complete is not None:
            inlet.complete = inlet.trimmed = seen.complete
        inlet.push(self._past.waiting(name, seen.complete, seen.position))

    def _begin(self, prepared: Prepared) -> Progress:
        """Where a new query begins: where time stands, or at the time it was told."""
        assert self._evaluator is not None
        complete: int | None = min(self._evaluator.inlets[u.table.name].complete for u in prepared.streams)
        if complete == NEVER:
            complete = None
        if prepared.query.start is not None:
            begin = prepared.query.start
            complete = begin if complete is None else min(begin, complete)
        if complete is None:
            return Progress()
        return Progress(complete, self._instant_before(prepared, complete))

    def _instant_before(self, prepared: Prepared, complete: int) -> int | None:
        """The instant at which the query would have been evaluated last, had it been there from the start."""
        assert self._past is not None
        names = {u.table.name for u in prepared.streams}
        newest = [self._past.newest_time(name, complete - 1) for name in names]
        known = [t for t in newest if t is not None]
        if not known:
            return None
        if prepared.slide is None:
            return max(known)
        last = (complete - 1) // prepared.slide * prepared.slide
        oldest = [t for name in names if (t := self._past.oldest_time(name)) is not None]
        return last if min(oldest) <= last else None

    def _keep_frames(self) -> None:
        """Rows a table has not given to the network yet must not leave its tail."""
        for name in self._host.catalog.streaming:
            table = self._host.stream(name)
            seen = self.state.seen.get(table.definition.folder)
            reads = self._evaluator is not None and name in self._evaluator.inlets
            table.consumed = seen.position if seen is not None and reads else None

    # -- a tick -----------------------------------------------------------------------------------------------------

    def tick(self) -> int:
        """Evaluate everything that is complete now. Returns how many rows were sent."""
        self.sync()
        if self._evaluator is None or not self._known:
            return 0
        assert self._past is not None
        self._past.forget_standards()
        rows: dict[str, pa.Table] = {}
        complete: dict[str, int] = {}
        seen = dict(self.state.seen)
        for name in self._evaluator.inlets:
            if name in self._host.catalog.queries:
                continue
            table = self._host.stream(name)
            folder = table.definition.folder
            came, position, now = new_rows(table, seen[folder].position)
            if came is not None:
                rows[name] = came
            if now is not None:
                complete[name] = now
            seen[folder] = Seen(position, now if now is not None else seen[folder].complete)
        if seen == self.state.seen and not self._evaluator.behind():
            return 0
        sent = self._evaluator.step(rows, complete)
        return self._commit(sent, seen)

    def _commit(self, sent: Mapping[str, pa.Table], seen: dict[str, Seen]) -> int:
        assert self._evaluator is not None
        state = State(self.state.tick + 1, dict(self.state.progress), dict(self.state.numbers), seen,
                      dict(self.state.failed))  # fmt: skip
        for node in self._evaluator.nodes.values():
            query = node.prepared.query
            state.progress[query.folder] = node.progress
            if node.error is not None:
                state.failed[query.folder] = node.error
        batches = []
        for name, rows in sent.items():
            folder = self._host.catalog.queries[name].folder
            first = state.numbers.get(folder, 0)
            state.numbers[folder] = first + rows.num_rows
            batches.append(Sent(folder, first, rows))
        self._log.append(ResultFrame(state.tick, state.to_json(), batches))
        self.state = state
        self._show_progress()
        for (name, rows), batch in zip(sent.items(), batches, strict=True):
            self.outlets[name].take(batch.first, rows)
        self._keep_frames()
        self._delete_old()
        return sum(r.num_rows for r in sent.values())

    def _delete_old(self) -> None:
        """Let go of the oldest segments, unless a result that is still shown lies in them."""
        for path, ends in self._log.surplus():
            by_folder = {o.query.folder: o for o in self.outlets.values()}
            if any(f in by_folder and by_folder[f].oldest_visible() < end for f, end in ends.items()):
                return
            for folder, end in ends.items():
                if folder in by_folder:
                    by_folder[folder].forget(end)
            self._log.delete(path)

    def begin_anew(self, folder: str) -> None:
        """Forget how far a query is: taken up again it begins at the time of then."""
        self.state.progress.pop(folder, None)
        self.state.failed.pop(folder, None)

    def columns(self, prepared: Prepared) -> Schema:
        """The columns a query selects, found by asking it over nothing."""
        engine = Engine()
        try:
            return result_columns(engine, prepared)
        finally:
            engine.close()

    # -- reading ----------------------------------------------------------------------------------------------------

    def outlet(self, name: str) -> Outlet:
        query = self._host.catalog.query(name)
        if query.name not in self.outlets:
            self._open_outlets(self._host.catalog)
        return self.outlets[query.name]

    @property
    def catalog(self) -> Catalog:
        return self._host.catalog

    def table(self, name: str) -> StreamTable:
        return self._host.stream(name)

    @property
    def evaluator(self) -> Evaluator | None:
        return self._evaluator

    def close(self) -> None:
        self._log.close()
        if self._evaluator is not None:
            self._evaluator.close()
            self._evaluator = None


def new_rows(table: StreamTable, position: int) -> tuple[pa.Table | None, int, int | None]:
    """The rows of a table from `position` on, in order of arrival, where they end, and the table's time."""
    with table.lock:
        blocks = table.rows.snapshot().blocks
        end, now = table.next_row, table.now
    if end <= position:
        return None, position, now
    rows = tail_table([b for b in blocks if b.last_seq >= position], arrow_schema(table.stored))
    numbers = integers(rows.column(SEQ))
    if len(numbers) and int(numbers.min()) < position:
        rows = rows.filter(pa.array(numbers >= position))
    return rows, end, now
