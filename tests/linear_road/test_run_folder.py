"""A command given again goes on, starts over or says it is done; folders of others are left alone."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

import millpond
from linear_road import run_folder
from linear_road.run import Run, RunConfig
from linear_road.run_folder import State
from linear_road.survey import Facts

FACTS = Facts(10, 9, 0, 59, 0.5)


def config(tmp_path: Path) -> RunConfig:
    return RunConfig(tmp_path / "input.csv", tmp_path / "run")


def test_the_states_of_a_run(tmp_path: Path) -> None:
    out = tmp_path / "run"
    assert run_folder.state_of(out) is State.NEW
    out.mkdir()
    assert run_folder.state_of(out) is State.NEW
    run_folder.begin(config(tmp_path), FACTS)
    assert run_folder.state_of(out) is State.BROKEN_OFF
    (out / "prepared.json").touch()
    assert run_folder.state_of(out) is State.UNDER_WAY
    (out / "run.json").touch()
    assert run_folder.state_of(out) is State.FINISHED
    assert run_folder.facts_of(out) == FACTS


def test_a_folder_with_other_files_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "letter.txt").write_text("dear")
    with pytest.raises(millpond.PondError, match="is not empty"):
        run_folder.state_of(tmp_path)
    with pytest.raises(millpond.PondError, match="is a file"):
        run_folder.state_of(tmp_path / "letter.txt")


def test_what_was_broken_off_is_cleared_with_its_own_pond_only(tmp_path: Path) -> None:
    for pond, kept in ((tmp_path / "new", False), (tmp_path / "old", True)):
        if kept:
            millpond.connect(pond, auto_archive=False).close()
        settings = replace(config(tmp_path), pond=pond)
        run_folder.begin(settings, FACTS)
        if not kept:
            millpond.connect(pond, auto_archive=False).close()
        (tmp_path / "run" / "means").mkdir()
        run_folder.begin(settings, FACTS)
        assert [path.name for path in (tmp_path / "run").iterdir()] == [run_folder.BEGUN]
        assert pond.exists() == kept
        (tmp_path / "run" / run_folder.BEGUN).unlink()


def test_a_run_that_is_being_prepared_is_not_cleared(tmp_path: Path) -> None:
    settings = config(tmp_path)
    run_folder.begin(settings, FACTS)
    with millpond.connect(tmp_path / "run" / "pond", auto_archive=False) as db:
        db.sql("CREATE STANDARD TABLE precious (a INT)")
        with pytest.raises(millpond.PondError, match="is in use by another program"):
            run_folder.begin(settings, FACTS)
        db.sql("INSERT INTO precious VALUES (1)")


def test_a_run_that_goes_on_is_not_cleared(tmp_path: Path) -> None:
    settings = config(tmp_path)
    run_folder.begin(settings, FACTS)
    with Run(settings), pytest.raises(millpond.PondError, match="a run is under way in"):
        run_folder.begin(settings, FACTS)
    run_folder.begin(settings, FACTS)


@pytest.mark.parametrize("name", ["input", "tolls", "segments", "pond"])
def test_a_run_goes_on_with_what_it_was_begun_with(tmp_path: Path, name: str) -> None:
    settings = config(tmp_path)
    run_folder.begin(settings, FACTS)
    run_folder.check_same(replace(settings, speed="max"))
    with pytest.raises(millpond.PondError, match=f"was begun with another --{name}"):
        run_folder.check_same(replace(settings, **{name: tmp_path / "other"}))
