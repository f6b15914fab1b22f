"""Statements about standing queries: CREATE, INVOKE, EXPLAIN; and the BEGIN and END behind a query.

BEGIN and END are found among the last tokens and taken off; what is left is read like any query. They become a window
(`windows.span`) of every stream in it that has none of its own.
"""

from __future__ import annotations

from sqlglot.tokenizer_core import TokenType

from millpond.errors import SqlSyntaxError
from millpond.sql import statements as st
from millpond.sql.cursor import TEXTS, VALUES
from millpond.sql.literals import FOLDED
from millpond.sql.reader.queries import QueryReader
from millpond.sql.statements import KEEPS, Statement
from millpond.windows.span import SpanWindow

_AFTER_BEGIN = ("NOW", "ROW", "-")
_BEFORE_BEGIN = (*VALUES, TokenType.VAR, TokenType.R_PAREN, TokenType.R_BRACKET)


class StandingReader(QueryReader):
    """Reads statements about standing queries."""

    def create_standing(self) -> Statement:
        self.expect("STANDING")
        self.expect("QUERY", after="CREATE STANDING")
        if_not_exists = self.exists("NOT", "EXISTS")
        name = self.name("query")
        keep = "auto"
        if self.accept("KEEP"):
            keep = self.one_of(tuple(word.upper() for word in KEEPS), "KEEP").lower()
        self.expect("AS", after="the query's name")
        return st.CreateStanding(self.sql, self.place, name, self.standing("AS"), keep, if_not_exists=if_not_exists)

    def standing(self, after: str) -> st.Standing:
        """The rest of the statement: a query, perhaps with BEGIN and END behind it."""
        begin, place = self.index, self._begin_or_end()
        tokens = self.tokens
        if any(token.token_type is FOLDED for token in tokens[begin:]):
            raise self.unsupported("a folded list in a standing query", begin)  # the text is then read as a whole
        window = None
        text = self.sql[tokens[begin].start : tokens[-1].end + 1] if begin < len(tokens) else ""
        if place is not None:
            self.index = place
            window = SpanWindow.read(self)
            if self.look():
                raise self.unexpected(
                    "END or the end of the statement" if window.closing is None else "the end of the statement"
                )
            self.tokens = tokens[:place]
        self.index = begin
        tree = self.query(after)
        self.tokens, self.index = tokens, len(tokens)
        return st.Standing(text, tree, window)

    def _begin_or_end(self) -> int | None:
        """Where the BEGIN (or lone END) behind the query stands; None if there is none. CASE has an END too."""
        depth = 0
        lone_end = None
        for place in range(len(self.tokens) - 1, self.index, -1):
            token = self.tokens[place]
            depth += {TokenType.R_PAREN: 1, TokenType.L_PAREN: -1, TokenType.R_BRACKET: 1, TokenType.L_BRACKET: -1}.get(
                token.token_type, 0
            )
            if depth == 0 and self._is_bound(place, "BEGIN"):
                return place
            if depth == 0 and lone_end is None and self._is_bound(place, "END"):
                lone_end = place
        return lone_end

    def _is_bound(self, place: int, word: str) -> bool:
        """Whether BEGIN or END stands here as an end of a window: a time or a row follows."""
        before, here = self.index, False
        self.index = place
        if self.accept(word):
            following = self.look()
            here = any(self.at(w) for w in _AFTER_BEGIN) or following.token_type in (*TEXTS, TokenType.NUMBER)
            # At the end it is unfinished, unless it is a column's name: ORDER BY begin.
            if not here and word == "BEGIN" and not following and self.tokens[place - 1].token_type in _BEFORE_BEGIN:
                raise SqlSyntaxError(
                    "expected NOW or a time after BEGIN, but found the end of the statement",
                    sql=self.sql,
                    span=self.span(place, place + 1),
                )
        self.index = before
        return here

    def invoke(self) -> Statement:
        place = self.place
        self.expect("INVOKE")
        as_of = self.as_of()
        return st.Invoke(self.sql, place, self.standing_name(), as_of)

    def standing_name(self) -> str | int:
        """The name of a standing query, or its number."""
        if self.look().token_type is TokenType.NUMBER:
            return self.whole("the name or number of a standing query")
        return self.name("standing query")
