"""What a query and a table say about reading less: REDUCE behind a table's name, WITHIN at the end, REDUCE BY in a definition.

`REDUCE TO 10 PERCENT` is short for `REDUCE USING uniform(10)`: how much is read is said by a function, of which nothing is
known here but its name and arguments; or by a reduction of the catalog, which has no parentheses.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import Final

from sqlglot.tokenizer_core import TokenType

from millpond.errors import SqlSyntaxError
from millpond.sql.cursor import TEXTS, TokenCursor

REDUCE: Final = "reduce"  # in the meta of an exp.Table: its `Reduce`
CONFIDENCE: Final = 0.95  # where a query says nothing else

Argument = float | int | str | timedelta


@dataclass(frozen=True)
class Reduce:
    """By what a table is read reduced: by a function with these arguments or, without parentheses, by windows that are kept.
    `start` and `end` are its place in the text."""

    name: str
    arguments: tuple[Argument, ...] | None
    start: int
    end: int


def at_reduce(cursor: TokenCursor) -> bool:
    """Whether a REDUCE clause begins here, and not an alias of that name."""
    return cursor.at("REDUCE", "TO") or cursor.at("REDUCE", "USING")


def read_reduce(cursor: TokenCursor) -> Reduce:
    """`REDUCE TO <number> PERCENT`, `REDUCE USING <name>(<arguments>)` or `REDUCE USING <name>`."""
    start = cursor.look().start
    cursor.expect("REDUCE")
    if cursor.accept("TO"):
        percent = read_percent(cursor, "the part of the rows that is read")
        return Reduce("uniform", (percent,), start, cursor.tokens[cursor.index - 1].end + 1)
    cursor.expect("USING")
    name = cursor.name("reduction").lower()
    if not cursor.accept("("):
        return Reduce(name, None, start, cursor.tokens[cursor.index - 1].end + 1)
    arguments: list[Argument] = []
    if not cursor.at(")"):
        arguments.append(_argument(cursor))
        while cursor.accept(","):
            arguments.append(_argument(cursor))
    cursor.expect(")")
    return Reduce(name, tuple(arguments), start, cursor.tokens[cursor.index - 1].end + 1)


def _argument(cursor: TokenCursor) -> Argument:
    if cursor.at("INTERVAL"):
        return cursor.interval()
    if cursor.look().token_type in TEXTS:
        return cursor.text("")
    sign = -1 if cursor.accept("-") else 1
    number = read_number(cursor, "a number, a text or an INTERVAL")
    return sign * number


def read_number(cursor: TokenCursor, what: str) -> float | int:
    token = cursor.look()
    try:
        if token.token_type is TokenType.NUMBER:
            number = int(token.text) if token.text.isdecimal() else float(token.text)
            cursor.index += 1
            return number
    except ValueError:
        pass
    raise cursor.unexpected(what)


def read_percent(cursor: TokenCursor, what: str, *, whole: bool = True) -> float | int:
    """A number of percent, more than 0 and at most (or, unless `whole`, less than) 100, and the word."""
    start = cursor.index
    negative = cursor.accept("-")
    percent = read_number(cursor, "a number of percent")
    cursor.expect("PERCENT", after="the number")
    if negative or not (0 < percent < 100 or (whole and percent == 100)):
        most = "at most" if whole else "less than"
        raise SqlSyntaxError(
            f"{what} is more than 0 and {most} 100 percent",
            hint="REDUCE TO 10 PERCENT reads a tenth." if whole else None,
            sql=cursor.sql,
            span=cursor.span(start),
        )
    return percent
