"""A writer to be killed: `python crash_writer.py SEED POND LEDGER [--spark] [--operations N]`.

Works on the pond for ever (or N operations long), noting in the ledger what it tries and what was acknowledged. Blocks,
log files and checkpoints are tiny, so that archiving, compaction, retention and checkpoints all happen within a second;
they happen in a thread of their own, in place, or with --spark in the pipeline.

With `--serve` it reads such command lines (JSON lists, the failpoints first) from its input and runs each in a fork, so
that a test of many failpoints pays for the imports once. It answers with the process, and then with how that ended.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import threading
import traceback
from pathlib import Path
from random import Random

sys.path.insert(0, str(Path(__file__).parents[2]))

from millpond import Pond, failpoints
from millpond.table import manifest, runs
from millpond.tick.task_result import run_here
from tests.faults.ledger import Ledger, next_operation, open_pond, perform

BROKEN = 3  # how the program ends when something raises


def archive_for_ever(db: Pond, random: Random, stop: threading.Event) -> None:
    """What the pipeline does, without Spark; now and then all there is, and deleting what was removed at once."""
    try:
        while not stop.wait(0.002):
            with db._workspace.round:
                tasks = db._workspace.rounds.next_tasks(force=random.random() < 0.5)
                if tasks:
                    db._workspace.rounds.commit_results(run_here(tasks))
                if random.random() < 0.2:
                    for table in db._workspace.streams().values():
                        for store in (table.rows, table.rejected):
                            store.delete_removed(db._workspace.clock.monotonic(), grace=0.0)
    except BaseException:
        traceback.print_exc()
        os._exit(BROKEN)


def run(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("seed", type=int)
    parser.add_argument("pond", type=Path)
    parser.add_argument("ledger", type=Path)
    parser.add_argument("--spark", action="store_true")
    parser.add_argument("--operations", type=int)
    given = parser.parse_args(arguments)
    manifest.CHECKPOINT_EVERY, manifest._KEPT_COMMITS = 10, 4
    runs.LEAST_ROWS = 8  # type: ignore[misc]
    random = Random(given.seed)
    ledger = Ledger(given.ledger)
    settings = {"spark_memory": "512m", "spark_master": "local[2]"} if given.spark else {}
    db = open_pond(given.pond, **settings)
    stop = threading.Event()
    thread = threading.Thread(target=archive_for_ever, args=(db, Random(given.seed + 1), stop))
    if given.spark:
        db.start()
        assert db._workspace._pipeline is not None
        assert db._workspace._pipeline.ready.wait(120)
    else:
        thread.start()
    count = 0
    while given.operations is None or count < given.operations:
        perform(db, ledger, next_operation(ledger, random))
        count += 1
    stop.set()
    if not given.spark:
        thread.join()
    db.close()


def serve() -> None:
    for line in sys.stdin:
        points, *arguments = json.loads(line)
        child = os.fork()
        if child == 0:
            try:
                failpoints.arm(points)
                run(arguments)
            except BaseException:
                traceback.print_exc()
                os._exit(BROKEN)
            os._exit(0)
        print(child, flush=True)
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)


if __name__ == "__main__":
    if sys.argv[1:] == ["--serve"]:
        serve()
    else:
        try:
            run(sys.argv[1:])
        except BaseException:
            traceback.print_exc()
            os._exit(BROKEN)
