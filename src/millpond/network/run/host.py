"""What the network asks of the pond that owns it."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Protocol

from millpond.catalog import Catalog
from millpond.clock import Clock
from millpond.config import Config
from millpond.network.engine.spark_engine import SparkAccess
from millpond.query.local import Local
from millpond.query.shelf import Tables


class NetworkHost(Tables, Protocol):
    """`work` guards definitions and what is durable, for moments; see `Network` for what else is guarded how."""

    work: threading.RLock
    config: Config
    folder: Path
    local: Local
    catalog: Catalog
    clock: Clock
    spark: SparkAccess

    def wake(self) -> None:
        """There is something for a tick to do. From any thread."""

    def read_reduced(self, name: str, fraction: float) -> None:
        """A part of the rows of a table was read."""

    def heartbeat(self, name: str, time: int, rows: int) -> None:
        """Nothing before `time` is still to come to a table, if it has accepted `rows` rows and no more."""
