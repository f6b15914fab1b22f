"""Errors in the data: an overflow, a division by zero, a text that is no number.

Whether such an error is met depends on what an engine evaluates, and the engines differ in that. Spark leaves out the right
operand of most operators where the left one is NULL (`n + 1 / k`), whatever its optimizer finds superfluous, and rows behind a
LIMIT; DuckDB evaluates a vector of rows at a time, and conditions in an order of its own. So an error of DuckDB is not the last
word: Spark decides, except where it is sure to meet the same error.
"""

from __future__ import annotations

from typing import Final

import duckdb
from sqlglot import exp

_IN_DATA: Final = ("Conversion Error", "Out of Range Error", "Invalid Input Error")

_CLAUSES: Final = ("joins", "laterals", "having", "qualify", "distinct", "limit", "offset", "with_", "order", "windows")
_LAZY: Final = (exp.And, exp.Or, exp.Case, exp.If, exp.Coalesce, exp.In, exp.Nvl2, exp.Window, exp.Filter, exp.Query)
_ATOMS: Final = (exp.Column, exp.Literal, exp.Identifier, exp.DataType, exp.Var, exp.Boolean, exp.Null, exp.Star)


def is_in_data(error: BaseException) -> bool:
    """Whether the error of an engine, or what it came from, is about a value: the query itself was understood."""
    while not isinstance(error, duckdb.Error | OSError):
        if error.__cause__ is None:
            return False
        error = error.__cause__
    return str(error).startswith(_IN_DATA)


def surely_met(query: exp.Expr) -> bool:
    """Whether Spark evaluates for every row all that DuckDB does: one SELECT from at most one table, in whose expressions an
    operation stands only where it is computed whatever the values are: as the first operand, or behind a number or text.

    >>> from sqlglot import parse_one
    >>> for value in ("60 / v", "-(a % b) + -1", "10 / min(v)", "n + 1 / k", "if(f, 1 / k, 0)"):
    ...     print(surely_met(parse_one(f"SELECT {value} FROM t", read="spark")))
    True
    True
    True
    False
    False
    """
    if not isinstance(query, exp.Select) or any(query.args.get(clause) for clause in _CLAUSES):
        return False
    source = query.args.get("from_")
    if source is not None and not isinstance(source.this, exp.Table):
        return False
    where = query.args.get("where")
    parts = [*query.expressions, *([where.this] if where is not None else [])]
    return all(_is_strict(part) for part in parts)


def _is_strict(node: exp.Expr) -> bool:
    """Whether all its parts are evaluated: only the first one that may be NULL is an operation, and so on."""
    if isinstance(node, _LAZY):
        return False
    parts = [_unwrapped(part) for part in node.iter_expressions()]
    while parts and isinstance(parts[0], exp.Literal):
        parts = parts[1:]
    return all(isinstance(part, _ATOMS) for part in parts[1:]) and all(_is_strict(part) for part in parts[:1])


def _unwrapped(node: exp.Expr) -> exp.Expr:
    while isinstance(node, exp.Paren) or (isinstance(node, exp.Neg) and isinstance(node.this, exp.Literal)):
        node = node.this
    return node
