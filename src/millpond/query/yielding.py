"""Work that yields to ticks: done by threads of lower priority, so that results that somebody waits for are in time.

Only Linux has a priority for each thread. Elsewhere such work is done as any other.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable
from queue import SimpleQueue
from typing import TypeVar

T = TypeVar("T")

_LESS = 10  # a tenth of a core beside threads that need it, all of it beside none


def yielding(work: Callable[[], T]) -> T:
    """What `work` returns or raises, done in a thread of lower priority, as are all threads that it starts."""
    ended: SimpleQueue[tuple[T | None, BaseException | None]] = SimpleQueue()

    def run() -> None:
        try:
            if sys.platform == "linux":
                here = threading.get_native_id()
                os.setpriority(os.PRIO_PROCESS, here, min(19, os.getpriority(os.PRIO_PROCESS, here) + _LESS))
            ended.put((work(), None))
        except BaseException as error:
            ended.put((None, error))

    threading.Thread(target=run, name="millpond-yielding", daemon=True).start()
    found, error = ended.get()
    if error is not None:
        raise error
    return found  # type: ignore[return-value]
