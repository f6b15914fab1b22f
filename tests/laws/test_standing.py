"""A standing query gives what the same question, answered row by row, gives: however it is kept, whatever happened before."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from millpond.standing.kept import rows
from tests.laws.standing import SLIDING, WINDOWS, Life

FIRST = int(os.environ.get("MILLPOND_SEED", "0"))


def lives(folder: Path, seed: int, steps: int, windows: tuple[str, ...] = WINDOWS) -> None:
    life = Life(folder, seed, windows)
    try:
        life.run(steps)
    finally:
        life.close()


@pytest.mark.parametrize("seed", range(12))
def test_answers_are_those_of_the_judge(tmp_path: Path, seed: int) -> None:
    lives(tmp_path / "pond", seed, 60)


@pytest.mark.parametrize("seed", range(12))
def test_answers_are_those_of_the_judge_when_old_rows_are_dropped(
    tmp_path: Path, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rows, "_WHOLE", 16)
    lives(tmp_path / "pond", seed, 100, SLIDING)


@pytest.mark.slow
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("seed", range(FIRST + 100, FIRST + 400))
def test_answers_are_those_of_the_judge_long(tmp_path: Path, seed: int) -> None:
    lives(tmp_path / "pond", seed, 150)


@pytest.mark.slow
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("seed", range(FIRST + 400, FIRST + 600))
def test_answers_are_those_of_the_judge_when_old_rows_are_dropped_long(
    tmp_path: Path, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rows, "_WHOLE", 16)
    lives(tmp_path / "pond", seed, 200, SLIDING)
