"""A fork is not a second writer: the child is refused an inherited pond, and does nothing to the parent's."""

from __future__ import annotations

import multiprocessing
import os
import pickle
import signal
import subprocess
import sys
import textwrap
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import millpond
from millpond.lock import is_written

SOURCE = Path(millpond.__file__).parents[1]
LONGEST = 60  # seconds for a child; one that hangs is ended by SIGALRM
TABLE = "CREATE STREAMING TABLE r (k INT, t BIGINT) TIMESTAMP BY t"
QUERY = "CREATE CONTINUOUS QUERY q AS SELECT k, t FROM r [NOW] SAMPLE REALTIME"


@pytest.fixture
def db(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[millpond.Pond]:
    monkeypatch.setattr(
        "millpond.workspace.workspace.Workspace.start", lambda _: None
    )  # a subscriber needs no Spark here
    with millpond.connect(tmp_path / "pond", auto_archive=False) as pond:
        pond.sql(f"{TABLE}; {QUERY}")
        pond.append("r", [(k, k) for k in range(100)])
        pond.tick()
        yield pond


class Child:
    """A fork of this process that does one thing; `answer` is what it returned, or what it raised."""

    def __init__(self, do: Callable[[], object]) -> None:
        self._read, write = os.pipe()
        self.pid = os.fork()
        if self.pid:
            os.close(write)
            return
        os.close(self._read)
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.alarm(LONGEST)
        try:
            answer = do()
        except BaseException as error:
            answer = f"{type(error).__name__}: {error}"
        with os.fdopen(write, "wb") as out:
            pickle.dump(answer, out)
        os._exit(0)

    def answer(self) -> Any:
        with os.fdopen(self._read, "rb") as answer:
            text = answer.read()
        _, status = os.waitpid(self.pid, 0)
        assert status == 0, f"the child ended with {status}"
        return pickle.loads(text)


def refused(*uses: Callable[[], object]) -> list[bool]:
    found = []
    for use in uses:
        try:
            use()
        except millpond.ForkedPond:
            found.append(True)
        else:
            found.append(False)
    return found


def test_fork_made_two_writers(db: millpond.Pond) -> None:
    """Parent and child appended at the same time, and 1,200 row numbers were given twice."""

    def append() -> object:
        db.append("r", [(1, 1000)])
        return "appended"

    child = Child(append)
    for t in range(100, 110):
        db.append("r", [(t, t)])
    answer = child.answer()
    assert answer.startswith(
        f"ForkedPond: this pond was opened by process {os.getpid()}; process {child.pid} is a fork"
    )
    assert "Open the pond again in the child with millpond.connect" in answer
    assert db.sql("SELECT count(*), max(t) FROM r").rows() == [(110, 109)]


def test_every_use_in_a_child_is_refused(db: millpond.Pond) -> None:
    """Also those that would wait for a lock which a thread of the parent held at the time of the fork."""
    cursor, subscription, append = db.resume("q"), db.subscribe("q"), db.append
    batches = iter(db.resume("q"))
    next(batches)
    held, done = threading.Event(), threading.Event()

    def hold() -> None:
        with db._workspace.work, db._workspace.tables.lock, db._workspace.stream("r").lock, db._workspace.local._lock:
            held.set()
            done.wait()

    holder = threading.Thread(target=hold)
    holder.start()
    held.wait()
    names = [name for name in dir(db) if not name.startswith("_") and name != "close"]

    def use() -> object:
        return [
            refused(*(lambda name=name: getattr(db, name) for name in names)),  # type: ignore[misc]
            refused(
                lambda: db.sql("SELECT 1"),
                lambda: append("r", [(1, 1)]),
                lambda: cursor.fetch(),
                lambda: list(cursor),
                lambda: cursor.position,
                lambda: next(batches),
                lambda: subscription.next(timeout=1),
                lambda: next(iter(subscription)),
                lambda: setattr(db, "folder", Path("elsewhere")),
            ),
            repr(db),
        ]

    child = Child(use)
    try:
        methods, others, shown = child.answer()
    finally:
        done.set()
        holder.join()
    assert "sql" in names
    assert all(methods), dict(zip(names, methods, strict=True))
    assert all(others)
    assert shown == f"<Pond of process {os.getpid()}>"
    subscription.close()


def test_a_child_that_closes_the_pond_does_not_close_the_parents(db: millpond.Pond) -> None:
    subscription = db.subscribe("q")

    def close() -> object:
        with db, subscription:
            pass
        db.close()
        return is_written(folder)

    folder = db.folder
    before = sorted(p.name for p in folder.rglob("*"))
    assert Child(close).answer() is True
    assert sorted(p.name for p in folder.rglob("*")) == before
    assert is_written(folder)
    db.append("r", [(7, 100)])
    assert db.sql("SELECT count(*) FROM r").rows() == [(101,)]
    db.tick()
    assert subscription.next(timeout=LONGEST)


def test_a_child_opens_the_pond_again(db: millpond.Pond) -> None:
    def read() -> object:
        with millpond.connect(db_folder) as mine:
            rows = mine.sql("SELECT count(*) FROM r").rows(), len(mine.resume("q").fetch())
            try:
                mine.append("r", [(1, 1000)])
            except millpond.SecondWriter as error:
                return rows, str(error)
        return rows, "wrote"

    db_folder = db.folder
    rows, error = Child(read).answer()
    assert rows == ([(100,)], len(db.resume("q").fetch()))
    assert f"Process {os.getpid()} on " in error


def test_a_child_that_lives_on_does_not_keep_the_lock(tmp_path: Path) -> None:
    """Neither when the parent closes the pond, nor when it is killed."""
    end, ended = os.pipe()

    def wait() -> object:
        os.close(ended)
        return os.read(end, 1)

    with millpond.connect(tmp_path / "pond", auto_archive=False) as db:
        db.sql(TABLE)
        child = Child(wait)
    with millpond.connect(tmp_path / "pond", auto_archive=False) as db:
        db.append("r", [(1, 1)])

    orphan, orphans = os.pipe()

    def write_and_die() -> object:
        mine = millpond.connect(tmp_path / "pond", auto_archive=False)
        mine.append("r", [(2, 2)])
        left = os.fork()
        if left == 0:
            wait()
            os._exit(0)
        os.write(orphans, pickle.dumps(left))
        os.kill(os.getpid(), signal.SIGKILL)
        return None

    parent = Child(write_and_die)
    _, status = os.waitpid(parent.pid, 0)
    assert status == signal.SIGKILL
    left = pickle.loads(os.read(orphan, 100))
    os.kill(left, 0)  # it lives
    with millpond.connect(tmp_path / "pond", auto_archive=False) as db:
        db.append("r", [(3, 3)])
        assert db.sql("SELECT count(*) FROM r").rows() == [(3,)]
    os.close(ended)
    assert child.answer() == b""


def test_multiprocessing_with_fork(db: millpond.Pond) -> None:
    context = multiprocessing.get_context("fork")
    answers = context.SimpleQueue()

    def work() -> None:
        answers.put(refused(lambda: db.sql("SELECT 1")))

    process = context.Process(target=work)
    process.start()
    assert answers.get() == [True]
    process.join(LONGEST)
    assert process.exitcode == 0


def test_a_child_ends_like_any_process(tmp_path: Path) -> None:
    """The destructor of DuckDB joined threads that the child does not have, and crashed."""
    program = """
        import os, sys, millpond
        db = millpond.connect(sys.argv[1])
        db._workspace.local._connection.execute("SELECT sum(i) FROM range(10000000) t(i)").fetchall()
        child = os.fork()
        if child == 0:
            sys.exit(3)
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
        db.close()
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program), str(tmp_path / "pond")],
        capture_output=True, text=True, timeout=LONGEST, check=False, env={**os.environ, "PYTHONPATH": str(SOURCE)},
    )  # fmt: skip
    assert (done.stdout, done.stderr, done.returncode) == ("3\n", "", 0)


def test_a_pond_cannot_be_pickled(db: millpond.Pond) -> None:
    with pytest.raises(millpond.PondError, match="an open pond cannot be sent to another process"):
        pickle.dumps(db)


GARBAGE = """
import gc, os, sys, duckdb, millpond
gc.disable()
for _ in range(3):
    connection = duckdb.connect()
    cycle = [connection, connection.cursor().sql("SELECT sum(range) FROM range(3000000)").to_arrow_table()]
    cycle.append(cycle)
    del connection, cycle
child = os.fork()
if child == 0:
    gc.enable()
    gc.collect()
    os._exit(0)
sys.exit(os.waitpid(child, 0)[1])
"""


def test_garbage_of_the_parent_is_not_destroyed_in_a_child() -> None:
    done = subprocess.run([sys.executable, "-c", GARBAGE], check=False, timeout=60, capture_output=True)
    assert done.returncode == 0, done.stderr
