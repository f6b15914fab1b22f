"""`PREV(column [, n])`: the value n rows earlier in a window of rows by key.

It becomes a column of the relation behind its use (`Previous`), which whoever provides the relation fills in.
"""

from __future__ import annotations

from dataclasses import replace

from sqlglot import exp
from sqlglot.optimizer.scope import Scope

from millpond.errors import UnknownName, UnsupportedSql, counted
from millpond.query.binding.texts import TextChanges
from millpond.query.binding.uses import Previous, Use, uses_by_alias
from millpond.sql.dialect import span_of


def calls_previous(tree: exp.Expr) -> bool:
    return any(call.name.upper() == "PREV" for call in tree.find_all(exp.Anonymous))


def rewrite_previous(scopes: list[Scope], uses: dict[str, Use], sql: str, changes: TextChanges) -> None:
    for scope in scopes:
        by_alias = uses_by_alias(scope, uses)
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
                    f"PREV goes {counted(back, 'row')} back in a window of {use.window.rows}",
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
            changes.call(node, column.sql("spark", identify=True))
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
