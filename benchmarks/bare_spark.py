"""What `intake` compares with: a bare Spark stream that copies files to Parquet, in a process of its own.

`python -m benchmarks.bare_spark <warm-up folder> <folder> <out> <csv|parquet> <repeats>` prints the seconds of each copy,
from the start of the query to its end. Settings are Spark's own, but for the console; a trigger takes all there is.
"""

from __future__ import annotations

import json
import shutil
import sys
import time

from pyspark.sql import SparkSession

from benchmarks.harness import DECLARED


def main(warm_up: str, folder: str, out: str, kind: str, repeats: str) -> None:
    session = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false").getOrCreate()
    session.sparkContext.setLogLevel("ERROR")

    def copy(source: str) -> float:
        shutil.rmtree(out, ignore_errors=True)
        shutil.rmtree(f"{out}-checkpoint", ignore_errors=True)
        stream = session.readStream.schema(DECLARED).format(kind).load(source).writeStream.format("parquet")
        begin = time.perf_counter()
        query = stream.option("checkpointLocation", f"{out}-checkpoint").trigger(availableNow=True).start(out)
        query.awaitTermination()
        return time.perf_counter() - begin

    copy(warm_up)
    print(json.dumps([copy(folder) for _ in range(int(repeats))]))
    session.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
