"""What can be said: one frozen dataclass per statement.

A statement is plain data made by `parser.parse`; it holds names as written and has not been checked against a pond.
Queries inside statements are sqlglot trees in Spark's dialect; a window behind a table name is found on its `exp.Table`
node as `table.meta["window"]`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta

from sqlglot import exp

from millpond.errors import Span
from millpond.schema import Column
from millpond.sql.literals import LiteralRows
from millpond.windows.base import Window
from millpond.windows.span import SpanWindow

KEEPS = ("auto", "partial", "complete", "nothing")
"""What can be kept of a standing query between two invocations."""


@dataclass(frozen=True)
class Statement:
    """`sql` is the whole text this statement was read from; `span` is its place there."""

    sql: str
    span: Span

    @property
    def privilege(self) -> str | None:
        """What it does beyond the pond (reads files, opens connections, runs code), in words; None if nothing. Such statements
        need the setting `privileged`."""
        return None


@dataclass(frozen=True)
class ReduceBy:
    """`REDUCE BY RANDOMIZE | REPLICATE (20, 40) | LAZY | NONE`: how a table is laid out to be read reduced.

    `levels` are percents of the rows that copies leave out.
    """

    design: str
    levels: tuple[int, ...] = ()


@dataclass(frozen=True)
class Within:
    """`WITHIN p PERCENT CONFIDENCE c`: the error that an answer may have, and how sure it is; fractions."""

    error: float
    confidence: float


@dataclass(frozen=True)
class CreateStreamingTable(Statement):
    name: str
    columns: tuple[Column, ...]
    time_column: str | None = None
    shard_by: tuple[str, ...] = ()
    history: timedelta | None = None  # RANGE; None keeps rows forever
    lateness: timedelta = timedelta(0)
    ahead: tuple[timedelta | None] | None = None  # None is the default of the table; (None,) is UNBOUNDED
    idle_after: tuple[timedelta | None] | None = None  # (None,) is UNBOUNDED: never
    options: Mapping[str, str] = field(default_factory=dict)
    reduce: ReduceBy | None = None
    if_not_exists: bool = False


@dataclass(frozen=True)
class CreateStandardTable(Statement):
    """`CREATE STANDARD TABLE n (cols)`, `... AS SELECT`, or `... FROM <kind> '<address>' [TABLE '<name>']`.

    Which kinds there are is not known here. `kind_place` is where the kind is written.
    """

    name: str
    columns: tuple[Column, ...] = ()
    query: exp.Expr | None = None
    kind: str | None = None
    address: str | None = None
    foreign_name: str | None = None
    if_not_exists: bool = False
    kind_place: Span | None = field(default=None, compare=False)

    @property
    def privilege(self) -> str | None:
        return "a foreign table" if self.kind is not None else None


@dataclass(frozen=True)
class CreateIndex(Statement):
    table: str
    columns: tuple[str, ...]
    name: str | None = None
    if_not_exists: bool = False


@dataclass(frozen=True)
class CreateReduction(Statement):
    """`CREATE REDUCTION n ON t AS SELECT ... GROUP BY ... EVERY i [LAZY]`.

    `text` is that of the SELECT; `place` is where it says EVERY.
    """

    name: str
    table: str
    query: exp.Expr
    text: str
    every: timedelta
    lazy: bool = False
    if_not_exists: bool = False
    place: Span | None = field(default=None, compare=False)


@dataclass(frozen=True)
class CreateSource(Statement):
    """`CREATE SOURCE n (cols) FROM <kind> '<location>' [FORMAT <format>] [WITH (k = 'v')]`.

    Which kinds, formats and options there are is not known here. `kind_place` is where the kind is written.
    """

    name: str
    columns: tuple[Column, ...]
    kind: str
    location: str
    format: str | None = None
    options: Mapping[str, str] = field(default_factory=dict)
    if_not_exists: bool = False
    kind_place: Span | None = field(default=None, compare=False)

    @property
    def privilege(self) -> str | None:
        return "a source"


@dataclass(frozen=True)
class Continuous:
    """A SELECT that is evaluated again and again. `text` is the SELECT alone: no ISTREAM, no SAMPLE. Without a `slide` it
    is sampled in REALTIME, or at EACH ROW."""

    text: str
    query: exp.Expr
    stream_operator: str = "rstream"
    slide: timedelta | None = None
    each_row: bool = False
    is_default: bool = True
    """Whether no stream operator is written."""
    sample: Span | None = None
    """Where SAMPLE is; a query that is grouped by windows of time may have none."""


@dataclass(frozen=True)
class CreateQuery(Statement):
    """`CREATE CONTINUOUS QUERY n [RANGE i] [FROM t] [OVERLOAD ALLOW p PERCENT] AS ...`, and so `CREATE STREAMING VIEW n ...`.

    `start` is the time to begin at, a literal: number or text; None is now. `overload` are the percent that may be left out.
    """

    name: str
    body: Continuous
    view: bool = False
    history: timedelta | None = None
    start: int | str | None = None
    overload: int | None = None
    if_not_exists: bool = False


@dataclass(frozen=True)
class AlterQuery(Statement):
    """`ALTER CONTINUOUS QUERY n SET WINDOW OF s = ... | SET SAMPLE ... | SET RANGE i | SET OVERLOAD ALLOW p PERCENT`, one change;
    the others are None.

    `window` is (name in FROM, new window); `sample` is (slide, each row).
    """

    name: str
    window: tuple[str, Window] | None = None
    sample: tuple[timedelta | None, bool] | None = None
    history: timedelta | None = None
    overload: int | None = None
    view: bool = False


@dataclass(frozen=True)
class PauseQuery(Statement):
    """`PAUSE CONTINUOUS QUERY n`, or RESUME."""

    name: str
    pause: bool
    view: bool = False


@dataclass(frozen=True)
class ExplainQuery(Statement):
    """`EXPLAIN CONTINUOUS QUERY n`: how it is evaluated, and why its next result is not out yet."""

    name: str
    view: bool = False


@dataclass(frozen=True)
class CreateTrigger(Statement):
    """`ON n DO <kind> '<target>' [WITH (k = 'v')]`: each result row goes to a sink of that kind. `kind_place` is where the
    kind is written."""

    query: str
    kind: str
    target: str
    options: Mapping[str, str] = field(default_factory=dict)
    kind_place: Span | None = field(default=None, compare=False)

    @property
    def privilege(self) -> str | None:
        return "a trigger"


@dataclass(frozen=True)
class DropTrigger(Statement):
    """`ON n DO NOTHING`: its triggers go."""

    query: str


@dataclass(frozen=True)
class CreateFunction(Statement):
    """`CREATE FUNCTION f(x INT) RETURNS INT [CALLED ON NULL INPUT] AS PYTHON '<module>:<name>'`; the same with AGGREGATE and
    TABLE FUNCTION. `kind` is 'scalar', 'aggregate' or 'table'; `returns` is one column, called `result`, but for a table
    function.
    """

    name: str
    kind: str
    arguments: tuple[Column, ...]
    returns: tuple[Column, ...]
    python: str
    nulls: bool = False
    if_not_exists: bool = False

    @property
    def privilege(self) -> str | None:
        return "a function in Python"


@dataclass(frozen=True)
class Standing:
    """A standing query: its text, BEGIN and END included, its tree without them, and what they say."""

    text: str
    query: exp.Expr
    window: SpanWindow | None


@dataclass(frozen=True)
class CreateStanding(Statement):
    """`CREATE STANDING QUERY n [KEEP AUTO | PARTIAL | COMPLETE | NOTHING] AS SELECT ... [BEGIN ...] [END ...]`."""

    name: str
    body: Standing
    keep: str = "auto"
    if_not_exists: bool = False


@dataclass(frozen=True)
class Invoke(Statement):
    """`INVOKE n [AS OF <time>]`; `query` is a name or a number."""

    query: str | int
    as_of: int | str | None = None


@dataclass(frozen=True)
class ExplainStanding(Statement):
    query: str | int


@dataclass(frozen=True)
class DropStanding(Statement):
    query: str | int
    if_exists: bool = False


@dataclass(frozen=True)
class Drop(Statement):
    """`kind` is one of 'streaming table', 'standard table', 'table', 'index', 'source', 'feed', 'continuous query',
    'streaming view', 'function'."""

    kind: str
    name: str
    if_exists: bool = False


@dataclass(frozen=True)
class AlterTable(Statement):
    """One change; the others are at their defaults. `drop_history` is `SET RANGE UNBOUNDED`."""

    name: str
    add_columns: tuple[Column, ...] = ()
    rename_to: str | None = None
    history: timedelta | None = None
    drop_history: bool = False
    lateness: timedelta | None = None
    ahead: tuple[timedelta | None] | None = None  # (None,) is UNBOUNDED
    idle_after: tuple[timedelta | None] | None = None  # (None,) is UNBOUNDED: never
    options: Mapping[str, str] = field(default_factory=dict)
    now: int | str | None = None  # SET NOW: a literal, number or text
    idle: bool | None = None  # SET IDLE, SET ACTIVE
    reduce: ReduceBy | None = None


@dataclass(frozen=True)
class Describe(Statement):
    """`system`: a system table is meant; `name` is without its schema."""

    name: str
    system: bool = False


@dataclass(frozen=True)
class Show(Statement):
    """`kind` is 'tables', 'streaming tables', 'standard tables', 'indexes', 'sources', 'feeds', 'rejected', 'continuous
    queries', 'streaming views', 'standing queries', 'state', 'triggers', 'layouts', 'reductions' or 'functions'."""

    kind: str


@dataclass(frozen=True)
class Insert(Statement):
    """`query` is a SELECT or a VALUES list. Over a source it is a continuous insert, called a feed.

    With `rows`, a long VALUES list of literals, `query` is a sample of it that has the same types.
    """

    table: str
    columns: tuple[str, ...]
    query: exp.Expr
    rows: LiteralRows | None = None


@dataclass(frozen=True)
class Update(Statement):
    table: str
    assignments: tuple[tuple[str, exp.Expr], ...]
    where: exp.Expr | None


@dataclass(frozen=True)
class Delete(Statement):
    table: str
    where: exp.Expr | None


@dataclass(frozen=True)
class Select(Statement):
    """`SELECT ... [WITHIN <p> PERCENT [CONFIDENCE <c>]] [AS OF <time>]`: as of now, or of an earlier event time."""

    query: exp.Expr
    as_of: int | str | None = None
    within: Within | None = None


@dataclass(frozen=True)
class Explain(Statement):
    statement: Statement
    analyze: bool = False
