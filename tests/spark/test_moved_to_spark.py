"""A continuous query that meets a value about which Spark decides goes on there from that instant, and what it sends is what the one-time
query gives."""

from __future__ import annotations

from pathlib import Path

import pytest

import millpond
from millpond.pond import Pond

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("session")]

TABLE = (
    "CREATE STREAMING TABLE r (k INT, s STRING, n INT, v INT, t BIGINT) TIMESTAMP BY t SHARD BY k WITH (shards = {})"
)
ODD = 3  # the time of rows that DuckDB leaves to Spark: `ß` in upper case, and a division by zero that Spark leaves out

QUERIES = {
    "rows": "SELECT k, upper(s) AS u FROM r [NOW] SAMPLE REALTIME",
    "new": "SELECT ISTREAM k, upper(s) AS u FROM r [k ROWS 1] SAMPLE REALTIME",
    "gone": "SELECT DSTREAM upper(s) AS u FROM r [INTERVAL 1] SAMPLE INTERVAL 1",
    "groups": "SELECT upper(s) AS u, COUNT(*) AS c FROM r [INTERVAL 1] GROUP BY upper(s) SAMPLE INTERVAL 1",
    "left_out": "SELECT k, n + 6 / v AS x FROM r [NOW] SAMPLE REALTIME",
}


def rows(time: int) -> list[tuple[object, ...]]:
    if time != ODD:
        return [(k, "abc"[(k + time) % 3], k, k + 1, time) for k in range(4)]
    return [(0, "x", 1, 1, time), (1, "straße", None, 0, time), (2, "y", 2, 2, time)]


def second(db: Pond, time: int) -> None:
    db.append("r", rows(time))
    db.advance("r", time + 1)
    db.tick()


def sent(db: Pond) -> dict[str, list[tuple[object, ...]]]:
    return {name: sorted((row[:-1] for row in db.resume(name).fetch()), key=repr) for name in QUERIES}


def make(folder: Path, shards: int) -> Pond:
    db = millpond.connect(folder, spark_master="local[2]", auto_archive=False)
    db.sql(TABLE.format(shards))
    for name, sql in QUERIES.items():
        db.sql(f"CREATE CONTINUOUS QUERY {name} RANGE UNBOUNDED AS {sql}")
    return db


@pytest.mark.parametrize("shards", [1, 3])
def test_a_query_goes_on_on_spark(tmp_path: Path, shards: int) -> None:
    with make(tmp_path / "pond", shards) as db:
        for time in range(1, 6):
            second(db, time)
        states = {row[0]: (row[1], row[7]) for row in db.sql("SHOW CONTINUOUS QUERIES").rows()}
        assert states == dict.fromkeys(QUERIES, ("running", None))
        found = sent(db)
        plan = "\n".join(row[0] for row in db.sql("EXPLAIN CONTINUOUS QUERY groups").rows())
        assert "DuckDB does not evaluate it: the query met a value on which DuckDB and Spark differ" in plan
    assert found["rows"] == sorted(((r[0], str(r[1]).upper(), r[4]) for t in range(1, 6) for r in rows(t)), key=repr)
    assert [row for row in found["left_out"] if row[-1] == ODD] == [(0, 7.0, 3), (1, None, 3), (2, 5.0, 3)]
    groups = {row[:2] for row in found["groups"] if row[-1] == ODD + 1}
    assert ("STRASSE", 1) in groups
    assert {row[1:] for row in found["new"] if row[0] == 1} >= {("STRASSE", 3)}
    assert ("STRASSE", 5) in found["gone"]


def test_where_it_is_evaluated_does_not_show_after_a_restart(tmp_path: Path) -> None:
    with make(tmp_path / "whole", 3) as db:
        for time in range(1, 8):
            second(db, time)
        expected = sent(db)
    with make(tmp_path / "cut", 3) as db:
        for time in range(1, ODD + 1):
            second(db, time)
    with millpond.connect(tmp_path / "cut", spark_master="local[2]", auto_archive=False) as db:
        for time in range(ODD + 1, 8):
            second(db, time)
        assert sent(db) == expected


def test_an_error_on_spark_too_stops_the_query(tmp_path: Path) -> None:
    with millpond.connect(tmp_path / "pond", spark_master="local[2]", auto_archive=False) as db:
        db.sql(TABLE.format(1))
        db.sql(
            "CREATE CONTINUOUS QUERY q RANGE UNBOUNDED AS SELECT coalesce(n, 6 / v) AS x FROM r [NOW] SAMPLE REALTIME"
        )
        for time in range(1, 5):
            second(db, time)
        (row,) = db.sql("SHOW CONTINUOUS QUERIES").rows()
        assert row[1] == "failed"
        assert row[7] == "the query failed"  # Spark says why in the detail
        assert {r[-2] for r in db.resume("q").fetch()} == set(range(1, ODD))


def test_sessions_and_rows_as_instants_stay_and_say_which_value_it_is(tmp_path: Path) -> None:
    with millpond.connect(tmp_path / "pond", spark_master="local[2]", auto_archive=False) as db:
        db.sql(TABLE.format(1))
        db.sql("CREATE CONTINUOUS QUERY q RANGE UNBOUNDED AS SELECT k, upper(s) AS u FROM r [NOW] SAMPLE EACH ROW")
        for time in range(1, 5):
            second(db, time)
        (row,) = db.sql("SHOW CONTINUOUS QUERIES").rows()
        assert row[1] == "failed"
        assert row[7].startswith("the query met a value on which DuckDB and Spark differ")
