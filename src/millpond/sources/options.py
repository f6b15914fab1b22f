"""The options that sources of text lines share, for each format."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from millpond.extensions import Option, boolean

_TRUTH = "'true' or 'false'"


def _delimiter(text: str) -> str:
    value = "\t" if text == "\\t" else text
    if len(value) != 1 or not value.isascii() or value in '"\r\n\0':
        raise ValueError(text)
    return value


CSV = (
    Option("header", "whether the first line names the columns", boolean, _TRUTH, default=False),
    Option(
        "delimiter", "what stands between values", _delimiter,
        "one ASCII character, or \\t for a tab; not a quote or a line end", default=",",
    ),
    Option("null", "the text that means NULL, where it is not in quotes", default=""),
)  # fmt: skip
JSON = (Option("strict", "whether keys that are no columns make a line malformed", boolean, _TRUTH, default=False),)


@dataclass(frozen=True)
class LineOptions:
    """How lines are read. `null` is the text that means NULL; only where it is not in quotes. `strict` refuses JSON
    objects with keys that are not columns. `header`: the first line names the fields, in any order and case."""

    header: bool = False
    delimiter: str = ","
    null: str = ""
    strict: bool = False

    @classmethod
    def of(cls, options: Mapping[str, Any]) -> LineOptions:
        """Those among the options of a source."""
        return cls(**{name: options[name] for name in ("header", "delimiter", "null", "strict") if name in options})
