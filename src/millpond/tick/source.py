"""Shifts as a Spark source: each micro-batch is one, each of its partitions a task that serves ticks.

Spark places the tasks, starts them where there is room, runs them again when they fail, and tells what they served: that is the
rows of the query. What a tick must do comes over the connection that a task makes; see `shift.py` and `workers.py`.

The invitation, with the secret of the run, is part of the class that is registered: Spark hands it on as bytes, and shows it
neither in plans nor in options.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow as pa
from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition

from millpond.tick.invitation import Invitation
from millpond.tick.planning import slots_now

SCHEMA = "worker string, ticks bigint, tasks bigint, rows bigint, results bigint, seconds double"
_ARROW = pa.schema(
    [
        pa.field("worker", pa.string()),
        *(pa.field(name, pa.int64()) for name in ("ticks", "tasks", "rows", "results")),
        pa.field("seconds", pa.float64()),
    ]
)


class Place(InputPartition):
    """One of the tasks of a shift."""

    def __init__(self, number: int, place: int) -> None:
        self.number = number
        self.place = place


class ShiftReader(DataSourceStreamReader):
    """Planned in a Python process of Spark's, read in its workers."""

    def __init__(self, invitation: Invitation) -> None:
        self._invitation = invitation

    def initialOffset(self) -> dict[str, Any]:
        return {"shift": 0}

    def latestOffset(self, start: dict[str, Any], limit: Any) -> dict[str, Any]:
        return {"shift": int(start["shift"]) + 1, "slots": slots_now(self._invitation)}

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> Sequence[InputPartition]:
        return [Place(int(end["shift"]), place) for place in range(int(end["slots"]))]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        # The processes that plan must not load all that workers need: it takes seconds, and a pond waits for them.
        from millpond.tick.shift import serve

        done = serve(self._invitation)
        values = [done.worker, done.ticks, done.tasks, done.rows, done.results, done.seconds]
        yield pa.RecordBatch.from_arrays(
            [pa.array([value], field.type) for value, field in zip(values, _ARROW, strict=True)], schema=_ARROW
        )

    def commit(self, end: dict[str, Any]) -> None:
        """A shift is over: nothing is kept of it."""


def format_of(invitation: Invitation) -> str:
    """The name of the source: each run has its own, because ponds of a process share a session."""
    return f"millpond_shifts_{invitation.name}"


def shift_source(invitation: Invitation) -> type[DataSource]:
    """The source whose tasks follow an invitation."""

    class ShiftSource(DataSource):
        @classmethod
        def name(cls) -> str:
            return format_of(invitation)

        def schema(self) -> str:
            return SCHEMA

        def streamReader(self, schema: Any) -> DataSourceStreamReader:
            return ShiftReader(invitation)

    return ShiftSource
