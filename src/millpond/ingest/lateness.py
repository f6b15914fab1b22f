"""How late is late. Judged row by row in order of arrival, never by where a batch ended; pure arithmetic.

A row is late if its time lies more than the table's lateness before the greatest time that arrived before it, or before
the last heartbeat. The judgement of a row depends on the rows before it and on nothing else, so cutting the same rows
into other batches changes nothing.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

_NEVER = np.iinfo(np.int64).min


def earliest_times(
    times: npt.NDArray[np.int64], highest: int | None, heartbeat: int | None, lateness: int
) -> npt.NDArray[np.int64]:
    """For each row, in order of arrival, the earliest time it could have without being late."""
    before = np.empty(len(times), dtype=np.int64)
    if len(times):
        before[0] = _NEVER if highest is None else highest
        before[1:] = np.maximum.accumulate(np.maximum(times, before[0]))[:-1]
    # Only subtract where a time came before, so that nothing wraps around.
    earliest = np.where(before == _NEVER, _NEVER, np.where(before == _NEVER, 0, before) - lateness)
    return earliest if heartbeat is None else np.maximum(earliest, heartbeat)
