"""Retention was counted from where a stream stands: a query that was held back by a slower stream lost rows after a restart."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import millpond
from millpond import Pond
from millpond.catalog import Catalog, ContinuousQuery
from millpond.event_time import NEVER, Progress
from millpond.network.run.readers import Readers
from millpond.network.run.state import State
from millpond.results import archive as kept_results
from millpond.results import outlet as outlets
from millpond.schema import Schema


def opened(folder: Path) -> Pond:
    return millpond.connect(folder, auto_archive=False, engine="duckdb", block_rows=4)


def compare(folder: Path, *statements: str, life: Any, view: str = "") -> list[list[tuple[Any, ...]]]:
    """What the queries of `statements` send in a life with restarts, which is what they send in one without. Of a `view` it is not
    asked: how much of its results is kept beyond their RANGE depends on when they are archived."""
    found = []
    for restarts in (False, True):
        db = opened(folder / str(restarts))
        for statement in statements:
            db.sql(statement)
        for step in life:
            step(db)
            db.tick()
            db.archive()
            if restarts:
                db.close()
                db = opened(folder / str(restarts))
        names = [n for (n,) in db.sql("SELECT name FROM millpond.queries ORDER BY name").rows() if n != view]
        found.append([db.resume(name).fetch().rows() for name in names])
        db.close()
    assert found[0] == found[1]
    return found[0]


def rows(table: str, *times: int) -> Any:
    return lambda db: db.append(table, [(time, time) for time in times])


def advance(table: str, time: int) -> Any:
    return lambda db: db.advance(table, time)


TABLES = (
    "CREATE STREAMING TABLE r (v BIGINT, t BIGINT) TIMESTAMP BY t RANGE INTERVAL '20' SECOND",
    "CREATE STREAMING TABLE s (v BIGINT, t BIGINT) TIMESTAMP BY t",
)


def test_a_query_held_back_by_a_slow_stream_lost_rows_of_the_other_by_retention(tmp_path: Path) -> None:
    (found,) = compare(
        tmp_path,
        *TABLES,
        "CREATE CONTINUOUS QUERY q RANGE UNBOUNDED AS SELECT count(r.v) AS n, max(r.v) AS m "
        "FROM r [INTERVAL '20' SECOND], s [ROWS 1] SAMPLE INTERVAL '5' SECOND",
        life=[rows("s", 0), rows("r", 1), rows("r", *range(2, 40)), rows("r", *range(40, 200)), rows("s", 100)],
    )
    assert found[-1][:3] == (21, 95, 95)
    assert [row[2] for row in found] == list(range(0, 100, 5))


def test_a_query_that_had_not_begun_lost_rows_by_retention(tmp_path: Path) -> None:
    (found,) = compare(
        tmp_path,
        *TABLES,
        "CREATE CONTINUOUS QUERY q RANGE UNBOUNDED AS SELECT r.v FROM r [NOW] LEFT JOIN s [NOW] ON r.v = s.v SAMPLE REALTIME",
        life=[rows("r", *range(5)), rows("r", *range(5, 200)), rows("s", 50)],
    )
    assert [row[0] for row in found] == list(range(50))


@pytest.mark.parametrize("kept", ["", "RANGE INTERVAL '20' SECOND "])
def test_a_query_held_back_lost_results_of_a_view(tmp_path: Path, kept: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(outlets, "KEPT_BYTES", 160)
    monkeypatch.setattr(kept_results, "FILE_BYTES", 64, raising=False)
    (found,) = compare(
        tmp_path,
        *TABLES,
        f"CREATE STREAMING VIEW a {kept}AS SELECT v FROM r [NOW] SAMPLE REALTIME",
        "CREATE CONTINUOUS QUERY b RANGE UNBOUNDED AS SELECT a.v, a.instant AS at FROM a [NOW], s [ROWS 1] SAMPLE REALTIME",
        life=[rows("s", 0), rows("r", 1), rows("r", *range(2, 40)), rows("r", *range(40, 200)), rows("s", 100)],
        view="a",
    )
    assert [row[:2] for row in found] == [(time, time) for time in range(1, 100)]


def test_istream_forgot_what_it_sent_when_that_had_left_its_table(tmp_path: Path) -> None:
    """The last instant is of long ago: nothing has come since, only time went on."""
    (found,) = compare(
        tmp_path,
        TABLES[0],
        "CREATE CONTINUOUS QUERY q RANGE UNBOUNDED AS SELECT ISTREAM count(*) AS n FROM r [INTERVAL '5' SECOND] SAMPLE REALTIME",
        life=[
            rows("r", 1),
            advance("r", 2),
            advance("r", 500),
            rows("r", 1000),
            advance("r", 1001),
            rows("r", 1001, 1003),
        ],
    )
    assert [row[:2] for row in found] == [(1, 1), (2, 1001)]


def test_how_far_back_readers_look() -> None:
    query = ContinuousQuery("q", "", "rstream", None, Schema(()), "q-1", ("r", "s"))

    def told(made: ContinuousQuery, progress: Progress | None, **state: Any) -> tuple[int | None, ...]:
        known = {} if progress is None else {made.folder: progress}
        readers = Readers(lambda: replace(Catalog(), queries={made.name: made}))
        return tuple(readers.read_from(name, State(progress=known, **state)) for name in ("r", "s", "t"))

    assert told(query, Progress(9, 4)) == (9, 9, None)
    assert told(replace(query, stream_operator="istream"), Progress(9, 4)) == (4, 4, None)
    assert told(replace(query, stream_operator="dstream"), Progress(9)) == (9, 9, None)
    assert told(query, None) == told(query, Progress()) == (NEVER, NEVER, None)
    assert told(replace(query, paused=True), Progress(9)) == (None, None, None)
    assert told(query, Progress(9), failed={"q-1": "why"}) == (None, None, None)


def keyed(*given: tuple[int, int]) -> Any:
    return lambda db: db.append("p", [(key, time, time) for key, time in given])


KEYED = "CREATE STREAMING TABLE p (k INT, v BIGINT, t BIGINT) TIMESTAMP BY t RANGE INTERVAL '20' SECOND"
FORGOTTEN = (
    "SELECT v FROM p [ROWS 3] SAMPLE REALTIME",
    "SELECT k, v FROM p [k ROWS 2] SAMPLE INTERVAL '10' SECOND",
    "SELECT ISTREAM k, v, PREV(v) AS w FROM p [k ROWS 2] SAMPLE REALTIME",
    "SELECT ISTREAM k, PREV(v) AS w FROM p [k ROWS 2] WHERE v <> PREV(v) SAMPLE REALTIME",
    "SELECT DSTREAM k, v FROM p [k ROWS 2] SAMPLE EACH ROW",
    "SELECT ISTREAM k FROM p [k ROWS 2] WHERE PREV(v) > 0 SAMPLE EACH ROW",
    "SELECT k, v, PREV(v) AS w FROM p [k ROWS 2] WHERE t = NOW() SAMPLE REALTIME",
)


@pytest.mark.parametrize("shards", [1, 4])
def test_a_window_by_rows_forgot_old_rows_after_a_restart_only(tmp_path: Path, shards: int) -> None:
    """Rows older than the table keeps them: they were seen as long as they were in memory, and not any more when read again."""
    found = compare(
        tmp_path,
        f"{KEYED} WITH (shards = {shards})",
        *(f"CREATE CONTINUOUS QUERY q{n} RANGE UNBOUNDED AS {query}" for n, query in enumerate(FORGOTTEN)),
        life=[
            keyed((1, 1), (2, 2), (1, 3)),
            keyed((2, 20), (1, 24)),
            keyed((2, 100), (2, 101)),
            keyed((1, 102), (2, 130)),
            lambda db: db.advance("p", 140),
        ],
    )
    rows_3, keys = ({at: sorted(r[-3] for r in rows if r[-2] == at) for at in (102, 130)} for rows in found[:2])
    assert rows_3 == {102: [100, 101, 102], 130: [130]}
    assert keys[130] == [130]
    assert [row[:4] for row in found[6][-4:]] == [
        (2, 100, None, 100),
        (2, 101, 100, 101),
        (1, 102, None, 102),
        (2, 130, None, 130),
    ]


def test_a_query_did_not_notice_that_its_table_keeps_rows_longer_or_less_long(tmp_path: Path) -> None:
    found = compare(
        tmp_path,
        KEYED,
        "CREATE CONTINUOUS QUERY q RANGE UNBOUNDED AS SELECT v FROM p [ROWS 3] SAMPLE REALTIME",
        "CREATE STREAMING VIEW seen RANGE INTERVAL '20' SECOND AS SELECT v FROM p [NOW] SAMPLE REALTIME",
        "CREATE CONTINUOUS QUERY s RANGE UNBOUNDED AS SELECT v FROM seen [ROWS 3] SAMPLE REALTIME",
        life=[
            keyed((1, 1), (1, 10), (1, 11)),
            lambda db: db.sql("ALTER STREAMING TABLE p SET RANGE INTERVAL '5' SECOND"),
            keyed((1, 15), (1, 16)),
            lambda db: db.sql("ALTER STREAMING VIEW seen SET RANGE INTERVAL '3' SECOND"),
            keyed((1, 20), (1, 21)),
            lambda db: db.advance("p", 22),
        ],
        view="seen",
    )
    at = {t: sorted(r[0] for r in found[0] if r[1] == t) for t in (11, 16, 21)}
    assert at == {11: [10, 11], 16: [11, 15, 16], 21: [16, 20, 21]}
    assert sorted(r[0] for r in found[1] if r[1] == 21) == [20, 21]


def test_a_one_time_window_by_rows_holds_no_row_older_than_its_table_keeps(tmp_path: Path) -> None:
    query = "SELECT k, v FROM p [k ROWS 2] ORDER BY v"
    with opened(tmp_path) as db:
        db.sql(KEYED)
        keyed((1, 1), (2, 2), (1, 3), (2, 20))(db)
        assert db.sql(f"{query} AS OF 3").rows() == [(1, 1), (2, 2), (1, 3)]
        keyed((1, 24))(db)
        assert db.sql(query).rows() == [(2, 20), (1, 24)]
        assert db.sql(f"{query} AS OF 3").rows() == [(1, 1), (2, 2), (1, 3)]
        keyed((1, 90))(db)
        db.archive()
        assert db.sql(query).rows() == [(1, 90)]
        assert db.sql(f"{query} AS OF 90").rows() == [(1, 90)]
        with pytest.raises(millpond.SqlError, match='table "p" no longer has all rows that are needed as of 80'):
            db.sql(f"{query} AS OF 80")
    with opened(tmp_path) as db:
        assert db.sql(query).rows() == [(1, 90)]


def test_a_query_that_begins_before_what_is_kept_is_told(tmp_path: Path) -> None:
    """Its first results were of rows that are left, in silence. Readers that there are hold rows back; a new one comes too late."""
    query = "SELECT count(r.v) AS n FROM r [INTERVAL '20' SECOND], s [ROWS 1] SAMPLE INTERVAL '10' SECOND"
    with opened(tmp_path) as db:
        for table in TABLES:
            db.sql(table)
        rows("s", 0)(db)
        rows("r", *range(50))(db)
        told = db.sql(f"CREATE CONTINUOUS QUERY before RANGE UNBOUNDED AS {query}").message
        assert told == 'continuous query "before" created'  # nothing is deleted yet
        db.sql("PAUSE CONTINUOUS QUERY before")
        db.archive()
        rows("r", *range(50, 200))(db)
        db.archive()
        left = (
            '; warning: it begins at {}, and its results before 198 are of what is left: "r" keeps its rows since 178'
        )
        assert db.sql("RESUME CONTINUOUS QUERY before").message == '"before" resumed' + left.format(0)
        told = db.sql(f"CREATE CONTINUOUS QUERY late AS {query}").message
        assert told == 'continuous query "late" created' + left.format(0)
        alone = "SELECT count(*) AS n FROM r [INTERVAL '20' SECOND] SAMPLE INTERVAL '10' SECOND"
        told = db.sql(f"CREATE CONTINUOUS QUERY early FROM 50 AS {alone}").message
        assert told == 'continuous query "early" created' + left.format(50)
        told = db.sql(f"CREATE CONTINUOUS QUERY now AS {alone}").message
        assert told == 'continuous query "now" created'
