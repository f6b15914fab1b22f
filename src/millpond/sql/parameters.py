"""Values for `?` and `:name` in a statement.

A value takes the place of its mark among the tokens, as the tokens of a literal of its type, after the text was taken apart
and before it is read. So it can stand wherever a literal can, whatever it holds cannot be anything but a literal, and
errors show the mark's place in the text.

    int             INT or BIGINT, beyond that DECIMAL     Decimal      DECIMAL of its digits
    float           DOUBLE                                 bool, None   TRUE or FALSE, NULL
    str, bytes      STRING, BINARY                         date         DATE
    datetime        TIMESTAMP; one without a zone is in UTC

Statements that are kept as text (definitions) take none.
"""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from sqlglot.tokenizer_core import Token, TokenType

from millpond.errors import Span, SqlError, SqlSyntaxError, TypeMismatch, UnknownName, UnsupportedSql, brief
from millpond.sql.dialect import tokenize
from millpond.sql.sizes import check_characters

Parameters = Sequence[Any] | Mapping[str, Any]

_TAKING = ("SELECT", "WITH", "VALUES", "TABLE", "FROM", "(", "INSERT", "UPDATE", "DELETE", "EXPLAIN")
_BEHIND_VALUE = (TokenType.VAR, TokenType.IDENTIFIER, TokenType.R_PAREN, TokenType.R_BRACKET, TokenType.STRING)
_TYPES = "None, bool, int, float, str, bytes, Decimal, date, datetime"
_HINT = "Give the values too: db.sql(text, [1, 'a']) for ?, db.sql(text, {'name': 1}) for :name."
_LEAST_BIGINT = -(2**63)
_MOST_DIGITS = 38  # of a DECIMAL


@dataclass(frozen=True)
class Mark:
    """A place for a value: tokens `first` up to but without `last`. `name` is None for `?`."""

    first: int
    last: int
    name: str | None


def with_parameters(sql: str, tokens: list[Token], parameters: Parameters | None) -> list[Token]:
    """The tokens of a text with values in the place of marks. A mark without a value, or the reverse, is an error."""
    marks = list(marks_in(tokens))
    given = _checked(parameters)
    if not marks and not given:
        return tokens
    values = _values(sql, tokens, marks, given)
    result: list[Token] = []
    place = begin = 0  # of the statement that a mark is in
    for mark, value in zip(marks, values, strict=True):
        for number in range(place, mark.first):
            begin = number + 1 if tokens[number].token_type is TokenType.SEMICOLON else begin
        _check_statement(sql, tokens, begin, mark)
        result += tokens[place : mark.first]
        result += _literal(sql, tokens, mark, value)
        place = mark.last
    return result + tokens[place:]


def written_out(sql: str, parameters: Parameters | None) -> str:
    """A text with the values written in the places of its marks, for a statement that is kept.

    >>> written_out("SELECT * FROM t WHERE name = ? AND v < ?", ["it's", 5])
    "SELECT * FROM t WHERE name =  'it\\\\'s'  AND v <  5 "
    """
    tokens = tokenize(sql)
    marks = list(marks_in(tokens))
    given = _checked(parameters)
    if not marks and not given:
        return sql
    pieces, place = [], 0
    for mark, value in zip(marks, _values(sql, tokens, marks, given), strict=True):
        span = _span(tokens, mark)
        text = _quoted(value) if isinstance(value, str) else _text(value)
        if text is None:
            raise _no_parameter(sql, tokens, mark, value)
        pieces += [sql[place : span.start], f" {text} "]
        place = span.end
    return "".join([*pieces, sql[place:]])


def check_lists(sql: str, lists: Iterable[Sequence[Any]]) -> None:
    """Raise if one of many lists of values does not fit the marks of a text, by number and types."""
    tokens = tokenize(sql)
    marks = list(marks_in(tokens))
    for given in lists:
        for mark, value in zip(marks, _values(sql, tokens, marks, given), strict=True):
            if isinstance(value, str):
                check_characters(value, "a parameter")
            elif _text(value) is None:
                raise _no_parameter(sql, tokens, mark, value)


def _quoted(text: str) -> str:
    check_characters(text, "a parameter")
    escaped = text.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"


def marks_in(tokens: Sequence[Token]) -> Iterator[Mark]:
    """The places for values in a text, in order."""
    for place, token in enumerate(tokens):
        if token.token_type is TokenType.PLACEHOLDER and token.text == "?":
            yield Mark(place, place + 1, None)
        elif token.token_type is TokenType.COLON and place + 1 < len(tokens):
            before, name = tokens[place - 1] if place else None, tokens[place + 1]
            part = before is not None and before.token_type in _BEHIND_VALUE and before.end + 1 == token.start
            if not part and name.start == token.end + 1 and name.text.isidentifier():
                yield Mark(place, place + 2, name.text)


def _checked(parameters: object) -> Parameters:
    if parameters is None:
        return ()
    if isinstance(parameters, Mapping):
        wrong = next((key for key in parameters if not isinstance(key, str)), None)
        if wrong is not None:
            raise TypeMismatch(f"the name of a parameter is a text, not {brief(wrong)}")
        return parameters
    if isinstance(parameters, Sequence) and not isinstance(parameters, (str, bytes, bytearray)):
        return parameters
    raise TypeMismatch(
        f"parameters are a list, a tuple or a dict, not {brief(parameters)}",
        hint="A single one is [value], or {'name': value}.",
    )


def _values(sql: str, tokens: list[Token], marks: list[Mark], given: Parameters) -> list[Any]:
    """The value for each mark."""
    named = isinstance(given, Mapping)
    other = next((mark for mark in marks if (mark.name is not None) != named), None)
    if other is not None and given:
        raise SqlError(
            "the statement has both ? and :name" if any((m.name is not None) == named for m in marks)
            else "the parameters have names, and the statement has ?" if named
            else "the parameters have no names, and the statement has :name",
            hint="Use one of them throughout: a list for ?, a dict for :name.",
            sql=sql,
            span=_span(tokens, other),
        )  # fmt: skip
    if isinstance(given, Mapping):
        return _named(sql, tokens, marks, given)
    if marks and not given:
        what = "parameter" if marks[0].name is None else f'parameter "{marks[0].name}"'
        raise SqlSyntaxError(f"{what} has no value", hint=_HINT, sql=sql, span=_span(tokens, marks[0]))
    if len(marks) != len(given):
        raise SqlError(
            f"{len(given)} parameter{'' if len(given) == 1 else 's'} {'is' if len(given) == 1 else 'are'} given, "
            f"and the statement has {len(marks)}",
            sql=sql,
            span=_span(tokens, marks[len(given)]) if len(marks) > len(given) else None,
        )
    return list(given)


def _named(sql: str, tokens: list[Token], marks: list[Mark], given: Mapping[str, Any]) -> list[Any]:
    for mark in marks:
        assert mark.name is not None
        if mark.name not in given:
            raise UnknownName("parameter", mark.name, given, sql=sql, span=_span(tokens, mark))
    used = {mark.name for mark in marks}
    unused = next((name for name in given if name not in used), None)
    if unused is not None:
        raise SqlError(f'parameter "{unused}" is given, and the statement does not have it', hint="Leave it out.")
    return [given[mark.name] for mark in marks if mark.name is not None]


def _check_statement(sql: str, tokens: list[Token], begin: int, mark: Mark) -> None:
    """Refuse a mark in a statement that is kept as text. `begin` is the statement's first token."""
    word = tokens[begin].text.upper()
    if word not in _TAKING:
        raise UnsupportedSql(
            f"{word} takes no parameters",
            detail="It is kept as it is written.",
            hint="Write the value itself.",
            sql=sql,
            span=_span(tokens, mark),
        )


def _span(tokens: list[Token], mark: Mark) -> Span:
    return Span(tokens[mark.first].start, tokens[mark.last - 1].end + 1)


def _literal(sql: str, tokens: list[Token], mark: Mark, value: Any) -> list[Token]:
    """The tokens of a value, all at the place of its mark."""
    place = tokens[mark.first]
    end = tokens[mark.last - 1].end

    def at_mark(kind: TokenType, text: str) -> Token:
        return Token(kind, text, place.line, place.col, place.start, end)

    if isinstance(value, str):
        check_characters(value, "a parameter")
        return [at_mark(TokenType.STRING, value)]
    text = _text(value)
    if text is None:
        raise _no_parameter(sql, tokens, mark, value)
    return [at_mark(token.token_type, token.text) for token in tokenize(text)]


def _no_parameter(sql: str, tokens: list[Token], mark: Mark, value: Any) -> TypeMismatch:
    name = f' "{mark.name}"' if mark.name is not None else ""
    return TypeMismatch(
        f"parameter{name} cannot be {brief(value)}, which is a {type(value).__name__}",
        detail=f"A parameter is one of: {_TYPES}.",
        sql=sql,
        span=_span(tokens, mark),
    )


def _text(value: Any) -> str | None:
    """A value that is no text as SQL: digits, signs and words of ours, nothing of the user's. None if it has no type here."""
    if type(value).__module__ == "numpy" and hasattr(value, "item"):
        value = value.item()
    if value is None:
        return "NULL"
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    if isinstance(value, int):
        if abs(value) >= 10**_MOST_DIGITS:
            return None
        return str(int(value)) if value != _LEAST_BIGINT else f"CAST('{_LEAST_BIGINT}' AS BIGINT)"
    if isinstance(value, float):
        if not math.isfinite(value):
            return f"CAST('{'NaN' if math.isnan(value) else 'Infinity' if value > 0 else '-Infinity'}' AS DOUBLE)"
        digits = repr(float(value))
        return digits if "e" in digits else f"{digits}e0"  # without an exponent it would be a DECIMAL
    if isinstance(value, Decimal):
        return _decimal(value)
    if isinstance(value, (bytes, bytearray)):
        return f"X'{value.hex()}'"
    if isinstance(value, dt.datetime):
        moment = value if value.tzinfo is None else value.astimezone(dt.UTC).replace(tzinfo=None)
        return f"TIMESTAMP '{moment.isoformat(sep=' ')}'"
    if isinstance(value, dt.date):
        return f"DATE '{value.isoformat()}'"
    return None


def _decimal(value: Decimal) -> str | None:
    _, digits, exponent = value.as_tuple()
    if not isinstance(exponent, int):  # not a number, or infinite
        return None
    scale = max(0, -exponent)
    precision = max(len(digits) + max(0, exponent), scale)
    return f"CAST({value:f} AS DECIMAL({precision}, {scale}))" if precision <= _MOST_DIGITS else None
