"""The workspace: an open pond as statements and stages see it. It wires the stages together.

    rows -> ingest -> table (log, tail, archive) <- query <- SQL
                          ^ rounds: continuous queries and archive work, by the pipeline (Spark) or in this process

Threads. Any thread may ask and append. `round` is held by a round from plan to commit, and by whoever rewrites the archive:
there is one at a time, and it may take as long as evaluations do. `work` guards definitions and commits; it is held for moments
by a round and for as long as it takes by a statement that changes definitions. Asking and appending wait for neither.
Whoever needs both takes `round` first. A table's own lock orders its appends. The writer lock of the folder is taken at
the first change, never to read.
"""

from __future__ import annotations

import contextlib
import logging
import threading
from pathlib import Path
from typing import Any

from millpond import catalog_file
from millpond.catalog import Catalog, StandardTable
from millpond.clock import Clock
from millpond.config import Config
from millpond.durable import disk_errors
from millpond.errors import IntakeError, PondError, TypeMismatch, UnknownPosition
from millpond.event_time import to_event_time
from millpond.ingest.feed import FeedRunner
from millpond.ingest.intake import Intake
from millpond.lock import WriterLock, is_written
from millpond.network.engine.spark_engine import SparkAccess
from millpond.network.run.network import Network
from millpond.process import ProcessBound
from millpond.query.local import Local
from millpond.query.shelf import TableShelf
from millpond.results.delivery import Cursor, Subscription
from millpond.results.news import News
from millpond.results.outlet import Outlet
from millpond.results.triggers.supervisor import Triggers
from millpond.standing.standing import StandingQueries
from millpond.table.standard import StandardStore
from millpond.table.stream import StreamTable
from millpond.tick.pipeline import Pipeline
from millpond.workspace.feeds import Feeds
from millpond.workspace.folder import sweep_dropped
from millpond.workspace.incoming import IncomingRows
from millpond.workspace.load import RECENT, load_of
from millpond.workspace.reductions import Reductions
from millpond.workspace.rounds import Rounds
from millpond.workspace.spark import Spark
from millpond.workspace.tables import OpenTables

_LONG_TICK = 1.0  # seconds that are waited for the end of a tick, by what can wait
_PATIENCE = 10.0  # seconds that closing waits for an evaluation that was cancelled
_log = logging.getLogger("millpond")


class Workspace(ProcessBound):
    """Made by `Pond`, which is what a user holds."""

    def __init__(self, folder: Path, config: Config, clock: Clock) -> None:
        self.folder = folder.resolve()
        self.config = config
        self.clock = clock
        self.work = threading.RLock()
        self._catalog_seen = catalog_file.identity(self.folder)  # taken before it is read
        self.catalog = catalog_file.load(self.folder)
        self.local = Local(self.folder, memory=config.query_memory)
        self._background: Local | None = None
        self._lock = WriterLock(self.folder)
        self.tables = OpenTables(
            self.folder, config, clock, lambda: self.catalog, lambda: self._lock.held, self._make_room, self.wake
        )
        self.spark: SparkAccess = Spark(config)
        self.feeds = Feeds(self)
        self.shelf = TableShelf(self)
        self.network = Network(self)
        self.reductions = Reductions(self.folder, clock, lambda: self.catalog, self.result)
        self.standing = StandingQueries(self)
        self.rounds = Rounds(self)
        self.round = self.rounds.round
        self.triggers = Triggers(self.network, self.folder / "triggers", clock)
        self._incoming = IncomingRows(self)
        self._pipeline: Pipeline | None = None
        self._owned = False
        self._closed = False

    # -- the writer -------------------------------------------------------------------------------------------------

    @property
    def owned(self) -> bool:
        """Whether this process is the writer."""
        return self._owned

    def own(self) -> None:
        """Become the writer, if not yet; make sure to be it still."""
        if self._owned:
            self._lock.check()
            return
        with self.work, disk_errors(self.folder):
            if self._owned:
                return
            self.check_open()
            self._lock.acquire()
            with self.tables.lock:  # a refresh under way ends first: from now on only we change what it reads
                try:
                    self.catalog = catalog_file.load(self.folder).with_functions_here(self.catalog)
                    sweep_dropped(self.folder, self.catalog)
                    self.tables.become_writer()
                    self.reductions.become_writer()
                    self.network.become_writer()
                    self.standing.become_writer()
                except BaseException:
                    self.tables.close()
                    self._lock.release()
                    raise
                self._owned = True
            self.triggers.sync()
            self._incoming.start()

    @property
    def written(self) -> bool:
        """Whether a process writes the pond, this one or another."""
        return self._owned or is_written(self.folder)

    def refresh(self) -> None:
        """As a reader, take in what the writer did."""
        if self._owned:
            return
        with self.tables.lock, disk_errors(self.folder):
            while not self._owned:
                self._catalog_seen = catalog_file.identity(self.folder)
                self.catalog = catalog_file.load(self.folder).with_functions_here(self.catalog)
                try:
                    self.tables.refresh()
                    self.reductions.refresh()
                    self.network.load()
                    self.standing.refresh()
                except OSError:
                    if catalog_file.load(self.folder).version == self.catalog.version:
                        raise
                else:
                    if not self.tables.damaged or catalog_file.load(self.folder).version == self.catalog.version:
                        return
                # A table may have been dropped while we opened it: look again.

    def _refresh_results(self) -> None:
        """As a reader, take in the results that came. The rest only if definitions have changed."""
        with self.tables.lock, disk_errors(self.folder):
            if self._owned:
                return
            if catalog_file.identity(self.folder) == self._catalog_seen:
                with contextlib.suppress(OSError):  # a query may just have been dropped
                    self.network.load()
                    return
        self.refresh()

    def check_open(self) -> None:
        if self._closed:
            raise PondError(f'pond "{self.folder.name}" is closed', hint="Open it again with millpond.connect.")

    def close(self) -> None:
        """Stop feeds and pipeline and release the folder. Everything accepted is durable already."""
        with self.work:  # a start under way ends first; none follows
            if self._closed:
                return
            self._closed = True
        try:
            self._incoming.close()
            self.feeds.close()
            self.triggers.close()
            if self._pipeline is not None:
                self._pipeline.stop()
            self.network.abandon()
            if not self.round.acquire(timeout=_PATIENCE):
                # A function of the user that never returns. What it holds stays; it commits nothing any more.
                _log.warning('pond "%s" is closed while an evaluation does not end', self.folder.name)
                return
            try:
                with self.work:
                    self.rounds.close()
                    self.standing.close()
                    self.tables.close()
                    self.network.close()
            finally:
                self.round.release()
            self.local.close()
            if self._background is not None:
                self._background.close()
        finally:
            self._lock.release()
            self._owned = False
        # Spark's callback threads outlive us; they must not keep the embedded DuckDB alive into interpreter exit.
        self._pipeline = None
        self._background = None
        del self.local

    # -- definitions ------------------------------------------------------------------------------------------------

    def change_catalog(self, catalog: Catalog) -> None:
        """Make a new catalog durable and current."""
        catalog_file.save(catalog, self.folder)
        self.catalog = catalog
        if self._owned:
            self.triggers.sync()

    def rename(self, catalog: Catalog, name: str, to: str) -> None:
        """Make a catalog current in which the table `name` is called `to`."""
        with self.tables.renaming(name, to):
            catalog_file.save(catalog, self.folder)
            self.catalog = catalog
        if self._owned:
            self.triggers.sync()

    # -- tables -----------------------------------------------------------------------------------------------------

    def streams(self) -> dict[str, StreamTable]:
        """All streaming tables, opened."""
        return self.tables.streams()

    def stream(self, name: str) -> StreamTable:
        """A streaming table, opened."""
        return self.tables.stream(name)

    def intake(self, name: str) -> Intake:
        """Where rows of a streaming table are offered."""
        return self.tables.intake(name)

    def standard(self, definition: StandardTable) -> StandardStore:
        """The store of a standard table."""
        return self.tables.standard(definition)

    def feed(self, name: str) -> FeedRunner | None:
        """A feed, if it was started in this process."""
        return self.feeds.running(name)

    def result(self, name: str) -> Outlet | None:
        """What a continuous query has sent, if there is one of that name."""
        return self.network.outlet(name) if name in self.catalog.queries else None

    def time(self, name: str) -> Any:
        """The watermark of a table, or the frontier of a continuous query, as a value of the time column."""
        query = self.catalog.queries.get(name.lower())
        if query is not None:
            return query.table.value(self.network.outlet(name).progress.frontier)
        table = self.stream(name)
        return table.definition.value(table.now)

    def heartbeat(self, name: str, time: int, rows: int) -> None:
        """A heartbeat, in the table's unit, unless the table has accepted more than `rows` rows."""
        intake = self.intake(name)
        with intake.table.lock:
            if intake.table.next_row == rows:
                intake.advance(time, follows=True)

    def read_reduced(self, name: str, fraction: float) -> None:
        """A part of the rows of a table was read."""
        self.stream(name).read_reduced(fraction)

    def _make_room(self, table: StreamTable) -> None:
        """Called before each append: keep the tail within its bound, starting the pipeline when it is worth it."""
        tail = table.rows.tail
        c = self.config
        if c.auto_archive and self._pipeline is None and tail.rows >= c.block_rows * table.definition.shards:
            self._start_pipeline()
        waiting = threading.Event()
        while tail.bytes > c.tail_bytes:
            self.check_open()
            pipeline = self._pipeline
            if pipeline is None or not pipeline.alive:
                reason = pipeline.error if pipeline is not None else None
                raise IntakeError(
                    f'the tail of table "{table.definition.name}" is full ({tail.bytes >> 20} MB)',
                    detail=f"Nothing is archiving it{f': {reason}' if reason else ''}.",
                    hint="Start the pipeline with start(), or call archive().",
                )
            pipeline.wake()
            waiting.wait(0.05)

    @property
    def load(self) -> float:
        """How busy the pond is: 1 where its ticks take as long as they may."""
        pipeline = self._pipeline
        if pipeline is None or not pipeline.alive:
            return 0.0
        return load_of(list(pipeline.durations)[-RECENT:], self.config.tick.total_seconds())

    @property
    def background(self) -> Local:
        """The embedded engine for what must not hold up ticks; the one for questions, if no pipeline runs."""
        if self._pipeline is None:
            return self.local
        with self.work:
            self.check_open()
            if self._background is None:
                self._background = Local(self.folder, memory=self.config.query_memory, beside=self.local)
            return self._background

    def between_ticks(self) -> None:
        """Let the tick that is under way end, before work that would slow it down. A long one is not waited for."""
        pipeline = self._pipeline
        if pipeline is not None and pipeline.alive:
            pipeline.let_end(_LONG_TICK)

    # -- the pipeline -----------------------------------------------------------------------------------------------

    @property
    def pipeline(self) -> Pipeline | None:
        """The pipeline, if this process has started one."""
        return self._pipeline

    def start(self, wait: float | None = None) -> None:
        """Start the pipeline and the feeds, as far as they do not run; with `wait`, return when Spark does the work."""
        self.own()
        with self.work:
            self._start_pipeline()
            self.feeds.start_all()
            pipeline = self._pipeline
        if wait is not None and pipeline is not None:
            pipeline.wait(wait)

    def _start_pipeline(self) -> None:
        """Start the pipeline, if it does not run. That no Java is there, it finds in its own thread, and tells as its error."""
        with self.work:
            self.check_open()
            if self._pipeline is None or not self._pipeline.alive:
                self._pipeline = Pipeline(self.rounds, self.folder / "run", self.config)
                self._pipeline.start()

    def tick(self) -> None:
        """Evaluate the continuous queries: by the pipeline if it runs, else in this process. What Spark itself evaluates is
        waited for."""
        self.own()
        self.beat()
        while self.network.behind:
            self.beat()
        watermarks = {name: table.now for name, table in self.streams().items()}
        handled = -1
        while self.network.spark.handled > handled and self.network.wait_for_spark(watermarks):
            handled = self.network.spark.handled
            self.beat()

    def beat(self) -> None:
        """One tick."""
        if self._pipeline is not None and self._pipeline.alive and self._pipeline.ready.is_set():
            self._pipeline.beat()
        else:
            self.rounds.tick()

    def wake(self) -> None:
        """Let the pipeline, if it runs, look for something to do now."""
        pipeline = self._pipeline
        if pipeline is not None:
            pipeline.wake()

    def archive(self, timeout: float) -> None:
        """Archive what was accepted so far: by the pipeline if it runs, else in this process."""
        self.own()
        if self._pipeline is not None and self._pipeline.alive:
            self._pipeline.flush(timeout, self.rounds.all_archived())
        else:
            self.rounds.archive()

    # -- results ----------------------------------------------------------------------------------------------------

    def subscription(self, query: str, after: int | None, since: Any) -> Subscription:
        cursor = self.cursor(query, after, since)
        if self._owned or not is_written(self.folder):
            self.start()
        news = News(self.folder / "results")
        return Subscription(
            cursor, self._refresh_results, lambda: self._owned, lambda: self._closed, self._meanwhile, news
        )

    def _meanwhile(self) -> None:
        """While Spark starts, a waiting subscriber evaluates the queries here. If Spark cannot start, it gets the error."""
        pipeline = self._pipeline
        if pipeline is None or self._closed:
            return
        if pipeline.error is not None:
            raise pipeline.error
        if pipeline.alive and not pipeline.ready.is_set():
            with self.round:
                if not self._closed:
                    self.rounds.tick()

    def cursor(self, query: str, after: int | None, since: Any) -> Cursor:
        """Over the results of a query after a position, or since a time; without both from the next one on.

        Whoever begins where results are lost, and nobody has acknowledged that, is told when he fetches.
        """
        outlet = self.network.outlet(query)
        if after is not None and (not isinstance(after, int) or isinstance(after, bool) or after < -1):
            raise TypeMismatch(
                f"{after!r} is not a position in the results of a query",
                detail="A position is a whole number: that of the last result one has; -1 is before the first.",
                hint="Give what `position` of a cursor or of fetched results was.",
            )
        if after is not None and since is not None:
            raise TypeMismatch("results begin after a position or since a time, not both", hint="Give one of them.")
        if after is not None and after >= outlet.next:
            raise UnknownPosition(outlet.query.name, after, outlet.next)
        if since is not None:
            number = outlet.begins(outlet.first_number(to_event_time(since, outlet.query.table)))
        else:
            number = outlet.next if after is None else after + 1
        return Cursor(lambda: self.network.outlet(query), number, self.refresh)

    def cursor_from_oldest(self, query: str) -> Cursor:
        """Over the results of a query from the oldest on that is kept, or that was lost before it."""
        outlet = self.network.outlet(query)
        return Cursor(lambda: self.network.outlet(query), outlet.begins(outlet.first), self.refresh)
