"""A shard's task gives the same whatever the worker remembers: nothing, everything, or what was some ticks ago."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import millpond
from millpond.arrow import arrow_schema
from millpond.ingest.shards import shard_numbers
from millpond.network.run import worker as shards
from millpond.network.run.shard_definitions import ShardDefinitions
from millpond.network.run.task import ShardTask
from millpond.network.run.tick_plan import TickPlan
from millpond.network.run.worker import run_task
from millpond.network.state.shard_history import ShardPast
from millpond.pond import Pond
from millpond.query.binding.uses import Use
from millpond.query.shelf import TableShelf
from millpond.schema import with_seq
from millpond.table.store import tail_table
from millpond.tick.messages import decode_task, encode_task

QUERIES = """
CREATE CONTINUOUS QUERY fast AS SELECT vid, spd, t FROM p [NOW] WHERE spd > 20 SAMPLE REALTIME;
CREATE CONTINUOUS QUERY crossings AS
  SELECT ISTREAM vid, seg, PREV(seg) AS from_seg, t FROM p [vid ROWS 2] WHERE seg <> PREV(seg) SAMPLE REALTIME;
CREATE CONTINUOUS QUERY per_vehicle AS SELECT vid, COUNT(*) AS n FROM p [INTERVAL 4] GROUP BY vid SAMPLE INTERVAL 2;
CREATE CONTINUOUS QUERY new_counts AS
  SELECT ISTREAM vid, COUNT(*) AS n FROM p [INTERVAL 4] GROUP BY vid SAMPLE INTERVAL 2;
CREATE CONTINUOUS QUERY segments AS
  SELECT seg, AVG(spd) AS speed, COUNT(DISTINCT vid) AS cars FROM p [INTERVAL 4] GROUP BY seg SAMPLE INTERVAL 2
"""


@pytest.fixture
def db(tmp_path: Path) -> Any:
    with millpond.connect(tmp_path / "pond", auto_archive=False) as pond:
        pond.sql(
            "CREATE STREAMING TABLE p (vid INT, spd INT, seg INT, t BIGINT) TIMESTAMP BY t SHARD BY vid WITH (shards = 2)"
        )
        pond.sql(QUERIES)
        yield pond


def second(db: Pond, t: int) -> None:
    db.append("p", [(v, (7 * v + 11 * t) % 50, v + t // 3, t) for v in range(8)])
    db.advance("p", t + 1)


def planned(db: Pond) -> TickPlan:
    plan = db._workspace.network.plan()
    assert plan is not None
    return plan


def answer(task: ShardTask) -> dict[str, list[Any]]:
    return {query: rows.to_pylist() for query, rows in run_task(task).sent.items()}


def as_it_reaches_a_worker(task: ShardTask) -> ShardTask:
    definitions = ShardDefinitions.from_text(task.definitions.text)
    found = decode_task(json.loads(json.dumps(encode_task(task))), {definitions.key: definitions})
    assert found == task
    assert isinstance(found, ShardTask)
    return found


def copy_of_memory() -> dict[Any, Any]:
    """What this process remembers, to be put back: evaluators cannot be copied, so shards are made to forget instead."""
    return dict(shards._shards)


def test_all_of_these_run_in_the_shards(db: Pond) -> None:
    assert {
        q: db._workspace.network.placed(q) for q in ("fast", "crossings", "per_vehicle", "new_counts")
    } == dict.fromkeys(("fast", "crossings", "per_vehicle", "new_counts"), "p")
    assert db._workspace.network.placed("segments") is None
    assert db._workspace.network.placed("__partial_segments") == "p"


def test_a_task_gives_the_same_with_and_without_memory(db: Pond) -> None:
    for t in range(9):
        second(db, t)
        plan = planned(db)
        tasks = plan.tasks
        assert len(tasks) == 2
        tasks = tuple(as_it_reaches_a_worker(task) for task in tasks)
        remembered = [answer(task) for task in tasks]
        # Run again: memory is ahead now and must not be used.
        again = [answer(task) for task in tasks]
        shards._shards.clear()
        fresh = [answer(task) for task in tasks]
        assert remembered == again == fresh
        db._workspace.network.finish(plan, [run_task(task) for task in tasks])
    assert db.resume("crossings").fetch().rows()


def test_a_worker_that_missed_ticks_catches_up(db: Pond) -> None:
    """Two workers in one process: each has the shards of every second tick, and of three in a row once."""
    memory: list[dict[Any, Any]] = [{}, {}]
    alone: list[dict[str, list[Any]]] = []
    for t in range(12):
        second(db, t)
        plan = planned(db)
        tasks = plan.tasks
        shards._shards.clear()
        expected = [answer(task) for task in tasks]
        shards._shards.clear()
        shards._shards.update(memory[0 if t in (4, 5, 6) else t % 2])
        found = [answer(task) for task in tasks]
        assert found == expected
        memory[0 if t in (4, 5, 6) else t % 2] = copy_of_memory()
        shards._shards.clear()
        db._workspace.network.finish(plan, [run_task(task) for task in tasks])
        alone += found
    shards._shards.clear()
    assert any("crossings" in part for part in alone)


def test_a_task_whose_log_does_not_reach_back_fills_from_history(db: Pond) -> None:
    for t in range(6):
        second(db, t)
        db.tick()
    old = copy_of_memory()
    for t in range(6, 9):
        second(db, t)
        db.tick()
    second(db, 9)
    tasks = planned(db).tasks
    short = [
        replace(
            task,
            reach=task.before.position,
            sections=tuple(s for s in task.sections if s.first >= task.before.position),
        )
        for task in tasks
    ]
    expected = [answer(task) for task in tasks]
    shards._shards.clear()
    shards._shards.update(old)
    assert [answer(task) for task in short] == expected


def test_queries_come_and_go_in_a_shard(db: Pond) -> None:
    for t in range(4):
        second(db, t)
        db.tick()
    db.sql(
        "CREATE CONTINUOUS QUERY later AS SELECT vid, COUNT(*) AS n FROM p [INTERVAL 4] GROUP BY vid SAMPLE INTERVAL 2"
    )
    db.sql("DROP CONTINUOUS QUERY fast")
    for t in range(4, 9):
        second(db, t)
        db.tick()
    first = [row[:-1] for row in db.resume("per_vehicle").fetch() if row[2] >= 4]
    late = [row[:-1] for row in db.resume("later").fetch()]
    assert sorted(late) == sorted(first)


def test_shards_that_another_process_took_over_are_forgotten(db: Pond, monkeypatch: pytest.MonkeyPatch) -> None:
    """In-process ticks left the shards' windows in memory after Spark had taken over."""
    second(db, 0)
    db.tick()
    assert len(shards._shards) == 2
    second(db, 1)
    plan = planned(db)
    tasks = plan.tasks
    here = shards.worker_name()
    with monkeypatch.context() as patch:
        patch.setattr(shards, "worker_name", lambda: "a worker of Spark")
        outcomes = [run_task(task) for task in tasks]
    assert shards.worker_name() == here
    db._workspace.network.finish(plan, outcomes)
    assert shards._shards == {}
    assert shards._prepared == {}
    second(db, 2)
    db.tick()  # Spark may stop: then this process evaluates them again
    assert len(shards._shards) == 2


def test_history_of_a_shard_reads_the_files_of_that_shard_only(db: Pond) -> None:
    for t in range(6):
        second(db, t)
        if t in (1, 4):
            db.archive()
    shards_of_p = [ShardPast(db.folder, db._workspace.catalog, "p", shard) for shard in range(2)]
    everything = ShardPast(db.folder, db._workspace.catalog, "p", 0)
    everything._shelf = TableShelf(db._workspace)  # reads all rows and filters afterwards
    assert shards_of_p[0].rows("p", None, 9).equals(everything.rows("p", None, 9))
    found = [row for past in shards_of_p for row in past.rows("p", 1, 5).to_pylist()]
    assert sorted(row["_seq"] for row in found) == [
        row[0] for row in db.sql("SELECT _seq FROM p WHERE t >= 1 ORDER BY 1")
    ]
    use = Use("__r0", "p", db._workspace.catalog.streaming["p"])
    for shard, past in enumerate(shards_of_p):
        snapshot = past._shelf.snapshot(use)
        assert snapshot is not None
        assert {file.shard for file in snapshot.version.files.values()} == {shard}
        assert 0 < snapshot.version.rows < 8 * 5
        tail = tail_table(snapshot.blocks, arrow_schema(with_seq(use.columns))).combine_chunks().to_batches()[0]
        assert set(shard_numbers(tail, use.table.shard_by, 2)) == {shard}  # type: ignore[union-attr]
        past.close()
    everything.close()


def test_what_a_worker_remembers_is_bounded_by_bytes_and_not_by_shards(tmp_path: Path) -> None:
    """Beyond a number of shards every one was filled from history at every tick."""
    with millpond.connect(tmp_path / "pond", auto_archive=False) as db:
        db.sql("CREATE STREAMING TABLE p (k INT, t BIGINT) TIMESTAMP BY t SHARD BY k WITH (shards = 12)")
        db.sql("CREATE CONTINUOUS QUERY n AS SELECT k, COUNT(*) AS n FROM p [INTERVAL 9] GROUP BY k SAMPLE INTERVAL 1")
        filled = []
        for t in range(3):
            db.append("p", [(k, t) for k in range(200)])
            db.tick()
            filled.append(list(shards._shards.values()))
        assert len(filled[2]) == 12
        assert filled[1] == filled[2]
        sizes = [shard.bytes for shard in filled[2]]
        assert min(sizes) > 1 << 20, "an empty shard has an engine of its own"
        shards._let_go_of_oldest(sum(sizes[-3:]))
        assert list(shards._shards.values()) == filled[2][-3:]
        shards._let_go_of_oldest(0)
        assert list(shards._shards.values()) == filled[2][-1:]
        before = db.resume("n", after=-1).fetch().position
        db.append("p", [(k, 3) for k in range(200)])
        db.append("p", [(0, 9)])
        db.tick()
        assert db.resume("n", after=before).fetch().rows()[0][1] > 1, "windows are filled again"
