"""Forms of a query that are brought into others before names are resolved; Spark is given them as they were written.

VALUES (1), (2)             SELECT * FROM VALUES (1), (2)
FROM VALUES (1)             FROM VALUES (1) AS "values 1"(col1)
FROM t, t                   FROM t, t AS "t (2)"
FROM range(3)               FROM (SELECT __range(0, 3, 1) AS id) AS range
FROM (t) AS a               FROM t AS a
FROM t AS a(p, q)           FROM (SELECT a.k AS p, a.x AS q FROM t AS a) AS a
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from sqlglot import exp

from millpond.errors import SqlSyntaxError, counted
from millpond.query.binding.texts import MADE_UP_ALIAS, TextChanges
from millpond.query.binding.uses import Use
from millpond.sql.dialect import rows_as_query, span_of
from millpond.sql.query_text import QUERY_TEXT
from millpond.sql.rules.queries import RANGE
from millpond.sql.rules.terms import leave_to_spark


def as_query(tree: exp.Expr) -> exp.Expr:
    """A list of rows as a query."""
    if not isinstance(tree, exp.Values):
        return tree
    query = rows_as_query(tree)
    query.meta[QUERY_TEXT] = tree.meta_get(QUERY_TEXT)
    return query


def name_sources(tree: exp.Expr) -> None:
    """Give each relation of a FROM a name of its own, in place."""
    for number, values in enumerate(list(tree.find_all(exp.Values)), 1):
        if not values.alias and isinstance(values.parent, (exp.From, exp.Join)):
            values.set("alias", exp.TableAlias(this=exp.to_identifier(f"values {number}", quoted=True)))
    for table in list(tree.find_all(exp.Table)):
        if isinstance(table.this, exp.Func) and not isinstance(table.parent, exp.Lateral):
            _expand_range(table)
    for subquery in list(tree.find_all(exp.Subquery)):
        _unwrap(subquery)
    for select in tree.find_all(exp.Select):
        _tell_apart(select)


def _unwrap(subquery: exp.Subquery) -> None:
    """`(t) AS a` is `t AS a`."""
    table = subquery.this
    plain = {key for key, value in subquery.args.items() if value} == {"this", "alias"}
    if not plain or not isinstance(table, exp.Table) or table.args.get("joins") or table.args.get("pivots"):
        return
    if isinstance(subquery.parent, (exp.From, exp.Join)):
        table.set("alias", subquery.args["alias"])
        subquery.replace(table)


def _tell_apart(select: exp.Select) -> None:
    source = select.args.get("from_")
    joins = select.args.get("joins") or ()
    found = [source.this, *(join.this for join in joins)] if source is not None else []
    seen: Counter[str] = Counter()
    for relation in found:
        name = relation.alias_or_name.lower()
        seen[name] += bool(name)
        if seen[name] < 2:
            continue
        if any(column.table.lower() == name for column in select.find_all(exp.Column)):
            leave_to_spark(select, f'two tables called "{name}" are only supported on Spark')
        identifier = exp.to_identifier(f"{relation.alias_or_name} ({seen[name]})", quoted=True)
        columns = relation.args["alias"].args.get("columns") if relation.args.get("alias") else None
        if not relation.alias:
            relation.meta[MADE_UP_ALIAS] = True
        relation.set("alias", exp.TableAlias(this=identifier, columns=columns))


def _expand_range(table: exp.Table) -> None:
    call = table.this
    given = [each.copy() for each in call.expressions]
    if call.name.lower() != "range" or not 1 <= len(given) <= 3 or not all(map(_is_whole, given)):
        return
    given = given if len(given) > 1 else [exp.Literal.number(0), *given]
    given = given if len(given) > 2 else [*given, exp.Literal.number(1)]
    alias = table.args.get("alias")
    names = alias.args.get("columns") if alias is not None else None
    if names and len(names) != 1:
        return
    column = names[0].copy() if names else exp.to_identifier("id")
    rows = exp.Select(expressions=[exp.alias_(exp.Anonymous(this=RANGE, expressions=given), column)])
    name = alias.this.copy() if alias is not None and alias.this is not None else exp.to_identifier("range")
    table.replace(exp.Subquery(this=rows, alias=exp.TableAlias(this=name)))


def _is_whole(node: exp.Expr) -> bool:
    number = node.this if isinstance(node, exp.Neg) else node
    return isinstance(number, exp.Literal) and not number.is_string and number.name.isdigit()


def rename_columns(tree: exp.Expr, uses: Mapping[str, Use], changes: TextChanges, sql: str) -> bool:
    """Put a query in the place of each table whose alias names its columns. Says whether there was one.

    Over a window the alias names the columns that `*` shows there, or all of them.
    """
    found = [table for table in tree.find_all(exp.Table) if table.name in uses and _names(table)]
    for table in found:
        names, use = _names(table), uses[table.name]
        own = use.columns.names
        if len(names) != len(own):
            own = use.shown.names
            if use.shown != use.columns and not use.bare:
                changes.narrow(use.name, own)
        if len(names) != len(own):
            raise SqlSyntaxError(
                f'table "{use.table.name}" has {counted(len(own), "column")}, and its alias names {len(names)}',
                sql=sql,
                span=span_of(table.args["alias"]),
            )
        alias = table.args["alias"].this
        place = table.copy()
        place.set("alias", exp.TableAlias(this=alias.copy()))
        columns: list[exp.Expr] = [
            exp.alias_(exp.column(exp.to_identifier(column, quoted=True), table=alias.copy()), name.copy())
            for column, name in zip(own, names, strict=True)
        ]
        inner = exp.Select(expressions=columns, from_=exp.From(this=place))
        table.replace(exp.Subquery(this=inner, alias=exp.TableAlias(this=alias.copy())))
    return bool(found)


def _names(table: exp.Table) -> list[exp.Identifier]:
    alias = table.args.get("alias")
    return list(alias.args.get("columns") or ()) if alias is not None else []
