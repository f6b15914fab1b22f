"""Settings of a pond, with defaults, units and reasons; the only place that reads `MILLPOND_...` from the environment.

`WITH (...)` options of a table and keyword arguments of `connect` are these same fields.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, fields
from datetime import timedelta

from millpond.duration import parse_duration
from millpond.errors import CatalogError, nearest

MOST_SHARDS = 1024
LEAST_MEMORY = 16 << 20  # bytes in which DuckDB can do anything useful


@dataclass(frozen=True)
class Config:
    """How a pond works. None of these changes an answer.

    block_rows      rows of a shard that make a block worth archiving: four slices, 15 to 25 MB for eight integers
    block_age       a block is archived after this time even if it is small
    tick            how long the pipeline waits at most before it looks for work; it begins at once when time moves on in a table
    tail_bytes      bound on the tail of a table in memory; intake waits (or fails without a pipeline) beyond it
    large_rows      a one-time query that must read more rows than this goes to Spark
    spark_master    where Spark runs
    spark_memory    heap of the Spark driver
    spark_conf      settings of Spark by name: a dict, or text such as 'spark.executor.memory=4g spark.ui.enabled=true'
    driver_host     the address at which Spark's executors reach this process; 127.0.0.1 in local mode, else what Spark finds
    driver_bind     the address on which this process listens for them; driver_host unless told
    worker_wait     how long the pipeline waits for a first worker of Spark before it fails
    segment_bytes   size at which a new file of the intake log is begun; archived rows are freed by whole files
    shards          parts a table's rows are split into when it does not say; 0 means one per core, at most 8
    auto_archive    start the pipeline by itself once a table's tail holds a block for every shard
    engine          'auto', or 'duckdb' / 'spark' to force one (for tests and comparisons)
    privileged      whether statements may define what reaches beyond the pond: sources, foreign tables, functions in Python
                    and triggers. A server that takes SQL from others turns it off. What is defined already goes on
    statement_length  characters that one call of `sql` may have
    query_time      how long a one-time query may run; 0 is no limit, which is right where its user can press Ctrl-C: a
                    server sets it
    evaluation_time  how long the engine may take for one query at one instant, and in the shards of a table for all its
                    instants of one tick; beyond it a continuous query stops, with that as its problem; 0 is no limit
    query_memory    bytes that the embedded engine may take for all queries together, and that one result may take; beyond it
                    the engine goes to disk, for up to four times as much, and then fails; 0 is half of the machine's memory
    evaluation_memory  the same for the engine that evaluates continuous queries, in each process; beyond it a continuous query
                    stops, with that as its problem. The rows in windows are not counted: SHOW STATE tells what they take
    standing_memory  bytes that may be kept for standing queries; beyond it nothing is kept of those that were not asked for
                    longest, until somebody asks them again
    """

    block_rows: int = 1_966_080
    block_age: timedelta = timedelta(seconds=60)
    tick: timedelta = timedelta(seconds=1)
    tail_bytes: int = 2 << 30
    large_rows: int = 200_000_000
    spark_master: str = "local[*]"
    spark_memory: str = "1g"
    spark_conf: tuple[tuple[str, str], ...] = ()
    driver_host: str = ""
    driver_bind: str = ""
    worker_wait: timedelta = timedelta(seconds=120)
    segment_bytes: int = 64 << 20
    shards: int = 0
    auto_archive: bool = True
    engine: str = "auto"
    privileged: bool = True
    statement_length: int = 16 << 20
    query_time: timedelta = timedelta(0)
    evaluation_time: timedelta = timedelta(seconds=60)
    query_memory: int = 0
    evaluation_memory: int = 0
    standing_memory: int = 1 << 30

    def __post_init__(self) -> None:
        for name in ("block_rows", "tail_bytes", "large_rows", "segment_bytes", "statement_length", "standing_memory"):
            if getattr(self, name) < 1:
                raise CatalogError(f"setting {name} must be at least 1, not {getattr(self, name)}")
        for name in ("query_time", "evaluation_time"):
            if getattr(self, name) < timedelta(0):
                raise CatalogError(f"setting {name} cannot be {getattr(self, name)}", hint="Use 0 for no limit.")
        for name in ("query_memory", "evaluation_memory"):
            if getattr(self, name) and getattr(self, name) < LEAST_MEMORY:
                raise CatalogError(
                    f"setting {name} cannot be {getattr(self, name)}",
                    hint=f"Use at least {LEAST_MEMORY:,} bytes, or 0 for half of the machine's memory.",
                )
        if self.worker_wait <= timedelta(0):
            raise CatalogError(f"setting worker_wait cannot be {self.worker_wait}", hint="Use some minutes.")
        for name, _ in self.spark_conf:
            if not name.startswith("spark."):
                raise CatalogError(
                    f'setting spark_conf cannot have "{name}"', hint='Names of settings of Spark begin with "spark.".'
                )
        if not 0 <= self.shards <= MOST_SHARDS:
            raise CatalogError(
                f"setting shards cannot be {self.shards}", hint=f"Use 1 to {MOST_SHARDS}, or 0 for one per core."
            )
        if self.engine not in ("auto", "duckdb", "spark"):
            raise CatalogError(f'setting engine cannot be "{self.engine}"', hint="Use auto, duckdb or spark.")


PREFIX = "MILLPOND_"


def failpoints_text() -> str:
    """`MILLPOND_FAILPOINTS`, for tests only: see `millpond.failpoints`."""
    return os.environ.get(PREFIX + "FAILPOINTS", "")


def load_config(**given: object) -> Config:
    """Defaults, overridden by `MILLPOND_<NAME>` in the environment, overridden by arguments."""
    names = [f.name for f in fields(Config)]
    values: dict[str, object] = {}
    for name in names:
        text = os.environ.get(PREFIX + name.upper())
        if text is not None:
            values[name] = text
    for name, value in given.items():
        if name not in names:
            close = nearest(name, names)
            raise CatalogError(
                f'setting "{name}" does not exist',
                detail=f"There is: {', '.join(names)}.",
                hint=f'Did you mean "{close}"?' if close else None,
            )
        values[name] = value
    return Config(**{name: _typed(name, value) for name, value in values.items()})  # type: ignore[arg-type]


_KINDS: dict[type, str] = {
    bool: "true or false",
    float: "a number",
    int: "a whole number",
    str: "a text",
    timedelta: "a duration, such as '5 seconds'",
}


def _typed(name: str, value: object) -> object:
    wanted = type(getattr(Config, name))
    if wanted is tuple:
        return _settings(name, value)
    if isinstance(value, wanted):
        return value
    try:
        if wanted is timedelta:
            return parse_duration(str(value))
        if wanted is bool:
            return {"true": True, "1": True, "false": False, "0": False}[str(value).lower()]
        return wanted(value)
    except (TypeError, ValueError, KeyError) as error:
        raise CatalogError(f'setting {name} cannot be "{value}"', hint=f"It is {_KINDS[wanted]}.") from error


def _settings(name: str, value: object) -> tuple[tuple[str, str], ...]:
    """Settings of Spark from a mapping, or from text with a `name=value` for each, between spaces."""
    if isinstance(value, str):
        pairs = [word.partition("=") for word in value.split()]
        if not all(equals for _, equals, _ in pairs):
            raise CatalogError(
                f'setting {name} cannot be "{value}"', hint="Write name=value, with spaces between them."
            )
        value = {key: text for key, _, text in pairs}
    if not isinstance(value, Mapping):
        raise CatalogError(f'setting {name} cannot be "{value}"', hint="It is a dict of names and values.")
    words = {True: "true", False: "false"}
    return tuple((str(k), words[v] if isinstance(v, bool) else str(v)) for k, v in value.items())
