"""APPROX_COUNT and its like: the exact aggregate, with a mark that says which error is fine.

A number within eps of the exact one is asked for, and the exact one is such a number. So a call becomes the exact aggregate,
which both engines know; whoever can do with less memory finds the mark (`mark_of`) and may answer with a synopsis.
"""

from __future__ import annotations

from collections.abc import Container
from dataclasses import dataclass

from sqlglot import exp

from millpond.errors import TypeMismatch, UnsupportedSql
from millpond.sql.dialect import span_of

_META = "millpond_approximate"
_NAMES = {
    f"approx_{what}{suffix}": (what, bound)
    for what in ("count", "sum", "avg", "var_pop", "distinct")
    for suffix, bound in (("", "value"), ("_lower", "lower"), ("_upper", "upper"))
}

APPROXIMATE = tuple(_NAMES)


@dataclass(frozen=True)
class Approximate:
    """`function` is count, sum, avg, var_pop or distinct; `shown` is value, lower or upper."""

    function: str
    shown: str
    eps: float


def is_approximate(node: exp.Expr) -> bool:
    """Whether a node as parsed, before binding, is such a call."""
    return isinstance(node, exp.Anonymous) and node.name.lower() in _NAMES


def mark_of(node: exp.Expr) -> Approximate | None:
    """Of a node of a bound tree."""
    mark = node.meta.get(_META)
    return mark if isinstance(mark, Approximate) else None


def rewrite_approximate(tree: exp.Expr, own: Container[str], sql: str) -> bool:
    """Replace the calls in a tree, and tell whether there were any; `own` are names of the user's functions, which go before."""
    found = False
    for node in list(tree.find_all(exp.Anonymous)):
        if node.name.lower() in own:
            continue
        if not is_approximate(node):
            continue
        found = True
        function, shown = _NAMES[node.name.lower()]
        name = node.name.upper()
        if isinstance(node.parent, (exp.Filter, exp.Window)):
            clause = "FILTER" if isinstance(node.parent, exp.Filter) else "OVER"
            within = f"Say which rows matter in the call: {name}(CASE WHEN ... THEN ... END, <eps>)."
            hint = within if clause == "FILTER" else None
            raise UnsupportedSql(f"{name} with {clause} is not supported", hint=hint, sql=sql, span=span_of(node))
        stars = " or <name>(*, <eps>)".replace("<name>", name) if function == "count" else ""
        if len(node.expressions) != 2:
            raise UnsupportedSql(f"{name} is written {name}(<value>, <eps>){stars}", sql=sql, span=span_of(node))
        value, eps = node.expressions
        if isinstance(value, (exp.Star, exp.Distinct)) and not (function == "count" and isinstance(value, exp.Star)):
            raise UnsupportedSql(f"{name} is written {name}(<value>, <eps>){stars}", sql=sql, span=span_of(node))
        mark = Approximate(function, shown, read_error(eps, name, sql))
        whole = function in ("count", "sum") and shown != "value"
        call = exp.cast(_exact(function, value), "bigint" if whole else "double")
        call.meta.update(node.meta)
        call.meta[_META] = mark
        node.replace(call)
    return found


def _exact(function: str, value: exp.Expr) -> exp.Expr:
    if function == "sum":
        return exp.Sum(this=value)
    if function == "avg":
        return exp.Avg(this=value)
    if function == "var_pop":
        return exp.VariancePop(this=value)
    counted = exp.Distinct(expressions=[value]) if function == "distinct" else value
    return exp.Count(this=counted, big_int=True)


def read_error(node: exp.Expr, name: str, sql: str) -> float:
    """The eps of a call."""
    if isinstance(node, exp.Literal) and not node.is_string:
        eps = float(node.this)
        if 0 < eps < 1:
            return eps
    raise TypeMismatch(
        f"the error of {name} is a number, more than 0 and less than 1",
        detail=f"It is {node.sql(dialect='spark')}.",
        hint=f"One percent is {name}(..., 0.01).",
        sql=sql,
        span=span_of(node) or span_of(node.parent or node),
    )
