"""Where a query begins when one of the streams it reads has no time yet."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import millpond
from millpond.pond import Pond


@pytest.fixture
def db(tmp_path: Path) -> Iterator[Pond]:
    """Time stands at 20 in `r`, which has rows at 4, 12 and 20; `s` has no time."""
    with millpond.connect(tmp_path / "pond", auto_archive=False, engine="duckdb") as pond:
        for name in ("r", "s"):
            pond.sql(f"CREATE STREAMING TABLE {name} (k INT, t BIGINT) TIMESTAMP BY t")
        pond.append("r", [(1, 4), (1, 12), (1, 20)])
        yield pond


def sent(db: Pond, name: str) -> list[tuple[Any, ...]]:
    db.advance("r", 30)
    db.advance("s", 30)
    db.tick()
    return [row[:-1] for row in db.resume(name).fetch().rows()]


def ask(db: Pond, what: str, extra: str = "") -> None:
    db.sql(f"CREATE CONTINUOUS QUERY q {extra} AS SELECT {what} FROM r [NOW] a SAMPLE REALTIME")


SEEN = "a.t, (SELECT COUNT(*) FROM s [k ROWS 1] x) AS n"


def test_it_begins_where_the_known_streams_stand(db: Pond) -> None:
    ask(db, SEEN)
    db.append("s", [(1, 5), (2, 25)])
    assert sent(db, "q") == [(20, 1, 20)]


@pytest.mark.parametrize("restart", [False, True])
def test_a_partitioned_window_gets_rows_from_before_the_beginning(tmp_path: Path, restart: bool) -> None:
    with millpond.connect(tmp_path / "pond", auto_archive=False, engine="duckdb") as db:
        for name in ("r", "s"):
            db.sql(f"CREATE STREAMING TABLE {name} (k INT, t BIGINT) TIMESTAMP BY t")
        db.append("r", [(1, 20)])
        ask(db, SEEN)
        db.append("s", [(1, 5)])  # now `s` has a time, but less than where the query begins
        db.tick()
        if not restart:
            db.append("s", [(2, 7)])
            assert sent(db, "q") == [(20, 2, 20)]
            return
    with millpond.connect(tmp_path / "pond", create=False, auto_archive=False, engine="duckdb") as db:
        db.append("s", [(2, 7)])
        assert sent(db, "q") == [(20, 2, 20)]


def test_from_is_heeded(db: Pond) -> None:
    ask(db, SEEN, "FROM 10")
    db.append("s", [(1, 5)])
    assert sent(db, "q") == [(12, 1, 12), (20, 1, 20)]


def test_from_a_time_to_come_is_refused(db: Pond) -> None:
    with pytest.raises(millpond.MillpondError, match="time stands at 20"):
        ask(db, SEEN, "FROM 21")


def test_at_the_first_instant_everything_is_new(db: Pond) -> None:
    db.sql(
        "CREATE CONTINUOUS QUERY q AS SELECT ISTREAM a.t AS at, b.t AS bt FROM r [INTERVAL 10] a LEFT JOIN s [NOW] b "
        "ON a.k = b.k SAMPLE REALTIME"
    )
    assert sorted(sent(db, "q")) == [(12, None, 20), (20, None, 20)]


def test_without_rows_it_begins_with_the_first(tmp_path: Path) -> None:
    with millpond.connect(tmp_path / "pond", auto_archive=False, engine="duckdb") as db:
        for name in ("r", "s"):
            db.sql(f"CREATE STREAMING TABLE {name} (k INT, t BIGINT) TIMESTAMP BY t")
        db.advance("s", 20)
        ask(db, SEEN)
        db.append("r", [(1, 5)])
        assert sent(db, "q") == [(5, 0, 5)]


def test_no_instant_is_before_the_first_row(tmp_path: Path) -> None:
    """With LATENESS time may stand before every row there is, and an earlier one may still come."""
    with millpond.connect(tmp_path / "pond", auto_archive=False, engine="duckdb") as db:
        db.sql("CREATE STREAMING TABLE r (k INT, t BIGINT) TIMESTAMP BY t LATENESS INTERVAL 6 SECOND")
        db.append("r", [(1, 4), (1, 6)])  # time stands at 0
        count = "AS SELECT COUNT(*) AS n FROM r [INTERVAL 10] SAMPLE INTERVAL 1"
        db.sql(f"CREATE CONTINUOUS QUERY q {count}")
        db.append("r", [(1, 2)])
        db.advance("r", 6)
        db.tick()
        assert [row[:-1] for row in db.resume("q").fetch().rows()] == [(1, 2), (1, 3), (2, 4), (2, 5)]


@pytest.mark.parametrize("restart", [False, True])
def test_readers_of_a_paused_view_went_on_with_a_time_that_it_had_only_lent(tmp_path: Path, restart: bool) -> None:
    """A view that has not begun has the time of what it reads. Once it was paused, what its readers sent depended on whether the
    pond had been opened anew."""
    db = millpond.connect(tmp_path / "pond", auto_archive=False, engine="duckdb")
    for name, lateness in (("r", 6), ("s", 0)):
        db.sql(f"CREATE STREAMING TABLE {name} (k INT, t BIGINT) TIMESTAMP BY t LATENESS INTERVAL {lateness}")
    db.sql("CREATE STREAMING VIEW a RANGE INTERVAL 9 AS SELECT k FROM r [NOW] SAMPLE REALTIME")
    db.sql("CREATE STREAMING VIEW b RANGE INTERVAL 9 AS SELECT k FROM a [NOW] SAMPLE REALTIME")
    db.sql(
        "CREATE CONTINUOUS QUERY q RANGE UNBOUNDED AS SELECT s.k FROM s [NOW] LEFT JOIN b [NOW] x ON s.k = x.k SAMPLE REALTIME"
    )
    db.append("r", [(1, 11)])  # its time is 5
    db.append("s", [(1, 3)])
    db.tick()
    db.append("s", [(2, 4), (3, 5), (4, 6)])
    db.sql("PAUSE STREAMING VIEW a")
    if restart:
        db.close()
        db = millpond.connect(tmp_path / "pond", create=False, auto_archive=False, engine="duckdb")
    db.tick()
    assert db.resume("q").fetch().rows() == []
    db.sql("RESUME STREAMING VIEW a")
    db.advance("r", 12)
    db.advance("s", 12)
    db.tick()
    assert [row[:2] for row in db.resume("q").fetch().rows()] == [(1, 3), (2, 4), (3, 5), (4, 6)]
    db.close()
