"""The demo: which folders it may use, and that its traffic has what it promises."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from typer.testing import CliRunner

import millpond
from linear_road import demo, traffic
from millpond.cli import with_applications


def test_a_folder_the_demo_did_not_make_is_refused(tmp_path: Path) -> None:
    (tmp_path / "letter.txt").write_text("dear")
    with pytest.raises(millpond.PondError) as caught:
        demo.run_demo(tmp_path, speed=8)
    assert str(caught.value) == (
        f'"{tmp_path}" was not made by a demo\n'
        "Detail: It has no demo.json, and the demo would delete what is in it.\n"
        "Hint: Give another folder with --out, or remove this one yourself."
    )
    assert (tmp_path / "letter.txt").read_text() == "dear"


def test_a_pond_of_a_user_is_refused(tmp_path: Path) -> None:
    millpond.connect(tmp_path / "mine", auto_archive=False).close()
    with pytest.raises(millpond.PondError, match="was not made by a demo"):
        demo.run_demo(tmp_path / "mine", speed=8)
    millpond.connect(tmp_path / "mine", create=False).close()


@pytest.mark.parametrize(("right", "code"), [(True, 0), (False, 1)])
def test_the_exit_code_tells_whether_the_answers_were_right(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, right: bool, code: int
) -> None:
    monkeypatch.setattr(demo, "run_demo", lambda folder, speed: right)
    result = CliRunner().invoke(with_applications(), ["demo", "--out", str(tmp_path / "demo")])
    assert result.exit_code == code


def test_a_demo_that_is_running_is_left_alone(tmp_path: Path) -> None:
    folder = tmp_path / "demo"
    with demo.claimed(folder):
        (folder / "work").touch()
        with pytest.raises(millpond.PondError, match="a demo is running in"), demo.claimed(folder):
            pass
        assert (folder / "work").exists()


def test_an_earlier_demo_is_replaced_unless_somebody_writes_its_pond(tmp_path: Path) -> None:
    folder = tmp_path / "demo"
    with demo.claimed(folder):
        (folder / "run").mkdir()
        (folder / "run" / "output.csv").touch()
    with millpond.connect(folder / "run" / "pond", auto_archive=False) as db:
        db._workspace.own()
        with pytest.raises(millpond.PondError, match="is in use"), demo.claimed(folder):
            pass
    assert (folder / "run" / "output.csv").exists()
    with demo.claimed(folder):
        assert [path.name for path in folder.iterdir()] == [demo.MARKER]


def test_the_traffic_of_the_demo_has_accidents_and_tolls() -> None:
    rows = pa.Table.from_batches(list(traffic.simulate(demo.TRAFFIC)))
    rows = rows.filter(pc.equal(rows["Type"], 0))
    begin = demo.TRAFFIC.start_minute * 60
    stays = rows.filter(pc.equal(rows["Spd"], 0)).group_by(["Dir", "Lane", "Pos", "VID"])
    long = stays.aggregate([("Time", "min"), ("Time", "max")]).to_pylist()
    places: dict[tuple[int, ...], list[int]] = {}
    for stay in long:
        if stay["Time_max"] - stay["Time_min"] >= 90:
            places.setdefault((stay["Dir"], stay["Lane"], stay["Pos"]), []).append(stay["Time_min"] + 90)
    detected = sorted(sorted(seconds)[1] - begin for seconds in places.values() if len(seconds) > 1)
    assert len(detected) == 2
    assert detected[0] <= 120, "one accident stands from the beginning"
    assert detected[1] <= demo.TRAFFIC.minutes * 60 - 120, "one happens early enough for alerts"
    full = rows.group_by(["Dir", "Seg"]).aggregate([("VID", "count_distinct"), ("Spd", "mean")])
    tolled = np.count_nonzero((full["VID_count_distinct"].to_numpy() > 400) & (full["Spd_mean"].to_numpy() < 40))
    assert tolled > 10
