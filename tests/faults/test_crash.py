"""A crash is a pause: kill the writer anywhere, open the pond again, and compare it with what was acknowledged.

`crash_writer.py` is the program that is killed, `ledger.py` knows what must be there. Killed at random moments, and at
every failpoint. After each comparison a few more operations are done and compared, because a wrong recovery may show
only in what comes next.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import IO

import psutil
import pytest

from millpond import failpoints
from millpond.errors import NotAPond
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
HALF_MADE = pytest.mark.xfail(
    raises=NotAPond,
    reason="pond.py takes the temporary file of a catalog or marker that was being written for a stranger's file",
)
PLACES = [
    pytest.param(name, passes, id=f"{name}@{passes}", marks=[HALF_MADE] if (name, passes) in HALF else [])
    for name in failpoints.NAMES
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
        db.archive_in_place()
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


def test_killed_at_random_moments(quick_path: Path) -> None:
    for seed in range(5):
        crash_round(quick_path, seed)


@pytest.mark.slow
@pytest.mark.parametrize("pond", range(10))
def test_fifty_kills(quick_path: Path, pond: int) -> None:
    for seed in range(100 + 5 * pond, 105 + 5 * pond):
        crash_round(quick_path, seed)


# -- failpoints -----------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def forks() -> Iterator[subprocess.Popen[str]]:
    """A process that has imported everything and runs writers as forks of itself."""
    environment = {**os.environ, "PYTHONPATH": str(SOURCE)}
    server = subprocess.Popen(
        [sys.executable, str(PROGRAM), "--serve"], env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    try:
        yield server
    finally:
        assert server.stdin is not None
        server.stdin.close()
        server.wait(timeout=60)
        assert server.stdout is not None
        server.stdout.close()


def ended(server: subprocess.Popen[str], points: str, arguments: list[str]) -> int:
    """How a writer with these failpoints ended."""
    sent, answers = server.stdin, server.stdout
    assert isinstance(sent, IO) or sent is not None
    assert answers is not None
    sent.write(json.dumps([points, *arguments]) + "\n")
    sent.flush()
    answers.readline()
    return int(answers.readline())


@pytest.mark.parametrize(("name", "passes"), PLACES)
def test_killed_at(forks: subprocess.Popen[str], quick_path: Path, name: str, passes: int) -> None:
    folder, ledger = quick_path / "pond", quick_path / "ledger"
    arguments = [str(passes), str(folder), str(ledger), "--operations", "1500"]
    assert ended(forks, f"{name}=kill@{passes}", arguments) == KILLED, "the failpoint was not reached"
    compare_and_go_on(folder, ledger, passes)


def test_killed_again_while_recovering(forks: subprocess.Popen[str], quick_path: Path) -> None:
    """The same pond dies at one place after another."""
    folder, ledger = quick_path / "pond", quick_path / "ledger"
    for seed, name in enumerate(["log.after_write", "archive.between_commits", "log.new_segment", "log.after_write",
                                 "checkpoint.after_delete", "compaction.after_commit", "update.before_commit"]):  # fmt: skip
        arguments = [str(seed), str(folder), str(ledger), "--operations", "1500"]
        assert ended(forks, f"{name}=kill@{1 + seed % 3}", arguments) == KILLED
        book = Ledger(ledger)
        check(folder, book)
        book.close()


def test_failpoints_come_from_the_environment(quick_path: Path) -> None:
    environment = {"MILLPOND_FAILPOINTS": "log.after_sync=kill@3"}
    arguments = ["1", str(quick_path / "pond"), str(quick_path / "ledger"), "--operations", "50"]
    with start(arguments, environment=environment) as writer:
        _, said = writer.communicate(timeout=60)
    assert writer.returncode == KILLED, said
    compare_and_go_on(quick_path / "pond", quick_path / "ledger", 1)


@pytest.mark.parametrize("text", ["nowhere=kill", "log.after_write", "log.after_write=explode", "log.after_write=kill@x"])
def test_a_failpoint_that_does_not_exist(text: str) -> None:
    with pytest.raises(ValueError, match=f'^failpoint "{text}" cannot be armed\nHint: '):
        failpoints.arm(text)


# -- with Spark -----------------------------------------------------------------------------------------------------


@pytest.mark.spark
def test_killed_with_the_pipeline(tmp_path: Path) -> None:
    """The writer, the JVM and Spark's workers die together while the pipeline archives."""
    folder, ledger = tmp_path / "pond", tmp_path / "ledger"
    commits = folder / "tables" / f"{TABLE}-0" / "archive" / "_delta_log"
    with start(["7", str(folder), str(ledger), "--spark"], start_new_session=True) as writer:
        wait_until(lambda: len(list(commits.glob("*"))) > 8 or writer.poll() is not None, "Spark to archive", 120)
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
