"""Ticks as a Spark source. The pond writes a tick's tasks to a file; the source turns them into partitions.

Idea. What a tick must do is known in the process that owns the pond: it has the log's frames, the manifests and
the network of continuous queries. So it decides, and Spark carries out: partitions are placed, retried and reported by
Spark; the rows themselves go from the log to the worker as Arrow and never through the JVM.

Shards of continuous queries want to be where they were last time, because a worker remembers their windows, and Spark does not
let anybody choose the worker. So a tick's partitions, in whatever workers they find themselves, share its shards out among
them; see `claims.py`.

A tick file is `<number>.tick`, a pickled list of tasks. The offset is the number of the last tick. The run folder is
made anew for each start of the pipeline, so that numbers and names of an earlier run are never taken for this one's.
"""

from __future__ import annotations

import gc
import pickle
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition

from millpond.durable import write_file
from millpond.network.run.task import ShardTask, worker_name
from millpond.tick.claims import Claims, Wanted
from millpond.tick.task_result import Work, encode_result, run_task

FORMAT = "millpond_ticks"
RESULT_SCHEMA = "task int, result string"
_ARROW_SCHEMA = pa.schema([pa.field("task", pa.int32()), pa.field("result", pa.string())])


def tick_path(folder: Path, number: int) -> Path:
    return folder / f"{number:012d}.tick"


def write_tick(folder: Path, number: int, tasks: Sequence[Work]) -> None:
    write_file(tick_path(folder, number), pickle.dumps(list(tasks)))


class TaskPartition(InputPartition):
    """One task of a tick, or one of `count` partitions that share its shards: then `task_number` is -1."""

    def __init__(self, number: int, task_number: int, name: str, place: int = 0, count: int = 1) -> None:
        self.number = number
        self.task_number = task_number
        self.name = name
        self.place = place
        self.count = count


class TickReader(DataSourceStreamReader):
    """Planned in a Python process of Spark's, read in its workers."""

    def __init__(self, options: dict[str, str]) -> None:
        self._folder = Path(options["folder"])
        self._run = options["run"]
        self._slots = int(options["slots"])

    def initialOffset(self) -> dict[str, Any]:
        return {"tick": 0}

    def latestOffset(self, start: dict[str, Any], limit: Any) -> dict[str, Any]:
        number = int(start["tick"])
        # One tick a batch: results then belong to exactly one plan.
        return {"tick": number + 1} if tick_path(self._folder, number + 1).exists() else {"tick": number}

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> Sequence[InputPartition]:
        parts = []
        for number in range(int(start["tick"]) + 1, int(end["tick"]) + 1):
            tasks = self._tasks(number)
            name = f"{self._run}-{number:06d}"
            shards = sum(isinstance(t, ShardTask) for t in tasks)
            count = min(shards, self._slots)
            parts += [TaskPartition(number, -1, f"{name}-s{i:03d}", i, count) for i in range(count)]
            parts += [
                TaskPartition(number, i, f"{name}-{i:03d}") for i, t in enumerate(tasks) if not isinstance(t, ShardTask)
            ]
        return parts

    def _tasks(self, number: int) -> list[Work]:
        found: list[Work] = pickle.loads(tick_path(self._folder, number).read_bytes())
        return found

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        from pyspark import TaskContext

        assert isinstance(partition, TaskPartition)
        context = TaskContext.get()
        name = f"{partition.name}-{context.taskAttemptId() if context is not None else 0}"
        tasks = self._tasks(partition.number)
        if partition.task_number >= 0:
            done = {partition.task_number: run_task(tasks[partition.task_number], name)}
        else:
            folder = tick_path(self._folder, partition.number).with_suffix(".claims")
            shards = [Wanted(i, t.table, t.owner) for i, t in enumerate(tasks) if isinstance(t, ShardTask)]
            claims = Claims(folder, partition.place, partition.count, worker_name())
            done = {i: run_task(tasks[i], f"{name}-{i:03d}") for i in claims.take(shards)}
            _set_aside([task for i in done if isinstance(task := tasks[i], ShardTask)])
        yield pa.RecordBatch.from_arrays(
            [
                pa.array(list(done), pa.int32()),
                pa.array([encode_result(result) for result in done.values()], pa.string()),
            ],
            schema=_ARROW_SCHEMA,
        )

    def commit(self, end: dict[str, Any]) -> None:
        """Ticks up to `end` are done and committed; their files are no longer needed."""
        for number in range(int(end["tick"]), 0, -1):
            path = tick_path(self._folder, number)
            if not path.exists():
                break
            path.unlink(missing_ok=True)
            shutil.rmtree(path.with_suffix(".claims"), ignore_errors=True)


_aside: set[tuple[str, str, int]] = set()  # the definitions that are


def _set_aside(tasks: Sequence[ShardTask]) -> None:
    """What a worker holds after its first task, imported modules and parsed queries, is there to stay: let the garbage
    collector not look at it. Spark collects garbage after every task; over all that stays this took a third of a worker's
    time."""
    used = {(task.run_id, task.table, task.version) for task in tasks}
    if not used <= _aside:
        _aside.update(used)
        gc.unfreeze()
        gc.collect()
        gc.freeze()


class TickSource(DataSource):
    @classmethod
    def name(cls) -> str:
        return FORMAT

    def schema(self) -> str:
        return RESULT_SCHEMA

    def streamReader(self, schema: Any) -> DataSourceStreamReader:
        return TickReader(dict(self.options))
