"""Blocks of randomised runs: all rows in one block each, any fraction of them, shares that halve."""

from __future__ import annotations

import itertools
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from millpond.table.block import BlockSpec, write_blocks
from millpond.table.draws import DRAWS, Draws
from millpond.table.runs import LEAST_ROWS, blocks_of, choose, deal
from millpond.table.work import read_file, units


@pytest.mark.parametrize("rows", [0, 1, 2047, 2048, 4096, 100_000, 1_966_080, 1 << 40])
def test_blocks_have_every_draw_once(rows: int) -> None:
    blocks = deal(rows)
    assert blocks[0][0] == 0
    assert blocks[-1][1] == DRAWS
    assert all(a[1] == b[0] for a, b in itertools.pairwise(blocks))
    assert len(blocks) == 1 or rows / DRAWS * blocks[0][1] >= LEAST_ROWS - 1 or len(blocks) == 21


@pytest.mark.parametrize("rows", [0, 5_000, 100_000, 1_966_080, 1 << 40])
def test_each_draw_is_in_the_block_whose_draws_have_it(rows: int) -> None:
    blocks = deal(rows)
    ends = np.array([high for _, high in blocks])
    random = np.random.default_rng(1)
    draws = np.concatenate([ends - 1, ends[:-1], [0], random.integers(0, DRAWS, 10_000)]).astype(np.uint32)
    assert blocks_of(draws, len(blocks)).tolist() == np.searchsorted(ends, draws, side="right").tolist()


@pytest.mark.parametrize("percent", [0.01, 0.1, 1, 2, 5, 10, 25, 33, 50, 75, 90, 99.9, 100])
def test_any_fraction_is_a_sum_of_blocks(percent: float) -> None:
    blocks = deal(1_966_080)
    chosen = choose(blocks, percent / 100)
    share = sum(blocks[p][1] - blocks[p][0] for p in chosen) / DRAWS
    assert chosen
    assert abs(share - percent / 100) <= (blocks[0][1] / DRAWS if percent < 0.1 else blocks[0][1] / DRAWS / 2 + 1e-9)


def test_what_was_read_is_among_what_is_read_next() -> None:
    blocks = deal(1_966_080)
    taken: list[int] = []
    for fraction in (0.0001, 0.003, 0.02, 0.11, 0.4, 0.97):
        more = choose(blocks, fraction, taken)
        assert set(taken) <= set(more)
        taken = more
    assert choose(blocks, 1.0, taken) == list(range(len(blocks)))


@pytest.mark.parametrize("first", [0.001, 0.02, 0.3])
@pytest.mark.parametrize("then", [0.0437, 0.06, 0.11, 0.4, 0.9])
def test_more_is_at_least_what_is_wanted_and_not_twice_as_much(first: float, then: float) -> None:
    blocks = deal(1_000_000)
    chosen = choose(blocks, then, choose(blocks, first))
    share = sum(blocks[p][1] - blocks[p][0] for p in chosen) / DRAWS
    assert max(then, first) - 0.002 <= share <= max(2 * then, first + 0.002)


def _rows(count: int, first: int = 0) -> pa.Table:
    numbers = np.arange(first, first + count)
    return pa.table({"t": numbers // 10, "v": numbers * 3, "_seq": numbers})


def test_a_run_has_every_row_in_the_block_of_its_draw(tmp_path: Path) -> None:
    spec = BlockSpec(str(tmp_path), "t", randomise=True, seed="readings-1")
    files = write_blocks(spec, _rows(20_000), 0, "a")
    assert len(units(files)) == 1
    assert sum(f.rows for f in files) == 20_000
    draws = Draws.of_table("readings-1")
    seen = []
    for file in files:
        assert file.draws is not None
        found = read_file(tmp_path / file.path)["_seq"].to_numpy()
        drawn = draws.of_rows(found)
        assert file.draws[0] <= drawn.min() <= drawn.max() < file.draws[1]
        assert np.all(np.diff(found) > 0), "in the order of time"
        seen.append(found)
    assert sorted(np.concatenate(seen).tolist()) == list(range(20_000))


def test_a_run_ends_at_the_border_of_a_compartment(tmp_path: Path) -> None:
    spec = BlockSpec(str(tmp_path), "t", compartment_width=1_000, randomise=True, seed="readings-1")
    files = write_blocks(spec, _rows(30_000), 0, "a")
    assert len(units(files)) == 3
    assert {f.compartment for f in files} == {0, 1, 2}


def test_a_block_written_again_stays_that_block(tmp_path: Path) -> None:
    spec = BlockSpec(str(tmp_path), "t", randomise=True, seed="readings-1")
    file = write_blocks(spec, _rows(20_000), 0, "a")[0]
    rows = read_file(tmp_path / file.path)
    (again,) = write_blocks(spec, rows.slice(5), 0, "b", again=file)
    assert (again.run, again.draws, again.rows) == (file.run, file.draws, file.rows - 5)


def test_copies_hold_the_rows_below_their_limit_and_are_no_parquet_files_by_name(tmp_path: Path) -> None:
    spec = BlockSpec(str(tmp_path), "t", copies=(DRAWS // 5, DRAWS // 2), seed="readings-1")
    (file,) = write_blocks(spec, _rows(20_000), 0, "a")
    draws = Draws.of_table("readings-1").of_rows(np.arange(20_000))
    assert [(c.high, c.rows) for c in file.copies] == [(h, int((draws < h).sum())) for h in spec.copies]
    assert [path.suffix for path in sorted(tmp_path.glob("c0/*"))] == [".copy", ".copy", ".parquet"]
    assert replace(file, copies=()) == write_blocks(replace(spec, copies=()), _rows(20_000), 0, "a")[0]


def test_small_blocks_take_little_more_than_their_part(tmp_path: Path) -> None:
    """A hundredth of the rows is hardly more than a hundredth of the bytes, as long as rows have more than a number."""
    count = 600_000
    random = np.random.default_rng(1)
    rows = pa.table(
        {
            "vid": random.integers(0, 100_000, count).astype("int32"),
            "speed": random.integers(0, 100, count).astype("int32"),
            "amount": random.normal(50, 10, count),
            "t": np.arange(count) // 1_000,
            "_seq": np.arange(count),
        }
    )
    files = write_blocks(BlockSpec(str(tmp_path), "t", randomise=True, seed="s"), rows, 0, "r")
    size, all_rows = sum(f.size for f in files), sum(f.rows for f in files)
    chosen = choose([f.draws or (0, DRAWS) for f in files], 0.01)
    read = sum(files[place].rows for place in chosen) / all_rows
    assert 0.008 < read < 0.012
    assert sum(files[place].size for place in chosen) / size < 1.2 * read
