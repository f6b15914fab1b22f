"""Results that have moved to files, asked on Spark: the same rows as in the process, cut by the RANGE."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import millpond
from millpond.results import outlet as outlets

pytestmark = pytest.mark.spark


@pytest.mark.parametrize("kind", ["BIGINT", "TIMESTAMP"])
def test_both_engines_show_the_same_results(
    session: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    monkeypatch.setattr(outlets, "KEPT_BYTES", 300)
    monkeypatch.setattr(outlets, "FILE_BYTES", 100)
    with millpond.connect(tmp_path / "pond", engine="duckdb", auto_archive=False) as db:
        db.sql(f"CREATE STREAMING TABLE r (vid INT, t {kind}) TIMESTAMP BY t")
        db.sql("CREATE STREAMING VIEW kept RANGE INTERVAL '10' SECOND AS SELECT vid FROM r [NOW] SAMPLE REALTIME")
        for second in range(30):
            time = second if kind == "BIGINT" else f"2026-01-01 00:00:{second:02d}"
            db.append("r", [(3 * second + i, time) for i in range(3)])
        db.advance("r", 30 if kind == "BIGINT" else "2026-01-01 00:00:30")
        db.tick()
        assert db._workspace.network.keeper.settle()
        assert len(db._workspace.network.outlet("kept").snapshot(everything=True).version.files) > 1
    questions = (
        "SELECT vid FROM kept ORDER BY vid",
        "SELECT vid FROM kept [ROWS 40]",
        "SELECT count(*) FROM kept [INTERVAL 5]",
    )
    answers = {}
    for engine in ("duckdb", "spark"):
        with millpond.connect(tmp_path / "pond", engine=engine, spark_master="local[2]") as db:
            answers[engine] = [db.sql(question).rows() for question in questions]
    assert answers["duckdb"] == answers["spark"]
    assert answers["spark"][0] == [(vid,) for vid in range(60, 90)]
    assert answers["spark"][1:] == [[(vid,) for vid in range(89, 59, -1)], [(15,)]]
