"""Queries that ask the same of different rows get the answers they get alone."""

from __future__ import annotations

from pathlib import Path
from random import Random
from typing import Any

import pytest

import millpond
from millpond.network.strategies import instants
from millpond.network.strategies.parts import batching

COLUMNS = "k INT, v INT, x DOUBLE, s STRING, t BIGINT"
WHERES = [
    "WHERE k = 0",
    "WHERE k = 1 AND v > 3",
    "WHERE k = 9",
    "WHERE s = 'a' OR v IS NULL",
    "WHERE v BETWEEN 2 AND 5",
    "",
]
ASKED = [
    "SELECT k, COUNT(*) AS n, SUM(v) AS total, AVG(v) AS mean, MIN(s) AS least FROM p [INTERVAL 10] {} GROUP BY k",
    "SELECT k, s, COUNT(DISTINCT v) AS n FROM p [INTERVAL 7] {} GROUP BY k, s HAVING COUNT(*) > 1",
    "SELECT s, MAX(t) - NOW() AS age, SUM(x) AS x FROM p [INTERVAL 12] {} GROUP BY s",
]


def rows(seed: int) -> list[tuple[Any, ...]]:
    random = Random(seed)
    choices = ([0, 0, 1, 2, None], [None, *range(8)], [None, 0.5, 0.25, -4.0], ["a", "b", None])
    return [(*(random.choice(c) for c in choices), t) for t in sorted(random.randint(0, 60) for _ in range(120))]


def answers(folder: Path, shards: str, seed: int) -> dict[str, list[tuple[Any, ...]]]:
    with millpond.connect(folder, auto_archive=False) as db:
        db.sql(f"CREATE STREAMING TABLE p ({COLUMNS}) TIMESTAMP BY t {shards}")
        names = []
        for i, text in enumerate(ASKED):
            for j, where in enumerate(WHERES):
                form = "SELECT ISTREAM" if j == 4 else "SELECT"
                db.sql(f"CREATE CONTINUOUS QUERY q{i}_{j} RANGE UNBOUNDED AS "
                       f"{text.format(where).replace('SELECT', form, 1)} SAMPLE INTERVAL 5")  # fmt: skip
                names.append(f"q{i}_{j}")
        stream = rows(seed)
        for at in range(0, len(stream), 30):
            db.append("p", stream[at : at + 30])
            db.tick()
        db.advance("p", 70)
        db.tick()
        return {n: sorted((row[:-1] for row in db.resume(n).fetch()), key=repr) for n in names}


@pytest.mark.parametrize("shards", ["", "SHARD BY k WITH (shards = 2)", "SHARD BY s WITH (shards = 3)"],
                         ids=["one", "by group", "in two steps"])  # fmt: skip
@pytest.mark.parametrize("seed", [1])
def test_the_answers_are_those_that_each_gets_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, shards: str, seed: int
) -> None:
    asked: list[int] = []
    real = batching._asked

    def counting(engine: Any, question: Any, names: list[str], tables: Any, instant: int) -> Any:
        asked.append(len(names))
        return real(engine, question, names, tables, instant)

    monkeypatch.setattr(batching, "_asked", counting)
    found = answers(tmp_path / "together", shards, seed)
    assert max(asked) >= 5
    monkeypatch.setattr(instants, "question_of", lambda prepared: None)
    asked.clear()
    alone = answers(tmp_path / "alone", shards, seed)
    assert not asked
    assert sum(map(len, alone.values())) > 100
    assert found == alone


def test_rows_beyond_a_limit_are_asked_in_parts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    expected = answers(tmp_path / "whole", "", 3)
    monkeypatch.setattr(batching, "_MOST", 7)
    assert answers(tmp_path / "parts", "", 3) == expected


def test_one_that_fails_does_not_harm_the_others(tmp_path: Path) -> None:
    with millpond.connect(tmp_path / "pond", auto_archive=False) as db:
        db.sql("CREATE STREAMING TABLE p (k INT, v INT, t BIGINT) TIMESTAMP BY t")
        for k in range(3):
            db.sql(f"CREATE CONTINUOUS QUERY q{k} RANGE UNBOUNDED AS SELECT k, 12 / MIN(v) AS x FROM p [INTERVAL 5] "
                   f"WHERE k = {k} GROUP BY k SAMPLE INTERVAL 5")  # fmt: skip
        db.append("p", [(0, 3, 1), (1, 0, 2), (2, 4, 3)])
        db.advance("p", 8)
        db.tick()
        assert [row[:3] for k in (0, 2) for row in db.resume(f"q{k}").fetch()] == [(0, 4.0, 5), (2, 3.0, 5)]
        states = {row[0]: row[1] for row in db.sql("SHOW CONTINUOUS QUERIES").rows()}
        assert states == {"q0": "running", "q1": "failed", "q2": "running"}


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT COUNT(*) AS n FROM p [INTERVAL 5] WHERE k = 1",  # of no rows there is a row
        "SELECT k, COUNT(*) AS n FROM p [INTERVAL 5] GROUP BY k ORDER BY n LIMIT 1",
        "SELECT DISTINCT k, COUNT(*) AS n FROM p [INTERVAL 5] GROUP BY k",
        "SELECT a.k, COUNT(*) AS n FROM p [INTERVAL 5] a JOIN p [NOW] b ON a.k = b.k GROUP BY a.k",
        "SELECT k, COUNT(*) AS n FROM p [ROWS 5] GROUP BY k",
        "SELECT k, COUNT(*) AS n FROM p [INTERVAL 5] GROUP BY CUBE (k)",
        "SELECT k, COUNT(*) AS n, RANK() OVER (ORDER BY k) AS r FROM p [INTERVAL 5] GROUP BY k",
    ],
)
def test_what_is_not_proved_is_asked_alone(tmp_path: Path, sql: str) -> None:
    from millpond.network.plan.prepared import prepare

    with millpond.connect(tmp_path / "pond", auto_archive=False) as db:
        db.sql("CREATE STREAMING TABLE p (k INT, v INT, t BIGINT) TIMESTAMP BY t")
        db.sql(f"CREATE CONTINUOUS QUERY q AS {sql} SAMPLE INTERVAL 5")
        assert batching.question_of(prepare(db._workspace.catalog.query("q"), db._workspace.catalog)) is None
