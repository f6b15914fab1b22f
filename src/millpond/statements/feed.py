"""Continuous inserts: what a feed may say, and what it does to each batch of its source."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import pyarrow as pa
from sqlglot import exp

from millpond.catalog import Feed, StandardTable, StreamingTable, folder_name
from millpond.errors import CatalogError, EngineError, UnsupportedSql
from millpond.query.binding.bind import bind
from millpond.query.binding.uses import Bound
from millpond.query.local import with_relations
from millpond.result import Result
from millpond.sql import statements as st
from millpond.sql.dialect import tokenize
from millpond.sql.parameters import marks_in
from millpond.sql.parser import parse
from millpond.sql.translate import NotOnDuckDB, to_duckdb
from millpond.statements.values import as_query, check_number, wanted_columns

if TYPE_CHECKING:
    from millpond.workspace.workspace import Workspace


def reads_source(workspace: Workspace, query: exp.Expr) -> bool:
    sources = workspace.catalog.sources
    return any(t.name.lower() in sources for t in query.find_all(exp.Table))


def create_feed(
    workspace: Workspace, statement: st.Insert, target: StreamingTable | StandardTable, query: exp.Expr
) -> Result:
    if not isinstance(target, StreamingTable):
        raise UnsupportedSql("a source can only flow into a streaming table", sql=statement.sql, span=statement.span)
    if next(marks_in(tokenize(statement.sql)), None) is not None:
        raise UnsupportedSql(
            "a feed takes no parameters",
            detail="It is kept as it is written.",
            hint="Write the value itself.",
            sql=statement.sql,
            span=statement.span,
        )
    bound = bind(query, workspace.catalog, statement.sql, allow_sources=True)
    if len(bound.uses) != 1 or _has_state(bound.tree):
        raise UnsupportedSql(
            "a feed takes each row by itself",
            detail="Its SELECT may choose, compute and filter, from one source.",
            hint="Aggregate and join in queries over the streaming table.",
            sql=statement.sql,
            span=statement.span,
        )
    for function in bound.functions.values():
        if function.python is None:
            raise UnsupportedSql(
                f'function "{function.name}" ends with this process',
                detail="A feed goes on after a restart.",
                hint="Put the function into a module, so that it can be found again.",
                sql=statement.sql,
                span=statement.span,
            )
    source = next(iter(bound.uses.values())).table
    wanted = wanted_columns(target, statement)
    check_number(len(bound.tree.named_selects), wanted, target, statement)
    name = f"{target.name}_from_{source.name}"
    text = statement.sql[statement.span.start : statement.span.end]
    with workspace.work:
        if name in workspace.catalog.feeds:
            raise CatalogError(f'feed "{name}" exists already', hint=f"Drop it first: DROP FEED {name}.")
        folder = folder_name(name, workspace.catalog.made)
        workspace.feeds.add(Feed(name, target.name, source.name, tuple(wanted), text, folder))
    return Result(message=f'feed "{name}" created: rows of "{source.name}" flow into "{target.name}"')


def transform(workspace: Workspace, feed: Feed) -> Callable[[pa.Table], pa.Table]:
    """What a feed does to each batch of its source."""
    statement = parse(feed.sql)[0]
    assert isinstance(statement, st.Insert)
    bound = bind(as_query(statement.query), workspace.catalog, feed.sql, allow_sources=True)
    columns = list(feed.columns)
    if _is_whole(bound):
        return lambda rows: rows.rename_columns(columns)
    try:
        text = with_relations(["__r0 AS (SELECT * FROM offered)"], to_duckdb(bound.tree, bound.functions))
    except NotOnDuckDB as refusal:
        raise UnsupportedSql(
            "this SELECT cannot run in a feed", detail=str(refusal), hint="Use simpler expressions."
        ) from refusal
    local = workspace.local

    def run(rows: pa.Table) -> pa.Table:
        try:
            return local.run_over(text, {"offered": rows}, bound.functions).rename_columns(columns)
        except NotOnDuckDB as refusal:  # it met a value on which the engines would differ
            raise EngineError(f"this row cannot be taken by a feed: {refusal}") from refusal

    return run


def _has_state(tree: exp.Query) -> bool:
    if not isinstance(tree, exp.Select) or any(
        tree.args.get(k)
        for k in ("group", "distinct", "having", "limit", "offset", "order", "joins", "with_", "laterals")
    ):
        return True
    return any(True for _ in tree.find_all(exp.AggFunc, exp.Window, exp.Subquery))


def _is_whole(bound: Bound) -> bool:
    """Whether a feed's SELECT takes all columns of its source as they are."""
    tree = bound.tree
    if not isinstance(tree, exp.Select) or tree.args.get("where"):
        return False
    use = next(iter(bound.uses.values()))
    plain = [e.this if isinstance(e, exp.Alias) else e for e in tree.expressions]
    return [e.name if isinstance(e, exp.Column) else None for e in plain] == use.columns.names
