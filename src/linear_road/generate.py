"""Write the files of a run into a folder: `input`, `tolls` and `segments`, as Parquet or as the specification's CSV.

A file appears under its name only when it is complete: it is written beside it as `.<name>.partial`, flushed to disk
and renamed; a failure removes the partial file. The same configuration gives the same bytes. Threads make rows while
others encode them, a few pieces behind at most, so memory does not grow with the run.

**The input as Parquet** has its rows in stream order, and a row group covers whole seconds. Within a second rows go by
expressway, so one file of the largest city serves every smaller one: read a row group and keep its
`first_expressways`. The stretch of a rating is thus generated once, with `TrafficConfig(xways=L, start_minute=160,
minutes=20)`, for the largest L. The histories of the large city serve the small ones as well; a vehicle that comes
from an expressway beyond has no toll row there, and an expenditure without a row is 0.
"""

from __future__ import annotations

import math
import os
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, Final, Literal, Self

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet

from linear_road import history, records, traffic
from linear_road.load import TrafficConfig

Format = Literal["parquet", "csv"]

PIECE_ROWS: Final = 1 << 17
"""Rows written at a time, and so of a Parquet row group: enough to compress well, few enough to skip by minute."""
PIECES_BEHIND: Final = 3
CSV_THREADS: Final = 2
"""Making CSV costs three times what making the rows does."""


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a file is: `rows` handed to the writer, `share` of the whole from 0 to 1."""

    file: str
    rows: int
    share: float


def generate(
    config: TrafficConfig,
    folder: Path,
    format: Format = "parquet",
    days: int = records.HISTORY_DAYS,
    on_progress: Callable[[Progress], None] = lambda progress: None,
) -> dict[str, Path]:
    """Write all three files of a run; their paths by name.

    `on_progress` is called after each piece, in the calling thread. Existing files are replaced. Less than ten weeks
    of `days` makes a smaller history, for trials.
    """
    return {
        "input": write_input(config, folder, format, on_progress),
        "tolls": write_tolls(config, folder, format, days, on_progress),
        "segments": write_segments(config, folder, format, days, on_progress),
    }


def write_input(
    config: TrafficConfig,
    folder: Path,
    format: Format = "parquet",
    on_progress: Callable[[Progress], None] = lambda progress: None,
) -> Path:
    """Write the input stream of a run, or of a stretch of it, alone.

    Of a stretch the progress counts from minute 0: the traffic before it must be simulated, without rows, first.
    """
    seconds = config.end_minute * 60

    def moved(second: int) -> None:
        on_progress(Progress(f"input.{format}", 0, second / seconds))

    def share(rows: int, last: pa.RecordBatch) -> float:
        return float((last["Time"][-1].as_py() + 1) / seconds)

    batches = traffic.simulate(config, on_skipped=moved)
    return _write("input", records.INPUT, batches, folder, format, share, on_progress)


def first_expressways(rows: pa.Table, xways: float) -> pa.Table:
    """The rows of the city's first `xways` expressways: those of its reports, and the requests these bring.

    `rows` are whole seconds of a generated input, for example a row group. A request need not name the expressway its
    vehicle is on, so it goes with the report before it. Of a last half expressway the eastbound direction is kept,
    less the requests for a journey westbound on it.
    """
    kind, xway, direction = (rows[name].to_numpy() for name in ("Type", "XWay", "Dir"))
    asked = np.flatnonzero(kind != records.POSITION)
    if len(asked) and asked[0] == 0:
        raise ValueError("the rows begin with a request without its report; give whole seconds of a generated input")
    home, heading = xway.copy(), direction.copy()
    home[asked], heading[asked] = xway[asked - 1], direction[asked - 1]
    whole = math.floor(xways)
    keep = home < whole
    if xways > whole:
        start, end = (rows[name].to_numpy() for name in ("Sinit", "Send"))
        keep |= (home == whole) & (heading == records.EAST) & ~((xway == whole) & (end < start))
    return rows if keep.all() else rows.filter(pa.array(keep))


def write_tolls(
    config: TrafficConfig,
    folder: Path,
    format: Format = "parquet",
    days: int = records.HISTORY_DAYS,
    on_progress: Callable[[Progress], None] = lambda progress: None,
) -> Path:
    """Write the toll history of a run's vehicles alone."""
    expected = history.toll_rows(config, days)
    batches = history.tolls(config, days)
    return _write("tolls", records.TOLLS, batches, folder, format, lambda rows, _: rows / expected, on_progress)


def write_segments(
    config: TrafficConfig,
    folder: Path,
    format: Format = "parquet",
    days: int = records.HISTORY_DAYS,
    on_progress: Callable[[Progress], None] = lambda progress: None,
) -> Path:
    """Write the segment history alone."""
    expected = history.segment_rows(config, days)
    batches, schema = history.segments(config, days), records.SEGMENT_STATISTICS
    return _write("segments", schema, batches, folder, format, lambda rows, _: rows / expected, on_progress)


def _write(
    name: str,
    schema: pa.Schema,
    batches: Iterable[pa.RecordBatch],
    folder: Path,
    format: Format,
    share: Callable[[int, pa.RecordBatch], float],
    on_progress: Callable[[Progress], None],
) -> Path:
    encoders = {"parquet": _ParquetEncoder, "csv": _CsvEncoder}
    if format not in encoders:
        raise ValueError(f"format {format!r} is not one of {', '.join(encoders)}")
    path = folder / f"{name}.{format}"
    rows = 0
    with _complete_or_absent(path) as file, encoders[format](file, schema) as encoder:
        for piece in _pieces(batches):
            encoder.add(pa.Table.from_batches(piece))
            rows += sum(batch.num_rows for batch in piece)
            on_progress(Progress(path.name, rows, share(rows, piece[-1])))
    return path


def _pieces(batches: Iterable[pa.RecordBatch]) -> Iterator[list[pa.RecordBatch]]:
    """The batches, gathered until they have `PIECE_ROWS`."""
    piece: list[pa.RecordBatch] = []
    for batch in batches:
        piece.append(batch)
        if sum(batch.num_rows for batch in piece) >= PIECE_ROWS:
            yield piece
            piece = []
    if piece:
        yield piece


@contextmanager
def _complete_or_absent(path: Path) -> Iterator[BinaryIO]:
    """A file that takes its name when the block succeeds, and is removed when it fails."""
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(f".{path.name}.partial")
    try:
        with partial.open("wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        partial.replace(path)
    except BaseException:
        partial.unlink(missing_ok=True)
        raise


class _Encoder(ABC):
    """Encodes pieces in threads of its own and writes them in order. The file is complete when the block ends."""

    threads = 1

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._pool = ThreadPoolExecutor(self.threads, "encode")
        self._behind: deque[Future[Any]] = deque()

    @abstractmethod
    def encode(self, piece: pa.Table) -> Any:
        """The bytes of a piece; nothing if they are in the file already."""

    @abstractmethod
    def close(self) -> None:
        """Write what stands behind the last piece."""

    def add(self, piece: pa.Table) -> None:
        """Take the next piece; waits while `PIECES_BEHIND` are not written."""
        if len(self._behind) == PIECES_BEHIND:
            self._write_first()
        self._behind.append(self._pool.submit(self.encode, piece))

    def _write_first(self) -> None:
        encoded = self._behind.popleft().result()
        if encoded is not None:
            self._file.write(encoded)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, failed: type[BaseException] | None, *_: object) -> None:
        try:
            while self._behind and failed is None:
                self._write_first()
        finally:
            self._pool.shutdown(cancel_futures=True)
            self.close()


class _CsvEncoder(_Encoder):
    threads = CSV_THREADS
    _options = pyarrow.csv.WriteOptions(include_header=False, batch_size=1 << 16)

    def __init__(self, file: BinaryIO, schema: pa.Schema) -> None:
        super().__init__(file)

    def encode(self, piece: pa.Table) -> Any:
        out = pa.BufferOutputStream()
        pyarrow.csv.write_csv(piece, out, self._options)
        return out.getvalue()

    def close(self) -> None:
        """Nothing: a CSV file just ends."""


class _ParquetEncoder(_Encoder):
    def __init__(self, file: BinaryIO, schema: pa.Schema) -> None:
        super().__init__(file)
        near = {name: "DELTA_BINARY_PACKED" for name in ("VID", "Pos") if name in schema.names}
        self._writer = pyarrow.parquet.ParquetWriter(
            file,
            schema,
            compression="snappy",
            use_dictionary=[name for name in schema.names if name not in near],
            column_encoding=near,
        )

    def encode(self, piece: pa.Table) -> Any:
        self._writer.write_table(piece, row_group_size=piece.num_rows)

    def close(self) -> None:
        self._writer.close()
