"""Insertions minus deletions are the result at every instant, whichever strategy tells them and whatever happens in between."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import millpond
from millpond.pond import Pond

WINDOWS = {  # each evaluated by another strategy, in the shards if the table has a shard key
    "rows": "k, v, t FROM r [INTERVAL 5]",
    "neighbours": "k, v, t FROM r [k ROWS 2]",
    "instants": "v FROM r [ROWS 3]",
    "slides": "k, COUNT(*) AS n FROM r [INTERVAL 5] GROUP BY k",
    "running": "k, SUM(v) AS s, COUNT(*) AS n FROM r [UNBOUNDED] GROUP BY k",
    "joined": "r.v, d.w FROM r [ROWS 3] JOIN d ON r.k = d.k",
}
FORMS = ("ISTREAM", "DSTREAM", "RSTREAM")


def queries() -> list[str]:
    return [f"{form}_{name}" for form in FORMS for name in WINDOWS]


def each(text: str) -> Callable[[Pond], None]:
    def change(db: Pond) -> None:
        for query in queries():
            db.sql(text.format(query=query, window=narrower(query)))

    return change


def narrower(query: str) -> str:
    name = query.partition("_")[2]
    return {"rows": "[INTERVAL 2]", "neighbours": "[k ROWS 1]", "slides": "[INTERVAL 2]", "running": "[UNBOUNDED]"}.get(
        name, "[ROWS 1]"
    )


CHANGES: dict[str, Callable[[Pond], Any]] = {
    "update": lambda db: db.sql("UPDATE r SET v = 100 WHERE v = 6"),
    "delete": lambda db: db.sql("DELETE FROM r WHERE k = 2"),
    "delete all": lambda db: db.sql("DELETE FROM r"),
    "window": each("ALTER CONTINUOUS QUERY {query} SET WINDOW OF r = {window}"),
    "slide": each("ALTER CONTINUOUS QUERY {query} SET SAMPLE INTERVAL 2"),
    "arrivals": each("ALTER CONTINUOUS QUERY {query} SET SAMPLE REALTIME"),
    "pause": each("PAUSE CONTINUOUS QUERY {query}"),
    "standard": lambda db: db.sql("DELETE FROM d WHERE k = 1"),
}


def opened(folder: Path) -> Pond:
    return millpond.connect(folder, auto_archive=False, engine="duckdb")


def sums_hold(db: Pond) -> int:
    instants = 0
    for name in WINDOWS:
        new, gone, whole = (db.resume(f"{form}_{name}").fetch().rows() for form in FORMS)
        total: Counter[Any] = Counter()
        for instant in sorted({row[-2] for row in (*new, *gone, *whole)}):
            total.update(row[:-2] for row in new if row[-2] == instant)
            total.subtract(row[:-2] for row in gone if row[-2] == instant)
            result = Counter(row[:-2] for row in whole if row[-2] == instant)
            assert {row: n for row, n in total.items() if n} == result, (name, instant)
            instants += 1
    return instants


# Each change with one shard or with four, with a restart or without, in turn; `make check` tries all.
CASES = [
    pytest.param(shards, change, restart, marks=[] if number % 4 == 2 * (shards == 4) + restart else pytest.mark.slow)
    for number, change in enumerate(CHANGES)
    for shards in (1, 4)
    for restart in (False, True)
]


@pytest.mark.parametrize(("shards", "change", "restart"), CASES)
def test_insertions_minus_deletions_are_the_result(tmp_path: Path, shards: int, change: str, restart: bool) -> None:
    db = opened(tmp_path / "pond")
    db.sql(f"CREATE STREAMING TABLE r (k INT, v INT, t BIGINT) TIMESTAMP BY t SHARD BY k WITH (shards = {shards})")
    db.sql("CREATE STANDARD TABLE d (k INT, w INT)")
    db.sql("INSERT INTO d VALUES (1, 10), (2, 20), (3, 30)")
    db.append("r", [(1, 1, 1), (2, 2, 2), (1, 3, 4), (3, 1, 5)])
    for form in FORMS:
        for name, text in WINDOWS.items():
            sample = "INTERVAL 5" if name == "slides" else "REALTIME"
            db.sql(f"CREATE CONTINUOUS QUERY {form}_{name} AS SELECT {form} {text} SAMPLE {sample}")
    for at in (6, 10):
        db.append("r", [(1, 5, at), (2, 6, at + 1), (2, 6, at + 3)])
        db.tick()
    first = sums_hold(db)
    CHANGES[change](db)
    if restart:
        db.close()
        db = opened(tmp_path / "pond")
    if change == "pause":
        db.append("r", [(3, 7, 15)])
        db.tick()
        each("RESUME CONTINUOUS QUERY {query}")(db)
    for at in (16, 21, 27):
        db.append("r", [(1, 5, at), (3, 8, at + 1), (2, 8, at + 2)])
        db.tick()
    assert sums_hold(db) > first
    assert not list((tmp_path / "pond" / "before").glob("*rows*"))  # what was kept to go on from is gone
    assert db.sql("SELECT name FROM millpond.queries WHERE problem IS NOT NULL").rows() == []
    db.close()


def test_a_new_query_sends_what_is_there(tmp_path: Path) -> None:
    with opened(tmp_path) as db:
        db.sql("CREATE STREAMING TABLE r (k INT, t BIGINT) TIMESTAMP BY t SHARD BY k WITH (shards = 4)")
        db.append("r", [(1, 1), (2, 2), (3, 3)])
        db.advance("r", 4)
        for form in ("ISTREAM", "DSTREAM"):
            db.sql(f"CREATE CONTINUOUS QUERY {form}_q AS SELECT {form} k, t FROM r [k ROWS 1] SAMPLE REALTIME")
        plan = [row[0] for row in db.sql("EXPLAIN CONTINUOUS QUERY ISTREAM_q").rows()]
        assert "the next instant evaluated whole, to send what differs from what was sent last" in plan
        db.append("r", [(1, 5), (1, 7)])
        db.tick()
        assert sorted(row[:-1] for row in db.resume("ISTREAM_q").fetch().rows()) == [(1, 5, 5), (2, 2, 5), (3, 3, 5)]
        assert db.resume("DSTREAM_q").fetch().rows() == []
        db.append("r", [(2, 9)])
        db.tick()
        assert [row[:-1] for row in db.resume("DSTREAM_q").fetch().rows()] == [(1, 5, 7)]
        plan = [row[0] for row in db.sql("EXPLAIN CONTINUOUS QUERY ISTREAM_q").rows()]
        assert plan[2] == "evaluated in the 4 shards of r, key by key, for the keys that change"
        assert not any("next instant evaluated whole" in line for line in plan)


def test_what_a_query_sent_is_kept_while_it_is_stopped(tmp_path: Path) -> None:
    """It failed, rows it had sent were deleted, and it is resumed: what is gone is told."""
    with opened(tmp_path) as db:
        db.sql("CREATE STREAMING TABLE r (v INT, t BIGINT) TIMESTAMP BY t")
        db.sql("CREATE CONTINUOUS QUERY d AS SELECT DSTREAM 10 DIV v AS x FROM r [ROWS 2] SAMPLE REALTIME")
        db.append("r", [(1, 1), (2, 2), (0, 3), (5, 4)])
        db.tick()
        assert db.sql("SELECT count(*) FROM millpond.queries WHERE problem IS NOT NULL").rows() == [(1,)]
        db.sql("DELETE FROM r WHERE v <= 2")
        db.sql("RESUME CONTINUOUS QUERY d")
        db.append("r", [(10, 5), (10, 6)])
        db.tick()
        assert sorted(row[:2] for row in db.resume("d").fetch().rows()) == [(5, 4), (10, 4)]
