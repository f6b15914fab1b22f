"""Flink SQL from its published Python package, in an environment of its own: its dependencies are not ours.

`FLINK_PYTHON` names a Python that has the package `apache-flink`; without it one is made, which takes some minutes.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

PROGRAM = Path(__file__).resolve().with_name("flink_rival.py")
PACKAGE = "apache-flink==2.3.0"


class Absent(Exception):
    """This rival cannot be had here; the text says why."""


@dataclass(frozen=True)
class Flink:
    python: str
    version: str

    def run(self, files: Path, results: Path, name: str) -> dict[str, float]:
        """Seconds until the job runs, and from then until its last result is written."""
        environment = {k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "SPARK_HOME")}
        words = [self.python, str(PROGRAM), str(files), str(results), name]
        done = subprocess.run(words, capture_output=True, text=True, env=environment, timeout=600)
        lines = [line for line in done.stdout.splitlines() if line.startswith("{")]
        if not lines:
            raise RuntimeError(f"Flink failed: {(done.stderr or done.stdout)[-2000:]}")
        found: dict[str, float] = json.loads(lines[-1])
        return found


def build(folder: Path) -> Flink:
    python = os.environ.get("FLINK_PYTHON")
    if python is None:
        python = str(folder / "flink" / "bin" / "python")
        for words in (
            [sys.executable, "-m", "venv", str(folder / "flink")],
            [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", PACKAGE],
        ):
            done = subprocess.run(words, capture_output=True, text=True)
            if done.returncode:
                raise Absent(f"{' '.join(words[1:4])} failed: {done.stderr.strip()[-300:]}")
    asked = "from importlib.metadata import version; print(version('apache-flink'))"
    done = subprocess.run([python, "-c", asked], capture_output=True, text=True)
    if done.returncode:
        raise Absent(f"{python} has no package apache-flink")
    return Flink(python, done.stdout.strip())
