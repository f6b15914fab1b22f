"""Which shard a row belongs to: a hash of the shard key that is the same in every process and version.

Integers are mixed arithmetically; other values are hashed once per distinct value by CRC-32. Python's `hash` is never
used: it differs between processes.
"""

from __future__ import annotations

import zlib

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from millpond.arrow import integers

_MIX = np.uint64(0x9E3779B97F4A7C15)  # 2**64 / golden ratio: spreads consecutive integers evenly


def shard_numbers(batch: pa.RecordBatch, keys: tuple[str, ...], shards: int) -> npt.NDArray[np.int64]:
    """The shard of each row."""
    mixed = np.zeros(batch.num_rows, dtype=np.uint64)
    for name in keys:
        column = batch.column(batch.schema.get_field_index(name))
        mixed = (mixed + _numbers(column)) * _MIX
        mixed ^= mixed >> np.uint64(32)
    return (mixed % np.uint64(shards)).astype(np.int64)


def _numbers(column: pa.Array) -> npt.NDArray[np.uint64]:
    if pa.types.is_integer(column.type):
        filled = column.fill_null(0) if column.null_count else column
        numbers: npt.NDArray[np.uint64] = integers(filled).astype(np.int64).view(np.uint64)
        return numbers
    encoded = column.dictionary_encode()
    values = encoded.dictionary.to_pylist()
    if pa.types.is_floating(column.type):
        values = [v + 0.0 for v in values]  # -0.0 equals 0.0
    hashes = [zlib.crc32(str(v).encode()) for v in values]
    table = np.array([*hashes, 0], dtype=np.uint64)
    codes = integers(encoded.indices.fill_null(len(hashes)))
    result: npt.NDArray[np.uint64] = table[codes]
    return result


def split(batch: pa.RecordBatch, numbers: npt.NDArray[np.int64], shards: int) -> list[tuple[int, pa.RecordBatch]]:
    """The rows of each shard that has any, in order of arrival."""
    counts = np.bincount(numbers, minlength=shards)
    used = np.flatnonzero(counts)
    if len(used) == 1:
        return [(int(used[0]), batch)]
    ordered = batch.take(pa.array(np.argsort(numbers.astype(np.uint16), kind="stable")))
    parts = []
    start = 0
    for shard in used:
        parts.append((int(shard), ordered.slice(start, int(counts[shard]))))
        start += int(counts[shard])
    return parts
