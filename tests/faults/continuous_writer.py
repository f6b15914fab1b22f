"""A writer to be killed while continuous queries run: `python continuous_writer.py SEED POND`.

Batches are numbered, and what a batch holds follows from its number; a batch is appended whole or not at all, so the pond
itself tells which one comes next. Says "ready" once the pond is open.
"""

from __future__ import annotations

import os
import sys
import time
import traceback
from pathlib import Path
from random import Random
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[2]))

import millpond

LATENESS = 4
MOST = 8  # rows of a batch
OPTIONS: dict[str, Any] = {"engine": "duckdb", "auto_archive": False, "block_rows": 64, "segment_bytes": 16_384}


def batch(number: int) -> tuple[str, list[dict[str, Any]], str, int]:
    """A table and rows for it, and another one whose time is at least so much before them."""
    random = Random(number)
    table, other = ("s", "r") if number % 3 == 2 else ("r", "s")
    rows = []
    for place in range(random.randint(1, MOST)):
        time = number + (0 if not place else random.choice([0, 0, 1, 2, -1, -2, -3, -6]))  # the first is never late
        key, value = random.choice([None, 0, 1, 2]), random.choice([None, -2, -1, 0, 1, 2, 3])
        rows.append({"id": number * MOST + place, "k": key, "g": random.choice([None, 0, 1]), "v": value, "t": time})
    return table, rows, other, number - 1


def next_number(db: millpond.Pond) -> int:
    newest = [db.sql(f"SELECT max(id) FROM {name}").rows()[0][0] for name in ("r", "s")]
    return max((n // MOST + 1 for n in newest if n is not None), default=0)


def step(db: millpond.Pond, number: int) -> None:
    table, rows, other, heartbeat = batch(number)
    db.advance(other, heartbeat)  # done again if the crash comes before the rows are there
    db.append(table, rows)


def run(seed: int, folder: Path) -> None:
    random = Random(seed)
    db = millpond.connect(folder, **OPTIONS)
    print("ready", flush=True)
    while True:
        step(db, next_number(db))
        draw = random.random()
        if draw < 0.6:
            db.tick()
        elif draw < 0.7:
            db.archive()
        time.sleep(random.random() * 0.03)


if __name__ == "__main__":
    try:
        run(int(sys.argv[1]), Path(sys.argv[2]))
    except BaseException:
        traceback.print_exc()
        os._exit(3)
