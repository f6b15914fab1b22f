"""How large a statement may be: its text, and what of it becomes a tree (lists of plain literals do not: see `literals`).

Reading, binding, planning and translating take about a tenth of a millisecond for each word and symbol, half a millisecond for
each column and one and a half for each SELECT; and they look from each name in an expression up to its SELECT. So the largest
statements allowed here take a few seconds, and anything larger is refused as soon as it is read.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Final

from sqlglot import exp
from sqlglot.tokenizer_core import Token

from millpond.errors import LimitExceeded, Span, SqlSyntaxError, TypeMismatch, UnsupportedSql, brief
from millpond.sql.dialect import span_of

LONGEST_TEXT = 1 << 20
"""Bytes of a text that a function makes of little: DuckDB makes 2,048 at a time and does not count their memory."""
_MOST_TEXT: Final = 64 << 20
"""Bytes of all texts that functions make of constants in one statement, beside each other or put together."""
MOST_ELEMENTS = 10_000_000
"""Elements of a list that a function makes of constants."""
MOST_TOKENS = 25_000
_HALF_PAIR = re.compile("[\ud800-\udfff]")
MOST_DEPTH = 500
MOST_ANDS = 1000
MOST_COLUMNS = 4096
MOST_SELECTS = 1000


def check_text(text: object, longest: int) -> None:
    """Refuse what is not a text, or has more characters than the setting statement_length allows."""
    if not isinstance(text, str):
        raise TypeMismatch(f"SQL is a text, not {brief(text)}", hint='Write db.sql("SELECT ...").')
    if len(text) > longest:
        raise LimitExceeded(
            f"the statement has {len(text):,} characters, more than {longest:,}",
            setting="statement_length",
            hint="Raise setting statement_length, or bring rows with append instead of INSERT.",
        )
    wrong = _HALF_PAIR.search(text)
    if wrong is not None:  # it cannot be shown either
        raise SqlSyntaxError(
            f"character {wrong.start() + 1:,} of the statement is no character: it is half of a surrogate pair"
        )


def check_characters(text: str, what: str) -> None:
    """Refuse what no file, engine or terminal takes for a text."""
    if _HALF_PAIR.search(text) is not None:
        raise TypeMismatch(f"{what} cannot be {brief(text)}: half of a surrogate pair is no text")


def check_tokens(tokens: Sequence[Token]) -> None:
    """Refuse a text with more words, names, literals and symbols than can be understood in a few seconds."""
    if len(tokens) > MOST_TOKENS:
        raise LimitExceeded(
            f"the statement has {len(tokens):,} words and symbols, more than {MOST_TOKENS:,}",
            setting=None,
            detail="Lists of plain literals in IN and VALUES count as one.",
            hint="Put values into a standard table with append, and join it; or send several statements.",
        )


_LOGIC: Final = (exp.And, exp.Or, exp.Not, exp.Paren)


def check_conditions(top: exp.Expr) -> None:
    """Refuse a condition with more ANDs than DuckDB can plan: it compares each with each other, and cannot be interrupted."""
    ands, waiting = 0, [top]
    while waiting:
        node = waiting.pop()
        ands += isinstance(node, exp.And)
        if isinstance(node, _LOGIC):
            waiting.extend(node.iter_expressions())
    if ands > MOST_ANDS:
        raise LimitExceeded(
            f"a condition has {ands:,} ANDs, more than {MOST_ANDS:,}",
            setting=None,
            hint="Put the values into a standard table with append, and join it.",
        )


def check_depth(tree: exp.Expr) -> None:
    """Refuse what recursion cannot walk."""
    level, depth = [tree], 0
    while level:
        level = [child for node in level for child in node.iter_expressions()]
        depth += 1
        if depth > MOST_DEPTH:
            raise nested_too_deeply()


def nested_too_deeply() -> UnsupportedSql:
    return UnsupportedSql(
        "a statement is nested too deeply",
        detail="Long chains of + or EXCEPT and their like count as nested; those of AND, OR, || and UNION do not.",
        hint="Take it apart, for example with standard tables; a list of values can stand in IN (...) or VALUES.",
    )


def check_columns(count: int, of: str, sql: str, span: Span) -> None:
    """Refuse more columns than a table or SELECT may have."""
    if count > MOST_COLUMNS:
        raise UnsupportedSql(
            f"{of} of {count:,} columns is too wide",
            detail=f"The most is {MOST_COLUMNS:,} columns.",
            hint="Put values of the same kind into rows, with a column that names them.",
            sql=sql,
            span=Span(span.start, min(span.end, span.start + 80)),
        )


def too_long(function: str) -> str:
    """The message that a function would make too long a text."""
    return f"{function} would make a text of more than {LONGEST_TEXT:,} bytes"


def check_growth(tree: exp.Expr, kinds: Collection[type[exp.Expr]]) -> None:
    """Refuse constants that make too long a text or list: engines compute some while they plan, and cannot be stopped.

    `kinds` are those of its nodes. What depends on the rows is refused when it is computed.
    """
    if _MAKERS.isdisjoint(kinds):
        return
    nodes = list(tree.walk())
    lengths: dict[int, int] = {}  # of the texts that nodes stand for, as far as constants tell
    for node in reversed(nodes):  # what a node is made of comes before it
        if type(node) in (exp.GenerateSeries, exp.Anonymous):
            name, size = _elements(node)
            if size > MOST_ELEMENTS:
                raise LimitExceeded(
                    f"{name} would make a list of {size:,} elements, more than {MOST_ELEMENTS:,}",
                    setting=None,
                    hint="Use range() in FROM: it makes rows.",
                )
        if isinstance(node, exp.Literal):
            lengths[id(node)] = len(node.name.encode()) if node.is_string else 1
            continue
        parts = [lengths[id(part)] for part in node.iter_expressions()]
        name, size = _TEXTS[type(node)](node, lengths) if type(node) in _TEXTS else ("", sum(parts))
        if size > (LONGEST_TEXT if name else _MOST_TEXT):
            raise LimitExceeded(
                too_long(name) if name else f"a text would be made of more than {_MOST_TEXT:,} bytes",
                setting=None,
                hint="Make it in the program that uses it.",
            )
        lengths[id(node)] = max(1, size)


_Lengths = Mapping[int, int]


def _length(node: exp.Expr | None, lengths: _Lengths) -> int:
    return 1 if node is None else lengths[id(node)]


def _repeated(node: exp.Expr, lengths: _Lengths) -> tuple[str, int]:
    times = _whole(node.args["times"])
    return "repeat", _length(node.this, lengths) * (1 if times is None else max(0, times))


def _padded(node: exp.Expr, lengths: _Lengths) -> tuple[str, int]:
    return "lpad" if node.args.get("is_left") else "rpad", _whole(node.expression) or 1


def _spaces(node: exp.Expr, lengths: _Lengths) -> tuple[str, int]:
    return "space", _whole(node.this) or 1


def _formatted(node: exp.Expr, lengths: _Lengths) -> tuple[str, int]:
    """The widths and precisions in a format of printf."""
    digits = re.findall(r"\d+", node.this.name) if node.this.is_string else []
    return "format_string", sum(int(number[:20]) for number in digits)


def _replaced(node: exp.Expr, lengths: _Lengths) -> tuple[str, int]:
    whole, new = _length(node.this, lengths), _length(node.args.get("replacement"), lengths)
    # A pattern can match anywhere, also between characters.
    name, part = ("replace", node.expression) if isinstance(node, exp.Replace) else ("regexp_replace", None)
    least = max(1, _length(part, lengths))
    return (name, whole * new // least) if new > least else ("", whole)


_TEXTS: Final[dict[type[exp.Expr], Callable[[exp.Expr, _Lengths], tuple[str, int]]]] = {
    exp.Repeat: _repeated, exp.Pad: _padded, exp.Space: _spaces, exp.Format: _formatted, exp.Replace: _replaced,
    exp.RegexpReplace: _replaced,
}  # fmt: skip
_MAKERS: Final = frozenset({*_TEXTS, exp.GenerateSeries, exp.Anonymous})


def _elements(node: exp.Expr) -> tuple[str, int]:
    """The function that makes a list, and how long it will be as far as constants tell."""
    if isinstance(node, exp.GenerateSeries):
        begin, end, step = (_whole(node.args.get(key)) for key in ("start", "end", "step"))
        return "sequence", 0 if begin is None or end is None else abs(end - begin) // max(1, abs(step or 1)) + 1
    times = node.expressions[1:] if node.name.lower() == "array_repeat" else []
    return "array_repeat", (_whole(times[0]) or 0) if times else 0


def _whole(node: exp.Expr | None) -> int | None:
    """The whole number that sums and products of literals give; None for anything else."""
    if isinstance(node, (exp.Paren, exp.Cast)):
        return _whole(node.this)
    if isinstance(node, exp.Neg):
        value = _whole(node.this)
        return None if value is None else -value
    if isinstance(node, (exp.Add, exp.Sub, exp.Mul)):
        left, right = _whole(node.left), _whole(node.right)
        if left is None or right is None:
            return None
        return (
            left + right if isinstance(node, exp.Add) else left - right if isinstance(node, exp.Sub) else left * right
        )
    literal = isinstance(node, exp.Literal) and not node.is_string and node.name.isdecimal()
    return int(node.name[:20]) if node is not None and literal else None


class Sizes:
    """Counts while a tree is walked: call `see` for each node."""

    def __init__(self, sql: str, place: Span) -> None:
        self._sql = sql
        self._place = place
        self._selects = 0

    def see(self, node: exp.Expr) -> None:
        if isinstance(node, exp.Connector) and not isinstance(node.parent, _LOGIC):
            check_conditions(node)
        if not isinstance(node, exp.Select):
            return
        check_columns(len(node.expressions), "a SELECT", self._sql, span_of(node.expressions[0]) or self._place)
        self._selects += 1
        if self._selects > MOST_SELECTS:
            raise UnsupportedSql(
                f"a statement has more than {MOST_SELECTS:,} SELECTs",
                hint="Insert the rows into a standard table, or write them as VALUES.",
                sql=self._sql,
                span=Span(self._place.start, min(self._place.end, self._place.start + 80)),
            )
