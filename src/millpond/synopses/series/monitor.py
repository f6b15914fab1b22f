"""Persistent queries over the newest values of many series."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar, Self

import numpy.typing as npt

from millpond.synopses.base import SynopsisError, whole
from millpond.synopses.layout import StateWriter, unseal
from millpond.synopses.series.pairs import Pairs
from millpond.synopses.series.queries import KINDS, Correlation, SeriesQuery, SeriesWindow, TopPairs, from_text, to_text
from millpond.synopses.series.slots import Slots


class SeriesMonitor:
    """`series` time series, numbered from 0, their values of the last `keep` units of time, and queries over them.

    Time goes in slots of `slide` units: a window ends with the newest slot and has a whole number of them. All windows lie
    over the same values, so one that is added or made longer is full at once as far as values are kept, and `extend` gives it
    history from elsewhere. A window longer than what has been seen so far has what is there (`covered` says how much).

    Queries over windows of equal length share the work of a slot. Answers are exact up to rounding (except where a query says
    `miss`); they are computed from the values each time, so nothing drifts, however long it runs.
    """

    KIND: ClassVar[bytes] = b"SMON"
    VERSION: ClassVar[int] = 1

    def __init__(self, series: int, keep: int, slide: int = 1) -> None:
        slide = whole("a slide", slide, 1)
        self._slots = Slots(series, _whole_slots("what is kept", keep, slide), slide)
        self._queries: dict[str, SeriesQuery] = {}
        self._last: dict[str, Pairs] = {}

    def __repr__(self) -> str:
        return f"SeriesMonitor(series={self.series}, keep={self.keep}, slide={self.slide})"

    @property
    def series(self) -> int:
        return self._slots.series

    @property
    def keep(self) -> int:
        return self._slots.keep * self.slide

    @property
    def slide(self) -> int:
        return self._slots.slide

    @property
    def now(self) -> int | None:
        """The end of the newest slot."""
        return self._slots.now if self._slots.held else None

    @property
    def nbytes(self) -> int:
        return self._slots.nbytes

    # -- values -------------------------------------------------------------------------------------------------------

    def add_slot(self, time: int, values: npt.ArrayLike) -> None:
        """One value for each series; NaN where there is no new one, then it keeps the one before."""
        self._slots.put_slot(time, values)

    def add_many(self, series: npt.ArrayLike, times: npt.ArrayLike, values: npt.ArrayLike) -> None:
        """Rows in the order of their times. Of one series in one slot the last value counts."""
        self._slots.put(series, times, values)

    def advance(self, now: int) -> None:
        """It is this late: series without new values keep theirs."""
        slot = -(-whole("a time", now) // self.slide)
        if self._slots.held:
            self._slots.advance(slot)

    def extend(self, keep: int, history: npt.ArrayLike | None = None) -> None:
        """Keep more, or less, from now on. `history[series, slot]` has values of the slots before the oldest kept one."""
        slots = _whole_slots("what is kept", keep, self.slide)
        longest = max((query.window for query in self._queries.values()), default=0)
        if slots * self.slide < longest:
            raise SynopsisError(f"a query has a window of {longest}", hint="Make it shorter first, or remove it.")
        self._slots.grow(slots, history)

    def add_series(self, count: int = 1) -> range:
        """More series, and what their numbers are. They have no values so far."""
        before = self.series
        self._slots.add_series(count)
        return range(before, self.series)

    # -- queries ------------------------------------------------------------------------------------------------------

    @property
    def queries(self) -> dict[str, SeriesQuery]:
        return dict(self._queries)

    def add_query(self, name: str, query: SeriesQuery) -> None:
        if name in self._queries:
            raise SynopsisError(f"there is a query {name!r} already", hint="Remove it first, or take another name.")
        self._check(query)
        self._queries[name] = query

    def remove_query(self, name: str) -> None:
        self._query(name)
        del self._queries[name]
        self._last.pop(name, None)

    def resize(self, name: str, window: int) -> None:
        """The query goes on over a window of another length."""
        query = replace(self._query(name), window=window)
        self._check(query)
        self._queries[name] = query

    def covered(self, window: int) -> int:
        """How much of a window has been seen: the window, once it is full."""
        return min(_whole_slots("a window", window, self.slide), self._slots.held) * self.slide

    def answer(self, name: str) -> Any:
        """What one query says now."""
        query = self._query(name)
        return self._answer(name, query, self._window(query.window))

    def answers(self) -> dict[str, Any]:
        """What all queries say now."""
        windows = {length: self._window(length) for length in {query.window for query in self._queries.values()}}
        return {name: self._answer(name, query, windows[query.window]) for name, query in self._queries.items()}

    def ask(self, query: SeriesQuery) -> Any:
        """A question asked once."""
        self._check(query)
        return query.answer(self._window(query.window), None)

    def _answer(self, name: str, query: SeriesQuery, window: SeriesWindow) -> Any:
        found = query.answer(window, self._last.get(name))
        if isinstance(query, TopPairs):
            self._last[name] = found
        return found

    def _window(self, length: int) -> SeriesWindow:
        return SeriesWindow(self._slots.window(length // self.slide), self._slots.newest & 0x7FFFFFFFFFFFFFFF)

    def _query(self, name: str) -> SeriesQuery:
        if name not in self._queries:
            raise SynopsisError(
                f"there is no query {name!r}", detail=f"There are: {', '.join(map(repr, self._queries)) or 'none'}."
            )
        return self._queries[name]

    def _check(self, query: SeriesQuery) -> None:
        if type(query) not in KINDS.values():
            raise SynopsisError(f"{query!r} is not a query over series")
        if _whole_slots("a window", query.window, self.slide) > self._slots.keep:
            raise SynopsisError(
                f"a window of {query.window} cannot be answered",
                detail=f"Values of the last {self.keep} are kept.",
                hint="Keep more: extend(keep, history).",
            )
        if isinstance(query, Correlation) and max(map(max, query.pairs), default=0) >= self.series:
            raise SynopsisError("there is no such series", detail=f"They are numbered from 0 to {self.series - 1}.")

    # -- bytes --------------------------------------------------------------------------------------------------------

    def to_bytes(self) -> bytes:
        """Values and queries; see `layout`."""
        writer = StateWriter()
        self._slots.write(writer)
        writer.number(len(self._queries))
        for name, query in self._queries.items():
            writer.raw(name.encode())
            writer.raw(to_text(query).encode())
        return writer.seal(self.KIND, self.VERSION)

    @classmethod
    def from_bytes(cls, data: bytes | memoryview) -> Self:
        reader = unseal(data, cls.KIND, cls.VERSION)
        made = cls(1, 1)
        made._slots = Slots.read(reader)
        for _ in range(reader.number()):
            name = reader.raw().decode()
            made._queries[name] = from_text(reader.raw().decode())
        reader.end()
        return made


def _whole_slots(what: str, length: int, slide: int) -> int:
    length = whole(what, length, 1)
    if length % slide:
        raise SynopsisError(f"{what} must be a multiple of the slide, {slide}, not {length}")
    return length // slide
