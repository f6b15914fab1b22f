"""Carrying out statements: what each one means for a pond. One method a statement; `run` finds it.

A change is made in an order that leaves no half of it after a crash: first the files, then the definition that names
them; and the other way round for a DROP.
"""

from __future__ import annotations

import shutil
import time as clock_time
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from sqlglot import exp

from millpond.arrow import arrow_schema, integers, schema_of, to_batch
from millpond.catalog import REJECTED_SUFFIX, Catalog, Feed, Index, Source, StandardTable, StreamingTable, kind_of
from millpond.duration import TimeUnit, describe
from millpond.errors import CatalogError, EngineError, IntakeError, MillpondError, SqlError, UnknownName, UnsupportedSql
from millpond.failpoints import reach
from millpond.ingest.intake import Receipt, warn_malformed
from millpond.query.bind import Bound, bind
from millpond.query.explain import explain
from millpond.query.local import with_relations
from millpond.query.plan import Plan, make_plan
from millpond.result import Result
from millpond.schema import SEQ, DataType, Schema
from millpond.sources.options import check_options
from millpond.sql import define
from millpond.sql import statements as st
from millpond.sql.parser import parse
from millpond.sql.translate import NotOnDuckDB, to_duckdb
from millpond.table import postgres, stream
from millpond.table.block import GROUP_ROWS
from millpond.table.index import index_path, write_index
from millpond.table.rewrite import Change, rewrite, with_values, without_rows
from millpond.table.standard import StandardStore
from millpond.table.store import Store
from millpond.table.stream import StreamTable, with_seq
from millpond.table.work import read_file

if TYPE_CHECKING:
    from millpond.pond import Pond


class Runner:
    """Carries out one statement on a pond."""

    def __init__(self, pond: Pond) -> None:
        self._pond = pond

    def run(self, statement: st.Statement) -> Result:
        action: Callable[[Any], Result] = self._actions()[type(statement)]
        try:
            return action(statement)
        except SqlError as error:
            if error.span is None:
                raise
            raise error.at(statement.sql, error.span) from error.__cause__

    def _actions(self) -> dict[type[st.Statement], Callable[[Any], Result]]:
        return {
            st.Select: self._select,
            st.Explain: self._explain,
            st.Insert: self._insert,
            st.Update: self._update,
            st.Delete: self._delete,
            st.CreateStreamingTable: self._create_streaming,
            st.CreateStandardTable: self._create_standard,
            st.CreateIndex: self._create_index,
            st.CreateSource: self._create_source,
            st.Drop: self._drop,
            st.AlterTable: self._alter,
            st.Describe: self._describe,
            st.Show: self._show,
        }

    # -- asking -----------------------------------------------------------------------------------------------------

    def _select(self, statement: st.Select) -> Result:
        return Result(self._ask(self._plan(statement.query, statement.sql)))

    def _plan(self, query: exp.Expr, sql: str) -> Plan:
        self._pond.refresh()
        bound = bind(query, self._pond.catalog, sql)
        return self._plan_bound(bound)

    def _plan_bound(self, bound: Bound) -> Plan:
        config = self._pond.config
        return make_plan(bound, self._pond, engine=config.engine, large_rows=config.large_rows)

    def _ask(self, plan: Plan) -> pa.Table:
        rows = self._locally(plan) if plan.engine == "duckdb" else self._on_spark(plan)
        return rows.rename_columns(list(plan.bound.names)) if rows.num_columns == len(plan.bound.names) else rows

    def _locally(self, plan: Plan) -> pa.Table:
        try:
            return self._pond.local.run(plan).rows
        except NotOnDuckDB as refusal:  # it met a value on which the engines would differ
            if self._pond.config.engine == "duckdb":
                raise EngineError(
                    "this query cannot run on DuckDB", detail=str(refusal), hint="Leave the choice to millpond."
                ) from refusal
            return self._on_spark(plan)

    def _on_spark(self, plan: Plan) -> pa.Table:
        from millpond.query.on_spark import run_on_spark
        from millpond.spark.session import get_session

        return run_on_spark(plan, get_session(self._pond.config.spark_master, self._pond.config.spark_memory))

    def _explain(self, statement: st.Explain) -> Result:
        inner = statement.statement
        if not isinstance(inner, st.Select):
            raise UnsupportedSql("only a SELECT can be explained", sql=statement.sql, span=inner.span)
        plan = self._plan(inner.query, inner.sql)
        lines = explain(plan)
        if statement.analyze:
            begin = clock_time.perf_counter()
            count, read = self._measured(plan)
            took = (clock_time.perf_counter() - begin) * 1000
            lines.append(f"ran: {count:,} rows in {took:.1f} ms{read}")
        return Result(pa.table({"plan": lines}))

    def _measured(self, plan: Plan) -> tuple[int, str]:
        """How many rows a query gives, and in words what it really read."""
        if plan.engine == "duckdb":
            try:
                answer = self._pond.local.run(plan, profile=True)
                return answer.rows.num_rows, f", {answer.rows_read:,} rows and {answer.bytes_read:,} bytes read"
            except NotOnDuckDB as refusal:
                return self._on_spark(plan).num_rows, f", on Spark after all: {refusal}"
        return self._on_spark(plan).num_rows, ""

    # -- rows in ----------------------------------------------------------------------------------------------------

    def _insert(self, statement: st.Insert) -> Result:
        pond = self._pond
        pond.own()
        target = pond.catalog.relation(statement.table)
        if target is None:
            pond.catalog.streaming_table(statement.table)  # raises, with the nearest name
        if isinstance(target, Source):
            raise UnsupportedSql(
                f'source "{target.name}" cannot be inserted into', hint="Rows only come out of a source."
            )
        assert target is not None
        query = _as_query(statement.query)
        if self._reads_source(query):
            return self._create_feed(statement, target, query)
        wanted = [target.columns.find(c, target.name).name for c in statement.columns] or self._givable(target)
        _type_nulls(query, [target.columns.find(c, target.name).type for c in wanted])
        rows = self._ask(self._plan(query, statement.sql))
        if rows.num_columns != len(wanted):
            raise SqlError(
                f'{rows.num_columns} values are offered for {len(wanted)} columns of "{target.name}"',
                detail=f"The columns are: {', '.join(wanted)}.",
                sql=statement.sql,
                span=statement.span,
            )
        rows = rows.rename_columns(wanted)
        if isinstance(target, StandardTable):
            count = self.insert_standard(target, rows)
            return Result(message=f"{count} rows inserted")
        receipt = pond.intake(target.name).offer(rows)
        warn_malformed(receipt)
        return Result(message=_told(receipt))

    def insert_standard(self, target: StandardTable, rows: Any) -> int:
        """Add rows to a standard table; a row that cannot be converted is an error and nothing is added."""
        offer = to_batch(rows, target.columns, target.name)
        if offer.bad:
            first = offer.bad[0]
            raise IntakeError(
                f'row {first.index} does not fit standard table "{target.name}": {first.reason}',
                detail=f"{len(offer.bad)} rows are malformed; none was inserted.",
            )
        table = pa.Table.from_batches([offer.batch])
        if target.postgres is not None:
            return postgres.insert(target.postgres, target.postgres_table or target.name, table)
        with self._pond.work:
            return self._pond.standard(target).insert(table)

    def _givable(self, target: StreamingTable | StandardTable) -> list[str]:
        if isinstance(target, StreamingTable) and target.implicit_time:
            return target.explicit.names
        return target.columns.names

    # -- feeds ------------------------------------------------------------------------------------------------------

    def _reads_source(self, query: exp.Expr) -> bool:
        sources = self._pond.catalog.sources
        return any(t.name.lower() in sources for t in query.find_all(exp.Table))

    def _create_feed(self, statement: st.Insert, target: StreamingTable | StandardTable, query: exp.Expr) -> Result:
        if not isinstance(target, StreamingTable):
            raise UnsupportedSql(
                "a source can only flow into a streaming table", sql=statement.sql, span=statement.span
            )
        bound = bind(query, self._pond.catalog, statement.sql, allow_sources=True)
        if len(bound.uses) != 1 or _has_state(bound.tree):
            raise UnsupportedSql(
                "a feed takes each row by itself",
                detail="Its SELECT may choose, compute and filter, from one source.",
                hint="Aggregate and join in queries over the streaming table.",
                sql=statement.sql,
                span=statement.span,
            )
        source = next(iter(bound.uses.values())).table
        wanted = [target.columns.find(c, target.name).name for c in statement.columns] or self._givable(target)
        if len(bound.tree.named_selects) != len(wanted):
            raise SqlError(
                f'{len(bound.tree.named_selects)} values are offered for {len(wanted)} columns of "{target.name}"',
                detail=f"The columns are: {', '.join(wanted)}.",
                sql=statement.sql,
                span=statement.span,
            )
        name = f"{target.name}_from_{source.name}"
        if name in self._pond.catalog.feeds:
            raise CatalogError(f'feed "{name}" exists already', hint=f"Drop it first: DROP FEED {name}.")
        text = statement.sql[statement.span.start : statement.span.end]
        feed = Feed(name, target.name, source.name, tuple(wanted), text)
        with self._pond.work:
            self._pond.change_catalog(self._pond.catalog.with_feed(feed))
            self._pond.start_feed(feed)
        return Result(message=f'feed "{name}" created: rows of "{source.name}" flow into "{target.name}"')

    def feed_transform(self, feed: Feed) -> Callable[[pa.Table], pa.Table]:
        """What a feed does to each batch of its source."""
        statement = parse(feed.sql)[0]
        assert isinstance(statement, st.Insert)
        bound = bind(_as_query(statement.query), self._pond.catalog, feed.sql, allow_sources=True)
        columns = list(feed.columns)
        if _is_whole(bound):
            return lambda rows: rows.rename_columns(columns)
        try:
            text = with_relations(["__r0 AS (SELECT * FROM offered)"], to_duckdb(bound.tree))
        except NotOnDuckDB as refusal:
            raise UnsupportedSql(
                "this SELECT cannot run in a feed", detail=str(refusal), hint="Use simpler expressions."
            ) from refusal
        local = self._pond.local
        return lambda rows: local.run_over(text, {"offered": rows}).rename_columns(columns)

    # -- UPDATE and DELETE ------------------------------------------------------------------------------------------

    def _delete(self, statement: st.Delete) -> Result:
        select = exp.select(exp.column(SEQ)).from_(statement.table)
        count = self._change(statement, select, statement.where, {})
        return Result(message=f"{count} rows deleted")

    def _update(self, statement: st.Update) -> Result:
        assignments = {name.lower(): value for name, value in statement.assignments}
        select = exp.select(exp.column(SEQ)).from_(statement.table)
        count = self._change(statement, select, statement.where, assignments)
        return Result(message=f"{count} rows updated")

    def _change(
        self,
        statement: st.Update | st.Delete,
        select: exp.Select,
        where: exp.Expr | None,
        assignments: dict[str, exp.Expr],
    ) -> int:
        pond = self._pond
        pond.own()
        target = pond.catalog.relation(statement.table)
        if target is None or isinstance(target, Source):
            raise self._no_table(statement.table, statement)
        if isinstance(target, StandardTable) and target.postgres is not None:
            raise UnsupportedSql(f'"{target.name}" lives in PostgreSQL', hint="Change its rows there.")
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
        with pond.work:
            if isinstance(target, StreamingTable):
                pond.archive_in_place()
                table = pond.stream(target.name)
                store, columns = table.rows, table.stored
            else:
                store, columns = pond.standard(target).store, with_seq(target.columns)
            rows = self._ask(self._plan(select, statement.sql)).sort_by(SEQ)
            if rows.num_rows:
                wanted = arrow_schema(Schema(tuple(c for c in columns if c.name in rows.schema.names)))
                rows = rows.select(wanted.names).cast(wanted) if assignments else rows
                self._rewrite(store, columns, rows, with_values(rows) if assignments else without_rows)
            return int(rows.num_rows)

    def _rewrite(self, store: Store, columns: Schema, rows: pa.Table, change: Change) -> None:
        add, remove = rewrite(store, columns, integers(rows[SEQ]), change)
        clock = self._pond.clock
        reach("update.before_commit")
        store.commit(add=add, remove=remove, operation="UPDATE", now_ms=clock.micros() // 1000, age=clock.monotonic())
        reach("update.after_commit")

    # -- definitions ------------------------------------------------------------------------------------------------

    def _create_streaming(self, statement: st.CreateStreamingTable) -> Result:
        pond = self._pond
        pond.own()
        with pond.work:
            if statement.if_not_exists and pond.catalog.relation(statement.name) is not None:
                return Result(message=f'"{statement.name}" exists already')
            table = define.streaming_table(statement, pond.catalog, pond.config.shards)
            stream.create(pond.folder, table, pond.clock.micros() // 1000)
            reach("create.before_catalog")
            pond.change_catalog(pond.catalog.with_streaming(table))
        return Result(message=f'streaming table "{table.name}" created')

    def _create_standard(self, statement: st.CreateStandardTable) -> Result:
        pond = self._pond
        pond.own()
        with pond.work:
            if statement.if_not_exists and pond.catalog.relation(statement.name) is not None:
                return Result(message=f'"{statement.name}" exists already')
            name = statement.name.lower()
            pond.catalog.check_free(name)
            rows = None
            if statement.postgres is not None:
                columns = postgres.describe(statement.postgres, statement.postgres_table or name)
            elif statement.query is not None:
                rows = self._ask(self._plan(_as_query(statement.query), statement.sql))
                columns = define.folded(schema_of(rows.schema).columns)
            else:
                columns = define.folded(statement.columns)
            table = StandardTable(
                name, columns, f"{name}-{pond.catalog.made}", statement.postgres, statement.postgres_table
            )
            if table.postgres is None:
                StandardStore.create(pond.folder, table, pond.clock)
                if rows is not None:
                    StandardStore(pond.folder, table, pond.clock).insert(
                        rows.rename_columns(columns.names).cast(arrow_schema(columns))
                    )
            pond.change_catalog(pond.catalog.with_standard(table))
        return Result(
            message=f'standard table "{table.name}" created'
            + (f" with {rows.num_rows} rows" if rows is not None else "")
        )

    def _create_index(self, statement: st.CreateIndex) -> Result:
        pond = self._pond
        pond.own()
        with pond.work:
            if statement.if_not_exists and self._index_exists(statement):
                return Result(message="the index exists already")
            definition, index = define.index(statement, pond.catalog)
            table = pond.stream(definition.name)
            self._index_files(table, index)
            changed = replace(definition, indexes=(*definition.indexes, index))
            pond.change_catalog(replace(pond.catalog.with_streaming(changed), made=pond.catalog.made))
            pond.stream(definition.name)
        return Result(message=f'index "{index.name}" created on {definition.name} ({", ".join(index.columns)})')

    def _index_exists(self, statement: st.CreateIndex) -> bool:
        table = self._pond.catalog.streaming_table(statement.table)
        columns = tuple(c.lower() for c in statement.columns)
        names = {i.name for t in self._pond.catalog.streaming.values() for i in t.indexes}
        return (statement.name or "").lower() in names or any(i.columns == columns for i in table.indexes)

    def _index_files(self, table: StreamTable, index: Index) -> None:
        """Write the new index for the files there are; later files get it as they are written."""
        column = index.columns[0]
        changed = []
        for file in table.rows.manifest.current.files.values():
            if column in file.columns and column not in file.indexed:
                path = table.rows.folder / file.path
                write_index(index_path(path, column), read_file(path)[column], GROUP_ROWS)
                changed.append(replace(file, indexed=(*file.indexed, column)))
        if changed:
            clock = self._pond.clock
            table.rows.commit(add=changed, operation="INDEX", now_ms=clock.micros() // 1000, age=clock.monotonic())

    def _create_source(self, statement: st.CreateSource) -> Result:
        pond = self._pond
        pond.own()
        with pond.work:
            if statement.if_not_exists and pond.catalog.relation(statement.name) is not None:
                return Result(message=f'"{statement.name}" exists already')
            source = define.source(statement, pond.catalog)
            if source.kind == "files":
                source = replace(source, location=str(Path(source.location).resolve()))
            check_options(source)
            pond.change_catalog(pond.catalog.with_source(source))
        return Result(message=f'source "{source.name}" created')

    def _drop(self, statement: st.Drop) -> Result:
        pond = self._pond
        pond.own()
        with pond.work:
            catalog = pond.catalog
            if statement.kind == "index":
                return self._drop_index(statement)
            if statement.kind == "feed":
                if statement.if_exists and statement.name.lower() not in catalog.feeds:
                    return Result(message=f'there is no feed "{statement.name}"')
                pond.change_catalog(catalog.without_feed(statement.name))
                pond.stop_feed(statement.name.lower())
                shutil.rmtree(pond.folder / "feeds" / statement.name.lower(), ignore_errors=True)
                return Result(message=f'feed "{statement.name}" dropped')
            found = self._to_drop(statement, catalog)
            if found is None:
                return Result(message=f'there is no {statement.kind} "{statement.name}"')
            pond.change_catalog(catalog.without(found.name))
            pond.forget(found.name)
            if isinstance(found, StreamingTable):
                shutil.rmtree(pond.folder / "tables" / found.folder, ignore_errors=True)
            elif isinstance(found, StandardTable) and found.postgres is None:
                shutil.rmtree(pond.folder / "standard" / found.folder, ignore_errors=True)
        return Result(message=f'{kind_of(found)} "{found.name}" dropped')

    def _to_drop(self, statement: st.Drop, catalog: Catalog) -> StreamingTable | StandardTable | Source | None:
        found = catalog.relation(statement.name)
        kind = statement.kind
        if found is None and statement.if_exists:
            return None
        if kind == "streaming table":
            return catalog.streaming_table(statement.name)
        if kind == "standard table":
            return catalog.standard_table(statement.name)
        if kind == "source":
            return catalog.source(statement.name)
        if found is None or isinstance(found, Source):
            raise self._no_table(statement.name, statement)
        return found

    def _no_table(self, name: str, statement: st.Statement) -> MillpondError:
        """There is no such table to change; rejected rows can only be read."""
        catalog = self._pond.catalog
        if name.lower().removesuffix(REJECTED_SUFFIX) in catalog.streaming:
            catalog.streaming_table(name)  # raises, and says why
        return UnknownName("table", name, [*catalog.streaming, *catalog.standard], sql=statement.sql, span=statement.span)

    def _drop_index(self, statement: st.Drop) -> Result:
        catalog = self._pond.catalog
        every = {i.name for t in catalog.streaming.values() for i in t.indexes}
        if statement.if_exists and statement.name.lower() not in every:
            return Result(message=f'there is no index "{statement.name}"')
        table, index = define.find_index(catalog, statement.name)
        changed = replace(table, indexes=tuple(i for i in table.indexes if i != index))
        self._pond.change_catalog(replace(catalog.with_streaming(changed), made=catalog.made))
        self._pond.stream(table.name)
        return Result(message=f'index "{index.name}" dropped')

    def _alter(self, statement: st.AlterTable) -> Result:
        pond = self._pond
        pond.own()
        with pond.work:
            catalog = pond.catalog
            if statement.rename_to is not None:
                pond.change_catalog(catalog.renamed(statement.name, statement.rename_to.lower()))
                pond.forget(statement.name.lower())
                return Result(message=f'"{statement.name}" is now "{statement.rename_to.lower()}"')
            if statement.name.lower() in catalog.standard:
                return self._alter_standard(statement)
            old = catalog.streaming_table(statement.name)
            new = define.altered(statement, catalog)
            table = pond.stream(old.name)
            if new.columns != old.columns:
                clock = pond.clock
                table.rows.commit(
                    schema=new.columns, operation="ADD COLUMNS", now_ms=clock.micros() // 1000, age=clock.monotonic()
                )
                reach("alter.before_catalog")
            pond.change_catalog(replace(catalog.with_streaming(new), made=catalog.made))
            reach("alter.after_catalog")
            pond.stream(old.name)
        return Result(message=f'streaming table "{new.name}" altered')

    def _alter_standard(self, statement: st.AlterTable) -> Result:
        pond = self._pond
        table = pond.catalog.standard_table(statement.name)
        if table.postgres is not None or not statement.add_columns:
            raise UnsupportedSql(
                f'standard table "{table.name}" can only get new columns', sql=statement.sql, span=statement.span
            )
        changed = replace(table, columns=table.columns.plus(*define.folded(statement.add_columns)))
        clock = pond.clock
        pond.standard(table).store.commit(
            schema=changed.columns, operation="ADD COLUMNS", now_ms=clock.micros() // 1000, age=clock.monotonic()
        )
        pond.change_catalog(replace(pond.catalog.with_standard(changed), made=pond.catalog.made))
        return Result(message=f'standard table "{table.name}" altered')

    # -- telling ----------------------------------------------------------------------------------------------------

    def _describe(self, statement: st.Describe) -> Result:
        self._pond.refresh()
        catalog = self._pond.catalog
        found = catalog.relation(statement.name)
        base = statement.name.lower().removesuffix(REJECTED_SUFFIX)
        if found is None and base in catalog.streaming:
            from millpond.catalog import REJECTED_COLUMNS

            return _described(REJECTED_COLUMNS, {})
        if found is None:
            raise UnknownName(
                "table",
                statement.name,
                [*catalog.relation_names(), *catalog.sources],
                sql=statement.sql,
                span=statement.span,
            )
        notes: dict[str, list[str]] = {}
        if isinstance(found, StreamingTable):
            notes.setdefault(found.time_column, []).append("time" + (", implicit" if found.implicit_time else ""))
            for name in found.shard_by:
                notes.setdefault(name, []).append(f"shard key, {found.shards} shards")
            for index in found.indexes:
                notes.setdefault(index.columns[0], []).append(f"index {index.name}")
        return _described(found.columns, {k: "; ".join(v) for k, v in notes.items()})

    def _show(self, statement: st.Show) -> Result:
        self._pond.refresh()
        catalog = self._pond.catalog
        if statement.kind in ("tables", "streaming tables", "standard tables"):
            return self._show_tables(statement.kind)
        if statement.kind == "indexes":
            rows = [
                {"name": i.name, "table": t.name, "columns": ", ".join(i.columns)}
                for t in catalog.streaming.values()
                for i in t.indexes
            ]
            return _listed(rows, ["name", "table", "columns"])
        if statement.kind == "sources":
            rows = [
                {"name": s.name, "kind": s.kind, "location": s.location, "format": s.format}
                for s in catalog.sources.values()
            ]
            return _listed(rows, ["name", "kind", "location", "format"])
        if statement.kind == "feeds":
            rows = [
                {"name": f.name, "source": f.source, "table": f.table, "sql": f.sql} for f in catalog.feeds.values()
            ]
            return _listed(rows, ["name", "source", "table", "sql"])
        counts = [
            {"table": n, "late": t.state.late, "malformed": t.state.malformed} for n, t in self._pond.streams().items()
        ]
        return _listed(counts, ["table", "late", "malformed"])

    def _show_tables(self, kind: str) -> Result:
        rows: list[dict[str, Any]] = []
        if kind != "standard tables":
            for name, table in self._pond.streams().items():
                d = table.definition
                rows.append(
                    {
                        "name": name,
                        "kind": "streaming table",
                        "rows": table.rows.snapshot().rows,
                        "now": None if table.now is None else str(self.time_value(table)),
                        "range": "forever" if d.history is None else describe(d.history),
                        "lateness": describe(d.lateness),
                        "rejected": table.state.rejected,
                    }
                )
        if kind != "streaming tables":
            for standard in self._pond.catalog.standard.values():
                count = None if standard.postgres else self._pond.standard(standard).store.snapshot().rows
                rows.append(
                    {
                        "name": standard.name,
                        "kind": "PostgreSQL table" if standard.postgres else "standard table",
                        "rows": count,
                    }
                )
        return _listed(rows, ["name", "kind", "rows", "now", "range", "lateness", "rejected"])

    def time_value(self, table: StreamTable) -> Any:
        """The table's now as a user sees it: seconds, or a datetime."""
        now = table.now
        if now is None or table.definition.unit is TimeUnit.SECOND:
            return now
        return datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=now)


def _as_query(node: exp.Expr) -> exp.Expr:
    """VALUES as a SELECT; everything else as it is."""
    if isinstance(node, exp.Values):
        values = node.copy()
        if not values.args.get("alias"):
            values.set("alias", exp.TableAlias(this=exp.to_identifier("v")))
        return exp.select("*").from_(values)
    if isinstance(node, exp.Subquery) and not node.args.get("alias"):
        inner: exp.Expr = node.this
        return inner
    return node


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


def _described(columns: Schema, notes: dict[str, str]) -> Result:
    rows = [{"column": c.name, "type": str(c.type), "note": notes.get(c.name, "")} for c in columns]
    return _listed(rows, ["column", "type", "note"])


def _listed(rows: list[dict[str, Any]], names: list[str]) -> Result:
    integers = {"rows", "rejected", "late", "malformed"}
    kinds = {n: pa.int64() if n in integers else pa.string() for n in names}
    return Result(pa.table({n: pa.array([r.get(n) for r in rows], kinds[n]) for n in names}))


def _told(receipt: Receipt) -> str:
    text = f"{receipt.accepted} rows inserted"
    if receipt.rejected:
        text += f", {receipt.rejected} rejected ({receipt.late} late, {receipt.malformed} malformed)"
        text += f": see {receipt.table}_rejected"
    return text
