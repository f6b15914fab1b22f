"""Tasks of a tick, doing them in this process, and what comes of them."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from dataclasses import dataclass

from millpond.network.run import worker
from millpond.network.run.task import ShardOutcome, ShardTask
from millpond.standing.work import Matched, MatchTask
from millpond.table.manifest import ArchiveFile
from millpond.table.work import Task

Work = Task | ShardTask | MatchTask


@dataclass(frozen=True)
class FilesWritten:
    """By an archive task: files that a commit may add to the archive."""

    files: Sequence[ArchiveFile]


@dataclass(frozen=True)
class ShardEvaluated:
    """By a shard's task."""

    outcome: ShardOutcome


@dataclass(frozen=True)
class RowsMatched:
    """By a task of standing queries."""

    matched: Matched


TaskResult = FilesWritten | ShardEvaluated | RowsMatched


def run_task(task: Work, name: str) -> TaskResult:
    """Do a task in this process. `name` is unique: files that it makes carry it."""
    if isinstance(task, ShardTask):
        return ShardEvaluated(worker.run_task(task))
    if isinstance(task, MatchTask):
        return RowsMatched(task.run())
    return FilesWritten(task.run(name))


def run_here(tasks: Sequence[Work]) -> list[TaskResult]:
    """Do tasks in this process, one after another."""
    name = f"here-{uuid.uuid4().hex[:8]}"
    return [run_task(task, f"{name}-{i}") for i, task in enumerate(tasks)]
