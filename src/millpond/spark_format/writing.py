"""Writing to a streaming table: tasks write the rows where they run, and the whole is handed over to the process that writes
the pond.

If no process writes the pond, the one that commits the write does, for a moment. A micro-batch is known by the id of its
query and its number, which Spark keeps in its checkpoint: however often it is tried, its rows are taken once (see
`ingest.handover`). A write that is no stream has an id of its own.
"""

from __future__ import annotations

import threading
import time
import uuid
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql.datasource import DataSourceArrowWriter, DataSourceStreamArrowWriter, WriterCommitMessage
from pyspark.sql.pandas.types import to_arrow_schema

from millpond.arrow import to_batch
from millpond.catalog import StreamingTable
from millpond.clock import SystemClock
from millpond.config import load_config
from millpond.errors import EngineError, PondError, SecondWriter, UnsupportedSql, counted
from millpond.ingest.handover import Incoming, Request, error_in
from millpond.lock import holder, is_written
from millpond.results.news import ring
from millpond.spark_format.options import Options
from millpond.spark_format.relations import streaming_table
from millpond.workspace.workspace import Workspace

_QUERY = "sql.streaming.queryId"  # properties that Spark gives to the tasks of a stream
_LOOK = 0.005  # seconds between looks at the outcome
_JOBS = "spark"  # the key of writes that are no stream


@dataclass(frozen=True)
class Written(WriterCommitMessage):
    """What a task has written: a part, or nothing. `query` is the id of the query of Spark, of a stream."""

    part: str | None
    query: str | None


class _Target:
    """Where rows go. Goes to the tasks and back."""

    def __init__(self, options: Options, schema: Any, overwrite: bool) -> None:
        if overwrite:
            raise UnsupportedSql(
                f'table "{options.table}" cannot be overwritten',
                detail="Rows of a streaming table stay.",
                hint='Append to it: .mode("append").',
            )
        self._options = options
        self._table = streaming_table(options)
        _check(self._table, to_arrow_schema(schema))

    def write(self, iterator: Iterator[pa.RecordBatch]) -> Written:
        """In a task: write its rows."""
        context = TaskContext.get()
        query = None if context is None else context.getLocalProperty(_QUERY)
        first = next(iterator, None)
        if first is None:
            return Written(None, query)
        with Incoming(Path(self._options.pond)).new_part(first.schema) as (name, file):
            file.write_batch(first)
            for batch in iterator:
                file.write_batch(batch)
        return Written(name, query)

    def give_up(self, messages: Sequence[WriterCommitMessage | None]) -> None:
        """The write has failed, perhaps after it was handed over."""
        Incoming(Path(self._options.pond)).give_up(_parts(messages))

    def hand_over(self, id: str, key: str, batch: int | None, messages: Sequence[WriterCommitMessage | None]) -> None:
        """Return when the rows are durable in the table."""
        parts = _parts(messages)
        if parts:
            _deliver(self._options, Request(f"{self._table.folder}-{id}", self._table.folder, key, batch, parts))


class TableWriter(DataSourceArrowWriter):
    def __init__(self, options: Options, schema: Any, overwrite: bool) -> None:
        self._target = _Target(options, schema, overwrite)

    def write(self, iterator: Iterator[pa.RecordBatch]) -> WriterCommitMessage:
        return self._target.write(iterator)

    def commit(self, messages: list[WriterCommitMessage | None]) -> None:
        self._target.hand_over(uuid.uuid4().hex, _JOBS, None, messages)

    def abort(self, messages: list[WriterCommitMessage | None]) -> None:
        self._target.give_up(messages)


class StreamWriter(DataSourceStreamArrowWriter):
    def __init__(self, options: Options, schema: Any, overwrite: bool) -> None:
        self._target = _Target(options, schema, overwrite)

    def write(self, iterator: Iterator[pa.RecordBatch]) -> WriterCommitMessage:
        return self._target.write(iterator)

    def commit(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:
        queries = {m.query for m in messages if isinstance(m, Written)}
        if not _parts(messages):
            return
        if len(queries) != 1 or None in queries:
            raise EngineError(
                "Spark does not tell which query a micro-batch is of", detail="So it cannot be written once."
            )
        (query,) = queries
        self._target.hand_over(f"{query}-{batchId}", f"{_JOBS}:{query}", batchId, messages)

    def abort(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:
        self._target.give_up(messages)


def _parts(messages: Sequence[WriterCommitMessage | None]) -> tuple[str, ...]:
    return tuple(m.part for m in messages if isinstance(m, Written) and m.part is not None)


def _check(table: StreamingTable, schema: pa.Schema) -> None:
    """Raise before anything is written if the table cannot take such rows."""
    required = () if table.implicit_time else (table.time_column,)
    to_batch(
        schema.empty_table(), table.explicit if table.implicit_time else table.columns, table.name, required=required
    )


def _deliver(options: Options, request: Request) -> None:
    pond = Path(options.pond)
    incoming = Incoming(pond)
    incoming.hand_over(request)
    ring(incoming.folder)
    end = time.monotonic() + options.timeout
    pause = threading.Event()
    while (outcome := incoming.outcome(request.id)) is None:
        if not is_written(pond):
            _take_here(pond, request.id, end)
        elif time.monotonic() > end:
            raise PondError(
                f"the process that writes the pond has not taken the rows within {counted(round(options.timeout), 'second')}",
                detail=holder(pond),
                hint="They are taken once, when it does: let Spark try the batch again, or raise option timeout.",
            )
        else:
            pause.wait(_LOOK)
    incoming.forget(request.id)
    error = error_in(outcome)
    if error is not None:
        raise error


def _take_here(pond: Path, id: str, end: float) -> None:
    """Write the pond, for as long as this request takes."""
    config = load_config(auto_archive=False)  # this process must start no Spark of its own
    workspace = Workspace(pond, config, SystemClock())
    try:
        workspace.own()
        pause = threading.Event()
        while Incoming(pond).outcome(id) is None and time.monotonic() < end:
            pause.wait(_LOOK)
        full = (t.rows.tail.rows >= config.block_rows for t in workspace.streams().values())
        if any(full):
            workspace.archive(max(1.0, end - time.monotonic()))
    except SecondWriter:
        pass  # somebody was faster, and takes it
    finally:
        workspace.close()
