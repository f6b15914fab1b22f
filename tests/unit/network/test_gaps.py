"""A row with a time of long ago, and then none for thousands of millions of instants: time passes over them."""

from __future__ import annotations

from pathlib import Path

import pytest

import millpond

LATER = 1_700_000_000


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        ("SELECT vid FROM p [INTERVAL 1]", [(1, 0), (1, 1), (1, LATER), (1, LATER + 1)]),
        ("SELECT ISTREAM vid FROM p [INTERVAL 1]", [(1, 0), (1, LATER)]),
        ("SELECT DSTREAM vid FROM p [INTERVAL 1]", [(1, 2), (1, LATER + 2)]),
        ("SELECT seg, COUNT(*) AS n FROM p [NOW] GROUP BY seg", [(7, 1, 0), (7, 1, LATER)]),
        ("SELECT a.vid FROM p [INTERVAL 1] a JOIN p [NOW] b ON a.vid = b.vid", [(1, 0), (1, LATER)]),
    ],
    ids=["rstream", "istream", "dstream", "in two steps", "join"],
)
def test_instants_at_which_no_window_holds_a_row_cost_nothing(tmp_path: Path, sql: str, expected: list) -> None:
    with millpond.connect(tmp_path / "pond", auto_archive=False) as db:
        db.sql("CREATE STREAMING TABLE p (vid INT, seg INT, t BIGINT) TIMESTAMP BY t SHARD BY vid WITH (shards = 2)")
        db.sql(f"CREATE CONTINUOUS QUERY q RANGE UNBOUNDED AS {sql} SAMPLE INTERVAL 1")
        db.append("p", [(1, 7, 0), (1, 7, LATER)])
        db.advance("p", LATER + 9)
        db.tick()
        assert [row[:-1] for row in db.resume("q").fetch()] == expected
        row = db.sql("SHOW CONTINUOUS QUERIES").rows()[0]
        assert row[5:7] == (str(LATER + 8), str(LATER + 9))


def test_what_an_empty_window_says_is_said_at_every_instant(tmp_path: Path) -> None:
    with millpond.connect(tmp_path / "pond", auto_archive=False) as db:
        db.sql("CREATE STREAMING TABLE p (vid INT, t BIGINT) TIMESTAMP BY t SHARD BY vid")
        db.sql("CREATE CONTINUOUS QUERY q RANGE UNBOUNDED AS SELECT COUNT(*) AS n FROM p [NOW] SAMPLE INTERVAL 1")
        db.sql("CREATE CONTINUOUS QUERY w RANGE UNBOUNDED AS SELECT 1 AS one WHERE NOT EXISTS (SELECT vid FROM p [NOW]) "
               "AND NOW() > 3 SAMPLE INTERVAL 1")  # fmt: skip
        db.append("p", [(1, 0), (1, 5)])
        db.advance("p", 8)
        db.tick()
        assert [row[:2] for row in db.resume("q").fetch()] == [
            (1, 0),
            (0, 1),
            (0, 2),
            (0, 3),
            (0, 4),
            (1, 5),
            (0, 6),
            (0, 7),
        ]
        assert [row[1] for row in db.resume("w").fetch()] == [4, 6, 7]
