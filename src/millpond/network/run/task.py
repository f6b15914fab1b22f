"""What a worker is told to do with a shard, and what comes of it: data that goes from process to process."""

from __future__ import annotations

import os
import socket
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta

import pyarrow as pa

from millpond.event_time import Progress
from millpond.network.run.shard_definitions import ShardDefinitions
from millpond.network.run.state import Seen
from millpond.network.strategies.base import Costs
from millpond.table.sections import FrameSection


@dataclass(frozen=True)
class ShardTask:
    """Bring one shard of a table from `before` to `after`. `sections` of the log reach back at least to `before`."""

    pond: str
    run_id: str
    version: int
    definitions: ShardDefinitions
    table: str
    shard: int
    before: Seen
    after: Seen
    sections: tuple[FrameSection, ...]
    reach: int  # the sections hold the shard's rows from this number on
    progress: Mapping[str, tuple[int | None, int | None]]
    out: str  # the folder of checkpoints
    keep: bool = False  # begin checkpoints of windows afterwards
    owner: str = ""  # the worker that had the shard last
    planner: str = ""  # the pond's process: no worker that may be ended
    evaluation_time: timedelta | None = None  # how long the engine may take for one query at one instant
    evaluation_memory: int = 0  # bytes that it may take


@dataclass(frozen=True)
class ShardOutcome:
    """What a shard sent, how far its queries are, and what went wrong; queries by their folders, what was sent by name."""

    table: str
    shard: int
    sent: dict[str, pa.Table]
    progress: dict[str, Progress]
    errors: dict[str, str]
    held: dict[tuple[str, str], tuple[int, int]]  # rows and bytes, by holder and what it is
    costs: Costs
    worker: str
    for_spark: frozenset[str] = frozenset()  # of the queries with errors: those about which Spark is to decide


def worker_name() -> str:
    """This process, among all that may have a shard."""
    return f"{socket.gethostname()}-{os.getpid()}"
