"""Failpoints: named places where a test can end the process, as a power cut or `kill -9` would.

Idea. Between any two steps that touch the disk a process can end. The dangerous places have names; a test arms one
through the environment (`MILLPOND_FAILPOINTS="log.after_write=kill"`) and sees whether a crash there is only a pause.
`kill@3` means: at the third time the place is passed. Nothing is armed otherwise, and `reach` costs one look at an empty
dictionary.
"""

from __future__ import annotations

import os
import signal

from millpond.config import failpoints_text
from millpond.errors import CatalogError

NAMES = {
    "file.before_rename": "a whole file is written and synced beside the one it will replace",
    "file.after_rename": "it is in place, the folder is not synced",
    "log.new_segment": "a log segment exists, and is empty",
    "log.after_write": "a frame is written, not synced",
    "log.after_sync": "it is synced, not visible, not acknowledged",
    "log.before_delete": "rows are archived, and still in the log",
    "log.after_delete": "the first of the segments no longer needed is deleted",
    "block.after_file": "an archive file is written, its indices are not",
    "block.after_index": "file and indices are written, nothing refers to them",
    "archive.before_commits": "all files of a round are written",
    "archive.between_commits": "rejected rows are committed, rows are not",
    "compaction.before_commit": "the merged file is written",
    "compaction.after_commit": "it is committed, the files it replaces still exist",
    "retention.before_commit": "expired files are found",
    "retention.after_commit": "they are no longer part of the table, and still exist",
    "removal.after_delete": "the first of the removed files is deleted",
    "checkpoint.before_write": "a commit is made that calls for a checkpoint",
    "checkpoint.after_write": "the checkpoint is written, old commits still exist",
    "checkpoint.after_delete": "the first of the old commits is deleted",
    "catalog.before_save": "a definition is about to change",
    "catalog.after_save": "it is changed on disk, not in memory",
    "create.before_catalog": "the folders of a table exist, the catalog does not name it",
    "alter.before_catalog": "the archive has the new column, the catalog does not",
    "alter.after_catalog": "both have it, the log does not",
    "now.before_frame": "queries that passed the new time are renewed, the time is not taken back",
    "now.after_frame": "the time is taken back, the network does not know",
    "now.before_commit": "rows beyond the new time are among the rejected rows, and still in the table",
    "update.before_commit": "changed files are written",
    "update.after_commit": "they are committed, the statement has not returned",
    "results.after_write": "results of a tick are written, not synced",
    "results.after_sync": "they are synced, nobody has seen them",
    "results.before_commit": "old results are in a file, nothing refers to it",
    "results.after_commit": "the file is committed, they are still in memory and in the log",
    "results.before_expiry": "files of results before the history period are found",
    "results.before_delete": "a segment of the log of results is no longer needed",
    "results.after_delete": "it is deleted",
}

_armed: dict[str, int] = {}  # name -> passes left until it acts


def arm(text: str) -> None:
    """Arm the failpoints named in `text`, as in the environment variable; those armed before are not any more."""
    armed = {}
    for item in filter(None, (part.strip() for part in text.split(","))):
        name, _, action = item.partition("=")
        kind, _, passes = action.partition("@")
        if name not in NAMES or kind != "kill" or not (passes or "1").isdigit():
            raise CatalogError(
                f'failpoint "{item}" cannot be armed',
                hint="Write <name>=kill or <name>=kill@<pass>; see failpoints.py.",
            )
        armed[name] = int(passes or 1)
    _armed.clear()
    _armed.update(armed)


def reach(name: str) -> None:
    """The place `name` is passed."""
    if not _armed:
        return
    assert name in NAMES, f"failpoint {name} has no description"
    if name in _armed:
        _armed[name] -= 1
        if _armed[name] == 0:
            os.kill(os.getpid(), signal.SIGKILL)


arm(failpoints_text())
