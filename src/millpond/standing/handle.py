"""What a client holds of a standing query: it is asked through it, as often as the client comes back."""

from __future__ import annotations

from typing import Any, Protocol

import pyarrow as pa

from millpond.process import ProcessBound
from millpond.result import Result
from millpond.standing.answer import Answer, Visit
from millpond.standing.definition import StandingQuery

CHANGE = "_change"
"""The column of `changes` that says whether a row came ('+') or went ('-')."""


class Asking(Protocol):
    """How a handle reaches the pond."""

    def answer(self, query: StandingQuery, as_of: Any, visit: Visit | None) -> Answer:
        """The answer to a query."""

    def difference(self, rows: pa.Table, without: pa.Table) -> pa.Table:
        """The rows of one table beyond those of another, each as often as it is there more often."""

    def drop(self, query: StandingQuery) -> None:
        """Drop a query."""

    def explain(self, query: StandingQuery) -> Result:
        """How a query is answered."""


class Handle(ProcessBound):
    """A standing query that was registered. Get one from `Pond.register` or `Pond.registered`; use it from any thread.

    >>> _ = db.sql("CREATE STREAMING TABLE quotes (symbol STRING, price INT, t BIGINT) TIMESTAMP BY t")
    >>> cheap = db.register("SELECT symbol, price FROM quotes WHERE price < 20 BEGIN NOW - INTERVAL '10' MINUTE END NOW")
    >>> _ = db.append("quotes", [("A", 10, 100), ("B", 30, 400), ("C", 15, 650)])
    >>> cheap.invoke().rows()
    [('C', 15), ('A', 10)]
    >>> _ = db.append("quotes", [("D", 19, 720)])
    >>> cheap.changes().rows()
    [('-', 'A', 10), ('+', 'D', 19)]
    """

    def __init__(self, query: StandingQuery, asking: Asking) -> None:
        self._query = query
        self._asking = asking
        self._last: Answer | None = None

    @property
    def id(self) -> int:
        """Its number. Keep it to find the query again: `db.registered(id)`."""
        return self._query.number

    @property
    def name(self) -> str | None:
        """Its name, if it was given one."""
        return self._query.name

    @property
    def sql(self) -> str:
        """The query."""
        return self._query.sql

    @property
    def keep(self) -> str:
        """What may be kept of it: 'auto', 'partial', 'complete' or 'nothing'."""
        return self._query.keep

    def invoke(self, as_of: Any = None) -> Answer:
        """The answer over the window as it is now, or as it was at an earlier time."""
        answer = self._asking.answer(self._query, as_of, None)
        if as_of is None:
            self._last = answer
        return answer

    def changes(self, since: str | None = None) -> Answer:
        """What came ('+') and went ('-') since this handle was invoked last, in the column `_change`; everything, the first time.

        `since` is the `visit` of an earlier answer, for a client that was in another process then.
        """
        asking, before = self._asking, self._last
        if since is not None:
            before = asking.answer(self._query, None, Visit.parse(since))
        now = asking.answer(self._query, None, None)
        gone = now.arrow().slice(0, 0) if before is None else asking.difference(before.arrow(), now.arrow())
        new = now.arrow() if before is None else asking.difference(now.arrow(), before.arrow())
        self._last = now
        rows = pa.concat_tables([_marked("-", gone), _marked("+", new)])
        return now.with_rows(rows)

    def explain(self) -> Result:
        """How it is answered, and why so."""
        return self._asking.explain(self._query)

    def drop(self) -> None:
        """Drop the query: what was kept of it is freed, and its number is not given again."""
        self._asking.drop(self._query)
        self._last = None

    def __repr__(self) -> str:
        return f"<standing query {self._query.shown}: {' '.join(self.sql.split())}>"


def _marked(sign: str, rows: pa.Table) -> pa.Table:
    return rows.add_column(0, pa.field(CHANGE, pa.string()), pa.array([sign] * rows.num_rows, pa.string()))
