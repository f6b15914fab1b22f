"""Account balances: the charges of every vehicle over all expressways, added up to any second."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from linear_road.validator.tolls import Charges

Longs = npt.NDArray[np.int64]


class Balances:
    def __init__(self, charges: Sequence[Charges]) -> None:
        vid = np.concatenate([part.vid for part in charges] or [np.empty(0, np.int32)])
        time = np.concatenate([part.time for part in charges] or [np.empty(0, np.int32)])
        toll = np.concatenate([part.toll for part in charges] or [np.empty(0, np.int32)])
        keys = _key(vid, time)
        order = np.argsort(keys, kind="stable")
        self._keys = keys[order]
        self._paid = np.append(0, np.cumsum(toll[order], dtype=np.int64))
        """Entry i: of the first i charges together."""

    def as_of(self, vid: npt.NDArray[np.int32], second: Longs) -> Longs:
        """What each vehicle has been charged up to and including the second."""
        before = np.searchsorted(self._keys, _key(vid, np.zeros_like(vid)))
        until = np.searchsorted(self._keys, _key(vid, np.maximum(second, -1)), "right")
        return np.asarray(self._paid[until] - self._paid[before], np.int64)


def _key(vid: npt.NDArray[np.int32], second: npt.NDArray[np.int32] | Longs) -> Longs:
    return (vid.astype(np.int64) << 32) + second
