"""A continuous query joined with a standard table that lives in PostgreSQL: a change there is seen at the next instant."""

from __future__ import annotations

from pathlib import Path

import millpond
from tests.postgres import running_postgres


def test_a_change_in_postgres_is_seen_at_the_next_instant(tmp_path: Path) -> None:
    import psycopg

    with running_postgres(tmp_path / "pg") as dsn, psycopg.connect(dsn, autocommit=True) as there:
        there.execute("CREATE TABLE criticalsegs (seg INT, note TEXT)")
        there.execute("INSERT INTO criticalsegs VALUES (1, 'bridge')")
        with millpond.connect(tmp_path / "pond") as db:
            db.sql(
                "CREATE STREAMING TABLE p (vid INT, seg INT, t BIGINT) TIMESTAMP BY t SHARD BY vid WITH (shards = 2)"
            )
            db.sql(f"CREATE STANDARD TABLE criticalsegs FROM POSTGRES '{dsn}'")
            db.sql("""CREATE CONTINUOUS QUERY seen AS SELECT p.vid, c.note FROM p [NOW] p JOIN criticalsegs c ON p.seg = c.seg
                      SAMPLE REALTIME""")
            for t in range(2):
                db.append("p", [(1, 1, t), (2, 2, t)])
                db.advance("p", t + 1)
                db.tick()
            there.execute("INSERT INTO criticalsegs VALUES (2, 'tunnel')")
            there.execute("DELETE FROM criticalsegs WHERE seg = 1")
            db.append("p", [(1, 1, 2), (2, 2, 2)])
            db.advance("p", 3)
            db.tick()
            rows = [row[:-1] for row in db.resume("seen").fetch()]
    assert rows == [(1, "bridge", 0), (1, "bridge", 1), (2, "tunnel", 2)]
