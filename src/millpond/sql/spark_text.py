"""A text that goes to Spark, checked as Spark's own lexer reads it: the last look before a query leaves.

`query.allowed` checks the tree; this checks the text, whoever made it, without trusting that sqlglot printed what it read.
Every word in front of a parenthesis must be a function on the reviewed list, a word of the grammar, or an alias with a list of
columns that the tree knows of. `USING` must not be followed by a text (that is how a script is called), nothing is inserted
anywhere, and what the lexer knows and no query of ours needs (`$`, `@`, `;`, `{`, comments, hints) is refused.

The tree was made from sqlglot's tokens, so it tells about a text only as far as Spark sees the same tokens. What a lexer skips
is where two lexers can differ: a comment with a backslash at the end goes on in the next line for Spark, and not for sqlglot,
so that the quotes of the rest pair differently. So comments never leave (`query_text`), and `check_quotes` compares every
quoted token.

Invariant: a text that is passed calls nothing but functions of `spark_functions`, and its tokens are those of its tree.

>>> check_spark_text("SELECT abs(`a`) FROM `v` AS `t`(`a`)", {"t": 1})
>>> check_spark_text("SELECT reflect('java.lang.System', 'exit', 7)", {})
Traceback (most recent call last):
    ...
millpond.errors.UnsupportedSql: function "reflect" cannot be called in a query
Detail: It runs code of the Java machine.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from sqlglot.tokenizer_core import Token, TokenType

from millpond.errors import Span, UnsupportedSql
from millpond.sql.cursor import VALUES, is_parameter
from millpond.sql.literals import FOLDED
from millpond.sql.spark_functions import ALLOWED, REFUSED, TABLE_FUNCTIONS, words

_CALLABLE: Final = ALLOWED | TABLE_FUNCTIONS
_QUOTES: Final = "'\"`"
_QUOTED: Final = VALUES - {TokenType.NUMBER}
_LETTERS: Final = str.maketrans("\u017f\u0131", "si")  # Spark compares keywords in upper case, where these are S and I

# Words of Spark's grammar that a parenthesis may follow.
_GRAMMAR: Final = words("""
    all and any array as between by case char cross cube decimal distinct else escape except exists filter
    for from group having if in inner intersect interval is join lateral left like limit map minus not nulls
    offset on or order outer over partition percent pivot range repeatable right rollup rows select sets some struct
    tablesample then to union unpivot using values varchar when where with within
""")

_TOKEN: Final = re.compile(
    r"""
      (?P<space>\s+)
    | (?P<comment>--|/\*)
    | (?P<text>[rR]'[^']*'|[rR]"[^"]*"|'(?:[^'\\]|\\.|'')*'|"(?:[^"\\]|\\.|"")*")
    | (?P<quoted>`(?:[^`]|``)*`)
    | (?P<number>\d+\.(?!\w))
    | (?P<word>\w+)
    | (?P<open>\()
    | (?P<mark>[-+*/%<>=!&|^~,.:\[\])])
    """,
    re.VERBOSE | re.DOTALL,
)


def check_spark_text(text: str, aliases: Mapping[str, int]) -> None:
    """Refuse a text that calls what is not listed. `aliases` says how often each alias with a list of columns is in it, by
    its name in lower case."""
    left = Counter(aliases)
    before = word = ("", "")
    for kind, token in _tokens(text):
        if kind == "open" and word[0] in ("word", "quoted"):
            _check_call(word, before, left)
        if kind == "text" and word == ("word", "using"):
            raise UnsupportedSql("TRANSFORM ... USING is not supported in a query")
        if kind == "word" and token in ("into", "overwrite") and word == ("word", "insert"):
            raise UnsupportedSql("INSERT in a query is not supported")
        if kind in ("word", "quoted") and word == ("word", "table") and before[0] == "open":
            # To Spark, (TABLE x) is a query of a relation that nobody has looked up; to sqlglot, a column.
            raise UnsupportedSql("TABLE in a query is not supported", hint="Write SELECT * FROM <table>.")
        before, word = word, (kind, token)


def check_quotes(sql: str, tokens: Iterable[Token]) -> None:
    """Refuse a text in which Spark would see other texts and quoted names than `tokens`, those that sqlglot sees."""
    for token in tokens:
        if token.token_type is FOLDED or is_parameter(sql, token):
            continue  # neither is read by Spark as it stands here, or it has been read by rules of its own
        if token.token_type in _QUOTED:
            # X'ff' is one token here, and two for Spark.
            found = _quoted_at(sql, token.start) or _quoted_at(sql, token.start + 1)
            differs = found is None or found.end() != token.end + 1
        else:
            differs = any(quote in token.text for quote in _QUOTES)
        if differs:
            span = Span(token.start, token.end + 1)
            raise UnsupportedSql("this text is not quoted as Spark reads it", sql=sql, span=span)


def _quoted_at(sql: str, place: int) -> re.Match[str] | None:
    found = _TOKEN.match(sql, place)
    return found if found is not None and found.lastgroup in ("text", "quoted") else None


def _check_call(word: tuple[str, str], before: tuple[str, str], left: Counter[str]) -> None:
    kind, name = word
    if before[1] == "." and before[0] == "mark":
        raise UnsupportedSql("a function has a plain name", hint="Write it without a catalog or schema.")
    if name in _CALLABLE or (kind == "word" and (name in _GRAMMAR or name[0].isdigit())):
        return
    if left[name] > 0:
        left[name] -= 1
        return
    raise UnsupportedSql(f'function "{name}" cannot be called in a query', detail=REFUSED.get(name))


def _tokens(text: str) -> Iterator[tuple[str, str]]:
    """Kind and text of each token; words and names in lower case, names without their quotes."""
    place = 0
    while place < len(text):
        found = _TOKEN.match(text, place)
        if found is None:
            raise UnsupportedSql(f"{text[place]!r} is not supported in a query")
        place = found.end()
        kind, token = str(found.lastgroup), found.group()
        if kind == "comment":
            what = "an optimizer hint" if text.startswith("+", place) else "a comment"
            raise UnsupportedSql(f"{what} is not supported in a query")
        if kind == "space":
            continue
        if kind == "word":
            token = token.translate(_LETTERS)
        elif kind == "quoted":
            token = token[1:-1].replace("``", "`")
        yield kind, token.lower() if kind in ("word", "quoted") else token
