"""What queries may take of this machine: memory of the embedded engine, and of one result.

DuckDB keeps within its `memory_limit` what it sorts, groups and joins, and goes to disk beyond it. It does not count what a
result takes when it is handed over, so that is counted here, batch by batch. It does not count texts that a function is just
making, either: `sql/rules/strings` refuses those that would grow out of proportion.
"""

from __future__ import annotations

import os
import tempfile
import uuid
from pathlib import Path
from typing import Final

import duckdb
import pyarrow as pa

from millpond.errors import LimitExceeded, counted
from millpond.sql.rules.terms import too_long_text

SETTING: Final = "query_memory"
_SPILL = 4  # times the memory limit may go to disk
_BATCH_ROWS = 1_000_000
_CGROUP = Path("/sys/fs/cgroup/memory.max")


def query_memory(setting: int) -> int:
    """The setting in bytes: 0 is half of what this machine, or this container, has."""
    return setting or machine_memory() // 2


def machine_memory() -> int:
    memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    try:
        return min(memory, int(_CGROUP.read_text()))
    except (OSError, ValueError):  # no container, or one without a limit ("max")
        return memory


def limit_memory(connection: duckdb.DuckDBPyConnection, most: int) -> None:
    """Bound what an engine takes, and let it go to a folder of its own on disk beyond that: not into the caller's."""
    folder = Path(tempfile.gettempdir()) / f"millpond-{os.getpid()}-{uuid.uuid4().hex[:8]}"
    quoted = str(folder).replace("'", "''")
    for setting in (
        f"memory_limit = '{most}B'",
        f"temp_directory = '{quoted}'",
        f"max_temp_directory_size = '{_SPILL * most}B'",
    ):
        connection.execute(f"SET GLOBAL {setting}").fetchall()


def halve_threads(connection: duckdb.DuckDBPyConnection) -> None:
    """Let an engine use half of the cores that it would use, and at least one."""
    ((threads,),) = connection.execute("SELECT current_setting('threads')").fetchall()
    connection.execute(f"SET GLOBAL threads = {max(1, threads // 2)}").fetchall()


def collect(relation: duckdb.DuckDBPyRelation, most: int) -> pa.Table:
    """All rows of a query, or an error before they take more than `most` bytes."""
    reader = relation.to_arrow_reader(_BATCH_ROWS)
    batches = []
    size = 0
    for batch in reader:
        size += batch.nbytes
        if size > most:
            raise too_large("the result", most)
        batches.append(batch)
    return pa.Table.from_batches(batches, schema=reader.schema)


def too_large(what: str, most: int, setting: str = SETTING) -> LimitExceeded:
    return LimitExceeded(
        f"{what} is larger than {in_words(most)}",
        setting=setting,
        hint=f"Ask for fewer rows or columns, or raise setting {setting}: connect(..., {setting}=...).",
    )


def limit_error(
    error: BaseException, most: int, what: str = "the query", setting: str = SETTING
) -> LimitExceeded | None:
    """What an engine's error says about a limit, if it does. `what` and `setting` are for the message."""
    text = str(error)
    long = too_long_text(text)
    if long is not None:
        return LimitExceeded(long, setting=None, hint="Make it in the program that uses it.")
    if isinstance(error, duckdb.OutOfMemoryException) or text.startswith("Out of Memory Error"):
        return LimitExceeded(
            f"{what} takes more memory than {in_words(most)}",
            setting=setting,
            detail=f"DuckDB says: {text.splitlines()[0].partition(': ')[2]}.",
        )
    return None


def in_words(size: int) -> str:
    """A size as people read it.

    >>> in_words(12 << 30), in_words(1536 << 10), in_words(100)
    ('12 GiB', '1.5 MiB', '100 bytes')
    """
    for unit, shift in (("GiB", 30), ("MiB", 20), ("KiB", 10)):
        if size >= 1 << shift:
            return f"{round(size / (1 << shift), 1):g} {unit}"
    return counted(size, "byte")
