"""The feeds that run in this process: sources whose rows flow into streaming tables."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Protocol

import pyarrow as pa

from millpond.arrow import BadRow
from millpond.catalog import Catalog, Feed
from millpond.clock import Clock
from millpond.durable import delete_folder
from millpond.errors import MillpondError
from millpond.ingest.feed import FeedRunner
from millpond.ingest.intake import Intake, Origin, Receipt
from millpond.sources.registry import open_source
from millpond.table.stream import StreamTable

Transform = Callable[[pa.Table], pa.Table]
_PATIENCE = 30.0  # seconds that DROP FEED waits for the step under way


class FeedHost(Protocol):
    """What feeds ask of their pond."""

    folder: Path
    clock: Clock
    work: threading.RLock
    catalog: Catalog

    def stream(self, name: str) -> StreamTable:
        """A streaming table, opened."""

    def intake(self, name: str) -> Intake:
        """Where rows of a streaming table are offered."""

    def change_catalog(self, catalog: Catalog) -> None:
        """Make a new catalog durable and current."""


class Feeds:
    """`transform` gives what a feed does to each batch of its source; it is set by whoever knows SQL."""

    def __init__(self, host: FeedHost) -> None:
        self._host = host
        self._running: dict[str, FeedRunner] = {}
        self.transform: Callable[[Feed], Transform] | None = None

    def running(self, name: str) -> FeedRunner | None:
        """A feed, if it was started in this process."""
        return self._running.get(name)

    def start(self, feed: Feed) -> None:
        with self._host.work:
            running = self._running.get(feed.name)
            if running is not None and running.error is None:
                return
            self._run(self._make(feed))

    def start_all(self) -> None:
        """Start all that can be started; then tell what keeps the first of the others."""
        problem: MillpondError | None = None
        for feed in self._host.catalog.feeds.values():
            try:
                self.start(feed)
            except MillpondError as error:
                problem = problem or error
        if problem is not None:
            raise problem

    def add(self, feed: Feed) -> None:
        """Define a feed and start it: both, or neither. What can fail is done before the definition is written."""
        with self._host.work:
            journal = self._journal(feed)
            try:
                runner = self._make(feed)
                try:
                    self._host.change_catalog(self._host.catalog.with_feed(feed))
                except BaseException:
                    runner.stop()
                    raise
            except BaseException:
                delete_folder(journal, self._host.folder)
                raise
            self._run(runner)

    def _journal(self, feed: Feed) -> Path:
        return self._host.folder / "feeds" / feed.folder

    def _make(self, feed: Feed) -> FeedRunner:
        assert self.transform is not None
        transform = self.transform(feed)
        reader = open_source(self._host.catalog.source(feed.source), self._journal(feed), self._host.clock)
        try:
            position = self._host.stream(feed.table).state.positions.get(feed.folder)
            if position is not None:
                reader.seek(position)
        except BaseException:
            reader.close()
            raise

        def offer(rows: Any, origin: Origin, bad: Sequence[BadRow]) -> Receipt:
            return self._host.intake(feed.table).offer(rows, replace(origin, key=feed.folder), bad=bad)

        return FeedRunner(feed.name, reader, offer, transform, self._host.clock)

    def _run(self, runner: FeedRunner) -> None:
        self._running[runner.name] = runner
        runner.start()

    def forget(self, feed: Feed) -> FeedRunner | None:
        """Ask a feed that was just dropped to end, under `work`. It does not wait. Returns what runs it, if anything does."""
        runner = self._running.pop(feed.name, None)
        if runner is not None:
            runner.ask_to_stop()
        return runner

    def finish(self, feed: Feed, runner: FeedRunner | None) -> bool:
        """Wait for the end of a dropped feed and delete what it kept, without `work`: its last step may need the lock. Returns
        whether it has ended. Its position goes with the next frame of the table; nobody asks for it any more."""
        ended = runner is None or runner.stop(_PATIENCE)
        if feed.table in self._host.catalog.streaming:
            table = self._host.stream(feed.table)
            with table.lock:
                rest = {key: at for key, at in table.state.positions.items() if key != feed.folder}
                table.state = replace(table.state, positions=rest)
        delete_folder(self._journal(feed), self._host.folder)
        return ended

    def close(self) -> None:
        for runner in self._running.values():
            runner.ask_to_stop()
        for runner in self._running.values():
            runner.stop(10.0)
