"""Rounds: a tick of the network and the archive work that is due, planned together, run by workers, committed together.

Whoever holds `round` has the only round there is: the pipeline, a tick in this process, a statement that rewrites the archive.
It may be held for as long as evaluations take. `work` is taken inside it, for moments, to plan and to commit.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Protocol

from millpond.clock import Clock
from millpond.config import Config
from millpond.durable import delete_folder, disk_errors
from millpond.errors import EngineError, counted
from millpond.network.engine.watch import FOLDER, underway
from millpond.network.run.network import Network
from millpond.network.run.tick_plan import TickPlan
from millpond.standing.keeper import MatchPlan
from millpond.standing.standing import StandingQueries
from millpond.table.keeper import Keeper, Round
from millpond.table.stream import StreamTable
from millpond.table.work import CompactTask, CopyTask
from millpond.tick.task_result import FilesWritten, RowsMatched, ShardEvaluated, TaskResult, Work, run_here

_PATIENCE = 10.0  # seconds that an evaluation has to end after its time is over


class RoundHost(Protocol):
    """What rounds ask of their pond."""

    folder: Path
    clock: Clock
    config: Config
    work: threading.RLock
    network: Network
    standing: StandingQueries

    def streams(self) -> dict[str, StreamTable]:
        """All streaming tables, opened."""


class Rounds:
    """Every method but `alone`, `delete_folder` and `settle` is for the holder of `round`."""

    def __init__(self, host: RoundHost) -> None:
        self.round = threading.RLock()
        self._host = host
        age = round(host.config.block_age.total_seconds() * 1e6)
        self._keeper = Keeper(host.clock, host.config.block_rows, age)
        self._archiving: Round | None = None
        self._matching: list[MatchPlan] = []  # of standing queries, likewise
        self._plan: TickPlan | None = None  # of the network, whose tasks were handed out last
        self._deleting: list[Path] = []  # folders of dropped tables, which a round under way may still use

    @contextmanager
    def alone(self, statement: str) -> Iterator[None]:
        """Hold the round for a statement that rewrites tables, once that under way has ended.

        It waits as long as one evaluation may take and no longer: a function of the user that never returns cannot be interrupted
        in this process, and would keep the statement for ever.
        """
        limit = self._host.config.evaluation_time.total_seconds() + _PATIENCE
        if not self.round.acquire(timeout=limit):
            busy = ", ".join(sorted({each.query for each in underway(self._host.folder / FOLDER, self._host.clock)}))
            raise EngineError(
                f"{statement} was not carried out: a tick under way did not end within {counted(round(limit), 'second')}",
                detail=f"Being evaluated: {busy}." if busy else None,
                hint="Try again. If a query never ends, drop it, and close and open the pond.",
            )
        try:
            yield
        finally:
            self.round.release()

    def tick(self) -> None:
        """Evaluate the continuous queries in this process."""
        with self.round, disk_errors(self._host.folder):
            self._host.network.advance_idle_tables()
            plan = self._host.network.plan()
            if plan is not None:
                self._finish(plan, run_here(plan.tasks))
            self._host.standing.take_in()

    def catch_up(self, statement: str, tick: Callable[[], None]) -> None:
        """Before rows are changed by a statement: ticks, until none of them leaves complete instants to the next; these are
        evaluated over the rows as they were."""
        limit = self._host.config.evaluation_time.total_seconds() + _PATIENCE
        begin = time.monotonic()
        while self.has_left:
            if time.monotonic() - begin > limit:
                behind = ", ".join(sorted(self._host.network.behind))
                raise EngineError(
                    f"{statement} was not carried out: queries did not catch up within {counted(round(limit), 'second')}",
                    detail=f"Behind: {behind}. What is complete is evaluated over the rows as they were.",
                    hint="Wait and try again, or drop the query.",
                )
            tick()

    @property
    def has_left(self) -> bool:
        """Whether the last tick left something to the next, which may begin at once."""
        return bool(self._host.network.behind)

    def archive(self) -> None:
        """Archive everything in this process. The same tasks as a tick's, one after another."""
        with self.round, disk_errors(self._host.folder):
            goal = self.all_archived()
            reached = False
            while tasks := self.next_tasks(force=True):
                if reached and not any(isinstance(task, CompactTask | CopyTask) for task in tasks):
                    break  # the rest was appended meanwhile
                self.commit_results(run_here(tasks))
                reached = goal()

    def all_archived(self) -> Callable[[], bool]:
        """Tells whether the rows accepted by now are in the archive, as far as their tables are still there."""
        ends = [(t, t.next_row, t.next_rejected) for t in self._host.streams().values() if t.damage is None]
        return lambda: all(
            not t.writing or (t.rows.tail.start >= rows and t.rejected.tail.start >= rejected)
            for t, rows, rejected in ends
        )

    def next_tasks(self, *, force: bool, archive: bool = True) -> Sequence[Work]:
        """Called by the holder of the round: what is due now. Shards of continuous queries first, then the archive, if wanted:
        with `force` everything that is in the log."""
        self._host.network.advance_idle_tables()
        plan = self._host.network.plan()
        if plan is not None and not plan.tasks:
            self._finish(plan, [])  # needs no worker; at once, so that its rows can be archived in this round
            plan = None
        self._plan = plan
        self._matching = self._host.standing.plan()
        self._archiving = self._plan_archiving(force=force) if archive or force else None
        matching = [task for each in self._matching for task in each.tasks]
        archiving = self._archiving.tasks if self._archiving is not None else ()
        return [*(plan.tasks if plan is not None else ()), *matching, *archiving]

    def _plan_archiving(self, *, force: bool) -> Round:
        with self._host.work:
            self._delete_dropped()
            tables = list(self._host.streams().values())
            self._keeper.expire(tables, self._host.network.read_from)
            self._keeper.clean(tables)
            return self._keeper.plan(tables, force=force)

    def commit_results(self, results: Sequence[TaskResult]) -> None:
        """Called by the holder of the round: what came out of the tasks last handed out."""
        plan, self._plan = self._plan, None
        if plan is not None:
            self._finish(plan, results)
        matching, self._matching = self._matching, []
        self._host.standing.finish(matching, [r.matched for r in results if isinstance(r, RowsMatched)])
        files = [r.files for r in results if isinstance(r, FilesWritten)]
        with self._host.work:
            if files and self._archiving is not None:
                self._keeper.commit(self._archiving, files, self._host.streams().values())
            self._delete_dropped()

    def _finish(self, plan: TickPlan, results: Sequence[TaskResult]) -> None:
        """Evaluate and commit a tick whose tasks are among those that gave `results`."""
        self._host.network.finish(plan, [r.outcome for r in results if isinstance(r, ShardEvaluated)])

    def settle(self) -> None:
        """After a change of definitions, without `work`: take them up now. If a round is under way, the next one does."""
        if self.round.acquire(blocking=False):
            try:
                self._host.network.take_up_definitions()
                with self._host.work:
                    self._delete_dropped()
            finally:
                self.round.release()

    def delete_folder(self, folder: Path) -> None:
        """Delete the folder of a dropped table, once no round uses it any more."""
        self._deleting.append(folder)

    def close(self) -> None:
        """No round follows."""
        self._delete_dropped()

    def _delete_dropped(self) -> None:
        """As the holder of the round, when none of its tasks runs."""
        while self._deleting:
            delete_folder(self._deleting.pop(), self._host.folder)
