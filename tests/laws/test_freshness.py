"""Freshness: a row is in the answer of the next SELECT after `append` returns, also while rows move to the archive."""

from __future__ import annotations

import subprocess
import sys
import threading
from pathlib import Path

import pytest

import millpond
from tests.laws.scripts import Life, Setting

READER = """
import sys, millpond
db = millpond.connect(sys.argv[1], create=False, engine="duckdb")
print("ready", flush=True)
for line in sys.stdin:
    print(db.sql(line).rows()[0][0], flush=True)
db.close()
"""


def _connect(folder: Path, **settings: int) -> millpond.Pond:
    return millpond.connect(folder, auto_archive=False, engine="duckdb", block_rows=512, shards=2, **settings)


def test_each_append_is_seen_by_the_next_question() -> None:
    with Life(Setting(shards=4, shard_by_key=True)) as life:
        for number in range(300):
            life.db.append("r", [(number % 5, "a", number, number)])
            assert life.ask("SELECT v FROM r [ROWS 1]") == [(number,)]
            if number % 50 == 25:
                life.db.archive()


@pytest.mark.parametrize("appends", [600, pytest.param(6000, marks=pytest.mark.slow)])
def test_rows_are_seen_while_another_thread_archives(tmp_path: Path, appends: int) -> None:
    """Thousands of appends against an archiver that never rests: each is seen at once, none is lost or doubled."""
    batch = 3
    with _connect(tmp_path / "pond") as db:
        db.sql("CREATE STREAMING TABLE r (k INT, v INT, t BIGINT) TIMESTAMP BY t SHARD BY k")
        db.sql("CREATE INDEX ON r (k)")
        done = threading.Event()
        rounds: list[int] = []
        errors: list[BaseException] = []

        def archive() -> None:
            try:
                while not done.is_set():
                    db._workspace.rounds.archive()
                    rounds.append(1)
            except BaseException as error:
                errors.append(error)

        archiver = threading.Thread(target=archive)
        archiver.start()
        try:
            for number in range(appends):
                first = number * batch
                db.append("r", [(i % 7, i, number) for i in range(first, first + batch)])
                if (
                    number % 10 == 0
                ):  # every append counts, every tenth is asked for: a question costs more than an append
                    total = first + batch
                    answer = db.sql("SELECT count(*), max(v), count(DISTINCT v) FROM r").rows()
                    assert answer == [(total, total - 1, total)]
                if number % 100 == 7:
                    key = (first + batch - 1) % 7
                    assert db.sql(f"SELECT max(v) FROM r WHERE k = {key}").rows() == [(first + batch - 1,)]
        finally:
            done.set()
            archiver.join()
        assert not errors
        assert len(rounds) > 10
        total = appends * batch
        assert db.sql("SELECT count(*), sum(v), count(DISTINCT v) FROM r").rows() == [
            (total, total * (total - 1) // 2, total)
        ]
    with _connect(tmp_path / "pond") as db:
        assert db.sql("SELECT count(*), count(DISTINCT v) FROM r").rows() == [(total, total)]


@pytest.fixture
def reader(tmp_path: Path) -> subprocess.Popen[str]:
    with _connect(tmp_path / "pond") as db:
        db.sql("CREATE STREAMING TABLE r (k INT, v INT, t BIGINT) TIMESTAMP BY t SHARD BY k")
    command = [sys.executable, "-c", READER, str(tmp_path / "pond")]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    return process


def test_another_process_sees_each_append(tmp_path: Path, reader: subprocess.Popen[str]) -> None:
    """A reader asks right after each append of the writer, through archiving, compaction and a new column."""
    assert reader.stdin is not None
    assert reader.stdout is not None
    try:
        with _connect(tmp_path / "pond") as db:
            for number in range(300):
                row = (number % 5, number, number)
                db.append("r", [row if number < 200 else (*row, "x")])
                if number % 7 == 3:
                    db.archive()
                if number == 199:
                    db.sql("ALTER TABLE r ADD COLUMN w STRING")
                question = ("SELECT count(*) FROM r", "SELECT max(v) + 1 FROM r", "SELECT count(DISTINCT v) FROM r")[
                    number % 3
                ]
                reader.stdin.write(question + "\n")
                reader.stdin.flush()
                assert reader.stdout.readline() == f"{number + 1}\n"
    finally:
        reader.stdin.close()
        reader.stdout.close()
        assert reader.wait(60) == 0


def test_a_reader_that_slept_over_a_checkpoint_catches_up(tmp_path: Path) -> None:
    with _connect(tmp_path / "pond", segment_bytes=1) as db:
        db.sql("CREATE STREAMING TABLE r (k INT, v INT, t BIGINT) TIMESTAMP BY t")
        with millpond.connect(tmp_path / "pond", create=False, engine="duckdb") as sleeper:
            assert sleeper.sql("SELECT count(*) FROM r").rows() == [(0,)]
            for number in range(130):
                db.append("r", [(0, number, number)])
                db.archive()
            assert sleeper.sql("SELECT count(*) FROM r").rows() == [(130,)]


def test_a_reader_that_becomes_the_writer_has_read_everything(tmp_path: Path) -> None:
    """What it read of a standard table before others wrote is not what it goes on from."""
    with _connect(tmp_path / "pond") as first:
        first.sql("CREATE STANDARD TABLE s (k INT)")
        first.sql("CREATE STREAMING TABLE r (k INT, v INT, t BIGINT) TIMESTAMP BY t")
        second = _connect(tmp_path / "pond")
        assert second.sql("SELECT (SELECT count(*) FROM s) + (SELECT count(*) FROM r)").rows() == [(0,)]
        for number in range(3):
            first.append("s", [(number,)])
            first.append("r", [(0, number, number)])
            first.archive()
    with second:
        second.append("s", [(3,)])
        second.append("r", [(0, 3, 3)])
        assert second.sql("SELECT k FROM s ORDER BY k").rows() == [(i,) for i in range(4)]
        assert second.sql("SELECT v FROM r ORDER BY v").rows() == [(i,) for i in range(4)]
