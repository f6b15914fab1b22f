"""What moves old results to files may fail and be late: ticks go on, nothing is lost, it is told, and tried again."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import millpond
from millpond import Pond
from millpond.clock import ManualClock
from millpond.durable import disk_full
from millpond.errors import CorruptBlock
from millpond.results import archive as kept_results
from millpond.results import outlet as outlets
from millpond.table.manifest import ArchiveFile


@pytest.fixture(autouse=True)
def tiny(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(outlets, "KEPT_BYTES", 160)
    monkeypatch.setattr(outlets, "FILE_BYTES", 160)


def opened(folder: Path, clock: ManualClock | None = None) -> Pond:
    return millpond.connect(folder, auto_archive=False, engine="duckdb", clock=clock)


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock(1_700_000_000_000_000)


@pytest.fixture
def db(tmp_path: Path, clock: ManualClock) -> Iterator[Pond]:
    with opened(tmp_path / "pond", clock) as db:
        db.sql("CREATE STREAMING TABLE r (vid INT, t BIGINT) TIMESTAMP BY t")
        db.sql("CREATE STREAMING VIEW kept RANGE INTERVAL '1' HOUR AS SELECT vid FROM r [NOW] SAMPLE REALTIME")
        db.sql(
            "CREATE STREAMING VIEW other RANGE INTERVAL '1' HOUR AS SELECT vid FROM r [NOW] WHERE vid < 2 SAMPLE REALTIME"
        )
        yield db


def ticks(db: Pond, first: int, end: int) -> None:
    for t in range(first, end):
        db.append("r", [(t, t), (t, t)])
        db.advance("r", t + 1)
        db.tick()
    assert db._workspace.network.keeper.settle()


def everything(db: Pond) -> list[tuple[Any, ...]]:
    return sorted(db.sql("SELECT vid, instant, _seq FROM kept").rows())


def sent(end: int) -> list[tuple[int, int, int]]:
    return [(t, t, 2 * t + i) for t in range(end) for i in range(2)]


def archive(db: Pond) -> kept_results.ResultArchive:
    found = db._workspace.network.outlet("kept").archive
    assert found is not None
    return found


class Full:
    """A disk that is full for the first `times` calls; counts what was called."""

    def __init__(self, what: Any, times: int) -> None:
        self.what, self.times, self.calls = what, times, 0

    def __call__(self, *given: Any, **named: Any) -> Any:
        self.calls += 1
        if self.calls <= self.times:
            raise disk_full(Path("kept"), "nothing was moved")
        return self.what(*given, **named)


def test_a_full_disk_is_told_and_tried_again_after_a_pause(
    db: Pond, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    full = Full(kept_results.write_blocks, 3)
    monkeypatch.setattr(kept_results, "write_blocks", full)
    ticks(db, 0, 20)
    assert full.calls == 1  # not once a tick
    problem = 'old results stay in memory: no space left on the disk of "kept"'
    assert db.status()["queries"]["kept"]["problem"] == problem
    shown = db.sql("SHOW STREAMING VIEWS").arrow().to_pylist()
    assert {(v["name"], v["state"], v["problem"]) for v in shown} == {
        ("kept", "running", problem), ("other", "running", None),
    }  # fmt: skip
    assert everything(db) == sent(20)
    for pause, calls in ((1.1, 2), (1.1, 2), (1.1, 3), (3.0, 3), (1.1, 4)):
        clock.advance(pause)
        now = db.now("r")
        ticks(db, now, now + 1)
        assert min(full.calls, 4) == calls
    assert db.status()["queries"]["kept"]["problem"] is None
    assert everything(db) == sent(25)
    assert db._workspace.network.outlet("kept").bytes <= 160


def test_a_file_whose_commit_failed_is_committed_and_not_written_again(
    db: Pond, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    commit = Full(kept_results.ResultArchive._commit, 1)
    written = Full(kept_results.write_blocks, 0)
    monkeypatch.setattr(kept_results.ResultArchive, "_commit", lambda *a: commit(*a))
    monkeypatch.setattr(kept_results, "write_blocks", written)
    ticks(db, 0, 9)
    assert (commit.calls, written.calls) == (1, 1)
    clock.advance(2.0)
    ticks(db, 9, 10)
    files = archive(db).snapshot().version.files
    assert sum(f.rows for f in files.values()) == archive(db).position > 0
    assert len(list(archive(db).folder.glob("c*/*.parquet"))) == len(files) == written.calls
    assert everything(db) == sent(10)


def test_damage_is_of_one_query_and_is_told(db: Pond, tmp_path: Path, clock: ManualClock) -> None:
    ticks(db, 0, 20)
    position = archive(db).position
    file = min(archive(db).folder.glob("c*/*.parquet"))
    file.write_bytes(file.read_bytes()[:-9])
    with pytest.raises(CorruptBlock):
        everything(db)
    with pytest.raises(CorruptBlock, match="of kept results of"):
        db.resume("kept", after=0).fetch()
    assert len(db.resume("kept", after=position - 1).fetch()) == 40 - position  # those behind it can be fetched
    assert db.sql("SELECT vid FROM other").rows() == [(0,), (0,), (1,), (1,)]
    folder = archive(db).folder
    db.close()
    for commit in (folder / "_delta_log").glob("*.json"):
        commit.write_text("{")
    with opened(tmp_path / "pond", clock) as again:
        with pytest.raises(CorruptBlock):
            everything(again)
        assert again.sql("SELECT vid FROM other").rows() == [(0,), (0,), (1,), (1,)]
        ticks(again, 20, 25)
        assert "old results stay in memory" in again.status()["queries"]["kept"]["problem"]
        assert again.status()["queries"]["kept"]["sent"] == 50
        assert (folder / "_delta_log").is_dir()


def test_nothing_is_written_while_memory_is_enough(db: Pond) -> None:
    ticks(db, 0, 4)
    assert not [p for p in (db.folder / "results").iterdir() if p.is_dir()]
    assert db._workspace.network.keeper._thread is None


def test_a_query_dropped_while_its_results_move(db: Pond, monkeypatch: pytest.MonkeyPatch) -> None:
    writing, go_on = threading.Event(), threading.Event()
    write = kept_results.write_blocks

    def slow(*given: Any) -> list[ArchiveFile]:
        writing.set()
        assert go_on.wait(30)
        return write(*given)

    monkeypatch.setattr(kept_results, "write_blocks", slow)
    for t in range(20):
        db.append("r", [(t, t), (t, t)])
        db.advance("r", t + 1)
        db.tick()
    assert writing.wait(30)
    drop = threading.Thread(target=db.sql, args=("DROP STREAMING VIEW kept",))
    drop.start()
    go_on.set()
    drop.join(30)
    assert db._workspace.network.keeper.settle()
    assert not [p for p in (db.folder / "results").iterdir() if p.is_dir()]
    assert list(db.status()["queries"]) == ["other"]


@pytest.mark.parametrize("without", [(), ("3",)], ids=["all sound", "one damaged"])
def test_runs_of_small_files(without: tuple[str, ...]) -> None:
    def file(number: int, size: int, compartment: int) -> ArchiveFile:
        return ArchiveFile(str(number), size, 1, 0, 0, number, number, compartment, 0, (), {}, {})

    sizes = [10] * 9 + [2 << 20] + [10] * 7 + [10] * 8
    compartments = [0] * 17 + [1] * 8
    files = [file(i, s, c) for i, (s, c) in enumerate(zip(sizes, compartments, strict=True))]
    runs = [[int(f.path) for f in run] for run in kept_results.small_runs(files, set(without))]
    assert runs == ([list(range(9))] if not without else []) + [list(range(17, 25))]
