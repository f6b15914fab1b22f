"""Hashes of 64 bits: of numbers, from which they can be told again, and of text, eight bytes of each at a time."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

UInt64s = npt.NDArray[np.uint64]

_MIX: Final = np.uint64(0x9E3779B97F4A7C15)
_UNMIX: Final = np.uint64(pow(0x9E3779B97F4A7C15, -1, 1 << 64))
_HALF: Final = np.uint64(32)
_MASKS: Final = np.array([(1 << (8 * n)) - 1 for n in range(8)] + [(1 << 64) - 1], dtype=np.uint64)


def hashed(texts: pa.Array, seed: int) -> UInt64s:
    """A hash of 64 bits of each; any where NULL. Equal texts have equal hashes."""
    if not len(texts):
        return np.empty(0, dtype=np.uint64)
    offsets = _offsets(texts)
    first, last = int(offsets[0]), int(offsets[-1])
    data = np.zeros(last - first + 8, dtype=np.uint8)  # eight bytes can be read anywhere
    if last > first:
        data[:-8] = np.frombuffer(texts.buffers()[2], np.uint8, last - first, first)
    words = np.ndarray((len(data) - 7,), "<u8", data, strides=(1,))
    begin = offsets[:-1] - first
    left = np.diff(offsets)
    found = mixed(left.astype(np.uint64) + np.uint64(seed))
    longer: npt.NDArray[np.intp] | None = None  # those that have bytes left; None: all
    while True:
        next_ = words[begin] & _MASKS[np.minimum(left, 8)]
        if longer is None:
            found = mixed(found ^ next_)
        else:
            found[longer] = mixed(found[longer] ^ next_)
        more = np.flatnonzero(left > 8)
        if not len(more):
            return found
        longer = more if longer is None else longer[more]
        begin, left = begin[more] + 8, left[more] - 8


def mixed(words: UInt64s) -> UInt64s:
    """Each word's bits spread over all bits: different words give different ones.

    >>> unmixed(mixed(np.array([0, 7, 1 << 63], dtype=np.uint64))).tolist()
    [0, 7, 9223372036854775808]
    """
    found = words * _MIX
    found ^= found >> _HALF
    found *= _MIX
    return found


def unmixed(hashes: UInt64s) -> UInt64s:
    found = hashes * _UNMIX
    found ^= found >> _HALF
    found *= _UNMIX
    return found


def _offsets(texts: pa.Array) -> npt.NDArray[Any]:
    dtype = np.int64 if pa.types.is_large_string(texts.type) else np.int32
    return np.frombuffer(texts.buffers()[1], dtype)[texts.offset : texts.offset + len(texts) + 1]
