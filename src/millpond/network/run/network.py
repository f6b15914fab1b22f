"""The network of a pond at work, in the process that owns the pond: gather rows, evaluate, commit, hand out.

A tick takes the rows accepted since the last one and evaluates every instant that has become complete. Its results, how
far each query is and how far into each table the network has read become durable in one frame, and are shown only then.

Invariant. `state` is what the last durable frame says; everything in memory can be made again from it and from the
tables' rows. So a crash is a pause, and adding a query is the same act as taking it up again after one.
"""

from __future__ import annotations

import pickle
import threading
import uuid
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import pyarrow as pa

from millpond.arrow import arrow_schema, integers
from millpond.catalog import INSTANT, Catalog, ContinuousQuery, StreamingTable
from millpond.clock import Clock
from millpond.durable import delete_folder, disk_errors
from millpond.errors import CatalogError, MillpondError
from millpond.event_time import Progress, event_times
from millpond.network.engine.engine import Engine
from millpond.network.evaluate.evaluator import Evaluator, numbered, result_columns
from millpond.network.plan.graph import bases, in_order
from millpond.network.plan.kinds import remembers
from millpond.network.plan.prepared import Prepared, prepare
from millpond.network.plan.two_phase import PREFIX, both_folders, split
from millpond.network.run.idle import follow
from millpond.network.run.placement import shard_table
from millpond.network.run.ticks import TickLog
from millpond.network.run.worker import (
    Definitions,
    FrameSection,
    Seen,
    ShardTask,
    by_instant,
    forget_shards,
    forget_taken,
    merged,
    read_outcome,
)
from millpond.network.state import checkpoints as snapshots
from millpond.network.state import last_result as before
from millpond.network.state.backfill import WHOLE, Past
from millpond.query.bind import Use
from millpond.query.local import Local
from millpond.query.plan import Shelf
from millpond.results.archive import ResultArchive
from millpond.results.keeper import ResultKeeper
from millpond.results.log import ResultFrame, ResultLog, Sent
from millpond.results.outlet import Outlet
from millpond.schema import SEQ, Column, Schema
from millpond.table.log import ROWS, Frame
from millpond.table.store import Bounds, Snapshot, tail_table
from millpond.table.stream import StreamTable

_FRAMES_KEPT = 512
_SNAPSHOT_TICKS = 120  # between snapshots of windows


class Host(Shelf, Protocol):
    """What the network asks of its pond."""

    folder: Path
    local: Local
    catalog: Catalog
    clock: Clock

    def stream(self, name: str) -> StreamTable:
        """A streaming table, opened."""

    def heartbeat(self, name: str, time: int, rows: int) -> None:
        """Nothing before `time` is still to come to a table, if it has accepted `rows` rows and no more."""


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


@dataclass(frozen=True)
class Planned:
    """A tick between plan and commit: rows for what is evaluated whole, and how far it will have read."""

    rows: dict[str, pa.Table]
    seen: dict[str, Seen]
    fresh: dict[str, list[Frame]]


class Kept:
    """The shelf from which windows are filled: of results it shows all that are kept, not only those a query shows."""

    def __init__(self, network: Network) -> None:
        self._network = network

    def snapshot(self, use: Use) -> Snapshot | None:
        outlet = self._network.outlets.get(use.table.name)
        return outlet.snapshot(everything=True) if outlet is not None else self._network.host.snapshot(use)

    def time(self, use: Use) -> int | None:
        return self._network.host.time(use)

    def fetch(self, use: Use, columns: list[str], bounds: Bounds) -> pa.Table:
        return self._network.host.fetch(use, columns, bounds)


def _columns(catalog: Catalog) -> dict[str, Schema]:
    return {t.folder: t.columns for t in catalog.streaming.values()}


class Network:
    """Owned by the pond; `tick` and `sync` run under the pond's `work` lock, reading is free."""

    def __init__(self, host: Host) -> None:
        self.host = host
        self.arrived = threading.Condition()
        self.outlets: dict[str, Outlet] = {}
        self.state = State()
        self._log = ResultLog(host.folder / "results")
        self.keeper = ResultKeeper(host.clock)
        self._whole: Evaluator | None = None  # evaluates what no shard key serves
        self._past: Past | None = None
        self._catalog = Catalog()  # with the queries that are evaluated in two steps as two
        self._ready: dict[ContinuousQuery, Prepared] = {}  # prepared, and not taken up yet
        self._steps: dict[ContinuousQuery, tuple[ContinuousQuery, ...]] = {}
        # By table and shard: what they hold.
        self.held: dict[str, dict[int, dict[tuple[str, str], tuple[int, int]]]] = {}
        self.ticks = TickLog(host.clock)
        self._asker: Engine | None = None
        self._synced: Catalog | None = None
        self._begun = False  # a query began that no durable frame knows of
        self._known: dict[str, Prepared] = {}
        self._placed: dict[str, str] = {}  # query -> the table in whose shards it is evaluated
        self._versions: dict[str, int] = {}  # of the queries in a table's shards
        self._written: dict[str, Path] = {}
        self._frames: dict[str, deque[Frame]] = {}  # the newest of each table, for shards that missed some ticks
        self._run_id = uuid.uuid4().hex[:12]
        self._scribe = snapshots.Scribe(self._shards_folder, WHOLE)
        self._planned: Planned | None = None
        self._remembered: dict[str, tuple[int, int]] = {}  # of which instant the result of a query is written down
        self._owners: dict[tuple[str, int], str] = {}  # the worker that had a table's shard last

    # -- opening ----------------------------------------------------------------------------------------------------

    def load(self) -> None:
        """Take in what is in the log and not known yet."""
        with self.arrived:  # whoever reads sees it done; a row can be on its way from the log to an archive
            self._open_outlets(self.host.catalog)
            by_folder = {o.query.folder: o for o in self.outlets.values()}
            ahead = True
            while ahead:
                self._read_log(by_folder)
                gone = self._log.gone()
                # Only after the log: a segment is deleted when an archive has its rows, so that none is missed.
                ahead = False
                for name in self._archived():
                    ahead |= name in by_folder and by_folder[name].refresh()
                for ends in gone:
                    for folder, end in ends.items():
                        if folder in by_folder:
                            by_folder[folder].forget(end)
            self._show_progress()

    def _read_log(self, by_folder: Mapping[str, Outlet]) -> None:
        for frame in self._log.poll():
            self.state = State.from_json(frame.tick, frame.state)
            for sent in frame.sent:
                outlet = by_folder.get(sent.folder)
                if outlet is not None:
                    outlet.progress = self.state.progress.get(sent.folder, Progress())
                    outlet.take(sent.first, sent.rows)
        for folder, outlet in by_folder.items():  # whose results may all have left the log
            outlet.next = max(outlet.next, self.state.numbers.get(folder, 0))

    def _archived(self) -> list[str]:
        """The folders of queries that have an archive of results, or had one."""
        folder = self.host.folder / "results"
        return [path.name for path in folder.iterdir() if path.is_dir()] if folder.is_dir() else []

    def become_writer(self) -> None:
        before.sweep(self.host.folder, {q.folder for q in self.catalog.queries.values()})
        snapshots.sweep(self._shards_folder, {t.folder for t in self.catalog.streaming.values()})
        self.load()
        self._log.resume()
        by_folder = {o.query.folder: o for o in self.outlets.values()}
        for name in self._archived():
            archive = by_folder[name].archive if name in by_folder else None
            if archive is not None:
                archive.delete_strays()
            else:  # dropped just before a crash
                delete_folder(self.host.folder / "results" / name, self.host.folder)

    def _open_outlets(self, catalog: Catalog) -> None:
        for name in [n for n in self.outlets if n not in catalog.queries]:
            del self.outlets[name]
        for query in catalog.queries.values():
            found = self.outlets.get(query.name)
            if found is None or found.query.folder != query.folder:
                archive = ResultArchive(self.host.folder / "results" / query.folder, query.columns, self.host.clock)
                made = self.outlets[query.name] = Outlet(query, self.arrived, archive)
                made.next = max(made.next, self.state.numbers.get(query.folder, 0))
            elif found.query != query:
                found.query = query

    def _show_progress(self) -> None:
        for outlet in self.outlets.values():
            outlet.progress = self.state.progress.get(outlet.query.folder, Progress())

    # -- the definitions --------------------------------------------------------------------------------------------

    def sync(self) -> None:
        """Take up the catalog's queries: new ones begin now, altered ones go on, filled from history."""
        catalog = self.host.catalog
        if catalog is self._synced:
            return
        if self._synced is not None and _columns(self._synced) != _columns(catalog):
            self.start_over()  # windows hold rows without the new column
        if self._whole is None:
            if not catalog.queries:
                self._open_outlets(catalog)
                self._synced = catalog
                return
            self._past = Past(Kept(self), self.host.local, catalog, self._shards_folder)
            self._whole = Evaluator(self._past, threads=2)
        assert self._past is not None
        assert self._whole is not None
        self._open_outlets(catalog)
        self._catalog = effective = self._in_steps(catalog)
        self._past.catalog = effective
        for name, prepared in list(self._known.items()):
            query = effective.queries.get(name)
            if (
                query is None
                or query.paused
                or (query.folder, query.made) != (prepared.query.folder, prepared.query.made)
            ):
                self._let_go(name)
        self._forget_dropped(effective)
        for query in in_order(effective.queries):
            if query.name not in self._known and not query.paused and query.folder not in self.state.failed:
                self._take_up(query, effective)
        self._let_rows_go()
        self._synced = catalog

    def _in_steps(self, catalog: Catalog) -> Catalog:
        """The catalog with each query that can be split replaced by its two steps."""
        queries: dict[str, ContinuousQuery] = {}
        steps: dict[ContinuousQuery, tuple[ContinuousQuery, ...]] = {}
        for query in catalog.queries.values():
            found = self._steps.get(query)
            if found is None:
                try:
                    prepared = self._ready[query] = prepare(query, catalog)
                except MillpondError as error:  # what it reads has changed: it stops, the others do not notice
                    self.state.failed.setdefault(query.folder, str(error))
                    queries[query.name] = query
                    continue
                parts = split(prepared, catalog, self.columns) if shard_table(prepared, catalog) is None else None
                found = parts or (query,)
            steps[query] = found
            for part in found:
                queries[part.name] = part
        self._steps = steps
        return replace(catalog, queries=queries)

    def settle(self) -> None:
        """Make durable where new queries begin, so that they begin there whatever happens."""
        self.sync()
        if self._begun:
            self._log.append(ResultFrame(self.state.tick, self.state.to_json(), ()))
            self._begun = False

    def _let_go(self, name: str) -> None:
        assert self._whole is not None
        del self._known[name]
        table = self._placed.pop(name, None)
        if table is None:
            self._whole.drop(name)
        else:
            self._versions[table] = self._versions.get(table, 0) + 1

    def _forget_dropped(self, catalog: Catalog) -> None:
        live = {q.folder for q in catalog.queries.values()}
        stores: list[dict[str, Any]] = [self.state.progress, self.state.numbers, self.state.failed]
        for store in stores:
            for folder in [f for f in store if f not in live]:
                del store[folder]

    def _take_up(self, query: ContinuousQuery, catalog: Catalog) -> None:
        assert self._whole is not None
        prepared = self._ready.pop(query, None) or prepare(query, catalog)
        table = shard_table(prepared, catalog)
        if table is None:
            for use in prepared.streams:
                self._open_inlet(use.table.name)
        else:
            self._see(table.name)
        progress = self.state.progress.get(query.folder)
        if progress is None or (progress.complete is None and query.reads[0].startswith(PREFIX)):
            progress = self._begin(prepared)
            self.state.progress[query.folder] = progress
            self._begun = True
        if table is None:
            try:
                self._whole.add(prepared, progress)
            except MillpondError as error:
                self.state.failed[query.folder] = str(error)
                return
        else:
            self._placed[query.name] = table.name
            self._versions[table.name] = self._versions.get(table.name, 0) + 1
        self._known[query.name] = prepared
        if query.name in self.outlets:
            self.outlets[query.name].progress = progress

    def _see(self, name: str) -> Seen:
        """How far the network has read a table; it begins to read where the table stands."""
        table = self.host.stream(name)
        folder = table.definition.folder
        if folder not in self.state.seen:
            with table.lock:
                self.state.seen[folder] = Seen(table.next_row, table.now)
            self._frames[folder] = deque()
        return self.state.seen[folder]

    def _open_inlet(self, name: str) -> None:
        """A stream's inlet, standing where the network has read the stream to."""
        assert self._whole is not None
        assert self._past is not None
        if name in self._whole.inlets:
            return
        relation = self._catalog.relation(name)
        assert isinstance(relation, StreamingTable)
        query = self._catalog.queries.get(name)
        complete = self._complete(name)
        inlet = self._whole.open(relation)
        if complete is not None:
            inlet.complete = inlet.trimmed = complete
        if query is None:
            inlet.push(self._past.waiting(name, complete, self._see(name).position))

    def _begin(self, prepared: Prepared) -> Progress:
        """Where a new query begins: where time stands, or at the time it was told."""
        if prepared.query.reads[0].startswith(PREFIX):  # the second of two steps goes with the first
            return self.state.progress[self._catalog.queries[prepared.query.reads[0]].folder]
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
        if name in self._catalog.queries:
            return self.state.numbers.get(self._catalog.queries[name].folder, 0) == 0
        return self.host.stream(name).next_row == 0

    def _had_rows(self, name: str, time: int) -> bool:
        """Whether a stream has had a row before a time. Rows it keeps no longer were before any time that still matters."""
        assert self._past is not None
        oldest = self._past.oldest_time(name)
        return not self._is_empty(name) if oldest is None else oldest < time

    def _complete(self, name: str) -> int | None:
        """The time below which the network has read a stream."""
        query = self._catalog.queries.get(name)
        if query is not None:
            return self.state.progress.get(query.folder, Progress()).complete
        return self._see(name).complete

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

    def _let_rows_go(self) -> None:
        """Tell tables what may leave their memory and their log; forget those that no query reads."""
        assert self._whole is not None
        read = {*self._whole.inlets, *self._placed.values()}
        for name in self.host.catalog.streaming:
            table = self.host.stream(name)
            folder = table.definition.folder
            if name not in read:
                self.state.seen.pop(folder, None)
                self._frames.pop(folder, None)
                table.consumed = table.wanted = None
                continue
            table.consumed = self.state.seen[folder].position
            table.wanted = self._reach(folder) if name in self._placed.values() else None

    def _reach(self, folder: str) -> int:
        """The first row that a shard that missed some ticks can still find in the log."""
        frames = self._frames.get(folder)
        return frames[0].first if frames else self.state.seen[folder].position

    # -- a tick -----------------------------------------------------------------------------------------------------

    def tick(self) -> None:
        """Evaluate everything that is complete now, with this process's own hands."""
        tasks = self.plan()
        name = f"here-{uuid.uuid4().hex[:8]}"
        self.finish([task.run(f"{name}-{i}") for i, task in enumerate(tasks)])

    def plan(self) -> list[ShardTask]:
        """What the shards have to do for the next tick. What is left is done by `finish`."""
        self._planned = None
        self.ticks.begin()
        self.settle()
        if self._whole is None or not self._known:
            return []
        follow(self.host.catalog, self.host.stream, self.host.heartbeat)
        self._past_now().forget_standards()
        rows: dict[str, pa.Table] = {}
        seen = dict(self.state.seen)
        fresh: dict[str, list[Frame]] = {}
        for name in {*self._placed.values(), *(n for n in self._whole.inlets if n in self.host.catalog.streaming)}:
            table = self.host.stream(name)
            folder = table.definition.folder
            came = arrivals_of(table, seen[folder].position, rows=name in self._whole.inlets)
            if came.rows is not None:
                rows[name] = came.rows
            fresh[folder] = came.frames
            seen[folder] = Seen(came.position, came.now if came.now is not None else seen[folder].complete)
        if seen == self.state.seen and not self._whole.behind():
            return []
        self._planned = Planned(rows, seen, fresh)
        self.ticks.mark("plan")
        return [task for name in sorted(set(self._placed.values())) for task in self._tasks(name, self._planned)]

    @property
    def _shards_folder(self) -> Path:
        return self.host.folder / "shards"

    @property
    def _snapshot_due(self) -> bool:
        return (self.state.tick + 1) % _SNAPSHOT_TICKS == 0

    def _keep_windows(self, *, begin: bool) -> None:
        """Snapshots of the windows that are evaluated here, as the shards do theirs."""
        assert self._whole is not None
        streaming = self.host.catalog.streaming
        windows = [
            snapshots.Window(streaming[s].folder, what, streaming[s].shards, upto, rows)
            for s, what, upto, rows in self._whole.keepable()
            if s in streaming
        ]
        self._scribe.go_on(windows, {t.folder for t in streaming.values()}, begin=begin)

    def _past_now(self) -> Past:
        assert self._past is not None
        return self._past

    def _tasks(self, name: str, planned: Planned) -> list[ShardTask]:
        table = self.host.stream(name).definition
        before, after = self.state.seen[table.folder], planned.seen[table.folder]
        if before == after:
            return []
        frames = [*self._frames.get(table.folder, ()), *planned.fresh[table.folder]]
        out = self._shards_folder
        queries = [q for q, t in self._placed.items() if t == name]
        definitions = self._definitions(name, queries, out)
        progress = {}
        for query in queries:
            folder = self._known[query].query.folder
            found = self.state.progress.get(folder, Progress())
            progress[folder] = (found.complete, found.last)
        return [
            ShardTask(
                pond=str(self.host.folder),
                run_id=self._run_id,
                version=self._versions[name],
                definitions=str(definitions),
                table=name,
                shard=shard,
                before=before,
                after=after,
                sections=tuple(
                    FrameSection(str(f.path), section, f.first, f.end)
                    for f in frames
                    for section in f.sections
                    if section.kind == ROWS and section.shard == shard
                ),
                reach=frames[0].first if frames else before.position,
                progress=progress,
                out=str(out),
                keep=self._snapshot_due,
                owner=self._owners.get((name, shard), ""),
            )
            for shard in range(table.shards)
        ]

    def _definitions(self, table: str, queries: list[str], out: Path) -> Path:
        folder = self.host.stream(table).definition.folder
        path = out / f"{self._run_id}-{folder}-{self._versions[table]}.definitions"
        if path != self._written.get(table):
            temporary = path.with_suffix(".tmp")
            with disk_errors(path):
                out.mkdir(parents=True, exist_ok=True)
                temporary.write_bytes(pickle.dumps(Definitions(self._catalog.without_functions_here(), tuple(queries))))
                temporary.replace(path)
            old = self._written.get(table)
            if old is not None:
                old.unlink(missing_ok=True)
            self._written[table] = path
        return path

    def finish(self, paths: Sequence[str]) -> int:
        """Take in what came out of the shards, evaluate what needs the whole, commit. Returns the number of rows sent."""
        planned, self._planned = self._planned, None
        if planned is None or self._whole is None:
            return 0
        outcomes = [read_outcome(path) for path in paths]
        shards = merged(outcomes)
        self.ticks.mark("shards")
        arrived = sum(s.position - self.state.seen[f].position for f, s in planned.seen.items() if f in self.state.seen)
        for outcome in outcomes:
            self.held.setdefault(outcome.table, {})[outcome.shard] = outcome.held
            self._owners[outcome.table, outcome.shard] = outcome.worker
        forget_taken(str(self.host.folder), outcomes)
        state = State(self.state.tick + 1, {**self.state.progress, **shards.progress}, dict(self.state.numbers),
                      planned.seen, {**self.state.failed, **shards.errors})  # fmt: skip
        sent: dict[str, pa.Table] = {}
        for name in self._known:  # in the order in which they read each other
            if name not in shards.sent:
                continue
            rows = by_instant(shards.sent[name])
            folder = self._catalog.queries[name].folder
            if folder in shards.errors:
                end = shards.progress[folder].complete
                rows = rows.slice(0, 0 if end is None else int(np.searchsorted(event_times(rows, INSTANT), end)))
            if rows.num_rows:
                sent[name] = rows
        complete = {}
        for name, inlet in self._whole.inlets.items():
            query = self._catalog.queries.get(name)
            if query is None:
                now = planned.seen[self.host.stream(name).definition.folder].complete
            elif name in self._placed:
                now = state.progress.get(query.folder, Progress()).complete
                if now is None and query.folder not in state.failed:
                    # Not begun yet: it has the time of what it reads.
                    now = planned.seen[self.host.stream(self._placed[name]).definition.folder].complete
                if name in sent:
                    first = state.numbers.get(query.folder, 0)
                    planned.rows[name] = numbered(sent[name], first).cast(inlet.schema)
            else:
                continue
            if now is not None:
                complete[name] = now
        try:
            due = self._snapshot_due
            sent |= self._whole.step(planned.rows, complete)
            self.ticks.mark("whole")
            count = self._commit(sent, state, planned)
            self._keep_windows(begin=due)
            self.ticks.mark("commit")
            self.ticks.end(state.tick, arrived, count)
            return count
        except BaseException:
            self.start_over()  # memory may be ahead of what is durable
            raise

    def start_over(self) -> None:
        """Forget everything that is not durable; the next tick fills windows from history."""
        if self._whole is not None:
            self._whole.close()
        self._scribe.close()
        self._whole = self._past = self._synced = None
        self._known.clear()
        self._placed.clear()
        self._run_id = uuid.uuid4().hex[:12]

    def _commit(self, sent: Mapping[str, pa.Table], state: State, planned: Planned) -> int:
        assert self._whole is not None
        for node in self._whole.nodes.values():
            query = node.prepared.query
            state.progress[query.folder] = node.progress
            if node.error is not None:
                state.failed[query.folder] = node.error
        known = {q.folder for q in self._catalog.queries.values()}
        for folder, why in list(state.failed.items()):
            for one in known.intersection(both_folders(folder)):  # of a query in two steps both stop
                state.failed.setdefault(one, why)
        sent = {name: rows for name, rows in sent.items() if not name.startswith(PREFIX)}
        batches = []
        for name, rows in sent.items():
            folder = self._catalog.queries[name].folder
            first = state.numbers.get(folder, 0)
            state.numbers[folder] = first + rows.num_rows
            batches.append(Sent(folder, first, rows))
        remembered = self._remember()
        self._log.append(ResultFrame(state.tick, state.to_json(), batches))
        for query, last in remembered:
            before.forget(self.host.folder, query, last)
        for folder in state.failed.keys() - self.state.failed.keys():
            self._stop(folder)
        self.state = state
        self._begun = False
        self._show_progress()
        for (name, rows), batch in zip(sent.items(), batches, strict=True):
            self.outlets[name].take(batch.first, rows)
        for folder, frames in planned.fresh.items():
            kept = self._frames.setdefault(folder, deque())
            kept.extend(frames)
            while len(kept) > _FRAMES_KEPT:
                kept.popleft()
        self._let_rows_go()
        self._delete_old()
        return sum(r.num_rows for r in sent.values())

    def _remember(self) -> list[tuple[ContinuousQuery, int]]:
        """Write down what cannot be worked out again after a restart; of which queries, and of which instants."""
        assert self._whole is not None
        found = []
        for node in self._whole.nodes.values():
            last = node.progress.last
            if node.before is not None and last is not None and remembers(node.prepared):
                query = node.prepared.query
                if self._remembered.get(query.folder) != (query.made, last):
                    before.write(self.host.folder, query, last, node.before)
                    self._remembered[query.folder] = (query.made, last)
                    found.append((query, last))
        return found

    def _stop(self, folder: str) -> None:
        """A query has failed: it is not evaluated any more."""
        for name, prepared in list(self._known.items()):
            if prepared.query.folder == folder:
                self._let_go(name)

    def _delete_old(self) -> None:
        """Let go of the oldest segments. Results in them that are still wanted are moved to their archives before."""
        by_folder = {o.query.folder: o for o in self.outlets.values()}
        below: dict[str, int] = {}
        for path, ends in self._log.surplus():
            held = [f for f, end in ends.items() if f in by_folder and not by_folder[f].may_leave(end)]
            if held:
                early = self._log.early()
                below = {f: early[f] for f in held}
                break
            for folder, end in ends.items():
                if folder in by_folder:
                    by_folder[folder].forget(end)
            self._log.delete(path)
        for folder, outlet in by_folder.items():
            number = max(below.get(folder, 0), outlet.crowded())
            if number or outlet.is_stale:
                self.keeper.ask(outlet, number)

    def discard(self, outlet: Outlet) -> None:
        """A query was dropped: its archive goes."""
        self.keeper.forget(outlet)
        if outlet.archive is not None:
            outlet.archive.delete(self.host.folder)

    def problem(self, query: ContinuousQuery) -> str | None:
        """Why a query has stopped, or what is wrong with keeping its results."""
        outlet = self.outlets.get(query.name)
        return self.state.failed.get(query.folder) or (outlet.problem if outlet is not None else None)

    def forget_snapshots(self, table: str) -> None:
        """Rows of a table are about to be changed: what was written down of its windows will not be true."""
        snapshots.forget(self._shards_folder, self.catalog.streaming[table].folder)

    def look_again(self, table: str) -> None:
        """Rows of a table were changed: windows are filled anew, so that the next instant sees what the table holds."""
        if any(table in bases(query, self.catalog) for query in self._known if query in self.catalog.queries):
            self.start_over()

    def begin_anew(self, folder: str) -> None:
        """Forget how far a query is: taken up again it begins at the time of then."""
        for one in both_folders(folder):
            self.state.progress.pop(one, None)
            self.state.failed.pop(one, None)

    def columns(self, prepared: Prepared) -> list[Column]:
        """The columns a query selects, found by asking it over nothing."""
        if self._asker is None:
            self._asker = Engine()
        return result_columns(self._asker, prepared)

    # -- reading ----------------------------------------------------------------------------------------------------

    def outlet(self, name: str) -> Outlet:
        query = self.host.catalog.query(name)
        if query.name not in self.outlets:
            self._open_outlets(self.host.catalog)
        return self.outlets[query.name]

    @property
    def catalog(self) -> Catalog:
        return self.host.catalog

    def table(self, name: str) -> StreamTable:
        return self.host.stream(name)

    @property
    def evaluator(self) -> Evaluator | None:
        """The evaluator of what is evaluated whole."""
        return self._whole

    def placed(self, name: str) -> str | None:
        """The table in whose shards a query is evaluated, if it is."""
        return self._placed.get(name)

    def close(self) -> None:
        self.keeper.close()
        self._log.close()
        forget_shards(str(self.host.folder))
        self._scribe.close()
        snapshots.settle()
        for path in self._written.values():
            path.unlink(missing_ok=True)
        for engine in (self._whole, self._asker):
            if engine is not None:
                engine.close()
        self._whole = self._asker = None


@dataclass(frozen=True)
class Arrivals:
    """What came into a table: rows if they were asked for, frames of its log, where they end, and its time then."""

    rows: pa.Table | None
    frames: list[Frame]
    position: int
    now: int | None


def arrivals_of(table: StreamTable, position: int, *, rows: bool) -> Arrivals:
    with table.lock:
        blocks = table.rows.snapshot().blocks
        end, now = table.next_row, table.now
        frames = [f for f in table.frames if f.end > position]
    if end <= position or not rows:
        return Arrivals(None, frames, end, now)
    found = tail_table([b for b in blocks if b.last_seq >= position], arrow_schema(table.stored))
    numbers = integers(found.column(SEQ))
    if len(numbers) and int(numbers.min()) < position:
        found = found.filter(pa.array(numbers >= position))
    return Arrivals(found, frames, end, now)
