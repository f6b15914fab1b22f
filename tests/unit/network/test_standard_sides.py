"""A standard table beside a stream: a small one is read once for each of its versions, and every change is seen at the next instant."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import millpond
from millpond.network.state import backfill
from millpond.pond import Pond

QUERIES = """
CREATE CONTINUOUS QUERY in_shards AS
  SELECT p.vid, o.owner FROM p [NOW] JOIN owners o ON o.vid = p.vid SAMPLE REALTIME;
CREATE CONTINUOUS QUERY whole AS
  SELECT COUNT(*) AS n, MAX(o.owner) AS owner FROM r [NOW] CROSS JOIN owners o SAMPLE INTERVAL 1
"""


@pytest.fixture
def db(tmp_path: Path) -> Any:
    with millpond.connect(tmp_path / "pond", auto_archive=False) as pond:
        pond.sql(
            "CREATE STREAMING TABLE p (vid INT, t BIGINT) TIMESTAMP BY t WITH (shards = 1);"
            "CREATE STREAMING TABLE r (vid INT, t BIGINT) TIMESTAMP BY t SHARD BY vid WITH (shards = 2);"
            "CREATE STANDARD TABLE owners (vid INT, owner STRING);"
            "INSERT INTO owners VALUES (1, 'Ada'), (2, 'Bert')"
        )
        pond.sql(QUERIES)
        yield pond


def seen(db: Pond, t: int) -> tuple[list[Any], list[Any]]:
    """What the queries tell of the instant `t`, at which vehicles 1, 2 and 3 report."""
    for table in ("p", "r"):
        db.append(table, [(v, t) for v in (1, 2, 3)])
        db.advance(table, t + 1)
    db.tick()
    found = {name: db.resume(name).fetch().arrow().to_pylist() for name in ("in_shards", "whole")}
    shards, whole = ([row for row in rows if row["instant"] == t] for rows in found.values())
    return sorted((r["vid"], r["owner"]) for r in shards), [(r["n"], r["owner"]) for r in whole]


def test_where_these_run(db: Pond) -> None:
    network = db._workspace.network
    seen(db, 10)
    assert network.placed("in_shards") == "p"
    assert network.placed("whole") is None


def test_every_change_is_seen_at_the_next_instant(db: Pond) -> None:
    ada, bert = (1, "Ada"), (2, "Bert")
    assert seen(db, 10) == seen(db, 11) == ([ada, bert], [(6, "Bert")])
    db.sql("INSERT INTO owners VALUES (3, 'Cleo')")
    assert seen(db, 12) == ([ada, bert, (3, "Cleo")], [(9, "Cleo")])
    db.sql("UPDATE owners SET owner = 'Dora' WHERE vid = 3")
    assert seen(db, 13) == ([ada, bert, (3, "Dora")], [(9, "Dora")])
    db.sql("DELETE FROM owners WHERE vid > 1")
    assert seen(db, 14) == seen(db, 15) == ([ada], [(3, "Ada")])
    db.append("owners", [(2, "Emil")])
    assert seen(db, 16) == ([ada, (2, "Emil")], [(6, "Emil")])


def test_a_version_is_read_once_if_it_is_small(db: Pond, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    ask = backfill.Past._ask

    def counted(self: backfill.Past, table: Any, *args: Any) -> Any:
        asked.append(table.name)
        return ask(self, table, *args)

    monkeypatch.setattr(backfill.Past, "_ask", counted)
    seen(db, 10)
    asked.clear()
    for t in range(11, 15):
        seen(db, t)
    assert "owners" not in asked
    monkeypatch.setattr(backfill, "_SMALL", 1)
    db.sql("INSERT INTO owners VALUES (3, 'Cleo')")
    for t in range(15, 18):
        assert seen(db, t)[0][-1] == (3, "Cleo")
    assert asked.count("owners") >= 3
