"""Slots: how many of Spark's tasks may run at a time, and how many of them shifts may hold.

Tasks that stay hold slots for as long as a pond is open, while one-time queries, continuous queries that Spark evaluates and
back-fills need some too. In local mode a slot is a thread that costs nothing while it waits: there are more of them than
cores. On a cluster a quarter is kept free, and at least one.

The ponds of a process share a session: each takes its slots from what is left.
"""

from __future__ import annotations

import os
import re
import threading
from typing import TYPE_CHECKING, Any

from millpond.errors import EngineError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SHIFT_SLOTS = "spark.millpond.slots"  # of a session: how many a pond takes
_FAILURES = (
    4  # times that a task may fail before its query does: a worker that dies is replaced without anybody noticing
)
_LOCAL = re.compile(r"local(?:\[(\*|\d+)(?:\s*,\s*(\d+))?\])?")

_ON_CLUSTERS = {
    # A host that is cut off holds up the end of a shift until Spark gives its executor up: by default after two to three minutes.
    "spark.executor.heartbeatInterval": "5s",
    "spark.storage.blockManagerHeartbeatTimeoutMs": "30s",
    "spark.network.timeoutInterval": "5s",
}

_lock = threading.Lock()
_taken: dict[Any, int] = {}  # by Spark's context


def is_local(master: str) -> bool:
    """Whether tasks run in this process's own JVM."""
    return _LOCAL.fullmatch(master) is not None


def settings_of(master: str) -> dict[str, str]:
    """Settings that shifts want: for a master in this process those that give it room beside them.

    >>> settings_of("local[2]")["spark.master"]
    'local[6,4]'
    >>> settings_of("spark://host:7077")["spark.executor.heartbeatInterval"]
    '5s'
    """
    found = _LOCAL.fullmatch(master)
    if found is None:
        return dict(_ON_CLUSTERS)
    cores = (os.cpu_count() or 1) if found[1] == "*" else int(found[1] or 1)
    return {
        "spark.master": f"local[{2 * cores + 2},{found[2] or _FAILURES}]",
        "spark.default.parallelism": str(cores),
        SHIFT_SLOTS: str(cores),
        # Executor and driver are one process here: when it had no time for its own heartbeats for ten minutes, it ended itself.
        "spark.executor.heartbeat.maxFailures": str(2**31 - 1),
    }


def take_slots(session: SparkSession) -> int:
    """Take slots for the shifts of a pond; how many. At least one is left for others."""
    context = session.sparkContext
    with _lock:
        for gone in [known for known in _taken if known is not context]:
            del _taken[gone]
        count = _room(session)
        if count < 1:
            raise EngineError(
                f"Spark has no slot left for the pond's shifts: there are {_there(session)}, and one is kept for queries",
                hint="Give spark_master more cores, such as local[4], or close other ponds of this process.",
            )
        _taken[context] = _taken.get(context, 0) + count
    return count


def take_anew(session: SparkSession, count: int) -> int:
    """How many slots a pond has that took `count` before: as many as if it took them now, so that executors that have come are
    used, and those that have gone are not waited for. At least one."""
    context = session.sparkContext
    with _lock:
        _taken[context] = _taken.get(context, 0) - count
        now = max(1, _room(session))
        _taken[context] += now
    return now


def _room(session: SparkSession) -> int:
    """How many slots a pond may take now; with the lock."""
    there = _there(session)
    wanted = int(session.sparkContext.getConf().get(SHIFT_SLOTS) or 0) or there - max(1, there // 4)
    return min(max(1, wanted), there - 1 - _taken.get(session.sparkContext, 0))


def _there(session: SparkSession) -> int:
    context = session.sparkContext
    master = _LOCAL.fullmatch(context.master or "")
    return int(master[1]) if master is not None and (master[1] or "").isdigit() else int(context.defaultParallelism)


def give_back(session: SparkSession, count: int) -> None:
    """The shifts of a pond have ended."""
    with _lock:
        if session.sparkContext in _taken:
            _taken[session.sparkContext] -= count
