"""SELECT over a table that is read by the windows of a reduction: windows that are kept, and rows of what no window covers.

    asked    |-----------------------------------------------|      by the conditions on time
    sent         [  ][  ][  ][  ][  ][  ]                           by the query of the reduction, when windows ended
    kept                 [  ]          [  ]                         computed when they were asked for, and kept
    rows     |--|                          |--------------------|   what windows cut at the edges, and what is not over

The answer is that of the rows. All of it is from one snapshot of the table; should rows be changed while it is taken, it is taken
again.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from sqlglot import exp

from millpond.arrow import arrow_schema, integers
from millpond.catalog import Catalog, StreamingTable
from millpond.duration import TimeUnit
from millpond.errors import Span, SqlError, UnknownName, UnsupportedSql
from millpond.query.binding.bind import bind
from millpond.query.binding.uses import Bound, Use
from millpond.query.instant import at_instant
from millpond.query.plan import Plan, Tiers, make_plan
from millpond.query.windowed import partials
from millpond.query.windowed.cover import EVER, Cover, Stretch, aligned, cover, joined, minus, touched, within
from millpond.query.windowed.definition import told
from millpond.query.windowed.question import read_question
from millpond.reductions.registry import REDUCTIONS
from millpond.result import Reduction as Read
from millpond.result import Result
from millpond.sql.dialect import read_tree, tokenize
from millpond.sql.statements import Within
from millpond.sql.translate import NotOnDuckDB, to_duckdb
from millpond.table.compartments import kept_since
from millpond.table.kept_windows import WINDOW_START, State
from millpond.table.store import Bounds, Snapshot

if TYPE_CHECKING:
    from millpond.workspace.workspace import Workspace

Ask = Callable[[Plan], pa.Table]
_MOST_STRETCHES = 16  # of rows between windows: each is a question to the engine


def is_windowed(bound: Bound) -> bool:
    return any(use.reduce is not None and use.reduce.arguments is None for use in bound.uses.values())


def answer(
    workspace: Workspace, bound: Bound, within_error: Within | None, as_of: int | str | None, sql: str, ask: Ask,
    check: Callable[[], None],
) -> Result:  # fmt: skip
    """The answer to a query for which `is_windowed` holds; `ask` has a plan answered."""
    reading = _Reading(workspace, bound, within_error, as_of, sql, ask, check)
    return reading.answer()


def explain_lines(
    workspace: Workspace, bound: Bound, within_error: Within | None, as_of: int | str | None, sql: str, ask: Ask,
    check: Callable[[], None],
) -> list[str]:  # fmt: skip
    """What a query for which `is_windowed` holds reads."""
    return _Reading(workspace, bound, within_error, as_of, sql, ask, check).explain()


def check_names(catalog: Catalog, bound: Bound, sql: str) -> None:
    """Raise if a REDUCE USING names what is to be written otherwise: windows have no parentheses, functions have."""
    for use in bound.uses.values():
        if use.reduce is None:
            continue
        name, place = use.reduce.name, Span(use.reduce.start, use.reduce.end)
        if use.reduce.arguments is not None and name in catalog.reductions:
            raise UnsupportedSql(
                f'reduction "{name}" has windows and takes no arguments',
                hint=f"Write REDUCE USING {name}.",
                sql=sql,
                span=place,
            )
        if use.reduce.arguments is None and name not in catalog.reductions:
            kind = REDUCTIONS.get(name)
            if kind is None:
                raise UnknownName("reduction", name, [*catalog.reductions, *REDUCTIONS.names()], sql=sql, span=place)
            raise UnsupportedSql(
                f'reduction "{name}" takes its arguments in parentheses',
                hint=f"Write {kind.usage}.",
                sql=sql,
                span=place,
            )


@dataclass(frozen=True)
class _Cut:
    """What is read: stretches of rows, of windows that were sent, and of windows that are kept."""

    rows: Cover
    sent: Cover
    kept: Cover
    asked: Stretch
    sent_in: Snapshot | None
    kept_in: Snapshot
    whole_since: int | None
    """From when on the table has all rows that came; None if it has all."""
    kept_here: bool
    """Whether windows that were missing could be kept by this process."""
    dear: bool = False
    """Whether there are windows that were not worth reading."""


class _Once:
    """A shelf that gives one snapshot of a table."""

    def __init__(self, snapshot: Snapshot, time: int | None) -> None:
        self._snapshot = snapshot
        self._time = time

    def snapshot(self, use: Use) -> Snapshot:
        return self._snapshot

    def time(self, use: Use) -> int | None:
        return self._time

    def fetch(self, use: Use, columns: list[str], bounds: Bounds) -> pa.Table:
        raise AssertionError("a streaming table is in the pond")


class _Reading:
    """One query. Used once."""

    def __init__(
        self, workspace: Workspace, bound: Bound, within_error: Within | None, as_of: int | str | None, sql: str,
        ask: Ask, check: Callable[[], None],
    ) -> None:  # fmt: skip
        if bound.unsure is not None:
            raise bound.unsure
        (name, place), *_ = [
            (u.reduce.name, Span(u.reduce.start, u.reduce.end)) for u in bound.uses.values() if u.reduce is not None
        ]
        if within_error is not None:
            raise UnsupportedSql(
                "a query has REDUCE or WITHIN, not both",
                detail="REDUCE says how much is read, WITHIN how exact the answer is.",
                sql=sql,
            )
        self._reduction = workspace.catalog.reduction(name)
        self._question = read_question(bound, self._reduction, sql)
        self._use = self._question.shape.use
        assert isinstance(self._use.table, StreamingTable)
        self._table = self._use.table
        if self._reduction.table != self._table.name:
            raise UnsupportedSql(
                f'reduction "{name}" is of "{self._reduction.table}", not of "{self._table.name}"', sql=sql, span=place
            )
        self._every = self._table.unit.count(self._reduction.every)
        self._workspace = workspace
        self._bound = bound
        self._as_of = as_of
        self._sql = sql
        self._ask = ask
        self._check = check

    def explain(self) -> list[str]:
        """What is read, in lines."""
        plan, cut = self._cut(compute=False)
        plans = self._plans(plan, cut)
        engines = ", ".join(dict.fromkeys(f"{p.engine} ({p.reason})" for p in plans))
        lines = [f"engine: {engines}", f"reduction {self._reduction.name}: {told(self._reduction)}"]
        for what, stretches in (("windows sent", cut.sent), ("windows kept", cut.kept), ("rows", cut.rows)):
            for low, high in stretches:
                first = "the first" if low <= EVER[0] // 2 else self._table.shown(low)
                last = "the last" if high >= EVER[1] // 2 else self._table.shown(high)
                lines.append(f"  {what}: from {first} to {last}")
        return [*lines, *str(self._told(plan, cut, plans)).splitlines()]

    def answer(self) -> Result:
        plan, cut = self._cut(compute=True)
        plans = self._plans(plan, cut)
        parts = []
        for each in plans:
            self._check()
            parts.append(self._ask(each))
        local = self._workspace.local
        rows = partials.answer(
            self._bound, self._question, self._reduction, parts,
            lambda text, tables: local.run_over(text, tables, {}), self._compute,
        )  # fmt: skip
        return Result(rows, reduction=self._told(plan, cut, plans))

    def _compute(self, tree: exp.Select, rows: pa.Table) -> pa.Table:
        try:
            text = to_duckdb(tree, {})
        except NotOnDuckDB as refusal:
            raise UnsupportedSql(
                "this cannot be computed from windows",
                detail=f"{refusal}.",
                hint="Select the aggregates alone, and compute with them afterwards.",
                sql=self._sql,
            ) from refusal
        return self._workspace.local.run_over(text, {self._use.name: rows}, {})

    # -- what is read -------------------------------------------------------------------------------------------------

    def _cut(self, *, compute: bool) -> tuple[Plan, _Cut]:
        kept = self._workspace.reductions.kept(self._reduction)
        while True:
            generation = kept.generation
            state, kept_in = kept.read()
            sent, sent_in = self._workspace.reductions.sent(self._reduction, self._table)
            plan = self._plan()
            if not self._workspace.owned:
                kept.refresh()
            if kept.read()[0].epoch != state.epoch:
                continue  # rows were changed meanwhile
            given = plan.inputs[self._use.name]
            assert isinstance(given, Tiers)
            asked = self._asked(plan)
            since = self._whole_since(given)
            windows = aligned(cover([asked]), self._every)
            sent = within(windows, minus(sent, state.changed))
            there = within(windows, state.kept)
            missing = self._to_compute(minus(windows, cover([*sent, *there])), state, since)
            if missing and compute and self._workspace.owned and self._keep(missing, state, generation):
                continue
            rows = joined(minus(cover([asked]), cover([*sent, *there])), _MOST_STRETCHES)
            sent = minus(sent, rows)
            kept_here = self._workspace.owned or not missing
            there = minus(minus(there, sent), rows)
            cut = _Cut(rows, sent, there, asked, sent_in, kept_in, since, kept_here)
            return plan, self._cheaper(plan, cut)

    def _cheaper(self, plan: Plan, cut: _Cut) -> _Cut:
        """All of it from the rows, where windows and what they cut are more to read; unless rows are gone."""
        windows = cover([*cut.sent, *cut.kept])
        gone = cut.whole_since is not None and any(low < cut.whole_since for low, _ in windows)
        read = sum(p.rows for p in self._plans(plan, cut))
        if gone or not windows or read <= self._between(plan, self._use, cut.asked).rows:
            return cut
        return replace(cut, rows=(cut.asked,), sent=(), kept=(), dear=True)

    def _plan(self) -> Plan:
        """The query of the rows, over a snapshot."""
        config, shelf = self._workspace.config, self._workspace.shelf
        now = shelf.time(self._use)
        snapshot = shelf.snapshot(self._use)
        assert snapshot is not None
        plan = make_plan(self._bound, _Once(snapshot, now), engine=config.engine, large_rows=1 << 62, as_of=self._as_of,
                         check=self._check)  # fmt: skip
        bound = partials.of_rows(self._bound, self._question)
        return self._summing(plan, bound, windows=False)

    def _summing(self, plan: Plan, bound: Bound, *, windows: bool) -> Plan:
        around = partials.summed(self._question, self._reduction, windows=windows)
        text = None
        if self._workspace.config.engine != "spark":
            try:
                text = around(to_duckdb(bound.tree, {}, self._check))
            except NotOnDuckDB:
                if self._workspace.config.engine == "duckdb":
                    raise
        return replace(plan, bound=bound, engine="duckdb" if text else "spark", text=text, around=around)

    def _asked(self, plan: Plan) -> Stretch:
        """The time that the conditions leave."""
        (low, high) = touched((EVER,), self._every)[0]  # so that no window is cut where nothing is asked
        given = plan.inputs[self._use.name]
        assert isinstance(given, Tiers)
        if given.upto is not None:
            high = given.upto + 1
        for limit in self._question.limits:
            value = self._constant(limit.constant, plan)
            if value is None:
                return (0, 0)
            first, last = math.ceil(value), math.floor(value)
            if limit.operator in (exp.GTE, exp.EQ):
                low = max(low, first)
            if limit.operator is exp.GT:
                low = max(low, last + 1)
            if limit.operator in (exp.LTE, exp.EQ):
                high = min(high, last + 1)
            if limit.operator is exp.LT:
                high = min(high, first)
        return (low, high) if low < high else (0, 0)

    def _constant(self, node: exp.Expr, plan: Plan) -> int | float | Decimal | None:
        """What the time is compared with, in the unit of the table."""
        item = node.copy()
        stamps = self._table.unit is TimeUnit.MICROSECOND
        if stamps:
            kind = exp.DataType.build("TIMESTAMP", dialect="spark")
            item = exp.Cast(this=item, to=kind)
            item.type = kind
        try:
            text = to_duckdb(
                exp.Select(expressions=[exp.Alias(this=item, alias=exp.to_identifier("c", quoted=True))]), {}
            )
        except NotOnDuckDB as refusal:
            raise self._not_a_time(node, f"{refusal}.") from refusal
        found = self._workspace.local.run_over(at_instant(text, plan.instant), {}, {})["c"]
        if found.null_count:
            return None
        if stamps:
            return int(integers(found.cast(pa.timestamp("us", "UTC")))[0])
        value: Any = found[0].as_py()
        if isinstance(value, bool) or not isinstance(value, int | float | Decimal) or not math.isfinite(value):
            raise self._not_a_time(node, f"It is {value!r}.")
        return value

    def _not_a_time(self, node: exp.Expr, detail: str) -> SqlError:
        return UnsupportedSql(
            f'reduction "{self._reduction.name}" cannot answer this: time is compared with what is no time of its own',
            detail=detail,
            hint=f"Compare {self._table.time_column} with a {'time' if self._table.unit is TimeUnit.MICROSECOND else 'number'}.",
            sql=self._sql,
        )

    def _whole_since(self, given: Tiers) -> int | None:
        history, now = self._table.history, given.now
        if history is None or now is None or given.snapshot.has_all:
            return None
        return kept_since(now, history, self._table.unit)

    # -- windows that are computed when they are asked for -------------------------------------------------------------

    def _to_compute(self, missing: Cover, state: State, since: int | None) -> Cover:
        """Those of the windows that are over, of which the table has all rows, and that nobody else will send."""
        now = self._workspace.stream(self._table.name).now
        if now is None:
            return ()
        over: Cover = cover([(EVER[0], now // self._every * self._every)])
        if since is not None:
            over = within(over, ((since, EVER[1]),))
        if not self._reduction.lazy:
            begin = self._reduction.begin
            over = within(over, cover([*state.changed, *([(EVER[0], begin)] if begin is not None else [])]))
        return aligned(within(missing, over), self._every)

    def _keep(self, windows: Cover, state: State, generation: int) -> bool:
        """Compute windows and keep them; whether that was possible."""
        kept = self._workspace.reductions.kept(self._reduction)
        tree = read_tree(self._reduction.computed_by, tokenize(self._reduction.computed_by))
        bound = bind(tree, self._workspace.catalog, self._reduction.computed_by, spark_decides=True, check=self._check)
        shelf = self._workspace.shelf
        (use,) = bound.uses.values()
        snapshot = shelf.snapshot(use)
        assert snapshot is not None
        plan = make_plan(bound, _Once(snapshot, shelf.time(use)), engine=self._workspace.config.engine,
                         large_rows=1 << 62, check=self._check)  # fmt: skip
        schema = arrow_schema(self._reduction.columns)
        parts = [
            self._ask(self._engine(self._between(plan, use, w))).select(schema.names).cast(schema) for w in windows
        ]
        return kept.keep(pa.concat_tables(parts), cover([*state.kept, *windows]), windows, generation)

    # -- plans --------------------------------------------------------------------------------------------------------

    def _plans(self, plan: Plan, cut: _Cut) -> list[Plan]:
        """One for each stretch; at least one, since nothing has an answer too."""
        name = self._use.name
        plans = [self._between(plan, self._use, stretch) for stretch in cut.rows]
        if cut.sent and cut.sent_in is not None:
            query = self._workspace.catalog.query(self._reduction.name)
            every = self._every
            ends = tuple((low + every, high + 1) for low, high in cut.sent)
            plans += self._of_windows(query.table, cut.sent_in, ends)
        if cut.kept:
            table = StreamingTable(
                self._reduction.name, self._reduction.columns, WINDOW_START, self._reduction.folder, shards=1
            )
            plans += self._of_windows(table, cut.kept_in, cut.kept)
        assert name in plan.inputs
        return [self._engine(p) for p in plans] or [self._between(plan, self._use, (0, 0))]

    def _of_windows(self, table: StreamingTable, snapshot: Snapshot, stretches: Cover) -> list[Plan]:
        bound = partials.of_windows(self._question, self._reduction, table, self._table.time_column)
        (use,) = bound.uses.values()
        plan = make_plan(bound, _Once(snapshot, None), engine=self._workspace.config.engine, large_rows=1 << 62,
                         check=self._check)  # fmt: skip
        plan = self._summing(plan, bound, windows=True)
        return [self._between(plan, use, stretch) for stretch in stretches]

    def _between(self, plan: Plan, use: Use, stretch: Stretch) -> Plan:
        """The plan over the rows of a stretch of time alone."""
        given, bounds = plan.inputs[use.name], plan.bounds[use.name]
        assert isinstance(given, Tiers)
        low, high = stretch[0], stretch[1] - 1
        wanted = replace(
            bounds,
            low=low if bounds.low is None else max(low, bounds.low),
            high=high if bounds.high is None else min(high, bounds.high),
        )
        snapshot = replace(given.snapshot, since=None if low <= EVER[0] else low)
        upto = None if high >= EVER[1] - 1 else high
        cut = replace(given, snapshot=snapshot, upto=upto, selection=given.snapshot.select(wanted))
        return replace(plan, inputs={**plan.inputs, use.name: cut}, bounds={**plan.bounds, use.name: wanted})

    def _engine(self, plan: Plan) -> Plan:
        """The plan on Spark, if there is more to read than DuckDB is given."""
        config = self._workspace.config
        if config.engine == "auto" and plan.text and plan.rows > config.large_rows:
            return replace(plan, engine="spark", text=None, reason="more rows to read than large_rows")
        return plan

    # -- what was read ------------------------------------------------------------------------------------------------

    def _told(self, plan: Plan, cut: _Cut, plans: list[Plan]) -> Read:
        everything = self._between(plan, self._use, cut.asked)
        rows, size = sum(p.rows for p in plans), sum(_bytes(p) for p in plans)
        in_all, bytes_in_all = everything.rows, _bytes(everything)
        notes = ["all was read from the rows: windows and the rows beside them are more"] if cut.dear else []
        if not cut.kept_here:
            notes.append("windows that are missing were not kept: this process does not write the pond")
        exact = True
        since = cut.whole_since
        if since is not None:
            shown = self._table.shown(since)
            if any(low < since for low, _ in cut.rows):
                exact = False
                notes.append(f'rows before {shown} are left out as far as "{self._table.name}" no longer keeps them')
            if any(low < since for low, _ in (*cut.sent, *cut.kept)):
                notes.append(f'windows before {shown} are of rows that "{self._table.name}" no longer keeps')
        fraction = min(1.0, rows / in_all) if in_all else 1.0
        return Read(fraction, rows, in_all, size, bytes_in_all, told(self._reduction), None, tuple(notes), exact)


def _bytes(plan: Plan) -> int:
    return sum(f.size for given in plan.inputs.values() if isinstance(given, Tiers) for f in given.selection.files)
