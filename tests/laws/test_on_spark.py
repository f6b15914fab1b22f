"""Law 1 for continuous queries on Spark: answers that come beside the ticks are those of the naive evaluation, at every instant.

The cases are those of `test_continuous` and `test_backfill`, but every query takes the way to Spark, where DuckDB stands in.
That Spark itself answers what it is asked is in `tests/spark/test_on_spark.py`.
"""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.laws import test_backfill
from tests.laws.running import Case, hold
from tests.laws.test_continuous import FIRST, answers_hold, make
from tests.unit.network.spark_stand_in import everything_on_spark

QUICK = 14  # cases that are tried always
PART = 250  # cases of one test of the others


def on_spark(case: Case) -> Case:
    """The case without sampling at each row, for which Spark is not asked."""
    return replace(case, queries=[replace(query, each_row=False) for query in case.queries])


@pytest.mark.parametrize("half", range(2))
def test_answers_of_spark_hold(half: int, monkeypatch: pytest.MonkeyPatch) -> None:
    everything_on_spark(monkeypatch)
    for seed in range(FIRST + half, FIRST + QUICK, 2):
        hold(answers_hold, on_spark(make(seed)))


def test_backfill_on_spark_is_exact(monkeypatch: pytest.MonkeyPatch) -> None:
    everything_on_spark(monkeypatch)
    for seed in range(FIRST, FIRST + QUICK // 2):
        hold(test_backfill.answers_hold, on_spark(test_backfill.make(seed)))


@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("part", range(8))
def test_answers_of_spark_hold_long(part: int, monkeypatch: pytest.MonkeyPatch) -> None:
    everything_on_spark(monkeypatch)
    for seed in range(FIRST + QUICK + part * PART, FIRST + QUICK + (part + 1) * PART):
        hold(answers_hold, on_spark(make(seed)))
