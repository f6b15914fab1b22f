"""What comes back from a task of a tick, whoever runs it: the files of an archive task, where a shard's outcome is, or where
the matches of standing queries are.

Results cross from Spark's workers as text, tagged with what they are.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Sequence
from dataclasses import asdict, dataclass

from millpond.network.run import worker
from millpond.network.run.task import ShardTask
from millpond.standing.work import MatchTask
from millpond.table.manifest import ArchiveFile, Copy
from millpond.table.work import Task


@dataclass(frozen=True)
class WarmUp:
    """A task with nothing to do: the worker that is given it has imported everything afterwards."""

    def run(self, _name: str) -> list[ArchiveFile]:
        return []


Work = Task | ShardTask | MatchTask | WarmUp


@dataclass(frozen=True)
class FilesWritten:
    """By an archive task: files that a commit may add to the archive."""

    files: Sequence[ArchiveFile]


@dataclass(frozen=True)
class ShardEvaluated:
    """By a shard's task: the path of its outcome, for `read_outcome`."""

    path: str


@dataclass(frozen=True)
class RowsMatched:
    """By a task of standing queries: the path of what it found, for `Matched.read`."""

    path: str


TaskResult = FilesWritten | ShardEvaluated | RowsMatched


def run_task(task: Work, name: str) -> TaskResult:
    """Do a task in this process. `name` is unique: files that it makes carry it."""
    if isinstance(task, ShardTask):
        return ShardEvaluated(worker.run_task(task, name))
    if isinstance(task, MatchTask):
        return RowsMatched(task.run(name))
    return FilesWritten(task.run(name))


def run_here(tasks: Sequence[Work]) -> list[TaskResult]:
    """Do tasks in this process, one after another."""
    name = f"here-{uuid.uuid4().hex[:8]}"
    return [run_task(task, f"{name}-{i}") for i, task in enumerate(tasks)]


def encode_result(result: TaskResult) -> str:
    if isinstance(result, ShardEvaluated):
        return json.dumps({"shard": result.path})
    if isinstance(result, RowsMatched):
        return json.dumps({"matched": result.path})
    return json.dumps({"files": [asdict(file) for file in result.files]})


def decode_result(text: str) -> TaskResult:
    found = json.loads(text)
    if "shard" in found:
        return ShardEvaluated(found["shard"])
    if "matched" in found:
        return RowsMatched(found["matched"])
    files = []
    for item in found["files"]:
        for name in ("columns", "indexed", "clustered"):
            item[name] = tuple(item[name])
        item["draws"] = tuple(item["draws"]) if item["draws"] is not None else None
        item["copies"] = tuple(Copy(**copy) for copy in item["copies"])
        files.append(ArchiveFile(**item))
    return FilesWritten(files)
