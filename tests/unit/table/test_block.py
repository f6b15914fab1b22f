"""Blocks: sorted as a plain sort would sort them, and whole."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from hypothesis import given
from hypothesis import strategies as st

from millpond.table.block import BlockSpec, sort_order, write_blocks


def rows_of(keys: list[Any], times: list[int], kind: pa.DataType) -> pa.Table:
    return pa.table(
        {"k": pa.array(keys, kind), "t": pa.array(times, pa.int64()), "_seq": pa.array(range(len(keys)), pa.int64())}
    )


def plain(keys: list[Any], times: list[int]) -> list[int]:
    """By key, NULL first, then time, then arrival."""
    return sorted(
        range(len(keys)), key=lambda i: (keys[i] is not None, keys[i] if keys[i] is not None else 0, times[i], i)
    )


wide = st.one_of(st.integers(-3, 3), st.sampled_from([2**62, -(2**62), 2**40]))


@given(st.lists(st.tuples(wide, wide), min_size=1, max_size=30))
def test_integers_sort_plainly(pairs: list[tuple[int, int]]) -> None:
    keys, times = [k for k, _ in pairs], [t for _, t in pairs]
    order = sort_order(rows_of(keys, times, pa.int64()), np.array(times, dtype=np.int64), ("k",))
    assert (list(range(len(pairs))) if order is None else order.tolist()) == plain(keys, times)


@given(st.lists(st.tuples(st.none() | st.integers(-3, 3), st.integers(0, 3)), min_size=1, max_size=30))
def test_nulls_come_first(pairs: list[tuple[int | None, int]]) -> None:
    keys, times = [k for k, _ in pairs], [t for _, t in pairs]
    order = sort_order(rows_of(keys, times, pa.int32()), np.array(times, dtype=np.int64), ("k",))
    assert (list(range(len(pairs))) if order is None else order.tolist()) == plain(keys, times)


@given(st.lists(st.tuples(st.sampled_from(["", "a", "b", "é"]), st.integers(0, 3)), min_size=1, max_size=30))
def test_texts_sort_plainly(pairs: list[tuple[str, int]]) -> None:
    keys, times = [k for k, _ in pairs], [t for _, t in pairs]
    order = sort_order(rows_of(keys, times, pa.string()), np.array(times, dtype=np.int64), ("k",))
    expected = sorted(range(len(pairs)), key=lambda i: (keys[i], times[i], i))
    assert (list(range(len(pairs))) if order is None else order.tolist()) == expected


@given(st.lists(wide, min_size=1, max_size=30))
def test_without_an_index_time_orders(times: list[int]) -> None:
    order = sort_order(rows_of([0] * len(times), times, pa.int64()), np.array(times, dtype=np.int64), ())
    expected = sorted(range(len(times)), key=lambda i: (times[i], i))
    assert (list(range(len(times))) if order is None else order.tolist()) == expected


def test_sorting_by_text_warns_nobody() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        order = sort_order(rows_of(["b", "a"], [1, 2], pa.string()), np.array([1, 2]), ("k",))
    assert order is not None
    assert order.tolist() == [1, 0]


def test_floating_columns_have_no_statistics(tmp_path: Path) -> None:
    table = pa.table({"x": [1.0, float("nan")], "t": [1, 2], "_seq": [0, 1]})
    (file,) = write_blocks(BlockSpec(str(tmp_path), "t"), table, 0, "a")
    column = pq.read_metadata(tmp_path / file.path).row_group(0).column(0)
    assert column.statistics is None or not column.statistics.has_min_max


def test_a_file_for_each_compartment(tmp_path: Path) -> None:
    table = rows_of([3, 1, 2, 1], [25, 5, -1, 9], pa.int32())
    files = write_blocks(BlockSpec(str(tmp_path), "t", ("k",), 10), table, 2, "a")
    assert [(f.path, f.rows, f.least, f.greatest, f.first_seq, f.last_seq, f.shard) for f in files] == [
        ("c-1/a-s2.parquet", 1, -1, -1, 2, 2, 2),
        ("c0/a-s2.parquet", 2, 5, 9, 1, 3, 2),
        ("c2/a-s2.parquet", 1, 25, 25, 0, 0, 2),
    ]
    found = [row for f in files for row in pq.read_table(tmp_path / f.path, partitioning=None).to_pylist()]
    assert sorted(r["_seq"] for r in found) == [0, 1, 2, 3]
    assert all((tmp_path / f.path).with_suffix(".k.idx").exists() for f in files)
    assert (files[1].minima["k"], files[1].maxima["k"], files[1].nulls["k"]) == (1, 1, 0)


def test_no_rows_no_files(tmp_path: Path) -> None:
    assert write_blocks(BlockSpec(str(tmp_path), "t"), rows_of([], [], pa.int32()), 0, "a") == []
