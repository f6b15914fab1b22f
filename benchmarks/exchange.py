"""Design note 1: archiving by ticks (a worker reads its shard's bytes of the log) against an exchange by Spark's shuffle.

Both write the same blocks of the same log with the same code, in the same Spark session, a tick's worth (a block for each
shard) at a time. The alternative reads the log through a Python data source as Arrow, lets Spark repartition the rows by
shard, and writes the blocks in `mapInArrow`.
"""

from __future__ import annotations

import json
import pickle
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition

import millpond
from benchmarks.harness import CREATE, DECLARED, SUMS, Options, Report, check_sums, median, pieces, sums, traffic
from millpond.arrow import arrow_schema
from millpond.pond import Pond
from millpond.spark.session import get_session
from millpond.table.block import BlockSpec, write_blocks
from millpond.table.log import Frame, LogReader
from millpond.table.work import choose_frames

SHARDS = 2
COLUMNS = f"{DECLARED}, _seq BIGINT, shard INT"
RESULT = "files STRING"


class Piece(InputPartition):
    """Some frames of the log."""

    def __init__(self, frames: Sequence[Frame]) -> None:
        self.sections = [(str(f.path), s) for f in frames for s in f.sections]


class LogRows(DataSource):
    """The rows of a log, with their shard. Option `frames`: a file with the pickled frames."""

    @classmethod
    def name(cls) -> str:
        return "log_rows"

    def schema(self) -> str:
        return COLUMNS

    def reader(self, schema: Any) -> DataSourceReader:
        return LogRowsReader(self.options["frames"])


class LogRowsReader(DataSourceReader):
    def __init__(self, path: str) -> None:
        self._path = path

    def partitions(self) -> Sequence[InputPartition]:
        frames = pickle.loads(Path(self._path).read_bytes())
        return [Piece(frames[i::SHARDS]) for i in range(SHARDS)]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        assert isinstance(partition, Piece)
        for path, section in partition.sections:
            batch = LogReader(Path(path).parent).read(Path(path), section)
            shard = pa.repeat(pa.scalar(section.shard, pa.int32()), batch.num_rows)
            yield batch.append_column(pa.field("shard", pa.int32()), shard)


def run(options: Options, report: Report) -> None:
    ticks = options.size(4, 2)
    block = options.size(1_000_000, 50_000)
    rates: dict[str, list[float]] = {"tick": [], "shuffle": []}
    details: list[dict[str, Any]] = []
    for number in range(options.size(4, 2)):  # the first one warms Spark up and does not count
        folder = options.workdir / f"pond{number}"
        with millpond.connect(folder, block_rows=block, spark_master="local[2]", auto_archive=False) as db:
            db.sql(CREATE)
            db.start()
            db.archive()  # returns when Spark is there
            with db._workspace.work:  # the pipeline waits for us
                expected = _fill(db, ticks * block * SHARDS)
                shuffled, by_shuffle = _by_shuffle(db, options.workdir / f"shuffled{number}", block)
                begin = time.perf_counter()
            db.archive()
            took = time.perf_counter() - begin
            files = list(db._workspace.stream("posreports").rows.manifest.current.files.values())
            check_sums("tick", db.sql(SUMS).rows()[0], expected)
        check_sums(
            "shuffle", duckdb.sql(SUMS.replace("posreports", f"read_parquet({by_shuffle})")).fetchall()[0], expected
        )
        assert abs(len(files) - len(by_shuffle)) <= SHARDS, "the two did not make the same blocks"
        rows = int(expected[0])
        if number:
            rates["tick"].append(rows / took)
            rates["shuffle"].append(rows / shuffled)
            details.append({"run": number, "rows": rows, "tick s": round(took, 2), "shuffle s": round(shuffled, 2),
                            "files by tick": len(files), "files by shuffle": len(by_shuffle)})  # fmt: skip
        report.say(f"run {number}: tick {rows / took:,.0f} rows/s, shuffle {rows / shuffled:,.0f} rows/s")
    tick, shuffle = median(rates["tick"]), median(rates["shuffle"])
    report.table(
        "Rows archived a second, medians",
        [
            {"way": "tick: workers read their shard's bytes", "rows/s": tick, "ratio": 1.0},
            {"way": "Spark exchanges the rows by shard", "rows/s": shuffle, "ratio": round(shuffle / tick, 2)},
        ],
    )
    report.table("Runs", details)


def _fill(db: Pond, rows: int) -> Any:
    total: Any = 0
    left = rows
    for table in pieces(traffic(xways=10, minutes=60), 100_000):
        part = table.slice(0, left)
        db.append("posreports", part)
        total = total + sums(part)
        left -= part.num_rows
        if not left:
            return total
    raise AssertionError("there is not that much traffic")


def _by_shuffle(db: Pond, folder: Path, block: int) -> tuple[float, list[str]]:
    """Archive the log into `folder` by Spark's shuffle: seconds, and the files made."""
    table = db._workspace.stream("posreports")
    spec = replace(table.rows.spec, folder=str(folder))
    schema = arrow_schema(table.stored)
    folder.mkdir()
    session = get_session("local[2]")
    session.dataSource.register(LogRows)
    frames = list(table.frames)
    made: list[str] = []
    begin = time.perf_counter()
    tick = 0
    while frames:
        chosen = choose_frames(frames, block, 0, force=True)
        frames = frames[len(chosen) :]
        tick += 1
        path = folder / f"{tick}.frames"
        path.write_bytes(pickle.dumps(chosen))
        rows = session.read.format("log_rows").option("frames", str(path)).load()
        exchanged = rows.repartitionById(SHARDS, "shard")
        results = exchanged.mapInArrow(_writer(spec, schema, f"tick{tick}"), RESULT).collect()
        made += [str(folder / f["path"]) for row in results for f in json.loads(row["files"])]
    return time.perf_counter() - begin, made


def _writer(spec: BlockSpec, schema: pa.Schema, name: str) -> Any:
    def write(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        rows = pa.Table.from_batches(batches)
        if rows.num_rows:
            shard = rows["shard"][0].as_py()
            plain = rows.drop_columns("shard").cast(schema).sort_by("_seq")  # a shuffle keeps no order
            files = write_blocks(spec, plain, shard, name)
            yield pa.record_batch({"files": [json.dumps([asdict(f) for f in files])]})

    return write
