"""The network in a shard: what a Spark worker does for a tick, and what it remembers until the next one.

A task says where the shard stood and where it is to go: rows up to a position, time up to an instant. The worker keeps the
evaluator of a shard in memory between ticks. It may have missed ticks (another worker had the shard): then it takes in
the missed rows without evaluating them; or it may know nothing: then windows are filled from history.

Invariant. What a task gives depends on the task alone, not on what the worker remembers: memory is used only if it stands
exactly where the task begins. A task changes no file that anybody refers to, so it can be run again.
"""

from __future__ import annotations

import os
import pickle
import socket
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa

from millpond.arrow import arrow_schema, conform, integers
from millpond.catalog import Catalog, StandardTable, StreamingTable
from millpond.clock import SystemClock
from millpond.connectors import postgres
from millpond.durable import disk_errors
from millpond.errors import MillpondError
from millpond.event_time import Progress
from millpond.ingest.shards import shard_numbers
from millpond.network.evaluate.evaluator import Evaluator
from millpond.network.plan.prepared import Prepared, prepare
from millpond.network.run.shard_definitions import ShardDefinitions
from millpond.network.run.state import Seen
from millpond.network.state.backfill import Past
from millpond.network.state.checkpoints import Scribe, Window
from millpond.query.bind import Use
from millpond.query.local import Local
from millpond.schema import SEQ, Schema
from millpond.table.log import LogReader, Section
from millpond.table.standard import StandardStore
from millpond.table.store import Bounds, Snapshot
from millpond.table.stream import StreamTable, with_seq

_MOST_SHARDS = 64  # remembered by one worker


@dataclass(frozen=True)
class FrameSection:
    """Where a frame's rows of a shard are; the frame has the rows numbered from `first` up to `end`."""

    segment: str
    section: Section
    first: int
    end: int


@dataclass(frozen=True)
class ShardTask:
    """Bring one shard of a table from `before` to `after`. `sections` of the log reach back at least to `before`."""

    pond: str
    run_id: str
    version: int
    definitions: str
    table: str
    shard: int
    before: Seen
    after: Seen
    sections: tuple[FrameSection, ...]
    reach: int  # the sections hold the shard's rows from this number on
    progress: Mapping[str, tuple[int | None, int | None]]
    out: str
    keep: bool = False  # begin snapshots of windows afterwards
    owner: str = ""  # the worker that had the shard last

    def run(self, name: str) -> str:
        """The path of the result, an `Outcome`."""
        shard = _shard_for(self)
        outcome = shard.step(self)
        shard.keep(self)
        path = Path(self.out) / f"{name}.shard"
        with disk_errors(path):
            path.write_bytes(pickle.dumps(outcome, protocol=5))
        return str(path)


@dataclass(frozen=True)
class Outcome:
    table: str
    shard: int
    sent: dict[str, pa.Table]
    progress: dict[str, Progress]
    errors: dict[str, str]
    held: dict[tuple[str, str], tuple[int, int]]  # rows and bytes, for SHOW STATE
    worker: str


def worker_name() -> str:
    """This process, among all that may have a shard."""
    return f"{socket.gethostname()}-{os.getpid()}"


_shards: dict[tuple[str, str, str, int], Shard] = {}
_prepared: dict[tuple[str, str, int], Prepared] = {}  # shared by the shards of a worker: preparing a query is expensive


def _shard_for(task: ShardTask) -> Shard:
    key = (task.pond, task.run_id, task.table, task.shard)
    _forget([k for k in _shards if k[0] == task.pond and k[1] != task.run_id])  # the pond was closed and opened again
    while len(_shards) >= _MOST_SHARDS and key not in _shards:
        _shards.pop(next(iter(_shards))).close()
    if key not in _shards:
        _shards[key] = Shard(task)
    return _shards[key]


def forget_shards(pond: str) -> None:
    """Free what this process remembers of a pond."""
    _forget([k for k in _shards if k[0] == pond])


def forget_taken(pond: str, outcomes: Sequence[Outcome]) -> None:
    """Free the shards that other workers evaluated: what this process remembers of them is out of date.

    The pond's own process evaluates shards until Spark has started. Without this it would hold their windows for as long
    as the pond is open.
    """
    taken = {(o.table, o.shard) for o in outcomes if o.worker != worker_name()}
    _forget([k for k in _shards if k[0] == pond and k[2:] in taken])


def _forget(keys: list[tuple[str, str, str, int]]) -> None:
    if not keys:
        return  # the usual case; there may be many prepared queries to look through
    for key in keys:
        _shards.pop(key).close()
    runs = {key[1] for key in _shards}
    for known in [k for k in _prepared if k[0] not in runs]:
        del _prepared[known]


class Shard:
    """The evaluator of a shard; `seen` is None when it must be filled from history."""

    def __init__(self, task: ShardTask) -> None:
        self.seen: Seen | None = None
        self.version = -1
        self._catalog = Catalog()
        self._evaluator: Evaluator | None = None
        self._made: dict[str, tuple[str, int]] = {}
        self._scribe = Scribe(Path(task.out), task.shard)
        self._refused: dict[str, str] = {}  # by folder: queries whose windows could not be filled, and why

    def close(self) -> None:
        self._scribe.close()
        if self._evaluator is not None:
            self._evaluator.close()
        self._evaluator = None

    def step(self, task: ShardTask) -> Outcome:
        try:
            return self._step(task)
        except BaseException:
            self.seen = None  # whatever is in memory now stands nowhere
            raise

    def _step(self, task: ShardTask) -> Outcome:
        if self.seen is not None and self.seen != task.before:
            self._catch_up(task)
        if self.seen is None:
            self._fill(task)
        if self.version != task.version:
            self._change(task)
        assert self._evaluator is not None
        past = self._evaluator.history
        assert isinstance(past, ShardPast)
        past.forget_standards()
        self.seen = None
        rows = self._read(task, task.before.position, task.after.position)
        complete = {} if task.after.complete is None else {task.table: task.after.complete}
        sent = self._evaluator.step({task.table: rows}, complete)
        self.seen = task.after
        nodes = self._evaluator.nodes.values()
        return Outcome(
            task.table,
            task.shard,
            sent,
            {f: Progress(*task.progress[f]) for f in self._refused}
            | {n.prepared.query.folder: n.progress for n in nodes},
            self._refused | {n.prepared.query.folder: n.error for n in nodes if n.error is not None},
            self._evaluator.held(),
            worker_name(),
        )

    def keep(self, task: ShardTask) -> None:
        """Write down what would take long to find in history."""
        assert self._evaluator is not None
        table = self._catalog.streaming[task.table]
        windows = [
            Window(table.folder, what, table.shards, upto, rows)
            for stream, what, upto, rows in self._evaluator.keepable()
            if stream == table.name
        ]
        self._scribe.go_on(windows, {table.folder}, begin=task.keep)

    # -- where a shard stands -----------------------------------------------------------------------------------------

    def _catch_up(self, task: ShardTask) -> None:
        """Take in what another worker evaluated."""
        assert self.seen is not None
        assert self._evaluator is not None
        if self.seen.position > task.before.position or self.seen.position < task.reach:
            self.seen = None
            return
        for name, made in list(self._made.items()):
            if made[0] not in task.progress:  # dropped meanwhile
                self._evaluator.drop(name, keep_inlets=True)
                del self._made[name]
        rows = self._read(task, self.seen.position, task.before.position)
        complete = {} if task.before.complete is None else {task.table: task.before.complete}
        progress = {name: Progress(*task.progress[made[0]]) for name, made in self._made.items()}
        self._evaluator.skip({task.table: rows}, complete, progress)
        self.seen = task.before

    def _fill(self, task: ShardTask) -> None:
        """Begin from history."""
        self.close()
        definitions = self._load(task)
        past = ShardPast(Path(task.pond), self._catalog, task.table, task.shard)
        self._evaluator = Evaluator(past, threads=1)
        self._made, self._refused = {}, {}
        table = self._catalog.streaming[task.table]
        inlet = self._evaluator.open(table)
        if task.before.complete is not None:
            inlet.complete = inlet.trimmed = task.before.complete
        inlet.push(past.waiting(task.table, task.before.complete, task.before.position))
        for name in definitions.queries:
            self._add(name, task)
        past.close()
        self.seen = task.before

    def _change(self, task: ShardTask) -> None:
        """The network has changed: queries go and come, the others do not notice."""
        assert self._evaluator is not None
        definitions = self._load(task)
        past = self._evaluator.history
        assert isinstance(past, ShardPast)
        past.look_again(self._catalog)
        queries = self._catalog.queries
        self._refused = {}
        for name, made in list(self._made.items()):
            if name not in definitions.queries or made != (queries[name].folder, queries[name].made):
                self._evaluator.drop(name, keep_inlets=True)
                del self._made[name]
        for name in definitions.queries:
            if name not in self._made:
                self._add(name, task)
        past.close()

    def _add(self, name: str, task: ShardTask) -> None:
        """Take up a query. One that fails at that has failed like any other: the rest do not notice."""
        assert self._evaluator is not None
        query = self._catalog.queries[name]
        key = (task.run_id, query.folder, query.made)
        try:
            prepared = _prepared.get(key)
            if prepared is None:
                prepared = _prepared[key] = prepare(query, self._catalog)
            self._evaluator.add(prepared, Progress(*task.progress[query.folder]))
        except MillpondError as error:
            self._refused[query.folder] = str(error)
            return
        self._made[name] = (query.folder, query.made)

    def _load(self, task: ShardTask) -> ShardDefinitions:
        definitions = ShardDefinitions.read(task.definitions)
        self._catalog = definitions.catalog
        self.version = task.version
        return definitions

    def _read(self, task: ShardTask, low: int, high: int) -> pa.Table:
        """The shard's rows numbered from `low` up to `high`, from the log."""
        schema = arrow_schema(with_seq(self._catalog.streaming[task.table].columns))
        readers: dict[str, LogReader] = {}
        batches = []
        for part in task.sections:
            if part.end <= low or part.first >= high:
                continue
            path = Path(part.segment)
            reader = readers.setdefault(str(path.parent), LogReader(path.parent))
            batches.append(conform(reader.read(path, part.section), schema))
        rows = pa.Table.from_batches(batches, schema=schema)
        numbers = integers(rows.column(SEQ))
        if len(numbers) and (int(numbers.min()) < low or int(numbers.max()) >= high):
            rows = rows.filter(pa.array((numbers >= low) & (numbers < high)))
        return rows


class ShardPast(Past):
    """History of one shard, read from the pond's folder by a process that does not own it."""

    def __init__(self, pond: Path, catalog: Catalog, table: str, shard: int) -> None:
        self._reader = Reader(pond, catalog)
        super().__init__(self._reader, Local(pond.resolve()), catalog, pond / "shards", shard)
        self._table = catalog.streaming[table]
        self._shard = shard

    def look_again(self, catalog: Catalog) -> None:
        self.catalog = catalog
        self._reader.catalog = catalog
        self.close()

    def close(self) -> None:
        """Forget the tables' tails; they are read anew when asked for again."""
        self._reader.close()

    def _ask(self, table: StreamingTable | StandardTable, text: str, columns: Schema | None = None) -> pa.Table:
        rows = super()._ask(table, text, columns)
        if table.name != self._table.name or self._table.shards == 1 or not rows.num_rows:
            return rows
        batch = rows.combine_chunks().to_batches()[0]
        mine = shard_numbers(batch, self._table.shard_by, self._table.shards) == self._shard
        return rows.filter(pa.array(mine))


class Reader:
    """A pond's folder, read: the shelf of `ShardPast`."""

    def __init__(self, pond: Path, catalog: Catalog) -> None:
        self.catalog = catalog
        self._pond = pond
        self._streams: dict[str, StreamTable] = {}

    def _stream(self, name: str) -> StreamTable:
        if name not in self._streams:
            self._streams[name] = StreamTable(self._pond, self.catalog.streaming[name])
        return self._streams[name]

    def snapshot(self, use: Use) -> Snapshot | None:
        if isinstance(use.table, StreamingTable):
            return self._stream(use.table.name).rows.snapshot()
        if isinstance(use.table, StandardTable) and use.table.postgres is None:
            return StandardStore(self._pond, use.table, SystemClock()).store.snapshot()
        return None

    def time(self, use: Use) -> int | None:
        return self._stream(use.table.name).now if isinstance(use.table, StreamingTable) else None

    def fetch(self, use: Use, columns: list[str], bounds: Bounds) -> pa.Table:
        assert isinstance(use.table, StandardTable)
        assert use.table.postgres is not None
        table = use.table.postgres_table or use.table.name
        return postgres.fetch(use.table.postgres, table, columns, use.table.columns, bounds)

    def close(self) -> None:
        for stream in self._streams.values():
            stream.close()
        self._streams.clear()


def read_outcome(path: str) -> Outcome:
    """What a task wrote; the file is not needed any more."""
    outcome: Outcome = pickle.loads(Path(path).read_bytes())
    os.unlink(path)
    return outcome
