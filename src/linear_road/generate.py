"""Write the files of a run into a folder: `input`, `tolls` and `segments`, as Parquet or as the specification's CSV.

A file appears under its name only when it is complete: it is written beside it as `.<name>.partial`, flushed to disk
and renamed; a failure removes the partial file. The same configuration gives the same bytes. One thread makes rows
while another encodes and writes them, two pieces behind at most, so memory does not grow with the run.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, Final, Literal

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet

from linear_road import history, records, traffic
from linear_road.traffic import TrafficConfig

Format = Literal["parquet", "csv"]

PIECE_ROWS: Final = 1 << 17
"""Rows written at a time, and so of a Parquet row group: enough to compress well, few enough to skip by minute."""
PIECES_BEHIND: Final = 2


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
    """Write the input stream of a run alone."""
    start, seconds = config.start_minute * 60, config.minutes * 60

    def share(rows: int, last: pa.RecordBatch) -> float:
        return float((last["Time"][-1].as_py() + 1 - start) / seconds)

    return _write("input", records.INPUT, traffic.simulate(config), folder, format, share, on_progress)


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
    path = folder / f"{name}.{format}"
    rows = 0
    with (
        _complete_or_absent(path) as file,
        _writer(file, schema, format) as writer,
        ThreadPoolExecutor(1, f"write {name}") as thread,
    ):
        behind: list[Future[None]] = []
        for piece in _pieces(batches):
            if len(behind) == PIECES_BEHIND:
                behind.pop(0).result()
            behind.append(thread.submit(writer.write_table, pa.Table.from_batches(piece)))
            rows += sum(batch.num_rows for batch in piece)
            on_progress(Progress(path.name, rows, share(rows, piece[-1])))
        for written in behind:
            written.result()
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


def _writer(file: BinaryIO, schema: pa.Schema, format: Format) -> Any:
    if format == "csv":
        return pyarrow.csv.CSVWriter(file, schema, write_options=pyarrow.csv.WriteOptions(include_header=False))
    if format == "parquet":
        return pyarrow.parquet.ParquetWriter(file, schema, compression="snappy")
    raise ValueError(f"format {format!r} is not one of parquet, csv")
