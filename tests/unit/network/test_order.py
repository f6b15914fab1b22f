"""Queries are evaluated after those they read, also after one of these was altered."""

from __future__ import annotations

from pathlib import Path

import millpond


def test_readers_of_an_altered_view_do_not_lag_a_tick(tmp_path: Path) -> None:
    with millpond.connect(tmp_path / "pond", auto_archive=False) as db:
        db.sql("CREATE STREAMING TABLE r (v INT, t BIGINT) TIMESTAMP BY t WITH (shards = 2)")
        db.sql(
            "CREATE STREAMING VIEW b RANGE INTERVAL '1' MINUTE AS SELECT count(*) AS n FROM r [ROWS 5] SAMPLE REALTIME"
        )
        db.sql("CREATE CONTINUOUS QUERY c RANGE UNBOUNDED AS SELECT n FROM b [NOW] SAMPLE REALTIME")
        for time in range(1, 4):
            db.append("r", [(1, time)])
            db.advance("r", time + 1)
            db.tick()
            if time == 1:
                db.sql("ALTER STREAMING VIEW b SET WINDOW OF r = [ROWS 2]")
        assert db.sql("SELECT n FROM c ORDER BY instant").rows() == [(1,), (2,), (2,)]
