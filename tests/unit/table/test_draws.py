"""Draws are uniform, independent of order and place, and the same in NumPy, DuckDB and (`tests/spark`) Spark."""

from __future__ import annotations

import duckdb
import numpy as np
import pytest

from millpond.table.draws import DRAWS, Draws, limit

SEEDS = range(200)


def test_every_engine_draws_alike() -> None:
    draws = Draws.of_table("readings-1")
    numbers = np.array([0, 1, 2, 999_999, DRAWS - 1, DRAWS, 3 * DRAWS + 17, (1 << 62) + 5], dtype=np.int64)
    connection = duckdb.connect()
    connection.register("rows", {"n": numbers})
    found = connection.sql(f"SELECT {draws.sql('n')} FROM rows ORDER BY n").fetchall()
    assert [draw for (draw,) in found] == draws.of_rows(numbers).tolist()


@pytest.mark.parametrize(
    ("first", "count", "step"),
    [(0, 100_000, 1), (DRAWS - 70_000, 200_000, 1), (5, 100_000, 3), (1 << 62, 50_000, 1), (7, 100_000, 9), (3, 1, 1)],
)
def test_the_draws_of_many_rows_are_those_of_each(first: int, count: int, step: int) -> None:
    """Numbers that follow each other, with gaps and without, from a prime's worth of rows to the next, in any order."""
    draws = Draws.of_table("readings-1")
    random = np.random.default_rng(1)
    numbers = first + np.arange(count, dtype=np.int64) * step
    for ordered in (numbers, numbers[::-1], random.permutation(numbers)):
        found = draws.of_rows(ordered)
        for place in {0, count - 1, *random.integers(0, count, 300).tolist()}:
            wanted = 0
            for coefficient in draws.coefficients:
                wanted = (wanted * (int(ordered[place]) % DRAWS) + coefficient) % DRAWS
            assert found[place] == wanted
    assert len(draws.of_rows(numbers[:0])) == 0


def test_draws_of_rows_that_follow_each_other_are_uniform() -> None:
    """Chi-square over 50 cells, over many seeds: its mean is 49 and its variance 98."""
    numbers = np.arange(5_000, dtype=np.int64) + 123_456_789
    found = []
    for seed in SEEDS:
        cells = np.bincount(Draws.of_seed(seed).of_rows(numbers).astype(np.int64) * 50 // DRAWS, minlength=50)
        found.append(float(((cells - 100) ** 2 / 100).sum()))
    assert abs(np.mean(found) - 49) < 5 * np.sqrt(98 / len(SEEDS))
    assert np.max(found) < 110


def test_neighbours_fall_into_the_sample_independently() -> None:
    """Runs of rows that are in the sample, or are not, are as many as of coins thrown (Wald and Wolfowitz)."""
    numbers = np.arange(5_000, dtype=np.int64)
    deviations = []
    for seed in SEEDS:
        chosen = Draws.of_seed(seed).of_rows(numbers) < limit(0.3)
        yes, no = int(chosen.sum()), int((~chosen).sum())
        mean = 1 + 2 * yes * no / (yes + no)
        variance = (mean - 1) * (mean - 2) / (yes + no - 1)
        runs = 1 + int((chosen[1:] != chosen[:-1]).sum())
        deviations.append((runs - mean) / np.sqrt(variance))
    assert abs(np.mean(deviations)) < 4 / np.sqrt(len(SEEDS))
    assert 0.8 < np.std(deviations) < 1.2


@pytest.mark.parametrize("period", [7, 24, 60, 1024])
def test_a_period_in_the_data_does_not_show(period: int) -> None:
    numbers = np.arange(20_000, dtype=np.int64)
    found = []
    for seed in SEEDS:
        chosen = Draws.of_seed(seed).of_rows(numbers) < limit(0.1)
        found.append(float((numbers[chosen] % period == 0).mean()))
    wanted = float((numbers % period == 0).mean())
    error = np.sqrt(wanted * (1 - wanted) / 2_000)
    assert abs(np.mean(found) - wanted) < 4 * error / np.sqrt(len(SEEDS))
    assert 0.75 * error < np.std(found) < 1.25 * error
