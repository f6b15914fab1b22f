"""Where a one-time query runs and what it reads. Deciding only; `local.py` and `on_spark.py` do.

Small queries run in DuckDB in this process; what it is not proved to answer as Spark does, or what must read more rows
than `large_rows`, goes to Spark. The same bound tree and the same selections go to either, so the rows are the same.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Protocol

import pyarrow as pa
from sqlglot import exp

from millpond.catalog import StreamingTable
from millpond.errors import EngineError, counted
from millpond.query.as_of import check_kept, times_as_of
from millpond.query.binding.uses import Bound, Use
from millpond.query.bounds import find_bounds
from millpond.sql.translate import NotOnDuckDB, to_duckdb
from millpond.table.store import Bounds, Selection, Snapshot
from millpond.table.thinning import Step


@dataclass(frozen=True)
class Tiers:
    """A relation in the pond: a snapshot of its store and what must be read of it. Rows after the time `upto` do not count, nor
    do those numbered `below` and more."""

    snapshot: Snapshot
    selection: Selection
    now: int | None
    upto: int | None = None
    below: int | None = None
    step: Step | None = None
    """What is read of it, where it is read reduced."""


@dataclass(frozen=True)
class Fetched:
    """A relation that is not stored in the pond (a PostgreSQL table, a system table), fetched for this query."""

    rows: pa.Table


Input = Tiers | Fetched


class Shelf(Protocol):
    """What the planner asks a pond for. Called once per use and query, from the thread that asks."""

    def snapshot(self, use: Use) -> Snapshot | None:
        """The store behind a use, or None if it is not stored in the pond."""

    def time(self, use: Use) -> int | None:
        """The time of the use's table."""

    def fetch(self, use: Use, columns: list[str], bounds: Bounds) -> pa.Table:
        """The rows of a relation that is not stored in the pond; may use `bounds` to fetch fewer."""


@dataclass(frozen=True)
class Plan:
    bound: Bound
    engine: str  # 'duckdb' or 'spark'
    reason: str
    inputs: Mapping[str, Input]
    bounds: Mapping[str, Bounds]
    text: str | None  # DuckDB's SQL when it runs there
    around: Callable[[str], str] = lambda text: text
    """What Spark's SQL is made of the query's."""

    @property
    def instant(self) -> int | None:
        """What NOW() is: the time of the streams, the earliest if they differ. None if none has a time yet."""
        uses = self.bound.uses
        times = [
            i.now
            for n, i in self.inputs.items()
            if isinstance(i, Tiers) and isinstance(uses[n].table, StreamingTable) and not uses[n].rejected
        ]
        known = [time for time in times if time is not None]
        return min(known, default=None)

    @property
    def rows(self) -> int:
        """Rows that must be looked at, at most."""
        total = 0
        for item in self.inputs.values():
            if isinstance(item, Tiers):
                total += item.selection.file_rows + item.selection.tail_rows
            else:
                total += item.rows.num_rows
        return total


def make_plan(
    bound: Bound,
    shelf: Shelf,
    *,
    engine: str,
    large_rows: int,
    use_indexes: bool = True,
    as_of: int | str | None = None,
    check: Callable[[], None] = lambda: None,
    text: str | None = None,
) -> Plan:
    """Decide. `engine` is 'auto', 'duckdb' or 'spark'; with `as_of` streams are read as they were at that time. `check` is
    called now and then, and raises to end it. `text` is the query for DuckDB, if that is known."""
    watermarks = {name: shelf.time(use) for name, use in bound.uses.items()}
    ends = {} if as_of is None else times_as_of(bound, as_of, watermarks)
    now = {**watermarks, **ends}
    bounds = find_bounds(bound, now)
    inputs: dict[str, Input] = {}
    for name, use in bound.uses.items():
        check()
        snapshot = shelf.snapshot(use)
        if snapshot is None:
            columns = use.columns.names if bound.stars else used_columns(bound, use)
            inputs[name] = Fetched(shelf.fetch(use, list(columns), bounds[name]))
        else:
            if snapshot.since is not None:
                low = bounds[name].low
                low = snapshot.since if low is None else max(low, snapshot.since)
                bounds[name] = replace(bounds[name], low=low)
            if name in ends:
                check_kept(use, ends[name], watermarks[name], snapshot)
                # The newest rows of the table are not those of the window: only time can tell what to skip.
                high = bounds[name].high
                high = ends[name] if high is None else min(high, ends[name])
                bounds[name] = replace(bounds[name], high=high, newest=None)
            selection = snapshot.select(bounds[name], use_indexes=use_indexes)
            inputs[name] = Tiers(snapshot, selection, now[name], ends.get(name))
    reason = "small enough"
    if text is not None:
        return Plan(bound, "duckdb", "it is known how", inputs, bounds, text)
    if bound.functions:
        reason = f"Python runs in this process: {', '.join(sorted(bound.functions))}"
    if bound.unsure is not None:
        reason = f"Spark may know what it means: {bound.unsure.primary}"
        if engine == "duckdb":
            raise bound.unsure
    elif engine != "spark":
        try:
            if bound.unnamed is not None and bound.text is not None and bound.shows_names and not bound.functions:
                raise NotOnDuckDB(f"only Spark knows the name of column {bound.unnamed}, which has none")
            text = to_duckdb(ordered(bound).tree, bound.functions, check)
        except NotOnDuckDB as refusal:
            if bound.functions:
                raise only_here(bound, str(refusal)) from refusal
            reason = str(refusal)
            if engine == "duckdb":
                raise EngineError(
                    "this query cannot run on DuckDB", detail=reason, hint="Leave the choice to millpond."
                ) from refusal
    elif bound.functions:
        raise only_here(bound, "Spark is asked for")
    else:
        reason = "asked for"
    plan = Plan(bound, "duckdb" if text else "spark", reason, inputs, bounds, text)
    if engine == "auto" and text and plan.rows > large_rows and not bound.functions:
        reason = f"{counted(plan.rows, 'row to read is', 'rows to read are')} more than {large_rows:,}"
        return Plan(bound, "spark", reason, inputs, bounds, None)
    return plan


def only_here(bound: Bound, reason: str) -> EngineError:
    """A query with a user's functions has to run on DuckDB, and cannot."""
    names = ", ".join(sorted(bound.functions))
    return EngineError(
        f"this query needs Spark, where the user's functions in it do not run: {names}",
        detail=f"Spark is needed because: {reason}.",
        hint="Ask in two steps: put one part's rows into a standard table with CREATE TABLE ... AS.",
    )


def used_columns(bound: Bound, use: Use) -> list[str]:
    """The columns of a use that the query names, in the table's order; at least one, so that rows can be counted."""
    named = set()
    for scope in bound.scopes:
        for alias, source in scope.sources.items():
            if isinstance(source, exp.Table) and source.name == use.name:
                named |= {c.name.lower() for c in scope.columns if c.table == alias}
    columns = [c.name for c in use.columns if c.name.lower() in named or bound.unsure is not None]
    return columns or [use.columns.columns[0].name]


def in_time_order(bound: Bound) -> Use | None:
    """The window whose rows a query shows in their order, which is decreasing time: it is nothing but a selection from it."""
    tree = bound.tree
    if not isinstance(tree, exp.Select) or len(bound.uses) != 1 or bound.any_order:
        return None
    use = next(iter(bound.uses.values()))
    plain = not any(
        tree.args.get(k) for k in ("order", "group", "distinct", "having", "limit", "joins", "laterals", "with_")
    )
    source = tree.args.get("from_")
    if use.window is None or not plain or source is None or not isinstance(source.this, exp.Table):
        return None
    return None if tree.find(exp.AggFunc, exp.Window) is not None else use


def ordered(bound: Bound) -> Bound:
    """The query with the order of its window written into it."""
    use = in_time_order(bound)
    if use is None:
        return bound
    time = use.time_column
    assert time is not None
    copy = bound.tree.copy()
    assert isinstance(copy, exp.Select)
    for name in (time, "_seq"):
        key = exp.column(exp.to_identifier(name, quoted=True), table=exp.to_identifier(use.alias, quoted=True))
        copy = copy.order_by(exp.Ordered(this=key, desc=True, nulls_first=False), copy=False)
    return replace(bound, tree=copy)
