"""How far ahead is too far. Judged row by row in order of arrival, before lateness; pure arithmetic.

One row of the year 9999 would make every later row late. So a table bounds how far time may jump: ahead of the wall clock at
arrival where times are TIMESTAMPs; where they are integers, which need not be anybody's clock, ahead of the greatest time
among the rows accepted before and the heartbeats. The first row of such a table is always accepted.

A row that is too far ahead is rejected and moves nothing: the rows after it are judged as if it had not come. The judgement
is made once, at intake, and what came of it is durable; nothing judges again.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

_LAST = np.iinfo(np.int64).max


def later(time: int, span: int) -> int:
    """A time plus a span; what would be after all times is the last of them."""
    return min(time + span, _LAST)


def latest_times(times: npt.NDArray[np.int64], before: int | None, ahead: int) -> npt.NDArray[np.int64]:
    """For each row, in order of arrival, the latest time it could have, where a jump is measured from the rows before it.

    `before` is the greatest time accepted or promised so far.
    """
    known = np.maximum.accumulate(np.concatenate([times[:1] if before is None else [before], times]))[: len(times)]
    limits = np.minimum(known, _LAST - ahead) + ahead
    if (times <= limits).all():
        return limits
    # A rejected row must not count as known to those after it.
    reached = before
    for i, time in enumerate(times.tolist()):
        limit = _LAST if reached is None else later(reached, ahead)
        limits[i] = limit
        if time <= limit:
            reached = time if reached is None else max(reached, time)
    return limits
