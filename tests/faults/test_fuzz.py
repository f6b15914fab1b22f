"""Statements nobody would write: see `fuzz`. `make test` runs a sample, `make check` a hundred thousand."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.faults.fuzz import fuzz


def test_a_sample_of_fuzzed_statements(tmp_path: Path) -> None:
    report = fuzz(600, 7, tmp_path)
    assert report.wrong == []
    assert report.answered > 50, "hardly anything is answered: the fuzzer shows nothing"


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_a_hundred_thousand_fuzzed_statements(tmp_path: Path) -> None:
    assert fuzz(100_000, 1, tmp_path).wrong == []


@pytest.mark.slow
@pytest.mark.spark
@pytest.mark.timeout(3600)
def test_fuzzed_statements_with_spark_in_reach(tmp_path: Path) -> None:
    assert fuzz(3_000, 2, tmp_path, spark=True).wrong == []
