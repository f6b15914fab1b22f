"""Names in FROM: each table of the pond that a query reads becomes a `Use` under a relation name of its own.

Invariant: afterwards every relation of the tree is a use, a CTE or a table function; no other name reaches an engine.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace

from sqlglot import exp
from sqlglot.optimizer.scope import Scope

from millpond.catalog import INSTANT, REJECTED_SUFFIX, Catalog, Source, StreamingTable
from millpond.duration import FOREVER
from millpond.errors import Span, SqlError, UnknownName, UnsupportedSql
from millpond.query.binding.texts import TextChanges
from millpond.query.binding.uses import Use
from millpond.query.system_names import SCHEMA, SystemTable, find_system_table
from millpond.sql.dialect import WINDOW, WINDOW_SPAN, span_of
from millpond.sql.reduce import REDUCE


def lower_ctes(tree: exp.Expr) -> None:
    """Write the names of CTEs in lower case where they are given and where they are read.

    sqlglot tells cases apart, Spark does not.
    """
    ctes = [cte.args["alias"].this for cte in tree.find_all(exp.CTE) if cte.args.get("alias")]
    names = {name.name.lower() for name in ctes}
    tables = (t.this for t in tree.find_all(exp.Table) if isinstance(t.this, exp.Identifier) and not t.db)
    for name in (*ctes, *(t for t in tables if t.name.lower() in names)):
        name.set("this", name.name.lower())


def name_relations(
    scopes: list[Scope],
    catalog: Catalog,
    sql: str,
    allow_sources: bool,
    system: Mapping[str, SystemTable] | None,
    changes: TextChanges,
    named: Collection[str],
) -> dict[str, Use]:
    """`named` are the columns that the query names, in lower case."""
    uses: dict[str, Use] = {}
    seen: set[int] = set()
    for scope in scopes:
        for source in scope.sources.values():
            if not isinstance(source, exp.Table) or id(source) in seen or not isinstance(source.this, exp.Identifier):
                continue
            if (
                source.args.get("pivots") and source.name in scope.cte_sources
            ):  # known by the name of what PIVOT makes of it
                continue
            seen.add(id(source))
            if source.db.lower() == SCHEMA and not source.catalog:
                use = _resolve_system(source, system, sql, len(uses))
            else:
                use = _resolve(source, catalog, sql, len(uses), allow_sources)
                use = replace(use, bare=_is_bare(use, source, named))
            uses[use.name] = use = _reduced(source, use, sql)
            changes.view(source, use.name)
            if use.reduce is not None:
                changes.lost()
            if not source.alias:
                source.set("alias", exp.TableAlias(this=exp.to_identifier(source.name)))
            # The use holds the window from here on; engines know nothing of it.
            source.meta.pop(WINDOW, None)
            source.meta.pop(REDUCE, None)
            source.set("db", None)
            source.set("catalog", None)
            source.set("this", exp.to_identifier(use.name))
        for column in scope.find_all(exp.Column):  # `millpond.queries.name`: the relation is known by its alias now
            if column.db.lower() == SCHEMA and not column.catalog:
                changes.schema(column)
                column.set("db", None)
    _check_resolved(scopes, uses, catalog, sql)
    return uses


def _is_bare(use: Use, node: exp.Table, named: Collection[str]) -> bool:
    if use.window is None or use.time_column is None or use.rejected:
        return False
    alias = node.args.get("alias")
    listed = len(alias.args.get("columns") or ()) if alias is not None else 0
    period = node.root().find(exp.Overlaps) is not None
    return not period and use.time_column.lower() not in named and listed != len(use.columns.names)


def _reduced(node: exp.Table, use: Use, sql: str) -> Use:
    """The use with what its REDUCE clause says."""
    found = node.meta.get(REDUCE)
    if found is None:
        return use
    place = Span(found.start, found.end)
    if not isinstance(use.table, StreamingTable) or use.rejected or use.table.time_column == INSTANT:
        raise UnsupportedSql(
            f'"{node.name}" cannot be read reduced', detail="Only streaming tables can.", sql=sql, span=place
        )
    if use.window is not None and (use.window.rows is not None or use.window.skip):
        raise UnsupportedSql(
            "a window of the newest rows cannot be read reduced",
            detail="Which rows are the newest is known only when all of them are read.",
            hint="Use a window of time, such as [INTERVAL 1 HOUR].",
            sql=sql,
            span=place,
        )
    return replace(use, reduce=found)


def _resolve_system(node: exp.Table, system: Mapping[str, SystemTable] | None, sql: str, number: int) -> Use:
    table = find_system_table(node.name, system, sql=sql, span=span_of(node))
    if node.meta.get(WINDOW) is not None:
        raise _no_windows(table.name, sql, span_of(node))
    return Use(f"__r{number}", node.alias_or_name, table)


def _no_windows(name: str, sql: str, span: Span | None) -> UnsupportedSql:
    return UnsupportedSql(f'"{name}" has no windows', detail="Only streaming tables have.", sql=sql, span=span)


def _check_resolved(scopes: list[Scope], uses: Mapping[str, Use], catalog: Catalog, sql: str) -> None:
    """Every name in FROM must be a table of the pond or a CTE by now. Another would be looked up by the engine, which knows
    more relations than a pond has: files, for one."""
    # Not by `selected_sources`, which leaves out what stands behind SEMI and ANTI JOIN.
    known = {
        id(node)
        for scope in scopes
        for alias, node in scope.references
        if isinstance(scope.sources.get(alias), Scope) and node.name in scope.cte_sources
    }
    for node in scopes[-1].expression.find_all(exp.Table):
        if node.meta.get(WINDOW) is not None:  # that of a table of the pond is held by its use
            raise _no_windows(node.name, sql, node.meta.get(WINDOW_SPAN) or span_of(node))
        if node.name not in uses and id(node) not in known and isinstance(node.this, exp.Identifier):
            raise UnknownName("table", node.name, catalog.relation_names(), sql=sql, span=span_of(node))


def _resolve(node: exp.Table, catalog: Catalog, sql: str, number: int, allow_sources: bool) -> Use:
    name = node.name
    window = node.meta.get(WINDOW)
    if node.args.get("db") is not None:
        hint = f"Tables of a pond have plain names; those of schema {SCHEMA} describe the pond."
        raise UnknownName("schema", node.db, sql=sql, span=span_of(node), hint=hint)
    table = catalog.relation(name)
    rejected = False
    if table is None and name.lower().endswith(REJECTED_SUFFIX):
        table = catalog.streaming.get(name.lower().removesuffix(REJECTED_SUFFIX))
        rejected = table is not None
    if table is None:
        raise UnknownName("table", name, catalog.relation_names(), sql=sql, span=span_of(node))
    if isinstance(table, Source) and not allow_sources:
        raise UnsupportedSql(
            f'source "{name}" cannot be queried',
            hint=f"Let its rows flow into a streaming table: INSERT INTO <table> SELECT ... FROM {name}.",
            sql=sql,
            span=span_of(node),
        )
    if window is not None:
        if not isinstance(table, StreamingTable) or rejected:
            raise _no_windows(name, sql, span_of(node))
        place = node.meta.get(WINDOW_SPAN) or span_of(node)
        for column in window.columns:
            if column not in table.columns:
                raise UnknownName(
                    "column", column, table.columns.names, where=f' in table "{name}"', sql=sql, span=place
                )
        if window.length is not None:
            try:
                table.unit.count(window.length)
            except SqlError as error:
                raise error.at(sql, place) from None
        if table.history is not None and table.history < FOREVER:
            window = window.kept_for(table.history)
    return Use(f"__r{number}", node.alias_or_name, table, window, rejected)
