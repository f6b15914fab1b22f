"""Operators in the order in which Spark reads them: the table of its grammar (SqlBaseParser.g4), which is not sqlglot's.

From the strongest to the weakest, each from left to right:

    -x  +x  ~x  |  * / % DIV  |  + - ||  |  << >> >>>  |  &  |  ^  |  |  |  = <> < <= > >= <=>

A value made of these may have one predicate behind it (BETWEEN, IN, LIKE, RLIKE, IS); then come NOT, AND and OR. So
`2 | 1 & 0` is `2 | (1 & 0)`, `a = b IS NULL` is `(a = b) IS NULL`, and `a IS NULL IS NULL` or `a = NOT b` is no SQL.

Invariant: a tree has the brackets that Spark gives the same text, or the text is refused. tests/spark/test_operators.py
compares all pairs of operators, and many triples.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar, Final

from sqlglot import exp
from sqlglot.parsers.spark import SparkParser
from sqlglot.tokenizer_core import TokenType

from millpond.sql.spark_names import IS_NOT

_Make = Callable[[Any, Any], exp.Expr]


def _binary(kind: type[exp.Expr]) -> _Make:
    return lambda left, right: kind(this=left, expression=right)


def _shift_unsigned(left: Any, right: Any) -> exp.Expr:
    return exp.Anonymous(this="shiftrightunsigned", expressions=[left, right])


# What a token makes of two values, by strength.
_COMPARED, _SHIFTED, _ADDED, _MULTIPLIED = 0, 4, 5, 6
_OPERATORS: Final[dict[TokenType, tuple[int, _Make]]] = {
    TokenType.EQ: (_COMPARED, _binary(exp.EQ)),
    TokenType.NEQ: (_COMPARED, _binary(exp.NEQ)),
    TokenType.LT: (_COMPARED, _binary(exp.LT)),
    TokenType.LTE: (_COMPARED, _binary(exp.LTE)),
    TokenType.GT: (_COMPARED, _binary(exp.GT)),
    TokenType.GTE: (_COMPARED, _binary(exp.GTE)),
    TokenType.NULLSAFE_EQ: (_COMPARED, _binary(exp.NullSafeEQ)),
    TokenType.PIPE: (1, _binary(exp.BitwiseOr)),
    TokenType.CARET: (2, _binary(exp.BitwiseXor)),
    TokenType.AMP: (3, _binary(exp.BitwiseAnd)),
    TokenType.PLUS: (_ADDED, _binary(exp.Add)),
    TokenType.DASH: (_ADDED, _binary(exp.Sub)),
    TokenType.DPIPE: (_ADDED, lambda left, right: exp.DPipe(this=left, expression=right, safe=True)),
    TokenType.STAR: (_MULTIPLIED, _binary(exp.Mul)),
    TokenType.SLASH: (_MULTIPLIED, lambda left, right: exp.Div(this=left, expression=right, typed=False, safe=True)),
    TokenType.MOD: (_MULTIPLIED, _binary(exp.Mod)),
    TokenType.DIV: (_MULTIPLIED, _binary(exp.IntDiv)),
}
# Shifts are not tokens of sqlglot's: they are written `<` `<`, without a blank.
_SHIFTS: Final[tuple[tuple[TokenType, int, _Make], ...]] = (
    (TokenType.GT, 3, _shift_unsigned),
    (TokenType.GT, 2, _binary(exp.BitwiseRightShift)),
    (TokenType.LT, 2, _binary(exp.BitwiseLeftShift)),
)
_PREDICATES: Final = frozenset(
    {
        TokenType.BETWEEN,
        TokenType.IN,
        TokenType.LIKE,
        TokenType.ILIKE,
        TokenType.RLIKE,
        TokenType.IS,
        TokenType.OVERLAPS,
    }
)


class OperatorParser(SparkParser):
    """The part of the parser that reads operators. sqlglot's own names for its steps stay, because others call them."""

    RANGE_PARSERS: ClassVar[dict[TokenType, Any]] = {
        token: read for token, read in SparkParser.RANGE_PARSERS.items() if token in _PREDICATES
    }

    def _parse_equality(self, parse_is: bool = True) -> exp.Expr | None:
        """What AND and OR stand between: a value and a predicate behind it, with NOTs before."""
        if self._match(TokenType.NOT):
            return self.expression(exp.Not(this=self._parse_equality()))
        if self._at_existence():
            return self._parse_type()  # a condition, and no value: nothing may follow but AND and OR
        return self._parse_predicate(self._parse_bitwise())

    def _parse_predicate(self, this: exp.Expr | None) -> exp.Expr | None:
        if this is None:
            return None
        negate = self._match(TokenType.NOT)
        if not self._match_set(self.RANGE_PARSERS):
            if negate:
                self._retreat(self._index - 1)
            return this
        if negate and self._prev.token_type in (TokenType.IS, TokenType.OVERLAPS):
            self.raise_error("Expected BETWEEN, IN or LIKE", self._prev)
        found: exp.Expr | None = self.RANGE_PARSERS[self._prev.token_type](self, this)
        return self._negate_range(found) if negate else found

    def _parse_between(self, this: exp.Expr | None) -> exp.Between:
        low = self._parse_bitwise()
        if not self._match(TokenType.AND):
            self.raise_error("Expected AND")
        return self.expression(exp.Between(this=this, low=low, high=self._parse_bitwise()))

    def _parse_in(self, this: exp.Expr | None, alias: bool = False) -> exp.In:
        if self._curr.token_type is not TokenType.L_PAREN:
            self.raise_error("Expected (")
        if self._next.token_type is TokenType.R_PAREN:
            self.raise_error("Expected an expression", self._next)
        return super()._parse_in(this, alias)

    def _parse_is(self, this: exp.Expr | None) -> exp.Expr | None:
        negate = self._match(TokenType.NOT)
        if self._match_text_seq("DISTINCT", "FROM"):
            kind = exp.NullSafeEQ if negate else exp.NullSafeNEQ
            return self.expression(kind(this=this, expression=self._parse_bitwise()))
        known: exp.Expr
        if self._match(TokenType.NULL):
            known = exp.Null()
        elif self._match_texts(("TRUE", "FALSE")):
            known = exp.Boolean(this=self._prev.text.upper() == "TRUE")
        elif self._match(TokenType.UNKNOWN):
            known = exp.var("UNKNOWN")
        else:
            self.raise_error("Expected NULL, TRUE, FALSE, UNKNOWN or DISTINCT FROM")
        found: exp.Expr = self.expression(exp.Is(this=this, expression=known))
        if negate:
            found = self.expression(exp.Not(this=found))
            found.meta[IS_NOT] = True
        return found

    def _parse_bitwise(self) -> exp.Expr | None:
        """A value: everything but predicates, NOT, AND and OR."""
        return self._parse_binary(_COMPARED)

    def _parse_term(self, parse_mod: bool = True) -> exp.Expr | None:
        return self._parse_binary(_ADDED)

    def _parse_binary(self, weakest: int) -> exp.Expr | None:
        """Operands with operators between them that are no weaker than `weakest`."""
        this = self._parse_unary()
        while this is not None:
            found = self._operator()
            if found is None or found[0] < weakest:
                break
            strength, tokens, make = found
            word = self._curr
            self._advance(tokens)
            comments = self._prev_comments
            right = self._parse_binary(strength + 1)
            if right is None:
                if word.token_type is TokenType.DIV:  # it is also a name: SELECT a div
                    self._retreat(self._index - tokens)
                    break
                self.raise_error("Expected an expression")
            this = self.expression(make(this, right), comments=comments)
        return this

    def _operator(self) -> tuple[int, int, _Make] | None:
        """The operator that comes next: its strength, how many tokens it has, and what it makes."""
        token = self._curr
        for kind, length, make in _SHIFTS:
            if token.token_type is kind and self._in_one(kind, length):
                return _SHIFTED, length, make
        found = _OPERATORS.get(token.token_type)
        return None if found is None else (found[0], 1, found[1])

    def _in_one(self, kind: TokenType, length: int) -> bool:
        """Whether the next tokens are of one kind, with nothing between them."""
        following = self._tokens[self._index : self._index + length]
        start = self._curr.start
        return len(following) == length and all(
            token.token_type is kind and token.start == start + place for place, token in enumerate(following)
        )

    def _at_existence(self) -> bool:
        """Whether `EXISTS (SELECT ...)` comes next."""
        if self._curr.token_type is not TokenType.EXISTS or self._next.token_type is not TokenType.L_PAREN:
            return False
        inside = self._tokens[self._index + 2 : self._index + 3]
        return bool(inside) and inside[0].token_type in self.SUBQUERY_TOKENS

    def _parse_unary(self) -> exp.Expr | None:
        if self._at_existence():
            self.raise_error("Expected a value", self._curr)
        kind = self._curr.token_type
        if kind is TokenType.DASH and self._next.token_type is TokenType.NUMBER:
            self._advance()  # one literal: -128Y has a value, and 128Y has none
            return self._with_collation(self._parse_column_ops(self.expression(exp.Neg(this=self._parse_primary()))))
        if kind is TokenType.DASH or kind is TokenType.PLUS or kind is TokenType.TILDE:
            self._advance()
            operand = self._parse_unary()
            if operand is None:
                self.raise_error("Expected an expression")
            if kind is TokenType.PLUS:  # not nothing: of a text it makes a number
                return self.expression(exp.Anonymous(this="positive", expressions=[operand]))
            return self.expression((exp.Neg if kind is TokenType.DASH else exp.BitwiseNot)(this=operand))
        return self._with_collation(self._parse_type())

    def _with_collation(self, this: exp.Expr | None) -> exp.Expr | None:
        while this is not None and self._match(TokenType.COLLATE):
            this = self.expression(exp.Collate(this=this, expression=self._parse_id_var()))
        return this

    def _parse_update_assignment(self) -> exp.Expr | None:
        column = self._parse_column()
        if not self._match(TokenType.EQ):
            return column
        return self.expression(exp.EQ(this=column, expression=self._parse_disjunction()))
