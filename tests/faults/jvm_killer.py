"""A program that kills the JVM of its own Spark, and goes on: `python jvm_killer.py <scenario> <folder of a pond>`.

It runs in a process of its own because a test's process may share its Spark with other tests.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import millpond
from millpond.spark import session

PATIENCE = 240.0  # seconds; a start of Spark on a busy machine takes a minute
pause = threading.Event()


def wait_until(what: Callable[[], object], why: str) -> None:
    end = time.monotonic() + PATIENCE
    while not what():
        assert time.monotonic() < end, f"never: {why}"
        pause.wait(0.05)  # a status takes milliseconds, which a JVM that starts could use


def children(process: int) -> dict[int, str]:
    """The living descendants of a process, with their command lines."""
    parents: dict[int, list[int]] = {}
    for entry in Path("/proc").iterdir():
        with contextlib.suppress(OSError):
            if entry.name.isdigit():
                state, parent = (entry / "stat").read_text().rpartition(")")[2].split()[:2]
                if state != "Z":
                    parents.setdefault(int(parent), []).append(int(entry.name))
    found: dict[int, str] = {}
    todo = [process]
    while todo:
        for child in parents.get(todo.pop(), []):
            with contextlib.suppress(OSError):
                found[child] = (Path("/proc") / str(child) / "cmdline").read_bytes().replace(b"\0", b" ").decode()
            todo.append(child)
    return found


def lives(process: int) -> bool:
    try:
        return (Path("/proc") / str(process) / "stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def jvm() -> int:
    """The process of this program's JVM, also while it starts; 0 if there is none."""
    mine = [p for p, line in children(os.getpid()).items() if "org.apache.spark.deploy.SparkSubmit" in line]
    return mine[0] if mine else 0


def kill(process: int) -> None:
    os.kill(process, signal.SIGKILL)
    wait_until(lambda: not lives(process), "the killed process is gone")


class Stream:
    """A pond with a query that sends every row, and what was put into it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.db = millpond.connect(folder, spark_master="local[2]", block_rows=1000)
        self.db.sql(
            "CREATE STREAMING TABLE r (k INT, t BIGINT) TIMESTAMP BY t SHARD BY k WITH (shards = 2);"
            "CREATE CONTINUOUS QUERY q AS SELECT k, t FROM r [NOW] SAMPLE REALTIME;"
            "CREATE CONTINUOUS QUERY n AS SELECT k, COUNT(*) AS n FROM r [INTERVAL 100] GROUP BY k SAMPLE INTERVAL 10"
        )
        self.rows = 0

    def push(self, count: int = 100) -> None:
        self.db.append("r", [(i % 7, self.rows + i) for i in range(count)])
        self.rows += count
        self.db.advance("r", self.rows)

    @property
    def state(self) -> str:
        return str(self.db.status()["pipeline"]["state"])

    def shown(self) -> tuple[str, str | None]:
        row = self.db.sql("SELECT state, problem FROM millpond.queries WHERE name = 'q'").rows()[0]
        return row[0], row[1].splitlines()[0] if row[1] else None

    def check(self) -> None:
        """Every row was sent once, counted right, and is in the table once."""
        self.db.tick()
        sent = [row[1] for row in self.db.resume("q").fetch()]
        assert sent == list(range(self.rows)), f"{len(sent)} of {self.rows} rows"
        counted: dict[int, int] = {}
        for _, count, instant, _ in self.db.resume("n").fetch():
            counted[instant] = counted.get(instant, 0) + count
        assert counted, "nothing was counted"
        assert all(count == min(instant + 1, 101) for instant, count in counted.items()), counted
        assert self.db.sql("SELECT count(*), count(DISTINCT t) FROM r").rows() == [(self.rows, self.rows)]


def idle(folder: Path) -> None:
    """Nothing is due when the JVM is killed."""
    stream = Stream(folder)
    stream.push()
    stream.db.start()
    wait_until(lambda: stream.state == "running", "Spark runs")
    stream.check()
    first, family = jvm(), children(jvm())
    assert any("pyspark" in line for line in family.values()), family
    kill(first)
    wait_until(lambda: stream.state == "retrying", "the death is noticed")
    assert stream.shown() == ("waiting", "Spark has ended unexpectedly"), stream.shown()
    assert "was ended by SIGKILL" in stream.db.status()["pipeline"]["problem"]
    wait_until(lambda: not any(map(lives, family)), "the Python workers are gone")
    stream.push()
    wait_until(lambda: stream.state == "running", "Spark runs again")
    stream.check()
    assert jvm() not in (0, first)
    assert stream.shown() == ("running", None)
    with millpond.connect(folder, engine="spark") as other:
        assert other.sql("SELECT count(*) FROM r").rows() == [(stream.rows,)]
    stream.db.close()


def on_spark(folder: Path) -> None:
    """While Spark evaluates a continuous query: the instant is evaluated again, without the pipeline and with it."""
    stream = Stream(folder)
    stream.db.sql(
        "CREATE CONTINUOUS QUERY slow RANGE UNBOUNDED AS SELECT max(hypot(k, b.id)) AS h, max(t) AS t "
        "FROM r [INTERVAL 10], range(3000000) b SAMPLE INTERVAL 10"
    )
    asked = "SELECT name FROM millpond.queries WHERE evaluating_since IS NOT NULL"
    for _ in range(2):
        stream.push()
        ticking = threading.Thread(target=stream.db.tick)
        ticking.start()
        wait_until(lambda: ("slow",) in stream.db.sql(asked).rows(), "Spark evaluates the query")
        kill(jvm())
        ticking.join(PATIENCE)
        stream.db.start()
        wait_until(lambda: stream.state == "running", "Spark runs again")
        stream.check()
    assert stream.db.sql("SELECT DISTINCT state FROM millpond.queries").rows() == [("running",)]
    found = [row[1] for row in stream.db.resume("slow").fetch()]
    assert found == list(range(0, stream.rows, 10)), found
    stream.db.close()


def busy(folder: Path) -> None:
    """While it starts, in a tick, in a one-time query, and while the pond is closed. Python workers die too."""
    stream = Stream(folder)
    stream.push()
    stream.db.start()
    wait_until(jvm, "Spark starts")
    kill(jvm())
    wait_until(lambda: stream.state == "running", "Spark runs after it was killed while starting")
    stream.check()

    def connected() -> list[Any]:
        pipeline = stream.db._workspace.pipeline
        assert pipeline is not None
        return [] if pipeline._workers is None else list(pipeline._workers._known)

    @contextlib.contextmanager
    def in_a_tick() -> Iterator[int]:
        """A worker in the middle of a tick, which it does not go on with."""
        wait_until(lambda: len(connected()) == 2, "both workers are connected")
        worker = connected()[0]
        process = int(worker.name.rpartition("-")[2])
        os.kill(process, signal.SIGSTOP)
        stream.push(2000)
        wait_until(lambda: worker.underway, "a tick has begun")
        yield process
        with contextlib.suppress(ProcessLookupError):
            os.kill(process, signal.SIGCONT)

    with in_a_tick():
        kill(jvm())
    stream.push()
    wait_until(lambda: stream.state != "running", "the death is noticed")
    wait_until(lambda: stream.state == "running", "it goes on")
    stream.check()
    ran = jvm()
    with in_a_tick() as worker:
        kill(worker)
    stream.push()
    stream.check()  # the other worker has done what this one was to do
    assert stream.state == "running"
    wait_until(lambda: len(connected()) == 2, "Spark has given its place to another")
    stream.push()
    stream.check()
    assert jvm() == ran, "the death of a worker has ended Spark"
    stream.db.archive()
    stream.check()

    with millpond.connect(folder, engine="spark") as other:
        assert other.sql("SELECT count(*) FROM r").rows() == [(stream.rows,)]
        failed: list[str] = []

        def ask() -> None:
            try:
                other.sql("SELECT count(*) FROM r a CROSS JOIN r b CROSS JOIN r c CROSS JOIN r d")
            except millpond.SparkDied as error:
                failed.append(str(error))

        asker = threading.Thread(target=ask)
        asker.start()
        pause.wait(1.0)  # it takes minutes
        kill(jvm())
        asker.join()
        assert "was ended by SIGKILL" in failed[0], failed
        assert other.sql("SELECT count(*) FROM r").rows() == [(stream.rows,)]
    stream.check()
    kill(jvm())
    stream.db.close()


def forked(folder: Path) -> None:
    """No JVM is killed here: a forked child leaves Spark to its parent, and can start one of its own."""
    stream = Stream(folder)
    stream.push()
    stream.db.start()
    wait_until(lambda: stream.state == "running", "Spark runs")
    stream.check()
    first = jvm()
    child = os.fork()
    if child == 0:
        assert not session.running()
        session.stop_session()  # there is none here
        with millpond.connect(folder, engine="spark") as mine:
            assert mine.sql("SELECT count(*) FROM r").rows() == [(stream.rows,)]
        assert jvm() not in (0, first)
        sys.exit(7)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    assert code == 7, code
    assert jvm() == first
    stream.push()
    stream.check()
    assert stream.state == "running"
    stream.db.close()


if __name__ == "__main__":
    {"idle": idle, "busy": busy, "forked": forked, "on_spark": on_spark}[sys.argv[1]](Path(sys.argv[2]))
    print("done")
