"""Results of tasks reach the pond as what they are, whether the task ran here or in a worker of Spark."""

from __future__ import annotations

from pathlib import Path

import millpond
from millpond.network.run.task import ShardTask, read_outcome
from millpond.table.work import ArchiveTask
from millpond.tick.task_result import FilesWritten, ShardEvaluated, decode_result, encode_result, run_task


def test_results_go_from_process_to_process(tmp_path: Path) -> None:
    with millpond.connect(tmp_path / "pond", auto_archive=False) as db:
        db.sql("CREATE STREAMING TABLE t (k STRING, t BIGINT) TIMESTAMP BY t WITH (shards = 1)")
        db.append("t", [("a", 1), ("b", 2)])
        db.sql("CREATE CONTINUOUS QUERY q AS SELECT k FROM t [NOW] SAMPLE REALTIME")
        db.append("t", [("c", 3)])
        db.advance("t", 9)
        tasks = db._workspace.rounds.next_tasks(force=True)
        assert [type(task) for task in tasks] == [ShardTask, ArchiveTask]
        shard, files = results = [run_task(task, f"here-{i}") for i, task in enumerate(tasks)]
        assert isinstance(shard, ShardEvaluated)
        assert isinstance(files, FilesWritten)
        assert [decode_result(encode_result(result)) for result in results] == results
        assert sum(file.rows for file in files.files) == 2
        assert read_outcome(shard.path).sent["q"].num_rows == 2


def test_a_path_is_not_taken_for_files() -> None:
    assert decode_result(encode_result(ShardEvaluated('[{"path": 1}]'))) == ShardEvaluated('[{"path": 1}]')
    assert decode_result(encode_result(FilesWritten([]))) == FilesWritten([])
