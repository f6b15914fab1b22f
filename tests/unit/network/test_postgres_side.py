"""A continuous query joined with a standard table that lives in PostgreSQL: a change there is seen at the next instant, and
an outage is a pause."""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import NoReturn

import pytest

import millpond
from tests.faults.ledger import wait_until
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


def state(db: millpond.Pond, name: str) -> tuple[str, str | None]:
    found = db.status()["queries"][name]
    return found["state"], found["problem"]


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT p.vid, c.note FROM p [NOW] p JOIN criticalsegs c ON p.seg = c.seg SAMPLE REALTIME",
        "SELECT ISTREAM p.vid, p.t, c.note FROM p [INTERVAL 5] p, criticalsegs c WHERE p.seg = c.seg SAMPLE INTERVAL 1",
        "SELECT c.note, COUNT(*) AS n FROM p [vid ROWS 2] p JOIN criticalsegs c ON p.seg = c.seg GROUP BY c.note SAMPLE INTERVAL 1",
    ],
)
@pytest.mark.parametrize("shards", [1, 2])
def test_an_outage_of_postgres_is_a_pause(tmp_path: Path, sql: str, shards: int) -> None:
    """Nothing is lost or sent twice: results are those of a pond that had its PostgreSQL all the time. A restart of the pond in
    the middle of the outage changes nothing."""
    import psycopg

    def work(db: millpond.Pond, first: int, last: int) -> None:
        for t in range(first, last + 1):
            db.append("p", [(1, 1, t), (2, 2, t)])
            db.advance("p", t + 1)
            db.tick()

    found = []
    with running_postgres(tmp_path / "pg") as dsn:
        with psycopg.connect(dsn, autocommit=True) as there:
            there.execute("CREATE TABLE criticalsegs (seg INT, note TEXT)")
            there.execute("INSERT INTO criticalsegs VALUES (1, 'bridge')")
        for outage in (False, True):
            folder = tmp_path / f"pond-{outage}"
            down = Outage()
            with millpond.connect(folder, auto_archive=False) as db:
                db.sql(
                    "CREATE STREAMING TABLE p (vid INT, seg INT, t BIGINT) TIMESTAMP BY t SHARD BY vid "
                    f"WITH (shards = {shards})"
                )
                db.sql(f"CREATE STANDARD TABLE criticalsegs FROM POSTGRES '{dsn}'")
                db.sql(f"CREATE CONTINUOUS QUERY q RANGE UNBOUNDED AS {sql}")
                db.sql("CREATE CONTINUOUS QUERY other AS SELECT vid FROM p [NOW] SAMPLE REALTIME")
                db.sql("CREATE CONTINUOUS QUERY reader RANGE UNBOUNDED AS SELECT note FROM q [NOW] SAMPLE REALTIME")
                work(db, 0, 3)
                with down.while_(outage):
                    work(db, 4, 6)
                    if outage:
                        status, problem = state(db, "q")
                        assert status == "waiting"
                        assert problem is not None
                        assert "PostgreSQL" in problem
                        assert state(db, "other") == ("running", None)
                    assert db.now("other") == 7
            shutil.rmtree(
                folder / "before", ignore_errors=True
            )  # the last result must be worked out again, with PostgreSQL
            with millpond.connect(folder, auto_archive=False) as db:
                with down.while_(outage):
                    if outage:
                        assert state(db, "q")[0] == "waiting"
                    work(db, 7, 8)
                    if outage:
                        assert state(db, "q")[0] == "waiting"
                wait_until(lambda d=db: ticked(d) and d.now("reader") == 9, "the end of the outage")  # type: ignore[misc]
                work(db, 9, 10)
                assert state(db, "q") == ("running", None)
                found.append([db.resume(name).fetch().rows() for name in ("q", "reader")])
    assert found[0] == found[1]
    assert len(found[0][0]) > 0


def ticked(db: millpond.Pond) -> bool:
    db.tick()
    return True


class Outage:
    """PostgreSQL refuses connections while it lasts."""

    @contextlib.contextmanager
    def while_(self, lasting: bool) -> Iterator[None]:
        from millpond.foreign_tables.postgres import rows

        def refuse(*_: object, **__: object) -> NoReturn:
            raise millpond.Unreachable("PostgreSQL at here:5432 cannot be reached")

        with pytest.MonkeyPatch.context() as patch:
            if lasting:
                patch.setattr(rows, "transaction", refuse)
            yield


def test_an_error_of_postgres_about_the_table_stops_the_query(tmp_path: Path) -> None:
    import psycopg

    with running_postgres(tmp_path / "pg") as dsn, psycopg.connect(dsn, autocommit=True) as there:
        there.execute("CREATE TABLE c (seg INT)")
        with millpond.connect(tmp_path / "pond", auto_archive=False) as db:
            db.sql("CREATE STREAMING TABLE p (seg INT, t BIGINT) TIMESTAMP BY t")
            db.sql(f"CREATE STANDARD TABLE c FROM POSTGRES '{dsn}'")
            db.sql("CREATE CONTINUOUS QUERY q AS SELECT p.seg FROM p [NOW] p JOIN c ON p.seg = c.seg SAMPLE REALTIME")
            there.execute("DROP TABLE c")
            db.append("p", [(1, 1)])
            db.advance("p", 2)
            db.tick()
            assert state(db, "q")[0] == "failed"


def test_a_server_that_ended_is_unreachable(tmp_path: Path) -> None:
    import psycopg

    with running_postgres(tmp_path / "pg") as dsn, psycopg.connect(dsn, autocommit=True) as there:
        there.execute("CREATE TABLE c (seg INT)")
        with millpond.connect(tmp_path / "pond", auto_archive=False) as db:
            db.sql(f"CREATE STANDARD TABLE c FROM POSTGRES '{dsn}'")
            assert db.sql("SELECT * FROM c").rows() == []
    with (
        millpond.connect(tmp_path / "pond", auto_archive=False) as db,
        pytest.raises(millpond.Unreachable, match="cannot be reached"),
    ):
        db.sql("SELECT * FROM c")
