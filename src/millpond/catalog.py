"""The catalog: definitions of tables, indexes, sources, feeds and functions, and looking them up by name. It holds no data.

Definitions are frozen values; a change makes a new catalog with the next version number, which `catalog_file` writes as one
file in one atomic replacement. Names are unique over all kinds of relation regardless of case, so a name in a query means
one thing.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import Any

from millpond.codec import NOT_DURABLE, stored_as
from millpond.duration import TimeUnit, describe, moment
from millpond.errors import CatalogError, UnknownName
from millpond.schema import Schema

REJECTED_SUFFIX = "_rejected"
_LONGEST_FILE_NAME = 40
REJECTED_COLUMNS = Schema.of(
    [("arrival", "TIMESTAMP"), ("reason", "STRING"), ("source", "STRING"), ("position", "STRING"), ("row", "STRING")]
)


def file_name(name: str) -> str:
    """What of a user's name can be part of a file's name: never a path, never too long, perhaps not even unique."""
    return re.sub(r"[^A-Za-z0-9_]", "", name)[:_LONGEST_FILE_NAME]


def folder_name(name: str, number: int) -> str:
    """The folder of something that has this name now. `number` makes it the only one (see `Catalog.made`)."""
    return f"{file_name(name)}-{number}"


@dataclass(frozen=True)
class Index:
    name: str
    columns: tuple[str, ...]


@dataclass(frozen=True)
class StreamingTable:
    """A table into which a stream flows. `columns` include the time column.

    `folder` names its place on disk and survives a rename. `late` is 'reject' or 'keep'. `ahead` is how far a row may be
    ahead of its arrival or, where time is an integer, of the rows before it; None is any distance. `idle` is how many rows it had
    accepted when it was declared idle. `idle_after` is how long nothing may come before its time follows the wall clock.
    `reduce_by` is the design by which it can be read reduced: 'randomize', 'replicate' (with copies at these `reduce_levels`, in
    percent of rows left out), 'lazy' or 'none'.
    """

    name: str
    columns: Schema
    time_column: str
    folder: str
    shards: int
    shard_by: tuple[str, ...] = ()
    history: timedelta | None = None
    lateness: timedelta = timedelta(0)
    implicit_time: bool = False
    late: str = "reject"
    indexes: tuple[Index, ...] = ()
    idle: int | None = None
    ahead: timedelta | None = None
    idle_after: timedelta | None = None
    reduce_by: str = "none"
    reduce_levels: tuple[int, ...] = ()

    @property
    def unit(self) -> TimeUnit:
        kind = self.columns.find(self.time_column, self.name).type
        return TimeUnit.SECOND if kind.is_integer else TimeUnit.MICROSECOND

    def shown(self, time: int) -> str:
        """A time as the user writes it."""
        if self.unit is TimeUnit.SECOND:
            return str(time)
        return str(moment(time).replace(tzinfo=None))

    def value(self, time: int | None) -> Any:
        """A time as a value of the time column."""
        if time is None or self.unit is TimeUnit.SECOND:
            return time
        return moment(time)

    @property
    def indexed(self) -> tuple[str, ...]:
        """The columns with a value index, each once, in the order the indexes were made."""
        return tuple(dict.fromkeys(c for index in self.indexes for c in index.columns[:1]))

    @property
    def explicit(self) -> Schema:
        """The columns a window shows: all but the time column."""
        return self.columns.without(self.time_column)


@dataclass(frozen=True)
class StandardTable:
    """An ordinary table: kept in the pond, or, if there is an `address`, in another system (`foreign_tables.registry`).

    Then `foreign_kind` says what kind of system that is, and `foreign_name` what the table is called there if not as here.
    """

    name: str
    columns: Schema
    folder: str
    address: str | None = field(default=None, metadata=stored_as("postgres"))
    foreign_name: str | None = field(default=None, metadata=stored_as("postgres_table"))
    foreign_kind: str = "postgres"


@dataclass(frozen=True)
class Source:
    """Where rows come from. What `location`, `format` and `options` mean is up to the kind (`sources.registry`)."""

    name: str
    kind: str
    location: str
    columns: Schema
    format: str = "csv"
    options: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Feed:
    """A continuous insert: `sql` is the SELECT over `source` whose rows go to `columns` of `table`.

    `folder` is where it remembers what it has read, and the name of its position: another feed never has the same.
    """

    name: str
    table: str
    source: str
    columns: tuple[str, ...]
    sql: str
    folder: str


INSTANT = "instant"  # the time column of every result


@dataclass(frozen=True)
class ContinuousQuery:
    """A query that keeps answering. Its result is a streaming table of the same name, whose time is the instant.

    `sql` is the SELECT with its windows. `stream_operator` is 'rstream', 'istream' or 'dstream'. Without a `slide` it is
    sampled in REALTIME or, with `each_row`, at EACH ROW. Instants are the multiples of `slide` plus `offset`; with a `gap`, the
    ends of sessions that such a gap ends. `grouped`: it was said with group windows, whose ends are the instants. `columns` are
    those of the result, the instant last. `history` is how long results are kept; None means those of the last instant. `start`
    is the event time the query begins at when it was told to begin in the past. `reads` names the relations it reads, `revision`
    counts its definitions: an altered query is a new one for the network. `overload` is how many percent of the rows of its
    windows may be left out under load; None if it was never said, and then its results have no columns that tell.

    Where a query is aggregated in two phases, the network has two in its place, which no catalog file holds: the first is
    `part_of` the user's query, the second `combines` what the first sends. Both say it with the other's name.
    """

    name: str
    sql: str
    stream_operator: str = field(metadata=stored_as("form"))
    slide: timedelta | None
    columns: Schema
    folder: str
    reads: tuple[str, ...]
    history: timedelta | None = None
    view: bool = False
    start: int | None = None
    paused: bool = False
    revision: int = field(default=0, metadata=stored_as("made"))
    each_row: bool = False
    part_of: str | None = field(default=None, metadata=NOT_DURABLE)
    combines: str | None = field(default=None, metadata=NOT_DURABLE)
    offset: timedelta = timedelta(0)
    gap: timedelta | None = None
    grouped: bool = False
    overload: int | None = None

    @property
    def sampling(self) -> str:
        """When it is evaluated, in a word or two."""
        if self.each_row:
            return "each row"
        if self.gap is not None:
            return "sessions"
        return "realtime" if self.slide is None else describe(self.slide)

    @property
    def users_name(self) -> str:
        """The name of the user's query: its own, or that of the query it is a part of."""
        return self.part_of or self.name

    @property
    def table(self) -> StreamingTable:
        """The result as a relation."""
        return StreamingTable(self.name, self.columns, INSTANT, self.folder, shards=1, history=self.history)


@dataclass(frozen=True)
class Function:
    """A user's function in Python. `kind` is 'scalar', 'aggregate' or 'table'.

    `returns` are the columns of a table function; a scalar or aggregate has the one column `result`. `python` names what
    is called as 'module:name' and lasts; without it `body` is called, and the function ends with the process. `nulls`: it
    is called for NULLs too. `reads`: it asks for the pond. `made` tells it from others that had its name.
    """

    name: str
    kind: str
    arguments: Schema
    returns: Schema
    python: str | None
    nulls: bool = False
    reads: bool = False
    made: int = 0
    body: Callable[..., Any] | None = None

    @property
    def engine_name(self) -> str:
        """What an engine knows it by."""
        return f"__{self.name}_{self.made}{'' if self.python else '_here'}"


@dataclass(frozen=True)
class Trigger:
    """What is done with each result row of a query. What `target` and `options` mean is up to the kind (`sinks.registry`).

    `name` is never used twice, nor is the query's `folder`. `start` is the number of the first row it is for.
    """

    name: str
    query: str
    folder: str
    kind: str
    target: str
    start: int
    options: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Partial:
    """A column of the windows of a reduction, from which aggregates over several windows are made: `kind` is 'rows', 'count',
    'sum', 'min' or 'max', and `of` the expression in its plain text (`query.windowed.definition.plain`)."""

    column: str
    kind: str
    of: str = ""


@dataclass(frozen=True)
class Reduction:
    """Windows of a streaming table, kept as aggregates: `REDUCE USING <name>` reads them in place of its rows.

    A window begins at each multiple of `every`, and has a row for each value of `keys` among the rows for which all `conditions`
    hold (plain texts). `sql` is the user's SELECT, `computed_by` that which computes the windows, and has `columns`: keys, the
    `window_start` and `partials`. `lazy`: they are computed when asked for; else a query of the same name sends each when it
    has ended, from that at `begin` on (None: from the first row on). `folder` is where the others are kept."""

    name: str
    table: str
    sql: str
    every: timedelta
    keys: tuple[str, ...]
    partials: tuple[Partial, ...]
    conditions: tuple[str, ...]
    computed_by: str
    columns: Schema
    folder: str
    lazy: bool = False
    begin: int | None = None


Relation = StreamingTable | StandardTable | Source


@dataclass(frozen=True)
class Catalog:
    version: int = 0
    streaming: Mapping[str, StreamingTable] = field(default_factory=dict)
    standard: Mapping[str, StandardTable] = field(default_factory=dict)
    sources: Mapping[str, Source] = field(default_factory=dict)
    feeds: Mapping[str, Feed] = field(default_factory=dict)
    queries: Mapping[str, ContinuousQuery] = field(default_factory=dict)
    made: int = 0  # how many folders were ever named; folders are never reused
    functions: Mapping[str, Function] = field(default_factory=dict)
    triggers: Mapping[str, Trigger] = field(default_factory=dict)
    reductions: Mapping[str, Reduction] = field(default_factory=dict)

    # -- looking up -------------------------------------------------------------------------------------------------

    def relation(self, name: str) -> Relation | None:
        key = name.lower()
        if key in self.queries:
            return self.queries[key].table
        return self.streaming.get(key) or self.standard.get(key) or self.sources.get(key)

    def relation_names(self) -> list[str]:
        """Everything that can stand in FROM, sources apart."""
        names = [t.name for t in self.streaming.values()]
        others = [t.name for t in self.standard.values()] + [q.name for q in self.queries.values()]
        return sorted(names + [n + REJECTED_SUFFIX for n in names] + others)

    def streaming_table(self, name: str) -> StreamingTable:
        found = self.streaming.get(name.lower())
        if found is None:
            self._wrong_kind(name, "streaming table")
            raise UnknownName("streaming table", name, [t.name for t in self.streaming.values()])
        return found

    def standard_table(self, name: str) -> StandardTable:
        found = self.standard.get(name.lower())
        if found is None:
            self._wrong_kind(name, "standard table")
            raise UnknownName("standard table", name, [t.name for t in self.standard.values()])
        return found

    def source(self, name: str) -> Source:
        found = self.sources.get(name.lower())
        if found is None:
            raise UnknownName("source", name, [s.name for s in self.sources.values()])
        return found

    def query(self, name: str) -> ContinuousQuery:
        found = self.queries.get(name.lower())
        if found is None:
            self._wrong_kind(name, "continuous query")
            raise UnknownName("continuous query", name, [q.name for q in self.queries.values()])
        return found

    def function(self, name: str) -> Function:
        found = self.functions.get(name.lower())
        if found is None:
            raise UnknownName("function", name, [f.name for f in self.functions.values()])
        return found

    def reduction(self, name: str) -> Reduction:
        found = self.reductions.get(name.lower())
        if found is None:
            raise UnknownName("reduction", name, [r.name for r in self.reductions.values()])
        return found

    def reductions_of(self, table: str) -> list[Reduction]:
        """The reductions of a streaming table."""
        return [r for r in self.reductions.values() if r.table == table]

    def kind(self, name: str) -> str:
        """What a relation is, in words."""
        if name.lower() in self.reductions:
            return "reduction"
        query = self.queries.get(name.lower())
        if query is not None:
            return "streaming view" if query.view else "continuous query"
        found = self.relation(name)
        assert found is not None
        return kind_of(found)

    def _wrong_kind(self, name: str, wanted: str) -> None:
        found = self.relation(name)
        if found is not None:
            raise CatalogError(f'"{found.name}" is a {self.kind(name)}, not a {wanted}')
        base = name.lower().removesuffix(REJECTED_SUFFIX)
        if base != name.lower() and base in self.streaming:
            raise CatalogError(
                f'"{name}" holds the rejected rows of "{base}" and cannot be changed', hint="It can only be read."
            )

    # -- changing ---------------------------------------------------------------------------------------------------

    def _next(self, **changes: Any) -> Catalog:
        return replace(self, version=self.version + 1, **changes)

    def check_free(self, name: str) -> None:
        found = self.relation(name)
        if found is not None:
            raise CatalogError(
                f'{self.kind(name)} "{found.name}" exists already', hint="Drop it first, or use IF NOT EXISTS."
            )
        if (reduction := self.reductions.get(name.lower())) is not None:
            raise CatalogError(
                f'reduction "{reduction.name}" exists already', hint="Drop it first, or use IF NOT EXISTS."
            )
        base = name.lower().removesuffix(REJECTED_SUFFIX)
        if base != name.lower() and base in self.streaming:
            raise CatalogError(f'"{name}" is the name of the rejected rows of "{base}"', hint="Take another name.")
        if (name.lower() + REJECTED_SUFFIX) in {
            n.lower() for n in (*self.standard, *self.sources, *self.streaming, *self.queries)
        }:
            raise CatalogError(f'"{name}{REJECTED_SUFFIX}" exists already', hint="Take another name.")
        if name.startswith("_"):
            raise CatalogError(f'"{name}" starts with an underscore', hint="Such names belong to millpond.")
        if "." in name:
            raise CatalogError(
                f'name "{name}" has a dot',
                detail="A dot stands between a schema and a name, and a pond has no schemas of its own.",
                hint="Take another name.",
            )

    def with_streaming(self, table: StreamingTable) -> Catalog:
        return self._next(streaming={**self.streaming, table.name.lower(): table}, made=self.made + 1)

    def with_standard(self, table: StandardTable) -> Catalog:
        return self._next(standard={**self.standard, table.name.lower(): table}, made=self.made + 1)

    def with_source(self, source: Source) -> Catalog:
        return self._next(sources={**self.sources, source.name.lower(): source})

    def with_feed(self, feed: Feed) -> Catalog:
        return self._next(feeds={**self.feeds, feed.name.lower(): feed}, made=self.made + 1)

    def with_query(self, query: ContinuousQuery) -> Catalog:
        return self._next(queries={**self.queries, query.name.lower(): query}, made=self.made + 1)

    def without_query(self, name: str) -> Catalog:
        self._check_unread(name)
        queries = {k: v for k, v in self.queries.items() if k != name.lower()}
        triggers = {k: t for k, t in self.triggers.items() if t.query != name.lower()}
        reductions = {k: r for k, r in self.reductions.items() if k != name.lower()}
        return self._next(queries=queries, triggers=triggers, reductions=reductions)

    def with_reduction(self, reduction: Reduction) -> Catalog:
        return self._next(reductions={**self.reductions, reduction.name: reduction}, made=self.made + 1)

    def without_reduction(self, name: str) -> Catalog:
        """Without it and, if it has one, its query."""
        return self.without_query(self.reduction(name).name)

    def with_trigger(self, trigger: Trigger) -> Catalog:
        return self._next(triggers={**self.triggers, trigger.name: trigger}, made=self.made + 1)

    def without_triggers(self, folder: str) -> Catalog:
        """Without those of the query with this folder."""
        return self._next(triggers={k: t for k, t in self.triggers.items() if t.folder != folder})

    def _check_unread(self, name: str) -> None:
        for reduction in self.reductions_of(name.lower()):
            hint = f"Drop it first: DROP REDUCTION {reduction.name}."
            raise CatalogError(f'reduction "{reduction.name}" is of "{name}"', hint=hint)
        for query in self.queries.values():
            if name.lower() in query.reads:
                kind = self.kind(query.name)
                hint = f"Drop it first: DROP {kind.upper()} {query.name}."
                raise CatalogError(f'{kind} "{query.name}" reads "{name}"', hint=hint)

    def with_function(self, function: Function) -> Catalog:
        functions = {**self.functions, function.name: function}
        # One that ends with the process is no change of what is written.
        return self._next(functions=functions) if function.python else replace(self, functions=functions)

    def without_function(self, name: str) -> Catalog:
        functions = {k: v for k, v in self.functions.items() if k != name.lower()}
        return self._next(functions=functions) if self.function(name).python else replace(self, functions=functions)

    def with_functions_here(self, other: Catalog) -> Catalog:
        """This catalog with those functions of another that only this process has."""
        here = {k: v for k, v in other.functions.items() if v.python is None}
        return replace(self, functions={**self.functions, **here}) if here else self

    def without_functions_here(self) -> Catalog:
        """This catalog as it can be sent to another process: without the functions that only this one has."""
        return replace(self, functions={k: v for k, v in self.functions.items() if v.python is not None})

    def without(self, name: str) -> Catalog:
        """Drop a relation; the feeds of a dropped table or source must have been dropped before."""
        key = name.lower()
        self._check_unread(name)
        for feed in self.feeds.values():
            if key in (feed.table.lower(), feed.source.lower()):
                raise CatalogError(f'feed "{feed.name}" uses "{name}"', hint=f"Drop it first: DROP FEED {feed.name}.")
        return self._next(
            streaming={k: v for k, v in self.streaming.items() if k != key},
            standard={k: v for k, v in self.standard.items() if k != key},
            sources={k: v for k, v in self.sources.items() if k != key},
        )

    def without_feed(self, name: str) -> Catalog:
        if name.lower() not in self.feeds:
            raise UnknownName("feed", name, [f.name for f in self.feeds.values()])
        return self._next(feeds={k: v for k, v in self.feeds.items() if k != name.lower()})

    def renamed(self, name: str, to: str) -> Catalog:
        self.check_free(to)
        self._check_unread(name)
        for feed in self.feeds.values():
            if feed.table.lower() == name.lower():
                raise CatalogError(f'feed "{feed.name}" fills "{name}"', hint="Drop the feed first.")
        key = name.lower()
        if key in self.streaming:
            rest = {k: v for k, v in self.streaming.items() if k != key}
            return self._next(streaming={**rest, to.lower(): replace(self.streaming[key], name=to)})
        table = self.standard_table(name)
        others = {k: v for k, v in self.standard.items() if k != key}
        return self._next(standard={**others, to.lower(): replace(table, name=to)})


def kind_of(relation: Relation) -> str:
    if isinstance(relation, StreamingTable):
        return "streaming table"
    return "standard table" if isinstance(relation, StandardTable) else "source"
