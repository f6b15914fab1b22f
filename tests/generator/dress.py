"""The same statement in another dress: comments, line ends, keywords in other cases, names in backticks, hints.

Nothing of it may change an answer or the name of a column. What stands in texts and quoted names is left alone, and so are the
names of functions, which show in the names of columns as they are written.
"""

from __future__ import annotations

import re
from random import Random

_COMMENTS = (
    "/* c */",
    "/* it's */",
    '/* "q */',
    "/* ` */",
    "/* a /* nested */ one */",
    "/* FROM c [ROWS 1] ? :x NOW() */",
    "-- FROM c [ROWS 1]\n",
    "-- it's ; ?\n",
    "--\n",
    "/**/",
)
_SPACES = ("\n", "\t", "  ", "\n\n", "\r\n")
_KEYWORDS = frozenset(
    """all and as asc between by case cross cube desc distinct else end except exists false from full group
    grouping having in inner intersect is join left like limit minus natural not null nulls offset on or order outer over partition right
    rollup rows select semi sets then true union using values when where window with""".split()  # noqa: SIM905
)
_PARTS = re.compile(r"[rR]?'(?:[^'\\]|\\.|'')*'|\"(?:[^\"\\]|\\.)*\"|`[^`]*`|\s+|\w+|.", re.DOTALL)
_TABLES = frozenset("abcex")


def dressed(sql: str, rng: Random) -> str:
    """The statement, dressed with more or less."""
    parts = _PARTS.findall(sql)
    much = rng.choice((0.02, 0.1, 0.3))
    return "".join(
        _dressed(part, parts[i + 1 : i + 2], rng) if rng.random() < much else part for i, part in enumerate(parts)
    )


def _dressed(part: str, following: list[str], rng: Random) -> str:
    word = part.lower()
    if part.isspace():
        return rng.choice((rng.choice(_SPACES), f" {rng.choice(_COMMENTS)} "))
    if word == "select" and rng.random() < 0.2:
        return f"{part} /*+ {rng.choice(('BROADCAST(a)', 'COALESCE(1)', 'MERGE(a, b)'))} */"
    if word in _KEYWORDS and following != ["("]:
        return rng.choice((word, word.upper(), word.capitalize()))
    if word in _TABLES and following == ["."]:
        return f"`{part}`"
    return part
