"""Runs with the Python that has Flink: one query over a folder of CSV files; prints a line of JSON.

python flink_rival.py <folder of files> <folder of results> <segments | crossings>
"""

import json
import os
import sys
import time

from pyflink.table import EnvironmentSettings, TableEnvironment

COLUMNS = "vid INT, spd INT, xway INT, lane INT, dir INT, seg INT, pos INT, t BIGINT"
# Two tasks read files at once, so rows are out of order by as much as some files are long.
DELAY = "INTERVAL '20' MINUTE"
RESULTS = {
    "segments": "m TIMESTAMP(3), xway INT, dir INT, seg INT, n BIGINT, speed DOUBLE",
    "crossings": "vid INT, seg INT, before INT, t BIGINT",
}
QUERIES = {
    "segments": """SELECT window_end, xway, dir, seg, COUNT(*), AVG(CAST(spd AS DOUBLE))
        FROM TABLE(TUMBLE(TABLE reports, DESCRIPTOR(ts), INTERVAL '1' MINUTE))
        GROUP BY window_start, window_end, xway, dir, seg""",
    "crossings": """SELECT vid, seg, before, t FROM (
        SELECT vid, seg, t, LAG(seg) OVER (PARTITION BY vid ORDER BY ts) AS before FROM reports) WHERE seg <> before""",
}


def main() -> None:
    files, results, name = sys.argv[1:]
    env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    for key, value in {
        "parallelism.default": "2",
        "table.local-time-zone": "UTC",
        "taskmanager.memory.process.size": "3g",
        "table.exec.mini-batch.enabled": "true",
        "table.exec.mini-batch.allow-latency": "1 s",
        "table.exec.mini-batch.size": "10000",
    }.items():
        env.get_config().set(key, value)
    env.execute_sql(f"""CREATE TABLE reports ({COLUMNS}, ts AS TO_TIMESTAMP_LTZ(t, 0), WATERMARK FOR ts AS ts - {DELAY})
        WITH ('connector' = 'filesystem', 'path' = '{files}', 'format' = 'csv')""")
    kind = RESULTS[name].replace("m TIMESTAMP(3)", "m TIMESTAMP_LTZ(3)")
    env.execute_sql(f"""CREATE TABLE found ({kind})
        WITH ('connector' = 'filesystem', 'path' = '{results}', 'format' = 'csv')""")
    submitted = time.monotonic()
    job = env.execute_sql(f"INSERT INTO found {QUERIES[name]}").get_job_client()
    while job.get_job_status().result().name not in ("RUNNING", "FINISHED"):
        time.sleep(0.02)
    running = time.monotonic()
    job.get_job_execution_result().result()
    ended = time.monotonic()
    print(json.dumps({"starting": running - submitted, "seconds": ended - running}), flush=True)
    os._exit(0)  # the gateway's threads would hold the process


if __name__ == "__main__":
    main()
