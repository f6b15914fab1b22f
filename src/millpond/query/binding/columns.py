"""Names of columns: each belongs to one relation of its FROM, or is reported with the nearest name; each has its type."""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Iterable, Mapping

from sqlglot import exp
from sqlglot.optimizer.scope import Scope

from millpond.errors import SqlError, UnknownName
from millpond.query.binding.uses import Use
from millpond.query.instant import OWN_INSTANT
from millpond.schema import SEQ, DataType, Schema
from millpond.sql.dialect import span_of
from millpond.sql.rules.terms import leave_to_spark


def settle_where(scope: Scope, uses: Mapping[str, Use], sql: str) -> None:
    """In WHERE a bare name is a column of the FROM, never an output's name, which `qualify` would also accept."""
    where = scope.expression.args.get("where")
    if where is None:
        return
    _check_aliases(scope, where, uses, sql)
    tables = {a: uses[s.name].columns for a, s in scope.sources.items() if isinstance(s, exp.Table) and s.name in uses}
    if len(tables) != len(scope.sources):
        return
    merged = _merged(scope.expression, tables)
    joins = scope.expression.args.get("joins") or ()
    hidden = {join.this.alias_or_name for join in joins if join.kind.upper() in ("SEMI", "ANTI")}
    tables = {alias: columns for alias, columns in tables.items() if alias not in hidden}
    for column in where.find_all(exp.Column):
        if column.table or column.parent_select is not scope.expression:  # a subquery's names are its own
            continue
        if column.name.lower() in merged:
            continue
        found = [alias for alias, columns in tables.items() if column.name in columns]
        if len(found) > 1:
            raise _ambiguous(column, found, sql)
        if found:
            column.set("table", exp.to_identifier(found[0]))


def _check_aliases(scope: Scope, where: exp.Expr, uses: Mapping[str, Use], sql: str) -> None:
    select = scope.expression
    outputs = select.selects if isinstance(select, exp.Select) else []
    aliases = {each.alias.lower() for each in outputs if isinstance(each, exp.Alias)}
    if not aliases:
        return
    around: Scope | None = scope
    names: set[str] = set()
    while around is not None:  # a subquery also sees the columns around it
        for source in around.sources.values():
            found = _names_of(source, uses)
            if found is None:
                return
            names |= found
        around = around.parent
    for column in where.find_all(exp.Column):
        name = column.name.lower()
        if not column.table and name in aliases and name not in names and column.parent_select is select:
            hint = "WHERE comes before the outputs have names: write the expression, or put the query into a subquery."
            raise UnknownName(
                "column", column.name, (), where=" in this FROM", hint=hint, sql=sql, span=span_of(column)
            )


def _names_of(source: exp.Expr | Scope, uses: Mapping[str, Use]) -> set[str] | None:
    """The columns of a relation in lower case, if they are known."""
    if isinstance(source, exp.Table):
        return {name.lower() for name in uses[source.name].names} if source.name in uses else None
    query = source.expression if isinstance(source, Scope) else None
    if not isinstance(query, exp.Query) or any(each.is_star for each in query.selects):
        return None
    return {name.lower() for name in query.named_selects}


def _merged(select: exp.Expr, tables: Mapping[str, Schema]) -> set[str]:
    """The columns that USING and NATURAL make one of two: their bare names are not ambiguous."""
    found: set[str] = set()
    for join in select.args.get("joins") or ():
        found |= {column.name.lower() for column in join.args.get("using") or ()}
        if join.method.upper() == "NATURAL":
            counted = Counter(name.lower() for columns in tables.values() for name in columns.names)
            found |= {name for name, times in counted.items() if times > 1}
    return found


def check_merged(scope: Scope, uses: Mapping[str, Use], sql: str) -> None:
    """A column of USING or NATURAL that a further table has too is ambiguous by its bare name, and `*` shows it twice: sqlglot
    would resolve them otherwise."""
    select = scope.expression
    if not isinstance(select, exp.Select):
        return
    joins = select.args.get("joins") or []
    if not any(join.args.get("using") or join.method.upper() == "NATURAL" for join in joins):
        return
    group = select.args.get("group")
    if group is not None and group.find(exp.Rollup, exp.Cube, exp.GroupingSets) is not None:
        # Spark does not find a merged column there if it is named with its table.
        leave_to_spark(select, "grouping sets over columns of USING are only supported on Spark")
    if len(joins) < 2:
        return
    source = select.args.get("from_")
    visible = _visible(source.this, scope, uses) if source is not None else None
    merged: set[str] = set()
    for join in joins:
        right = _visible(join.this, scope, uses)
        if visible is None or right is None:
            leave_to_spark(select, "USING with relations whose columns are not known here is only supported on Spark")
            return
        once = {column.name.lower() for column in join.args.get("using") or ()}
        if join.method.upper() == "NATURAL":
            once = visible.keys() & right.keys()
        if any(visible[name] != 1 or right[name] != 1 for name in once):
            leave_to_spark(select, "USING of a column that several tables have is only supported on Spark")
        merged |= once
        if join.kind.upper() not in ("SEMI", "ANTI"):
            visible += right
            visible.subtract(once)
    assert visible is not None
    bare = [column for column in select.find_all(exp.Column) if not column.table]
    for column in bare:
        name = column.name.lower()
        here = column.find_ancestor(exp.Select) is select and not isinstance(column.parent, exp.Join)
        if here and name in merged and visible[name] > 1:
            having = [alias for alias in scope.sources if (_of(alias, scope, uses) or Counter())[name]]
            raise _ambiguous(column, having, sql)
    named = {column.name.lower() for column in bare}
    seen = merged if any(item.is_star for item in select.selects) else merged & named
    if any(visible[name] > 1 for name in seen):
        leave_to_spark(select, "a column of USING that a further table has is only supported on Spark")


def _visible(relation: exp.Expr, scope: Scope, uses: Mapping[str, Use]) -> Counter[str] | None:
    """How often each name, in lower case, is among the columns of a relation, if they are known."""
    return _of(relation.alias_or_name, scope, uses)


def _of(alias: str, scope: Scope, uses: Mapping[str, Use]) -> Counter[str] | None:
    source = scope.sources.get(alias)
    names = _names_of(source, uses) if source is not None else None
    return None if names is None else Counter(names)


def check_columns(scopes: list[Scope], uses: Mapping[str, Use], aliases: set[str], sql: str) -> None:
    """Every column must have been found; a missing one is reported with the nearest name."""
    for scope in scopes:
        names: dict[str, list[str]] = {}
        for alias, source in scope.sources.items():
            if isinstance(source, Scope):
                outputs = source.expression.named_selects if isinstance(source.expression, exp.Query) else []
                names[alias] = list(outputs)
            elif source.name in uses:
                use = uses[source.name]
                names[alias] = [
                    *use.names,
                    *(p.name for p in use.previous),
                    *([OWN_INSTANT] if use.own_instant else []),
                ]
        if isinstance(scope.expression, exp.SetOperation):  # its ORDER BY names outputs
            names[""] = list(scope.expression.named_selects)
        for column in scope.columns:
            if isinstance(column.this, exp.Star):
                continue
            known = names.get(column.table)
            if column.table and known is None:
                if column.table in scope.sources or scope.parent is not None:
                    continue
                if isinstance(scope.expression, exp.SetOperation):  # Spark knows the first side's tables, now and then
                    hint = "Order by the name of an output."
                    message = f'table "{column.table}" is not known behind {scope.expression.key.upper()}'
                    raise SqlError(message, hint=hint, sql=sql, span=span_of(column))
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


def _ambiguous(column: exp.Column, tables: Iterable[str], sql: str) -> SqlError:
    return SqlError(
        f'column "{column.name}" is ambiguous',
        detail=f"It is in {', '.join(sorted(tables))}.",
        hint=f"Write <table>.{column.name}.",
        sql=sql,
        span=span_of(column),
    )


def _where(names: Mapping[str, list[str]], table: str, uses: Mapping[str, Use], scope: Scope) -> tuple[str, list[str]]:
    if table:
        return f' in "{table}"', [n for n in names[table] if n != SEQ]
    if len(names) == 1:
        alias = next(iter(names))
        source = scope.sources.get(alias)
        if source is None:  # outputs of a UNION and its like
            return "", names[alias]
        real = uses[source.name].table.name if isinstance(source, exp.Table) and source.name in uses else alias
        return f' in table "{real}"', [n for n in names[alias] if n != SEQ]
    return "", [n for ns in names.values() for n in ns if n != SEQ]


def type_columns(scopes: list[Scope], uses: Mapping[str, Use]) -> None:
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
                if name == OWN_INSTANT and column.type is not None:  # it has its type
                    continue
                column.type = sqlglot_type(kind)


@functools.lru_cache(maxsize=256)
def sqlglot_type(kind: DataType) -> exp.DataType:
    return exp.DataType.build(str(kind), dialect="spark")
