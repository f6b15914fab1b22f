"""Hybrid queries: what is one, what is refused, and what its results say."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import millpond
from millpond import MillpondError, Pond

PAST = "[BEGIN NOW - INTERVAL '2' HOUR END NOW - INTERVAL '1' HOUR]"


@pytest.fixture
def db(tmp_path: Path) -> Iterator[Pond]:
    with millpond.connect(tmp_path / "pond", auto_archive=False, shards=2, tick="1 hour") as db:
        db.sql("""
            CREATE STREAMING TABLE r (k INT, v INT, t BIGINT) TIMESTAMP BY t RANGE INTERVAL '1' DAY
              SHARD BY k REDUCE BY RANDOMIZE;
            CREATE CONTINUOUS QUERY results RANGE INTERVAL '1' HOUR AS SELECT k FROM r [NOW] SAMPLE REALTIME
        """)
        db.append("r", [(i % 7, i % 10, i // 10) for i in range(60_000)])
        db.archive()
        yield db


def columns(db: Pond, query: str) -> list[str]:
    return list(db.sql(f"SELECT * FROM {query}").columns)


def test_windows_between_two_moving_ends_are_read_from_history(db: Pond) -> None:
    db.sql(f"CREATE CONTINUOUS QUERY q AS SELECT count(*) AS n, max(v) AS m FROM r {PAST} SAMPLE INTERVAL '10' MINUTE")
    db.append("r", [(1, 99, t) for t in range(6_000, 13_000)])
    db.tick()
    assert columns(db, "q") == ["n", "m", "instant"], "nothing more: it is always exact"
    assert db.sql("SELECT * FROM q").rows() == [(9_001, 99, 12_600)]
    assert db.sql(f"SELECT count(*), max(v) FROM r {PAST} AS OF 12600").rows() == [(9_001, 99)]
    plan = [line for (line,) in db.sql("EXPLAIN CONTINUOUS QUERY q").rows()]
    assert "evaluated whole, instant by instant, from history" in plan
    held = db.sql("SELECT holder, rows FROM millpond.state WHERE what <> 'results to be fetched' AND holder = 'q'")
    assert held.rows() == []


def test_results_say_what_was_read(db: Pond) -> None:
    db.sql("""
        CREATE CONTINUOUS QUERY q OVERLOAD ALLOW 90 PERCENT AS
          SELECT k, sum(v) AS s, k + 1 AS other, count(*) FILTER (WHERE v > 5) AS n FROM r [INTERVAL '1' HOUR]
          GROUP BY k SAMPLE INTERVAL '10' MINUTE
    """)
    db.advance("r", 6_700)
    db.tick()
    names = ["k", "s", "s_low", "s_high", "other", "n", "n_low", "n_high", "read_fraction", "instant"]
    assert columns(db, "q") == names
    for k, s, s_low, s_high, other, n, n_low, n_high, fraction, _ in db.sql("SELECT * FROM q").rows():
        assert (s_low, s_high, n_low, n_high) == (s, s, n, n)
        assert (other, fraction) == (k + 1, 1.0)
    found = db.sql("SELECT may_leave_out, leaves_out, leaves_out_since FROM millpond.queries WHERE name = 'q'")
    assert found.rows() == [(90, 0, None)]
    with millpond.connect(db.folder) as reader:
        found = reader.sql("SELECT may_leave_out, leaves_out FROM millpond.queries WHERE name = 'q'")
        assert found.rows() == [(90, None)]


def test_rows_of_a_thinned_window_are_fewer(db: Pond) -> None:
    db.sql(f"""
        CREATE CONTINUOUS QUERY q OVERLOAD ALLOW 80 PERCENT AS
          SELECT live.v, past.k FROM r [NOW] AS live JOIN r {PAST} AS past ON live.k = past.k
          SAMPLE INTERVAL '10' MINUTE
    """)
    with_level(db, 6)
    db.append("r", [(3, 1, 7_200), (3, 2, 7_200)])
    db.archive()
    db.advance("r", 7_300)
    db.tick()
    found = db.sql("SELECT v, k, read_fraction FROM q").rows()
    fractions = {fraction for _, _, fraction in found}
    assert len(fractions) == 1
    assert 0.15 < min(fractions) < 0.35, "as much as it allows, not as much as the level is"
    assert {v for v, _, _ in found} == {1, 2}, "no live row is left out"
    everything = db.sql(f"SELECT count(*) FROM r {PAST} WHERE k = 3 AS OF 7200").rows()[0][0]
    assert len(found) == pytest.approx(2 * everything * min(fractions), rel=0.4)


def with_level(db: Pond, place: int) -> None:
    """As if ticks had taken too long."""
    from millpond.network.run.overload import Overload

    db._workspace.network.overload._overload = Overload(place)


def test_overload_can_be_altered(db: Pond) -> None:
    db.sql("""
        CREATE CONTINUOUS QUERY q OVERLOAD ALLOW 0 PERCENT AS
          SELECT count(*) AS n FROM r [INTERVAL '1' HOUR] WHERE v < 5 SAMPLE INTERVAL '1' HOUR
    """)
    with_level(db, 3)
    db.advance("r", 7_300)
    db.tick()
    assert db.sql("SELECT read_fraction FROM q").rows() == [(1.0,)]
    db.sql("ALTER CONTINUOUS QUERY q SET OVERLOAD ALLOW 75 PERCENT")
    db.append("r", [(1, i % 10, 9_000 + i // 10) for i in range(9_000)])
    db.archive()
    db.advance("r", 11_000)
    db.tick()
    ((n, low, high, fraction, instant),) = db.sql("SELECT * FROM q").rows()
    assert instant == 10_800
    assert 0.2 < fraction < 0.4
    assert low <= 4_500 <= high
    assert low < n < high
    assert db.sql("SELECT may_leave_out, leaves_out FROM millpond.queries WHERE name = 'q'").rows() == [(75, 75)]
    assert db.sql("SELECT left_out FROM millpond.ticks ORDER BY number DESC LIMIT 1").rows() == [(90,)]


def test_a_query_that_said_nothing_gets_the_columns_when_it_is_altered(db: Pond) -> None:
    """Rows in memory, in the log, in files and in the windows of a reader have had none."""
    db.sql("""
        CREATE CONTINUOUS QUERY q RANGE INTERVAL '10' DAY AS
          SELECT k, count(*) AS n FROM r [INTERVAL '1' HOUR] GROUP BY k SAMPLE INTERVAL '10' MINUTE;
        CREATE CONTINUOUS QUERY reader RANGE INTERVAL '1' DAY AS
          SELECT max(n) AS most, count(*) AS rows FROM q [INTERVAL '20' MINUTE] SAMPLE INTERVAL '10' MINUTE
    """)
    db.advance("r", 7_300)
    db.tick()
    outlet = db._workspace.network.outlet("q")
    rows = outlet.leaving(14)
    assert rows is not None
    outlet.archive.write(rows, 1 << 40)
    outlet.left()
    before = db.sql("SELECT * FROM q ORDER BY instant, k").rows()
    db.sql("ALTER CONTINUOUS QUERY q SET OVERLOAD ALLOW 90 PERCENT")
    assert columns(db, "q") == ["k", "n", "n_low", "n_high", "read_fraction", "instant"]
    assert db.sql("SELECT k, n, instant FROM q ORDER BY instant, k").rows() == before
    assert db.sql("SELECT DISTINCT n_low, n_high, read_fraction FROM q").rows() == [(None, None, None)]
    db.append("r", [(k, 1, 7_800) for k in range(7)])
    db.advance("r", 7_900)
    db.tick()
    found = db.sql("SELECT k, n, n_low, n_high, read_fraction FROM q WHERE instant = 7800 ORDER BY k").rows()
    assert [row[4] for row in found] == [1.0] * 7
    assert all(n == low == high for _, n, low, high, _ in found)
    assert db.sql("SELECT rows FROM reader WHERE instant = 7800").rows() == [(21,)]
    everything = db.sql("SELECT * FROM q ORDER BY instant, k").rows()
    rows = outlet.leaving(outlet.next)
    outlet.archive.write(rows, 1 << 40)
    outlet.left()
    assert db.sql("SELECT * FROM q ORDER BY instant, k").rows() == everything
    db.close()
    with millpond.connect(db.folder, auto_archive=False, tick="1 hour") as again:
        assert again.sql("SELECT * FROM q ORDER BY instant, k").rows() == everything
        assert len(again.resume("q", after=-1).fetch()) == len(everything)
        again.sql("ALTER CONTINUOUS QUERY q SET OVERLOAD ALLOW 0 PERCENT")
        assert columns(again, "q") == ["k", "n", "n_low", "n_high", "read_fraction", "instant"]


def test_bounds_that_would_be_called_as_a_column_are_refused(db: Pond) -> None:
    db.sql(f"CREATE CONTINUOUS QUERY q AS SELECT count(*) AS n, 5 AS n_low {FROM} {SAMPLE}")
    with pytest.raises(MillpondError, match='"n_low" is named twice'):
        db.sql("ALTER CONTINUOUS QUERY q SET OVERLOAD ALLOW 10 PERCENT")


FROM = "FROM r [INTERVAL '1' HOUR]"
SAMPLE = "SAMPLE INTERVAL '10' MINUTE"


@pytest.mark.parametrize(
    ("query", "primary", "hint"),
    [
        (f"SELECT count(*) AS n {FROM} SAMPLE REALTIME", "OVERLOAD needs instants at fixed distances", "SAMPLE INTERVAL"),
        (f"SELECT ISTREAM k {FROM} {SAMPLE}", "OVERLOAD does not go with ISTREAM", "SELECT RSTREAM"),
        (f"SELECT max(v) AS m {FROM} {SAMPLE}", "MAX has no estimate from a part of the rows", "Leave OVERLOAD out"),
        (f"SELECT k FROM r [ROWS 5] {SAMPLE}", 'OVERLOAD does not go with the window of "r", which is not by time', "window by time"),
        (f"SELECT k FROM results [NOW] {SAMPLE}", 'OVERLOAD does not go with "results", which is a continuous query',
         "streaming table behind it"),
        (f"SELECT a.k FROM r [NOW] AS a JOIN r [NOW] AS b ON a.k = b.k {SAMPLE}",
         "OVERLOAD needs a window from which rows may be left out", "BEGIN NOW"),
        (f"SELECT a.k FROM r [NOW] AS a LEFT JOIN r {PAST} AS b ON a.k = b.k {SAMPLE}",
         "OVERLOAD needs a query to which rows that are left out are only rows fewer", "Leave OVERLOAD out"),
        (f"SELECT k {FROM} WHERE k IN (SELECT k FROM r {PAST} AS b) {SAMPLE}",
         "OVERLOAD needs a query to which rows that are left out are only rows fewer", "Leave OVERLOAD out"),
        (f"SELECT count(*) AS n FROM r [NOW] AS a JOIN r {PAST} AS b ON a.k = b.k {SAMPLE}",
         "this query cannot be answered from a part of the rows: it has a join", "Leave OVERLOAD out"),
    ],
)  # fmt: skip
def test_what_overload_does_not_go_with(db: Pond, query: str, primary: str, hint: str) -> None:
    with pytest.raises(MillpondError) as told:
        db.sql(f"CREATE CONTINUOUS QUERY q OVERLOAD ALLOW 50 PERCENT AS {query}")
    assert told.value.primary == primary
    assert hint in str(told.value.hint)


@pytest.mark.parametrize(
    ("statement", "primary"),
    [
        (f"CREATE CONTINUOUS QUERY q OVERLOAD ALLOW 100 PERCENT AS SELECT k {FROM} {SAMPLE}", "OVERLOAD allows at least 0"),
        (f"CREATE CONTINUOUS QUERY q OVERLOAD ALLOW -1 PERCENT AS SELECT k {FROM} {SAMPLE}", "OVERLOAD allows at least 0"),
        (f"CREATE CONTINUOUS QUERY q OVERLOAD 5 PERCENT AS SELECT k {FROM} {SAMPLE}", "expected ALLOW after OVERLOAD"),
        (f"CREATE CONTINUOUS QUERY q AS SELECT k FROM r {PAST} SAMPLE REALTIME", "needs instants at fixed distances"),
        (f"CREATE CONTINUOUS QUERY q AS SELECT k FROM r [BEGIN 5 END NOW] {SAMPLE}",
         "a continuous query cannot have the window"),
        (f"CREATE CONTINUOUS QUERY q AS SELECT k FROM r [BEGIN NOW - INTERVAL '2' DAY END NOW] {SAMPLE}",
         'the window of "r" is longer than "r" keeps its rows'),
    ],
)  # fmt: skip
def test_wrong_statements_are_told(db: Pond, statement: str, primary: str) -> None:
    with pytest.raises(MillpondError) as told:
        db.sql(statement)
    assert primary in str(told.value)


def test_a_query_that_read_history_goes_on_after_a_restart(db: Pond) -> None:
    db.sql(f"CREATE CONTINUOUS QUERY q RANGE INTERVAL '1' DAY AS SELECT count(*) AS n FROM r {PAST} {SAMPLE}")
    db.advance("r", 7_300)
    db.tick()
    db.close()
    with millpond.connect(db.folder, auto_archive=False, tick="1 hour") as again:
        again.advance("r", 9_700)
        again.tick()
        found = again.sql("SELECT n, instant FROM q ORDER BY instant").rows()
        wanted = [
            (again.sql(f"SELECT count(*) FROM r {PAST} AS OF {t}").rows()[0][0], t) for t in range(6_000, 9_700, 600)
        ]
        assert found == wanted


def test_differences_of_exact_results_can_be_sent(db: Pond) -> None:
    db.sql(f"CREATE CONTINUOUS QUERY q RANGE INTERVAL '1' DAY AS SELECT ISTREAM DISTINCT k FROM r {PAST} {SAMPLE}")
    db.advance("r", 7_300)
    db.tick()
    assert sorted(db.sql("SELECT k FROM q").rows()) == [(k,) for k in range(7)], "each key once, when it is first there"


def test_instants_without_rows_are_passed_over(db: Pond) -> None:
    db.sql(f"CREATE CONTINUOUS QUERY q AS SELECT k FROM r {PAST} {SAMPLE}")
    db.advance("r", 10**9)
    db.tick()
    (cost,) = db.sql("SELECT evaluations FROM millpond.costs WHERE query = 'q'").rows()
    assert cost[0] < 40
    db.append("r", [(5, 5, 10**9)])
    db.advance("r", 10**9 + 5_000)
    db.tick()
    assert db.sql("SELECT k FROM q").rows() == [(5,)]
