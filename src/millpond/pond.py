"""The pond: the one front object. It opens a folder, wires the stages together and decides nothing itself.

    rows -> ingest -> table (log, tail, archive) <- query <- SQL
                          ^ archive work, by tick (Spark) or in place

Threads. Any thread may ask and append. `round` is held by a tick from plan to commit, and by whoever rewrites the archive:
there is one at a time, and it may take as long as evaluations do. `work` guards definitions and commits; it is held for moments
by a tick and for as long as it takes by a statement that changes definitions. Asking and appending wait for neither. Who needs
both takes `round` first. A table's own lock orders its appends. The writer lock of the folder is taken at the first change,
never to read.
"""

from __future__ import annotations

import atexit
import contextlib
import json
import os
import threading
import uuid
import weakref
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from millpond import catalog_file
from millpond.acts import run as run_statement
from millpond.acts.change import insert_standard
from millpond.acts.feed import transform as feed_transform
from millpond.acts.functions import create_from_python, reader
from millpond.acts.idle import declare as declare_idle
from millpond.acts.trigger import on as add_trigger
from millpond.arrow import BadRow
from millpond.catalog import Catalog, Feed, StandardTable
from millpond.clock import Clock, SystemClock
from millpond.config import Config, load_config
from millpond.durable import delete_folder, disk_errors, make_folder
from millpond.errors import (
    IntakeError,
    JavaMissing,
    MillpondError,
    NotAPond,
    PondError,
    TypeMismatch,
    UnknownPosition,
    brief,
)
from millpond.ingest.feed import FeedRunner
from millpond.ingest.intake import Intake, Origin, Receipt, warn_malformed
from millpond.lock import WriterLock, is_written
from millpond.network.run.network import Network
from millpond.network.run.tick_plan import TickPlan
from millpond.process import ProcessBound
from millpond.query.bounds import to_ticks
from millpond.query.local import Local
from millpond.query.shelf import TableShelf
from millpond.result import Result
from millpond.results.delivery import Cursor, Subscription
from millpond.results.outlet import Outlet
from millpond.results.triggers.supervisor import Triggers
from millpond.sealed import BrokenSeal, unseal, write_sealed
from millpond.sources.registry import open_source
from millpond.sql.parser import nested_too_deeply, parse
from millpond.sql.sizes import check_text
from millpond.system.status import status as read_status
from millpond.table.keeper import Keeper, Round
from millpond.table.standard import StandardStore
from millpond.table.stream import StreamTable
from millpond.table.work import CompactTask
from millpond.tick.pipeline import Pipeline
from millpond.tick.task_result import FilesWritten, ShardEvaluated, TaskResult, Work, run_task

MARKER = "millpond.json"
FORMAT = 2


def connect(path: str | Path, *, create: bool = True, clock: Clock | None = None, **settings: object) -> Pond:
    """Open the pond in the folder `path`, making it if it does not exist (unless `create` is False).

    Settings are the fields of `Config`, for example `block_rows=100_000`. No JVM is started.

    >>> import millpond, tempfile
    >>> with millpond.connect(tempfile.mkdtemp()) as db:
    ...     db.sql("SELECT 1 + 1 AS two").rows()
    [(2,)]
    """
    if not isinstance(path, (str, os.PathLike)):
        raise NotAPond(f"a pond is a folder, not {brief(path)}", hint='Give its path: connect("traffic").')
    folder = Path(path)
    config = load_config(**settings)
    try:
        with disk_errors(folder):
            _check_folder(folder, create)
            return Pond(folder, config, clock or SystemClock())
    except MillpondError:
        raise
    except (OSError, ValueError) as error:
        raise NotAPond(
            f"no pond can be opened at {brief(str(folder), 200)}", detail=str(error), hint="Check the path."
        ) from error


def _check_folder(folder: Path, create: bool) -> None:
    if (folder / MARKER).exists():
        written = _written_format(folder)
        if written != FORMAT:
            raise NotAPond(
                f'pond "{folder.name}" has format {written}, this millpond reads {FORMAT}',
                hint="Update millpond."
                if written > FORMAT
                else "It was made by an older millpond: export its tables there, and load them into a new pond.",
            )
        return
    if folder.exists() and not folder.is_dir():
        raise NotAPond(f'"{folder}" is a file, not a pond', hint="Give the path of a folder.")
    if folder.exists() and any(not _half_made(p.name) for p in folder.iterdir()):
        raise NotAPond(
            f'"{folder}" is not a pond',
            detail=f"It holds other files and no {MARKER}.",
            hint="Give the folder of a pond, or one that is empty or does not exist yet.",
        )
    if not create:
        raise NotAPond(f'there is no pond at "{folder}"', hint="CREATE a table there first, or check the path.")
    above = next((p for p in folder.resolve().parents if p.exists() and not p.is_dir()), None)
    if above is not None:
        raise NotAPond(f'no pond can be made at "{folder}": "{above}" is a file', hint="Check the path.")
    make_folder(folder.resolve())
    catalog_file.save(Catalog(), folder)
    write_sealed(folder / MARKER, {"format": FORMAT, "id": str(uuid.uuid4())})


def _written_format(folder: Path) -> int:
    """The format of the pond in a folder, by its marker. The first format had no checksum there."""
    try:
        raw = (folder / MARKER).read_bytes()
        try:
            return int(unseal(raw)["format"])
        except BrokenSeal:
            if json.loads(raw)["format"] == 1:
                return 1
            raise
    except (ValueError, KeyError, TypeError, IsADirectoryError) as error:
        raise NotAPond(
            f'"{folder}" has a damaged {MARKER}', detail=str(error), hint="Restore it from a copy."
        ) from error


def _half_made(name: str) -> bool:
    """Whether a file can be what a crash left of the making of a pond."""
    return name == catalog_file.FILE or (
        name.startswith((f".{catalog_file.FILE}.", f".{MARKER}.")) and name.endswith(".tmp")
    )


_open: weakref.WeakSet[Pond] = weakref.WeakSet()


def _close_all() -> None:
    """Close what was left open when the interpreter ends: threads that still run then keep DuckDB's objects alive, and it
    complains about each of them. A forked child leaves alone what it inherited."""
    for pond in list(_open):
        with contextlib.suppress(Exception):  # nobody is left to be told; everything accepted is durable
            pond.close()


atexit.register(_close_all)


class Pond(ProcessBound):
    """An open pond. Get one from `connect`; use it from any thread; close it, or use it in a `with`."""

    def __init__(self, folder: Path, config: Config, clock: Clock) -> None:
        self.folder = folder.resolve()
        self.config = config
        self.clock = clock
        self.round = threading.RLock()
        self.work = threading.RLock()
        self._deleting: list[Path] = []  # folders of dropped tables, which a round under way may still use
        self._opened = threading.RLock()  # guards the dictionaries below; held for moments only
        self.catalog = catalog_file.load(self.folder)
        self.local = Local(self.folder, memory=config.query_memory)
        self.local.reader = reader(self)
        self._lock = WriterLock(self.folder)
        self._streams: dict[str, StreamTable] = {}
        self._intakes: dict[str, Intake] = {}
        self._standards: dict[str, StandardStore] = {}
        self._feeds: dict[str, FeedRunner] = {}
        self._keeper = Keeper(clock, config.block_rows, round(config.block_age.total_seconds() * 1e6))
        self._round: Round | None = None
        self._plan: TickPlan | None = None  # of the network, whose tasks were handed out last
        self.shelf = TableShelf(self)
        self.network = Network(self)
        self.triggers = Triggers(self.network, self.folder / "triggers", clock)
        self._pipeline: Pipeline | None = None
        self._owned = False
        self._closed = False
        _open.add(self)

    # -- asking and telling -----------------------------------------------------------------------------------------

    def sql(self, text: str, parameters: Sequence[Any] | Mapping[str, Any] | None = None) -> Result:
        """Run one or more statements separated by `;`. Returns the result of the last.

        `parameters` are values for `?` (a list or tuple, in order) or for `:name` (a dict) wherever a literal can stand in
        a query, INSERT, UPDATE or DELETE. They are never part of the text, so they need no quotes.

        >>> db.sql("CREATE TABLE owners (vid INT, owner STRING); INSERT INTO owners VALUES (1, 'Ada'), (2, 'Bert')")
        2 rows inserted
        >>> db.sql("SELECT owner FROM owners WHERE vid = ?", [1]).rows()
        [('Ada',)]
        >>> db.sql("SELECT vid FROM owners WHERE owner = :name", {"name": "Bert"}).rows()
        [(2,)]
        """
        self._check_open()
        check_text(text, self.config.statement_length)
        result = Result()
        try:
            with disk_errors(self.folder):
                for statement in parse(text, parameters):
                    result = run_statement(self, statement)
        except RecursionError as error:
            raise nested_too_deeply() from error
        return result

    def append(self, table: str, rows: Any) -> Receipt:
        """Add rows to a table; returns when they are durable.

        `rows` is an Arrow table, a pandas frame, or a list of dicts or tuples. Late and malformed rows of a streaming
        table go to `<table>_rejected`; the receipt counts them.

        >>> _ = db.sql("CREATE STREAMING TABLE clicks (page STRING, t BIGINT) TIMESTAMP BY t")
        >>> receipt = db.append("clicks", [("/home", 10), ("/order", 12), ("/home", 11)])
        >>> receipt.accepted, receipt.late
        (2, 1)
        """
        self._check_open()
        self.own()
        found = self.catalog.relation(table)
        if isinstance(found, StandardTable):
            count = insert_standard(self, found, rows)
            return Receipt(found.name, count)
        receipt = self.intake(table).offer(rows)
        warn_malformed(receipt)
        return receipt

    def advance(self, table: str, time: Any) -> None:
        """A heartbeat: nothing earlier than `time` is still to come. It raises the table's watermark to `time`."""
        self._check_open()
        self.own()
        self.intake(table).advance(to_ticks(time, self.catalog.streaming_table(table)))

    def idle(self, table: str, idle: bool = True) -> None:
        """Declare that a table is idle: until it accepts a row it does not hold back queries that join it with others.

        At each tick its watermark moves to that of those others, as after a heartbeat. `idle=False` ends it.
        """
        self._check_open()
        declare_idle(self, table, idle)

    def now(self, table: str) -> Any:
        """The watermark of a table, None before its first row. Of a continuous query: its results are complete below it.

        >>> _ = db.sql("CREATE STREAMING TABLE clicks (page STRING, t BIGINT) TIMESTAMP BY t LATENESS INTERVAL '5' SECOND")
        >>> _ = db.append("clicks", [("/home", 100)])
        >>> db.now("clicks")
        95
        >>> db.advance("clicks", 101)
        >>> db.now("clicks")
        101
        """
        self.refresh()
        if table.lower() in self.catalog.queries:
            return self.catalog.queries[table.lower()].table.value(self.network.outlet(table).progress.complete)
        found = self.stream(table)
        return found.definition.value(found.now)

    # -- continuous queries -----------------------------------------------------------------------------------------

    def tick(self) -> None:
        """Evaluate the continuous queries over everything accepted so far: by the pipeline if it runs, else in this process."""
        self._check_open()
        self.own()
        if self._pipeline is not None and self._pipeline.alive and self._pipeline.ready.is_set():
            self._pipeline.beat()
            return
        with self.round, disk_errors(self.folder):
            self.network.tick()

    def _meanwhile(self) -> None:
        """While Spark starts, who waits for results has the queries evaluated here; if it cannot start, he is told."""
        pipeline = self._pipeline
        if pipeline is None or self._closed:
            return
        if pipeline.error is not None:
            raise pipeline.error
        if pipeline.alive and not pipeline.ready.is_set():
            with self.round:
                if not self._closed:
                    self.network.tick()

    def subscribe(self, query: str, *, after: int | None = None, since: Any = None) -> Subscription:
        """Results of a continuous query as they appear: iterate over it; `close` ends it.

        It starts with the next result; with `after`, after the result of that position; with `since`, at that time. In the
        process that writes the pond it starts the pipeline, which needs Java.

            for batch in db.subscribe("orders"):
                print(batch.rows())
        """
        self._check_open()
        self.refresh()
        cursor = self._cursor(query, after, since)
        if self._owned or not is_written(self.folder):
            self.start()
        return Subscription(cursor, self.refresh, lambda: self._owned, lambda: self._closed, self._meanwhile)

    def resume(self, query: str, *, after: int | None = None, since: Any = None) -> Cursor:
        """A cursor over the results of a continuous query: `fetch` gives what is new since the last time.

        Without `after` or `since` it starts with the oldest result that is kept. Keep its `position` to continue later, in
        this process or another.

        >>> _ = db.sql("CREATE STREAMING TABLE clicks (page STRING, t BIGINT) TIMESTAMP BY t")
        >>> _ = db.sql("CREATE CONTINUOUS QUERY orders AS SELECT page FROM clicks [NOW] WHERE page = '/order' SAMPLE REALTIME")
        >>> _ = db.append("clicks", [("/order", 1), ("/order", 2), ("/home", 3)])
        >>> db.tick()
        >>> db.resume("orders").fetch().rows()
        [('/order', 1, 0), ('/order', 2, 1)]
        >>> db.resume("orders", after=0).fetch().rows()
        [('/order', 2, 1)]
        """
        self._check_open()
        self.refresh()
        return self._cursor(query, -1 if after is None and since is None else after, since)

    def on(self, query: str, do: Callable[[dict[str, Any]], object] | str) -> None:
        """From now on hand each result row of a continuous query to `do`, in order and at least once.

        A callable gets a dict of "id", "query", "instant" and the columns, in a thread of its own; the trigger lives as long as
        this process. A text is durable: an address that rows are posted to, or '<module>:<function>'. A row that is sent
        again has the same id.

            db.on("jams", lambda row: print(row["seg"], row["speed"]))
            db.on("jams", "https://alarms.example/jams")
        """
        self._check_open()
        add_trigger(self, query, do)

    # -- functions --------------------------------------------------------------------------------------------------

    def create_function(
        self,
        name: str,
        function: Callable[..., Any] | str,
        *,
        arguments: Sequence[str | tuple[str, str]],
        returns: str | Sequence[tuple[str, str]],
        kind: str = "scalar",
        nulls: bool = False,
        if_not_exists: bool = False,
    ) -> Result:
        """Let SQL call a Python function: of kind 'scalar', 'aggregate' or 'table'.

        `arguments` are types, or pairs of name and type; `returns` is a type, or the columns of a table function. With `nulls`
        it is called for NULLs too. A function that can be imported as 'module:name' is stored in the pond; any other
        lives as long as this process.

        >>> _ = db.create_function("shout", lambda text: text.upper() + "!", arguments=["STRING"], returns="STRING")
        >>> db.sql("SELECT shout('hello') AS said").rows()
        [('HELLO!',)]
        """
        self._check_open()
        return create_from_python(
            self, name, function, arguments, returns, kind, nulls=nulls, if_not_exists=if_not_exists
        )

    def _cursor(self, query: str, after: int | None, since: Any) -> Cursor:
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
            number = outlet.first_number(to_ticks(since, outlet.query.table))
        else:
            number = outlet.next if after is None else after + 1
        return Cursor(lambda: self.network.outlet(query), number, self.refresh)

    # -- the pipeline -----------------------------------------------------------------------------------------------

    def start(self) -> None:
        """Start the pipeline (Spark) and the feeds in the background. Returns at once."""
        self._check_open()
        self.own()
        with self.work:
            if self._pipeline is None or not self._pipeline.alive:
                c = self.config
                folder = self.folder / "run"
                self._pipeline = Pipeline(self, folder, c.tick.total_seconds(), c.spark_master, c.spark_memory)
                self._pipeline.start()
            for feed in self.catalog.feeds.values():
                self.start_feed(feed)

    def archive(self, timeout: float = 600.0) -> None:
        """Move everything accepted so far into the archive now: through the pipeline if it runs, else in this process."""
        self._check_open()
        self.own()
        if self._pipeline is not None and self._pipeline.alive:
            self._pipeline.flush(timeout, self._all_archived())
        else:
            self.archive_in_place()

    def archive_in_place(self) -> None:
        """Archive everything with this process's own hands. The same tasks as a tick's, one after another."""
        with self.round, disk_errors(self.folder):
            goal = self._all_archived()
            reached = False
            while tasks := self.next_tasks(force=True):
                if reached and not any(isinstance(task, CompactTask) for task in tasks):
                    break  # the rest was appended meanwhile
                name = f"here-{uuid.uuid4().hex[:8]}"
                self.commit_results([run_task(task, f"{name}-{i}") for i, task in enumerate(tasks)])
                reached = goal()

    def _all_archived(self) -> Callable[[], bool]:
        """Tells whether the rows accepted by now are in the archive, as far as their tables are still there."""
        ends = [(t, t.next_row, t.next_rejected) for t in self.streams().values() if t.damage is None]
        return lambda: all(
            not t.writing or (t.rows.tail.start >= rows and t.rejected.tail.start >= rejected)
            for t, rows, rejected in ends
        )

    def next_tasks(self, *, force: bool) -> Sequence[Work]:
        """Called by the holder of the round: what is due now. Shards of continuous queries first, then the archive."""
        self.network.advance_idle_tables()
        plan = self.network.plan()
        if plan is not None and not plan.tasks:
            self.network.finish(plan, [])  # needs no worker; at once, so that its rows can be archived in this round
            plan = None
        self._plan = plan
        with self.work:
            self._delete_dropped()
            tables = list(self.streams().values())
            self._keeper.expire(tables)
            self._keeper.clean(tables)
            self._round = self._keeper.plan(tables, force=force)
        return [*(plan.tasks if plan is not None else ()), *self._round.tasks]

    def commit_results(self, results: Sequence[TaskResult]) -> None:
        """Called by the holder of the round: what came out of the tasks last handed out."""
        assert self._round is not None
        plan, self._plan = self._plan, None
        if plan is not None:
            self.network.finish(plan, [r.path for r in results if isinstance(r, ShardEvaluated)])
        files = [r.files for r in results if isinstance(r, FilesWritten)]
        with self.work:
            if files:
                self._keeper.commit(self._round, files, self.streams().values())
            self._delete_dropped()

    def settle(self) -> None:
        """After a change of definitions, without `work`: take them up now. If a round is under way, the next one does."""
        if self.round.acquire(blocking=False):
            try:
                self.network.take_up_definitions()
                with self.work:
                    self._delete_dropped()
            finally:
                self.round.release()

    def delete_folder(self, folder: Path) -> None:
        """Delete the folder of a dropped table, once no round uses it any more."""
        self._deleting.append(folder)

    def _delete_dropped(self) -> None:
        """As the holder of the round, when none of its tasks runs."""
        while self._deleting:
            delete_folder(self._deleting.pop(), self.folder)

    # -- state ------------------------------------------------------------------------------------------------------

    def durations(self) -> list[float]:
        """Seconds that the last ticks of the pipeline took."""
        pipeline = self._pipeline
        return [] if pipeline is None else list(pipeline.durations)

    def status(self) -> dict[str, Any]:
        """What the pond holds and does, as plain values: rows of the system tables (docs/system-tables.md)."""
        self._check_open()
        self.refresh()
        return read_status(self)

    def close(self) -> None:
        """Stop feeds and pipeline and release the folder. Everything accepted is durable already."""
        if self._closed:
            return
        self._closed = True
        for runner in self._feeds.values():
            runner.ask_to_stop()
        for runner in self._feeds.values():
            runner.stop(10.0)
        self.triggers.close()
        if self._pipeline is not None:
            self._pipeline.stop()
        with self.round, self.work:  # who waits for results may be evaluating
            self._delete_dropped()
            for table in self._streams.values():
                table.close()
            self.network.close()
        self.local.close()
        self._lock.release()
        self._owned = False
        # Spark's callback threads outlive us; they must not keep the embedded DuckDB alive into interpreter exit.
        self._pipeline = None
        del self.local

    def __enter__(self) -> Pond:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"Pond({str(self.folder)!r})"

    def _check_open(self) -> None:
        if self._closed:
            raise PondError(f'pond "{self.folder.name}" is closed', hint="Open it again with millpond.connect.")

    # -- for the stages ---------------------------------------------------------------------------------------------

    @property
    def pipeline(self) -> Pipeline | None:
        """The pipeline, if this process has started one."""
        return self._pipeline

    @property
    def owned(self) -> bool:
        """Whether this process is the writer."""
        return self._owned

    def own(self) -> None:
        """Become the writer, if not yet."""
        if self._owned:
            return
        with self.work, disk_errors(self.folder):
            if self._owned:
                return
            self._check_open()
            self._lock.acquire()
            try:
                with self._opened:
                    self.catalog = catalog_file.load(self.folder).with_functions_here(self.catalog)
                    for name in list(self._streams):
                        if name not in self.catalog.streaming:
                            del self._streams[name]
                for standard in self._standards.values():
                    standard.refresh()
                for definition in self.catalog.standard.values():
                    if definition.postgres is None:
                        with contextlib.suppress(PondError):  # whoever asks it will be told
                            self.standard(definition).store.delete_strays(self.clock.micros() / 1e6)
                for table in self.streams().values():
                    table.become_writer()
                    for store in (table.rows, table.rejected):
                        store.delete_strays(self.clock.micros() / 1e6)
                self.network.become_writer()
            except BaseException:
                for table in self._streams.values():
                    table.close()
                self._lock.release()
                raise
            with self._opened:  # a refresh under way ends first: from now on only we change the catalog
                self._owned = True
            self.triggers.sync()

    def change_catalog(self, catalog: Catalog) -> None:
        """Make a new catalog durable and current."""
        catalog_file.save(catalog, self.folder)
        self.catalog = catalog
        if self._owned:
            self.triggers.sync()

    def refresh(self) -> None:
        """As a reader, take in what the writer did."""
        if self._owned:
            return
        with self._opened, disk_errors(self.folder):
            while not self._owned:
                self.catalog = catalog_file.load(self.folder).with_functions_here(self.catalog)
                try:
                    for table in self.streams().values():
                        table.refresh()
                    for standard in self._standards.values():
                        standard.refresh()
                    self.network.load()
                except OSError:
                    if catalog_file.load(self.folder).version == self.catalog.version:
                        raise
                else:
                    damaged = any(table.damage is not None for table in self._streams.values())
                    if not damaged or catalog_file.load(self.folder).version == self.catalog.version:
                        return
                # A table may have been dropped while we opened it: look again.

    def streams(self) -> dict[str, StreamTable]:
        """All streaming tables, opened."""
        with self._opened:
            for name in list(self.catalog.streaming):
                self.stream(name)
            for name in [n for n in self._streams if n not in self.catalog.streaming]:
                self.forget(name)
            return dict(self._streams)

    def stream(self, name: str) -> StreamTable:
        with self._opened:  # a name looked up before might be another table's by now
            definition = self.catalog.streaming_table(name)
            found = self._streams.get(definition.name)
            if found is None or found.definition.folder != definition.folder:
                if found is not None:
                    found.close()
                found = StreamTable(self.folder, definition, segment_bytes=self.config.segment_bytes)
                if self._lock.held:
                    found.become_writer()
                self._streams[definition.name] = found
            elif found.definition != definition:
                found.redefine(definition)
            return found

    def intake(self, name: str) -> Intake:
        with self._opened:
            table = self.stream(name)
            found = self._intakes.get(table.definition.name)
            if found is None or found.table is not table:
                found = self._intakes[table.definition.name] = Intake(table, self.clock, self._make_room)
            return found

    def heartbeat(self, name: str, time: int, rows: int) -> None:
        """A heartbeat, in ticks, unless the table has accepted more than `rows` rows."""
        intake = self.intake(name)
        with intake.table.lock:
            if intake.table.next_row == rows:
                intake.advance(time, follows=True)

    def standard(self, definition: StandardTable) -> StandardStore:
        with self._opened:
            found = self._standards.get(definition.folder)
            if found is None:
                found = self._standards[definition.folder] = StandardStore(self.folder, definition, self.clock)
            elif definition == self.catalog.standard.get(definition.name):
                found.definition = definition
            return found

    def rename(self, catalog: Catalog, name: str, to: str) -> None:
        """Make a catalog current in which the table `name` is called `to`.

        It stays the same table: an append that looked it up by its old name goes on, before or after this.
        """
        with self._opened:
            table = self.stream(name) if name in self.catalog.streaming else None
            with table.lock if table is not None else contextlib.nullcontext():
                catalog_file.save(catalog, self.folder)
                self.catalog = catalog
                if table is not None:
                    self._streams[to] = self._streams.pop(name)
                    if name in self._intakes:
                        self._intakes[to] = self._intakes.pop(name)
                    table.redefine(catalog.streaming[to])
        if self._owned:
            self.triggers.sync()

    def forget(self, name: str) -> None:
        """Close what belongs to a dropped table. Whoever still appends to it is told."""
        with self._opened:
            table = self._streams.pop(name, None)
            self._intakes.pop(name, None)
            for folder in [f for f, s in self._standards.items() if s.definition.name == name]:
                del self._standards[folder]
        if table is not None:
            table.close()

    def _make_room(self, table: StreamTable) -> None:
        """Called before each append: keep the tail within its bound, starting the pipeline when it is worth it."""
        tail = table.rows.tail
        c = self.config
        if c.auto_archive and self._pipeline is None and tail.rows >= c.block_rows * table.definition.shards:
            with contextlib.suppress(JavaMissing):
                self.start()
        waiting = threading.Event()
        while tail.bytes > c.tail_bytes:
            self._check_open()
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

    # -- feeds ------------------------------------------------------------------------------------------------------

    def feed(self, name: str) -> FeedRunner | None:
        """A feed, if it was started in this process."""
        return self._feeds.get(name)

    def start_feed(self, feed: Feed) -> None:
        with self.work:
            running = self._feeds.get(feed.name)
            if running is not None and running.error is None:
                return
            self._run_feed(self._make_feed(feed))

    def add_feed(self, feed: Feed) -> None:
        """Define a feed and start it: both, or neither. What can fail is done before the definition is written."""
        with self.work:
            journal = self._journal(feed)
            try:
                runner = self._make_feed(feed)
                try:
                    self.change_catalog(self.catalog.with_feed(feed))
                except BaseException:
                    runner.stop()
                    raise
            except BaseException:
                delete_folder(journal, self.folder)
                raise
            self._run_feed(runner)

    def _journal(self, feed: Feed) -> Path:
        return self.folder / "feeds" / feed.folder

    def _make_feed(self, feed: Feed) -> FeedRunner:
        transform = feed_transform(self, feed)
        reader = open_source(self.catalog.source(feed.source), self._journal(feed), self.clock)
        try:
            position = self.stream(feed.table).state.positions.get(feed.folder)
            if position is not None:
                reader.seek(position)
        except BaseException:
            reader.close()
            raise

        def offer(rows: Any, origin: Origin, bad: Sequence[BadRow]) -> Receipt:
            return self.intake(feed.table).offer(rows, replace(origin, key=feed.folder), bad=bad)

        return FeedRunner(feed.name, reader, offer, transform, self.clock)

    def _run_feed(self, runner: FeedRunner) -> None:
        self._feeds[runner.name] = runner
        runner.start()

    def stop_feed(self, feed: Feed) -> None:
        """End a dropped feed. Its position goes with the next frame of the table; nobody asks for it any more."""
        runner = self._feeds.pop(feed.name, None)
        if runner is not None:
            runner.stop(30.0)
        table = self.stream(feed.table)
        with table.lock:
            rest = {key: at for key, at in table.state.positions.items() if key != feed.folder}
            table.state = replace(table.state, positions=rest)

    # -- for the shelf ----------------------------------------------------------------------------------------------

    def result(self, name: str) -> Outlet | None:
        """What a continuous query has sent, if there is one of that name."""
        return self.network.outlet(name) if name in self.catalog.queries else None
