"""The demo: Linear Road from end to end, small and live, in about two minutes.

Eight minutes of one expressway in the busy middle of a run, chosen so that one accident stands from the beginning, another
happens on the way, and half of the segments cost tolls. They are generated, answered faster than real time on the live screen,
while one-time questions are asked beside it, validated, and reported.

The folder of an earlier demo is replaced; a file in it says that a demo made it, and is locked while one runs. Any other folder
is left alone.
"""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from rich.console import Console

import millpond
from linear_road import cli, generate, run_folder
from linear_road.load import TrafficConfig
from linear_road.progress import Bars, say
from linear_road.questions import Questions
from linear_road.report import write_report
from linear_road.run import RunConfig
from linear_road.survey import survey
from linear_road.wording import counted

MARKER: Final = "demo.json"
TRAFFIC: Final = TrafficConfig(xways=1, start_minute=64, minutes=8, seed=7)
DAYS: Final = 7


def run_demo(folder: Path, *, speed: float, traffic: TrafficConfig = TRAFFIC, days: int = DAYS) -> bool:
    """Run it in a folder; whether the answers are all right. Raises `PondError` if the folder is not a demo's."""
    console = Console()
    begin = time.monotonic()
    with claimed(folder):
        minutes = f"minutes {traffic.start_minute} to {traffic.end_minute} of {counted(traffic.xways, 'expressway')}"
        say(console, f"Linear Road: {minutes}, {speed:g} times as fast, in {folder}/")
        say(console, "1. generate: traffic by simulation, and the histories")
        with Bars(console) as bars:
            paths = generate.generate(traffic, folder / "lr", "parquet", days, lambda p: bars.move(p.file, p.share))
        say(console, "2. run: a driver hands over tuples, continuous queries in SQL answer them, everything is kept")
        config = RunConfig(paths["input"], folder / "run", paths["tolls"], paths["segments"], speed=f"{speed:g}")
        facts = survey(config.input)
        run_folder.begin(config, facts)
        questions = Questions()
        cli.drive(console, config, facts, questions)
        if questions.error is not None:
            raise questions.error
        say(console, "3. validate: the answers are worked out again, in another way, and compared")
        output = config.out / "output.csv"
        verdict = cli.judge(console, config.input, output, config.tolls, config.segments, config.today, late_ok=False)
        report = write_report(config.out)
        say(console, f"{verdict}\n")
        say(console, f"4. report: {report.absolute()}")
        say(console, f"done in {time.monotonic() - begin:.0f} s. The pond stays; ask it yourself:")
        statement = "SELECT dir, seg, COUNT(*) AS reports FROM reports GROUP BY dir, seg ORDER BY reports DESC LIMIT 5"
        say(console, f'  {_command()} sql --pond {config.out / "pond"} "{statement}"')
        say(console, "The application is SQL: src/linear_road/linear_road.sql")
        return verdict.correct


def _command() -> str:
    """How to call millpond from here."""
    return "millpond" if shutil.which("millpond") else os.path.relpath(Path(sys.executable).with_name("millpond"))


@contextmanager
def claimed(folder: Path) -> Iterator[None]:
    """The folder, empty but for the marker, and ours alone until the block ends."""
    if folder.exists() and (not folder.is_dir() or (any(folder.iterdir()) and not (folder / MARKER).exists())):
        raise millpond.PondError(
            f'"{folder}" was not made by a demo',
            detail=f"It has no {MARKER}, and the demo would delete what is in it.",
            hint="Give another folder with --out, or remove this one yourself.",
        )
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / MARKER).open("a+", encoding="utf-8") as marker:
        try:
            fcntl.flock(marker, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            hint = "Let it end, or give another folder with --out."
            raise millpond.PondError(f'a demo is running in "{folder}"', hint=hint) from error
        run_folder.check_free(folder / "run" / "pond")
        for path in folder.iterdir():
            if path.name == MARKER:
                continue
            shutil.rmtree(path) if path.is_dir() else path.unlink()
        marker.truncate(0)
        marker.write(json.dumps({"made_by": "millpond demo"}))
        marker.flush()
        yield
