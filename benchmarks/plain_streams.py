"""What `many` compares with: plain Spark streaming queries, one for each continuous query, in a process of its own.

`python -m benchmarks.plain_streams <folder of files> <folder to move them to> <seconds> <queries>` moves one file a second into
the folder the queries read, and prints how long their batches took.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

import numpy as np
from pyspark.sql import SparkSession

from benchmarks.harness import DECLARED


def main(source: str, folder: str, seconds: str, count: str) -> None:
    session = (
        SparkSession.builder.master("local[2]")
        .config("spark.ui.enabled", "false")
        .config("spark.sql.shuffle.partitions", "2")
        .config("spark.sql.streaming.stateStore.providerClass",
                "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider")
        .getOrCreate()
    )  # fmt: skip
    session.sparkContext.setLogLevel("ERROR")
    stream = session.readStream.schema(DECLARED).format("parquet").option("maxFilesPerTrigger", 1).load(folder)
    queries = []
    begin = time.monotonic()
    for number in range(int(count)):
        if number % 10 < 7:
            frame = stream.where(f"seg = {number} AND spd > {50 + number}")
            mode = "append"
        elif number % 10 < 9:
            frame = stream.where(f"xway = {number % 10}").groupBy("seg", "dir", (stream.t / 60).cast("long")).count()
            mode = "update"
        else:
            frame = stream.groupBy("vid").agg({"seg": "max"}).where(f"max(seg) = {number}")
            mode = "update"
        queries.append(
            frame.writeStream.format("noop").outputMode(mode)
            .option("checkpointLocation", f"{source}/checkpoint-{number}")
            .trigger(processingTime="1 second").start()
        )  # fmt: skip
    started = time.monotonic() - begin
    for second in range(int(seconds)):
        (Path(source) / f"{second:04d}.parquet").rename(Path(folder) / f"{second:04d}.parquet")
        time.sleep(1)
    time.sleep(5)
    durations, done = [], []
    for query in queries:
        progress = [p for p in query.recentProgress if p.numInputRows]
        durations += [p.batchDuration / 1000 for p in progress]
        done.append(len(progress))
    for query in queries:
        query.stop()
    print(
        json.dumps(
            {
                "queries": len(queries),
                "start s": round(started, 1),
                "batch median s": float(np.median(durations)) if durations else None,
                "p95 s": float(np.percentile(durations, 95)) if durations else None,
                "of files, evaluated by the median query": int(np.median(done)),
                "files": int(seconds),
            }
        )
    )
    session.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
