"""The evaluator: a network of continuous queries over the rows that reach it, in one process.

    step(rows that came, how far time is complete)  ->  what each query sends, stamped with its instants

Each query has a strategy (`strategies`), which evaluates it. Queries are taken in an order in which each follows those it reads;
what one sends goes into the inlet of its readers, so effects of a step appear together. What a query sends at an instant depends
on the rows up to that instant and on nothing else, so it does not matter how rows are cut into steps, nor whether the state was
kept or filled from history in between.
"""

from __future__ import annotations

import contextlib
import logging
import time
import traceback
from collections.abc import Collection, Iterator, Mapping, Sequence

import numpy as np
import pyarrow as pa

from millpond.arrow import arrow_schema, integers
from millpond.catalog import INSTANT, ContinuousQuery, StreamingTable
from millpond.errors import EngineError, InternalError, MillpondError
from millpond.event_time import NEVER, Progress, event_times
from millpond.network.engine.engine import Engine
from millpond.network.engine.spark_engine import SparkEngine
from millpond.network.engine.watch import Evaluation, Watch, definition_key
from millpond.network.plan.prepared import Prepared
from millpond.network.state.checkpoints import CheckpointWindow, Scribe
from millpond.network.state.history import History
from millpond.network.strategies.base import Checkpoint, Costs, Strategy
from millpond.network.strategies.parts.context import Context, Reading
from millpond.network.strategies.registry import choose
from millpond.network.time.inlet import Inlet
from millpond.network.time.instants import ROW
from millpond.schema import SEQ, with_seq

_log = logging.getLogger("millpond")
_NO_MEMORY = "there is not enough memory for an evaluation"


class Evaluator:
    """Not thread safe."""

    def __init__(
        self,
        history: History,
        *,
        threads: int = 1,
        memory: int = 0,
        watch: Watch | None = None,
        spark: SparkEngine | None = None,
        leaves: bool = False,
        limit: float | None = None,
    ) -> None:
        """`leaves`: a query with many instants may leave some to the next step; if not, `limit` is how many seconds they may
        take."""
        self.history = history
        self.engine = Engine(threads, memory)
        self._watch = watch
        self.strategies: dict[str, Strategy] = {}  # by the names of queries, each after those it reads
        self._context = Context(history, self.engine, spark, leaves=leaves, limit=limit)
        self.inlets = self._context.inlets

    # -- the network changes ----------------------------------------------------------------------------------------

    def add(self, prepared: Prepared, progress: Progress, held: pa.Table | None = None) -> None:
        """Take up a query that is to continue at `progress`: its state is filled from history. What goes wrong with the query
        itself is a `MillpondError`, so that it stops alone. `held` is the result that it sent
        last, where that is not what history tells."""
        self.engine.learn(prepared.bound.functions)
        for use in prepared.streams:
            assert isinstance(use.table, StreamingTable)
            self.open(use.table)
        strategy = choose(prepared, held=held is not None).strategy
        try:
            strategy.open(self._context, progress, held)
        except BaseException as error:
            strategy.close()
            if isinstance(error, MemoryError):
                raise EngineError(_NO_MEMORY, hint="Give its windows fewer rows or less time.") from error
            if isinstance(error, Exception) and not isinstance(error, MillpondError | OSError):
                raise _internal_error(prepared.query.users_name, error) from error
            raise
        self.strategies[prepared.name] = strategy

    def result_at(self, prepared: Prepared, instant: int) -> pa.Table:
        """The result of an ISTREAM or DSTREAM query at an instant that is over, from history. For an evaluator that does nothing
        else: its inlets end there."""
        for use in prepared.streams:
            assert isinstance(use.table, StreamingTable)
            self.open_at(use.table, instant + 1, None)
        nothing = arrow_schema(prepared.query.columns.without(INSTANT)).empty_table()
        with self._watched(prepared.query) as self.engine.evaluation:
            self.engine.learn(prepared.bound.functions)
            strategy = choose(prepared, held=True).strategy
            try:
                strategy.open(self._context, Progress(instant + 1, instant))
                found = strategy.last_result
            finally:
                self.engine.evaluation = None
                strategy.close()
        return nothing if found is None else found

    def drop(self, name: str, *, keep_inlets: bool = False) -> None:
        strategy = self.strategies.pop(name, None)
        if strategy is not None:
            strategy.close()
        if keep_inlets:
            return
        read = {u.table.name for s in self.strategies.values() for u in s.prepared.streams}
        for stream in [s for s in self.inlets if s not in read]:
            del self.inlets[stream]

    def reorder(self, place: Mapping[str, int]) -> None:
        """Evaluate queries in the order of their places from now on: an altered one was added after its readers."""
        self.strategies = dict(sorted(self.strategies.items(), key=lambda item: place[item[0]]))

    def open(self, table: StreamingTable) -> Inlet:
        """The inlet of a stream, made if there is none."""
        if table.name not in self.inlets:
            schema = arrow_schema(with_seq(table.columns))
            self.inlets[table.name] = Inlet(schema, table.time_column)
        return self.inlets[table.name]

    def open_at(self, table: StreamingTable, frontier: int | None, waiting: pa.Table | None) -> None:
        """Open the inlet of a stream that was read before, up to the time `frontier`. `waiting` are rows that were read and whose
        time is later."""
        inlet = self.open(table)
        if frontier is not None:
            inlet.begin_at(frontier)
        if waiting is not None:
            inlet.push(waiting)

    def behind(self) -> bool:
        """Whether a query has something to do although nothing came."""
        return any(s.error is None and s.ready() for s in self.strategies.values())

    @property
    def reading(self) -> Reading:
        """What the last step read of history, where less could be."""
        return self._context.reading

    @property
    def left_out(self) -> float:
        """The part of history that the next steps leave out, where a query allows it."""
        return self._context.left_out

    @left_out.setter
    def left_out(self, part: float) -> None:
        self._context.left_out = part

    @property
    def left(self) -> set[str]:
        """The queries that left instants of the last step to the next."""
        return {name for name, s in self.strategies.items() if s.error is None and s.left is not None}

    # -- a step -----------------------------------------------------------------------------------------------------

    def step(self, rows: Mapping[str, pa.Table], frontiers: Mapping[str, int]) -> dict[str, pa.Table]:
        """Take in rows of streams, and evaluate every instant that is complete now."""
        self._take_in(rows, frontiers)
        self._context.begin_step()
        sent: dict[str, pa.Table] = {}
        for name, strategy in self.strategies.items():
            found = self._advance(strategy)
            if found is not None and found.num_rows:
                sent[name] = found
            inlet = self.inlets.get(name)
            if inlet is not None:
                self._hand_on(strategy, found, inlet)
        self._end_step()
        return sent

    def _take_in(self, rows: Mapping[str, pa.Table], frontiers: Mapping[str, int]) -> None:
        for name, inlet in self.inlets.items():
            if name in rows:
                inlet.push(rows[name])
            if name in frontiers:
                inlet.advance(frontiers[name])

    def _advance(self, strategy: Strategy) -> pa.Table | None:
        """Evaluate what is due. A query that fails stops; the others go on.

        One that waits for another system is tried again after a pause as long as the last try: so the others have half the time.
        """
        if strategy.error is not None or (strategy.waiting is not None and time.perf_counter() < strategy.not_before):
            return None
        strategy.waiting = strategy.left = None
        span = strategy.due()
        if span is None:
            return None
        began = time.perf_counter()
        before = strategy.progress
        try:
            with self._watched(strategy.prepared.query) as self.engine.evaluation:
                self._context.begin_query()
                if strategy.progress.frontier is None:
                    strategy.begin(span[0])
                found = strategy.advance(*span)
        except (MillpondError, MemoryError) as error:
            strategy.error = _NO_MEMORY
            if isinstance(error, MillpondError):
                strategy.fail(error)
            strategy.progress = before  # nothing of this step is sent
            return None
        except OSError:
            raise  # not one of ours: the tick is tried again
        except Exception as error:
            strategy.error = str(_internal_error(strategy.prepared.query.users_name, error))
            strategy.progress = before
            return None
        finally:
            self.engine.evaluation = None
        cost = strategy.cost
        ended = time.perf_counter()
        cost.seconds += ended - began
        if strategy.waiting is not None and strategy.tries_in_step:
            strategy.not_before = ended + (ended - began)
        if found is not None:
            cost.rows_out += found.num_rows
        return found

    def _watched(self, query: ContinuousQuery) -> contextlib.AbstractContextManager[Evaluation | None]:
        """Questions to the engine are those of this query: it can be told who takes long, and stopped."""
        if self._watch is None:
            return contextlib.nullcontext()
        return self._watch.over(query.users_name, definition_key(query.folder, query.revision))

    def _hand_on(self, strategy: Strategy, found: pa.Table | None, inlet: Inlet) -> None:
        """Give what a query sent to those who read it. A query that has not begun yet has the time of what it reads."""
        frontier = strategy.progress.frontier
        if frontier is None and strategy.error is None and strategy.waiting is None:
            frontier = min(self.inlets[u.table.name].frontier for u in strategy.prepared.streams)
        if frontier is None or frontier == NEVER:
            return
        rows = inlet.schema.empty_table()
        if found is not None:
            rows = numbered(in_order([found]), inlet.sent).cast(inlet.schema)
            inlet.sent += found.num_rows
        inlet.settled(rows, frontier)

    def skip(
        self, rows: Mapping[str, pa.Table], frontiers: Mapping[str, int], progress: Mapping[str, Progress]
    ) -> None:
        """Take in rows whose instants were evaluated elsewhere, so that the next step goes on after them."""
        self._take_in(rows, frontiers)
        for name, strategy in self.strategies.items():
            strategy.skip(progress[name])
        self._end_step()

    def _end_step(self) -> None:
        """Forget what only this step needed, and what no window will look at again."""
        self._trim()
        self._context.end_step()

    def _trim(self) -> None:
        needs = {name: (inlet.frontier, 0) for name, inlet in self.inlets.items()}
        for strategy in self.strategies.values():
            for use in strategy.prepared.streams:
                low, keep = needs[use.table.name]
                oldest, count = strategy.needs(use)
                needs[use.table.name] = (min(low, oldest), max(keep, count))
        for name, (low, keep) in needs.items():
            if low != NEVER:
                self.inlets[name].trim(low, keep=keep)

    # -- state ------------------------------------------------------------------------------------------------------

    def checkpoints(self) -> Iterator[Checkpoint]:
        """The states of which checkpoints are worth while, each once."""
        seen: set[tuple[str, str]] = set()
        for strategy in self.strategies.values():
            for found in strategy.checkpoints():
                if (found.stream, found.fingerprint) not in seen:
                    seen.add((found.stream, found.fingerprint))
                    yield found

    def write_checkpoints(self, scribe: Scribe, tables: Collection[StreamingTable], *, begin: bool) -> None:
        """Go on with checkpoints of the windows over `tables`, or begin them."""
        named = {table.name: table for table in tables}
        windows = [
            CheckpointWindow(table.folder, found.fingerprint, table.shards, found.upto, found.content)
            for found in self.checkpoints()
            if (table := named.get(found.stream)) is not None
        ]
        scribe.go_on(windows, {table.folder for table in tables}, begin=begin)

    def held(self) -> dict[tuple[str, str], tuple[int, int]]:
        """Rows and bytes that are held, by holder and what it is. What a part of a query holds is the query's."""
        queries = [s.prepared.query for s in self.strategies.values()]
        owner = {q.combines: q.name for q in queries if q.combines is not None}
        found = {
            (owner.get(name, name), "rows in windows by time, shared"): (i.rows, i.bytes)
            for name, i in self.inlets.items()
        }
        seen: set[int] = set()
        for strategy in self.strategies.values():
            query = strategy.prepared.query
            for held in strategy.state():
                if id(held.thing) not in seen:
                    seen.add(id(held.thing))
                    found[query.users_name, held.description] = held.size()
        return found

    def costs(self) -> Costs:
        """What queries have cost here. What a part of a query costs is the query's."""
        return {
            s.prepared.query.users_name: (s.manner, c.evaluations, c.rows_in, c.rows_out, c.seconds)
            for s in self.strategies.values()
            for c in (s.cost,)
        }

    def close(self) -> None:
        for strategy in self.strategies.values():
            strategy.close()
        self.engine.close()


def _internal_error(query: str, error: Exception) -> InternalError:
    """A bug, said to be one: the query stops, the others go on, and the log has the traceback."""
    _log.error('internal error in an evaluation of query "%s"', query, exc_info=error)
    frames = traceback.extract_tb(error.__traceback__)
    place = f" at {frames[-1].filename.rpartition('millpond/')[2]}, line {frames[-1].lineno}" if frames else ""
    return InternalError(
        f'internal error in an evaluation of query "{query}"',
        detail=f"{type(error).__name__}: {error}{place}.",
    )


def numbered(rows: pa.Table, first: int) -> pa.Table:
    """Rows with their numbers in a last column."""
    numbers = pa.array(np.arange(first, first + rows.num_rows, dtype=np.int64))
    return rows.append_column(pa.field(SEQ, pa.int64()), numbers)


def in_order(parts: Sequence[pa.Table]) -> pa.Table:
    """What was sent in several places, together: in the order of the instants, without ROW."""
    rows = parts[0]
    by_row = rows.column_names[-1] == ROW
    if len(parts) > 1:
        rows = pa.concat_tables(parts)
        times = event_times(rows, INSTANT)
        if by_row:
            rows = rows.take(pa.array(np.lexsort((integers(rows.column(ROW)), times))))
        elif (times[1:] < times[:-1]).any():
            rows = rows.take(pa.array(np.argsort(times, kind="stable")))
    return rows.drop_columns([ROW]) if by_row else rows
