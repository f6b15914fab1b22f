"""Long lists of literals, read without a tree: `x IN (1, 2, ...)`, `x = 1 OR x = 2 OR ...` and `VALUES (1, 'a'), (2, 'b'), ...`.

A tree has a node for each literal, and binding, planning and translating visit each node some thirty times: 100,000 values
took 38 seconds. But a list of plain literals says nothing that has to be bound. So `fold` finds such lists in the text with
regular expressions and puts a mark in their place, before the text is read; the reader takes what a mark stands for from the
text. In a tree, the list of an IN is then one literal whose text is the whole list, so that each dialect writes it as it is.
The rows of an INSERT become columns at once. Those of another VALUES become a sample of them, which has the same types, and
the whole list beside it (`folded_rows`) for whoever writes the text for an engine.

A chain of ORs is folded between its first and its last comparison: what stands between two ORs is never part of anything else.
So is `x <> 1 AND x <> 2 AND ...`, behind a comparison, where an AND cannot be that of a BETWEEN.

Invariant: folding never changes what a text means. A list is folded only if it has nothing but literals whose spelling means
the same to Spark, DuckDB and us. Whoever cannot read a folded text reads the whole one, which also gives the errors.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final, Literal

from sqlglot import exp
from sqlglot.tokenizer_core import Token, TokenType

from millpond.errors import Span, SqlSyntaxError

FOLDED: Final = TokenType.HIVE_TOKEN_STREAM
"""The type of the token that stands for a folded list; neither Spark's tokenizer nor its parser has a use for it."""

FEWEST = 100  # below, trees are fast enough, and more of a query can be said about single literals
_LIST = "list"  # in the meta of an exp.Literal: 'int' or 'text', what the list in its text is of
SEPARATOR, NULL = "\x1f", "\x1e"  # in a text that holds many values: what stands between them, what stands for NULL
_ROWS = "rows"  # in the meta of an exp.Values: the LiteralRows it stands for
_MARK = "\ue000"  # for private use, says Unicode

# Whole numbers without leading zeros that fit a BIGINT; decimals; texts without backslashes, which DuckDB reads otherwise.
_INT = r"-?(?:0|[1-9]\d{0,17}+)(?!\.)"
_DECIMAL = r"-?(?:0|[1-9]\d{0,17}+)\.\d{1,18}+"
_TEXT = r"'[^'\\\0]*+(?:''[^'\\\0]*+)*+'"
_TIME = r"(?:DATE\s*+'\d{4}-\d\d-\d\d'|TIMESTAMP\s*+'\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(?:\.\d{1,6})?')"
_WORD = r"(?:NULL|TRUE|FALSE)\b"
_VALUE = rf"(?:{_INT}|{_DECIMAL}|{_TEXT}|{_WORD}|{_TIME})"
_COMMA = r"\s*+,\s*+"

# What has to be skipped, because a list in it is none; what ends the search, because it is not read here as the tokenizer
# reads it (comments in comments, templates); and the two beginnings of a list.
_NAME = r"(?:\w++|`[^`]*+`)"
_SCAN = re.compile(
    r"""\br'[^']*+'|\br"[^"]*+"|'(?:[^'\\]|\\.)*+'|"(?:[^"\\]|\\.)*+"|`[^`]*+`|--[^\n]*+"""
    rf"""|(?P<unsure>/\*|\{{[#%{{]|{_MARK})"""
    r"""|\bIN\s*+\(\s*+(?P<in>(?=['\d-]))"""
    rf"""|\bOR\s++(?P<or>(?={_NAME}(?:\.{_NAME})*+\s*+=\s*+['\d-]))"""
    rf"""|(?:<>|!=)\s*+(?:{_INT}|{_TEXT})\s++AND\s++(?P<and>(?={_NAME}(?:\.{_NAME})*+\s*+(?:<>|!=)\s*+['\d-]))"""
    rf"""|\bINSERT\s++INTO\s++(?:TABLE\s++)?{_NAME}\s*+(?:\([^()'"]*+\)\s*+)?VALUES\s*+(?P<values>(?=\())"""
    r"""|\bVALUES\s*+(?P<rows>(?=\())""",
    re.IGNORECASE | re.DOTALL,
)
_INTS = re.compile(rf"{_INT}(?:{_COMMA}{_INT}){{{FEWEST - 1},}}+(?=\s*+\))")
_TEXTS = re.compile(rf"{_TEXT}(?:{_COMMA}{_TEXT}){{{FEWEST - 1},}}+(?=\s*+\))")


def _chain(word: str, operator: str, value: str) -> re.Pattern[str]:
    """Comparisons of one column with literals, each with the word behind it."""
    compared = rf"\s*+(?:{operator})\s*+{value}(?=\s++{word}\b)"
    column = rf"(?P<name>{_NAME}(?:\.{_NAME})*+)"
    return re.compile(rf"{column}{compared}(?:\s++{word}\s++(?P=name){compared})*+", re.IGNORECASE)


# The word of a chain, its comparison, and what stands for it.
_CHAINS = {"or": ("OR", "=", "IN"), "and": ("AND", "<>|!=", "NOT IN")}
_CHAIN_PATTERNS = {
    (kind, value): _chain(word, operator, value)
    for kind, (word, operator, _) in _CHAINS.items()
    for value in (_INT, _TEXT)
}
_FIRST_ROW = re.compile(rf"\(\s*+({_VALUE}(?:{_COMMA}{_VALUE})*+)\s*+\)", re.IGNORECASE)
_END_OF_STATEMENT = re.compile(r"\s*+(?:;|\Z)")
_EACH_VALUE = re.compile(_VALUE, re.IGNORECASE)
_NUMBER = re.compile(r"\d+\.?\d*(?:[eE][+-]?\d+)?")
_EACH_INT = re.compile(r"-?\d+")
_EACH_TEXT = re.compile(_TEXT)


@dataclass(frozen=True)
class _List:
    """A list: its place in the text, what stands for it there (with a mark), and what the mark means."""

    start: int
    end: int
    instead: str
    means: str


@dataclass(frozen=True)
class Fold:
    """Lists of a text: `text` has marks and blanks in their place. `lists` are the places of the marks, the ends of the lists,
    and what each mark means."""

    text: str
    lists: tuple[tuple[int, int, str], ...]

    def restore(self, sql: str, tokens: Sequence[Token]) -> list[Token] | None:
        """The tokens of `text`, with those of marks as what they stand for; None if a mark is not where it should be."""
        meant = {place: (end, text) for place, end, text in self.lists}
        found = 0
        result = []
        for token in tokens:
            if (list := meant.get(token.start)) is not None:
                if token.text != _MARK:
                    return None
                found += 1
                end, text = list
                token = Token(FOLDED, text, token.line, token.col, token.start, end - 1)
            result.append(token)
        return result if found == len(meant) else None


def fold(sql: str) -> Fold | None:
    """The long lists of literals in a text; None if there are none, or if the text may not mean what it seems to.

    >>> folded = fold(f"SELECT * FROM t WHERE a IN ({', '.join(map(str, range(1000)))})")
    >>> folded.text.replace(" ", ""), [(place, end) for place, end, _ in folded.lists]
    ('SELECT*FROMtWHEREaIN(\\ue000)', [(28, 4916)])
    """
    if len(sql) < 2 * FEWEST:
        return None
    lists: list[_List] = []
    place = 0
    while (match := _SCAN.search(sql, place)) is not None:
        if match["unsure"] is not None:
            return None
        place = match.end()
        found = chain = None
        if match["in"] is not None:
            found = _INTS.match(sql, place) or _TEXTS.match(sql, place)
        elif match["or"] is not None or match["and"] is not None:
            chain = "or" if match["or"] is not None else "and"
            found = _CHAIN_PATTERNS[chain, _INT].match(sql, place) or _CHAIN_PATTERNS[chain, _TEXT].match(sql, place)
        elif match["values"] is not None:
            found = _rows(sql, place)
            found = found if found is not None and _END_OF_STATEMENT.match(sql, found.end()) else None
        elif match["rows"] is not None:
            found = _rows(sql, place)
        if found is not None:
            place = found.end()  # also of a chain that is too short, so that each is looked at once
            folded = _as_in(found, chain) if chain is not None else _List(*found.span(), _MARK, found[0])
            lists += [folded] if folded is not None else []
    if not lists:
        return None
    parts = []
    before = 0
    for each in lists:
        parts += [sql[before : each.start], each.instead.ljust(each.end - each.start)]
        before = each.end
    marks = tuple((each.start + each.instead.index(_MARK), each.end, each.means) for each in lists)
    return Fold("".join([*parts, sql[before:]]), marks)


def _as_in(found: re.Match[str], chain: str) -> _List | None:
    """`x = 1 OR x = 2 ...` as an IN, if it is long."""
    word, operator, membership = _CHAINS[chain]
    name = found["name"]
    each = rf"(?:^|\s++{word}\s++){re.escape(name)}\s*+(?:{operator})\s*+({_INT}|{_TEXT})"
    values = re.findall(each, found[0], re.IGNORECASE)
    return _List(*found.span(), f"{name} {membership} ({_MARK})", ", ".join(values)) if len(values) >= FEWEST else None


def _rows(sql: str, place: int) -> re.Match[str] | None:
    first = _FIRST_ROW.match(sql, place)
    if first is None:
        return None
    width = len(_EACH_VALUE.findall(first[1]))
    row = rf"\(\s*+{_VALUE}(?:{_COMMA}{_VALUE}){{{width - 1}}}+\s*+\)"
    return re.compile(rf"{row}(?:{_COMMA}{row}){{{FEWEST - 1},}}+", re.IGNORECASE).match(sql, place)


def check_numbers(sql: str, tokens: Sequence[Token]) -> None:
    """Refuse numbers that the tokenizer takes and nobody can read: `1e`, `.1.`, `1e309`, `128Y`."""
    before: Token | None = None
    for place, token in enumerate(tokens):
        if token.token_type is TokenType.NUMBER:
            pointed = before is not None and before.token_type is TokenType.DOT and before.end + 1 == token.start
            if not _NUMBER.fullmatch(token.text) or (pointed and "." in token.text):
                start = before.start if pointed and before is not None else token.start
                raise SqlSyntaxError("number cannot be read", sql=sql, span=Span(start, token.end + 1))
            if "e" in token.text.lower() and math.isinf(float(token.text)):
                detail = "The largest DOUBLE is 1.7976931348623157E308."
                raise SqlSyntaxError(
                    "number is too large", detail=detail, sql=sql, span=Span(token.start, token.end + 1)
                )
            _check_suffix(sql, tokens, place)
        before = token


_ENDS = {TokenType.TINYINT: 2**7, TokenType.SMALLINT: 2**15, TokenType.BIGINT: 2**63}


def _check_suffix(sql: str, tokens: Sequence[Token], place: int) -> None:
    """`128Y` is no TINYINT, and `-128Y` is one."""
    kind = tokens[place + 2].token_type if place + 2 < len(tokens) else None
    if kind not in _ENDS or tokens[place + 1].token_type is not TokenType.DCOLON:
        return
    token = tokens[place]
    written = sql[tokens[place + 1].start : tokens[place + 1].start + 2] == "::"
    if written or not token.text.isdigit():
        return
    negative = place > 0 and tokens[place - 1].token_type is TokenType.DASH
    if int(token.text) >= _ENDS[kind] + negative:
        name = kind.name
        raise SqlSyntaxError(f"number does not fit {name}", sql=sql, span=Span(token.start, tokens[place + 2].end + 1))


# -- IN -----------------------------------------------------------------------------------------------------------------


def list_literal(token: Token) -> exp.Literal:
    """The list of an IN as one literal."""
    literal = exp.Literal(this=token.text, is_string=False)
    literal.meta[_LIST] = "text" if token.text.startswith("'") else "int"
    literal.update_positions(start=token.start, end=token.end, line=token.line, col=token.col)
    return literal


def list_of(node: exp.In) -> exp.Literal | None:
    """The one literal that is the whole list of an IN, if it was folded."""
    given = node.expressions
    folded = len(given) == 1 and isinstance(given[0], exp.Literal) and given[0].meta_get(_LIST) is not None
    return given[0] if folded else None


def kind_of(folded: exp.Literal) -> Literal["int", "text"]:
    kind: Literal["int", "text"] = folded.meta[_LIST]
    return kind


def ints_of(folded: exp.Literal) -> list[int]:
    return list(map(int, _EACH_INT.findall(folded.this)))


def texts_of(folded: exp.Literal) -> list[str]:
    return [_plain(text) for text in _EACH_TEXT.findall(folded.this)]


def values_of(folded: exp.Literal) -> list[int] | list[str]:
    return ints_of(folded) if kind_of(folded) == "int" else texts_of(folded)


def each_literal(node: exp.In) -> list[exp.Expression]:
    """The elements of an IN, each as a node: for whoever has to look at them one by one."""
    folded = list_of(node)
    if folded is None:
        return list(node.expressions)
    if kind_of(folded) == "int":
        return [exp.Literal.number(value) for value in ints_of(folded)]
    return [exp.Literal.string(value) for value in texts_of(folded)]


def _plain(text: str) -> str:
    return text[1:-1].replace("''", "'")


# -- VALUES -------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class LiteralRows:
    """The rows of a VALUES, column by column, each value as it was written (None is NULL). `text` is the whole list."""

    columns: tuple[tuple[str | None, ...], ...]
    text: str = ""

    def __deepcopy__(self, memo: object) -> LiteralRows:
        return self  # copies of a tree share it

    @classmethod
    def read(cls, token: Token) -> LiteralRows | None:
        """What a folded token holds; None if it takes more than a cast: a column of different kinds, a day that is none."""
        first = _FIRST_ROW.match(token.text)
        assert first is not None
        width = len(_EACH_VALUE.findall(first[1]))
        values = [None if value[0] in "Nn" else value for value in _EACH_VALUE.findall(token.text)]
        columns = tuple(tuple(values[place::width]) for place in range(width))
        rows = cls(columns, token.text)
        return rows if all(rows._plain_column(place) for place in range(width)) else None

    @property
    def is_separable(self) -> bool:
        """Whether no value has one of the characters that separate values in a text for an engine."""
        return SEPARATOR not in self.text and NULL not in self.text

    def joined(self, column: int) -> str:
        """The values of a column as one text, with `SEPARATOR` between them and `NULL` for NULL."""
        return SEPARATOR.join(NULL if text is None else text for text in self.texts(column))

    def _plain_column(self, place: int) -> bool:
        kinds = {kind for kind, *_ in _shapes(self.columns[place])}
        if kinds & {"date", "timestamp"}:
            try:
                for text in self.texts(place):
                    datetime.fromisoformat(text or "2000-01-01")
            except ValueError:
                return False
        return len(kinds) <= 1

    def sample(self) -> exp.Values:
        """A VALUES list that has a value of each shape, so that its columns have the types of the whole list's."""
        samples: list[list[str | None]] = [[*_shapes(column).values()] or [None] for column in self.columns]
        rows = []
        for number in range(max(map(len, samples))):
            row = [_node(each[number] if number < len(each) else each[0]) for each in samples]
            rows.append(exp.Tuple(expressions=row))
        return exp.Values(expressions=rows)

    def texts(self, column: int) -> list[str | None]:
        """The values of a column without quotes: what a cast to the column's type reads."""
        values = self.columns[column]
        if any(value is not None and value.endswith("'") for value in values):
            return [None if value is None else _plain(value[value.index("'") :]) for value in values]
        return list(values)


def fold_rows(values: exp.Values, rows: LiteralRows) -> None:
    """Make a VALUES stand for these rows."""
    values.set("expressions", rows.sample().expressions)
    values.meta[_ROWS] = rows


def folded_rows(values: exp.Values) -> LiteralRows | None:
    """The rows that a VALUES stands for, if they were folded; its own are then a sample of them."""
    found: LiteralRows | None = values.meta_get(_ROWS)
    return found


def unfold_rows(tree: exp.Expr) -> None:
    """Put the whole lists back, in place, for a text in Spark's words; nobody may look at the rows one by one afterwards."""
    for values in tree.find_all(exp.Values):
        rows = folded_rows(values)
        if rows is not None:
            whole = exp.Literal(this=rows.text[1:-1], is_string=False)  # it is written in parentheses
            values.set("expressions", [exp.Tuple(expressions=[whole])])


def folded_length(tree: exp.Expr) -> int:
    """Characters of the lists of rows in a tree that its own text does not show."""
    return sum(len(rows.text) for values in tree.find_all(exp.Values) if (rows := folded_rows(values)) is not None)


_LARGEST_INT = 2**31 - 1
_Shape = tuple[str, int, int]


def _shapes(column: Sequence[str | None]) -> dict[_Shape, str]:
    """The shapes of a column's values, each with an example. Literals of one shape have one type."""
    found: dict[_Shape, str] = {}
    for value in set(column):
        if value is not None:
            found.setdefault(_shape(value), value)
    return found


def _shape(value: str) -> _Shape:
    if value.endswith("'"):
        return (value[: value.index("'")].strip().lower() or "text", 0, 0)
    digits = value.lstrip("-")
    if not digits[0].isdigit():
        return ("boolean", 0, 0)
    whole, point, fraction = digits.partition(".")
    if point:
        return ("number", 0 if whole == "0" else len(whole), len(fraction))
    return ("number", -1 if int(whole) <= _LARGEST_INT else -2, 0)


def _node(value: str | None) -> exp.Expr:
    if value is None:
        return exp.Null()
    if value.endswith("'"):
        text = exp.Literal.string(_plain(value[value.index("'") :]))
        kind = value[: value.index("'")].strip()
        return exp.cast(text, kind, dialect="spark") if kind else text
    if value.upper() in ("TRUE", "FALSE"):
        return exp.Boolean(this=value.upper() == "TRUE")
    number = exp.Literal(this=value.lstrip("-"), is_string=False)
    return exp.Neg(this=number) if value.startswith("-") else number
