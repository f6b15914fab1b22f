"""CREATE and DROP of user-defined functions, and what a function may ask of the pond.

A function that can be found again as 'module:name' is a definition like any other: durable, and seen by every reader of
the pond. Any other callable belongs to this process, which need not own the pond for it.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from sqlglot import exp

from millpond.catalog import Catalog, Function
from millpond.errors import CatalogError, UnknownName, UnsupportedSql
from millpond.query.allowed import OWN
from millpond.query.functions import Reader, check, find, place_of, wants_reader
from millpond.result import Result
from millpond.schema import Column, DataType, Schema
from millpond.sql import statements as st
from millpond.sql.define import folded
from millpond.sql.dialect import DIALECT, read_tree, tokenize
from millpond.sql.parser import parse
from millpond.sql.rules import FUNCTIONS
from millpond.sql.spark_functions import BUILT_IN
from millpond.statements.ask import ask, plan_query
from millpond.statements.privilege import require

if TYPE_CHECKING:
    from millpond.workspace.workspace import Workspace

KINDS = ("scalar", "aggregate", "table")
_numbers = itertools.count(1)


def create(workspace: Workspace, statement: st.CreateFunction) -> Result:
    function = Function(
        statement.name.lower(),
        statement.kind,
        _lowered(statement.arguments),
        folded(statement.returns),
        statement.python,
        statement.nulls,
    )
    return _create(workspace, function, find(statement.python, function.name), if_not_exists=statement.if_not_exists)


def create_from_python(
    workspace: Workspace,
    name: str,
    body: Callable[..., Any] | str,
    arguments: Sequence[str | tuple[str, str]],
    returns: str | Sequence[tuple[str, str]],
    kind: str,
    *,
    nulls: bool,
    if_not_exists: bool,
) -> Result:
    """The Python twin of CREATE FUNCTION."""
    if kind not in KINDS:
        raise UnknownName("kind of function", kind, KINDS)
    if isinstance(returns, str) == (kind == "table"):
        wanted = "a list of columns, [(name, type), ...]" if kind == "table" else "a type"
        raise CatalogError(f'function "{name}" is a {kind} function: returns must be {wanted}')
    if isinstance(body, str):
        require(workspace.config, "a function in Python")
        place: str | None = body
        body = find(body, name)
    else:
        if not callable(body):
            raise CatalogError(f'function "{name}" is a {type(body).__name__}, which cannot be called')
        place = place_of(body)
    declared = [(f"x{i}", a) if isinstance(a, str) else a for i, a in enumerate(arguments, 1)]
    columns = [("result", returns)] if isinstance(returns, str) else list(returns)
    function = Function(
        name.lower(),
        kind,
        _lowered([Column(n, DataType.parse(t)) for n, t in declared]),
        folded(Schema.of(columns).columns),
        place,
        nulls,
        body=None if place else body,
    )
    return _create(workspace, function, body, if_not_exists=if_not_exists)


def _lowered(columns: Sequence[Column]) -> Schema:
    return Schema(tuple(Column(c.name.lower(), c.type) for c in columns))


def _create(workspace: Workspace, function: Function, body: Callable[..., Any], *, if_not_exists: bool) -> Result:
    durable = function.python is not None
    if durable:
        workspace.own()
    with workspace.work:
        name = function.name
        if name in workspace.catalog.functions:
            if if_not_exists:
                return Result(message=f'function "{name}" exists already')
            raise CatalogError(f'function "{name}" exists already', hint="Drop it first, or use IF NOT EXISTS.")
        _check_free(name, len(function.arguments))
        check(function, body)
        made = workspace.catalog.version + 1 if durable else next(_numbers)
        catalog = workspace.catalog.with_function(replace(function, reads=wants_reader(body), made=made))
        if durable:
            workspace.change_catalog(catalog)
        else:
            workspace.catalog = catalog
    until = "" if durable else ", for this process only: it cannot be found as module:name"
    return Result(message=f'{_kind(function)} "{name}" created{until}')


def _check_free(name: str, arguments: int) -> None:
    """A name must not mean something in Spark's SQL: a query would never reach the user's function."""
    if not name.isidentifier() or name.startswith("_"):
        raise CatalogError(f'"{name}" cannot be the name of a function', hint="Use letters, digits and underscores.")
    if name in OWN or name in BUILT_IN or name in FUNCTIONS or name.upper() in DIALECT.parser_class.FUNCTIONS:
        taken = True
    else:
        text = f"SELECT {name}({', '.join(['1'] * arguments)})"
        try:
            tree = read_tree(text, tokenize(text))
        except Exception:  # a word of the language
            taken = True
        else:
            taken = not isinstance(tree.expressions[0], exp.Anonymous)
    if taken:
        raise CatalogError(f'"{name}" is a function or a word of Spark\'s SQL', hint="Take another name.")


def drop(workspace: Workspace, statement: st.Drop) -> Result:
    workspace.refresh()
    if statement.if_exists and statement.name.lower() not in workspace.catalog.functions:
        return Result(message=f'there is no function "{statement.name}"')
    function = workspace.catalog.function(statement.name)
    if function.python is None:
        with workspace.work:
            workspace.catalog = workspace.catalog.without_function(function.name)
        return Result(message=f'function "{function.name}" dropped')
    workspace.own()
    with workspace.work:
        _check_unused(workspace.catalog, function.name)
        workspace.change_catalog(workspace.catalog.without_function(function.name))
    return Result(message=f'function "{function.name}" dropped')


def _check_unused(catalog: Catalog, name: str) -> None:
    for query in catalog.queries.values():
        if _calls(query.sql, name):
            kind = catalog.kind(query.name)
            hint = f"Drop it first: DROP {kind.upper()} {query.name}."
            raise CatalogError(f'{kind} "{query.name}" calls function "{name}"', hint=hint)
    for feed in catalog.feeds.values():
        if _calls(feed.sql, name):
            raise CatalogError(
                f'feed "{feed.name}" calls function "{name}"', hint=f"Drop it first: DROP FEED {feed.name}."
            )


def _calls(sql: str, name: str) -> bool:
    """Whether a statement has the name in front of a parenthesis; a quick look, then the tokens."""
    if name not in sql.lower():
        return False
    tokens = tokenize(sql)
    return any(t.text.lower() == name and n.text == "(" for t, n in itertools.pairwise(tokens))


def _kind(function: Function) -> str:
    return {"scalar": "function", "aggregate": "aggregate", "table": "table function"}[function.kind]


def reader(workspace: Workspace) -> Reader:
    """A handle for table functions. It only selects, and not from functions that have one themselves: no circles."""

    def answer(query: str) -> Result:
        statements = parse(query)
        if len(statements) != 1 or not isinstance(statements[0], st.Select):
            raise UnsupportedSql("a function can only SELECT from the pond")
        plan = plan_query(workspace, statements[0].query, query)
        for function in plan.bound.functions.values():
            if function.reads:
                raise UnsupportedSql(f'function "{function.name}" reads the pond and cannot be called by another')
        return Result(ask(workspace, plan))

    return Reader(answer)
