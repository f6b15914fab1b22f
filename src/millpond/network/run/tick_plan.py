"""What a tick has to do, found by reading only: how far each table is read, and the tasks of its shards.

A plan is a value. It says which steps it was made for, so that whoever commits its results can tell which of them have been
dropped or altered meanwhile.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from millpond.event_time import Progress
from millpond.network.run.definitions import RunningQueries
from millpond.network.run.frames import RecentFrames
from millpond.network.run.host import NetworkHost
from millpond.network.run.shard_definitions import ShardDefinitions
from millpond.network.run.state import Seen
from millpond.network.run.steps import Step
from millpond.network.run.task import ShardTask, worker_name
from millpond.table.log import Frame
from millpond.table.sections import sections_of

CHECKPOINT_TICKS = 120  # between checkpoints of windows, at least, and
CHECKPOINT_PAUSE = 120.0  # seconds


@dataclass(frozen=True)
class TickPlan:
    """A tick between plan and commit. Tables are known by their folders."""

    run_id: str  # of the network's memory; if the network starts over, nothing of the plan applies
    steps: Mapping[str, Step]  # that run, by name, in the order in which they read each other
    before: Mapping[str, Seen]  # where the tables read by the tick stand, and where they will
    after: Mapping[str, Seen]
    frames: Mapping[str, tuple[Frame, ...]]  # of the tables' logs, from `before` on
    tasks: tuple[ShardTask, ...]
    checkpoint: bool  # whether to begin checkpoints of windows after the tick


def plan_tick(
    host: NetworkHost,
    running: RunningQueries,
    recent: RecentFrames,
    definitions: Mapping[str, ShardDefinitions],
    out: Path,
    owners: Mapping[tuple[str, int], str],
    *,
    checkpoint: bool,
) -> TickPlan | None:
    """The next tick, or None if there is nothing to evaluate.

    `definitions` has the queries of a table's shards, `out` is where checkpoints go, `owners` tells the worker that had a shard
    last; `checkpoint`, whether to begin checkpoints of windows.
    """
    if running.whole is None or not running.steps:
        return None
    before: dict[str, Seen] = {}
    after: dict[str, Seen] = {}
    frames: dict[str, tuple[Frame, ...]] = {}
    for name in running.tables_read():
        table = host.stream(name)
        folder = table.definition.folder
        seen = before[folder] = running.draft.seen[folder]
        with table.lock:
            end, now = table.next_row, table.now
            frames[folder] = tuple(f for f in table.frames if f.end > seen.position)
        after[folder] = Seen(end, now if now is not None else seen.watermark)
    if before == after and not running.whole.behind():
        return None
    tasks: list[ShardTask] = []
    for name in sorted(set(running.placed.values())):
        folder = host.stream(name).definition.folder
        if before[folder] == after[folder]:
            continue
        tasks += _tasks(
            host, running, name, before[folder], after[folder], [*recent.of(folder), *frames[folder]],
            definitions[name], out, owners, checkpoint,
        )  # fmt: skip
    return TickPlan(running.run_id, dict(running.steps), before, after, frames, tuple(tasks), checkpoint)


def _tasks(
    host: NetworkHost,
    running: RunningQueries,
    name: str,
    before: Seen,
    after: Seen,
    frames: list[Frame],
    definitions: ShardDefinitions,
    out: Path,
    owners: Mapping[tuple[str, int], str],
    checkpoint: bool,
) -> list[ShardTask]:
    """One task for each shard of a table."""
    progress = {}
    for query, table in running.placed.items():
        if table == name:
            folder = running.steps[query].folder
            found = running.draft.progress.get(folder, Progress())
            progress[folder] = (found.frontier, found.last)
    return [
        ShardTask(
            pond=str(host.folder),
            run_id=running.run_id,
            version=running.versions[name],
            definitions=definitions,
            table=name,
            shard=shard,
            before=before,
            after=after,
            sections=sections_of(frames, shard),
            reach=frames[0].first if frames else before.position,
            progress=progress,
            out=str(out),
            keep=checkpoint,
            owner=owners.get((name, shard), ""),
            planner=worker_name(),
            evaluation_time=host.config.evaluation_time or None,
            evaluation_memory=host.config.evaluation_memory,
        )
        for shard in range(host.stream(name).definition.shards)
    ]
