"""The network of a pond at work, in the process that owns the pond. It wires the steps of a tick together:

    advance_idle_tables   heartbeats of tables that are declared idle
    plan                  take the definitions up, then read what there is to do: a `TickPlan`
    (run)                 the plan's tasks, by workers
    evaluate              put together what the shards sent, evaluate what is evaluated whole
    commit                one durable frame; then results are handed to their outlets

A tick takes the rows accepted since the last one and evaluates every instant that has become complete. Its results, how
far each query is and how far into each table the network has read become durable in one frame, and are shown only then.

Invariant. `state` is what the last durable frame says; everything in memory can be made again from it and from the
tables' rows. So a crash is a pause, and adding a query is the same act as taking it up again after one. What definitions
have changed and no frame tells yet is kept apart, in `RunningQueries.draft`.

Locks. One tick at a time: whoever holds the pond's round owns what is in memory, evaluates, and may take long. The pond's
`work` lock guards definitions and the durable state; a tick takes it for moments, to gather and to commit, never while it
evaluates. So a statement that changes definitions does not wait for an evaluation: it notes the change, and cancels what is
being evaluated for nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import pyarrow as pa

from millpond.catalog import Catalog, ContinuousQuery
from millpond.errors import MillpondError
from millpond.network.engine.spark_engine import SparkEngine
from millpond.network.engine.watch import FOLDER, Watch, cancel, forget
from millpond.network.evaluate.evaluator import Evaluator
from millpond.network.plan.graph import bases
from millpond.network.plan.prepared import Prepared
from millpond.network.plan.two_phase import both_folders
from millpond.network.run import tick_plan
from millpond.network.run.commit import Commit, EvaluatedTick, decide, evaluate
from millpond.network.run.definitions import RunningQueries
from millpond.network.run.frames import RecentFrames
from millpond.network.run.host import NetworkHost
from millpond.network.run.idle import QuietTables, follow
from millpond.network.run.last_sent import noted
from millpond.network.run.overload import OverloadControl
from millpond.network.run.readers import Readers
from millpond.network.run.shard_definitions import DefinitionVersions
from millpond.network.run.state import State
from millpond.network.run.task import ShardOutcome
from millpond.network.run.tick_plan import TickPlan, plan_tick
from millpond.network.run.ticks import TickLog
from millpond.network.run.worker import forget_shards, forget_taken, stop_evaluations
from millpond.network.state import checkpoints, last_result
from millpond.network.state.backfill import WHOLE
from millpond.network.strategies.parts.one_time import spark_columns
from millpond.query.shelf import TableShelf
from millpond.results.log import ResultFrame, Sent
from millpond.results.losses import lost_end
from millpond.results.outlet import Outlet
from millpond.results.reader import Outlets
from millpond.schema import Column
from millpond.table.stream import StreamTable


class Network:
    """Owned by the pond. See the top of this module for who may call what; reading is free."""

    def __init__(self, host: NetworkHost) -> None:
        self.host = host
        self.state = State()
        self._readers = Readers(lambda: self.host.catalog)
        self.results = Outlets(host.folder, host.clock, State.from_json, self.read_from)
        self.outlets, self.arrived, self.keeper = self.results.by_name, self.results.arrived, self.results.keeper
        # By table and number: what the shards told last, without the rows they sent.
        self.shards: dict[str, dict[int, ShardOutcome]] = {}
        self.ticks = TickLog(host.clock)
        self.overload = OverloadControl(host.config.tick.total_seconds(), host.clock.micros)
        self._abandoned = False
        self._shards_folder: Path = host.folder / "shards"
        self._recent = RecentFrames()
        self._watch = Watch(host.folder / FOLDER, host.config.evaluation_time or None, host.clock)
        shelf = TableShelf(host, all_results=True)
        self.spark = SparkEngine(
            host.spark,
            host.folder / FOLDER,
            host.config.evaluation_time or None,
            host.clock,
            host.config.evaluation_memory,
            host.wake,
        )
        self._running = RunningQueries(host, shelf, self._shards_folder, self._recent, self._watch, self.spark)
        self._definitions = DefinitionVersions()
        self._owners: dict[tuple[str, int], str] = {}  # the worker that had a table's shard last
        self._checkpoints = checkpoints.Scribe(self._shards_folder, WHOLE)
        self._checkpoint_begun: float | None = None  # when the last ones were
        self._last_results = last_result.LastResults(host.folder)
        self._quiet = QuietTables(host.clock)

    # -- opening ----------------------------------------------------------------------------------------------------

    def load(self) -> None:
        """Take in what is in the log and not known yet."""
        self._is_durable(self.results.load(self.host.catalog, self.state))

    def become_writer(self) -> None:
        """Load what there is, and write from now on."""
        last_result.sweep(self.host.folder, {q.folder for q in self.catalog.queries.values()})
        checkpoints.sweep(self._shards_folder, {t.folder for t in self.catalog.streaming.values()})
        self.load()
        self.results.become_writer()
        self._running.draft = self.state.losing(self.results.lost).reading(self._tables_of_running_queries())
        self._make_up_for_lost_end()
        for table in self.catalog.streaming.values():
            self._forget_future(table.name)  # a crash may have fallen into taking it back
            if table.folder in self.state.seen:
                self.host.stream(table.name).skip_to(self.state.seen[table.folder].position)
        if self.results.lost:
            self.note_definitions()  # durable, so that it can be acknowledged for good

    def _tables_of_running_queries(self) -> set[str]:
        """The folders of tables that are read. A query that is resumed later begins where its tables stand then."""
        running = [q for q in self.catalog.queries.values() if not q.paused and q.folder not in self.state.failed]
        names = {name for query in running for name in query.reads}
        return {t.folder for t in self.catalog.streaming.values() if t.name in names}

    def _make_up_for_lost_end(self) -> None:
        """If the end of the result log is missing, go on behind every number that may have been used.

        How far the queries were is lost, too. If tables still have in memory all that was not read by then, the queries
        go on from there and send again what was lost; else they begin anew, now.
        """
        floor = self.results.log.missing_end()
        if floor is None:
            return
        state = self._running.draft
        streams = {t.folder: t.name for t in self.catalog.streaming.values()}
        again = bool(state.seen) and all(
            folder not in streams or seen.position >= self.host.stream(streams[folder]).rows.tail.start
            for folder, seen in state.seen.items()
        )
        queries, place = self.catalog.queries.values(), self.results.log.folder
        told = {q.folder: lost_end(q, state.numbers.get(q.folder, 0), floor, place, again=again) for q in queries}
        state = state.losing(told).numbering_from(floor, told)
        self._running.correct(state if again else replace(state, progress={}, seen={}))
        self.results.go_on_at(floor)
        self.note_definitions()

    def abandon(self) -> None:
        """The pond is being closed: end the tick under way, if this process evaluates it, and commit nothing of it."""
        self._abandoned = True
        self._watch.stop("the pond is being closed")
        self.spark.stop("the pond is being closed")
        stop_evaluations(str(self.host.folder), "the pond is being closed")

    def close(self) -> None:
        self.results.close()
        forget_shards(str(self.host.folder))
        self._checkpoints.close()
        checkpoints.settle()
        self._running.close()
        self.spark.close()
        self._watch.close()

    # -- the definitions --------------------------------------------------------------------------------------------

    def note_definitions(self) -> None:
        """Follow the catalog, under `work`: make durable where new queries begin, so that they begin there whatever happens.

        What is being evaluated of queries that were dropped or altered is cancelled.
        """
        running = self._running
        running.note()
        self.results.open(self.host.catalog, running.draft)
        self.results.show(running.draft)
        for step in running.steps.values():
            if not step.is_current(self.host.catalog):
                cancel(self.host.folder / FOLDER, step.key)
        if running.draft is not self.state and running.draft.begun_since(self.state):
            self._append(running.draft, ())

    def refusal(self, query: ContinuousQuery) -> MillpondError | None:
        """Why a query that was just noted cannot begin, if so."""
        return self._running.refusal(query)

    @property
    def in_sync(self) -> bool:
        """Whether the catalog has not changed since definitions were taken up last."""
        return self._running.in_sync

    def take_up_definitions(self) -> None:
        """Let go of what is not current and take up what is new, as the holder of the round. May take long."""
        if self.in_sync:
            return
        with self.host.work:
            self.note_definitions()
        self._running.take_up()
        with self.host.work:
            placed = set(self._running.placed.values())
            self.shards = {table: shards for table, shards in self.shards.items() if table in placed}
            self.results.show(self._running.draft)

    def acknowledge(self, query: ContinuousQuery) -> bool:
        """Somebody has read that results of a query are missing. Returns whether there were any."""
        found = self.results.acknowledge(query.folder) or query.folder in self._running.draft.lost
        self._running.draft = self._running.draft.acknowledging(query.folder)
        return found

    def note_last_sent(self, queries: Iterable[ContinuousQuery]) -> None:
        """Queries are about to change, or the rows they read: make durable what they sent last, so that they go on from there."""
        running = self._running
        for query in queries:
            running.draft = noted(running.draft, query)
        if running.draft.unsettled != self.state.unsettled:
            self._append(running.draft, ())

    def begin_anew(self, query: ContinuousQuery) -> None:
        """Forget how far a query is and why it stopped: when taken up again it begins where time stands then."""
        self._running.restart(both_folders(query.folder))

    def discard_results(self, outlet: Outlet) -> None:
        """Delete what is kept of the results of a query that was dropped."""
        self.results.discard(outlet)

    def keep_last_sent(self, table: str) -> None:
        """Rows of a table are about to be changed: what queries sent of them last will not follow from history. Called by the
        holder of the round."""
        self.note_last_sent(q for q in self.catalog.queries.values() if table in q.reads)
        self._running.keep_last_sent()

    def forget_checkpoints(self, table: str) -> None:
        """Rows of a table are about to be changed: what was written down of its windows will not be true."""
        checkpoints.forget(self._shards_folder, self.catalog.streaming[table].folder)

    def refill_windows(self, table: str) -> None:
        """Rows of a table were changed: windows are filled anew, so that the next instant sees what the table holds."""
        running = {step.query.name for step in self._running.steps.values()}
        if any(table in bases(query, self.catalog) for query in running if query in self.catalog.queries):
            self.start_over()

    def take_back(self, table: str) -> None:
        """The time of a table was taken back: read it from there on. Called by the holder of the round."""
        self._forget_future(table)
        self.start_over()
        self.note_definitions()

    def _forget_future(self, table: str) -> None:
        """Forget how far a table was read if its time is earlier now."""
        found, folder = self.host.stream(table), self.catalog.streaming[table].folder
        seen = self._running.draft.seen.get(folder)
        if seen is not None and seen.watermark is not None and found.now is not None and seen.watermark > found.now:
            rest = {key: one for key, one in self._running.draft.seen.items() if key != folder}
            self._running.correct(replace(self._running.draft, seen=rest))

    def start_over(self) -> None:
        """Forget everything that is not durable; the next tick fills windows from history."""
        self._checkpoints.close()
        self._running.start_over()

    def read_from(self, relation: str) -> int | None:
        """The time from which on rows of a table, or results of a query, have yet to be read; None if no query reads them."""
        return self._readers.read_from(relation, self.state)

    # -- a tick -----------------------------------------------------------------------------------------------------

    def advance_idle_tables(self) -> None:
        """Give tables that are declared idle the time of those they are joined with, and quiet ones with IDLE AFTER that of the
        wall clock. Writes to their logs."""
        with self.host.work:
            follow(self.host.catalog, self.host.stream, self.host.heartbeat)
            self._quiet.follow(self.host.catalog, self.host.stream, self.host.heartbeat)

    def plan(self) -> TickPlan | None:
        """What is to be done in the next tick; None if there is nothing."""
        self.ticks.begin()
        self.take_up_definitions()
        with self.host.work:
            self._update_definitions()
            plan = plan_tick(
                self.host, self._running, self._recent, self._definitions.newest, self._shards_folder, self._owners,
                checkpoint=self._checkpoint_due(),
            )  # fmt: skip
            if plan is not None and plan.checkpoint:
                self._checkpoint_begun = self.host.clock.monotonic()
        self.ticks.mark("plan")
        return plan

    def _checkpoint_due(self) -> bool:
        """Whether to begin checkpoints with the next tick: not at each of many that follow each other in milliseconds."""
        begun, now = self._checkpoint_begun, self.host.clock.monotonic()
        many = (self._running.draft.tick + 1) % tick_plan.CHECKPOINT_TICKS == 0
        return many and (begun is None or now - begun >= tick_plan.CHECKPOINT_PAUSE)

    def _update_definitions(self) -> None:
        """Make sure that workers are told the queries of the shards in their present version."""
        running = self._running
        for table in set(running.placed.values()):
            folder = self.catalog.streaming[table].folder
            queries = [query for query, name in running.placed.items() if name == table]
            name = f"{running.run_id}-{folder}-{running.versions[table]}"
            self._definitions.update(table, name, running.catalog, queries)

    def wait_for_spark(self, watermarks: Mapping[str, int | None]) -> bool:
        """Wait for an answer of Spark that the next tick can take, of an instant that is complete at these watermarks of tables.
        Without any lock. False if there is none to come, or if Spark cannot be had now."""

        def wanted(query: ContinuousQuery, instant: int) -> bool:
            known = [watermarks.get(table) for table in bases(query.name, self.catalog)]
            return all(time is not None and instant < time for time in known)

        return self.spark.wait(wanted)

    def finish(self, plan: TickPlan, outcomes: Sequence[ShardOutcome]) -> int:
        """Evaluate and commit a plan whose tasks are done. Returns the number of rows sent."""
        evaluation = self.evaluate(plan, outcomes)
        if evaluation is None:
            return 0
        with self.host.work:
            if self._abandoned:  # its evaluations were cut short, and nobody may be told that they failed
                self.start_over()
                return 0
            sent = self.commit(plan, evaluation)
        forget(self.host.folder / FOLDER)
        return sent

    def evaluate(self, plan: TickPlan, outcomes: Sequence[ShardOutcome]) -> EvaluatedTick | None:
        """Evaluate a plan whose tasks are done. None if it does not apply any more: then the next tick does its work.

        What it gives must be committed before definitions are taken up again: memory is ahead of what is durable.
        """
        self.ticks.mark("shards")
        for outcome in outcomes:
            self.shards.setdefault(outcome.table, {})[outcome.shard] = replace(outcome, sent={})
            self._owners[outcome.table, outcome.shard] = outcome.worker
        forget_taken(str(self.host.folder), outcomes)
        if self._running.past is not None:
            self._running.past.forget_standards()
        if self._running.whole is not None:
            self._running.whole.left_out = self.overload.level
        try:
            evaluated = evaluate(self.host, self._running, plan, outcomes)
        except BaseException:
            self.start_over()
            raise
        self.ticks.mark("whole")
        return evaluated

    def commit(self, plan: TickPlan, evaluation: EvaluatedTick) -> int:
        """Make a tick durable and hand its results out. Returns the number of rows sent.

        Of queries that were dropped, paused or altered since the plan nothing is committed.
        """
        running = self._running
        try:
            before = running.draft
            made = decide(before, evaluation, self.catalog)
            written = self._last_results.write(self._not_repeatable(made))
            stopped = made.state.failed.keys() - self.state.failed.keys()
            self._append(made.state, made.sent)
            self._last_results.forget_older(written)
            running.settle(before)
            outdated = running.stop(stopped)
            running.move_to_spark(made.for_spark)
            self._recent.extend({folder: plan.frames[folder] for folder in evaluation.seen})
            running.release_rows()
            self.results.release_old()
            self._keep_windows(begin=plan.checkpoint)
        except BaseException:
            self.start_over()  # memory may be ahead of what is durable
            raise
        if outdated or any(evaluation.steps[name].is_current(self.catalog) for name in made.discarded):
            self.start_over()  # these read what was discarded, and their windows have it
        arrived = sum(seen.position - plan.before[folder].position for folder, seen in evaluation.seen.items())
        sent: int = sum(batch.rows.num_rows for _, batch in made.sent)
        self.ticks.mark("commit")
        tick = self.ticks.end(made.state.tick, arrived, sent, self.overload.level)
        self.overload.judge(tick.seconds, evaluation.reading)
        return sent

    def _append(self, state: State, sent: Sequence[tuple[str, Sent]]) -> None:
        """Make a state and the results that lead to it durable, then show them."""
        state = replace(state, archived=self.results.archive_positions(state.archived))
        self.results.append(ResultFrame(state.tick, state.to_json(), [batch for _, batch in sent]))
        self._is_durable(state)
        self.results.hand_out(sent, state)

    def _is_durable(self, state: State) -> None:
        self.state = self._running.draft = state

    def _not_repeatable(self, made: Commit) -> Iterator[tuple[ContinuousQuery, int, pa.Table]]:
        """The last results of queries that cannot be worked out again after a restart. What unsettled ones sent last is kept."""
        assert self._running.whole is not None
        for strategy in self._running.whole.strategies.values():
            query, last = strategy.prepared.query, strategy.progress.last
            if not strategy.prepared.must_remember or query.name in made.discarded or last is None:
                continue
            if query.folder not in made.state.unsettled and (rows := strategy.last_result) is not None:
                yield query, last, rows

    def _keep_windows(self, *, begin: bool) -> None:
        """Checkpoints of the windows that are evaluated here, as the shards do theirs."""
        assert self._running.whole is not None
        tables = self.host.catalog.streaming.values()
        self._running.whole.write_checkpoints(self._checkpoints, tables, begin=begin)

    # -- reading ----------------------------------------------------------------------------------------------------

    @property
    def behind(self) -> set[str]:
        """The queries that left instants of the last tick to the next, because they have very many."""
        whole = self._running.whole
        return set() if whole is None else {whole.strategies[n].prepared.query.users_name for n in whole.left}

    def outlet(self, name: str) -> Outlet:
        query = self.host.catalog.query(name)
        if query.name not in self.results.by_name:
            self.results.open(self.host.catalog, self.state)
        return self.results.by_name[query.name]

    def failure(self, query: ContinuousQuery) -> str | None:
        """Why a query has stopped, if it has."""
        return self._running.draft.failed.get(query.folder)

    def waits(self, query: ContinuousQuery) -> str | None:
        """The other system that a query waits for, in words, if it does."""
        return None if query.paused else self._running.draft.waiting.get(query.folder)

    def problem(self, query: ContinuousQuery) -> str | None:
        """Why a query has stopped or waits, or what is wrong with its results."""
        damaged = self._running.damage_of(query, self.catalog)
        if damaged is not None:
            return f'it waits for table "{damaged[0]}", which is damaged: {damaged[1].primary}'
        lost = self._running.draft.lost.get(query.folder) or self.results.lost.get(query.folder)
        if lost is None and self.results.log.missing_end() is not None:  # as a reader: the next writer goes on
            lost = "the end of the result log is missing"
        outlet = self.outlets.get(query.name)
        kept = None
        if outlet is not None:
            damage = outlet.archive.damage if outlet.archive is not None else None
            kept = outlet.problem or (str(damage) if damage is not None else None)
        return self.failure(query) or self.waits(query) or lost or kept

    def columns(self, prepared: Prepared) -> list[Column]:
        """The columns a query selects, found without evaluating it. May start Spark."""
        if prepared.on_spark:
            return spark_columns(self.spark, prepared)
        with self.host.work:  # one engine answers all
            return self._running.columns(prepared)

    @property
    def catalog(self) -> Catalog:
        return self.host.catalog

    def table(self, name: str) -> StreamTable:
        return self.host.stream(name)

    @property
    def evaluator(self) -> Evaluator | None:
        """The evaluator of what is evaluated whole."""
        return self._running.whole

    def prepared(self, query: ContinuousQuery) -> Prepared:
        """A query as it is evaluated now."""
        return self._running.moved.prepare(query, self.catalog)

    def moves_later(self, name: str) -> bool:
        """Whether a query is evaluated whole until its next instant, and elsewhere from then on."""
        return self._running.moves_later(name)

    def placed(self, name: str) -> str | None:
        """The table in whose shards a query is evaluated, if it is."""
        return self._running.placed.get(name)
