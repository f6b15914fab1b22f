"""Linear Road as an application of a pond: the statements of `linear_road.sql`, what they need, and how history gets in.

Everything the benchmark asks is said in SQL, but for travel times (`travel.py`). Input comes in over a source: a folder in which
a driver puts files, each with all tuples of one or more seconds, so that time is complete as soon as a file is read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet

import millpond
from linear_road import records, travel

_BATCH_ROWS: Final = 1_000_000
_INSERT: Final = """
INSERT INTO reports SELECT VID, Spd, XWay, Lane, Dir, Seg, Pos, Time FROM lr_input WHERE Type = 0;
INSERT INTO requests SELECT Type, VID, XWay, QID, Sinit, Send, DOW, TOD, Day, Time FROM lr_input WHERE Type <> 0
"""


@dataclass(frozen=True)
class Answer:
    """One of the five outputs: its number in the output file, the query that gives it, how to write a row of it, and the
    seconds it may take. `{emit}` is the time of its output."""

    type: int
    query: str
    row: tuple[str, ...]
    limit: int


ANSWERS: Final = (
    Answer(0, "toll_notifications", ("vid", "t", "{emit}", "lav", "toll"), 5),
    Answer(1, "accident_alerts", ("t", "{emit}", "vid", "seg"), 5),
    Answer(2, "balances", ("t", "{emit}", "t", "qid", "balance"), 5),
    Answer(3, "expenditures", ("t", "{emit}", "qid", "tolls"), 10),
    Answer(4, "travel_times", ("t", "{emit}", "qid", "seconds", "toll"), 30),
)


def create(db: millpond.Pond, folder: Path, means: Path) -> None:
    """Make tables, views and queries; `folder` is where the driver puts its files, `means` where `load_segments` put the
    means of the segment history."""
    for name, function in (("travel_seconds", "seconds"), ("travel_toll", "toll")):
        arguments = "folder STRING, xway INT, sinit INT, send INT, dow INT, tod INT"
        db.sql(f"CREATE FUNCTION {name} ({arguments}) RETURNS BIGINT AS PYTHON 'linear_road.travel:{function}'")
    text = (resources.files("linear_road") / "linear_road.sql").read_text("utf-8")
    db.sql(text.replace(":segments", _quoted(means)))
    fields = ", ".join(f"{name} {'BIGINT' if name == 'Time' else 'INT'}" for name in records.INPUT.names)
    db.sql(f"CREATE SOURCE lr_input ({fields}) FROM FILES {_quoted(folder)} FORMAT PARQUET WITH (complete = 'Time')")
    db.sql(_INSERT)


def _quoted(path: Path) -> str:
    return "'" + str(path.absolute()).replace("\\", "\\\\").replace("'", "\\'") + "'"


def load_tolls(db: millpond.Pond, path: Path, on_rows: Callable[[int], None] = lambda rows: None) -> int:
    """Load the toll history, in the order of vehicles, so that a vehicle's rows are found in few places."""
    ordered, newest = True, -1
    for batch in read_batches(path, records.TOLLS):
        vehicles = batch.column(0).to_numpy()
        ordered = ordered and (not len(vehicles) or (vehicles[0] >= newest and bool((np.diff(vehicles) >= 0).all())))
        newest = vehicles[-1] if len(vehicles) else newest
    batches = read_batches(path, records.TOLLS)
    if not ordered:
        batches = iter(
            pa.Table.from_batches(list(batches), schema=records.TOLLS).sort_by("VID").to_batches(_BATCH_ROWS)
        )
    count = 0
    for batch in batches:
        db.append("toll_history", pa.Table.from_batches([batch]).rename_columns(["vid", "day", "xway", "tolls"]))
        count += batch.num_rows
        on_rows(count)
    return count


def load_segments(path: Path | None, means: Path, today: int = 1) -> int:
    """Write the means of the segment history; without one, those of an empty one."""
    batches = iter(()) if path is None else read_batches(path, records.SEGMENT_STATISTICS)
    return travel.summarise(batches, means, today)


def read_batches(path: Path, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    """The rows of a file of the benchmark, CSV without a header or Parquet, in pieces, all columns as in `schema`."""
    if path.suffix == ".parquet":
        with pa.parquet.ParquetFile(path) as file:
            for batch in file.iter_batches(_BATCH_ROWS, columns=schema.names):
                yield batch.cast(schema)
        return
    with pa.csv.open_csv(
        path,
        pa.csv.ReadOptions(column_names=schema.names, block_size=32 << 20),
        convert_options=pa.csv.ConvertOptions(column_types=schema),
    ) as reader:
        for batch in reader:
            yield batch.cast(schema)
