"""A place in the tokens of a statement, and what can be read there: words, names, numbers, intervals.

Statements (`reader/`) and windows behind table names (`windows/`) are both read with it.

Invariant: a method reads what it is named after and leaves the cursor behind it, or raises a `SqlError` that shows the
place. Places are offsets in the whole text, however many statements it has.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import timedelta

from sqlglot.parser import SENTINEL_NONE
from sqlglot.parsers.spark import SparkParser
from sqlglot.tokenizer_core import Token, TokenType

from millpond.duration import UNITS, duration, parse_duration
from millpond.errors import Span, SqlError, SqlSyntaxError, UnsupportedSql, nearest

__all__ = ["LITERALS", "TEXTS", "VALUES", "TokenCursor", "found", "is_parameter", "value_as_name"]

TEXTS = frozenset({TokenType.STRING, TokenType.RAW_STRING})
# Tokens whose text is a value or a quoted name: never a keyword or a symbol, whatever it says.
VALUES = TEXTS | {
    TokenType.NUMBER, TokenType.IDENTIFIER, TokenType.HEX_STRING, TokenType.BIT_STRING, TokenType.BYTE_STRING,
    TokenType.NATIONAL_STRING, TokenType.NATIONAL_RAW_STRING, TokenType.HEREDOC_STRING, TokenType.UNICODE_STRING,
}  # fmt: skip
# Words that may follow an interval without being its unit.
AFTER_INTERVAL = frozenset(
    {
        "TIMESTAMP",
        "SHARD",
        "RANGE",
        "LATENESS",
        "AHEAD",
        "WITH",
        "WITHIN",
        "BEFORE",
        "SAMPLE",
        "AS",
        "FROM",
        "END",
        "REDUCE",
        "LAZY",
    }
)
MOST_DIGITS = 18  # of which every number fits a BIGINT; also keeps int() away from Python's own limit on digits


# Tokens that are values and never names.
LITERALS = VALUES - {TokenType.IDENTIFIER}


def is_parameter(sql: str, token: Token) -> bool:
    """Whether a token is (a part of) a parameter's value: it stands at the place of the mark, `?` or `:name`."""
    marks = (TokenType.PLACEHOLDER, TokenType.COLON)
    return bool(token) and token.token_type not in marks and sql[token.start : token.start + 1] in ("?", ":")


def value_as_name(sql: str, token: Token) -> SqlSyntaxError:
    """The error that a value stands where a name is needed."""
    span = Span(token.start, token.end + 1)
    if is_parameter(sql, token):
        message, hint = "expected a name, but found a parameter", "A parameter is a value. Write the name itself."
        return SqlSyntaxError(message, hint=hint, sql=sql, span=span)
    told = "A text is a value. Names need no quotes, or stand in backquotes." if token.token_type in TEXTS else None
    return SqlSyntaxError(f"expected a name, but found {found(sql, token)}", hint=told, sql=sql, span=span)


class TokenCursor:
    """A place in the tokens of one statement, and the words for what was expected there.

    Keywords are matched in any case, and never match a quoted name or a text. `sql` is the whole text the tokens were
    read from, so that every error can show its place.
    """

    def __init__(self, sql: str, tokens: list[Token], index: int = 0) -> None:
        self.sql = sql
        self.tokens = tokens
        self.index = index

    def look(self, ahead: int = 0) -> Token:
        """The token here or further on; past the end, sqlglot's sentinel, which is false."""
        place = self.index + ahead
        return self.tokens[place] if place < len(self.tokens) else SENTINEL_NONE

    def at(self, *words: str) -> bool:
        """Whether the next tokens are these keywords or symbols."""
        tokens = self.tokens[self.index : self.index + len(words)]
        return len(tokens) == len(words) and all(
            t.token_type not in VALUES and t.text.upper() == w for t, w in zip(tokens, words, strict=True)
        )

    def at_word(self) -> bool:
        """Whether the next token is an unquoted word, keyword or not."""
        token = self.look()
        return bool(token) and token.token_type not in VALUES and (token.text[:1].isalpha() or token.text[:1] == "_")

    def at_text(self) -> bool:
        return self.look().token_type in TEXTS

    def at_quoted_name(self) -> bool:
        return self.look().token_type is TokenType.IDENTIFIER

    def word(self, ahead: int = 0) -> str:
        """The keyword or symbol here or further on, in upper case; "" at the end. A value or quoted name equals no keyword."""
        token = self.look(ahead)
        if not token:
            return ""
        return f"`{token.text}" if token.token_type in VALUES else token.text.upper()

    def accept(self, *words: str) -> bool:
        if not self.at(*words):
            return False
        self.index += len(words)
        return True

    def expect(self, *words: str, after: str = "") -> None:
        for word in words:
            if not self.accept(word):
                shown = word if word.isalpha() else f'"{word}"'
                raise self.unexpected(f"{shown} after {after}" if after else shown, [word])

    def span(self, start: int, end: int | None = None) -> Span:
        """The characters of the tokens from `start` up to but without `end` (default: here)."""
        end = self.index if end is None else end
        if start >= len(self.tokens):
            return self._end()
        last = self.tokens[max(start, min(end, len(self.tokens)) - 1)]
        return Span(self.tokens[start].start, last.end + 1)

    def _end(self) -> Span:
        place = self.tokens[-1].end + 1 if self.tokens else len(self.sql)
        return Span(place, place)

    def unexpected(self, expected: str, words: Iterable[str] = (), *, hint: str | None = None) -> SqlSyntaxError:
        """An error at the next token; offers the nearest of `words` when it looks misspelt."""
        close = nearest(self.look().text, words) if self.at_word() else None
        if close and hint is None:
            hint = f'Did you mean "{close}"?'
        message = f"expected {expected}, but found {found(self.sql, self.look())}"
        return SqlSyntaxError(message, hint=hint, sql=self.sql, span=self.span(self.index, self.index + 1))

    def name(self, kind: str) -> str:
        """A name, in backquotes or not. Any word a query could use as a name is one."""
        token = self.look()
        if is_parameter(self.sql, token):
            raise value_as_name(self.sql, token)
        quoted = token.token_type is TokenType.IDENTIFIER
        if not quoted and token.token_type not in SparkParser.ID_VAR_TOKENS:
            hint = f"Put it in backquotes to use it as a name: `{token.text}`." if self.at_word() else None
            raise self.unexpected(f"{_article(kind)} name", hint=hint)
        if not token.text or not (quoted or token.text.replace("_", "").isalnum() or set(token.text) == {"_"}):
            raise self.unexpected(f"{_article(kind)} name", hint="Put names with other characters in backquotes.")
        self.index += 1
        if self.at("."):
            raise UnsupportedSql(
                f'{kind} name "{token.text}" has more than one part',
                hint="Use one name: a pond has no schemas.",
                sql=self.sql,
                span=self.span(self.index - 1, self.index + 2),
            )
        return token.text

    def names(self, kind: str) -> tuple[str, ...]:
        names = [self.name(kind)]
        while self.accept(","):
            names.append(self.name(kind))
        return tuple(names)

    def text(self, what: str) -> str:
        if self.look().token_type not in TEXTS:
            raise self.unexpected(what)
        self.index += 1
        return self.tokens[self.index - 1].text

    def whole(self, what: str) -> int:
        """A whole number, with or without a sign: any BIGINT."""
        sign = -1 if self.accept("-") else 1
        digits = self.look().text
        if self.look().token_type is not TokenType.NUMBER or not digits.isdecimal() or len(digits) > MOST_DIGITS + 1:
            raise self.unexpected(what)
        number = sign * int(digits)
        if not -(1 << 63) <= number < 1 << 63:
            raise self.unexpected(what)
        self.index += 1
        return number

    def interval(self) -> timedelta:
        """`INTERVAL '70' DAY`, `INTERVAL 70 DAY`, `INTERVAL '5 minutes'` or `INTERVAL 5` (seconds)."""
        start = self.index
        self.expect("INTERVAL")
        sign = "-" if self.accept("-") else ""
        token = self.look()
        if token.token_type not in (*TEXTS, TokenType.NUMBER):
            raise self.unexpected("a length of time such as '5' MINUTE")
        self.index += 1
        amount = sign + token.text
        exact = int(amount) if token.text.isdecimal() and len(token.text) <= MOST_DIGITS else amount
        unit = None
        if self.at_word() and self.look().text.upper() not in AFTER_INTERVAL:
            unit = self.look().text
            self.index += 1
        try:
            return duration(exact, unit) if unit else parse_duration(amount)
        except SqlError as error:
            hint = error.hint
            if unit and hint and not error.detail and (close := nearest(unit, UNITS)):
                hint = f'Did you mean "{close}"?'
            raise SqlSyntaxError(
                error.primary, detail=error.detail, hint=hint, sql=self.sql, span=self.span(start)
            ) from error
        except ValueError as error:  # int() refuses thousands of digits
            raise SqlSyntaxError("interval is too long", sql=self.sql, span=self.span(start)) from error


def _article(noun: str) -> str:
    return f"{'an' if noun[0] in 'aeiou' else 'a'} {noun}"


def found(sql: str, token: Token) -> str:
    """A token as an error names it."""
    if not token:
        return "the end of the statement"
    text = " ".join(sql[token.start : token.end + 1].split())
    text = text if len(text) <= 40 else text[:40] + "..."
    if token.token_type in TEXTS:
        return f"text {text}"
    return f"number {text}" if token.token_type is TokenType.NUMBER else f'"{text}"'
