"""Read the input: position reports by expressway and direction, and the requests.

The file is in time order, over all expressways; the work goes expressway by expressway. So one pass writes the reports
of each expressway and direction, 16 bytes each, to a scratch file of its own, and memory is bounded by the fullest of
them. Requests are few and are kept. History files are read by the same `batches`, a piece at a time.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import BinaryIO, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet

from linear_road import records
from linear_road.validator.progress import OnProgress, Progress

Ints = npt.NDArray[np.int32]
Longs = npt.NDArray[np.int64]

BATCH_ROWS: Final = 1 << 20
BLOCK_BYTES: Final = 1 << 25
LANES: Final = 5
MOST_XWAYS: Final = 1 << 14
REPORT: Final = np.dtype(
    [("time", "i4"), ("vid", "i4"), ("position", "i4"), ("speed", "i2"), ("lane", "u1"), ("segment", "u1")]
)


@dataclass(frozen=True, slots=True)
class Requests:
    """The requests of one type as columns of equal length, by the names of the input's fields."""

    columns: dict[str, Ints]

    def __getitem__(self, name: str) -> Ints:
        return self.columns[name]

    def __len__(self) -> int:
        return len(self.columns["Time"])


@dataclass
class Input:
    """An input file, split over scratch files in `folder`."""

    folder: Path
    directions: list[tuple[int, int]] = field(default_factory=list)
    """Expressway and direction of every scratch file."""
    requests: dict[int, Requests] = field(default_factory=dict)
    reports: int = 0
    outside: int = 0
    """Position reports that are not from the city."""
    unknown: int = 0
    """Rows that are no tuple of the benchmark: of another type, or with another number of fields."""

    def direction(self, xway: int, direction: int) -> npt.NDArray[np.void]:
        """The reports of one direction of an expressway in the order of the file, as records of `REPORT`."""
        return np.fromfile(self.path(xway, direction), REPORT)

    def path(self, xway: int, direction: int) -> Path:
        return self.folder / f"{xway}-{direction}"


@contextmanager
def split(path: Path, on_progress: OnProgress) -> Iterator[Input]:
    """The input file at `path`, split; the scratch files go when the context ends."""
    with tempfile.TemporaryDirectory(prefix="linear-road-") as folder:
        yield _split(path, Input(Path(folder)), on_progress)


def _split(path: Path, into: Input, on_progress: OnProgress) -> Input:
    kept: dict[int, list[dict[str, Ints]]] = {
        kind: [] for kind in (records.BALANCE, records.EXPENDITURE, records.TRAVEL_TIME)
    }
    pieces = Pieces(path, records.INPUT)
    with ExitStack() as files:
        open_files: dict[int, BinaryIO] = {}
        for share, columns in pieces:
            reports = _sift(columns, kept, into)
            for key, rows in _by_direction(columns, reports, into):
                if key not in open_files:
                    into.directions.append(divmod(key, 2))
                    scratch = into.path(*into.directions[-1])
                    open_files[key] = files.enter_context(scratch.open("wb"))
                rows.tofile(open_files[key])
            on_progress(Progress("reading the input", share))
    into.directions.sort()
    into.unknown += pieces.skipped
    into.requests = {kind: Requests(_concatenate(parts)) for kind, parts in kept.items()}
    return into


class Pieces:
    """The columns of a file in pieces, with the share of the file read: CSV without header, or Parquet by its magic.

    A CSV line with another number of fields is skipped and counted in `skipped`.
    """

    def __init__(self, path: Path, schema: pa.Schema) -> None:
        self._path, self._schema, self.skipped = path, schema, 0

    def __iter__(self) -> Iterator[tuple[float, dict[str, Ints]]]:
        with self._path.open("rb") as file:
            parquet = file.read(4) == b"PAR1"
        try:
            yield from self._parquet() if parquet else self._csv()
        except pa.ArrowInvalid as problem:
            raise ValueError(f"{self._path} is not a file of {', '.join(self._schema.names)}: {problem}") from problem

    def _parquet(self) -> Iterator[tuple[float, dict[str, Ints]]]:
        with pyarrow.parquet.ParquetFile(self._path) as file:
            missing = [name for name in self._schema.names if name not in file.schema_arrow.names]
            if missing:
                raise ValueError(f"{self._path} has no column {', '.join(missing)}")
            rows, total = 0, max(file.metadata.num_rows, 1)
            for batch in file.iter_batches(BATCH_ROWS, columns=self._schema.names):
                rows += batch.num_rows
                yield rows / total, self._columns(batch)

    def _csv(self) -> Iterator[tuple[float, dict[str, Ints]]]:
        size = self._path.stat().st_size
        if not size:
            return
        with (
            pa.OSFile(str(self._path)) as file,
            pyarrow.csv.open_csv(
                file,
                pyarrow.csv.ReadOptions(column_names=self._schema.names, block_size=BLOCK_BYTES),
                pyarrow.csv.ParseOptions(invalid_row_handler=self._skip, quote_char=False),
                pyarrow.csv.ConvertOptions(column_types=self._schema, null_values=[]),
            ) as reader,
        ):
            for batch in reader:
                yield min(file.tell() / size, 1.0), self._columns(batch)

    def _columns(self, batch: pa.RecordBatch) -> dict[str, Ints]:
        return {name: batch[name].cast(pa.int32()).to_numpy(zero_copy_only=False) for name in self._schema.names}

    def _skip(self, row: object) -> str:
        self.skipped += 1
        return "skip"


def _sift(columns: dict[str, Ints], kept: dict[int, list[dict[str, Ints]]], into: Input) -> npt.NDArray[np.bool_]:
    """Put the requests into `kept`; which rows are position reports."""
    kinds = columns["Type"]
    reports: npt.NDArray[np.bool_] = kinds == records.POSITION
    into.reports += int(np.count_nonzero(reports))
    others = np.flatnonzero(~reports)
    known = 0
    for kind, parts in kept.items():
        at = others[kinds[others] == kind]
        parts.append({name: column[at] for name, column in columns.items()})
        known += len(at)
    into.unknown += len(others) - known
    return reports


def _by_direction(
    columns: dict[str, Ints], reports: npt.NDArray[np.bool_], into: Input
) -> Iterator[tuple[int, npt.NDArray[np.void]]]:
    """The reports from the city, grouped by 2 * expressway + direction, each group in the order of the file."""
    speed, direction, xway = columns["Spd"], columns["Dir"], columns["XWay"]
    lane, segment = columns["Lane"], columns["Seg"]
    inside = reports & (direction >= 0) & (direction <= 1) & (segment >= 0) & (segment < records.SEGMENTS)
    inside &= (lane >= 0) & (lane < LANES) & (columns["Time"] >= 0) & (columns["VID"] >= 0)
    inside &= (xway >= 0) & (xway < MOST_XWAYS) & (np.abs(speed) < 1 << 15)
    at = np.flatnonzero(inside)
    into.outside += int(np.count_nonzero(reports)) - len(at)
    key = (xway[at] * 2 + direction[at]).astype(np.int16)
    order = np.argsort(key, kind="stable")
    key, at = key[order], at[order]
    rows = np.empty(len(at), REPORT)
    names = {"time": "Time", "vid": "VID", "position": "Pos", "speed": "Spd", "lane": "Lane", "segment": "Seg"}
    for name, column in names.items():
        rows[name] = columns[column][at]
    starts = np.flatnonzero(np.diff(key, prepend=-1))
    for start, end in pairwise([*starts, len(key)]):
        yield int(key[start]), rows[start:end]


def _concatenate(parts: list[dict[str, Ints]]) -> dict[str, Ints]:
    return {
        name: np.concatenate([part[name] for part in parts] or [np.empty(0, np.int32)]) for name in records.INPUT.names
    }
