"""APPROX_NORM: the Lp norm of how often each value of x occurs, with the error that is fine.

    SELECT seg, APPROX_NORM(vid, 2, 0.1) FROM reports GROUP BY seg

is (sum of n**p over the values of x) ** (1/p), n being how often a value occurs. Exactly said, each row has n, as a window
function over the rows that are alike in x, and adds n**(p-1).
"""

from __future__ import annotations

from dataclasses import dataclass

from sqlglot import exp

from millpond.errors import TypeMismatch, UnsupportedSql
from millpond.query.approximate import read_error
from millpond.query.grouped_rows import GroupedRows, double
from millpond.sql.dialect import ERROR_IS_FINE, NORMS, span_of


@dataclass(frozen=True)
class Norm:
    """`shown` is value, lower or upper."""

    shown: str
    p: float
    eps: float
    x: exp.Expr


def is_norm(node: exp.Expr) -> bool:
    """Whether a node, before calls are made exact, is such a call."""
    return isinstance(node, exp.Anonymous) and node.name.lower() in NORMS


def read(call: exp.Anonymous, sql: str) -> Norm:
    """What a qualified call asks."""
    name = call.name.upper()
    if len(call.expressions) != 3 or isinstance(call.expressions[0], (exp.Star, exp.Distinct)):
        raise UnsupportedSql(f"{name} is written {name}(<value>, <p>, <eps>)", sql=sql, span=span_of(call))
    x, p, eps = call.expressions
    if x.find(exp.AggFunc, exp.Query) is not None or x.find(exp.Column) is None:
        detail = "That is a column, or computed from columns, without an aggregate or a subquery."
        raise UnsupportedSql(f"{name} is of a value of each row", detail=detail, sql=sql, span=span_of(call))
    return Norm(NORMS[call.name.lower()], _power(p, call, sql), read_error(eps, name, sql), x)


def _power(node: exp.Expr, call: exp.Expr, sql: str) -> float:
    if isinstance(node, exp.Literal) and not node.is_string and 1 <= float(node.this) <= 2:
        return float(node.this)
    raise TypeMismatch(
        f"the p of {call.name.upper()} is a number from 1 to 2",
        detail=f"It is {node.sql(dialect='spark')}.",
        hint="2 tells how uneven the values are; 1 is how many there are.",
        sql=sql,
        span=span_of(node) or span_of(call),
    )


def exact(mark: Norm, rows: GroupedRows) -> exp.Expr:
    if mark.p == 1:
        return exp.cast(exp.Count(this=rows.above(mark.x), big_int=True), "double")
    often = exp.cast(rows.over(exp.Count(this=mark.x.copy(), big_int=True), also=mark.x), "double")
    each = often if mark.p == 2 else _raised(often, mark.p - 1)
    known = exp.Not(this=exp.Is(this=rows.above(mark.x), expression=exp.Null()))
    total = exp.Sum(this=exp.Case(ifs=[exp.If(this=known, true=each)]))
    whole = exp.Coalesce(this=total, expressions=[double(0.0)])
    return exp.Sqrt(this=whole) if mark.p == 2 else _raised(whole, 1 / mark.p)


def _raised(value: exp.Expr, power: float) -> exp.Expr:
    """The engines differ in the last bits, and that is fine here."""
    raised = exp.Pow(this=value, expression=double(power))
    raised.meta[ERROR_IS_FINE] = True
    return raised
