"""The questions of the demo and the state of the road, over the application itself. Nothing here starts Spark."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pytest

import millpond
from linear_road import application, traffic
from linear_road.questions import QUESTIONS, Questions
from linear_road.road import Road

NAMES = {
    "VID": "vid",
    "Spd": "spd",
    "XWay": "xway",
    "Lane": "lane",
    "Dir": "dir",
    "Seg": "seg",
    "Pos": "pos",
    "Time": "t",
}


@pytest.fixture(scope="module")
def reports() -> pa.Table:
    rows = pa.Table.from_batches(list(traffic.simulate(traffic.TrafficConfig(xways=0.5, minutes=3, seed=7, load=0.2))))
    return rows.filter(pc.equal(rows["Type"], 0)).select(list(NAMES)).rename_columns(list(NAMES.values()))


@pytest.fixture(scope="module")
def pond(tmp_path_factory: pytest.TempPathFactory, reports: pa.Table) -> Iterator[millpond.Pond]:
    folder = tmp_path_factory.mktemp("questions")
    application.load_segments(None, folder / "means")
    (folder / "input").mkdir()
    with millpond.connect(folder / "pond", auto_archive=False) as db:
        application.create(db, folder / "input", folder / "means")
        db.append("reports", reports)
        db.advance("reports", 180)
        db.advance("requests", 180)
        db.tick()
        yield db


def test_before_there_is_traffic_nothing_is_asked(tmp_path: Path) -> None:
    application.load_segments(None, tmp_path / "means")
    (tmp_path / "input").mkdir()
    with millpond.connect(tmp_path / "pond", auto_archive=False) as db:
        application.create(db, tmp_path / "input", tmp_path / "means")
        questions = Questions()
        questions.ask(db)
    assert questions.asked == ()


def test_every_question_has_an_answer_and_its_time(pond: millpond.Pond, reports: pa.Table) -> None:
    questions = Questions()
    questions.ask(pond)
    assert [a.title for a in questions.asked] == [q.title for q in QUESTIONS]
    assert all(a.millis > 0 for a in questions.asked)
    slowest, way, owed = (a.answer.splitlines() for a in questions.asked)
    rows = [r for r in reports.to_pylist() if 120 < r["t"] <= 180 and 1 <= r["lane"] <= 3]
    speeds: dict[tuple[int, int], list[int]] = {}
    for row in rows:
        speeds.setdefault((row["seg"], row["dir"]), []).append(row["spd"])
    expected = sorted((round(sum(s) / len(s) + 1e-9, 1), *place) for place, s in speeds.items())[:3]
    assert [tuple(map(float, line.split()[:3])) for line in slowest[1:]] == [
        (s, d, pytest.approx(m, abs=0.1)) for m, s, d in expected
    ]
    assert slowest[0].split() == ["seg", "dir", "mph", "cars"]
    assert way[0].split() == ["t", "seg", "lane", "spd"]
    assert 1 <= len(way) - 1 <= 3
    assert owed[0].split() == ["vid", "balance"]


def test_the_road_follows_the_view(pond: millpond.Pond, tmp_path: Path, reports: pa.Table) -> None:
    road = Road(pond, tmp_path)
    road.look()
    road.look()
    road.close()
    assert road.minute == 2, "second 180 is not complete"
    known = {int(seg) for seg in (road.directions[0, 0].lav >= 0).nonzero()[0]}
    assert known == {r["seg"] for r in reports.to_pylist() if r["t"] < 120}
    lines = (tmp_path / "road.csv").read_text().splitlines()[1:]
    assert {int(line.split(",")[0]) for line in lines} == {1, 2}
    assert len(lines) == len(set(lines))
