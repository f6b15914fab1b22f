"""Windows of a reduction that were computed when they were asked for, in an archive of their own.

    reductions/<folder>/   a Delta table with a row for each window and value of the keys; its state says which windows count

Idea. What is kept is said by stretches, not by the rows that are there: a window without rows is kept as well, and rows of a
window that does not count any more stay in their file until it is written anew. UPDATE and DELETE call `changing` around what
they do. Before the rows change, the windows concerned are durably no longer kept; and whoever was computing windows from
the rows as they were cannot keep them afterwards, because `generation` is another.

Invariant. Windows of a stretch in `State.kept` are all there, in rows that say what the rows of the table say.
"""

from __future__ import annotations

import threading
import uuid
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from millpond.arrow import arrow_schema, conform
from millpond.catalog import Reduction
from millpond.clock import Clock
from millpond.durable import delete_folder
from millpond.event_time import event_times
from millpond.schema import SEQ, with_seq
from millpond.table.block import BlockSpec, write_blocks
from millpond.table.manifest import ArchiveFile, Manifest
from millpond.table.store import Snapshot, Store
from millpond.table.work import read_file

FOLDER = "reductions"
WINDOW_START = "window_start"
_MOST_FILES = 16

Stretch = tuple[int, int]


@dataclass(frozen=True)
class State:
    """Stretches of time (without their end): of windows that are `kept` here, and of those that have `changed` since the
    reduction's query sent them. `epoch` counts the changes."""

    kept: tuple[Stretch, ...] = ()
    changed: tuple[Stretch, ...] = ()
    epoch: int = 0

    def to_json(self) -> dict[str, Any]:
        return {"kept": [list(s) for s in self.kept], "changed": [list(s) for s in self.changed], "epoch": self.epoch}

    @classmethod
    def from_json(cls, data: Any) -> State:
        return cls(
            tuple((low, high) for low, high in data["kept"]),
            tuple((low, high) for low, high in data["changed"]),
            data["epoch"],
        )


class KeptWindows:
    """Of one reduction. The writing process changes them; readers call `refresh`."""

    def __init__(self, pond: Path, reduction: Reduction, clock: Clock) -> None:
        self._clock = clock
        self._lock = threading.RLock()
        self._columns = reduction.columns
        self._changing = 0
        self.generation = 0
        folder = pond / FOLDER / reduction.folder
        self.store = Store(Manifest(folder), BlockSpec(str(folder), WINDOW_START))

    @staticmethod
    def create(pond: Path, reduction: Reduction, clock: Clock) -> None:
        folder = pond / FOLDER / reduction.folder
        delete_folder(folder, pond)  # left by a creation that failed before the catalog named it
        Manifest.create(folder, reduction.columns, State().to_json(), clock.micros() // 1000)

    def refresh(self) -> None:
        """As a reader, take in what the writer did."""
        with self.store.lock:
            self.store.manifest.refresh()

    def read(self) -> tuple[State, Snapshot]:
        """What is kept, and the rows."""
        snapshot = self.store.snapshot()
        return State.from_json(snapshot.version.state), snapshot

    @contextmanager
    def changing(self, state: State) -> Iterator[None]:
        """Around a change of the table's rows: from here on `state` says what is kept. Nothing is kept meanwhile."""
        with self._lock:
            self._changing += 1
            self.generation += 1
            now = State.from_json(self.store.manifest.current.state)
            if (state.kept, state.changed) != (now.kept, now.changed):
                self._commit([], [], None, replace(state, epoch=now.epoch + 1))
        try:
            yield
        finally:
            with self._lock:
                self._changing -= 1
                self.generation += 1

    def keep(self, rows: pa.Table, kept: Sequence[Stretch], stretches: Sequence[Stretch], generation: int) -> bool:
        """Keep windows that were computed when the generation was this; not if rows have changed since.

        `rows` are those of the windows in `stretches`; with them, `kept` is what is kept.
        """
        with self._lock:
            self.store.check()
            if self._changing or generation != self.generation:
                return False
            current = self.store.manifest.current
            state = State.from_json(current.state)
            schema = arrow_schema(with_seq(self._columns))
            old = [f for f in current.files.values() if _overlaps(f, stretches)]
            if len(current.files) - len(old) >= _MOST_FILES:
                old = list(current.files.values())
            parts = [_without(_rows_of(self.store.folder / f.path, schema), stretches) for f in old]
            numbers = np.arange(current.position, current.position + rows.num_rows, dtype=np.int64)
            parts.append(rows.append_column(pa.field(SEQ, pa.int64()), pa.array(numbers)).cast(schema))
            together = pa.concat_tables(parts).combine_chunks().sort_by(WINDOW_START)
            files = write_blocks(self.store.spec, together, 0, uuid.uuid4().hex[:12])
            self._commit(
                files, [f.path for f in old], current.position + rows.num_rows, replace(state, kept=tuple(kept))
            )
            return True

    def _commit(self, add: list[ArchiveFile], remove: list[str], position: int | None, state: State) -> None:
        self.store.commit(add=add, remove=remove, position=position, state=state.to_json(), operation="WRITE",
                          now_ms=self._clock.micros() // 1000, age=self._clock.monotonic())  # fmt: skip
        self.store.manifest.checkpoint()
        self.store.delete_removed(self._clock.monotonic())


def _overlaps(file: ArchiveFile, stretches: Sequence[Stretch]) -> bool:
    return any(file.least < high and file.greatest >= low for low, high in stretches)


def _rows_of(path: Path, schema: pa.Schema) -> pa.Table:
    return pa.Table.from_batches([conform(b, schema) for b in read_file(path).to_batches()], schema=schema)


def _without(rows: pa.Table, stretches: Sequence[Stretch]) -> pa.Table:
    times = event_times(rows, WINDOW_START)
    there = np.ones(len(times), dtype=bool)
    for low, high in stretches:
        there &= (times < low) | (times >= high)
    return rows.filter(pa.array(there))
