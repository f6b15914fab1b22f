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
    earliest = less(before, lateness)
    return earliest if heartbeat is None else np.maximum(earliest, heartbeat)


def less(times: npt.NDArray[np.int64], span: int) -> npt.NDArray[np.int64]:
    """Times minus a span. What would be before all times is the first of them; nothing wraps around."""
    return np.maximum(times, _NEVER + span) - span
