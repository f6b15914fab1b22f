"""A query's own text, and the few places at which it is changed before it goes to Spark.

A tree loses things that a text says: the order of an argument, a name's spelling, which brackets were written. So Spark is
given the text that the user wrote. Only what Spark cannot know is replaced, at its place: the names of tables (with their
windows) become names of views, `?` becomes a value, NOW() an instant, PREV a column. Comments become blanks: Spark does not
end all of them where sqlglot does.

Invariant: what lies between two changes is the user's text, character by character, but for comments.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from sqlglot import exp
from sqlglot.tokenizer_core import Token, TokenType

from millpond.errors import Span
from millpond.sql.cursor import VALUES

QUERY_TEXT = "query_text"  # in the meta of a query's root: its `QueryText`


@dataclass(frozen=True)
class Change:
    """What stands at `span` instead of the text there: a text, or one that is known only when the query runs."""

    span: Span
    becomes: str | View | Instant


@dataclass(frozen=True)
class View:
    """The view that holds the rows of a use, under the name by which the query knows it (None if an alias follows). If an alias
    names some of its columns, these only."""

    use: str
    alias: str | None
    columns: tuple[str, ...] = ()


@dataclass(frozen=True)
class Instant:
    """The instant at which the query is evaluated."""

    type: str


@dataclass(frozen=True)
class QueryText:
    """A text with changes. `tokens` are those of the query alone, parameters in their places."""

    sql: str
    tokens: Sequence[Token]
    changes: tuple[Change, ...] = ()
    column_lists: tuple[str, ...] = ()
    """Aliases with a list of columns, in lower case, one for each time it is written: such an alias looks like a call."""

    def __deepcopy__(self, memo: dict[int, Any]) -> QueryText:
        return self  # it never changes, and copies of a tree are many

    def changed(self, changes: Iterable[Change]) -> QueryText:
        return replace(self, changes=tuple({change.span: change for change in (*self.changes, *changes)}.values()))

    def call(self, name: Span) -> Span | None:
        """A call from its name to its closing parenthesis; the name alone if no parenthesis follows."""
        first = self._token_at(name.start)
        if first is None:
            return None
        last = self._closing(first + 1)
        return Span(name.start, self.tokens[first if last is None else last].end + 1)

    def after_sample(self, place: int) -> int:
        """Where an alias goes behind a table's name that ends at `place`: behind its TABLESAMPLE, if it has one."""
        following = bisect_left(self.tokens, place, key=_start)
        if following >= len(self.tokens) or self.tokens[following].token_type is not TokenType.TABLE_SAMPLE:
            return place
        last = following
        while (word := last + 1) < len(self.tokens):
            is_word = self.tokens[word].text.upper() in ("SYSTEM", "BERNOULLI", "REPEATABLE", "SEED")
            closing = self._closing(word + 1 if is_word else word)
            if closing is None:
                break
            last = closing
        return self.tokens[last].end + 1

    def written(self, view: Callable[[View], str], instant: Callable[[Instant], str]) -> str:
        """The text with all changes in it."""
        text = self._without_comments()
        begin, end = self.tokens[0].start, self.tokens[-1].end + 1
        pieces = []
        place = begin
        for change in sorted([*self.changes, *self._parameters(), *self._hints()], key=lambda c: c.span.start):
            assert place <= change.span.start, "changes do not overlap"
            pieces.append(text[place : change.span.start])
            made = change.becomes
            pieces.append(made if isinstance(made, str) else view(made) if isinstance(made, View) else instant(made))
            place = change.span.end
        return "".join([*pieces, text[place:end]])

    def _without_comments(self) -> str:
        """The text with blanks in place of comments: of what lies between tokens and is more than white space."""
        if "--" not in self.sql and "/*" not in self.sql:
            return self.sql
        pieces = [self.sql[: self.tokens[0].start]]
        place = self.tokens[0].start
        for token in self.tokens:
            if token.start >= place:
                gap = self.sql[place : token.start]
                is_comment = gap.lstrip().startswith(("--", "/*"))
                pieces += [" " * len(gap) if is_comment else gap, self._words(token)]
                place = token.end + 1
            elif token.end >= place:
                pieces.append(self.sql[place : token.end + 1])
                place = token.end + 1
        return "".join([*pieces, self.sql[place:]])

    def _words(self, token: Token) -> str:
        """A token as it is written, but for a comment between its two words."""
        text = self.sql[token.start : token.end + 1]
        first, _, last = token.text.partition(" ")
        if token.token_type in VALUES or not last or not ("--" in text or "/*" in text):
            return text
        return text[: len(first)] + " " * (len(text) - len(first) - len(last)) + text[-len(last) :]

    def _token_at(self, place: int) -> int | None:
        found = bisect_left(self.tokens, place, key=_start)
        return found if found < len(self.tokens) and self.tokens[found].start == place else None

    def _closing(self, opening: int) -> int | None:
        """The parenthesis that closes the one at `opening`; None if there is none."""
        depth = 0
        for place in range(opening, len(self.tokens)):
            kind = self.tokens[place].token_type
            depth += (kind is TokenType.L_PAREN) - (kind is TokenType.R_PAREN)
            if depth == 0:
                return place if kind is TokenType.R_PAREN else None
        return None

    def _parameters(self) -> list[Change]:
        """The values of parameters: their tokens all lie at the place of the mark."""
        found: dict[int, list[Token]] = {}
        for token in self.tokens:
            mark = self.sql[token.start : token.end + 1]
            if mark[:1] in ("?", ":") and (token.text != mark or token.token_type in VALUES):
                found.setdefault(token.start, []).append(token)
        # Blanks around it, so that it is no part of a word or text beside it: `r?`, `'a'?`.
        return [Change(Span(t[0].start, t[0].end + 1), f" {' '.join(map(_literal, t))} ") for t in found.values()]

    def _hints(self) -> list[Change]:
        """Optimizer hints go: millpond decides how a query runs."""
        hints = (token for token in self.tokens if token.token_type is TokenType.HINT)
        return [Change(Span(token.start, token.end + 1), " ") for token in hints]


def text_of(query: exp.Expr) -> QueryText | None:
    """The text a query was read from, if it is a user's as it was written."""
    found = query.meta_get(QUERY_TEXT)
    assert found is None or isinstance(found, QueryText)
    return found


def _start(token: Token) -> int:
    return token.start


def _literal(token: Token) -> str:
    if token.token_type is TokenType.STRING:
        return "'" + token.text.replace("\\", "\\\\").replace("'", "\\'") + "'"
    return f"X'{token.text}'" if token.token_type is TokenType.HEX_STRING else token.text
