"""A crash is a pause, for standing queries: what was registered before a kill -9 is there, what was dropped is not, and the answers
are those of the rows that were accepted."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from random import Random

import pytest

import millpond

PROGRAM = Path(__file__).with_name("standing_writer.py")
SOURCE = Path(millpond.__file__).parents[1]


class Known:
    """What the writer acknowledged."""

    def __init__(self) -> None:
        self.queries: dict[int, int] = {}
        self.unsure: set[int] = set()  # being dropped when it was killed
        self.rows = 0

    def take(self, line: str) -> None:
        word, *numbers = line.split()
        if word == "registered":
            self.queries[int(numbers[0])] = int(numbers[1])
        elif word == "dropping":
            self.unsure = {int(numbers[0])}
        elif word == "dropped":
            del self.queries[int(numbers[0])]
            self.unsure.clear()
        elif word == "rows":
            self.rows = int(numbers[0])


def killed_after(seconds: float, seed: int, folder: Path, known: Known) -> None:
    environment = {**os.environ, "PYTHONPATH": str(SOURCE)}
    with subprocess.Popen(
        [sys.executable, str(PROGRAM), str(seed), str(folder)], stdout=subprocess.PIPE, text=True, env=environment
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        time.sleep(seconds)
        process.send_signal(signal.SIGKILL)
        for line in process.stdout:
            if line.endswith("\n"):
                known.take(line)


def check(folder: Path, known: Known) -> None:
    with millpond.connect(folder, auto_archive=False) as db:
        ((rows,),) = db.sql("SELECT count(*) FROM r").rows()
        assert rows >= known.rows
        known.rows = rows
        there = {number for (number,) in db.sql("SELECT id FROM millpond.standing_queries").rows()}
        assert known.queries.keys() - known.unsure <= there
        for number in known.unsure - there:
            del known.queries[number]
        known.unsure.clear()
        for number in there:
            handle = db.registered(number)
            value = known.queries.setdefault(number, int(handle.sql.split("v = ")[1].split()[0]))
            assert handle.invoke().rows() == [(value, t) for t in reversed(range(rows)) if t % 10 == value]


def crash_rounds(folder: Path, rounds: int, seed: int) -> None:
    random, known = Random(seed), Known()
    for number in range(rounds):
        killed_after(random.uniform(0.05, 1.0), seed * 1000 + number, folder, known)
        check(folder, known)


def test_registered_queries_survive_being_killed(tmp_path: Path) -> None:
    crash_rounds(tmp_path / "pond", 3, 1)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2, 8))
def test_registered_queries_survive_being_killed_often(tmp_path: Path, seed: int) -> None:
    crash_rounds(tmp_path / "pond", 10, seed)
