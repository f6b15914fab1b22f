"""NOW() of a query that reads streams: the instant it is evaluated at, which is known only when it is.

A bound tree holds a placeholder node where NOW() stood. (A user's own parameters never get that far: `allowed` refuses them.)
For DuckDB the node becomes a mark in the text that no user's text can hold, so that a continuous query is translated once and
run at many instants; for Spark, whose text is made for each run, the node becomes a literal.

Where each row is an instant (SAMPLE EACH ROW), rows of equal time come one after the other, and a row's time compared with NOW()
says whether the row came before this one or is this one. There NOW() becomes the column OWN_INSTANT, which a window's content has
then: the instant in the row that arrived, the next later time in all others.
"""

from __future__ import annotations

from sqlglot import exp

from millpond.duration import moment
from millpond.sql.rules.terms import INSTANT

OWN_INSTANT = "__now"


def is_own_instant(node: exp.Expr) -> bool:
    return isinstance(node, exp.Column) and node.name == OWN_INSTANT


def placeholder(whole: bool) -> exp.Placeholder:
    """The node that stands for the instant: a BIGINT if times are `whole` numbers, else a TIMESTAMP."""
    node = exp.Placeholder(this="instant")
    node.type = exp.DataType.build("BIGINT" if whole else "TIMESTAMP", dialect="spark")
    return node


def is_instant(node: exp.Expr) -> bool:
    return isinstance(node, exp.Placeholder)


def names_instant(tree: exp.Expr) -> bool:
    """Whether NOW() is anywhere in a bound tree."""
    return any(is_instant(node) or is_own_instant(node) for node in tree.find_all(exp.Placeholder, exp.Column))


def at_instant(text: str, time: int | None) -> str:
    """DuckDB's text with the instant in place of its mark."""
    if INSTANT not in text:
        return text
    return text.replace(INSTANT, "NULL" if time is None else str(time))


def put_instant(tree: exp.Expr, time: int | None) -> None:
    """Put the instant as a literal in place of the nodes that stand for it."""
    for node in list(tree.find_all(exp.Placeholder)):
        assert node.type is not None
        whole = node.type.is_type(exp.DType.BIGINT)
        value: exp.Expr = exp.Null()
        if time is not None:
            value = exp.Literal.number(time) if whole else exp.Literal.string(written_moment(time))
        node.replace(exp.Cast(this=value, to=node.type.copy()))


def written_instant(kind: str, time: int | None) -> str:
    """The instant as an expression of a type, BIGINT or TIMESTAMP, in Spark's words."""
    if time is None:
        return f"CAST(NULL AS {kind})"
    return f"CAST({time} AS BIGINT)" if kind == "BIGINT" else f"CAST('{written_moment(time)}' AS TIMESTAMP)"


def written_moment(time: int) -> str:
    """A time in microseconds since 1970 as SQL writes a TIMESTAMP, in UTC."""
    return moment(time).replace(tzinfo=None).isoformat(sep=" ", timespec="microseconds")
