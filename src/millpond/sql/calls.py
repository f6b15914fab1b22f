"""Calls, casts and literals: the parser notes what a tree no longer shows, for the names of unnamed outputs.

A tree has one class for `std(x)` and `stddev(x)`, for `CAST('2026-01-01' AS DATE)` and `DATE '2026-01-01'`, for `1L` and
`1::BIGINT`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

from sqlglot import exp
from sqlglot.tokenizer_core import TokenType

from millpond.sql.operators import OperatorParser
from millpond.sql.spark_names import WRITTEN, note_call


def _written_cast(name: str) -> Callable[[Any], Any]:
    read = OperatorParser.FUNCTION_PARSERS[name]

    def parse(parser: Any) -> Any:
        node = read(parser)
        if isinstance(node, (exp.Cast, exp.TryCast)):
            node.meta[WRITTEN] = name.lower()
        return node

    return parse


class CallParser(OperatorParser):
    FUNCTION_PARSERS: ClassVar[dict[str, Callable[..., Any]]] = {
        **OperatorParser.FUNCTION_PARSERS,
        **{name: _written_cast(name) for name in ("CAST", "TRY_CAST")},
    }
    COLUMN_OPERATORS: ClassVar[dict[TokenType, Any]] = {
        **OperatorParser.COLUMN_OPERATORS,
        TokenType.DCOLON: lambda parser, this, to: parser.colon_cast(this, to),
    }

    def __init__(self, *given: Any, **named: Any) -> None:
        super().__init__(*given, **named)
        self._names: list[int] = []  # the places of the names of calls that are being read
        self._lists: dict[int, tuple[int, list[Any]]] = {}  # what was read between commas: from where to where

    def colon_cast(self, this: exp.Expr, to: exp.Expr) -> exp.Expr:
        """`x::type`, or a number with a suffix, which the tokenizer writes so."""
        node = self.build_cast(strict=self.STRICT_CAST, this=this, to=to)
        number = this.this if isinstance(this, exp.Neg) else this
        if number is not this and isinstance(node.this, exp.Literal) and float(number.name):
            node.this.set("this", f"-{number.name}")  # sqlglot reads -1.5BD without its sign
        suffix = isinstance(number, exp.Literal) and not self._has_colons()
        node.meta[WRITTEN] = "suffix" if suffix else "cast"
        return node

    def _has_colons(self) -> bool:
        """Whether the text has the `::` that was read last."""
        for place in range(self._index - 1, 0, -1):
            token = self._tokens[place]
            if token.token_type is TokenType.DCOLON:
                return self.sql[token.start : token.start + 2] == "::"
        return False

    def _parse_csv(self, parse_method: Callable[[], Any], sep: TokenType = TokenType.COMMA) -> list[Any]:
        begin = self._index
        found = super()._parse_csv(parse_method, sep)
        self._lists[begin] = (self._index, found)
        return found

    def _parse_function_call(self, *given: Any, **named: Any) -> exp.Expr | None:
        self._names.append(self._index)
        try:
            return super()._parse_function_call(*given, **named)
        finally:
            self._names.pop()

    def _parse_window(self, this: exp.Expr | None, alias: bool = False) -> exp.Expr | None:
        """What may follow a call. By now its arguments are read. `CASE (x) WHEN ...` is none, though it begins like one."""
        if isinstance(this, exp.Expr) and not isinstance(this, exp.Case) and not alias and self._names:
            name = self._names[-1]
            end, arguments = self._lists.get(name + 2, (0, []))
            if self._tokens[name + 1].token_type is not TokenType.L_PAREN:
                return super()._parse_window(this, alias)
            if self._tokens[name + 2].token_type is TokenType.R_PAREN:
                note_call(this, self._tokens[name].text, [])
            elif end and self._tokens[end].token_type is TokenType.R_PAREN:
                note_call(this, self._tokens[name].text, arguments)
        return super()._parse_window(this, alias)
