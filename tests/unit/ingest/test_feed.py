"""Feeds: everything once, whatever fails in between. A test waits for the feed by an event, never by time."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from millpond.arrow import BadRow
from millpond.catalog import Source
from millpond.clock import ManualClock
from millpond.errors import DiskFull, EngineError, PondError
from millpond.ingest.feed import FeedOptions, FeedProgress, FeedRunner
from millpond.ingest.intake import Origin, Receipt
from millpond.schema import Schema
from millpond.sources.base import RowSource, SourceBatch
from millpond.sources.registry import open_source

QUICK = FeedOptions(most_rows=2, idle=timedelta(milliseconds=1), retry_first=timedelta(0))


class Numbers:
    """Gives 0, 1, 2, ... up to `count`; every fifth is bad. `failures` are raised before anything is given."""

    def __init__(self, count: int, failures: Sequence[Exception] = ()) -> None:
        self.count = count
        self.at = 0
        self.failures = list(failures)
        self.closed = threading.Event()
        self.idle = threading.Event()

    def next_batch(self, most: int) -> SourceBatch | None:
        if self.failures:
            raise self.failures.pop(0)
        start, self.at = self.at, min(self.at + most, self.count)
        if start == self.at:
            self.idle.set()
            return None
        found = range(start, self.at)
        good = [n for n in found if n % 5]
        bad = [n for n in found if n % 5 == 0]
        rejected = [BadRow(-1 - k, "fifth", str(n)) for k, n in enumerate(bad)]
        rows = pa.table({"n": pa.array(good, pa.int64())})
        return SourceBatch(rows, rejected, self.at, lambda i: f"n:{good[i] if i >= 0 else bad[-1 - i]}")

    def seek(self, position: Any) -> None:
        self.at = position

    def close(self) -> None:
        self.closed.set()


class Table:
    """Where offers go: rows, bad rows and position are kept together, as an intake does."""

    def __init__(self, failures: Sequence[Exception] = ()) -> None:
        self.rows: list[int] = []
        self.bad: list[tuple[str, str]] = []
        self.places: list[str] = []
        self.position: Any = None
        self.source: str | None = None
        self.failures = list(failures)
        self.offers = 0

    def offer(self, rows: Any, origin: Origin, bad: Sequence[BadRow]) -> Receipt:
        self.offers += 1
        if self.failures:
            raise self.failures.pop(0)
        values = rows.column(0).to_pylist()
        self.rows += values
        self.places += [origin.places(i) for i in range(len(values))]
        self.bad += [(origin.places(b.index), b.reason) for b in bad]
        self.position, self.source = origin.position, origin.source
        return Receipt("t", len(values), 0, len(bad))


Run = Callable[..., FeedRunner]


@pytest.fixture
def run() -> Iterator[Run]:
    """Start a feed; at the end of the test it is stopped."""
    started: list[FeedRunner] = []

    def start(
        source: Any, table: Table, transform: Any = None, options: FeedOptions = QUICK, clock: ManualClock | None = None
    ) -> FeedRunner:
        feed = FeedRunner("f", source, table.offer, transform, clock or ManualClock(7_000_000), options)
        started.append(feed)
        feed.start()
        return feed

    yield start
    for feed in started:
        assert feed.stop(10)


def test_rows_go_through(run: Run) -> None:
    source, table = Numbers(12), Table()
    feed = run(source, table)
    assert source.idle.wait(60)
    assert feed.running
    assert feed.stop()
    assert not feed.running
    assert feed.error is None
    assert source.closed.is_set()
    assert table.rows == [n for n in range(12) if n % 5]
    assert table.places == [f"n:{n}" for n in table.rows]
    assert table.bad == [("n:0", "fifth"), ("n:5", "fifth"), ("n:10", "fifth")]
    assert (table.source, table.position) == ("f", 12)
    assert feed.progress == FeedProgress(read=12, accepted=9, malformed=3, batches=6, position=12, at=7_000_000)


def test_what_is_idle_stops_at_once(run: Run) -> None:
    source = Numbers(0)
    feed = run(source, Table(), options=FeedOptions(idle=timedelta(hours=1)))
    assert source.idle.wait(60)
    assert feed.stop(10)
    assert feed.stop(10)


def test_a_feed_that_never_started_can_be_stopped() -> None:
    source = Numbers(1)
    feed = FeedRunner("f", source, Table().offer, None, ManualClock())
    assert feed.stop()
    assert source.closed.is_set()
    assert not feed.running


def test_a_select(run: Run) -> None:
    source, table = Numbers(20), Table()

    def even_tens(rows: pa.Table) -> pa.Table:
        kept = rows.filter(pc.equal(pc.bit_wise_and(rows.column("n"), 1), 0))
        return pa.table({"ten": pc.multiply(kept.column("n"), 10)})

    feed = run(source, table, even_tens, FeedOptions(most_rows=7, idle=QUICK.idle))
    assert source.idle.wait(60)
    assert feed.stop()
    assert table.rows == [n * 10 for n in range(20) if n % 5 and n % 2 == 0]
    assert table.places[:3] == ["n:1 to n:6"] * 3
    assert table.bad[0] == ("n:0", "fifth")
    assert feed.progress.filtered == 8
    assert feed.progress.read == 20


def test_a_select_that_keeps_every_row_keeps_places(run: Run) -> None:
    source, table = Numbers(5), Table()
    feed = run(source, table, lambda rows: rows)
    assert source.idle.wait(60)
    assert feed.stop()
    assert table.places == ["n:1", "n:2", "n:3", "n:4"]


def test_batches_of_arrow_are_given_to_the_select_as_a_table(run: Run) -> None:
    class Batches(Numbers):
        def next_batch(self, most: int) -> SourceBatch | None:
            batch = super().next_batch(most)
            rows = batch and pa.RecordBatch.from_pydict({"n": batch.rows.column(0).to_pylist()})
            return batch and SourceBatch(rows, batch.bad, batch.position, batch.places)

    source, table = Batches(5), Table()
    feed = run(source, table, lambda rows: rows.select(["n"]), FeedOptions(most_rows=5))
    assert source.idle.wait(60)
    assert feed.stop()
    assert table.rows == [1, 2, 3, 4]


def test_a_full_disk_is_waited_out(run: Run) -> None:
    source = Numbers(6, [PondError("folder gone")])
    table = Table([DiskFull("full"), DiskFull("full"), PondError("lock")])
    feed = run(source, table)
    assert source.idle.wait(60)
    assert feed.stop()
    assert table.rows == [1, 2, 3, 4]
    assert table.position == 6
    assert feed.progress.retries == 4
    assert feed.progress.trouble is None
    assert feed.error is None


def test_stop_while_the_disk_is_full(run: Run) -> None:
    failing = threading.Event()

    class Full(Table):
        def offer(self, rows: Any, origin: Origin, bad: Sequence[BadRow]) -> Receipt:
            if self.position == 4:
                failing.set()
                raise DiskFull("no space left")
            return super().offer(rows, origin, bad)

    table = Full()
    feed = run(Numbers(10), table, options=FeedOptions(most_rows=2, retry_first=timedelta(hours=1)))
    assert failing.wait(60)
    assert feed.stop(10)
    assert feed.progress.trouble == "no space left"
    assert feed.error is None
    # The next run goes on from the position stored, and nothing is lost or repeated.
    source = Numbers(10)
    source.seek(table.position)
    rest = Table()
    again = run(source, rest)
    assert source.idle.wait(60)
    assert again.stop()
    assert table.rows + rest.rows == [n for n in range(10) if n % 5]


@pytest.mark.parametrize("where", ["source", "select", "offer"])
def test_other_errors_end_the_feed(run: Run, where: str) -> None:
    problem = EngineError("cannot divide")

    def select(rows: pa.Table) -> pa.Table:
        if where == "select":
            raise problem
        return rows

    source = Numbers(4, [problem] if where == "source" else [])
    table = Table([problem] if where == "offer" else [])
    feed = run(source, table, select)
    assert source.closed.wait(60)
    assert feed.stop()
    assert feed.error is problem
    assert table.rows == []
    assert feed.progress.position is None


def test_the_waiting_doubles(monkeypatch: pytest.MonkeyPatch) -> None:
    options = FeedOptions(retry_first=timedelta(seconds=1), retry_longest=timedelta(seconds=5))
    source = Numbers(1)
    feed = FeedRunner("f", source, Table([DiskFull("full")] * 5).offer, None, ManualClock(), options)
    waits: list[float] = []

    def wait(seconds: float) -> bool:
        waits.append(seconds)
        if len(waits) == 6:  # idle again
            feed._stop.set()
        return False

    monkeypatch.setattr(feed._stop, "wait", wait)
    feed.start()
    assert source.closed.wait(60)
    assert feed.stop()
    assert waits == [1, 2, 4, 5, 5, 0.05]


def test_files_are_taken_once_over_restarts(run: Run, tmp_path: Path) -> None:
    """A feed over files, stopped by a failure after each batch and started anew from what is stored."""
    folder = tmp_path / "in"
    folder.mkdir()
    for k in range(3):
        (folder / f"{9 - k}.csv").write_text("".join(f"{10 * k + i}\n" if i != 2 else "oops\n" for i in range(5)))
    source = Source("s", "files", str(folder), Schema.of([("n", "BIGINT")]))
    table = Table()
    starts = 0
    while True:
        opened = _Ending(open_source(source, tmp_path / "journal", ManualClock()))
        if table.position is not None:
            opened.seek(table.position)
        one = _OneOffer(table)
        feed = run(opened, one)
        starts += 1
        assert opened.closed.wait(60)
        assert feed.stop()
        assert isinstance(feed.error, EOFError if one.offers < 2 else RuntimeError)
        if not one.offers:
            break
    assert starts == 10  # three batches of at most two rows for each file, and one look for more
    assert sorted(table.rows) == [10 * k + i for k in range(3) for i in range(5) if i != 2]
    assert [place for place, _ in table.bad] == ["7.csv:3", "8.csv:3", "9.csv:3"]


class _OneOffer(Table):
    """Takes one offer for `table` and breaks at the second."""

    def __init__(self, table: Table) -> None:
        super().__init__()
        self._table = table

    def offer(self, rows: Any, origin: Origin, bad: Sequence[BadRow]) -> Receipt:
        self.offers += 1
        if self.offers > 1:
            raise RuntimeError("killed")
        return self._table.offer(rows, origin, bad)


class _Ending:
    """A source that ends the feed where it would have waited for more."""

    def __init__(self, source: RowSource) -> None:
        self._source = source
        self.seek = source.seek
        self.closed = threading.Event()

    def next_batch(self, most: int) -> SourceBatch:
        batch = self._source.next_batch(most)
        if batch is None:
            raise EOFError
        return batch

    def close(self) -> None:
        self._source.close()
        self.closed.set()


def test_a_row_its_select_fails_for_is_rejected(run: Run) -> None:
    def odd(rows: pa.Table) -> pa.Table:
        values = rows.column("n").to_pylist()
        if {7, 8, 13} & set(values):
            raise EngineError("cannot divide")
        return pa.table({"n": pa.array(values, pa.int64())})

    source, table = Numbers(20), Table()
    feed = run(source, table, odd, FeedOptions(most_rows=9, idle=timedelta(milliseconds=1)))
    assert source.idle.wait(60)
    assert feed.stop()
    assert feed.error is None
    assert table.rows == [n for n in range(20) if n % 5 and n not in (7, 8, 13)]
    assert table.places == [f"n:{n}" for n in table.rows]
    failed = [(place, reason) for place, reason in table.bad if reason != "fifth"]
    assert failed == [(f"n:{n}", "cannot divide") for n in (7, 8, 13)]
    assert [place for place, reason in table.bad if reason == "fifth"] == ["n:0", "n:5", "n:10", "n:15"]
    progress = feed.progress
    assert (progress.read, progress.accepted, progress.malformed, progress.filtered) == (20, 13, 7, 0)
