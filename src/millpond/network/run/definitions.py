"""Which queries run, in which steps and where, as the catalog says it.

A query is evaluated in the shards of a table or whole, in the pond's process; one that can be split runs as two steps,
the first in the shards and the second whole. New queries begin where time stands; altered ones go on where they were,
their windows filled from history.

`draft` is the durable state with the changes that definitions made to it: where new queries begin, which could not be
taken up, which are gone. Nothing here writes. The network makes the draft durable.

A definition is followed in two steps. `note` says in the draft where new queries begin; it never waits for an evaluation.
`take_up` fills their windows from history, which may take long; it belongs to whoever holds the round, like everything in
memory here, and holds `work` only for moments.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import pyarrow as pa

from millpond.catalog import Catalog, ContinuousQuery, StreamingTable
from millpond.errors import MillpondError, Unreachable
from millpond.event_time import Progress
from millpond.network.engine.engine import Engine, ForSpark
from millpond.network.engine.spark_engine import SparkEngine
from millpond.network.engine.watch import Watch
from millpond.network.evaluate.evaluator import Evaluator
from millpond.network.plan.graph import bases, in_order
from millpond.network.plan.prepared import Prepared
from millpond.network.plan.two_phase import both_folders
from millpond.network.run.frames import RecentFrames
from millpond.network.run.host import NetworkHost
from millpond.network.run.last_sent import LastSentResults, is_unsettled
from millpond.network.run.moved import MovedQueries
from millpond.network.run.placement import place, shard_table
from millpond.network.run.state import Seen, State
from millpond.network.run.steps import Step, chosen_start, holds_other_rows, new_run
from millpond.network.state.backfill import Past
from millpond.network.strategies.base import spark_decides
from millpond.network.strategies.parts.one_time import result_columns
from millpond.network.strategies.registry import choose
from millpond.query.plan import Shelf
from millpond.schema import Column


class RunningQueries:
    """`note` and `restart` are called under the pond's `work` lock; everything else that changes something by the holder of the
    round. `draft` and `catalog` change under `work` only."""

    def __init__(
        self, host: NetworkHost, shelf: Shelf, kept: Path, recent: RecentFrames, watch: Watch, spark: SparkEngine
    ) -> None:
        self.draft = State()
        self.whole: Evaluator | None = None  # evaluates what no shard key serves
        self.past: Past | None = None
        self.catalog = Catalog()  # with each query that was split replaced by its two steps
        self.steps: dict[str, Step] = {}  # that run, in the order in which they read each other
        self.placed: dict[str, str] = {}  # step -> the table in whose shards it is evaluated
        self.versions: dict[str, int] = {}  # of the queries in a table's shards
        self.run_id = new_run()
        self._host = host
        self._shelf = shelf
        self._kept = kept
        self._recent = recent
        self._watch = watch
        self._spark = spark
        self._ready: dict[ContinuousQuery, Prepared] = {}  # prepared, and not taken up yet
        self._parts: dict[ContinuousQuery, tuple[ContinuousQuery, ...]] = {}
        self._synced: Catalog | None = None  # the catalog that was taken up last
        self._noted: Catalog | None = None  # the catalog that the draft follows
        self._resumed: set[str] = set()  # folders of queries that had begun before they were paused or stopped
        self._refused: dict[str, MillpondError] = {}  # queries that cannot begin, by folder
        self._waiting: frozenset[str] = frozenset()  # folders of steps that could not be taken up yet
        self._not_before = 0.0  # when that is tried again
        self._asker: Engine | None = None
        self._last_sent = LastSentResults(host.folder, watch)
        self._unsettled: dict[str, bool] = {}  # steps evaluated whole until their next instant; whether they move then
        self._moving: set[str] = set()  # steps that are to be taken up where they belong
        self.moved = MovedQueries()

    # -- what runs --------------------------------------------------------------------------------------------------

    @property
    def in_sync(self) -> bool:
        """Whether there is nothing to take up: the catalog has not changed since the last time, what waits still waits, and no
        query is to be evaluated elsewhere."""
        return (
            self._host.catalog is self._synced
            and not self._moving
            and not self._retries()
            and self._last_sent.are_kept(self.draft.unsettled)
        )

    def _retries(self) -> bool:
        """Whether it is time to take up what could not be because another system was not reached."""
        return bool(self._waiting) and self._host.clock.monotonic() >= self._not_before

    def note(self) -> None:
        """Follow the catalog in the draft: forget queries that were dropped, note where new ones begin."""
        catalog = self._host.catalog
        if catalog is self._noted:
            return
        self.catalog = self._in_steps(catalog)
        self.draft = self.draft.keeping({q.folder for q in self.catalog.queries.values()})
        past = Past(self._shelf, self._host.local, self.catalog, self._kept)
        self._refused = {}
        for step in self._waiting_steps():
            if step.query.folder in self._refused:
                continue
            try:
                self._note_step(step, past)
            except MillpondError as error:  # this one stops, the others do not notice
                self._refused[step.query.folder] = error
                self.draft = self.draft.failing(dict.fromkeys(both_folders(step.query.folder), str(error)))
        self._resumed = set()
        self._noted = catalog

    def _note_step(self, step: Step, past: Past) -> None:
        prepared = self._prepared(step)
        for use in prepared.streams:
            if use.table.name not in self.catalog.queries:
                self._see(use.table.name)
        progress = self.draft.progress.get(step.folder)
        if progress is None or (progress.frontier is None and self._first_step(step) is not None):
            self.draft = self.draft.with_progress({step.folder: self._begin(step, prepared, past)})

    def refusal(self, query: ContinuousQuery) -> MillpondError | None:
        """Why a query could not begin, if it was noted last time that it cannot."""
        return self._refused.get(query.folder)

    def _waiting_steps(self) -> list[Step]:
        """The steps that should run and do not yet, in the order in which they read each other."""
        origins = {part: query for query, parts in self._parts.items() for part in parts}
        return [
            Step(definition, origins[definition])
            for definition in in_order(self.catalog.queries)
            if not (self._runs(definition.name) or definition.paused or definition.folder in self.draft.failed)
            and self.damage_of(definition, self.catalog)
            is None  # else it goes on where it was once the table is repaired
        ]

    def _runs(self, name: str) -> bool:
        """Whether a step runs. One that is no longer current does not count: it runs until the tick under way ends, and a new one
        of its name may be there already."""
        step = self.steps.get(name)
        return step is not None and step.is_current(self._host.catalog)

    def damage_of(self, query: ContinuousQuery, catalog: Catalog) -> tuple[str, MillpondError] | None:
        """A damaged table that a query reads, and what is wrong with it."""
        for name in sorted(bases(query.name, catalog)):
            damage = self._host.stream(name).damage
            if damage is not None:
                return name, damage
        return None

    def _prepared(self, step: Step) -> Prepared:
        found = self._ready.get(step.definition)
        if found is None:
            found = self._ready[step.definition] = self.moved.prepare(step.definition, self.catalog)
        return found

    def move_to_spark(self, steps: Mapping[str, str]) -> None:
        """Steps go on, from where they stand, on Spark; by name, the reason. Of a query in two steps both end: it is whole."""
        for name, why in steps.items():
            if name in self.steps:
                query = self.steps[name].query
                self.moved.note(query, why)
                self._moving |= {each for each, step in self.steps.items() if step.query == query}
                self._parts.pop(query, None)
                self._noted = None

    def take_up(self) -> None:
        """Let go of what is dropped, paused or altered; take up what is new, with windows filled from history."""
        with self._host.work:
            catalog = self._host.catalog
            if self.in_sync:
                return
            if self._synced is not None and holds_other_rows(self._synced, catalog):
                self.start_over()
            if self.whole is None:
                if not catalog.queries:
                    self._synced = catalog
                    return
                self._make_memory()
            self.note()
        self.keep_last_sent()
        with self._host.work:
            catalog = self._host.catalog
            leaving = [n for n, step in self.steps.items() if n in self._moving or not step.is_current(catalog)]
            if any(self._has_lent_time(name) for name in leaving):
                self.start_over()
                self._make_memory()
            else:
                for name in leaving:
                    self._let_go(name)
            self.note()
            assert self.whole is not None
            assert self.past is not None
            self.past.catalog = effective = self.catalog
            draft = self.draft
            new = [(step, self._prepared(step)) for step in self._waiting_steps()]
            unsettled = {step for step, prepared in new if is_unsettled(draft, prepared)}
            belong = {step: shard_table(prepared, effective) for step, prepared in new}
            tables = {step: None if step in unsettled else table for step, table in belong.items()}
        try:
            failed, waiting = self._fill(new, tables, unsettled, effective, draft)
        except BaseException:
            self.start_over()  # some are taken up and some are not
            raise
        with self._host.work:
            tried = {*self._waiting, *(step.folder for step, _ in new)}
            self.draft = self.draft.failing(failed).waiting_for(waiting, tried)
            self._waiting = frozenset(waiting)
            for step, prepared in new:
                self._ready.pop(step.definition, None)
                table = tables[step]
                if step.folder in failed or step.folder in waiting:
                    continue
                if table is not None:
                    self.placed[step.definition.name] = table.name
                    self.versions[table.name] = self.versions.get(table.name, 0) + 1
                self.steps[step.definition.name] = step
                if step in unsettled:
                    moves = belong[step] is not None or not choose(prepared).strategy.takes_held
                    self._unsettled[step.definition.name] = moves
            order = {definition.name: at for at, definition in enumerate(in_order(effective.queries))}
            self.steps = dict(sorted(self.steps.items(), key=lambda item: order[item[0]]))
            self.whole.reorder(order)
            self._ready.clear()
            self._synced = catalog
            self.release_rows()

    def _make_memory(self) -> None:
        self.past = Past(self._shelf, self._host.local, self._host.catalog, self._kept, note=self._host.read_reduced)
        memory = self._host.config.evaluation_memory
        self.whole = Evaluator(self.past, threads=2, memory=memory, watch=self._watch, spark=self._spark, leaves=True)

    def _has_lent_time(self, name: str) -> bool:
        """Whether the readers of a step go by the time of what it reads, because it has not begun. Once it does not run any more,
        they must not: nobody would know that time after a restart."""
        begun = self.draft.progress.get(self.steps[name].folder, Progress()).frontier is not None
        return not begun and self.whole is not None and name in self.whole.inlets

    def _fill(
        self,
        new: Sequence[tuple[Step, Prepared]],
        tables: Mapping[Step, StreamingTable | None],
        unsettled: Collection[Step],
        catalog: Catalog,
        draft: State,
    ) -> tuple[dict[str, str], dict[str, str]]:
        """Take up steps that are evaluated whole, without the lock: this reads history.

        Which of them could not be, and why: those that failed, and those that wait for another system and are tried again.
        """
        assert self.whole is not None
        assert self.past is not None
        failed: dict[str, str] = {}
        waiting: dict[str, str] = {}
        clock = self._host.clock
        for step, prepared in new:
            if tables[step] is not None:
                continue
            began = clock.monotonic()
            try:
                for use in prepared.streams:
                    self._open_inlet(use.table.name, catalog, draft)
                held = self._last_sent.of(prepared, draft, self.past) if step in unsettled else None
                self._add(step, prepared, draft.progress[step.folder], held)
            except Unreachable as error:
                waiting[step.folder] = str(error)
                self._not_before = 2 * clock.monotonic() - began  # a pause as long as the try
            except MillpondError as error:
                failed[step.folder] = str(error)
        return failed, waiting

    def _add(self, step: Step, prepared: Prepared, progress: Progress, held: pa.Table | None) -> None:
        assert self.whole is not None
        try:
            self.whole.add(prepared, progress, held)
        except ForSpark as error:
            if step.definition != step.query or not spark_decides(prepared, error):
                raise
            self.moved.note(step.query, str(error))
            self.whole.add(self.moved.prepare(step.query, self.catalog), progress, held)

    # -- what was sent last -----------------------------------------------------------------------------------------

    def keep_last_sent(self) -> None:
        """Write down what unsettled queries sent last, while it can be worked out. This reads history."""
        draft, whole = self.draft, self.whole
        if self._last_sent.are_kept(draft.unsettled):
            return
        past = self.past or Past(self._shelf, self._host.local, self.catalog, self._kept)
        past.catalog = self.catalog
        strategies = whole.strategies if whole is not None else {}
        lost = self._last_sent.keep(draft, self.catalog, past, strategies, self._host.config.evaluation_memory)
        if lost:
            with self._host.work:
                self.draft = self.draft.losing(lost).settling(lost)

    def settle(self, before: State) -> None:
        """After a tick: queries that were unsettled and have sent the difference go on where they belong, once they have left no
        instants to the next tick."""
        left = set() if self.whole is None else self.whole.left
        settled = before.unsettled.keys() - self.draft.unsettled.keys()
        for name, step in self.steps.items() if settled or self._unsettled else ():
            last = self.draft.progress[step.folder].last
            if step.folder in settled and last is not None:
                self._last_sent.settled(step.definition, last)
            is_settled = last is not None and step.folder not in self.draft.unsettled and name not in left
            if is_settled and self._unsettled.pop(name, False):
                self._moving.add(name)

    def moves_later(self, name: str) -> bool:
        """Whether a query is evaluated whole until its next instant, and elsewhere from then on."""
        return self._unsettled.get(name, False)

    def _in_steps(self, catalog: Catalog) -> Catalog:
        """The catalog with each query that can be split replaced by its two steps."""
        queries: dict[str, ContinuousQuery] = {}
        parts: dict[ContinuousQuery, tuple[ContinuousQuery, ...]] = {}
        for query in catalog.queries.values():
            found = self._parts.get(query)
            if found is None:
                try:
                    prepared = self._ready[query] = self.moved.prepare(query, catalog)
                except MillpondError as error:  # what it reads has changed: it stops, the others do not notice
                    self.draft = self.draft.failing({query.folder: str(error)})
                    queries[query.name] = query
                    continue
                found = place(prepared, catalog, self.columns).steps or (query,)
            parts[query] = found
            for part in found:
                queries[part.name] = part
        self._parts = parts
        return replace(catalog, queries=queries)

    def _let_go(self, name: str) -> None:
        assert self.whole is not None
        del self.steps[name]
        self._unsettled.pop(name, None)
        self._moving.discard(name)
        table = self.placed.pop(name, None)
        if table is None:
            self.whole.drop(name)
        else:
            self.versions[table] = self.versions.get(table, 0) + 1

    def stop(self, folders: Collection[str]) -> bool:
        """These have failed: they are not evaluated any more. Returns whether everything must start over because of that."""
        leaving = [name for name, step in self.steps.items() if step.folder in folders]
        have_lent = any(self._has_lent_time(name) for name in leaving)
        for name in leaving:
            self._let_go(name)
        return have_lent

    def release_rows(self) -> None:
        """Tell tables which rows may leave their memory and their log; forget those that no query reads."""
        read, sharded = self.tables_read(), set(self.placed.values())
        folders = {}
        # A query that was noted meanwhile, and is not taken up yet, reads from where its tables were seen then.
        kept = set() if self._host.catalog is self._synced else set(self.draft.seen)
        for name in self._host.catalog.streaming:
            table = self._host.stream(name)
            if table.damage is not None:
                kept.add(table.definition.folder)
            elif name in read:
                folders[table.definition.folder] = table
            elif table.definition.folder not in kept:
                table.consumed = table.wanted = None
        self.draft = self.draft.reading(folders.keys() | kept)
        self._recent.keep(folders)
        for folder, table in folders.items():
            position = self.draft.seen[folder].position
            table.consumed = position
            table.wanted = self._recent.reach(folder, position) if table.definition.name in sharded else None

    def tables_read(self) -> set[str]:
        """The tables of which rows are taken in, by shards or whole."""
        whole = self.whole.inlets if self.whole is not None else {}
        return {*self.placed.values(), *(n for n in whole if n in self._host.catalog.streaming)}

    def correct(self, draft: State) -> None:
        """Take another draft: what is durable is not what it was."""
        self.draft = draft
        self._noted = None

    def restart(self, folders: tuple[str, ...]) -> None:
        """Forget how far these are: taken up again they begin where time stands then."""
        damaged = [
            f for f in folders if f in self.draft.unsettled and self._last_sent.is_damaged(self.draft.unsettled[f])
        ]
        self.draft = self.draft.settling(damaged)  # as it was told to: such a query begins as if it were new
        self._resumed = {f for f in folders if self.draft.progress.get(f, Progress()).frontier is not None}
        self.correct(self.draft.restarting(folders))

    def start_over(self) -> None:
        """Forget everything in memory; the next `take_up` takes up all queries and fills their windows from history."""
        if self.whole is not None:
            self.whole.close()
        self.whole = self.past = self._synced = self._noted = None
        self._waiting = frozenset()
        self.steps.clear()
        self._unsettled.clear()
        self._moving.clear()
        self.placed.clear()
        self.run_id = new_run()

    def columns(self, prepared: Prepared) -> list[Column]:
        """The columns a query selects, found without evaluating it."""
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
                table.consumed = seen.position  # rows from here on stay in memory until they are read
            self.draft = self.draft.with_seen({folder: seen})
        return self.draft.seen[folder]

    def _open_inlet(self, name: str, catalog: Catalog, draft: State) -> None:
        """A stream's inlet, standing where the network has read the stream to, as `draft` says."""
        assert self.whole is not None
        assert self.past is not None
        if name in self.whole.inlets:
            return
        relation = catalog.relation(name)
        assert isinstance(relation, StreamingTable)
        query = catalog.queries.get(name)
        waiting: pa.Table | None = None
        if query is not None:
            frontier = draft.progress.get(query.folder, Progress()).frontier
        else:
            seen = draft.seen[relation.folder]
            frontier = seen.watermark
            waiting = self.past.waiting(name, frontier, seen.position)
        self.whole.open_at(relation, frontier, waiting)

    def _first_step(self, step: Step) -> ContinuousQuery | None:
        """The first step of a query, given its second."""
        parts = self._parts.get(step.query, ())
        return parts[0] if len(parts) > 1 and step.definition == parts[-1] else None

    def _begin(self, step: Step, prepared: Prepared, past: Past) -> Progress:
        """Where a new query begins: where time stands, or at the time it was told."""
        first = self._first_step(step)
        if first is not None:
            return self.draft.progress[first.folder]
        if all(self._is_empty(u.table.name) for u in prepared.streams):
            return Progress()  # it begins with the first row, whenever it was made
        known = [self._frontier(u.table.name) for u in prepared.streams]
        complete = min((c for c in known if c is not None), default=None)
        if complete is None:
            return Progress()
        start = chosen_start(prepared, complete)
        if start is not None:
            complete = start
        elif step.folder not in self._resumed and not any(
            self._had_rows(u.table.name, complete, past) for u in prepared.streams
        ):
            return Progress()  # had it been there before, it would not have begun either
        return Progress(complete)

    def _is_empty(self, name: str) -> bool:
        """Whether no row has ever come from a stream."""
        if name in self.catalog.queries:
            return self.draft.numbers.get(self.catalog.queries[name].folder, 0) == 0
        return self._host.stream(name).next_row == 0

    def _had_rows(self, name: str, time: int, past: Past) -> bool:
        """Whether a stream has had a row before a time. Rows it keeps no longer were before any time that still matters."""
        oldest = past.oldest_time(name)
        return not self._is_empty(name) if oldest is None else oldest < time

    def _frontier(self, name: str) -> int | None:
        """The time below which the network has read a stream."""
        query = self.catalog.queries.get(name)
        if query is not None:
            return self.draft.progress.get(query.folder, Progress()).frontier
        return self._see(name).watermark
