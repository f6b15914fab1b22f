"""A run of Linear Road that is killed and started again: its output has every answer once."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from random import Random

import pytest

from linear_road import generate, traffic
from linear_road.validator import validate

RUN = """
import sys
from pathlib import Path
from linear_road.run import Run, RunConfig
with Run(RunConfig(Path(sys.argv[1]), Path(sys.argv[2]), tolls=Path(sys.argv[3]), segments=Path(sys.argv[4]), speed="max")) as run:
    run.prepare()
    run.drive()
    run.finish()
"""


@pytest.mark.slow
@pytest.mark.parametrize("kills", [1, 6])
def test_a_killed_run_goes_on(tmp_path: Path, kills: int) -> None:
    minutes = 2 if kills == 1 else 6
    config = traffic.TrafficConfig(xways=0.5, minutes=minutes, start_minute=100, seed=5)
    paths = generate.generate(config, tmp_path, days=2)
    out = tmp_path / "run"
    command = [sys.executable, "-c", RUN, paths["input"], out, paths["tolls"], paths["segments"]]
    random = Random(kills)
    for _ in range(kills):
        with subprocess.Popen(command, start_new_session=True) as run:
            written = size(out)
            deadline = time.monotonic() + 120
            while size(out) == written and run.poll() is None and time.monotonic() < deadline:
                time.sleep(0.05)
            time.sleep(random.random() * 3)
            os.killpg(run.pid, signal.SIGKILL)
    subprocess.run(command, check=True, timeout=450)
    verdict = validate(
        paths["input"], out / "output.csv", tolls=paths["tolls"], segments=paths["segments"], late_ok=True
    )
    assert verdict.ok, str(verdict)


def size(out: Path) -> int:
    output = out / "output.csv"
    return output.stat().st_size if output.exists() else 0
