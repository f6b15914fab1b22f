"""The eight statements of the paper's Table I, run from `examples/table_one.sql` over a morning worked out by hand.

Vehicle 1 drives east through segments 10 to 13. Vehicle 3 stands in segment 11 from the start, vehicle 2 runs into it at 35.
Each is stopped, in the sense of statement (c), at its fourth report of speed zero: 3 at 100, and 2 at 125.
"""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

import millpond
from linear_road.functions import trajectory
from millpond import Pond
from millpond.sql.parser import parse

EXAMPLE = Path(__file__).parents[2] / "examples" / "table_one.sql"
HEADER = "t,vid,spd,xway,lane,dir,seg,pos\n"
FIRST = """\
0,1,60,0,1,0,10,52900
5,2,50,0,1,0,10,53000
10,3,0,0,2,0,11,58100
30,1,55,0,1,0,11,58200
35,2,0,0,2,0,11,58100
40,3,0,0,2,0,11,58100
60,1,40,0,1,0,11,60000
65,2,0,0,2,0,11,58100
"""
SECOND = """\
70,3,0,0,2,0,11,58100
90,1,50,0,1,0,12,63400
95,2,0,0,2,0,11,58100
100,3,0,0,2,0,11,58100
120,1,60,0,1,0,12,67000
125,2,0,0,2,0,11,58100
130,3,0,0,2,0,11,58100
185,1,60,0,1,0,13,69000
"""

ACCIDENTS = [(100, 3, 0, 2, 0, 11, 58100), (125, 2, 0, 2, 0, 11, 58100)]
SEGSTAT = [
    (0, 0, 0, 10, 60.0, 1),
    (60, 0, 0, 10, 55.0, 2),  # 60, 50
    (60, 0, 0, 11, 19.0, 3),  # 0, 55, 0, 0, 40
    (120, 0, 0, 11, 8.0, 3),  # 40, 0, 0, 0, 0: the window reaches back to 60
    (120, 0, 0, 12, 55.0, 1),  # 50, 60
    (180, 0, 0, 11, 0.0, 2),
    (180, 0, 0, 12, 60.0, 1),
]
CROSSINGS = [(30, 1, 10, 11), (35, 2, 10, 11), (90, 1, 11, 12), (185, 1, 12, 13)]
WATCHED = [(60, 11, 19.0, 3), (120, 11, 8.0, 3), (180, 11, 0.0, 2)]
TRAJECTORIES = [
    (2, "[[5, 0, 0, 10, 53000], [35, 0, 0, 11, 58100], [125, 0, 0, 11, 58100]]"),
    (3, "[[10, 0, 0, 11, 58100], [130, 0, 0, 11, 58100]]"),
]
NEAR = [(1, 0, 60, 120, 3, 50.0), (2, 0, 65, 125, 3, 0.0), (3, 0, 70, 130, 3, 0.0)]


@pytest.mark.parametrize("restart", [False, True], ids=["in one go", "with a restart in between"])
def test_the_eight_statements(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, restart: bool) -> None:
    definitions, mark, questions = EXAMPLE.read_text().partition("-- QUESTIONS")
    assert mark
    monkeypatch.chdir(tmp_path)
    reports = tmp_path / "reports"
    reports.mkdir()
    (reports / "0.csv").write_text(HEADER + FIRST)
    db = millpond.connect("pond", auto_archive=False)
    try:
        db.sql(definitions)
        db.sql("INSERT INTO involvedvids VALUES (2), (3)")
        db.sql("INSERT INTO criticalsegs VALUES (11), (99)")
        wait_for_reports(db, 8)
        db.tick()
        if restart:
            db._workspace.rounds.archive()
            db.close()
            db = millpond.connect("pond", auto_archive=False)
            db._workspace.own()
            db._workspace.feeds.start(db._workspace.catalog.feeds["posreports_from_road"])
        (reports / "1.csv").write_text(HEADER + SECOND)
        wait_for_reports(db, 16)
        db.advance("posreports", 186)
        db.tick()
        assert ask(db, "SELECT instant, vid, xway, lane, dir, seg, pos FROM accidents") == ACCIDENTS
        assert ask(db, "SELECT instant, xway, dir, seg, speed, cars FROM segstat") == SEGSTAT
        assert ask(db, "SELECT t, vid, from_seg, seg FROM crossings") == CROSSINGS
        assert ask(db, "SELECT instant, seg, speed, cars FROM watched") == WATCHED
        f, g = (db.sql(s.sql[s.span.start : s.span.end]) for s in parse(questions))
        assert f.rows() == TRAJECTORIES
        assert g.rows() == NEAR
        indexes = db.sql("SHOW INDEXES").rows()
        assert [row[1:] for row in indexes] == [("posreports", "vid"), ("posreports", "seg")]
    finally:
        db.close()


def ask(db: Pond, query: str) -> list[tuple[object, ...]]:
    return sorted(db.sql(query).rows())


def wait_for_reports(db: Pond, count: int) -> None:
    pause = threading.Event()
    for _ in range(2000):
        if db.status()["tables"]["posreports"]["accepted"] >= count:
            return
        pause.wait(0.01)
    raise AssertionError(db.status()["feeds"])


def test_a_trajectory_keeps_its_bends() -> None:
    assert trajectory([], [], [], [], []) == "[]"
    assert trajectory([7], [0], [1], [3], [9]) == "[[7, 0, 1, 3, 9]]"
    there_and_back = trajectory([0, 1, 2, 3], [0] * 4, [0] * 4, [5, 6, 6, 5], [1, 2, 2, 1])
    assert there_and_back == "[[0, 0, 0, 5, 1], [1, 0, 0, 6, 2], [2, 0, 0, 6, 2], [3, 0, 0, 5, 1]]"
