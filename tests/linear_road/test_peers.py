"""The peers of the benchmark give the answers the validator asks for, and keep all reports; how fast is not asked here."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest

from benchmarks.linear_road.postgres_peer import LoggedPostgresPeer, PostgresPeer
from benchmarks.linear_road.running import ROUND, Peer, Task, in_rounds, run
from benchmarks.linear_road.spark_peer import SparkPeer
from linear_road import generate, validator
from linear_road.load import TrafficConfig


def test_rounds_are_the_rows_cut_at_half_minutes() -> None:
    times = [0, 0, 29, 30, 31, 59, 60, 150, 179]
    found = list(in_rounds(pa.table({"Time": pa.array(times, pa.int32())})))
    assert [(first, last) for first, last, _ in found] == [(0, 29), (30, 59), (60, 60), (150, 179)]
    assert [t for _, _, rows in found for t in rows["Time"].to_pylist()] == times
    assert all(first // ROUND == last // ROUND for first, last, _ in found)


@pytest.mark.slow
@pytest.mark.parametrize(
    "make",
    [
        pytest.param(PostgresPeer, id="postgres", marks=pytest.mark.postgres),
        pytest.param(LoggedPostgresPeer, id="postgres-logged", marks=pytest.mark.postgres),
        pytest.param(SparkPeer, id="spark", marks=pytest.mark.spark),
    ],
)
def test_a_peer_is_right(make: Callable[[], Peer], tmp_path: Path) -> None:
    """Four minutes with tolls, charges and an accident."""
    traffic = TrafficConfig(xways=0.5, minutes=4, start_minute=100, seed=5)
    data = generate.generate(traffic, tmp_path / "data", days=7)
    out = tmp_path / "run"
    out.mkdir()
    task = Task(data["input"], data["tolls"], data["segments"], out, speed="max", give_up=float("inf"))
    summary = run(make, task)
    verdict = validator.validate(task.input, out / "output.csv", tolls=task.tolls, segments=task.segments, late_ok=True)
    assert verdict.ok, str(verdict)
    assert summary.kept == verdict.reports
    asked = {t.type: t.expected for t in verdict.types}
    assert all(asked.values()), f"the input does not ask for every kind of answer: {asked}"
