"""How an open pond reaches Spark: started when it is first needed, with the pond's settings."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from millpond.config import Config
from millpond.spark import session as sessions

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


class Spark:
    """From any thread."""

    def __init__(self, config: Config) -> None:
        self._config = config
        self._lock = threading.Lock()
        self._narrow: SparkSession | None = None

    def session(self, why: str) -> SparkSession:
        """A session for evaluations of continuous queries. Starts Spark if it does not run; `why` is told then."""
        whole = sessions.session_for(self._config, why)
        with self._lock:
            if self._narrow is None or not sessions.is_live(self._narrow):
                self._narrow = sessions.narrow_session(whole)
            return self._narrow

    @property
    def runs(self) -> bool:
        """Whether Spark is up."""
        return sessions.running()
