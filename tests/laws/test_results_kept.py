"""Results are kept for their RANGE, wherever they are: in memory, in the log, in files; in the process that owns the pond, in
one that reads it, and after it was opened again.

Limits are so small that results move to files all the time. A list holds what was sent; each question is answered from it
by its definition.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import millpond
from millpond import Pond
from millpond.results import archive as kept_results
from millpond.results import keeper as result_keeper
from millpond.results import outlet as outlets

RANGE, WINDOW = 12, 9
Sent = tuple[int, int, int]  # vid, instant, number


@pytest.fixture(autouse=True)
def tiny(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(outlets, "KEPT_BYTES", 160)  # ten rows
    monkeypatch.setattr(outlets, "FILE_BYTES", 64)
    monkeypatch.setattr(outlets, "_LOOSE", 3)
    monkeypatch.setattr(result_keeper, "_FIRST_PAUSE", 0.0)


def opened(folder: Path, segment_bytes: int = 1) -> Pond:
    db = millpond.connect(folder, auto_archive=False, engine="duckdb")
    db._workspace.network.results.log._segment_bytes, db._workspace.network.results.log._segments = segment_bytes, 2
    return db


def files(folder: Path, query: str = "kept") -> int:
    return len(list((folder / "results").glob(f"{query}-*/c*/*.parquet")))


@dataclass
class World:
    """A pond, one that reads it, and what should be in them."""

    folder: Path
    segment_bytes: int
    stack: ExitStack
    sent: list[Sent] = field(default_factory=list)
    range: int = RANGE
    now: int = 0
    seen: list[Sent] = field(default_factory=list)  # by a client that comes back
    read: list[Sent] = field(default_factory=list)  # by one in the other process
    answers: int = 0

    def __post_init__(self) -> None:
        self.db = self.stack.enter_context(opened(self.folder, self.segment_bytes))
        self.db.sql("CREATE STREAMING TABLE r (vid INT, t BIGINT) TIMESTAMP BY t")
        self.db.sql(
            f"CREATE STREAMING VIEW kept RANGE INTERVAL '{RANGE}' SECOND AS SELECT vid FROM r [NOW] SAMPLE REALTIME"
        )
        self.db.sql("CREATE CONTINUOUS QUERY last AS SELECT vid FROM r [NOW] WHERE vid % 7 = 0 SAMPLE REALTIME")
        self.db.sql(f"CREATE CONTINUOUS QUERY over AS SELECT count(*) AS n, sum(vid) AS s FROM kept [INTERVAL '{WINDOW}' SECOND] "
                    "SAMPLE INTERVAL '5' SECOND")  # fmt: skip
        self.reader = self.stack.enter_context(opened(self.folder, self.segment_bytes))

    def rows(self, count: int) -> None:
        """Rows at the next time, and a tick."""
        first = len(self.sent)
        vids = range(first, first + count)
        self.db.append("r", [(vid, self.now) for vid in vids])
        self.sent += [(vid, self.now, vid) for vid in vids]
        self.now += 1
        self.db.advance("r", self.now)
        self.db.tick()

    def skip(self, seconds: int) -> None:
        self.now += seconds
        self.db.advance("r", self.now)
        self.db.tick()

    def settle(self) -> None:
        assert self.db._workspace.network.keeper.settle()

    def reopen(self) -> None:
        self.db.close()
        self.db = self.stack.enter_context(opened(self.folder, self.segment_bytes))

    def alter(self, seconds: int) -> None:
        self.db.sql(f"ALTER STREAMING VIEW kept SET RANGE INTERVAL '{seconds}' SECOND")
        self.range = seconds

    def shown(self) -> list[Sent]:
        return [row for row in self.sent if row[1] >= self.now - self.range]

    def compare(self, db: Pond) -> None:
        question = "SELECT vid, instant, _seq FROM kept"
        assert sorted(db.sql(question).rows()) == self.shown()
        count = [row for row in self.shown() if row[1] >= self.now - WINDOW]
        found = db.sql(f"SELECT count(*), count(DISTINCT _seq) FROM kept [INTERVAL '{WINDOW}' SECOND]").rows()
        assert found == [(len(count), len(count))]
        assert db.sql("SELECT vid FROM kept [ROWS 5]").rows() == [row[:1] for row in reversed(self.shown()[-5:])]
        last = [row[:2] for row in self.sent if row[0] % 7 == 0 and row[1] == self.sent[-1][1]]
        assert sorted(db.sql("SELECT vid, instant FROM last").rows()) == last

    def come_back(self, db: Pond, seen: list[Sent], most: int) -> None:
        cursor = db.resume("kept", after=len(seen) - 1)
        while batch := cursor.fetch(most).rows():
            seen += batch
        assert cursor.position == len(seen) - 1
        assert seen == self.sent

    def since(self, db: Pond, ago: int) -> None:
        """From a time in the past on, within what is kept."""
        time = max(0, self.now - min(ago, self.range))
        rows = [row for batch in db.resume("kept", since=time) for row in batch.rows()]
        assert rows == [row for row in self.sent if row[1] >= time]

    def check_over(self) -> None:
        """What the query over the view sent, at every instant."""
        found = self.db.resume("over").fetch().rows()
        assert [row[-1] for row in found] == list(range(found[0][-1], found[0][-1] + len(found))) if found else True
        for n, s, instant, _ in found:
            rows = [row[0] for row in self.sent if instant - WINDOW <= row[1] <= instant]
            assert (n, s) == (len(rows), sum(rows) if rows else None)


STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("rows"), st.integers(1, 12)),
        st.tuples(st.just("rows"), st.integers(1, 3)),
        st.tuples(st.just("skip"), st.sampled_from([1, 4, 30])),
        st.tuples(st.just("settle")),
        st.tuples(st.just("reopen")),
        st.tuples(st.just("compare"), st.booleans()),
        st.tuples(st.just("come_back"), st.booleans(), st.sampled_from([1 << 62, 7])),
        st.tuples(st.just("since"), st.booleans(), st.integers(0, RANGE)),
    ),
    min_size=8,
    max_size=24,
)


def play(folder: Path, segment_bytes: int, steps: list[tuple[Any, ...]]) -> int:
    """Returns how many files there were at most."""
    most = 0
    with ExitStack() as stack:
        world = World(folder, segment_bytes, stack)
        for _ in range(4):
            world.rows(7)
        world.come_back(world.db, world.seen, 1 << 62)
        world.come_back(world.reader, world.read, 1 << 62)
        for name, *given_ in steps:
            if name in ("compare", "come_back", "since"):
                db = world.reader if given_[0] else world.db
                if name == "come_back":
                    given_[0] = world.read if given_[0] else world.seen
                else:
                    del given_[0]
                try:
                    getattr(world, name)(db, *given_)
                except millpond.MillpondError as error:
                    # A client that stayed away for longer than the range is told so, and begins with what is kept.
                    seen = given_[0]
                    assert error.code == "results_gone" and world.sent[len(seen)][1] < world.now - 2 * RANGE  # noqa: PT017, PT018
                    seen += world.sent[len(seen) :]
            else:
                getattr(world, name)(*given_)
            most = max(most, files(folder))
        world.settle()
        for db in (world.db, world.reader):
            world.compare(db)
            world.since(db, RANGE)
        world.check_over()
    return most


@settings(max_examples=6, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(steps=STEPS, segment_bytes=st.sampled_from([1, 4096]))
def test_whatever_happens_the_range_is_there(tmp_path: Path, steps: list[tuple[Any, ...]], segment_bytes: int) -> None:
    play(Path(tempfile.mkdtemp(dir=tmp_path)) / "pond", segment_bytes, steps)


@pytest.mark.slow
@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(steps=STEPS, segment_bytes=st.sampled_from([1, 4096]))
def test_whatever_happens_for_longer(tmp_path: Path, steps: list[tuple[Any, ...]], segment_bytes: int) -> None:
    play(Path(tempfile.mkdtemp(dir=tmp_path)) / "pond", segment_bytes, steps)


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    with ExitStack() as stack:
        yield World(tmp_path / "pond", 1, stack)


def test_rows_move_to_files_and_go_with_the_range(world: World) -> None:
    for _ in range(20):
        world.rows(5)
        world.settle()
    assert files(world.folder) > 3
    assert world.db._workspace.network.outlet("kept").bytes <= 160
    assert len(list((world.folder / "results").glob("*.results"))) <= 4
    version = world.db._workspace.network.outlet("kept").snapshot(everything=True).version
    assert version.rows >= 5 * RANGE - 10
    world.compare(world.db)
    world.skip(3 * RANGE)
    world.settle()
    assert world.db._workspace.network.outlet("kept").snapshot(everything=True).version.rows == 0
    world.compare(world.db)
    world.compare(world.reader)
    world.rows(3)
    world.come_back(world.db, world.sent[: len(world.sent) - 3], 1 << 62)


def test_files_that_went_are_deleted_once_nobody_can_read_them(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    for _ in range(20):
        world.rows(5)
    world.skip(3 * RANGE)
    world.settle()
    assert files(world.folder) > 0
    monkeypatch.setattr(kept_results.Store.delete_removed, "__kwdefaults__", {"grace": 0.0})
    world.rows(1)
    world.settle()
    assert files(world.folder) == 0


def test_small_files_are_merged_and_keep_their_order(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    world.alter(1000)
    for _ in range(60):
        world.rows(4)
        world.settle()
    version = world.db._workspace.network.outlet("kept").snapshot(everything=True).version
    assert 1 <= len(version.files) < 20
    for db, seen in ((world.db, world.seen), (world.reader, world.read)):
        world.compare(db)
        world.come_back(db, seen, 3)


def test_a_longer_range_shows_what_is_still_there_without_a_gap(world: World) -> None:
    for _ in range(40):
        world.rows(3)
        world.settle()
    world.alter(RANGE + 8)
    world.compare(world.db)
    world.alter(WINDOW)
    world.compare(world.db)
    world.rows(2)
    world.settle()
    world.compare(world.reader)


def test_a_dropped_view_takes_its_files_along(world: World) -> None:
    for _ in range(10):
        world.rows(5)
    world.settle()
    assert files(world.folder) > 0
    world.db.sql("DROP CONTINUOUS QUERY over")
    world.db.sql("DROP STREAMING VIEW kept")
    assert not list((world.folder / "results").glob("kept-*"))
    world.db.sql("CREATE STREAMING VIEW kept RANGE INTERVAL '5' SECOND AS SELECT vid FROM r [NOW] SAMPLE REALTIME")
    assert world.db.sql("SELECT * FROM kept").rows() == []


def test_what_a_paused_query_shows_does_not_hold_up_the_log(world: World) -> None:
    world.rows(1)
    world.db.sql("CREATE CONTINUOUS QUERY rare AS SELECT vid FROM r [NOW] SAMPLE REALTIME")
    world.rows(1)
    world.db.sql("PAUSE CONTINUOUS QUERY rare")
    for _ in range(20):
        world.rows(1)
        world.settle()
    assert len(list((world.folder / "results").glob("*.results"))) <= 4
    for db in (world.db, world.reader):
        assert db.sql("SELECT vid, instant FROM rare").rows() == [(1, 1)]
    world.reopen()
    assert world.db.sql("SELECT vid, instant FROM rare").rows() == [(1, 1)]
    assert world.db.resume("rare").fetch().rows() == [(1, 1, 0)]


def test_timestamps_are_cut_by_the_range_as_well(tmp_path: Path) -> None:
    origin = datetime(2026, 1, 1)
    with opened(tmp_path / "pond") as db:
        db.sql("CREATE STREAMING TABLE r (vid INT, t TIMESTAMP) TIMESTAMP BY t")
        db.sql("CREATE STREAMING VIEW kept RANGE INTERVAL '10' SECOND AS SELECT vid FROM r [NOW] SAMPLE REALTIME")
        for second in range(30):
            db.append("r", [(second, origin + timedelta(seconds=second))])
            db.advance("r", origin + timedelta(seconds=second + 1))
            db.tick()
            db._workspace.network.keeper.settle()
        assert files(tmp_path / "pond") > 0
        assert sorted(db.sql("SELECT vid FROM kept").rows()) == [(s,) for s in range(20, 30)]
        late = db.resume("kept", since=origin + timedelta(seconds=15)).fetch().rows()
        assert [row[0] for row in late] == list(range(15, 30))
