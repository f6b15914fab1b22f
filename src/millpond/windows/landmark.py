"""`[LANDMARK DAY]`: the rows since the last landmark. Landmarks are the multiples of one length, counted from 0 or 1970 UTC."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import Self

from millpond.catalog import StreamingTable
from millpond.duration import describe, duration
from millpond.errors import SqlSyntaxError, UnsupportedSql
from millpond.windows.base import Window, WindowText, names_column, written_interval

UNITS = ("MINUTE", "HOUR", "DAY")


@dataclass(frozen=True)
class LandmarkWindow(Window):
    keyword = "LANDMARK"
    examples = ("[LANDMARK DAY]",)

    between: timedelta
    """The time from one landmark to the next."""

    @property
    def length(self) -> timedelta | None:
        return self.between

    @classmethod
    def begins(cls, text: WindowText) -> bool:
        return text.at("LANDMARK") and not names_column(text)

    @classmethod
    def read(cls, text: WindowText) -> Self:
        text.expect("LANDMARK")
        place = text.index
        if text.at("INTERVAL"):
            between = text.interval()
            if between <= timedelta(0):
                raise SqlSyntaxError("landmarks need time between them", sql=text.sql, span=text.span(place))
            return cls(between)
        unit = text.word() if text.at_word() else ""
        if unit in ("WEEK", "MONTH", "QUARTER", "YEAR"):
            raise UnsupportedSql(
                f"LANDMARK {unit} is not supported",
                detail="Landmarks are the multiples of one length, counted from 0 or 1970-01-01 UTC, which was a Thursday."
                if unit == "WEEK"
                else f"Landmarks are the multiples of one length, and not every {unit} has the same.",
                hint="Write LANDMARK DAY, HOUR or MINUTE, or LANDMARK INTERVAL '7' DAY.",
                sql=text.sql,
                span=text.span(place, place + 1),
            )
        if unit not in UNITS:
            raise text.unexpected("MINUTE, HOUR, DAY or INTERVAL after LANDMARK", (*UNITS, "INTERVAL"))
        text.expect(unit)
        return cls(duration(1, unit))

    def start(self, table: StreamingTable, now: int | None) -> int | None:
        if now is None:
            return None
        between = table.unit.count(self.between)
        return now // between * between

    def __str__(self) -> str:
        return f"[LANDMARK {written_interval(self.between)}]"

    @property
    def description(self) -> str:
        return f"the rows since the last landmark, one every {describe(self.between)}"
