"""A standing query gives what the same question, answered row by row, gives: however it is kept, whatever happened before."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.laws.standing import Life

FIRST = int(os.environ.get("MILLPOND_SEED", "0"))


def lives(folder: Path, seed: int, steps: int) -> None:
    life = Life(folder, seed)
    try:
        life.run(steps)
    finally:
        life.close()


@pytest.mark.parametrize("seed", range(12))
def test_answers_are_those_of_the_judge(tmp_path: Path, seed: int) -> None:
    lives(tmp_path / "pond", seed, 60)


@pytest.mark.slow
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("seed", range(FIRST + 100, FIRST + 400))
def test_answers_are_those_of_the_judge_long(tmp_path: Path, seed: int) -> None:
    lives(tmp_path / "pond", seed, 150)
