"""The reductions of an open pond: their kept windows, and what is said of them when rows change.

An eager reduction's windows are the results of its continuous query, and count as far as `sent` says. Whatever changes rows that
are there (UPDATE, DELETE, SET NOW) does it inside `changing`.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import numpy.typing as npt

from millpond.catalog import Catalog, Reduction, StreamingTable
from millpond.clock import Clock
from millpond.query.windowed.cover import EVER, Cover, cover, minus, touched, within
from millpond.results.outlet import Outlet
from millpond.table.kept_windows import KeptWindows, State
from millpond.table.store import Snapshot


class Reductions:
    """`catalog` gives the current definitions, `result` the outlet of a continuous query."""

    def __init__(
        self, folder: Path, clock: Clock, catalog: Callable[[], Catalog], result: Callable[[str], Outlet | None]
    ) -> None:
        self._folder = folder
        self._clock = clock
        self._catalog = catalog
        self._result = result
        self._lock = threading.Lock()
        self._open: dict[str, KeptWindows] = {}

    def kept(self, reduction: Reduction) -> KeptWindows:
        """The windows of a reduction that its query has not sent."""
        with self._lock:
            found = self._open.get(reduction.folder)
            if found is None:
                there = {r.folder for r in self._catalog().reductions.values()}
                self._open = {folder: kept for folder, kept in self._open.items() if folder in there}
                found = self._open[reduction.folder] = KeptWindows(self._folder, reduction, self._clock)
            return found

    def refresh(self) -> None:
        """As a reader, take in what the writer did."""
        for reduction in self._catalog().reductions.values():
            self.kept(reduction).refresh()

    def become_writer(self) -> None:
        for reduction in self._catalog().reductions.values():
            kept = self.kept(reduction)
            kept.refresh()
            kept.store.delete_strays(self._clock.micros() / 1e6)

    def sent(self, reduction: Reduction, table: StreamingTable) -> tuple[Cover, Snapshot | None]:
        """The windows that the reduction's query has sent, and the relation that holds them, by their ends; nothing if results
        of it are lost."""
        outlet = self._result(reduction.name) if not reduction.lazy else None
        if outlet is None:
            return (), None
        frontier, numbers = outlet.progress.frontier, outlet.next
        snapshot = outlet.snapshot(everything=True)
        if frontier is None or outlet.lost or snapshot.rows < numbers:
            return (), None
        every = table.unit.count(reduction.every)
        low = reduction.begin if reduction.begin is not None else EVER[0] // every * every
        return cover([(low, (frontier - 1) // every * every)]), snapshot

    @contextmanager
    def changing(
        self, table: StreamingTable, times: npt.NDArray[np.int64], columns: Collection[str] | None = None
    ) -> Iterator[None]:
        """Around a change of rows with these times; `columns` are those that get other values, None if rows go."""
        with contextlib.ExitStack() as stack:
            for reduction in self._catalog().reductions_of(table.name):
                if columns is None or any(_looks_at(reduction, column) for column in columns):
                    every = table.unit.count(reduction.every)
                    windows = cover((int(s), int(s) + every) for s in np.unique(times // every) * every)
                    sent, _ = self.sent(reduction, table)
                    stack.enter_context(self._changed(reduction, windows, within(windows, sent)))
            yield

    @contextmanager
    def looking_back(self, table: StreamingTable, time: int, now: int) -> Iterator[None]:
        """Around what lets rows from `time` on come or go, although the table's time is `now`. The window of `now` is among those
        that have changed: its query may not look back when it sends it."""
        with contextlib.ExitStack() as stack:
            for reduction in self._catalog().reductions_of(table.name):
                windows = touched(((time, now + 1),), table.unit.count(reduction.every))
                stack.enter_context(self._changed(reduction, windows, windows))
            yield

    def _changed(self, reduction: Reduction, windows: Cover, sent: Cover) -> contextlib.AbstractContextManager[None]:
        """While windows change, of which `sent` are sent, or will be without what changes."""
        kept = self.kept(reduction)
        state, _ = kept.read()
        changed = cover([*state.changed, *(sent if not reduction.lazy else ())])
        return kept.changing(State(minus(state.kept, windows), changed))


def _looks_at(reduction: Reduction, column: str) -> bool:
    return column in reduction.keys or any(
        f"`{column}`" in text for text in (*(p.of for p in reduction.partials), *reduction.conditions)
    )
