"""What a user tells the format: options of Spark are texts, and their names have no case."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from millpond.errors import CatalogError, UnknownName, brief

_NAMES = (
    *("pond", "table", "path", "where", "startingPosition", "endingPosition", "maxRowsPerTrigger", "timeout"),
    "checkpointLocation",  # of a stream: Spark hands it on
)
_TIMEOUT = 120.0
_MOST_DIGITS = 100  # Python reads no number of thousands of digits
EARLIEST, LATEST = "earliest", "latest"


@dataclass(frozen=True)
class Options:
    """`pond` is the folder, `table` what is read or written, `where` a condition on rows. Reading begins at `start`: 'earliest',
    'latest', or the number of a row; reading once ends before the row numbered `end`. A micro-batch has at most `most` rows. A
    writer waits `timeout` seconds for the process that writes the pond."""

    pond: str
    table: str
    start: str | int = EARLIEST
    end: int | None = None
    most: int | None = None
    where: str | None = None
    timeout: float = _TIMEOUT

    @classmethod
    def of(cls, given: Mapping[str, str]) -> Options:
        known = {name.lower(): name for name in _NAMES}
        for name in given:
            if name.lower() not in known:
                raise UnknownName("option", name, _NAMES, where=' in format "millpond"')
        values = {name.lower(): value for name, value in given.items()}
        pond, table = values.get("pond"), values.get("table") or values.get("path")
        if not pond:
            raise CatalogError(
                'format "millpond" needs the folder of a pond', hint='Give it: .option("pond", "/data/site").'
            )
        if not table:
            raise CatalogError('format "millpond" needs the name of a table', hint='Give it: .load("clicks").')
        start = values.get("startingposition", EARLIEST).lower()
        numbers = {
            option: None if (text := values.get(option.lower())) is None else _number(option, text, least)
            for option, least in (("endingPosition", 0), ("maxRowsPerTrigger", 1), ("timeout", 1))
        }
        return cls(
            pond,
            table,
            start if start in (EARLIEST, LATEST) else _number("startingPosition", start, 0),
            numbers["endingPosition"],
            numbers["maxRowsPerTrigger"],
            values.get("where"),
            float(numbers["timeout"] or _TIMEOUT),
        )


def _number(option: str, text: str, least: int) -> int:
    if not text.isascii() or not text.isdecimal() or len(text) > _MOST_DIGITS or int(text) < least:
        words = f", '{EARLIEST}' or '{LATEST}'" if option == "startingPosition" else ""
        raise CatalogError(f"option {option} is a whole number from {least} on{words}, not {brief(text)}")
    return int(text)
