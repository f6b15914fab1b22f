"""The network in a shard: what a Spark worker does for a tick, and what it remembers until the next one.

A task says where the shard stood and where it is to go: rows up to a position, time up to an instant. The worker keeps the
evaluator of a shard in memory between ticks. It may have missed ticks (another worker had the shard): then it takes in
the missed rows without evaluating them; or it may know nothing: then windows are filled from history.

Invariant. What a task gives depends on the task alone, not on what the worker remembers: memory is used only if it stands
exactly where the task begins. A task changes no file that anybody refers to, so it can be run again.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import cache
from pathlib import Path

import pyarrow as pa

from millpond.arrow import arrow_schema
from millpond.catalog import Catalog
from millpond.clock import SystemClock
from millpond.errors import MillpondError
from millpond.event_time import Progress
from millpond.network.engine.watch import FOLDER, Watch, definition_key, stuck
from millpond.network.evaluate.evaluator import Evaluator
from millpond.network.plan.prepared import Prepared, prepare
from millpond.network.run.shard_definitions import ShardDefinitions
from millpond.network.run.state import Seen
from millpond.network.run.task import ShardOutcome, ShardTask, worker_name
from millpond.network.state.checkpoints import Scribe
from millpond.network.state.shard_history import ShardPast
from millpond.network.strategies.base import spark_decides
from millpond.schema import with_seq
from millpond.table.sections import read_sections


def run_task(task: ShardTask) -> ShardOutcome:
    """Do a task."""
    shard = _shard_for(task)
    outcome = shard.step(task)
    shard.keep(task)
    shard.bytes = _EVALUATOR + sum(size for _, size in outcome.held.values())
    _let_go_of_oldest(_most_bytes())
    return outcome


_EVALUATOR = 5 << 20  # bytes that a shard takes beside its windows: 4.3 MB were measured for its DuckDB instance
_shards: dict[tuple[str, str, str, int], Shard] = {}  # those used longest ago first
_prepared: dict[tuple[str, str, int], Prepared] = {}  # shared by the shards of a worker: preparing a query is expensive


_watches: dict[str, Watch] = {}  # by pond


def _watch_for(task: ShardTask) -> Watch:
    if task.pond not in _watches:
        ends = worker_name() != task.planner
        _watches[task.pond] = Watch(Path(task.pond) / FOLDER, task.evaluation_time, SystemClock(), ends_process=ends)
    return _watches[task.pond]


def _shard_for(task: ShardTask) -> Shard:
    key = (task.pond, task.run_id, task.table, task.shard)
    _forget([k for k in _shards if k[0] == task.pond and k[1] != task.run_id])  # the pond was closed and opened again
    shard = _shards.pop(key) if key in _shards else Shard(task)
    _shards[key] = shard
    return shard


@cache
def _most_bytes() -> int:
    """What the shards of this process may take: of the machine's memory the share of one worker, of as many as it has cores, and
    one for the pond's process."""
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // (1 + (os.cpu_count() or 1))


def _let_go_of_oldest(most: int) -> None:
    """Forget shards, those used longest ago first, until the others take no more than that; the one just used stays."""
    taken = sum(shard.bytes for shard in _shards.values())
    while taken > most and len(_shards) > 1:
        shard = _shards.pop(next(iter(_shards)))
        taken -= shard.bytes
        shard.close()


def forget_shards(pond: str) -> None:
    """Free what this process remembers of a pond."""
    _forget([k for k in _shards if k[0] == pond])


def stop_evaluations(pond: str, reason: str) -> None:
    """End what this process evaluates of a pond, and whatever it would evaluate from now on."""
    watch = _watches.get(pond)
    if watch is not None:
        watch.stop(reason)


def forget_taken(pond: str, outcomes: Sequence[ShardOutcome]) -> None:
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
    for pond in [p for p in _watches if all(key[0] != p for key in _shards)]:
        _watches.pop(pond).close()
    runs = {key[1] for key in _shards}
    for known in [k for k in _prepared if k[0] not in runs]:
        del _prepared[known]


class Shard:
    """The evaluator of a shard; `seen` is None when it must be filled from history."""

    def __init__(self, task: ShardTask) -> None:
        self.seen: Seen | None = None
        self.bytes = _EVALUATOR  # and what its windows took after the last task
        self.version = -1
        self._catalog = Catalog()
        self._evaluator: Evaluator | None = None
        self._made: dict[str, tuple[str, int]] = {}
        self._scribe = Scribe(Path(task.out), task.shard)
        self._refused: dict[str, str] = {}  # by folder: queries whose windows could not be filled, and why
        self._for_spark: set[str] = set()  # of these: about which Spark is to decide
        self._stuck: dict[str, str] = {}  # by definition: evaluations that had to be ended with their worker, and why

    def close(self) -> None:
        self._scribe.close()
        if self._evaluator is not None:
            self._evaluator.close()
        self._evaluator = None

    def step(self, task: ShardTask) -> ShardOutcome:
        try:
            return self._step(task)
        except BaseException:
            self.seen = None  # whatever is in memory now stands nowhere
            raise

    def _step(self, task: ShardTask) -> ShardOutcome:
        self._stuck = stuck(Path(task.pond) / FOLDER)
        if self.seen is not None and self.seen != task.before:
            self._catch_up(task)
        if self.seen is None:
            self._fill(task)
        if self.version != task.version:
            self._change(task)
        assert self._evaluator is not None
        for name, made in list(self._made.items()) if self._stuck else ():
            if (why := self._stuck.get(definition_key(*made))) is not None:
                self._evaluator.drop(name, keep_inlets=True)
                self._refused[made[0]] = why
                del self._made[name]
        past = self._evaluator.history
        assert isinstance(past, ShardPast)
        past.forget_standards()
        self.seen = None
        rows = self._read(task, task.before.position, task.after.position)
        sent = self._evaluator.step({task.table: rows}, _frontiers(task.table, task.after))
        self.seen = task.after
        strategies = self._evaluator.strategies.values()
        return ShardOutcome(
            task.table,
            task.shard,
            sent,
            {f: Progress(*task.progress[f]) for f in self._refused}
            | {s.prepared.query.folder: s.progress for s in strategies},
            self._refused | {s.prepared.query.folder: s.error for s in strategies if s.error is not None},
            self._evaluator.held(),
            self._evaluator.costs(),
            worker_name(),
            frozenset(self._for_spark & self._refused.keys())
            | {s.prepared.query.folder for s in strategies if s.for_spark},
        )

    def keep(self, task: ShardTask) -> None:
        """Write down what would take long to find in history."""
        assert self._evaluator is not None
        table = self._catalog.streaming[task.table]
        self._evaluator.write_checkpoints(self._scribe, [table], begin=task.keep)

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
        progress = {name: Progress(*task.progress[made[0]]) for name, made in self._made.items()}
        self._evaluator.skip({task.table: rows}, _frontiers(task.table, task.before), progress)
        self.seen = task.before

    def _fill(self, task: ShardTask) -> None:
        """Begin from history."""
        self.close()
        definitions = self._load(task)
        past = ShardPast(Path(task.pond), self._catalog, task.table, task.shard)
        limit = None if task.evaluation_time is None else task.evaluation_time.total_seconds()
        memory = task.evaluation_memory
        self._evaluator = Evaluator(past, threads=1, memory=memory, watch=_watch_for(task), limit=limit)
        self._made, self._refused, self._for_spark = {}, {}, set()
        waiting = past.waiting(task.table, task.before.watermark, task.before.position)
        self._evaluator.open_at(self._catalog.streaming[task.table], task.before.watermark, waiting)
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
        past.redefine(self._catalog)
        queries = self._catalog.queries
        self._refused, self._for_spark = {}, set()
        for name, made in list(self._made.items()):
            if name not in definitions.queries or made != (queries[name].folder, queries[name].revision):
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
        if (why := self._stuck.get(definition_key(query.folder, query.revision))) is not None:
            self._refused[query.folder] = why
            return
        key = (task.run_id, query.folder, query.revision)
        prepared = _prepared.get(key)
        try:
            if prepared is None:
                prepared = _prepared[key] = prepare(query, self._catalog)
            self._evaluator.add(prepared, Progress(*task.progress[query.folder]))
        except MillpondError as error:
            self._refused[query.folder] = str(error)
            if prepared is not None and spark_decides(prepared, error):
                self._for_spark.add(query.folder)
            return
        self._made[name] = (query.folder, query.revision)

    def _load(self, task: ShardTask) -> ShardDefinitions:
        definitions = task.definitions
        self._catalog = definitions.catalog
        self.version = task.version
        return definitions

    def _read(self, task: ShardTask, low: int, high: int) -> pa.Table:
        """The shard's rows numbered from `low` up to `high`, from the log."""
        schema = arrow_schema(with_seq(self._catalog.streaming[task.table].columns))
        return read_sections(task.sections, low, high, schema)


def _frontiers(table: str, seen: Seen) -> dict[str, int]:
    """How far time is complete, as an evaluator wants it."""
    return {} if seen.watermark is None else {table: seen.watermark}
