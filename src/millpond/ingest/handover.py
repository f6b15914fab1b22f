"""Rows that another process hands over to the one that writes a pond: Spark's tasks, for one, which write where they run.

    incoming/parts/<id>.arrow      rows, as an Arrow file
    incoming/<id>.request          what is to be taken: a table, files of rows, and what the whole is known by
    incoming/<id>.outcome          what became of it: the receipt, or the error

Whoever hands over writes the parts, then the request, and waits for the outcome. The process that writes the pond takes
requests one after the other. It need not live when they are made: the next one finds them.

Invariant. What is handed over is taken once. How many of its rows are taken is written into the log together with these rows,
under the `key` of the request: a run of batches such as a query of Spark, whose batches are numbered. A batch that was taken
before is not taken again, and of one that was taken in part the rest is, from the same files: a second request for it changes
nothing.
"""

from __future__ import annotations

import contextlib
import os
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from millpond.arrow import integers
from millpond.durable import disk_errors, make_folder, sync_file, sync_folder, write_file
from millpond.errors import IntakeError, MillpondError, PondError
from millpond.ingest.intake import Intake, Origin
from millpond.sealed import BrokenSeal, read_sealed, seal, write_sealed

FOLDER = "incoming"
SOURCE = "spark"  # of rejected rows
_FRAME_ROWS = 1_000_000  # rows that are taken at once; a batch of no more than that appears as a whole
_FRAME_BYTES = 256 << 20
_ABANDONED = 7 * 86_400.0  # seconds after which what belongs to no request is deleted
_COUNTS = ("accepted", "late", "ahead", "malformed")


@dataclass(frozen=True)
class Request:
    """`table` is the folder of the table. `batch` is the number of the batch among those of its `key`; without a number the
    request is the only one of its id, and all such requests of a table share a key."""

    id: str
    table: str
    key: str
    batch: int | None
    parts: tuple[str, ...]


class Incoming:
    """The folder of what is handed over, seen from either side."""

    def __init__(self, pond: Path) -> None:
        self.folder = pond / FOLDER
        self._parts = self.folder / "parts"

    # -- handing over -----------------------------------------------------------------------------------------------

    @contextlib.contextmanager
    def new_part(self, schema: pa.Schema) -> Iterator[tuple[str, pa.ipc.RecordBatchFileWriter]]:
        """The name of a new part and its writer. Durable when the block ends; gone when it raises."""
        make_folder(self._parts)
        name = f"{uuid.uuid4().hex}.arrow"
        path = self._parts / name
        with disk_errors(path):
            try:
                with pa.OSFile(str(path), "wb") as file, pa.ipc.new_file(file, schema) as writer:
                    yield name, writer
                sync_file(path)
                sync_folder(self._parts)
            except BaseException:
                path.unlink(missing_ok=True)
                raise

    def drop_parts(self, names: Iterable[str]) -> None:
        """Delete parts that are not wanted any more."""
        for name in names:
            (self._parts / name).unlink(missing_ok=True)

    def give_up(self, names: Iterable[str]) -> None:
        """Delete parts of a write that has failed. If it failed after it was handed over, it is to be taken all the same."""
        self.drop_parts(set(names) - self._named())

    def hand_over(self, request: Request) -> None:
        """Ask for rows to be taken. If they were asked for before, that request is as good: it is tried again."""
        if self.outcome(request.id) is not None:
            self.forget(request.id)
        try:
            write_file(self._request(request.id), seal(asdict(request)), replace=False)
        except FileExistsError:
            self.drop_parts(request.parts)

    def outcome(self, id: str) -> dict[str, Any] | None:
        """What became of a request, once it is known."""
        try:
            return read_sealed(self._outcome(id))
        except (FileNotFoundError, BrokenSeal):
            return None

    def forget(self, id: str) -> None:
        """The outcome was read."""
        self._outcome(id).unlink(missing_ok=True)

    # -- taking -----------------------------------------------------------------------------------------------------

    def waiting(self) -> list[str]:
        """The requests without an outcome, the oldest first."""
        if not self.folder.is_dir():
            return []
        told = {path.stem for path in self.folder.glob("*.outcome")}
        found = [path for path in self.folder.glob("*.request") if path.stem not in told]
        return [path.stem for path in sorted(found, key=_age)]

    def take(self, id: str, intake_of: Callable[[str], Intake], ended: Callable[[], bool] = lambda: False) -> None:
        """Take what a request asks for, and tell. `intake_of` finds the table in a folder; an error of it is told, too. If the
        pond has `ended` meanwhile, nothing is told: the request waits for the next process that writes it."""
        try:
            request = self._read(id)
            outcome: Mapping[str, Any] = self._taken(request, intake_of(request.table))
        except MillpondError as error:
            if ended():
                return
            write_sealed(self._outcome(id), {"error": error.primary, "detail": error.detail, "hint": error.hint})
            return
        except (pa.ArrowException, TypeError, ValueError) as error:  # rows of a kind that nobody thought of
            told = {"error": "the rows cannot be taken", "detail": f"{type(error).__name__}: {error}", "hint": None}
            write_sealed(self._outcome(id), told)
            return
        write_sealed(self._outcome(id), outcome)
        self._request(id).unlink(missing_ok=True)
        self.drop_parts(request.parts)

    def _taken(self, request: Request, intake: Intake) -> dict[str, int]:
        counts = dict.fromkeys(_COUNTS, 0)
        known = intake.table.state.positions.get(request.key, {})
        if request.batch is not None and known.get("batch", -1) > request.batch:
            return counts
        mine = known.get("batch") == request.batch and known.get("id", request.id) == request.id
        done = int(known.get("rows", 0)) if mine else 0
        rows = self._rows(request, intake)
        order = _in_time(rows, intake)
        room = _FRAME_BYTES * rows.num_rows // max(rows.nbytes, 1)
        step = max(1, min(_FRAME_ROWS, room))
        while done < rows.num_rows:
            end = min(done + step, rows.num_rows)
            position = {"id": request.id, "batch": request.batch, "rows": end}
            chunk = rows.take(pa.array(order[done:end])) if order is not None else rows.slice(done, end - done)
            receipt = intake.offer(chunk, Origin(SOURCE, position, key=request.key))
            for name in _COUNTS:
                counts[name] += getattr(receipt, name)
            done = end
        return counts

    def _rows(self, request: Request, intake: Intake) -> pa.Table:
        tables = []
        for name in request.parts:
            path = self._parts / name
            try:
                tables.append(pa.ipc.open_file(pa.memory_map(str(path))).read_all())
            except (OSError, pa.ArrowInvalid) as error:
                raise PondError(
                    f'rows for table "{intake.table.definition.name}" cannot be read',
                    detail=f"{path}: {str(error).splitlines()[0]}",
                    hint="Write the batch again under a new checkpoint; rows of it that are in the table stay.",
                ) from error
        return pa.concat_tables(tables)

    def sweep(self, now: float) -> None:
        """Delete what a crash left: parts of no request, and outcomes that nobody came for. `now` in seconds since 1970."""
        if not self.folder.is_dir():
            return
        named = self._named()
        old = [*self.folder.glob("*.outcome"), *(p for p in self._parts.glob("*.arrow") if p.name not in named)]
        for path in old:
            if now - _age(path) > _ABANDONED and not self._request(path.stem).exists():
                path.unlink(missing_ok=True)

    def _named(self) -> set[str]:
        """The parts that requests name."""
        named: set[str] = set()
        for path in self.folder.glob("*.request"):
            with contextlib.suppress(MillpondError):
                named.update(self._read(path.stem).parts)
        return named

    def _read(self, id: str) -> Request:
        try:
            found = read_sealed(self._request(id))
        except (OSError, ValueError) as error:
            raise PondError(f'request "{id}" for rows to be taken cannot be read', detail=str(error)) from error
        return Request(found["id"], found["table"], found["key"], found["batch"], tuple(found["parts"]))

    def _request(self, id: str) -> Path:
        return self.folder / f"{id}.request"

    def _outcome(self, id: str) -> Path:
        return self.folder / f"{id}.outcome"


def error_in(outcome: Mapping[str, Any]) -> MillpondError | None:
    """The error that an outcome tells, if it does."""
    if "error" not in outcome:
        return None
    return IntakeError(outcome["error"], detail=outcome["detail"], hint=outcome["hint"])


def _in_time(rows: pa.Table, intake: Intake) -> npt.NDArray[np.int64] | None:
    """The rows of a batch in order of time, as it came from many tasks: none of them shall be late because of another."""
    definition = intake.table.definition
    names = {name.lower(): name for name in rows.column_names}
    time = names.get(definition.time_column.lower())
    if definition.implicit_time or time is None:
        return None
    return integers(pc.sort_indices(rows.column(time))).astype(np.int64)


def _age(path: Path) -> float:
    try:
        return os.stat(path).st_mtime
    except OSError:
        return 0.0
