"""Appends 0, 1, 2, ... to the table "s" of a pond until it is killed: `python steady_writer.py POND`.

Event time follows the ids, so that the history period moves with them; archiving, merging, expiry, checkpoints and the
deletion of removed files go on in a thread.
"""

from __future__ import annotations

import os
import sys
import threading
import traceback
from pathlib import Path
from random import Random

sys.path.insert(0, str(Path(__file__).parents[2]))

from millpond import Pond
from millpond.table import manifest
from tests.faults.ledger import open_pond

GRACE = 10.0  # seconds: long for the reader's queries, short enough that files are deleted while it looks


def archive_for_ever(db: Pond) -> None:
    try:
        while True:
            db._workspace.rounds.archive()
            for table in db._workspace.streams().values():
                table.rows.delete_removed(db._workspace.clock.monotonic(), grace=GRACE)
    except BaseException:
        traceback.print_exc()
        os._exit(3)


def main(folder: Path) -> None:
    manifest.CHECKPOINT_EVERY, manifest._KEPT_COMMITS = 10, 2
    random = Random(1)
    with open_pond(folder, segment_bytes=5_000) as db:
        count = 0
        db.append("s", [{"at": 0, "id": 0}])
        threading.Thread(target=archive_for_ever, args=(db,), daemon=True).start()
        while True:
            count += 1
            size = random.choice([1, 1, 2, 20])
            db.append("s", [{"at": i // 20, "id": i} for i in range(count, count + size)])
            count += size - 1


if __name__ == "__main__":
    main(Path(sys.argv[1]))
