"""A writer to be killed while results of a query move to files: `python results_writer.py SEED POND [TICKS]`.

The table gets rows (n, t) with n = 0, 1, 2, ... and every row is a result of the view `kept`, so that what must be there
follows from how many rows there are. Limits are tiny: results move, files are merged and expire all the time. With TICKS
it ends after so many. Says "ready" once the pond is open.
"""

from __future__ import annotations

import os
import sys
import traceback
from pathlib import Path
from random import Random
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[2]))

import millpond
from millpond.results import outlet as outlets
from millpond.table import manifest

RANGE = 8
OPTIONS: dict[str, Any] = {"engine": "duckdb", "auto_archive": False}


def opened(folder: Path) -> millpond.Pond:
    outlets.KEPT_BYTES, outlets.FILE_BYTES, outlets._LOOSE = 320, 200, 4
    manifest.CHECKPOINT_EVERY, manifest._KEPT_COMMITS = 10, 4
    db = millpond.connect(folder, **OPTIONS)
    db._workspace.network.results.log._segment_bytes, db._workspace.network.results.log._segments = 2048, 2
    return db


def step(db: millpond.Pond, random: Random) -> None:
    """A few rows at the next time, a tick, and perhaps the time for files to be written."""
    (count, time), = db.sql("SELECT count(*), coalesce(max(t), -1) + 1 FROM r").rows()  # fmt: skip
    db.append("r", [(count + i, time) for i in range(random.randint(1, 6))])
    db.advance("r", time + 1)
    db.tick()
    if random.random() < 0.5:
        db._workspace.network.keeper.settle()


def run(seed: int, folder: Path, ticks: int) -> None:
    random = Random(seed)
    db = opened(folder)
    print("ready", flush=True)
    for _ in range(ticks):
        step(db, random)
    db.close()


if __name__ == "__main__":
    try:
        run(int(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3]))
    except BaseException:
        traceback.print_exc()
        os._exit(3)
