"""Texts to values of a column, many at a time, telling which ones cannot be converted.

The readers of Arrow stop at the first value they cannot convert. This is the second try: the texts are cast with the
same rules, and where a cast fails the array is halved until the culprits are alone. Costs two casts per bad value at
most times the depth, and one cast when nothing is wrong.

Invariant. Whatever Arrow's CSV or JSON reader accepts directly is converted here to the same value; this module may
accept more (a text the readers always refuse always comes here).
"""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from millpond.arrow import arrow_type
from millpond.schema import Column

# A time of day followed by a zone. Without a zone a timestamp is taken as UTC.
_ZONED = r"[T ][0-9:.]+(Z|[+-][0-9]{2}(:?[0-9]{2})?)$"
NAIVE = pa.timestamp("us")
_FAILED = (pa.ArrowInvalid, pa.ArrowNotImplementedError, UnicodeDecodeError)


def convert(texts: pa.Array, column: Column) -> tuple[pa.Array, list[int]]:
    """Values of `column`'s type, and the places of those that are NULL because their text could not be converted.

    `texts` are strings, or binary when they may not be valid UTF-8.
    """
    kind = arrow_type(column.type)
    bad: list[int] = []
    parts: list[pa.Array] = []

    def go(part: pa.Array, start: int) -> None:
        try:
            parts.append(_cast(part, kind))
        except _FAILED:
            if len(part) == 1:
                bad.append(start)
                parts.append(pa.nulls(1, kind))
            else:
                half = len(part) // 2
                go(part.slice(0, half), start)
                go(part.slice(half), start + half)

    go(texts, 0)
    return (parts[0] if len(parts) == 1 else pa.concat_arrays(parts)), bad


def _cast(texts: pa.Array, kind: pa.DataType) -> pa.Array:
    if texts.type == kind or pa.types.is_binary(kind):
        return texts.cast(kind)
    texts = texts.cast(pa.string())  # refuses invalid UTF-8
    if pa.types.is_string(kind):
        return texts
    texts = pc.utf8_trim(texts, " \t")
    if not pa.types.is_timestamp(kind):
        return texts.cast(kind)
    zoned = pc.match_substring_regex(texts, _ZONED)
    nothing = pa.scalar(None, pa.string())
    with_zone = pc.if_else(zoned, texts, nothing).cast(kind)
    without = pc.if_else(zoned, nothing, texts).cast(NAIVE).cast(kind)
    return pc.coalesce(with_zone, without)


def not_a(column: Column, value: Any) -> str:
    """The reason for rejecting `value`."""
    shown = repr(value)
    article = "an" if str(column.type)[0] in "AEIOU" else "a"
    return f'column "{column.name}": {shown if len(shown) < 60 else shown[:57] + "..."} is not {article} {column.type}'
