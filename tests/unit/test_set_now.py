"""A row or a heartbeat far ahead, and the way back."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import millpond
from millpond import Pond
from millpond.clock import ManualClock
from millpond.errors import CatalogError, IntakeError, SqlError, SqlSyntaxError
from tests.faults.ledger import wait_until

TODAY = 1_767_225_600_000_000  # 2026-01-01


@pytest.fixture
def db(tmp_path: Path) -> Iterator[Pond]:
    with opened(tmp_path) as pond:
        yield pond


def opened(path: Path) -> Pond:
    return millpond.connect(path / "pond", clock=ManualClock(TODAY), auto_archive=False, engine="duckdb")


def values(db: Pond, table: str = "r") -> list[int]:
    return [v for (v,) in db.sql(f"SELECT v FROM {table} ORDER BY v")]


def sent(db: Pond) -> list[tuple[int, ...]]:
    return [tuple(row) for row in db.resume("q").fetch().rows()]


def make(db: Pond) -> None:
    db.sql("CREATE STREAMING TABLE r (v INT, t BIGINT) TIMESTAMP BY t WITH (shards = 1)")
    db.sql("CREATE CONTINUOUS QUERY q RANGE UNBOUNDED AS SELECT v FROM r [NOW] SAMPLE REALTIME")
    db.append("r", [(1, 10), (2, 20), (3, 900_000)])
    db.advance("r", 900_001)
    db.tick()


def test_a_row_of_the_year_9999(db: Pond) -> None:
    db.sql("CREATE STREAMING TABLE r (v INT, at TIMESTAMP) TIMESTAMP BY at")
    receipt = db.append("r", [(1, "2026-01-01 10:00:00"), (2, "9999-01-01 00:00:00"), (3, "2026-01-01 10:00:01")])
    assert (receipt.accepted, receipt.ahead, receipt.late, receipt.rejected) == (2, 1, 0, 1)
    told = db.sql("INSERT INTO r VALUES (4, TIMESTAMP '9999-01-01 00:00:00')").message
    assert told == "0 rows inserted, 1 rejected (0 late, 1 too far ahead, 0 malformed): see r_rejected"
    status = db.status()["tables"]["r"]
    assert (status["ahead"], status["rejected"], status["late"]) == (2, 2, 0)
    assert db.sql("SELECT most_ahead FROM millpond.tables").rows() == [("1 day",)]


def test_old_data_is_not_ahead(db: Pond) -> None:
    db.sql("CREATE STREAMING TABLE r (v INT, at TIMESTAMP) TIMESTAMP BY at")
    assert db.append("r", [(1, "1999-01-01 10:00:00"), (2, "2000-01-01 00:00:00")]).accepted == 2


def test_a_heartbeat_that_is_too_far_ahead(db: Pond) -> None:
    db.sql("CREATE STREAMING TABLE r (v INT, at TIMESTAMP) TIMESTAMP BY at")
    with pytest.raises(IntakeError) as refused:
        db.advance("r", "9999-01-01 00:00:00")
    assert str(refused.value) == (
        'heartbeat 9999-01-01 00:00:00 of table "r" is too far ahead\n'
        "Detail: The latest it takes now is 2026-01-02 00:00:00.\n"
        "Hint: Check the time, or ALTER STREAMING TABLE r SET AHEAD UNBOUNDED."
    )
    db.sql("ALTER STREAMING TABLE r SET AHEAD UNBOUNDED")
    db.advance("r", "9999-01-01 00:00:00")


def test_the_bound_lasts(tmp_path: Path) -> None:
    with opened(tmp_path) as db:
        db.sql("CREATE STREAMING TABLE r (v INT, t BIGINT) TIMESTAMP BY t AHEAD INTERVAL '1' MINUTE")
        db.append("r", [(1, 0)])
    with opened(tmp_path) as db:
        assert db.append("r", [(2, 61), (3, 60)]).ahead == 1
        assert values(db) == [1, 3]


@pytest.mark.parametrize(
    ("statement", "error", "message"),
    [
        (
            "CREATE STREAMING TABLE s (t BIGINT) TIMESTAMP BY t AHEAD 5",
            SqlSyntaxError,
            "INTERVAL or UNBOUNDED after AHEAD",
        ),
        ("ALTER STREAMING TABLE r SET AHEAD INTERVAL '0.5' SECOND", SqlError, "finer than the time column"),
        ("ALTER STREAMING TABLE r SET NOW 'yesterday'", SqlError, "is not a time of table"),
        ("ALTER STREAMING TABLE r SET NOW 1", CatalogError, 'table "r" has no time yet; SET NOW only takes time back'),
    ],
)
def test_what_is_refused(db: Pond, statement: str, error: type[Exception], message: str) -> None:
    db.sql("CREATE STREAMING TABLE r (v INT, t BIGINT) TIMESTAMP BY t")
    with pytest.raises(error, match=message):
        db.sql(statement)


def test_time_is_taken_back(tmp_path: Path) -> None:
    with opened(tmp_path) as db:
        make(db)
        assert db.append("r", [(4, 30)]).late == 1
        assert [row[0] for row in sent(db)] == [1, 2, 3]
        told = db.sql("ALTER STREAMING TABLE r SET NOW 25").message
        assert told == 'now of "r" is 25; 1 row rejected; begun anew: q'
        assert (db.now("r"), values(db), sent(db)) == (25, [1, 2], [])
        assert db.append("r", [(5, 24), (6, 30)]).late == 1
        db.advance("r", 40)
        db.tick()
        assert [row[0] for row in sent(db)] == [6]
        assert db.sql("SELECT v FROM q").rows() == [(6,)]
    with opened(tmp_path) as db:
        assert (db.now("r"), values(db)) == (40, [1, 2, 6])
        assert [row[0] for row in sent(db)] == [6]
        db.append("r", [(7, 50)])
        db.advance("r", 60)
        db.tick()
        assert [row[0] for row in sent(db)] == [6, 7]
        status = db.status()["tables"]["r"]
        assert (status["late"], status["ahead"], status["rows"]) == (2, 1, 4)


def test_a_heartbeat_is_taken_back(db: Pond) -> None:
    db.sql("CREATE STREAMING TABLE r (v INT, t BIGINT) TIMESTAMP BY t LATENESS INTERVAL 5")
    db.append("r", [(1, 10), (2, 20)])
    db.advance("r", 900_000)
    db.sql("ALTER STREAMING TABLE r SET NOW 15")
    assert (db.now("r"), values(db)) == (15, [1, 2])
    assert db.append("r", [(3, 14), (4, 16)]).late == 1


def test_a_query_that_has_not_passed_the_new_time_goes_on(db: Pond) -> None:
    db.sql("CREATE STREAMING TABLE r (v INT, t BIGINT) TIMESTAMP BY t")
    db.sql("CREATE STREAMING TABLE s (v INT, t BIGINT) TIMESTAMP BY t")
    db.sql("CREATE CONTINUOUS QUERY q AS SELECT v FROM r [NOW] SAMPLE REALTIME")
    db.sql("CREATE CONTINUOUS QUERY two AS SELECT r.v FROM r [INTERVAL 100], s [INTERVAL 100] SAMPLE INTERVAL 10")
    db.append("s", [(1, 5)])
    db.append("r", [(1, 10), (2, 20), (3, 900_000)])
    db.tick()
    assert db.sql("ALTER STREAMING TABLE r SET NOW 25").message.endswith("begun anew: q")
    db.advance("s", 40)
    db.advance("r", 40)
    db.tick()
    assert {row[0] for row in db.resume("two").fetch().rows()} == {1, 2}


def test_triggers_go_on_with_the_query(db: Pond) -> None:
    make(db)
    came: list[int] = []
    db.on("q", lambda event: came.append(event["v"]))
    db.sql("ALTER STREAMING TABLE r SET NOW 25")
    db.append("r", [(6, 30)])
    db.advance("r", 40)
    db.tick()
    wait_until(lambda: came == [6], "the trigger")


class Crashed(Exception):
    pass


@pytest.mark.parametrize("place", ["now.before_frame", "now.after_frame", "now.before_commit"])
def test_a_crash_while_time_is_taken_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: str) -> None:
    """The statement can be given again; then it is as if nothing had happened."""
    with opened(tmp_path) as db:
        make(db)

        def crash(name: str) -> None:
            if name == place:
                raise Crashed

        give: Callable[[], object] = lambda: db.sql("ALTER STREAMING TABLE r SET NOW 25")  # noqa: E731
        with monkeypatch.context() as patch:
            patch.setattr("millpond.statements.now.reach", crash)
            with pytest.raises(Crashed):
                give()
    with opened(tmp_path) as db:
        db.tick()
        db.sql("ALTER STREAMING TABLE r SET NOW 25")
        db.append("r", [(6, 30)])
        db.advance("r", 40)
        db.tick()
        assert values(db) == [1, 2, 6]
        assert [row[0] for row in sent(db)] == [6]


def test_the_ends_of_bigint_are_times(db: Pond) -> None:
    make(db)
    assert db.sql("SELECT v FROM r AS OF -9223372036854775808").rows() == []
    with pytest.raises(SqlError, match='AS OF 9223372036854775807 is ahead of table "r"'):
        db.sql("SELECT v FROM r AS OF 9223372036854775807")
    for beyond in ("9223372036854775808", "-9223372036854775809"):
        with pytest.raises(SqlSyntaxError, match="expected a time: a whole number or a text"):
            db.sql(f"SELECT v FROM r AS OF {beyond}")
    with pytest.raises(CatalogError, match="SET NOW only takes time back"):
        db.sql("ALTER STREAMING TABLE r SET NOW 9223372036854775807")
    db.sql("ALTER STREAMING TABLE r SET NOW -9223372036854775808")
    assert values(db) == []
    db.append("r", [(4, 5)])
    assert values(db) == [4]


@pytest.mark.parametrize(("kind", "last"), [("TINYINT", 127), ("SMALLINT", 32767), ("INT", 2**31 - 1)])
def test_a_heartbeat_beyond_the_range_of_the_time_column(db: Pond, kind: str, last: int) -> None:
    db.sql(f"CREATE STREAMING TABLE i (v INT, t {kind}) TIMESTAMP BY t AHEAD UNBOUNDED")
    with pytest.raises(SqlError) as caught:
        db.advance("i", last + 1)
    assert str(caught.value) == (
        f'{last + 1} is not a time of table "i"\nDetail: Its time column is a {kind}: {-last - 1} to {last}.'
    )
    assert db.now("i") is None
    db.advance("i", last)
    assert db.now("i") == last
