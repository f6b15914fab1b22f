"""Tasks and results are the same after the way to a worker and back."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import millpond
from millpond.errors import DiskFull, EngineError
from millpond.network.run.task import ShardTask
from millpond.standing.index.matches import Matches
from millpond.standing.work import Matched, MatchTask
from millpond.table.block import BlockSpec, write_blocks
from millpond.table.log import Section
from millpond.table.manifest import ArchiveFile
from millpond.table.sections import FrameSection
from millpond.table.work import ArchiveTask, CompactTask, CopyTask
from millpond.tick.messages import (
    decode_failure,
    decode_result,
    decode_task,
    encode_failure,
    encode_result,
    encode_task,
)
from millpond.tick.task_result import FilesWritten, RowsMatched, ShardEvaluated, TaskResult, Work, run_task
from millpond.tick.wire import WireError

SECTIONS = (
    FrameSection("/p/log/1", Section(0, 1, 10, 20, 30, 40), 5, 15),
    FrameSection("/p/log/2", Section(0, 1, 1, 2, 3, 4), 15, 16),
    FrameSection("/p/log/2", Section(0, 1, 5, 6, 7, 8), 16, 30),
)
SPEC = BlockSpec("/p/archive", "t", ("k",), 60, 1000)
COLUMNS = (("k", "STRING"), ("t", "BIGINT"))
TASKS = [
    MatchTask(COLUMNS, ("a", "b"), SECTIONS, 7, 29),
    ArchiveTask("t-1", 1, 2, SPEC, COLUMNS, tuple((s.segment, s.section) for s in SECTIONS), 6),
    CompactTask("t-1", 0, 2, SPEC, COLUMNS, ("x.parquet", "y.parquet")),
]


def there(task: Work) -> Work:
    definitions = {task.definitions.key: task.definitions} if isinstance(task, ShardTask) else {}
    return decode_task(json.loads(json.dumps(encode_task(task))), definitions)


def back(result: TaskResult) -> TaskResult:
    head, bodies = encode_result(result)
    return decode_result(json.loads(json.dumps(head)), [memoryview(body) for body in bodies])


@pytest.mark.parametrize("task", TASKS, ids=lambda task: type(task).__name__)
def test_tasks_are_what_they_were(task: Work) -> None:
    assert there(task) == task


def test_results_are_what_they_were(tmp_path: Path) -> None:
    with millpond.connect(tmp_path / "pond", auto_archive=False) as db:
        db.sql("CREATE STREAMING TABLE t (k STRING, t BIGINT) TIMESTAMP BY t WITH (shards = 1)")
        db.append("t", [("a", 1), ("b", 2)])
        db.sql("CREATE CONTINUOUS QUERY q AS SELECT k FROM t [NOW] SAMPLE REALTIME")
        db.append("t", [("c", 3)])
        db.advance("t", 9)
        tasks = db._workspace.rounds.next_tasks(force=True)
        assert [type(task) for task in tasks] == [ShardTask, ArchiveTask]
        assert [there(task) for task in tasks] == tasks
        results = [run_task(there(task), f"here-{i}") for i, task in enumerate(tasks)]
        assert [back(result) for result in results] == results
        shard, files = results
        assert isinstance(files, FilesWritten)
        assert sum(file.rows for file in files.files) == 2
        assert isinstance(shard, ShardEvaluated)
        assert shard.outcome.sent["q"].num_rows == 2


@pytest.mark.parametrize("changes", [{}, {"randomise": True}, {"copies": (1 << 20, 1 << 30)}, {"indexed": ("v",)}])
def test_files_are_what_they_were(tmp_path: Path, changes: dict[str, object]) -> None:
    spec = BlockSpec(str(tmp_path), "t", seed="readings-1", **changes)  # type: ignore[arg-type]
    numbers = np.arange(10_000)
    files = write_blocks(spec, pa.table({"t": numbers, "v": numbers % 7 + 0.5, "_seq": numbers}), 0, "a")
    assert back(FilesWritten(files)) == FilesWritten(files)
    copying = CopyTask("t-1", 0, 2, spec, files[0])
    assert there(copying) == copying
    again = [ArchiveFile.from_action(file.to_action(0)) for file in files]
    assert again == files, "and as the archive's log has them"


def test_matches_are_what_they_were() -> None:
    matches = Matches(3, np.array([1, 1, 4], np.int32), np.array([0, 2, 1], np.int32))
    found = back(RowsMatched(Matched(np.array([7, 8, 9], np.int64), matches)))
    assert isinstance(found, RowsMatched)
    assert found.matched.seqs.tolist() == [7, 8, 9]
    assert [a.tolist() for a in found.matched.matches.pairs()] == [[1, 1, 4], [0, 2, 1]]


def test_who_has_a_shard_is_told_only_what_is_new(tmp_path: Path) -> None:
    with millpond.connect(tmp_path / "pond", auto_archive=False) as db:
        db.sql("CREATE STREAMING TABLE t (k INT, t BIGINT) TIMESTAMP BY t SHARD BY k WITH (shards = 1)")
        db.sql("CREATE CONTINUOUS QUERY q AS SELECT k FROM t [NOW] SAMPLE REALTIME")
        for t in range(5):
            db.append("t", [(t, t)])
            db.tick()
        db.append("t", [(9, 9)])
        (task,) = db._workspace.rounds.next_tasks(force=False, archive=False)
        assert isinstance(task, ShardTask)
        assert len(task.sections) == 6
        short = decode_task(encode_task(task, stays=True), {task.definitions.key: task.definitions})
        assert isinstance(short, ShardTask)
        assert [part.first for part in short.sections] == [5]
        assert short.reach == task.before.position == 5


def test_failures_say_what_was_wrong() -> None:
    full = decode_failure(encode_failure(OSError(28, "No space left on device")))
    assert isinstance(full, DiskFull)
    other = decode_failure(encode_failure(ValueError("what")))
    assert isinstance(other, EngineError)
    assert str(other) == "a worker failed at its task\nDetail: ValueError: what"


def test_what_is_not_known_is_refused() -> None:
    with pytest.raises(WireError, match='a task of kind "shell" is not known here'):
        decode_task({"kind": "shell"}, {})
    with pytest.raises(WireError, match='a result of kind "pickle" is not known here'):
        decode_result({"kind": "pickle"}, [])
