"""Shifts: Spark's tasks serve ticks one shift after the other, nobody notices, and Spark tells what they served."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import millpond
from millpond.tick import pipeline as pipelines

PATIENCE = 120.0  # seconds


def wait_until(what: Callable[[], object]) -> None:
    pause = threading.Event()
    for _ in range(round(PATIENCE / 0.02)):
        if what():
            return
        pause.wait(0.02)
    pytest.fail("it did not happen in time")


def open_pond(folder: Path) -> millpond.Pond:
    db = millpond.connect(folder, spark_master="local[2]", auto_archive=False)
    db.sql("CREATE STREAMING TABLE r (k INT, t BIGINT) TIMESTAMP BY t SHARD BY k WITH (shards = 2)")
    db.sql("CREATE CONTINUOUS QUERY q AS SELECT k, t FROM r [NOW] SAMPLE REALTIME")
    return db


@pytest.mark.usefixtures("session")
def test_shifts_follow_each_other_and_nobody_notices(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pipelines, "_SHIFT", 1.0)
    with open_pond(tmp_path / "pond") as db:
        db.start(wait=True)
        pipeline = db._workspace.pipeline
        assert pipeline is not None
        wait_until(lambda: pipeline._workers is not None and pipeline._workers.count == 2)
        assert pipeline._workers is not None
        query = pipeline._query
        sent = 0

        def shifts() -> list[dict[str, Any]]:
            return [json.loads(p.json) for p in query.recentProgress if p.numInputRows]

        while len([s for s in shifts() if s["observedMetrics"]["shift"]["rows"]]) < 3:
            db.append("r", [(sent, sent)])
            db.advance("r", sent + 1)
            sent += 1
            db.tick()
            assert sent < 5000
        names = {worker.name for worker in pipeline._workers._known}
        assert len(names) == 2
        assert [row[1] for row in db.resume("q", after=-1).fetch()] == list(range(sent))
        told = [s["observedMetrics"]["shift"] for s in shifts()]
        assert all(s["numInputRows"] == 2 for s in shifts()), "a row for each task"
        assert sum(s["tasks"] for s in told) > 0
        assert sum(s["results"] for s in told) <= sent
        assert set(db._workspace.network._owners.values()) == names, "the shards stayed where they were"
        assert pipeline.problem is None
        # Only workers know the secret: it is in no file, no plan and no progress.
        secret = pipeline._workers.secret
        files = [path for path in (tmp_path / "pond" / "run").rglob("*") if path.is_file()]
        assert files
        assert not any(secret in path.read_bytes() or secret.hex() in path.read_text(errors="ignore") for path in files)
        shown = query._jsq.explainInternal(True) + str(shifts())
        assert "millpond_shifts" in shown
        assert secret.hex() not in shown
        assert str(list(secret))[1:-1] not in shown


@pytest.mark.usefixtures("session")
def test_queries_of_others_have_room_beside_shifts(tmp_path: Path) -> None:
    """Tasks that stay hold slots for as long as a pond is open: two ponds held all there were."""
    with open_pond(tmp_path / "one") as one, open_pond(tmp_path / "two") as two:
        one.start(wait=True)
        two.start(wait=True)
        for db in (one, two):
            db.append("r", [(i, i) for i in range(100)])
            db.advance("r", 100)
            db.tick()
            assert len(db.resume("q", after=-1).fetch()) == 100
        with millpond.connect(tmp_path / "one", engine="spark", spark_master="local[2]") as reader:
            assert reader.sql("SELECT count(*) FROM r").rows() == [(100,)]


def test_a_pipeline_that_cannot_start_is_told_to_whoever_waits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> object:
        raise millpond.JavaMissing("Java 17 or newer was not found")

    monkeypatch.setattr(pipelines, "session_for", fail)
    with open_pond(tmp_path / "pond") as db, pytest.raises(millpond.JavaMissing):
        db.start(wait=True)
