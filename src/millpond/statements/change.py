"""INSERT, UPDATE and DELETE: rows in, and one-time changes of rows that are there."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from sqlglot import exp

from millpond.arrow import arrow_schema, integers, to_batch
from millpond.catalog import Source, StandardTable, StreamingTable
from millpond.errors import IntakeError, UnsupportedSql, counted
from millpond.event_time import event_times
from millpond.failpoints import reach
from millpond.foreign_tables import registry as foreign_tables
from millpond.ingest.intake import Receipt, warn_malformed
from millpond.result import Result
from millpond.schema import SEQ, DataType, Schema, with_seq
from millpond.sql import statements as st
from millpond.sql.literals import LiteralRows
from millpond.sql.query_text import QUERY_TEXT
from millpond.statements.ask import ask, plan_query
from millpond.statements.define import no_table
from millpond.statements.feed import create_feed, reads_source
from millpond.statements.values import as_query, check_number, wanted_columns
from millpond.table.rewrite import Change, rewrite, with_values, without_rows
from millpond.table.store import Store

if TYPE_CHECKING:
    from millpond.workspace.workspace import Workspace


_TIME = "__time"


def insert(workspace: Workspace, statement: st.Insert) -> Result:
    workspace.own()
    target = workspace.catalog.relation(statement.table)
    if target is None:
        workspace.catalog.streaming_table(statement.table)  # raises, with the nearest name
    if isinstance(target, Source):
        raise UnsupportedSql(f'source "{target.name}" cannot be inserted into', hint="Rows only come out of a source.")
    assert target is not None
    query = as_query(statement.query)
    if reads_source(workspace, query):
        return create_feed(workspace, statement, target, query)
    wanted = wanted_columns(target, statement)
    _type_nulls(query, [target.columns.find(c, target.name).type for c in wanted])
    rows = ask(workspace, plan_query(workspace, query, statement.sql))
    if statement.rows is not None:
        rows = _typed(statement.rows, rows.schema)
    check_number(rows.num_columns, wanted, target, statement)
    rows = rows.rename_columns(wanted)
    if isinstance(target, StandardTable):
        count = insert_standard(workspace, target, rows)
        return Result(message=f"{counted(count, 'row')} inserted")
    receipt = workspace.intake(target.name).offer(rows)
    warn_malformed(receipt)
    return Result(message=_told(receipt))


def _typed(rows: LiteralRows, schema: pa.Schema) -> pa.Table:
    """Rows of literals with the types that a query gave a sample of them."""
    columns = []
    for place, field in enumerate(schema):
        texts = pa.array(rows.texts(place), pa.string())
        if pa.types.is_timestamp(field.type):
            texts = texts.cast(pa.timestamp("us"))  # a time without a zone is in UTC
        columns.append(texts.cast(field.type))
    return pa.table(columns, schema=schema)


def insert_standard(workspace: Workspace, target: StandardTable, rows: Any) -> int:
    """Add rows to a standard table; a row that cannot be converted is an error and nothing is added."""
    offer = to_batch(rows, target.columns, target.name)
    if offer.bad:
        first = offer.bad[0]
        raise IntakeError(
            f'row {first.index} does not fit standard table "{target.name}": {first.reason}',
            detail=f"{counted(len(offer.bad), 'row is', 'rows are')} malformed; none was inserted.",
        )
    table = pa.Table.from_batches([offer.batch])
    if target.address is not None:
        return foreign_tables.insert(target, table)
    with workspace.work:
        return workspace.standard(workspace.catalog.standard_table(target.name)).insert(table)


def delete(workspace: Workspace, statement: st.Delete) -> Result:
    count = _change(workspace, statement, _rows_of(statement.table), statement.where, {})
    return Result(message=f"{counted(count, 'row')} deleted")


def update(workspace: Workspace, statement: st.Update) -> Result:
    assignments = {name.lower(): value for name, value in statement.assignments}
    count = _change(workspace, statement, _rows_of(statement.table), statement.where, assignments)
    return Result(message=f"{counted(count, 'row')} updated")


def _rows_of(table: str) -> exp.Select:
    return exp.select(exp.column(SEQ)).from_(exp.Table(this=exp.to_identifier(table, quoted=True)))


def _change(
    workspace: Workspace,
    statement: st.Update | st.Delete,
    select: exp.Select,
    where: exp.Expr | None,
    assignments: dict[str, exp.Expr],
) -> int:
    workspace.own()
    target = workspace.catalog.relation(statement.table)
    if target is None or isinstance(target, Source):
        raise no_table(workspace, statement.table, statement)
    if isinstance(target, StandardTable) and target.address is not None:
        system = foreign_tables.system_of(target)
        raise UnsupportedSql(f'"{target.name}" lives in {system}', hint="Change its rows there.")
    for name, value in assignments.items():
        column = target.columns.find(name, target.name)
        if isinstance(target, StreamingTable) and name in (target.time_column, *target.shard_by):
            raise UnsupportedSql(
                f'column "{name}" decides where a row is kept and cannot be updated',
                hint="Delete the row and insert it again.",
            )
        select = select.select(exp.alias_(exp.cast(value.copy(), str(column.type), dialect="spark"), name))
    if where is not None:
        select = select.where(where.copy())
    dated = isinstance(target, StreamingTable) and bool(workspace.catalog.reductions_of(target.name))
    if dated:
        assert isinstance(target, StreamingTable)
        select = select.select(exp.alias_(exp.column(target.time_column), _TIME))
    statement_name = "UPDATE" if assignments else "DELETE"
    workspace.rounds.catch_up(statement_name, workspace.beat)  # while others can do what they have to
    with workspace.rounds.alone(statement_name), workspace.work:  # no tick may read the files that are rewritten
        if isinstance(target, StreamingTable):
            workspace.rounds.archive()
            workspace.rounds.catch_up(statement_name, workspace.rounds.tick)
            table = workspace.stream(target.name)
            store, columns = table.rows, table.stored
            # Rows that arrive from here on are not part of this statement.
            select = select.where(f"{SEQ} < {store.manifest.current.position}")
        else:
            target = workspace.catalog.standard_table(target.name)
            store, columns = workspace.standard(target).store, with_seq(target.columns)
        rows = ask(workspace, plan_query(workspace, select, statement.sql)).sort_by(SEQ)
        if rows.num_rows:
            changing: contextlib.AbstractContextManager[None] = contextlib.nullcontext()
            if dated:
                assert isinstance(target, StreamingTable)
                times = event_times(rows, _TIME)
                changing = workspace.reductions.changing(target, times, set(assignments) if assignments else None)
                rows = rows.drop_columns([_TIME])
            wanted = arrow_schema(Schema(tuple(c for c in columns if c.name in rows.schema.names)))
            rows = rows.select(wanted.names).cast(wanted) if assignments else rows
            if isinstance(target, StreamingTable):  # before, lest a crash leave windows with rows that are gone
                workspace.network.keep_last_sent(target.name)
                workspace.network.forget_checkpoints(target.name)
            with changing:
                _rewrite(workspace, store, columns, rows, with_values(rows) if assignments else without_rows)
            if isinstance(target, StreamingTable):
                workspace.network.refill_windows(target.name)
                workspace.standing.forget([target.folder])
        return int(rows.num_rows)


def _rewrite(workspace: Workspace, store: Store, columns: Schema, rows: pa.Table, change: Change) -> None:
    add, remove = rewrite(store, columns, integers(rows[SEQ]), change)
    clock = workspace.clock
    reach("update.before_commit")
    store.commit(add=add, remove=remove, operation="UPDATE", now_ms=clock.micros() // 1000, age=clock.monotonic())
    reach("update.after_commit")
    store.manifest.checkpoint()
    store.delete_removed(clock.monotonic())


def _told(receipt: Receipt) -> str:
    text = f"{counted(receipt.accepted, 'row')} inserted"
    if receipt.rejected:
        ahead = f"{receipt.ahead} too far ahead, " if receipt.ahead else ""
        text += f", {receipt.rejected} rejected ({receipt.late} late, {ahead}{receipt.malformed} malformed)"
        text += f": see {receipt.table}_rejected"
    return text


def _type_nulls(query: exp.Expr, kinds: Sequence[DataType]) -> None:
    """Where a VALUES list or a SELECT has nothing but NULL for a column, give it the type of the column it is for."""
    source = query.args.get("from_")
    rows = [query.expressions]
    if query.is_star and source is not None and isinstance(source.this, exp.Values):
        rows = [row.expressions if isinstance(row, exp.Tuple) else [row] for row in source.this.expressions]
    for items, kind in zip(zip(*rows, strict=False), kinds, strict=False):
        if all(isinstance(item, exp.Null) for item in items):
            for item in items:
                item.replace(exp.cast(exp.Null(), str(kind), dialect="spark"))
            query.meta.pop(QUERY_TEXT, None)  # the text does not say that
