"""Which queries run, in which steps and where, as the catalog says it.

A query is evaluated in the shards of a table or whole, in the pond's process; one that can be split runs as two steps,
the first in the shards and the second whole. New queries begin where time stands; altered ones go on where they were,
their windows filled from history.

`draft` is the durable state with the changes that definitions made to it: where new queries begin, which could not be
taken up, which are gone. Nothing here writes. The network makes the draft durable.
"""

from __future__ import annotations

import uuid
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from millpond.catalog import Catalog, ContinuousQuery, StreamingTable
from millpond.errors import CatalogError, MillpondError
from millpond.event_time import Progress
from millpond.network.engine.engine import Engine
from millpond.network.evaluate.evaluator import Evaluator, result_columns
from millpond.network.plan.graph import bases, in_order
from millpond.network.plan.prepared import Prepared, prepare
from millpond.network.plan.two_phase import split
from millpond.network.run.frames import RecentFrames
from millpond.network.run.host import Host
from millpond.network.run.placement import shard_table
from millpond.network.run.state import Seen, State
from millpond.network.state.backfill import Past
from millpond.query.plan import Shelf
from millpond.schema import Column, Schema


@dataclass(frozen=True)
class Step:
    """A query as it runs: itself, or one of the two steps it was split into. `query` is the one in the catalog."""

    definition: ContinuousQuery
    query: ContinuousQuery

    @property
    def folder(self) -> str:
        return self.definition.folder

    @property
    def sends(self) -> bool:
        """Whether what it sends is the result of the query, not that of a first step."""
        return self.definition.name == self.query.name

    def is_current(self, catalog: Catalog) -> bool:
        """Whether the catalog still has the query in this revision, and lets it run."""
        found = catalog.queries.get(self.query.name)
        return (
            found is not None
            and not found.paused
            and (found.folder, found.made) == (self.query.folder, self.query.made)
        )


class RunningQueries:
    """Changed by `sync`, `stop` and `start_over` only, under the pond's `work` lock."""

    def __init__(self, host: Host, shelf: Shelf, kept: Path, recent: RecentFrames) -> None:
        self.draft = State()
        self.whole: Evaluator | None = None  # evaluates what no shard key serves
        self.past: Past | None = None
        self.catalog = Catalog()  # with each query that was split replaced by its two steps
        self.steps: dict[str, Step] = {}  # that run, in the order in which they read each other
        self.placed: dict[str, str] = {}  # step -> the table in whose shards it is evaluated
        self.versions: dict[str, int] = {}  # of the queries in a table's shards
        self.run_id = _new_run()
        self._host = host
        self._shelf = shelf
        self._kept = kept
        self._recent = recent
        self._ready: dict[ContinuousQuery, Prepared] = {}  # prepared, and not taken up yet
        self._parts: dict[ContinuousQuery, tuple[ContinuousQuery, ...]] = {}
        self._synced: Catalog | None = None
        self._asker: Engine | None = None

    # -- what runs --------------------------------------------------------------------------------------------------

    @property
    def in_sync(self) -> bool:
        """Whether the catalog has not changed since the last `sync`."""
        return self._host.catalog is self._synced

    def sync(self) -> None:
        """Follow the catalog: let go of what is dropped, paused or altered, take up what is new."""
        catalog = self._host.catalog
        if self._synced is not None and _columns(self._synced) != _columns(catalog):
            self.start_over()  # windows hold rows without the new column
        if self.whole is None:
            if not catalog.queries:
                self._synced = catalog
                return
            self.past = Past(self._shelf, self._host.local, catalog, self._kept)
            self.whole = Evaluator(self.past, threads=2)
        assert self.past is not None
        self.catalog = self.past.catalog = self._in_steps(catalog)
        for name, step in list(self.steps.items()):
            if not step.is_current(catalog):
                self._let_go(name)
        self.draft = self.draft.keeping({q.folder for q in self.catalog.queries.values()})
        origins = {part: query for query, parts in self._parts.items() for part in parts}
        for definition in in_order(self.catalog.queries):
            if definition.name in self.steps or definition.paused or definition.folder in self.draft.failed:
                continue
            if self.damage_of(definition, self.catalog) is not None:
                continue  # it goes on where it was once the table is repaired
            self._take_up(Step(definition, origins[definition]))
        self._order_steps()
        self.release_rows()
        self._synced = catalog

    def _in_steps(self, catalog: Catalog) -> Catalog:
        """The catalog with each query that can be split replaced by its two steps."""
        queries: dict[str, ContinuousQuery] = {}
        parts: dict[ContinuousQuery, tuple[ContinuousQuery, ...]] = {}
        for query in catalog.queries.values():
            found = self._parts.get(query)
            if found is None:
                try:
                    prepared = self._ready[query] = prepare(query, catalog)
                except MillpondError as error:  # what it reads has changed: it stops, the others do not notice
                    self.draft = self.draft.failing({query.folder: str(error)})
                    queries[query.name] = query
                    continue
                two = split(prepared, catalog, self.columns) if shard_table(prepared, catalog) is None else None
                found = two or (query,)
            parts[query] = found
            for part in found:
                queries[part.name] = part
        self._parts = parts
        return replace(catalog, queries=queries)

    def _take_up(self, step: Step) -> None:
        assert self.whole is not None
        query = step.definition
        prepared = self._ready.pop(query, None) or prepare(query, self.catalog)
        table = shard_table(prepared, self.catalog)
        if table is None:
            for use in prepared.streams:
                self._open_inlet(use.table.name)
        else:
            self._see(table.name)
        progress = self.draft.progress.get(query.folder)
        if progress is None or (progress.complete is None and self._first_step(step) is not None):
            progress = self._begin(step, prepared)
            self.draft = self.draft.with_progress({query.folder: progress})
        if table is None:
            try:
                self.whole.add(prepared, progress)
            except MillpondError as error:
                self.draft = self.draft.failing({query.folder: str(error)})
                return
        else:
            self.placed[query.name] = table.name
            self.versions[table.name] = self.versions.get(table.name, 0) + 1
        self.steps[query.name] = step

    def damage_of(self, query: ContinuousQuery, catalog: Catalog) -> tuple[str, MillpondError] | None:
        """A damaged table that a query reads, and what is wrong with it."""
        for name in sorted(bases(query.name, catalog)):
            damage = self._host.stream(name).damage
            if damage is not None:
                return name, damage
        return None

    def _order_steps(self) -> None:
        self.steps = {q.name: self.steps[q.name] for q in in_order(self.catalog.queries) if q.name in self.steps}

    def _let_go(self, name: str) -> None:
        assert self.whole is not None
        del self.steps[name]
        table = self.placed.pop(name, None)
        if table is None:
            self.whole.drop(name)
        else:
            self.versions[table] = self.versions.get(table, 0) + 1

    def stop(self, folders: Collection[str]) -> None:
        """These have failed: they are not evaluated any more."""
        for name, step in list(self.steps.items()):
            if step.folder in folders:
                self._let_go(name)

    def release_rows(self) -> None:
        """Tell tables which rows may leave their memory and their log; forget those that no query reads."""
        read, sharded = self.tables_read(), set(self.placed.values())
        folders = {}
        damaged = set()
        for name in self._host.catalog.streaming:
            table = self._host.stream(name)
            if table.damage is not None:
                damaged.add(table.definition.folder)
            elif name in read:
                folders[table.definition.folder] = table
            else:
                table.consumed = table.wanted = None
        self.draft = self.draft.reading(folders.keys() | damaged)
        self._recent.keep(folders)
        for folder, table in folders.items():
            position = self.draft.seen[folder].position
            table.consumed = position
            table.wanted = self._recent.reach(folder, position) if table.definition.name in sharded else None

    def tables_read(self) -> set[str]:
        """The tables of which rows are taken in, by shards or whole."""
        whole = self.whole.inlets if self.whole is not None else {}
        return {*self.placed.values(), *(n for n in whole if n in self._host.catalog.streaming)}

    def restart(self, folders: tuple[str, ...]) -> None:
        """Forget how far these are: taken up again they begin where time stands then."""
        self.draft = self.draft.restarting(folders)

    def start_over(self) -> None:
        """Forget everything in memory; the next `sync` takes up all queries and fills their windows from history."""
        if self.whole is not None:
            self.whole.close()
        self.whole = self.past = self._synced = None
        self.steps.clear()
        self.placed.clear()
        self.run_id = _new_run()

    def columns(self, prepared: Prepared) -> list[Column]:
        """The columns a query selects, found by evaluating it over nothing."""
        if self._asker is None:
            self._asker = Engine()
        return result_columns(self._asker, prepared)

    def close(self) -> None:
        for engine in (self.whole, self._asker):
            if engine is not None:
                engine.close()
        self.whole = self._asker = None

    # -- where queries begin ----------------------------------------------------------------------------------------

    def _see(self, name: str) -> Seen:
        """How far the network has read a table; it begins to read where the table stands."""
        table = self._host.stream(name)
        folder = table.definition.folder
        if folder not in self.draft.seen:
            with table.lock:
                seen = Seen(table.next_row, table.now)
            self.draft = self.draft.with_seen({folder: seen})
        return self.draft.seen[folder]

    def _open_inlet(self, name: str) -> None:
        """A stream's inlet, standing where the network has read the stream to."""
        assert self.whole is not None
        assert self.past is not None
        if name in self.whole.inlets:
            return
        relation = self.catalog.relation(name)
        assert isinstance(relation, StreamingTable)
        complete = self._complete(name)
        inlet = self.whole.open(relation)
        if complete is not None:
            inlet.complete = inlet.trimmed = complete
        if name not in self.catalog.queries:
            inlet.push(self.past.waiting(name, complete, self._see(name).position))

    def _first_step(self, step: Step) -> ContinuousQuery | None:
        """The first step of a query, given its second."""
        parts = self._parts.get(step.query, ())
        return parts[0] if len(parts) > 1 and step.definition == parts[-1] else None

    def _begin(self, step: Step, prepared: Prepared) -> Progress:
        """Where a new query begins: where time stands, or at the time it was told."""
        first = self._first_step(step)
        if first is not None:
            return self.draft.progress[first.folder]
        if all(self._is_empty(u.table.name) for u in prepared.streams):
            return Progress()  # it begins with the first row, whenever it was made
        known = [self._complete(u.table.name) for u in prepared.streams]
        complete = min((c for c in known if c is not None), default=None)
        if complete is None:
            return Progress()
        start = prepared.query.start
        if start is not None:
            if start > complete:
                table = prepared.streams[0].table
                assert isinstance(table, StreamingTable)
                raise CatalogError(
                    f'query "{prepared.name}" cannot begin at {table.shown(start)}: time stands at {table.shown(complete)}',
                    hint="Leave FROM away to begin now.",
                )
            complete = start
        elif not any(self._had_rows(u.table.name, complete) for u in prepared.streams):
            return Progress()  # had it been there before, it would not have begun either
        if prepared.query.form == "rstream" or None in known:  # if a stream has no time, there was no instant before
            return Progress(complete)
        return Progress(complete, self._instant_before(prepared, complete))

    def _is_empty(self, name: str) -> bool:
        """Whether no row has ever come from a stream."""
        if name in self.catalog.queries:
            return self.draft.numbers.get(self.catalog.queries[name].folder, 0) == 0
        return self._host.stream(name).next_row == 0

    def _had_rows(self, name: str, time: int) -> bool:
        """Whether a stream has had a row before a time. Rows it keeps no longer were before any time that still matters."""
        assert self.past is not None
        oldest = self.past.oldest_time(name)
        return not self._is_empty(name) if oldest is None else oldest < time

    def _complete(self, name: str) -> int | None:
        """The time below which the network has read a stream."""
        query = self.catalog.queries.get(name)
        if query is not None:
            return self.draft.progress.get(query.folder, Progress()).complete
        return self._see(name).complete

    def _instant_before(self, prepared: Prepared, complete: int) -> int | None:
        """The instant at which the query would have been evaluated last, had it been there from the start."""
        assert self.past is not None
        names = {u.table.name for u in prepared.streams}
        newest = [self.past.newest_time(name, complete - 1) for name in names]
        known = [t for t in newest if t is not None]
        if not known:
            return None
        if prepared.slide is None:
            return max(known)
        last = (complete - 1) // prepared.slide * prepared.slide
        oldest = [t for name in names if (t := self.past.oldest_time(name)) is not None]
        return last if min(oldest) <= last else None


def _columns(catalog: Catalog) -> Mapping[str, Schema]:
    return {t.folder: t.columns for t in catalog.streaming.values()}


def _new_run() -> str:
    return uuid.uuid4().hex[:12]
