"""Aggregates in two steps: what is split, and that the two together say what the whole says."""

from __future__ import annotations

from pathlib import Path

import pytest

import millpond

TABLE = "CREATE STREAMING TABLE p (vid INT, spd INT, seg INT, dir INT, w DOUBLE, t BIGINT) TIMESTAMP BY t SHARD BY vid"
SPLIT = [
    "SELECT seg, COUNT(*) AS n FROM p [INTERVAL 4] GROUP BY seg SAMPLE INTERVAL 2",
    "SELECT seg, COUNT(spd) AS n, SUM(spd) AS s, MIN(spd) AS a, MAX(spd) AS b FROM p [INTERVAL 4] GROUP BY seg SAMPLE INTERVAL 2",
    "SELECT seg, dir, AVG(spd) AS speed FROM p [INTERVAL 4] WHERE spd > 3 GROUP BY seg, dir SAMPLE INTERVAL 2",
    "SELECT x.seg AS place, COUNT(DISTINCT x.vid) + 1 AS n FROM p [INTERVAL 4] x GROUP BY x.seg SAMPLE INTERVAL 2",
    "SELECT seg, SUM(spd) - MIN(spd) * 2 AS d FROM p [NOW] GROUP BY seg SAMPLE INTERVAL 1",
]
WHOLE = [
    "SELECT seg, COUNT(DISTINCT dir) AS n FROM p [INTERVAL 4] GROUP BY seg SAMPLE INTERVAL 2",
    "SELECT seg, SUM(w) AS s FROM p [INTERVAL 4] GROUP BY seg SAMPLE INTERVAL 2",
    "SELECT seg, COUNT(*) AS n FROM p [INTERVAL 4] GROUP BY seg HAVING COUNT(*) > 1 SAMPLE INTERVAL 2",
    "SELECT ISTREAM seg, COUNT(*) AS n FROM p [INTERVAL 4] GROUP BY seg SAMPLE INTERVAL 2",
    "SELECT COUNT(*) AS n FROM p [INTERVAL 4] SAMPLE INTERVAL 2",
    "SELECT seg, COUNT(*) AS n FROM p [ROWS 5] GROUP BY seg SAMPLE INTERVAL 2",
    "SELECT seg, SUM(spd + 1) AS s FROM p [INTERVAL 4] GROUP BY seg SAMPLE INTERVAL 2",
    "SELECT seg, COUNT(*) FILTER (WHERE seg > 1) AS n FROM p [INTERVAL 4] GROUP BY seg SAMPLE INTERVAL 2",
    "SELECT seg, AVG(spd) FILTER (WHERE seg > 1) AS a FROM p [INTERVAL 4] GROUP BY seg SAMPLE INTERVAL 2",
]


@pytest.mark.parametrize("sql", SPLIT + WHOLE)
def test_four_shards_say_what_one_says(tmp_path: Path, sql: str) -> None:
    found = []
    for shards in (1, 4):
        with millpond.connect(tmp_path / str(shards), auto_archive=False) as db:
            db.sql(f"{TABLE} WITH (shards = {shards})")
            db.sql(f"CREATE CONTINUOUS QUERY q AS {sql}")
            if shards == 4:
                assert (db._workspace.network.placed("__partial_q") == "p") == (sql in SPLIT)
            for t in range(9):
                rows = [
                    (v, None if (v + t) % 5 == 0 else (v * 7 + t) % 13, (v + t) % 3, v % 2, 0.5 * v, t)
                    for v in range(7)
                ]
                db.append("p", rows)
                db.advance("p", t + 1)
                db.tick()
            found.append(sorted(row[:-1] for row in db.resume("q").fetch()))
    assert found[0]
    assert found[0] == found[1]
