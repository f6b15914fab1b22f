"""Calls of the user's functions: checked against their declaration, and brought into the form that engines know.

Calls of aggregates become aggregates of the tree; table functions become subqueries with the declared column names.
Aggregates that depend on the order of rows, the user's and Spark's, see them in a defined order.
"""

from __future__ import annotations

from collections.abc import Mapping

from sqlglot import exp
from sqlglot.optimizer.scope import Scope

from millpond.catalog import Catalog, Function, StreamingTable
from millpond.errors import SqlError, TypeMismatch, UnsupportedSql, counted
from millpond.query.binding.columns import sqlglot_type
from millpond.query.binding.uses import Use
from millpond.schema import SEQ, DataType
from millpond.sql.dialect import WINDOW, span_of
from millpond.sql.rules.arguments import ROW_ORDER


def name_functions(tree: exp.Expr, catalog: Catalog, sql: str) -> dict[str, Function]:
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
            f'function "{function.name}" takes {counted(count, "argument")}, not {len(given)}',
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
            f"{counted(len(names), 'name is given', 'names are given')} for the "
            f'{counted(len(function.returns), "column")} of "{function.name}"',
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


ORDERED = frozenset(
    {
        exp.AnonymousAggFunc, exp.First, exp.FirstValue, exp.Last, exp.LastValue, exp.AnyValue, exp.ArgMax, exp.ArgMin,
        exp.GroupConcat, exp.ArrayAgg,
    }
)  # fmt: skip
"""Aggregates whose answer depends on the order of rows."""


def order_aggregates(scopes: list[Scope], uses: Mapping[str, Use], functions: Mapping[str, Function]) -> None:
    """Aggregates see rows in the order written in them, then by time and arrival of the streams in FROM."""
    for scope in scopes:
        calls = [call for call in scope.find_all(*ORDERED) if not _in_window(call)]
        keys = _row_order(scope, uses) if calls else []
        for node in calls:
            if not isinstance(node, exp.AnonymousAggFunc):
                node.set(ROW_ORDER, exp.Order(expressions=[key.copy() for key in keys]))
                continue
            if node.name.lower() not in functions:  # one of Spark's that nothing is known of
                continue
            last = node.expressions[-1]
            written = list(last.expressions) if isinstance(last, exp.Order) else []
            given = [*node.expressions[:-1], last.this if isinstance(last, exp.Order) else last]
            order = exp.Order(expressions=[*written, *(key.copy() for key in keys)])
            node.set("expressions", [*given, order])


def _in_window(call: exp.Expr) -> bool:
    """Whether OVER says in which order it sees rows."""
    around = call.parent
    while isinstance(around, (exp.IgnoreNulls, exp.RespectNulls, exp.Filter)):
        around = around.parent
    return isinstance(around, exp.Window) and not isinstance(call, exp.AnonymousAggFunc)


def _row_order(scope: Scope, uses: Mapping[str, Use]) -> list[exp.Ordered]:
    """By time and arrival of the streams. Nothing where rows have no order: they come out of a subquery or of no stream."""
    joins = scope.expression.args.get("joins") or ()
    hidden = {j.alias_or_name for j in joins if (j.kind or "").upper() in ("SEMI", "ANTI")}
    keys = []
    for alias, (_, source) in scope.selected_sources.items():
        use = uses.get(source.name) if isinstance(source, exp.Table) and alias not in hidden else None
        if use is None or use.time_column is None or not isinstance(use.table, StreamingTable):
            continue
        for name in (use.time_column, SEQ):
            column = exp.column(exp.to_identifier(name, quoted=True), table=exp.to_identifier(alias, quoted=True))
            kind = use.columns.find(name, alias).type if name != SEQ else DataType("BIGINT")
            column.type = sqlglot_type(kind)
            keys.append(exp.Ordered(this=column, desc=False, nulls_first=True))
    return keys
