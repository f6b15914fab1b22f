"""Names to meaning: a SELECT as written becomes a tree in which every table and column is known.

Each use of a streaming or standard table gets a relation name of its own (`__r0`, `__r1`, ...) and a `Use` that says which
table, through which window. Engines then only have to provide those relations. All errors about names are raised here,
with the place in the SQL.

A window shows the explicit columns: `*` over it leaves out the time column, which can still be named. `PREV(c)` becomes a
column of the relation behind its use, and `NOW()` over a window a placeholder for the instant (`instant`).
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from sqlglot import exp
from sqlglot.errors import OptimizeError, SqlglotError
from sqlglot.optimizer.qualify import qualify
from sqlglot.optimizer.scope import Scope, traverse_scope
from sqlglot.schema import MappingSchema

from millpond.catalog import (
    REJECTED_COLUMNS,
    REJECTED_SUFFIX,
    Catalog,
    Function,
    Source,
    StandardTable,
    StreamingTable,
)
from millpond.errors import SqlError, TypeMismatch, UnknownName, UnsupportedSql
from millpond.query.allowed import check_allowed
from millpond.query.approximate import rewrite_approximate
from millpond.query.exact import make_exact
from millpond.query.instant import placeholder
from millpond.query.system import SCHEMA, SystemTable, find_system_table
from millpond.schema import SEQ, DataType, Schema
from millpond.sql.dialect import WINDOW, WINDOW_SPAN, Millpond, span_of
from millpond.sql.naming import name_outputs, spell_outputs
from millpond.sql.sizes import check_growth
from millpond.sql.statements import Window


@dataclass(frozen=True)
class Previous:
    """`PREV(column, back)`: a column of its own in the relation behind a use."""

    column: str
    back: int

    @property
    def name(self) -> str:
        return f"__prev_{self.back}_{self.column}"

    @classmethod
    def of(cls, name: str) -> Previous | None:
        """What a column's name stands for, if it is such a column."""
        if not name.startswith("__prev_"):
            return None
        back, _, column = name.removeprefix("__prev_").partition("_")
        return cls(column, int(back))


@dataclass(frozen=True)
class Use:
    """One use of a table in a query. `rejected`: the rejected rows of a streaming table are meant."""

    name: str
    alias: str
    table: StreamingTable | StandardTable | Source | SystemTable
    window: Window | None = None
    rejected: bool = False
    previous: tuple[Previous, ...] = ()

    @property
    def columns(self) -> Schema:
        return REJECTED_COLUMNS if self.rejected else self.table.columns

    @property
    def names(self) -> list[str]:
        """The columns that can be named: those of the table, and the row number where rows have one."""
        hidden = () if isinstance(self.table, SystemTable) else (SEQ,)
        return [*self.columns.names, *hidden]

    @property
    def time_column(self) -> str | None:
        if self.rejected:
            return "arrival"
        return self.table.time_column if isinstance(self.table, StreamingTable) else None


@dataclass(frozen=True)
class Bound:
    """A query whose names are resolved. `names` are the output columns as the user wrote them, `functions` the user's
    functions it calls, by lower-case name. `written` is a query with correlated aggregates or norms before these were made
    exact."""

    tree: exp.Query
    uses: Mapping[str, Use]
    names: tuple[str, ...]
    scopes: list[Scope] = field(default_factory=list, compare=False)
    functions: Mapping[str, Function] = field(default_factory=dict)
    written: exp.Query | None = field(default=None, compare=False)


def bind(
    query: exp.Expr,
    catalog: Catalog,
    sql: str,
    *,
    allow_sources: bool = False,
    system: Mapping[str, SystemTable] | None = None,
) -> Bound:
    """Resolve a query. `sql` is the text it came from, for errors. `system` are the system tables it may read, by name
    without schema; None for a query that may not read any."""
    tree = query.copy()
    if not isinstance(tree, exp.Query):
        raise UnsupportedSql("this is not a query", sql=sql, span=span_of(query))
    try:
        check_allowed(tree, catalog, sql)
        check_growth(tree)
        functions = _name_functions(tree, catalog, sql)
        scopes = traverse_scope(tree)
        uses = _name_relations(scopes, catalog, sql, allow_sources, system)
        for scope in scopes:
            _rewrite_periods(scope, uses, sql)
            _expand_window_stars(scope, uses)
            _settle_where(scope, uses, sql)
        aliases = {a.alias.lower() for a in tree.find_all(exp.Alias)}
        name_outputs(tree)
        rewrite_approximate(tree, functions, sql)
        known: dict[str, object] = {u.name: dict.fromkeys(u.names, "INT") for u in uses.values()}
        tree = qualify(
            tree,
            dialect=Millpond,
            # Only names matter here, and they are in lower case already; types are put on the columns below.
            schema=MappingSchema(known, dialect=Millpond, normalize=False),
            validate_qualify_columns=False,
            quote_identifiers=True,
            expand_alias_refs=True,
            allow_partial_qualification=True,  # what is missing is reported by us, with the nearest name
        )
        scopes = _with_row_numbers(tree)
        _rewrite_previous(scopes, uses, sql)
        _rewrite_now(scopes, uses)
        _order_aggregates(scopes, uses)
        _check_columns(scopes, uses, aliases, sql)
        _type_columns(scopes, uses)
        spell_outputs(tree, {u.name: u.columns.names for u in uses.values()})
        assert isinstance(tree, exp.Query)
        written = make_exact(tree, functions, sql)
        scopes = scopes if written is None else traverse_scope(tree)
    except SqlError as error:
        raise error.at(sql, None) from error.__cause__
    except (OptimizeError, SqlglotError) as error:
        raise SqlError(str(error).splitlines()[0], sql=sql, span=span_of(query)) from error
    return Bound(tree, uses, tuple(tree.named_selects), scopes, functions, written)


# -- tables -----------------------------------------------------------------------------------------------------------


def _name_relations(
    scopes: list[Scope],
    catalog: Catalog,
    sql: str,
    allow_sources: bool,
    system: Mapping[str, SystemTable] | None,
) -> dict[str, Use]:
    uses: dict[str, Use] = {}
    seen: set[int] = set()
    for scope in scopes:
        for source in scope.sources.values():
            if not isinstance(source, exp.Table) or id(source) in seen or not isinstance(source.this, exp.Identifier):
                continue
            seen.add(id(source))
            if source.db.lower() == SCHEMA and not source.catalog:
                use = _resolve_system(source, system, sql, len(uses))
            else:
                use = _resolve(source, catalog, sql, len(uses), allow_sources)
            uses[use.name] = use
            if not source.alias:
                source.set("alias", exp.TableAlias(this=exp.to_identifier(source.name)))
            # The use holds the window from here on; engines know nothing of it.
            source.meta.pop(WINDOW, None)
            source.set("db", None)
            source.set("catalog", None)
            source.set("this", exp.to_identifier(use.name))
        for column in scope.find_all(exp.Column):  # `millpond.queries.name`: the relation is known by its alias now
            if column.db.lower() == SCHEMA and not column.catalog:
                column.set("db", None)
    _check_resolved(scopes, uses, catalog, sql)
    return uses


def _resolve_system(node: exp.Table, system: Mapping[str, SystemTable] | None, sql: str, number: int) -> Use:
    table = find_system_table(node.name, system, sql=sql, span=span_of(node))
    if node.meta.get(WINDOW) is not None:
        raise UnsupportedSql(
            f'"{table.name}" has no windows', detail="Only streaming tables have.", sql=sql, span=span_of(node)
        )
    return Use(f"__r{number}", node.alias_or_name, table)


def _check_resolved(scopes: list[Scope], uses: Mapping[str, Use], catalog: Catalog, sql: str) -> None:
    """Every name in FROM must be a table of the pond or a CTE by now. Another would be looked up by the engine, which knows
    more relations than a pond has: files, for one."""
    known = {
        id(node) for scope in scopes for node, source in scope.selected_sources.values() if isinstance(source, Scope)
    }
    for node in scopes[-1].expression.find_all(exp.Table):
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
            raise UnsupportedSql(
                f'"{name}" has no windows', detail="Only streaming tables have.", sql=sql, span=span_of(node)
            )
        place = node.meta.get(WINDOW_SPAN) or span_of(node)
        for column in window.columns:
            if column not in table.columns:
                raise UnknownName(
                    "column", column, table.columns.names, where=f' in table "{name}"', sql=sql, span=place
                )
        if window.length is not None:
            try:
                table.unit.ticks(window.length)
            except SqlError as error:
                raise error.at(sql, place) from None
    return Use(f"__r{number}", node.alias_or_name, table, window, rejected)


def _uses_by_alias(scope: Scope, uses: Mapping[str, Use]) -> dict[str, Use]:
    found = {}
    for alias, source in scope.sources.items():
        if isinstance(source, exp.Table) and source.name in uses:
            found[alias.lower()] = uses[source.name]
    return found


# -- the user's functions -----------------------------------------------------------------------------------------------


def _name_functions(tree: exp.Expr, catalog: Catalog, sql: str) -> dict[str, Function]:
    """The user's functions that a query calls. Calls of aggregates become aggregates, those in FROM subqueries."""
    found: dict[str, Function] = {}
    if not catalog.functions:
        return found
    for node in list(tree.find_all(exp.Anonymous)):
        function = catalog.functions.get(node.name.lower())
        if function is None:
            continue
        found[function.name] = function
        table = node.parent if isinstance(node.parent, exp.Table) else None
        if (table is not None) != (function.kind == "table"):
            places = {"table": "stands in FROM", "aggregate": "is an aggregate, not a table", "scalar": "gives a value"}
            raise UnsupportedSql(f'function "{function.name}" {places[function.kind]}', sql=sql, span=span_of(node))
        _check_arguments(function, node, sql)
        if table is not None:
            _expand_table_function(function, node, table, sql)
        elif function.kind == "aggregate":
            call = exp.AnonymousAggFunc(this=node.this, expressions=node.expressions)
            call.meta.update(node.meta)
            node.replace(call)
    return found


def _check_arguments(function: Function, node: exp.Anonymous, sql: str) -> None:
    given = node.expressions
    if any(isinstance(each, (exp.Kwarg, exp.Distinct, exp.Star, exp.Lambda)) for each in given):
        raise UnsupportedSql(f'function "{function.name}" takes values, by their place', sql=sql, span=span_of(node))
    if any(isinstance(each, exp.Order) for each in given) and function.kind != "aggregate":
        raise UnsupportedSql(f'function "{function.name}" has no order', sql=sql, span=span_of(node))
    if len(given) != len(function.arguments):
        declared = ", ".join(f"{a.name} {a.type}" for a in function.arguments)
        count = len(function.arguments)
        raise TypeMismatch(
            f'function "{function.name}" takes {count} argument{"" if count == 1 else "s"}, not {len(given)}',
            detail=f"It is {function.name}({declared}).",
            sql=sql,
            span=span_of(node),
        )


def _expand_table_function(function: Function, node: exp.Anonymous, table: exp.Table, sql: str) -> None:
    """`near(1, 2) AS n` becomes `(SELECT f.vid AS vid, ... FROM near(1, 2) AS f) AS n`."""
    if table.meta.get(WINDOW) is not None:
        raise UnsupportedSql(f'"{function.name}" has no windows', detail="Only streaming tables have.", sql=sql,
                             span=span_of(node))  # fmt: skip
    if any(value for key, value in table.args.items() if key not in ("this", "alias")) or node.find(
        exp.Column, exp.Query
    ):
        raise UnsupportedSql(
            f'function "{function.name}" takes constants',
            detail="In FROM its arguments are computed before any row is read.",
            sql=sql,
            span=span_of(node),
        )
    alias = table.args.get("alias")
    names = [c.name for c in (alias.args.get("columns") or ())] if alias is not None else []
    if names and len(names) != len(function.returns):
        raise SqlError(
            f'{len(names)} names are given for the {len(function.returns)} columns of "{function.name}"',
            sql=sql,
            span=span_of(node),
        )
    outer = table.alias or function.name
    columns = [
        exp.alias_(exp.column(column.name, table="__f", quoted=True), name, quoted=True)
        for column, name in zip(function.returns, names or function.returns.names, strict=True)
    ]
    rows = exp.Table(this=node.copy(), alias=exp.TableAlias(this=exp.to_identifier("__f", quoted=True)))
    inner = exp.Select(expressions=columns).from_(rows, copy=False)
    table.replace(exp.Subquery(this=inner, alias=exp.TableAlias(this=exp.to_identifier(outer))))


def _order_aggregates(scopes: list[Scope], uses: Mapping[str, Use]) -> None:
    """A user's aggregate sees its values in the order written in it, then by time and arrival of the streams in FROM."""
    for scope in scopes:
        joins = scope.expression.args.get("joins") or ()
        hidden = {j.alias_or_name for j in joins if (j.kind or "").upper() in ("SEMI", "ANTI")}
        for node in list(scope.find_all(exp.AnonymousAggFunc)):
            last = node.expressions[-1]
            keys = list(last.expressions) if isinstance(last, exp.Order) else []
            given = [*node.expressions[:-1], last.this if isinstance(last, exp.Order) else last]
            for alias, (_, source) in scope.selected_sources.items():
                use = uses.get(source.name) if isinstance(source, exp.Table) and alias not in hidden else None
                if use is None or use.time_column is None or not isinstance(use.table, StreamingTable):
                    continue
                for name in (use.time_column, SEQ):
                    column = exp.column(
                        exp.to_identifier(name, quoted=True), table=exp.to_identifier(alias, quoted=True)
                    )
                    kind = use.columns.find(name, alias).type if name != SEQ else DataType("BIGINT")
                    column.type = _sqlglot_type(kind)
                    keys.append(exp.Ordered(this=column, desc=False, nulls_first=True))
            node.set("expressions", [*given, exp.Order(expressions=keys)])


# -- VALID(s) OVERLAPS PERIOD(a, b) -----------------------------------------------------------------------------------


def _rewrite_periods(scope: Scope, uses: Mapping[str, Use], sql: str) -> None:
    """A row is valid at its time; it overlaps the half-open period [a, b) if a <= time < b, as in SQL:2011."""
    by_alias = _uses_by_alias(scope, uses)
    for node in list(scope.find_all(exp.Overlaps)):
        valid, period = node.this, node.expression
        if not (_is_call(valid, "VALID", 1) and _is_call(period, "PERIOD", 2)):
            raise UnsupportedSql(
                "OVERLAPS is written VALID(<table>) OVERLAPS PERIOD(<from>, <to>)", sql=sql, span=span_of(node)
            )
        name = valid.expressions[0].name
        use = by_alias.get(name.lower())
        if use is None:
            place = span_of(valid.expressions[0]) or span_of(valid)
            raise UnknownName("table", name, by_alias, where=" in this FROM", sql=sql, span=place)
        if use.time_column is None:
            raise UnsupportedSql(f'"{name}" has no time column', sql=sql, span=span_of(valid))
        column = exp.column(use.time_column, table=name)
        low, high = period.expressions
        if use.columns.find(use.time_column, name).type.name == "TIMESTAMP":
            low, high = (exp.cast(e, "timestamp") if e.is_string else e for e in (low, high))
        node.replace(
            exp.paren(exp.and_(exp.GTE(this=column, expression=low), exp.LT(this=column.copy(), expression=high)))
        )


def _is_call(node: exp.Expr, name: str, arguments: int) -> bool:
    return isinstance(node, exp.Anonymous) and node.name.upper() == name and len(node.expressions) == arguments


# -- PREV(column [, n]) and NOW() ---------------------------------------------------------------------------------------


def _rewrite_previous(scopes: list[Scope], uses: dict[str, Use], sql: str) -> None:
    for scope in scopes:
        by_alias = _uses_by_alias(scope, uses)
        for node in list(scope.find_all(exp.Anonymous)):
            if node.name.upper() != "PREV":
                continue
            place = span_of(node)
            column, back = _previous_arguments(node, sql)
            use = by_alias.get(column.table.lower())
            if use is None and not column.table and by_alias:  # no table of this FROM has it
                names = [n for u in by_alias.values() for n in u.columns.names]
                where = f' in table "{next(iter(by_alias.values())).table.name}"' if len(by_alias) == 1 else ""
                raise UnknownName("column", column.name, names, where=where, sql=sql, span=span_of(column))
            if use is None or use.window is None or use.window.rows is None or not use.window.columns:
                raise UnsupportedSql(
                    "PREV needs a partitioned window",
                    hint="Write a window such as [vid ROWS 2] behind the table's name.",
                    sql=sql,
                    span=place,
                )
            if column.name not in use.columns:
                where = f' in table "{use.table.name}"'
                raise UnknownName("column", column.name, use.columns.names, where=where, sql=sql, span=place)
            if back >= use.window.rows:
                raise UnsupportedSql(
                    f"PREV goes {back} rows back in a window of {use.window.rows}",
                    hint=f"Make the window at least {back + 1} rows long.",
                    sql=sql,
                    span=place,
                )
            found = Previous(use.columns.find(column.name, use.table.name).name, back)
            if found not in use.previous:
                use = replace(use, previous=(*use.previous, found))
                uses[use.name] = use
                by_alias[column.table.lower()] = use
            column.set("this", exp.to_identifier(found.name, quoted=True))
            node.replace(column)


def _previous_arguments(node: exp.Anonymous, sql: str) -> tuple[exp.Column, int]:
    given = node.expressions
    column = given[0] if given else None
    back = given[1] if len(given) > 1 else exp.Literal.number(1)
    whole = isinstance(back, exp.Literal) and not back.is_string and back.name.isdecimal() and int(back.name) > 0
    if not isinstance(column, exp.Column) or len(given) > 2 or not whole:
        raise UnsupportedSql(
            "PREV is written PREV(<column>) or PREV(<column>, <rows back>)", sql=sql, span=span_of(node)
        )
    return column, int(back.name)


def _rewrite_now(scopes: list[Scope], uses: Mapping[str, Use]) -> None:
    """Over a window NOW() is the instant the query is evaluated at. Time is data there; the wall clock plays no part."""
    windowed = [u for u in uses.values() if u.window is not None]
    if not windowed:
        return
    table = windowed[0].table
    assert isinstance(table, StreamingTable)
    whole = table.columns.find(table.time_column, table.name).type.is_integer
    for scope in scopes:
        for node in list(scope.find_all(exp.CurrentTimestamp, exp.Anonymous)):
            if isinstance(node, exp.Anonymous) and not _is_call(node, "NOW", 0):
                continue
            node.replace(placeholder(whole))


# -- stars and names --------------------------------------------------------------------------------------------------


def _expand_window_stars(scope: Scope, uses: Mapping[str, Use]) -> None:
    select = scope.expression
    by_alias = _uses_by_alias(scope, uses)
    windowed = {a: u for a, u in by_alias.items() if u.window is not None}
    if not windowed or not isinstance(select, exp.Select):
        return
    if any(j.args.get("using") or j.args.get("method") for j in select.args.get("joins") or ()):
        return
    expressions: list[exp.Expr] = []
    for item in select.expressions:
        if isinstance(item, exp.Star) and not item.args.get("except_") and not item.args.get("except"):
            for alias in scope.sources:
                expressions += _star(alias, windowed.get(alias.lower()))
        elif isinstance(item, exp.Column) and isinstance(item.this, exp.Star):
            expressions += _star(item.table, windowed.get(item.table.lower()))
        else:
            expressions.append(item)
    select.set("expressions", expressions)


def _star(alias: str, use: Use | None) -> list[exp.Expr]:
    if use is None:
        return [exp.Column(this=exp.Star(), table=exp.to_identifier(alias))]
    assert isinstance(use.table, StreamingTable)
    return [exp.column(c.name, table=alias) for c in use.table.explicit]


def _with_row_numbers(tree: exp.Expr) -> list[Scope]:
    """The scopes of a qualified tree. `qualify` keeps `_seq` out of `*` and leaves it alone where it is named: it becomes
    a column like others again."""
    for scope in traverse_scope(tree):
        for node in list(scope.find_all(exp.Pseudocolumn)):
            table = node.args.get("table")
            if table is None and len(scope.sources) == 1:
                table = exp.to_identifier(next(iter(scope.sources)), quoted=True)
            node.replace(exp.Column(this=node.this, table=table))
    return traverse_scope(tree)


# -- columns ----------------------------------------------------------------------------------------------------------


def _settle_where(scope: Scope, uses: Mapping[str, Use], sql: str) -> None:
    """In WHERE a bare name is a column of the FROM, never an output's name, which `qualify` would also accept."""
    where = scope.expression.args.get("where")
    tables = {a: uses[s.name].columns for a, s in scope.sources.items() if isinstance(s, exp.Table) and s.name in uses}
    if where is None or len(tables) != len(scope.sources):
        return
    for column in where.find_all(exp.Column):
        if column.table or column.parent_select is not scope.expression:  # a subquery's names are its own
            continue
        found = [alias for alias, columns in tables.items() if column.name in columns]
        if len(found) > 1:
            raise _ambiguous(column, found, sql)
        if found:
            column.set("table", exp.to_identifier(found[0]))


def _ambiguous(column: exp.Column, tables: Iterable[str], sql: str) -> SqlError:
    return SqlError(
        f'column "{column.name}" is ambiguous',
        detail=f"It is in {', '.join(sorted(tables))}.",
        hint=f"Write <table>.{column.name}.",
        sql=sql,
        span=span_of(column),
    )


def _check_columns(scopes: list[Scope], uses: Mapping[str, Use], aliases: set[str], sql: str) -> None:
    """Every column must have been found; a missing one is reported with the nearest name."""
    for scope in scopes:
        names: dict[str, list[str]] = {}
        for alias, source in scope.sources.items():
            if isinstance(source, Scope):
                outputs = source.expression.named_selects if isinstance(source.expression, exp.Query) else []
                names[alias] = list(outputs)
            elif source.name in uses:
                use = uses[source.name]
                names[alias] = [*use.names, *(p.name for p in use.previous)]
        if isinstance(scope.expression, exp.SetOperation):  # its ORDER BY names outputs
            names[""] = list(scope.expression.named_selects)
        for column in scope.columns:
            if isinstance(column.this, exp.Star):
                continue
            known = names.get(column.table)
            if column.table and known is None:
                if column.table in scope.sources or scope.parent is not None:
                    continue
                raise UnknownName("table", column.table, names, where=" in this FROM", sql=sql, span=span_of(column))
            if not column.table and scope.is_root is False and scope.parent is not None and not names:
                continue
            if not column.table and known is not None and column.name.lower() in {n.lower() for n in known}:
                continue
            if not column.table or (known is not None and column.name.lower() not in {n.lower() for n in known}):
                if any(not n for n in names.values()) or (not column.table and column.name.lower() in aliases):
                    continue
                where, candidates = _where(names, column.table, uses, scope)
                if (
                    not column.table
                    and sum(column.name.lower() in {n.lower() for n in ns} for ns in names.values()) > 1
                ):
                    raise _ambiguous(column, names, sql)
                raise UnknownName("column", column.name, candidates, where=where, sql=sql, span=span_of(column))


@functools.lru_cache(maxsize=256)
def _sqlglot_type(kind: DataType) -> exp.DataType:
    return exp.DataType.build(str(kind), dialect="spark")


def _type_columns(scopes: list[Scope], uses: Mapping[str, Use]) -> None:
    """Put types on the columns of tables; the translation works out all others (annotating whole trees costs more)."""
    for scope in scopes:
        for column in scope.columns:
            around: Scope | None = scope
            while around is not None and column.table not in around.sources:
                around = around.parent
            source = around.sources[column.table] if around is not None else None
            if isinstance(source, exp.Table) and source.name in uses:
                columns = uses[source.name].columns
                before = {p.name: p.column for p in uses[source.name].previous}
                name = before.get(column.name, column.name)
                kind = columns.find(name, column.table).type if name in columns else DataType("BIGINT")
                column.type = _sqlglot_type(kind)


def _where(names: Mapping[str, list[str]], table: str, uses: Mapping[str, Use], scope: Scope) -> tuple[str, list[str]]:
    if table:
        return f' in "{table}"', [n for n in names[table] if n != SEQ]
    if len(names) == 1:
        alias = next(iter(names))
        source = scope.sources[alias]
        real = uses[source.name].table.name if isinstance(source, exp.Table) and source.name in uses else alias
        return f' in table "{real}"', [n for n in names[alias] if n != SEQ]
    return "", [n for ns in names.values() for n in ns if n != SEQ]
