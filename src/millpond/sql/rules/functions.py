"""Calls of a user's functions. They run in DuckDB only, so there is no other engine to agree with; what holds is the
declaration: arguments are brought to the declared types by the implicit casts of Spark, and no others.
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from millpond.catalog import Function
from millpond.errors import Span, TypeMismatch
from millpond.sql.rules.terms import TIMESTAMP, NotOnDuckDB, Relation, Translator, Value, quoted
from millpond.sql.rules.types import convert


def arguments(function: Function, node: exp.Expression, given: Sequence[exp.Expression], tr: Translator) -> list[Value]:
    """The arguments of a call, of the declared types."""
    found = []
    for declared, each in zip(function.arguments, given, strict=True):
        value = tr.value(each)
        try:
            value = convert(value, declared.type)
        except NotOnDuckDB as refusal:
            raise TypeMismatch(
                f'argument "{declared.name}" of function "{function.name}" is {declared.type}, not {value.type}',
                hint=f"Write CAST(... AS {declared.type}).",
                span=_place(node),
            ) from refusal
        if value.type == TIMESTAMP:  # a column may come with a zone, see `terms`
            value = Value(f"CAST({value.sql} AS TIMESTAMP)", TIMESTAMP, value.raises, value.constant)
        found.append(value)
    return found


def _place(node: exp.Expression) -> Span | None:
    start = node.meta.get("start")
    return None if start is None else Span(start, node.meta["end"] + 1)


def call(function: Function, given: list[str]) -> Value:
    """A function without arguments gets one that says how often it is called."""
    listed = ", ".join(given) or "TRUE"
    return Value(f"{quoted(function.engine_name)}({listed})", function.returns.columns[0].type, True)


def scalar(node: exp.Anonymous, tr: Translator) -> Value:
    function = tr.user[node.name.lower()]
    return call(function, [value.sql for value in arguments(function, node, node.expressions, tr)])


def rows_of(node: exp.Anonymous, tr: Translator) -> Relation:
    """The rows of a table function: it gives them as one list, which is unnested."""
    function = tr.user[node.name.lower()]
    given = call(function, [value.sql for value in arguments(function, node, node.expressions, tr)])
    columns = [(column.name, column.type) for column in function.returns]
    return Relation(f"SELECT unnest({given.sql}, recursive := true)", columns)
