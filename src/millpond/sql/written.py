"""Calls that sqlglot's own reading would lose something of: they stay as they are written.

A node of sqlglot holds what some function has in most dialects. Where Spark's has more (a third argument, a format in other
letters), the rest would be dropped without a word, and the tree would mean another query than the text.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from sqlglot import exp
from sqlglot.tokenizer_core import TokenType


def _percentile(parser: Any) -> exp.Expr:
    """`percentile(value, share)`; with frequencies it is an aggregate that nothing is known of."""
    distinct = parser._match(TokenType.DISTINCT)
    given = parser._parse_csv(parser._parse_lambda)
    if distinct and given:
        given[0] = parser.expression(exp.Distinct(expressions=[given[0]]))
    if len(given) == 2:
        return exp.Quantile(this=given[0], quantile=given[1])
    return exp.AnonymousAggFunc(this="percentile", expressions=given)


def _as_it_is(name: str) -> Callable[[list[Any]], exp.Expr]:
    return lambda given: exp.Anonymous(this=name, expressions=given)


FUNCTIONS: Final[dict[str, Callable[[list[Any]], exp.Expr]]] = {
    name: _as_it_is(name.lower()) for name in ("DATE_FORMAT", "GET_JSON_OBJECT")
}
"""By the name of a function: what makes a node of its arguments. Formats and paths stay as they are written."""

PARSERS: Final[dict[str, Callable[..., Any]]] = {"PERCENTILE": _percentile}
"""By the name of a function: what reads its arguments."""
