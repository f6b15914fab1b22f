"""A crash is a pause: kill the writer anywhere, open the pond again, and compare it with what was acknowledged.

`crash_writer.py` is the program that is killed, `ledger.py` knows what must be there. Killed at random moments, and at
every failpoint. After each comparison a few more operations are done and compared, because a wrong recovery may show
only in what comes next.
"""

from __future__ import annotations

import errno
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from random import Random

import psutil
import pytest

from millpond import failpoints
from millpond.errors import DiskFull
from millpond.ingest.intake import Origin
from millpond.tick.task_result import run_task
from tests.faults.ledger import TABLE, Ledger, check, next_operation, open_pond, perform, wait_until

PROGRAM = Path(__file__).with_name("crash_writer.py")
SOURCE = Path(failpoints.__file__).parents[1]
LONGEST = 1.5  # seconds a writer is left to work, at most
KILLED = -signal.SIGKILL

HALF = [("file.before_rename", 1), ("file.before_rename", 2)]
# A place that is passed all the time is interesting early (the pond or the table is being made) and later.
PASSES = {
    "file.before_rename": (1, 2, 3, 9, 30),
    "file.after_rename": (1, 3, 9, 30),
    "log.new_segment": (1, 2, 4),
    "log.after_write": (1, 25),
    "log.after_sync": (1, 25),
    "block.after_file": (1, 7),
    "archive.between_commits": (1, 2, 10),
    "catalog.before_save": (1, 2, 3, 4),
    "catalog.after_save": (1, 2, 3, 4),
    "checkpoint.after_write": (1, 3),
}
PLACES = [
    pytest.param(name, passes, id=f"{name}@{passes}")
    for name in failpoints.NAMES
    # Those of continuous queries: test_continuous_crash.py; of SET NOW: tests/unit/test_set_now.py.
    if not name.startswith(("results.", "now."))
    for passes in PASSES.get(name, (1,))
]


def start(arguments: list[str], **options: object) -> subprocess.Popen[str]:
    environment = {**os.environ, "PYTHONPATH": str(SOURCE)}
    return subprocess.Popen(
        [sys.executable, str(PROGRAM), *arguments],
        env={**environment, **options.pop("environment", {})},  # type: ignore[dict-item]
        stderr=subprocess.PIPE,
        text=True,
        **options,  # type: ignore[call-overload]
    )


def lines(path: Path) -> int:
    return path.read_bytes().count(b"\n") if path.exists() else 0


def compare_and_go_on(folder: Path, ledger_path: Path, seed: int) -> None:
    """Compare, work on a little, archive everything, and compare again."""
    ledger = Ledger(ledger_path)
    check(folder, ledger)
    random = Random(seed)
    with open_pond(folder) as db:
        for _ in range(3):
            perform(db, ledger, next_operation(ledger, random))
        db._workspace.rounds.archive()
    check(folder, ledger)
    ledger.close()


def crash_round(folder: Path, seed: int) -> None:
    """Let a writer work for a random time, kill it, compare."""
    random = Random(seed)
    ledger = folder / "ledger"
    before = lines(ledger)
    with start([str(seed), str(folder / "pond"), str(ledger)]) as writer:
        wait_until(lambda: lines(ledger) > before or writer.poll() is not None, "the writer to begin")
        time.sleep(random.random() * LONGEST)
        writer.kill()
        _, said = writer.communicate()
    assert writer.returncode == KILLED, said
    compare_and_go_on(folder / "pond", ledger, seed)


@pytest.mark.slow
@pytest.mark.parametrize("pond", range(10))
def test_fifty_kills(tmp_path: Path, pond: int) -> None:
    for seed in range(100 + 5 * pond, 105 + 5 * pond):
        crash_round(tmp_path, seed)


# -- failpoints -----------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def forks() -> Iterator[subprocess.Popen[str]]:
    """A process that has imported everything and runs writers as forks of itself."""
    environment = {**os.environ, "PYTHONPATH": str(SOURCE)}
    server = subprocess.Popen(
        [sys.executable, str(PROGRAM), "--serve"],
        env=environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        yield server
    finally:
        assert server.stdin is not None
        server.stdin.close()
        server.wait(timeout=60)
        assert server.stdout is not None
        server.stdout.close()


def begin(server: subprocess.Popen[str], points: str, arguments: list[str]) -> int:
    """Start a writer with these failpoints; returns its process number."""
    assert server.stdin is not None
    assert server.stdout is not None
    server.stdin.write(json.dumps([points, *arguments]) + "\n")
    server.stdin.flush()
    return int(server.stdout.readline())


def ended(server: subprocess.Popen[str]) -> int:
    """How the writer that was started last ended."""
    assert server.stdout is not None
    return int(server.stdout.readline())


def test_killed_at_random_moments(forks: subprocess.Popen[str], tmp_path: Path) -> None:
    folder, ledger = tmp_path / "pond", tmp_path / "ledger"
    for seed in range(5):
        before = lines(ledger)
        writer = begin(forks, "", [str(seed), str(folder), str(ledger)])
        wait_until(lambda before=before: lines(ledger) > before, "the writer to begin")  # type: ignore[misc]
        time.sleep(Random(seed).random() * LONGEST / 2)
        os.kill(writer, signal.SIGKILL)
        assert ended(forks) == KILLED
        compare_and_go_on(folder, ledger, seed)


@pytest.mark.parametrize(("name", "passes"), PLACES)
def test_killed_at(forks: subprocess.Popen[str], tmp_path: Path, name: str, passes: int) -> None:
    folder, ledger = tmp_path / "pond", tmp_path / "ledger"
    arguments = [str(passes), str(folder), str(ledger), "--operations", "1500"]
    begin(forks, f"{name}=kill@{passes}", arguments)
    assert ended(forks) == KILLED, "the failpoint was not reached"
    compare_and_go_on(folder, ledger, passes)


def test_killed_again_while_recovering(forks: subprocess.Popen[str], tmp_path: Path) -> None:
    """The same pond dies at one place after another."""
    folder, ledger = tmp_path / "pond", tmp_path / "ledger"
    for seed, name in enumerate(["log.after_write", "archive.between_commits", "log.new_segment", "log.after_write",
                                 "checkpoint.after_delete", "compaction.after_commit", "update.before_commit"]):  # fmt: skip
        arguments = [str(seed), str(folder), str(ledger), "--operations", "1500"]
        begin(forks, f"{name}=kill@{1 + seed % 3}", arguments)
        assert ended(forks) == KILLED
        book = Ledger(ledger)
        check(folder, book)
        book.close()


def test_failpoints_come_from_the_environment(tmp_path: Path) -> None:
    environment = {"MILLPOND_FAILPOINTS": "log.after_sync=kill@3"}
    arguments = ["1", str(tmp_path / "pond"), str(tmp_path / "ledger"), "--operations", "50"]
    with start(arguments, environment=environment) as writer:
        _, said = writer.communicate(timeout=60)
    assert writer.returncode == KILLED, said
    compare_and_go_on(tmp_path / "pond", tmp_path / "ledger", 1)


@pytest.mark.parametrize(
    "text", ["nowhere=kill", "log.after_write", "log.after_write=explode", "log.after_write=kill@x"]
)
def test_a_failpoint_that_does_not_exist(text: str) -> None:
    with pytest.raises(ValueError, match=f'^failpoint "{text}" cannot be armed\nHint: '):
        failpoints.arm(text)


# -- with Spark -----------------------------------------------------------------------------------------------------


@pytest.mark.slow  # the JVM alone is killed in test_dead_jvm.py, the writer alone above
@pytest.mark.spark
def test_killed_with_the_pipeline(tmp_path: Path) -> None:
    """The writer, the JVM and Spark's workers die together while the pipeline archives."""
    folder, ledger = tmp_path / "pond", tmp_path / "ledger"
    archive = folder / "tables" / f"{TABLE}-0" / "archive"

    def ticks() -> set[str]:  # a file of Spark's is named after run, tick, task and attempt
        return {m[1] for p in archive.glob("c*/*") if (m := re.match(r"[0-9a-f]{8}-(\d{6})-\d{3}-", p.name))}

    with start(["7", str(folder), str(ledger), "--spark"], start_new_session=True) as writer:
        wait_until(lambda: len(ticks()) > 1 or writer.poll() is not None, "Spark to archive", 400)
        time.sleep(Random(7).random() * LONGEST)
        family = psutil.Process(writer.pid).children(recursive=True)
        assert any("java" in p.name() for p in family)
        os.killpg(writer.pid, signal.SIGKILL)
        for process in family:  # Spark's Python daemon has a process group of its own
            if process.is_running():
                process.kill()
        _, said = writer.communicate(timeout=60)
    assert writer.returncode == KILLED, said
    psutil.wait_procs(family, timeout=30)
    compare_and_go_on(folder, ledger, 7)


# -- what recovery got wrong once ------------------------------------------------------------------------------------

PLAIN = "CREATE STREAMING TABLE t (at BIGINT, id BIGINT) TIMESTAMP BY at WITH (shards = 1)"


def one(id: int, at: int | None = None) -> list[dict[str, int]]:
    return [{"at": id if at is None else at, "id": id}]


def test_the_intake_does_not_go_back_to_an_older_frame(tmp_path: Path) -> None:
    """A frame without rows (a heartbeat, or a source's position) lies before rows that are archived."""
    with open_pond(tmp_path / "pond") as db:
        db.sql(PLAIN)
        db.advance("t", 5)
        db._workspace.intake("t").offer([], Origin("source", 1))
        db._workspace.intake("t").offer([*one(10), *one(2)], Origin("source", 3))
        db._workspace.rounds.archive()
        state = db._workspace.stream("t").state
    with open_pond(tmp_path / "pond") as db:
        assert db._workspace.stream("t").state == state
        assert (state.positions, state.highest, state.late) == ({"source": 3}, 10, 1)
        db.append("t", one(11))
        assert db._workspace.stream("t").state.positions == {"source": 3}


def test_log_files_that_start_at_the_same_row(tmp_path: Path) -> None:
    """The first holds only a heartbeat; a new column makes a second one. Its rows are read after, not before it."""
    for number in range(3):
        with open_pond(tmp_path / "pond") as db:
            if not number:
                db.sql(PLAIN)
                db.advance("t", 5)
            db.sql(f"ALTER TABLE t ADD COLUMN c{number} INT")
            db.append("t", [{"at": 10 + number, "id": number, f"c{number}": number}])
            db.advance("t", 10 + number)
        with open_pond(tmp_path / "pond") as db:
            assert db.sql("SELECT id FROM t ORDER BY id").rows() == [(i,) for i in range(number + 1)]
            assert db.now("t") == 10 + number


def test_small_appends_around_new_columns(tmp_path: Path) -> None:
    """Small blocks of the tail are merged, also when they have unlike columns; an error after the log has the rows
    would give the next rows the same numbers."""
    with open_pond(tmp_path / "pond") as db:
        db.sql(PLAIN)
        for number in range(12):
            db.append("t", one(number))
            if number % 3 == 2:
                db.sql(f"ALTER TABLE t ADD COLUMN c{number} INT")
        assert db.sql("SELECT _seq, id, c8 FROM t ORDER BY id").rows() == [(i, i, None) for i in range(12)]


def test_rejected_rows_are_ahead_of_rows(tmp_path: Path) -> None:
    """A crash fell between the two commits of a large round, and the next round is a smaller one that also merges
    files of rejected rows: their position stays."""
    folder = tmp_path / "pond"
    with open_pond(folder) as db:
        db.sql(PLAIN)
        db.append("t", one(100))
        for number in range(7):
            db.append("t", one(number))  # late
            db._workspace.rounds.archive()
        for number in range(200, 204):
            db.append("t", [*one(number), *one(number - 100)])
        tasks = db._workspace.rounds.next_tasks(force=True)
        results = [run_task(task, f"first-{i}") for i, task in enumerate(tasks)]
        table = db._workspace.stream("t")
        with pytest.MonkeyPatch.context() as patched:
            patched.setattr(table.rows, "commit", _interrupt)
            with pytest.raises(KeyboardInterrupt):
                db._workspace.rounds.commit_results(results)
        assert (table.rejected.manifest.current.position, table.rows.manifest.current.position) == (11, 1)
    with open_pond(folder, block_rows=8) as db:
        db.append("t", one(300))
        frames = db._workspace.stream("t").frames
        assert len(frames) == 5
        with pytest.MonkeyPatch.context() as patched:
            patched.setattr("millpond.table.keeper.choose_frames", lambda found, *_, **__: list(found)[:1])
            patched.setattr("millpond.table.keeper.choose_files", lambda found, _: [found] if len(found) > 1 else [])
            db._workspace.rounds.archive()
        assert db.sql("SELECT id FROM t ORDER BY id").rows() == [(100,), (200,), (201,), (202,), (203,), (300,)]
        assert db.sql("SELECT count(*), count(DISTINCT _seq) FROM t_rejected").rows() == [(11, 11)]


def _interrupt(**_: object) -> None:
    raise KeyboardInterrupt


def test_a_commit_whose_sync_failed_can_be_made_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with open_pond(tmp_path / "pond") as db:
        db.sql(PLAIN)
        db.append("t", one(1))
        with monkeypatch.context() as patched:
            patched.setattr("millpond.durable.sync_folder", _no_commit_lasts)
            with pytest.raises(DiskFull):
                db._workspace.rounds.archive()
        db._workspace.rounds.archive()
        assert db.status()["tables"]["t"]["archived_rows"] == 1


def _no_commit_lasts(folder: Path) -> None:
    if folder.name == "_delta_log":
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def test_rows_converted_before_a_column_was_added(tmp_path: Path) -> None:
    """The column is added between the conversion of the rows and their append."""
    with open_pond(tmp_path / "pond") as db:
        db.sql(PLAIN)
        intake = db._workspace.intake("t")
        intake._make_room = lambda _: db.sql("ALTER TABLE t ADD COLUMN c INT")  # type: ignore[assignment,return-value]
        intake.offer(one(1))
        intake._make_room = lambda _: None
        intake.offer([{"at": 2, "id": 2, "c": 2}])
    with open_pond(tmp_path / "pond") as db:
        assert db.sql("SELECT id, c FROM t ORDER BY id").rows() == [(1, None), (2, 2)]
        db._workspace.rounds.archive()
        assert db.sql("SELECT id, c FROM t ORDER BY id").rows() == [(1, None), (2, 2)]
