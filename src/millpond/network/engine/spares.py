"""DuckDB instances that wait for the next engine.

Making an instance registers thousands of functions: that takes longer than most questions, and each shard that is filled and
each pond that is opened wants an engine. So an engine that ends gives its instance back, if nothing of the engine is left in it,
and the next engine with the same limits takes it.

Invariant. One engine at a time uses an instance, and cannot tell whether another one did before.
"""

from __future__ import annotations

import atexit
import os
from collections import defaultdict, deque

import duckdb

from millpond.process import keep_for_ever

Limits = tuple[int, int]
"""Threads and bytes of memory: what an instance was made with."""

_MOST = 4  # of the same limits; an instance that waits takes some hundred kilobytes
_waiting: defaultdict[Limits, deque[duckdb.DuckDBPyConnection]] = defaultdict(deque)


def take(limits: Limits) -> duckdb.DuckDBPyConnection | None:
    """An instance that waits, if there is one. From any thread."""
    try:
        return _waiting[limits].pop()
    except IndexError:
        return None


def give_back(limits: Limits, connection: duckdb.DuckDBPyConnection) -> None:
    """Keep an instance in which nothing is registered, or close it if there are enough. From any thread."""
    if len(_waiting[limits]) < _MOST:
        _waiting[limits].append(connection)
    else:
        connection.close()


def close_all() -> None:
    for connections in _waiting.values():
        while connections:
            connections.pop().close()


def _leave_to_parent() -> None:
    """In a forked child, where an instance has no threads: it can neither be used nor destroyed."""
    for connections in _waiting.values():
        for connection in connections:
            keep_for_ever(connection)
    _waiting.clear()


atexit.register(close_all)
os.register_at_fork(after_in_child=_leave_to_parent)
