"""Portions of a plan read what the plan reads."""

from __future__ import annotations

from pathlib import Path

import pytest

import millpond
from millpond.pond import Pond
from millpond.query.binding.bind import bind
from millpond.query.plan import Plan, Tiers, make_plan
from millpond.query.portions import portions
from millpond.sql import statements as st
from millpond.sql.parser import parse
from millpond.statements import standing
from millpond.statements.ask import ask
from millpond.system.registry import SystemShelf


@pytest.fixture
def db(tmp_path: Path) -> Pond:
    return millpond.connect(tmp_path / "pond", auto_archive=False, shards=1)


def filled(db: Pond, files: int, tail: int) -> None:
    db.sql("CREATE STREAMING TABLE r (v INT, t BIGINT) TIMESTAMP BY t")
    for number in range(files):
        db.append("r", [(i % 10, i) for i in range(100 * number, 100 * number + 100)])
        db.archive()
    if tail:
        db.append("r", [(i % 10, i) for i in range(100 * files, 100 * files + tail)])


def planned(db: Pond, text: str) -> Plan:
    workspace = db._workspace
    (statement,) = parse(text)
    assert isinstance(statement, st.Select)
    bound = bind(statement.query, workspace.catalog, text)
    return make_plan(bound, SystemShelf(workspace), engine="duckdb", large_rows=1 << 40)


@pytest.mark.parametrize(("files", "tail"), [(0, 0), (0, 5), (1, 0), (5, 0), (5, 7)])
@pytest.mark.parametrize("rows", [1, 150, 10_000])
def test_each_row_is_read_once(db: Pond, files: int, tail: int, rows: int) -> None:
    with db:
        filled(db, files, tail)
        plan = planned(db, "SELECT t FROM r WHERE v = 3")
        found: list[int] = []
        (name,) = plan.bound.uses
        for portion in portions(plan, name, rows):
            given = portion.inputs[name]
            assert isinstance(given, Tiers)
            assert sum(file.rows for file in given.selection.files[:-1]) < rows
            found += ask(db._workspace, portion).column("t").to_pylist()
        assert sorted(found) == list(range(3, 100 * files + tail, 10))


def test_old_rows_are_looked_for_between_ticks(db: Pond, monkeypatch: pytest.MonkeyPatch) -> None:
    """In portions, before each of which a tick that is under way may end; and not further than it takes to see that they are too many."""
    with db:
        filled(db, 6, 0)
        waited: list[int] = []
        monkeypatch.setattr(type(db._workspace), "between_ticks", lambda self: waited.append(1))
        monkeypatch.setattr(standing, "_PORTION", 200)
        few = db.register("SELECT t FROM r WHERE v = 3 BEGIN 0 END NOW").invoke()
        assert (few.way, len(few.rows()), len(waited)) == ("plain", 60, 3)
        waited.clear()
        monkeypatch.setattr(standing, "_MOST_COVERED", 30)
        many = db.register("SELECT t FROM r WHERE v = 4 BEGIN 0 END NOW").invoke()
        assert many.way.startswith("from scratch")
        assert (len(many.rows()), len(waited)) == (60, 2)
