"""The JVM is killed under a running pond: it is noticed and told, Spark is started again, nothing is lost or doubled."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import millpond

PROGRAM = Path(__file__).with_name("jvm_killer.py")
SOURCE = Path(millpond.__file__).parents[1]

pytestmark = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="finds the JVM in /proc")


def run(scenario: str, folder: Path) -> str:
    """What the scenario printed as warnings."""
    done = subprocess.run(
        [sys.executable, str(PROGRAM), scenario, str(folder)],
        capture_output=True, text=True, check=False, env={**os.environ, "PYTHONPATH": str(SOURCE)},
    )  # fmt: skip
    assert (done.returncode, done.stdout) == (0, "done\n"), done.stderr
    # PySpark printed the trace of an EOFError, and py4j of every call that broke off.
    assert "Traceback" not in done.stderr
    return done.stderr


def test_a_dead_jvm_was_never_noticed(tmp_path: Path) -> None:
    """Results stopped, SHOW said running, and later queries raised ConnectionRefusedError for ever."""
    told = run("idle", tmp_path / "pond")
    assert "the pipeline is interrupted and tries again: Spark has ended unexpectedly" in told
    assert "the pipeline goes on" in told


@pytest.mark.slow
def test_a_jvm_that_dies_while_it_starts_ticks_or_answers(tmp_path: Path) -> None:
    run("busy", tmp_path / "pond")


@pytest.mark.slow
def test_a_jvm_that_dies_while_it_evaluates_a_continuous_query(tmp_path: Path) -> None:
    run("on_spark", tmp_path / "pond")


@pytest.mark.slow
def test_a_forked_child_leaves_spark_to_its_parent(tmp_path: Path) -> None:
    assert run("forked", tmp_path / "pond") == ""
