"""A text that goes to Spark, checked as Spark's own lexer reads it: the last look before a query leaves.

`query.allowed` checks the tree; this checks the text, whoever made it, without trusting that sqlglot printed what it read.
Every word in front of a parenthesis must be a function on the reviewed list, a word of the grammar, or an alias with a list of
columns that the tree knows of. `USING` must not be followed by a text (that is how a script is called), and what the lexer
knows and no query of ours needs (`$`, `@`, `;`, `{`, hints) is refused.

Invariant: a text that is passed calls nothing but functions of `spark_functions`.

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
from collections.abc import Iterator, Mapping
from typing import Final

from millpond.errors import UnsupportedSql
from millpond.sql.spark_functions import ALLOWED, REFUSED, TABLE_FUNCTIONS, words

_CALLABLE: Final = ALLOWED | TABLE_FUNCTIONS

# Words of Spark's grammar that a parenthesis may follow.
_GRAMMAR: Final = words("""
    all and any array as between by case char cross cube decimal distinct else escape except exists filter
    from group having if in inner intersect interval is join lateral left like limit map minus not nulls
    offset on or order outer over partition percent pivot range right rollup rows select sets some struct
    tablesample then to union unpivot using values varchar when where with within
""")

_TOKEN: Final = re.compile(
    r"""
      (?P<space>\s+)
    | (?P<comment>--(?:\\\n|[^\r\n])*)
    | (?P<text>[rR]'[^']*'|[rR]"[^"]*"|'(?:[^'\\]|\\.|'')*'|"(?:[^"\\]|\\.|"")*")
    | (?P<quoted>`(?:[^`]|``)*`)
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
        before, word = word, (kind, token)


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
        if text.startswith("/*", place):
            place = _after_comment(text, place)
            continue
        found = _TOKEN.match(text, place)
        if found is None:
            raise UnsupportedSql(f"{text[place]!r} is not supported in a query")
        place = found.end()
        kind, token = str(found.lastgroup), found.group()
        if kind in ("space", "comment"):
            continue
        if kind == "quoted":
            token = token[1:-1].replace("``", "`")
        yield kind, token.lower() if kind in ("word", "quoted") else token


def _after_comment(text: str, place: int) -> int:
    """The end of a comment, which may hold others. A hint looks like one and is none."""
    if text.startswith("/*+", place):
        raise UnsupportedSql("an optimizer hint is not supported in a query")
    depth = 0
    for found in re.compile(r"/\*|\*/").finditer(text, place):
        depth += 1 if found.group() == "/*" else -1
        if depth == 0:
            return found.end()
    raise UnsupportedSql("a comment is never closed")
