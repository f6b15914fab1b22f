"""Ctrl-C in the `millpond` command: heard at once, quiet, and the exit code that shells know."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import millpond

LONG = "SELECT count(*) AS n FROM r a JOIN r b ON a.vid < b.vid + b.t JOIN r c ON c.t < a.vid + b.t"
# Ctrl-C while the query runs, and a second time while the pond is being closed, if it is asked to take long.
PROGRAM = """
import os, signal, threading
from millpond import Pond
from millpond.cli import main
from millpond.query.local import Local

def press():
    os.kill(os.getpid(), signal.SIGINT)

execute, close = Local._execute, Pond.close

def watched(*given):
    timer = threading.Timer(0.3, press)
    timer.daemon = True
    timer.start()
    return execute(*given)

def closing(pond):
    if os.environ["PRESSED"] == "twice":
        press()
        threading.Event().wait()
    close(pond)

Local._execute, Pond.close = watched, closing
main()
"""


@pytest.mark.parametrize("pressed", ["once", "twice"])
def test_ctrl_c_ends_a_query_without_a_trace(pressed: str, tmp_path: Path) -> None:
    with millpond.connect(tmp_path / "pond", auto_archive=False) as db:
        db.sql("CREATE STREAMING TABLE r (vid INT, t BIGINT) TIMESTAMP BY t")
        db.append("r", [(i, i) for i in range(20_000)])
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, "sql", "--pond", str(tmp_path / "pond"), LONG],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
        env={**os.environ, "PRESSED": pressed},
    )
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "\nstopping ...\n")
