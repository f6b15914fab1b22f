"""The answer to a standing query: its rows, and which prefix of which streams it is of."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from millpond.errors import TypeMismatch, brief, counted
from millpond.result import Result


@dataclass(frozen=True)
class Visit:
    """A moment at which a standing query was asked: for each streaming table (by its folder) the time in its unit, and the
    number of rows it had accepted. The answer as it was then can be computed again from it."""

    times: Mapping[str, int | None]
    positions: Mapping[str, int]

    def __str__(self) -> str:
        return json.dumps({folder: [self.times[folder], self.positions[folder]] for folder in sorted(self.times)})

    @classmethod
    def parse(cls, text: str) -> Visit:
        """What `str` made a text of."""
        try:
            found = {str(folder): (time, position) for folder, (time, position) in json.loads(text).items()}
            for time, position in found.values():
                if not (time is None or is_bigint(time)) or not is_bigint(position) or position < 0:
                    raise ValueError("times are whole numbers, positions are not negative")
        except (ValueError, TypeError, AttributeError, RecursionError) as error:
            raise TypeMismatch(
                f"{brief(text)} is no earlier visit", hint="Give `visit` of an answer, as it was."
            ) from error
        return cls({f: t for f, (t, _) in found.items()}, {f: p for f, (_, p) in found.items()})


def is_bigint(value: object) -> bool:
    return type(value) is int and -(2**63) <= value < 2**63


class Answer(Result):
    """What a standing query gives, as of a moment. It is a `Result`.

    `as_of` has the time of each streaming table it reads, `position` how many rows each had accepted: the answer is that of
    exactly these rows. `way` says how it was found: from what is kept ("plain", "aggregate", "join" or "rows"), or from scratch
    and why. `visit` is the moment as a text: give it to `changes(since=...)` later.

    >>> _ = db.sql("CREATE STREAMING TABLE quotes (symbol STRING, price INT, t BIGINT) TIMESTAMP BY t")
    >>> _ = db.append("quotes", [("A", 10, 100), ("B", 30, 400)])
    >>> answer = db.register("SELECT symbol FROM quotes WHERE price < 20 BEGIN 0 END NOW").invoke()
    >>> answer.rows(), answer.as_of, answer.position
    ([('A',)], {'quotes': 400}, {'quotes': 2})
    """

    def __init__(
        self, rows: pa.Table, as_of: Mapping[str, Any], position: Mapping[str, int], way: str, visit: Visit
    ) -> None:
        super().__init__(rows)
        self.as_of = dict(as_of)
        self.position = dict(position)
        self.way = way
        self._visit = visit

    @property
    def visit(self) -> str:
        return str(self._visit)

    def with_rows(self, rows: pa.Table) -> Answer:
        return Answer(rows, self.as_of, self.position, self.way, self._visit)

    def _counted(self) -> str:
        moments = ", ".join(
            f"{table} as of {time} after {counted(self.position[table], 'row')}" for table, time in self.as_of.items()
        )
        return super()._counted()[:-1] + (f"; {moments})" if moments else ")")
