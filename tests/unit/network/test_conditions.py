"""Conditions that compare what only the engine can compute: the same rows as the engine finds, and one question for all queries."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import millpond
from millpond.network.engine.engine import Engine
from millpond.network.plan.prepared import prepare
from millpond.network.strategies.parts.conditions import Condition
from millpond.pond import Pond

COLUMNS = "k BIGINT, v INT, w DOUBLE, name STRING, day DATE, at TIMESTAMP, t BIGINT"
COMPUTED = [
    "k % 7 = 3",
    "3 < v % 5 AND k > 20",
    "upper(name) IN ('A1', 'A3') OR v IS NULL",
    "length(name) BETWEEN 2 AND 3 AND NOT k % 2 = 0",
    "concat(name, '!') LIKE 'a1%'",
    "w * 2 > 20.5",
    "(k + v) % 3 <> 0",
    "year(day) = 2026 AND day + INTERVAL '1' DAY > DATE '2026-01-05'",
    "hour(at) >= 12",
    "coalesce(v, -1) = -1",
    "(v % 4 = 0) IS TRUE",
    "abs(v) > abs(k - 30)",
]
# One value that a condition computes is an error for some rows, which the rest of it leaves out.
GUARDED = ["v <> 0 AND 100 % v = 1", "CASE WHEN v = 0 THEN FALSE ELSE 60 / v > 3 END"]


@pytest.fixture
def db(tmp_path: Path) -> Any:
    with millpond.connect(tmp_path / "pond", auto_archive=False) as db:
        db.sql(f"CREATE STREAMING TABLE s ({COLUMNS}) TIMESTAMP BY t SHARD BY k WITH (shards = 2)")
        yield db


def fill(db: Pond, begin: int, end: int) -> None:
    rows = [
        {
            "k": i,
            "v": None if i % 11 == 0 else i % 13 - 4,
            "w": None if i % 9 == 0 else i / 3,
            "name": None if i % 8 == 0 else f"a{i % 20}",
            "day": f"2026-01-{i % 28 + 1:02}",
            "at": f"2026-01-01 {i % 24:02}:30:00",
            "t": i,
        }
        for i in range(begin, end)
    ]
    db.append("s", rows)
    db.advance("s", end)
    db.tick()


def test_many_conditions_find_what_the_engine_finds(db: Pond) -> None:
    texts = [*COMPUTED, *GUARDED]
    for number, text in enumerate(texts):
        db.sql(f"CREATE CONTINUOUS QUERY q{number} AS SELECT k, t FROM s [NOW] WHERE {text} SAMPLE REALTIME")
        db.sql(
            f"CREATE CONTINUOUS QUERY c{number} AS SELECT k, w * 2 AS x, upper(name) AS n, t % 2 = 1 AS odd, 5 + {number} AS five "
            f"FROM s [NOW] WHERE {text} SAMPLE REALTIME"
        )
    for begin in range(0, 90, 30):
        fill(db, begin, begin + 30)
    for number, text in enumerate(texts):
        wanted = db.sql(f"SELECT k, t FROM s WHERE {text} ORDER BY t").rows()
        assert [row[:2] for row in db.resume(f"q{number}").fetch().rows()] == wanted, text
        selected = f"SELECT k, w * 2, upper(name), t % 2 = 1, 5 + {number} FROM s WHERE {text} ORDER BY t"
        assert [row[:5] for row in db.resume(f"c{number}").fetch().rows()] == db.sql(selected).rows(), text


@pytest.mark.parametrize("text", COMPUTED)
def test_what_is_compared_is_computed(db: Pond, text: str) -> None:
    db.sql(f"CREATE CONTINUOUS QUERY q AS SELECT k, t FROM s [NOW] WHERE {text} SAMPLE REALTIME")
    catalog = db._workspace.catalog
    prepared = prepare(catalog.query("q"), catalog)
    condition = Condition.of(prepared, prepared.bound.tree)  # type: ignore[arg-type]
    assert condition.filter is not None
    assert condition.computed


def test_one_question_for_all_queries(db: Pond, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(10):
        alias = "" if number % 2 else f" AS a{number}"
        db.sql(
            f"CREATE CONTINUOUS QUERY q{number} AS SELECT k, t FROM s [NOW]{alias} WHERE k % 10 = {number} AND v < 9 SAMPLE REALTIME"
        )
    asked = []
    run = Engine.run
    monkeypatch.setattr(
        Engine, "run", lambda self, text, *given, **named: asked.append(text) or run(self, text, *given, **named)
    )
    fill(db, 0, 100)
    assert len(asked) == 2, "one for each shard"
    assert len(set(asked)) == 1


def test_what_many_select_is_computed_once(db: Pond, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(10):
        db.sql(
            f"CREATE CONTINUOUS QUERY q{number} AS SELECT k, w * 2 AS x FROM s [NOW] WHERE k = {number} SAMPLE REALTIME"
        )
    db.sql("CREATE CONTINUOUS QUERY fails AS SELECT 100 / v AS x, t FROM s [NOW] WHERE v <> 0 SAMPLE REALTIME")
    asked = []
    run = Engine.run
    monkeypatch.setattr(
        Engine, "run", lambda self, text, *given, **named: asked.append(text) or run(self, text, *given, **named)
    )
    fill(db, 0, 30)
    shared = [text for text in asked if "2" in text and "100" not in text]
    assert len(set(shared)) == 1
    assert len(shared) <= 2, "at most one for each shard"
    wanted = db.sql("SELECT 100 / v, t FROM s WHERE v <> 0 ORDER BY t").rows()
    assert [row[:2] for row in db.resume("fails").fetch().rows()] == wanted


def test_a_value_that_fails_for_a_row_is_asked_alone(db: Pond, monkeypatch: pytest.MonkeyPatch) -> None:
    db.sql("CREATE CONTINUOUS QUERY guarded AS SELECT k, t FROM s [NOW] WHERE v <> 0 AND 100 % v = 1 SAMPLE REALTIME")
    db.sql("CREATE CONTINUOUS QUERY fails AS SELECT k, t FROM s [NOW] WHERE 100 % v = 1 SAMPLE REALTIME")
    fill(db, 5, 16)  # v = 0 where k is 17
    fill(db, 16, 30)
    wanted = db.sql("SELECT k, t FROM s WHERE v <> 0 AND 100 % v = 1 ORDER BY t").rows()
    assert [row[:2] for row in db.resume("guarded").fetch().rows()] == wanted
    ((problem,),) = db.sql("SELECT problem FROM millpond.queries WHERE name = 'fails'").rows()
    assert problem is not None
    assert [row[:2] for row in db.resume("fails").fetch().rows()] == [row for row in wanted if row[1] < 17]
