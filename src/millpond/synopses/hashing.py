"""Hashes that are the same in every process and version, for arrays. Python's own `hash` differs between processes for texts."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from millpond.synopses.layout import SynopsisError

Hashes = npt.NDArray[np.uint64]

_EXACT = float(1 << 62)  # below it a float without a fraction is a 64-bit whole number


def mixed(words: Hashes) -> Hashes:
    """Every bit of the result depends on every bit of the word (the finaliser of the SplitMix64 generator)."""
    h = words + np.uint64(0x9E3779B97F4A7C15)
    h = (h ^ (h >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    h = (h ^ (h >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return h ^ (h >> np.uint64(31))


def hashed(values: Any, seed: int = 0) -> Hashes:
    """A 64-bit hash of each value: whole numbers, floats, texts, bytes, or dates as NumPy has them.

    Equal numbers hash alike, whatever their type.
    """
    array = np.asarray(values)
    if array.ndim != 1:
        raise SynopsisError(f"values must be in one dimension, not {array.ndim}")
    start = mixed(np.array([seed & 0xFFFFFFFFFFFFFFFF], dtype=np.uint64))
    if not array.size:
        return np.empty(0, dtype=np.uint64)
    kind = array.dtype.kind
    if kind == "O":
        array = _one_type(array)
        kind = array.dtype.kind
    if kind == "u":
        return mixed(array.astype(np.uint64) ^ start)
    if kind in "ib":
        return mixed(array.astype(np.int64).view(np.uint64) ^ start)
    if kind in "mM":
        return mixed(array.view(np.int64).view(np.uint64) ^ start)
    if kind == "f":
        floats = array.astype(np.float64)
        words = np.where(np.isnan(floats), np.nan, floats).view(np.uint64)  # all that are not a number are one value
        same = (np.abs(floats) < _EXACT) & (np.floor(floats) == floats)  # as a whole number
        words[same] = floats[same].astype(np.int64).view(np.uint64)
        return mixed(words ^ start)
    if kind in "US":
        width = array.dtype.itemsize // (4 if kind == "U" else 1)
        if not width:
            return np.broadcast_to(mixed(start), array.shape).copy()
        letters = np.ascontiguousarray(array).view("<u4" if kind == "U" else "u1").reshape(len(array), width)
        lengths = np.char.str_len(array)
        result = np.broadcast_to(mixed(start), array.shape).copy()
        for column in range(width):
            some = np.flatnonzero(lengths > column)
            result[some] = mixed(result[some] ^ letters[some, column].astype(np.uint64))
        return result
    raise SynopsisError(f"values of type {array.dtype} cannot be hashed", hint="Give numbers, texts or bytes.")


def _one_type(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    types = {type(value) for value in array.tolist()}
    if len(types) == 1 and types <= {str, bytes, int, float}:
        return np.array(array.tolist())
    kinds = ", ".join(sorted(one.__name__ for one in types))
    if len(types) == 1 or types & {type(None)}:
        raise SynopsisError(f"values of type {kinds} cannot be hashed", hint="Give numbers, texts or bytes.")
    raise SynopsisError("values of different types cannot be hashed together", detail=f"There are {kinds}.")
