"""What an input file holds, found in one quick pass before a run: so that a file that cannot be run is refused at once, with
the place of the mistake, and not after the histories were loaded.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet

import millpond
from linear_road import records

_COLUMNS: Final = ("Type", "Time", "XWay", "Dir")
_FORMAT: Final = "An input has 15 whole numbers a row, no header, in the order of Time: " + ",".join(
    records.INPUT.names
)

OnShare = Callable[[float], None]


@dataclass(frozen=True, slots=True)
class Facts:
    """Tuples, how many of them are position reports, the first and last second, and how many expressways reported."""

    tuples: int
    reports: int
    first: int
    last: int
    xways: float
    """Directions that reported, halved: the L of the file."""


def survey(path: Path, on_share: OnShare = lambda share: None) -> Facts:
    """Read the file once; raises `IntakeError` if it is not an input of Linear Road in the order of time."""
    tuples = reports = 0
    first = last = -1
    directions: set[tuple[int, int]] = set()
    try:
        for share, batch in _pieces(path):
            kind, time, xway, direction = (batch.column(name).to_numpy() for name in _COLUMNS)
            if not len(time):
                continue
            _check_order(path, tuples, last, time)
            first, last = (int(time[0]) if first < 0 else first), int(time[-1])
            here = kind == records.POSITION
            tuples, reports = tuples + len(time), reports + int(np.count_nonzero(here))
            pairs = np.unique(xway[here].astype(np.int64) * 2 + direction[here])
            directions |= {divmod(int(pair), 2) for pair in pairs}
            on_share(share)
    except pa.ArrowInvalid as problem:
        detail = _bad_row(path) or str(problem).removeprefix("CSV parse error: ")
        raise millpond.IntakeError(f'"{path}" is no input of Linear Road', detail=detail, hint=_FORMAT) from problem
    if not tuples:
        raise millpond.IntakeError(f'"{path}" has no tuples', hint=_FORMAT)
    return Facts(tuples, reports, first, last, len(directions) / 2)


def _bad_row(path: Path) -> str:
    """The first row of a CSV file that is not what it should be, told by its number; nothing if there is none."""
    if path.suffix == ".parquet":
        return ""
    with path.open("rb") as file:
        for number, line in enumerate(file, 1):
            fields = line.rstrip(b"\r\n").split(b",")
            if len(fields) == len(records.INPUT.names) and all(f.removeprefix(b"-").isdigit() for f in fields):
                continue
            if line.strip():
                return f"Row {number:,} is {line[:200].decode('utf-8', 'replace').rstrip()!r}."
    return ""


def _check_order(path: Path, before: int, last: int, time: Any) -> None:
    """The first row of a piece that is earlier than the row before it is told by its number."""
    earlier = np.concatenate(([last], time[:-1]))
    wrong = np.flatnonzero(time < earlier)
    if not len(wrong):
        return
    row = int(wrong[0])
    if time[row] < 0:
        told = f"Row {before + row + 1:,} has Time {time[row]}."
    else:
        told = f"Row {before + row + 1:,} has Time {time[row]}, the row before it {earlier[row]}."
    raise millpond.IntakeError(
        f'"{path}" is not in the order of Time',
        detail=told,
        hint=f"Sort it: sort -t, -k2,2n -s {path.name} > sorted.csv",
    )


def _pieces(path: Path) -> Iterator[tuple[float, pa.RecordBatch]]:
    """The columns of a file in pieces, with the share of the file that is read."""
    if path.suffix == ".parquet":
        with pa.parquet.ParquetFile(path) as file:
            done, all_rows = 0, max(file.metadata.num_rows, 1)
            schema = pa.schema([records.INPUT.field(name) for name in _COLUMNS])
            for batch in file.iter_batches(1 << 20, columns=list(_COLUMNS)):
                done += batch.num_rows
                yield done / all_rows, batch.cast(schema)
        return
    size = max(path.stat().st_size, 1)
    with pa.OSFile(str(path)) as source:
        options = pa.csv.ReadOptions(column_names=records.INPUT.names, block_size=16 << 20)
        converting = pa.csv.ConvertOptions(column_types=records.INPUT)
        for batch in pa.csv.open_csv(source, options, convert_options=converting):
            yield source.tell() / size, batch
