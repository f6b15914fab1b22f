"""DATE_FORMAT: the letters of Java's patterns that strftime knows too."""

from __future__ import annotations

import re

from sqlglot import exp

from millpond.sql.rules.terms import (
    DATE,
    STRING,
    TIMESTAMP,
    NotOnDuckDB,
    Rule,
    Translator,
    Value,
    only_spark,
    text,
    unproved,
)
from millpond.sql.rules.types import convert

_LETTERS = {
    "yyyy": "%Y",
    "yy": "%y",
    "MM": "%m",
    "M": "%-m",
    "MMM": "%b",
    "MMMM": "%B",
    "dd": "%d",
    "d": "%-d",
    "DDD": "%j",
    "HH": "%H",
    "H": "%-H",
    "hh": "%I",
    "h": "%-I",
    "mm": "%M",
    "m": "%-M",
    "ss": "%S",
    "s": "%-S",
    "SSS": "%g",
    "SSSSSS": "%f",
    "E": "%a",
    "EEE": "%a",
    "EEEE": "%A",
    "a": "%p",
}
_TOKEN = re.compile(r"(?P<letters>([A-Za-z])\2*)|'(?P<quoted>[^']+)'|(?P<plain>[-/:., _])")


def strftime_pattern(pattern: str) -> str:
    """A pattern of Java's in the words of strftime; refuses all that is not proved.

    >>> strftime_pattern("yyyy-MM-dd'T'HH:mm")
    '%Y-%m-%dT%H:%M'
    """
    parts, place = [], 0
    while place < len(pattern):
        token = _TOKEN.match(pattern, place)
        written = _LETTERS.get(token["letters"]) if token is not None and token["letters"] else None
        if token is None or (token["letters"] and written is None):
            raise NotOnDuckDB(f"date_format with the pattern {pattern!r} is only supported on Spark")
        place = token.end()
        parts.append(written or (token["quoted"] or token["plain"]).replace("%", "%%"))
    return "".join(parts)


def date_format(node: exp.Anonymous, tr: Translator) -> Value:
    if len(node.expressions) != 2:
        raise NotOnDuckDB(unproved(node))
    value, pattern = tr.values(node.expressions)
    if value.type not in (DATE, TIMESTAMP) or not isinstance(pattern.constant, str) or not pattern.constant:
        raise NotOnDuckDB(f"date_format of {value.type} with such a pattern is only supported on Spark")
    written = text(strftime_pattern(pattern.constant))
    time = f"CAST({convert(value, TIMESTAMP).sql} AS TIMESTAMP)"
    sql = (
        f"CASE WHEN {time} IS NULL OR year({time}) BETWEEN 1000 AND 9999 THEN strftime({time}, {written}) "
        f"ELSE {only_spark('date_format of such a year')} END"
    )
    return Value(sql, STRING, True)


FUNCTIONS: dict[str, Rule] = {"date_format": date_format}
