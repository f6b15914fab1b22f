from __future__ import annotations

import datetime as dt

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from millpond.ingest.shards import shard_numbers, split


def test_the_same_in_every_process_and_version() -> None:
    """These numbers decide where rows lie: they may never change."""
    batch = pa.record_batch({"k": pa.array([0, 1, 2, 3, -1, None], pa.int32()), "s": ["a", "b", "", None, "é", "a"]})
    assert shard_numbers(batch, ("k",), 4).tolist() == [0, 0, 0, 3, 1, 0]
    assert shard_numbers(batch, ("s",), 4).tolist() == shard_numbers(batch.slice(0), ("s",), 4).tolist()
    assert shard_numbers(batch, ("s",), 4)[0] == shard_numbers(batch, ("s",), 4)[5]


def test_a_key_is_one_shard_whatever_its_type() -> None:
    days = [dt.date(2026, 1, 1), dt.date(2026, 1, 2), dt.date(2026, 1, 1), None]
    batch = pa.record_batch({"d": days, "x": [0.5, 1.5, 0.5, None], "ok": [True, False, True, None]})
    for key in ("d", "x", "ok"):
        numbers = shard_numbers(batch, (key,), 8)
        assert numbers[0] == numbers[2]
        assert all(0 <= n < 8 for n in numbers)


def test_consecutive_keys_are_spread() -> None:
    batch = pa.record_batch({"k": pa.array(range(10_000), pa.int64())})
    counts = np.bincount(shard_numbers(batch, ("k",), 7), minlength=7)
    assert counts.min() > 0.8 * counts.max()


@given(st.lists(st.none() | st.integers(-5, 5), max_size=30), st.integers(1, 5))
def test_split_keeps_rows_and_their_order(keys: list[int | None], shards: int) -> None:
    batch = pa.record_batch({"k": pa.array(keys, pa.int64()), "n": pa.array(range(len(keys)), pa.int64())})
    numbers = shard_numbers(batch, ("k",), shards)
    parts = split(batch, numbers, shards) if keys else []
    assert sorted(n for _, part in parts for n in part["n"].to_pylist()) == list(range(len(keys)))
    for shard, part in parts:
        rows = part["n"].to_pylist()
        assert rows == sorted(rows)
        assert all(numbers[n] == shard for n in rows)


def test_zeros_of_both_signs_are_one_key() -> None:
    batch = pa.RecordBatch.from_pydict({"x": pa.array([0.0, -0.0, float("nan"), -float("nan")])})
    numbers = shard_numbers(batch, ("x",), 64).tolist()
    assert numbers[0] == numbers[1]
    assert numbers[2] == numbers[3]
