"""The pond: the one object a user holds. Every method is a call of the workspace or of a statement; nothing is decided here."""

from __future__ import annotations

import atexit
import contextlib
import os
import weakref
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from millpond.clock import Clock, SystemClock
from millpond.config import load_config
from millpond.durable import disk_errors
from millpond.errors import CatalogError, MillpondError, NotAPond, brief
from millpond.event_time import to_event_time
from millpond.ingest.intake import Receipt
from millpond.process import ProcessBound
from millpond.reductions.registry import register_function
from millpond.result import Result
from millpond.results.delivery import Cursor, Subscription
from millpond.spark_format.sessions import open_session
from millpond.sql.parser import parse
from millpond.sql.sizes import check_text, nested_too_deeply
from millpond.standing.definition import StandingQuery
from millpond.standing.handle import Handle
from millpond.statements import run as run_statement
from millpond.statements import standing
from millpond.statements.append import append
from millpond.statements.ask import new_deadline
from millpond.statements.feed import transform as feed_transform
from millpond.statements.functions import create_from_python, reader
from millpond.statements.idle import declare as declare_idle
from millpond.statements.trigger import on as add_trigger
from millpond.system.status import status as read_status
from millpond.workspace.folder import prepare_folder
from millpond.workspace.workspace import Workspace

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


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
            prepare_folder(folder, create)
            return Pond(Workspace(folder, config, clock or SystemClock()))
    except MillpondError:
        raise
    except (OSError, ValueError) as error:
        raise NotAPond(
            f"no pond can be opened at {brief(str(folder), 200)}", detail=str(error), hint="Check the path."
        ) from error


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

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self._session: SparkSession | None = None
        workspace.local.reader = reader(workspace)
        workspace.feeds.transform = partial(feed_transform, workspace)
        _open.add(self)

    @property
    def folder(self) -> Path:
        """Where the pond is."""
        return self._workspace.folder

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
        self._workspace.check_open()
        check_text(text, self._workspace.config.statement_length)
        result = Result()
        deadline = new_deadline(
            self._workspace.config
        )  # of the text and its first statement; each other one has its own
        try:
            with disk_errors(self.folder):
                for statement in parse(text, parameters, deadline.check):
                    result = run_statement(self._workspace, statement, deadline)
                    deadline = new_deadline(self._workspace.config)
        except RecursionError as error:
            raise nested_too_deeply() from error
        return result

    def append(self, table: str, rows: Any) -> Receipt:
        """Add rows to a table; returns when they are durable.

        `rows` is an Arrow table, a pandas frame, a list of dicts or tuples, or a data frame of Spark, whose rows are taken in
        order of their time. Late and malformed rows of a streaming table go to `<table>_rejected`; the receipt counts them.

        >>> _ = db.sql("CREATE STREAMING TABLE clicks (page STRING, t BIGINT) TIMESTAMP BY t")
        >>> receipt = db.append("clicks", [("/home", 10), ("/order", 12), ("/home", 11)])
        >>> receipt.accepted, receipt.late
        (2, 1)
        """
        self._workspace.check_open()
        return append(self._workspace, table, rows)

    def advance(self, table: str, time: Any) -> None:
        """A heartbeat: nothing earlier than `time` is still to come. It raises the table's watermark to `time`."""
        self._workspace.check_open()
        self._workspace.own()
        self._workspace.intake(table).advance(to_event_time(time, self._workspace.catalog.streaming_table(table)))

    def idle(self, table: str, idle: bool = True) -> None:
        """Declare that a table is idle: until it accepts a row it does not hold back queries that join it with others.

        At each tick its watermark moves to that of those others, as after a heartbeat. `idle=False` ends it.
        """
        self._workspace.check_open()
        declare_idle(self._workspace, table, idle)

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
        self._workspace.check_open()
        self._workspace.refresh()
        return self._workspace.time(table)

    # -- continuous queries -----------------------------------------------------------------------------------------

    def tick(self) -> None:
        """Evaluate the continuous queries over everything accepted so far: by the pipeline if it runs, else in this process."""
        self._workspace.check_open()
        self._workspace.tick()

    def subscribe(self, query: str, *, after: int | None = None, since: Any = None) -> Subscription:
        """Results of a continuous query as they appear: iterate over it; `close` ends it.

        It starts with the next result; with `after`, after the result of that position; with `since`, at that time. In the
        process that writes the pond it starts the pipeline, which needs Java.

            for batch in db.subscribe("orders"):
                print(batch.rows())
        """
        self._workspace.check_open()
        self._workspace.refresh()
        return self._workspace.subscription(query, after, since)

    def resume(self, query: str, *, after: int | None = None, since: Any = None) -> Cursor:
        """A cursor over the results of a continuous query: `fetch` gives what is new since the last time.

        Without `after` or `since` it starts with the oldest result that is kept. Keep its `position` to continue later, in
        this process or another. Results that are lost or no longer kept are not skipped in silence: `fetch` raises `ResultsGone`.

        >>> _ = db.sql("CREATE STREAMING TABLE clicks (page STRING, t BIGINT) TIMESTAMP BY t")
        >>> _ = db.sql("CREATE CONTINUOUS QUERY orders AS SELECT page FROM clicks [NOW] WHERE page = '/order' SAMPLE REALTIME")
        >>> _ = db.append("clicks", [("/order", 1), ("/order", 2), ("/home", 3)])
        >>> db.tick()
        >>> db.resume("orders").fetch().rows()
        [('/order', 1, 0), ('/order', 2, 1)]
        >>> db.resume("orders", after=0).fetch().rows()
        [('/order', 2, 1)]
        """
        self._workspace.check_open()
        self._workspace.refresh()
        if after is None and since is None:
            return self._workspace.cursor_from_oldest(query)
        return self._workspace.cursor(query, after, since)

    def on(self, query: str, do: Callable[[dict[str, Any]], object] | str) -> None:
        """From now on hand each result row of a continuous query to `do`, in order and at least once.

        A callable gets a dict of "id", "query", "instant" and the columns, in a thread of its own; the trigger lives as long as
        this process. A text is durable: an address that rows are posted to, or '<module>:<function>'. A row that is sent
        again has the same id.

            db.on("jams", lambda row: print(row["seg"], row["speed"]))
            db.on("jams", "https://alarms.example/jams")
        """
        self._workspace.check_open()
        add_trigger(self._workspace, query, do)

    # -- standing queries -------------------------------------------------------------------------------------------

    def register(
        self,
        sql: str,
        parameters: Sequence[Any] | Mapping[str, Any] | None = None,
        *,
        keep: str = "auto",
        name: str | None = None,
    ) -> Handle:
        """Register a standing query: `SELECT ... BEGIN ... END ...`. Ask it through the handle, now and as often as you like.

        It is durable: `registered(handle.id)` gives the same query in another process and after a restart. `keep` says what may
        be kept of it between two questions, which changes how quick they are and never their answers: 'partial' (its
        matches), 'complete' (those in its window), 'nothing', or 'auto'.

        >>> _ = db.sql("CREATE STREAMING TABLE quotes (symbol STRING, price INT, t BIGINT) TIMESTAMP BY t")
        >>> cheap = db.register("SELECT symbol FROM quotes WHERE price < ? BEGIN NOW - INTERVAL '10' MINUTE END NOW", [20])
        >>> _ = db.append("quotes", [("A", 10, 100), ("B", 30, 400)])
        >>> db.registered(cheap.id).invoke().rows()
        [('A',)]
        """
        self._workspace.check_open()
        check_text(sql, self._workspace.config.statement_length)
        with disk_errors(self.folder):
            query = standing.register(self._workspace, sql, parameters, keep, name)
        return self._handle(query)

    def register_many(self, sql: str, parameters: Sequence[Sequence[Any]], *, keep: str = "auto") -> list[Handle]:
        """Register a standing query for each list of values: `?` in the text is another value in each.

        The text is read once, so a hundred thousand take seconds.

        >>> _ = db.sql("CREATE STREAMING TABLE quotes (symbol STRING, price INT, t BIGINT) TIMESTAMP BY t")
        >>> watched = db.register_many("SELECT price, t FROM quotes WHERE symbol = ? AND price < ?", [("A", 20), ("B", 40)])
        >>> _ = db.append("quotes", [("A", 30, 100), ("B", 30, 400)])
        >>> [handle.invoke().rows() for handle in watched]
        [[], [(30, 400)]]
        """
        self._workspace.check_open()
        check_text(sql, self._workspace.config.statement_length)
        with disk_errors(self.folder):
            return [self._handle(query) for query in standing.register_each(self._workspace, sql, parameters, keep)]

    def drop_many(self, handles: Iterable[Handle]) -> None:
        """Drop standing queries at once: all of them, or none if one is not registered.

        >>> _ = db.sql("CREATE STREAMING TABLE quotes (symbol STRING, price INT, t BIGINT) TIMESTAMP BY t")
        >>> watched = db.register_many("SELECT price, t FROM quotes WHERE symbol = ?", [("A",), ("B",)])
        >>> db.drop_many(watched)
        >>> db.sql("SELECT count(*) FROM millpond.standing_queries").rows()
        [(0,)]
        """
        self._workspace.check_open()
        with disk_errors(self.folder):
            standing.drop_each(self._workspace, [handle.id for handle in handles])

    def registered(self, query: int | str) -> Handle:
        """The handle of a standing query, by its id or name.

        >>> _ = db.sql("CREATE STREAMING TABLE quotes (symbol STRING, price INT, t BIGINT) TIMESTAMP BY t")
        >>> _ = db.sql("CREATE STANDING QUERY cheap AS SELECT symbol FROM quotes WHERE price < 20")
        >>> db.registered("cheap")
        <standing query "cheap": SELECT symbol FROM quotes WHERE price < 20>
        """
        self._workspace.check_open()
        self._workspace.refresh()
        return self._handle(self._workspace.standing.registry.find(query))

    def _handle(self, query: StandingQuery) -> Handle:
        return Handle(query, standing.HandleAccess(self._workspace))

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
        self._workspace.check_open()
        return create_from_python(
            self._workspace, name, function, arguments, returns, kind, nulls=nulls, if_not_exists=if_not_exists
        )

    def create_reduction(self, name: str, function: Callable[..., float]) -> None:
        """Let `REDUCE USING <name>(...)` call a Python function, which says how much of each portion of the archive is read.

        It is given a `Portion` (its age, rows and bytes, the load of the pond) and what stands in the parentheses, and answers
        with a fraction. The name is known in this process, and is given once; `millpond.testing.check_reduction` checks it.

        >>> db.create_reduction("fresh_first", lambda portion, days: 1.0 if portion.age.days < days else 0.05)
        >>> _ = db.sql("CREATE STREAMING TABLE clicks (page STRING, t BIGINT) TIMESTAMP BY t REDUCE BY RANDOMIZE")
        >>> db.sql("SELECT page FROM clicks REDUCE USING fresh_first(7)").rows()
        []
        """
        self._workspace.check_open()
        self._workspace.refresh()
        if name.lower() in self._workspace.catalog.reductions:
            raise CatalogError(
                f'reduction "{name.lower()}" exists already', detail="It has windows.", hint="Take another name."
            )
        register_function(name, function)

    # -- Spark ------------------------------------------------------------------------------------------------------

    def spark(self) -> SparkSession:
        """A session of Spark, started if need be, with a view of each table and continuous query of the pond.

        The views show the pond as it is now. Call it again for what comes later: it is the same session, with new views. Beside
        them the format `millpond` reads and writes ponds; docs/spark.md has examples.

            db.spark().sql("SELECT page, count(*) FROM clicks GROUP BY page").show()
        """
        self._workspace.check_open()
        self._workspace.refresh()
        self._session = open_session(self._workspace, self._session)
        return self._session

    # -- the pipeline -----------------------------------------------------------------------------------------------

    def start(self, wait: bool = False, timeout: float = 300.0) -> None:
        """Start the pipeline (Spark) and the feeds in the background.

        Returns at once: Spark takes ten seconds to a minute, in which rows are accepted, one-time queries answered, and
        continuous ones evaluated for whoever subscribes or calls `tick`. With `wait=True` it returns when Spark does the work,
        and raises what went wrong if it cannot; `db.status()["pipeline"]["state"]` is `running` then.
        """
        self._workspace.check_open()
        self._workspace.start(timeout if wait else None)

    def archive(self, timeout: float = 600.0) -> None:
        """Move everything accepted so far into the archive now: through the pipeline if it runs, else in this process."""
        self._workspace.check_open()
        self._workspace.archive(timeout)

    def durations(self) -> list[float]:
        """Seconds that the last ticks of the pipeline took."""
        pipeline = self._workspace.pipeline
        return [] if pipeline is None else list(pipeline.durations)

    def status(self) -> dict[str, Any]:
        """What the pond holds and does, as plain values: rows of the system tables (docs/system-tables.md)."""
        self._workspace.check_open()
        self._workspace.refresh()
        return read_status(self._workspace)

    def close(self) -> None:
        """Stop feeds and pipeline and release the folder. Everything accepted is durable already."""
        self._workspace.close()

    def __enter__(self) -> Pond:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"Pond({str(self.folder)!r})"
