"""The search for the rating, with trials that cost nothing."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from linear_road import rate
from linear_road.rate import RateConfig, Trial


@pytest.fixture
def tried(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The sizes that were tried; up to 11 they are accepted."""
    sizes: list[float] = []

    def run_trial(config: RateConfig, xways: float, *_: Any) -> Trial:
        sizes.append(xways)
        why = "" if xways <= 11 else "too late"
        return Trial(xways, not why, why, {}, {}, 1.0, 100.0, {}, 10, 1.0, f"L{xways:g}")

    monkeypatch.setattr(rate, "run_trial", run_trial)
    return sizes


def silent(_: str) -> None:
    pass


def test_the_search_doubles_and_then_halves_the_gap(tried: list[float], tmp_path: Path) -> None:
    found = rate.rate(RateConfig(tmp_path, first=2), silent)
    assert tried == [2, 4, 8, 16, 12, 10, 11]
    assert found["rating"] == 11


def test_trials_made_before_stay_in_the_result(tried: list[float], tmp_path: Path) -> None:
    rate.rate(RateConfig(tmp_path, first=4, most=4), silent)
    rate.rate(RateConfig(tmp_path, first=10, most=10), silent)
    found = rate.rate(RateConfig(tmp_path, first=4, most=4), silent)
    assert [t["xways"] for t in found["trials"]] == [4, 10]
    assert found["rating"] == 10
    assert json.loads((tmp_path / rate.RESULT).read_text()) == found


def test_trials_under_other_conditions_do_not(tried: list[float], tmp_path: Path) -> None:
    rate.rate(RateConfig(tmp_path, first=10, most=10), silent)
    found = rate.rate(RateConfig(tmp_path, first=4, most=4, days=7), silent)
    assert [t["xways"] for t in found["trials"]] == [4]
    assert found["rating"] == 4


def test_a_first_size_that_is_too_large_is_searched_below(tried: list[float], tmp_path: Path) -> None:
    found = rate.rate(RateConfig(tmp_path, first=12, most=12), silent)
    assert tried == [12, 6, 9, 10, 11]
    assert found["rating"] == 11
