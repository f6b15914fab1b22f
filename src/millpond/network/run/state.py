"""How far the network is, as a value: what one frame of the result log says.

A `State` never changes; its methods give a new one. Queries and tables are known by their folders, which are never used
twice, so a query that is dropped and made again under the same name begins anew.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Set
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

from millpond.catalog import ContinuousQuery
from millpond.codec import from_json, to_json
from millpond.event_time import Progress

V = TypeVar("V")


@dataclass(frozen=True)
class Seen:
    """How far into a table a shard or the network has read: rows below `position`, and the watermark that it had then."""

    position: int
    watermark: int | None


@dataclass(frozen=True)
class LastSent:
    """What the readers of an ISTREAM or DSTREAM query hold, where it does not follow from how the query goes on: the result at
    `instant` of the query as it was defined then."""

    query: ContinuousQuery
    instant: int


@dataclass(frozen=True)
class State:
    """Of each query: its progress, how many rows it has sent, why it stopped if it did, and why it waits if it does; which of its
    results are missing, until that is acknowledged; up to where its results are in an archive; and, if it has been altered or its
    history changed since its last instant, what it sent last. Of each table: what was read."""

    tick: int = 0
    progress: Mapping[str, Progress] = field(default_factory=dict)
    numbers: Mapping[str, int] = field(default_factory=dict)
    seen: Mapping[str, Seen] = field(default_factory=dict)
    failed: Mapping[str, str] = field(default_factory=dict)
    lost: Mapping[str, str] = field(default_factory=dict)
    archived: Mapping[str, int] = field(default_factory=dict)
    waiting: Mapping[str, str] = field(default_factory=dict)
    unsettled: Mapping[str, LastSent] = field(default_factory=dict)

    def with_progress(self, progress: Mapping[str, Progress]) -> State:
        return replace(self, progress={**self.progress, **progress})

    def with_seen(self, seen: Mapping[str, Seen]) -> State:
        return replace(self, seen={**self.seen, **seen})

    def with_sent(self, counts: Mapping[str, int]) -> State:
        """After queries have sent so many more rows."""
        more = {folder: self.numbers.get(folder, 0) + count for folder, count in counts.items()}
        return replace(self, numbers={**self.numbers, **more})

    def failing(self, reasons: Mapping[str, str]) -> State:
        """Queries have stopped. If one had stopped before, its first reason stays."""
        return replace(self, failed={**reasons, **self.failed})

    def waiting_for(self, reasons: Mapping[str, str], tried: Collection[str]) -> State:
        """Of the queries that were `tried`, these wait for another system."""
        return replace(self, waiting={**_without(self.waiting, tried), **reasons})

    def unsettling(self, sent: Mapping[str, LastSent]) -> State:
        """The next instants of queries follow these results. What was noted before and not settled yet stays."""
        return replace(self, unsettled={**sent, **self.unsettled})

    def settling(self, folders: Collection[str]) -> State:
        """Queries have sent what differs from what they sent last: from there they go on."""
        return replace(self, unsettled=_without(self.unsettled, folders)) if folders else self

    def losing(self, reasons: Mapping[str, str]) -> State:
        """Results of queries are found missing."""
        return replace(self, lost={**self.lost, **reasons})

    def acknowledging(self, folder: str) -> State:
        """Somebody has read which results of a query are missing."""
        return replace(self, lost=_without(self.lost, (folder,)))

    def numbering_from(self, floor: int, folders: Collection[str]) -> State:
        """Numbers below `floor` may have been used: queries go on behind them."""
        return replace(self, numbers={**self.numbers, **{f: max(floor, self.numbers.get(f, 0)) for f in folders}})

    def restarting(self, folders: Collection[str]) -> State:
        """Without the progress and the failures of queries: they are to begin anew."""
        return replace(
            self,
            progress=_without(self.progress, folders),
            failed=_without(self.failed, folders),
            waiting=_without(self.waiting, folders),
        )

    def keeping(self, folders: Collection[str]) -> State:
        """Without the queries that are not in `folders`: they were dropped."""
        return replace(
            self,
            progress=_within(self.progress, folders),
            numbers=_within(self.numbers, folders),
            failed=_within(self.failed, folders),
            lost=_within(self.lost, folders),
            archived=_within(self.archived, folders),
            waiting=_within(self.waiting, folders),
            unsettled=_within(self.unsettled, folders),
        )

    def reading(self, tables: Set[str]) -> State:
        """Without the tables that are not in `tables`: no query reads them any more."""
        return replace(self, seen=_within(self.seen, tables)) if self.seen.keys() - tables else self

    def begun_since(self, durable: State) -> bool:
        """Whether a query has begun, begun anew, or lost results in a way that `durable` does not tell."""
        return (
            any(durable.progress.get(folder) != progress for folder, progress in self.progress.items())
            or any(durable.seen.get(table) != seen for table, seen in self.seen.items())
            or any(folder in durable.failed and folder not in self.failed for folder in self.progress)
            or self.lost != durable.lost
        )

    def to_json(self) -> dict[str, Any]:
        return {
            "progress": {k: p.to_json() for k, p in self.progress.items()},
            "numbers": dict(self.numbers),
            "seen": {k: [s.position, s.watermark] for k, s in self.seen.items()},
            "failed": dict(self.failed),
            "lost": dict(self.lost),
            "archived": dict(self.archived),
            "waiting": dict(self.waiting),
            "unsettled": {k: [to_json(s.query), s.instant] for k, s in self.unsettled.items()},
        }

    @classmethod
    def from_json(cls, tick: int, data: Mapping[str, Any]) -> State:
        return cls(
            tick,
            {k: Progress.from_json(p) for k, p in data["progress"].items()},
            dict(data["numbers"]),
            {k: Seen(*s) for k, s in data["seen"].items()},
            dict(data["failed"]),
            dict(data["lost"]),
            dict(data["archived"]),
            dict(data.get("waiting", {})),  # frames written before queries could wait do not have it
            {k: LastSent(from_json(ContinuousQuery, q), t) for k, (q, t) in data.get("unsettled", {}).items()},
        )


def _without(store: Mapping[str, V], folders: Collection[str]) -> dict[str, V]:
    return {folder: value for folder, value in store.items() if folder not in folders}


def _within(store: Mapping[str, V], folders: Collection[str]) -> dict[str, V]:
    return {folder: value for folder, value in store.items() if folder in folders}
