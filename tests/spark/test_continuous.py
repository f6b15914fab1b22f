"""Continuous queries through the Spark pipeline: the same results, numbers and all, as evaluated in the pond's process."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import millpond
from millpond.pond import Pond

pytestmark = pytest.mark.spark

PATIENCE = 120.0  # seconds until a test gives up
QUERIES = """
CREATE STANDARD TABLE critical (seg INT);
INSERT INTO critical VALUES (3), (4);
CREATE CONTINUOUS QUERY each AS SELECT vid, PREV(spd) AS before, spd FROM p [vid ROWS 2] WHERE t = NOW() SAMPLE EACH ROW;
CREATE CONTINUOUS QUERY fast AS SELECT vid, spd, t FROM p [NOW] WHERE spd > 20 SAMPLE REALTIME;
CREATE CONTINUOUS QUERY crossings AS
  SELECT ISTREAM vid, seg, PREV(seg) AS from_seg, t FROM p [vid ROWS 2] WHERE seg <> PREV(seg) SAMPLE REALTIME;
CREATE STREAMING VIEW segstat RANGE INTERVAL 1 MINUTE AS
  SELECT seg, AVG(spd) AS speed, COUNT(DISTINCT vid) AS cars FROM p [INTERVAL 4] GROUP BY seg SAMPLE INTERVAL 2;
CREATE CONTINUOUS QUERY jams AS
  SELECT s.* FROM segstat [INTERVAL 4] s JOIN critical c ON s.seg = c.seg WHERE s.speed < 25 SAMPLE INTERVAL 4
"""
NAMES = ("each", "fast", "crossings", "segstat", "jams")


def make(folder: Path) -> Pond:
    db = millpond.connect(folder, spark_master="local[2]", auto_archive=False)
    db.sql(
        "CREATE STREAMING TABLE p (vid INT, spd INT, seg INT, t BIGINT) TIMESTAMP BY t SHARD BY vid WITH (shards = 2)"
    )
    db.sql(QUERIES)
    return db


def second(db: Pond, t: int) -> None:
    db.append("p", [(v, (7 * v + 11 * t) % 50, v + t // 3, t) for v in range(8)])
    db.advance("p", t + 1)
    db.tick()


def results(db: Pond) -> dict[str, list[Any]]:
    """By query: what was sent, in the order of the instants; the order within a time is open, but not if rows are instants."""
    found = {name: sorted(db.resume(name).fetch(), key=lambda r: (r[-2], r[:-2])) for name in NAMES}
    return {**found, "each": sorted(found["each"], key=lambda r: r[-1])}


def without_numbers(found: dict[str, list[Any]]) -> dict[str, list[Any]]:
    return {name: [row[:-1] for row in rows] for name, rows in found.items()}


@pytest.mark.usefixtures("session")
def test_the_pipeline_sends_what_the_pond_sends(tmp_path: Path) -> None:
    with make(tmp_path / "here") as db:
        for t in range(14):
            second(db, t)
        expected = without_numbers(results(db))
    with make(tmp_path / "spark") as db:
        db.start(wait=True)
        for t in range(8):
            second(db, t)
        db.archive()
        for t in range(8, 11):
            second(db, t)
    with millpond.connect(tmp_path / "spark", spark_master="local[2]", auto_archive=False) as db:
        subscription = db.subscribe("crossings", after=-1)  # also starts the pipeline
        db.start(wait=True)  # before that, results come from this process
        for t in range(11, 14):
            second(db, t)
        found = results(db)
        pushed: list[Any] = []
        while len(pushed) < len(found["crossings"]):
            batch = subscription.next(timeout=PATIENCE)
            assert batch is not None, f"{len(pushed)} results came, and no more"
            pushed += batch.rows()
        assert subscription.next(timeout=0.1) is None
        subscription.close()
        assert db.status()["pipeline"]["ticks"] > 0
    assert without_numbers(found) == expected
    assert [row[-1] for row in pushed] == list(range(len(expected["crossings"])))
    assert all(expected[name] for name in NAMES)
