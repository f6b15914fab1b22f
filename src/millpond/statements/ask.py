"""SELECT and EXPLAIN: bind, plan, and hand the plan to the engine it names."""

from __future__ import annotations

import time as clock_time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import partial
from typing import TYPE_CHECKING

import pyarrow as pa
from sqlglot import exp

from millpond import catalog_file
from millpond.catalog import StandardTable, StreamingTable
from millpond.config import Config
from millpond.errors import CatalogError, EngineError, JavaMissing, UnsupportedSql, counted
from millpond.query.binding.bind import bind
from millpond.query.binding.uses import Bound
from millpond.query.data_errors import is_in_data, surely_met
from millpond.query.deadline import Deadline
from millpond.query.explain import explain
from millpond.query.plan import Plan, make_plan, only_here
from millpond.result import Result
from millpond.sql import statements as st
from millpond.sql.translate import NotOnDuckDB
from millpond.statements import reduced, windowed
from millpond.system.registry import SystemShelf, system_tables

if TYPE_CHECKING:
    from millpond.query.local import Local
    from millpond.workspace.workspace import Workspace


def select(workspace: Workspace, statement: st.Select) -> Result:
    bound = _bound(workspace, statement.query, statement.sql, reduced=True)
    if not reduced.is_reduced(bound, statement.within):
        return Result(ask(workspace, _planned(workspace, bound, statement.as_of)))
    windowed.check_names(workspace.catalog, bound, statement.sql)
    check = deadline_of(workspace).check
    answer = windowed.answer if windowed.is_windowed(bound) else reduced.answer
    with while_it_is_there(workspace, bound):
        return answer(
            workspace, bound, statement.within, statement.as_of, statement.sql, partial(ask, workspace), check
        )


def plan_query(workspace: Workspace, query: exp.Expr, sql: str, as_of: int | str | None = None) -> Plan:
    return _planned(workspace, _bound(workspace, query, sql), as_of)


def _bound(workspace: Workspace, query: exp.Expr, sql: str, *, reduced: bool = False) -> Bound:
    workspace.refresh()
    check = deadline_of(workspace).check
    return bind(query, workspace.catalog, sql, system=system_tables(), spark_decides=True, reduced=reduced, check=check)


def _planned(workspace: Workspace, bound: Bound, as_of: int | str | None) -> Plan:
    config = workspace.config
    check = deadline_of(workspace).check
    with while_it_is_there(workspace, bound):
        return make_plan(
            bound,
            SystemShelf(workspace),
            engine=config.engine,
            large_rows=config.large_rows,
            as_of=as_of,
            check=check,
        )


@contextmanager
def while_it_is_there(workspace: Workspace, bound: Bound) -> Iterator[None]:
    """When reading fails because a table was dropped meanwhile, say that, and not that its files are damaged."""
    try:
        yield
    except (OSError, EngineError):
        catalog = catalog_file.load(workspace.folder)  # a DROP writes the catalog first, and then deletes the files
        there = {t.folder for t in catalog.streaming.values()} | {t.folder for t in catalog.standard.values()}
        there |= {q.folder for q in catalog.queries.values()}
        for use in bound.uses.values():
            if isinstance(use.table, StreamingTable | StandardTable) and use.table.folder not in there:
                raise CatalogError(
                    f'table "{use.table.name}" was dropped', detail="It was being read.", hint="Ask another one."
                ) from None
        raise


def ask(workspace: Workspace, plan: Plan, local: Local | None = None) -> pa.Table:
    """The rows of an answer; with `local`, by that embedded engine."""
    with while_it_is_there(workspace, plan.bound):
        here = local or workspace.local
        rows = _locally(workspace, plan, here) if plan.engine == "duckdb" else _on_spark(workspace, plan)
    names = plan.bound.names
    if plan.engine == "spark" and plan.bound.text is not None and plan.bound.shows_names:
        return rows  # Spark named its columns itself
    return rows.rename_columns(list(names)) if rows.num_columns == len(names) else rows


def _locally(workspace: Workspace, plan: Plan, local: Local) -> pa.Table:
    try:
        return local.run(plan, deadline=deadline_of(workspace), most=local.memory).rows
    except NotOnDuckDB as refusal:  # it met a value on which the engines would differ
        if workspace.config.engine == "duckdb":
            raise EngineError(
                "this query cannot run on DuckDB", detail=str(refusal), hint="Leave the choice to millpond."
            ) from refusal
        return _on_spark(workspace, plan, str(refusal))
    except EngineError as error:
        if not _may_be_forgiven(workspace, plan, error):
            raise
        return _decided_by_spark(workspace, plan, error)


def _may_be_forgiven(workspace: Workspace, plan: Plan, error: EngineError) -> bool:
    """Whether Spark is to decide if an error that DuckDB met in the data is one."""
    if workspace.config.engine != "auto" or plan.bound.functions or not is_in_data(error):
        return False
    return not surely_met(plan.bound.tree)


def _decided_by_spark(workspace: Workspace, plan: Plan, error: EngineError) -> pa.Table:
    try:
        return _on_spark(workspace, plan, "DuckDB met an error in the data that Spark may not meet")
    except JavaMissing:
        raise error from None


def _on_spark(workspace: Workspace, plan: Plan, reason: str = "") -> pa.Table:
    if plan.bound.functions:
        raise only_here(plan.bound, reason)
    from millpond.query.on_spark import run_on_spark
    from millpond.spark.session import session_for

    why = reason or plan.reason
    why = "the setting engine says so" if why == "asked for" else why
    deadline = deadline_of(workspace)
    with deadline.paused():  # the time in which Spark starts is not the query's
        try:
            session = session_for(workspace.config, why)
        except JavaMissing as missing:
            raise JavaMissing(
                f"this query needs Spark, and {missing.primary}",
                detail=f"Needed because: {why}. {missing.detail}",
                hint=missing.hint,
            ) from missing
    return run_on_spark(plan, session, deadline)


def new_deadline(config: Config) -> Deadline:
    """The time that a statement has from now on: for reading its text, binding, planning and answering its queries."""
    return Deadline(config.query_time or None, "the query", "query_time")


_underway: ContextVar[Deadline | None] = ContextVar("_underway", default=None)


@contextmanager
def within(deadline: Deadline) -> Iterator[None]:
    """Let the queries of a statement that this thread carries out end by `deadline`."""
    before = _underway.set(deadline)
    try:
        yield
    finally:
        _underway.reset(before)


def deadline_of(workspace: Workspace) -> Deadline:
    """That of the statement under way; a query that a function asks from a thread of the engine has its own."""
    return _underway.get() or new_deadline(workspace.config)


def explain_statement(workspace: Workspace, statement: st.Explain) -> Result:
    inner = statement.statement
    if not isinstance(inner, st.Select):
        raise UnsupportedSql("only a SELECT can be explained", sql=statement.sql, span=inner.span)
    bound = _bound(workspace, inner.query, inner.sql, reduced=True)
    windowed.check_names(workspace.catalog, bound, inner.sql)
    if windowed.is_windowed(bound):
        check = deadline_of(workspace).check
        with while_it_is_there(workspace, bound):
            lines = windowed.explain_lines(
                workspace, bound, inner.within, inner.as_of, inner.sql, partial(ask, workspace), check
            )
        if statement.analyze:
            lines += str(select(workspace, inner).reduction).splitlines()
        return Result(pa.table({"plan": lines}))
    plan = _planned(workspace, bound, inner.as_of)
    lines = explain(plan)
    if reduced.is_reduced(bound, inner.within):
        lines += reduced.explain_lines(workspace, plan, inner.within, inner.sql)
        if statement.analyze:
            lines += str(select(workspace, inner).reduction).splitlines()
        return Result(pa.table({"plan": lines}))
    if statement.analyze:
        begin = clock_time.perf_counter()
        count, read = _measured(workspace, plan)
        took = (clock_time.perf_counter() - begin) * 1000
        lines.append(f"ran: {counted(count, 'row')} in {took:.1f} ms{read}")
    return Result(pa.table({"plan": lines}))


def _measured(workspace: Workspace, plan: Plan) -> tuple[int, str]:
    """How many rows a query gives, and in words what it really read."""
    if plan.engine == "duckdb":
        try:
            answer = workspace.local.run(plan, profile=True, deadline=deadline_of(workspace))
            assert answer.bytes_read is not None, "a profiled run counts them"
            return answer.rows.num_rows, f", {counted(answer.bytes_read, 'byte')} of files read"
        except NotOnDuckDB as refusal:
            return _on_spark(workspace, plan, str(refusal)).num_rows, f", on Spark after all: {refusal}"
        except EngineError as error:
            if not _may_be_forgiven(workspace, plan, error):
                raise
            return _decided_by_spark(workspace, plan, error).num_rows, f", on Spark after all: {error.primary}"
    return _on_spark(workspace, plan).num_rows, ""
