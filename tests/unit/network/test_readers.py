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


def compare(folder: Path, *statements: str, life: Any) -> list[list[tuple[Any, ...]]]:
    """What the queries of `statements` send in a life with restarts, which is what they send in one without."""
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
        names = [row[0] for row in db.sql("SELECT name FROM millpond.queries ORDER BY name").rows()]
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
    "CREATE STREAMING TABLE s (v BIGINT, t BIGINT) TIMESTAMP BY t RANGE INTERVAL '20' SECOND",
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
    _, found = compare(
        tmp_path,
        *TABLES,
        f"CREATE STREAMING VIEW a {kept}AS SELECT v FROM r [NOW] SAMPLE REALTIME",
        "CREATE CONTINUOUS QUERY b RANGE UNBOUNDED AS SELECT a.v, a.instant AS at FROM a [NOW], s [ROWS 1] SAMPLE REALTIME",
        life=[rows("s", 0), rows("r", 1), rows("r", *range(2, 40)), rows("r", *range(40, 200)), rows("s", 100)],
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
