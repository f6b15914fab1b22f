"""Linear Road's generator: reports a second into Parquet and CSV, a late stretch of a large city, full-size history.

CPU seconds are of all threads together, so rows per CPU second say what one free core makes, whoever else is at work.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow.compute as pc
import pyarrow.parquet

from benchmarks.harness import Options, Report, rounded
from linear_road import generate, history, records, traffic
from linear_road.generate import Progress, first_expressways
from linear_road.traffic import TrafficConfig


def run(options: Options, report: Report) -> None:
    report.issue = 4
    _whole_run(options, report)
    _stretch(options, report)
    _history(options, report)


def _whole_run(options: Options, report: Report) -> None:
    config = TrafficConfig(xways=2, minutes=options.size(records.RUN_MINUTES, 3), seed=1)
    rows: list[dict[str, Any]] = []

    def simulate() -> int:
        return sum(batch.num_rows for batch in traffic.simulate(config))

    count, figures = _measured(simulate)
    rows.append({"made": "rows in memory", "rows": count, **figures, "MB": None})
    with options.folder("run") as folder:
        sizes = {}
        for format in ("parquet", "csv"):
            path, figures = _measured(lambda format=format: generate.write_input(config, folder, format))
            sizes[format] = _rows_in(path)
            assert sizes[format] == count, f"{path.name} has {sizes[format]} rows, not {count}"
            rows.append({"made": path.name, "rows": count, **figures, "MB": rounded(path.stat().st_size / 1e6)})
        table = pyarrow.parquet.read_table(folder / "input.parquet", columns=["Type", "Time"])
        kinds = {v["values"]: v["counts"] for v in pc.value_counts(table["Type"]).to_pylist()}
    reports = kinds.pop(records.POSITION)
    assert abs(sum(kinds.values()) / reports - 0.01) < 0.002, f"{kinds} requests to {reports} reports"
    for row in rows:
        row["reports/s"] = rounded(reports / row["s"])
        row["reports/CPU s"] = rounded(reports / row["CPU s"])
    report.table(f"Two expressways, {config.minutes} minutes: {reports:,} reports", rows)
    for row in rows[1:]:
        report.bar(6, f"reports/s into {row['made']}", row["reports/s"], ">=", 1_000_000)


def _stretch(options: Options, report: Report) -> None:
    """What a rating reads: the last 20 minutes of a large city, and the city's first expressways out of it."""
    xways = options.size(50, 4)
    start, minutes = options.size(160, 3), options.size(20, 1)
    config = TrafficConfig(xways=xways, start_minute=start, minutes=minutes, seed=1)
    with options.folder("stretch") as folder:
        path, figures = _measured(lambda: generate.write_input(config, folder))
        made = {"xways": xways, "rows": _rows_in(path), **figures, "MB": rounded(path.stat().st_size / 1e6)}
        report.table(f"Minutes {start}-{config.end_minute} into Parquet", [made])
        file = pyarrow.parquet.ParquetFile(path)
        rows = []
        for some in (xways, xways // 2):

            def read(some: int = some) -> int:
                groups = (file.read_row_group(number, use_threads=False) for number in range(file.num_row_groups))
                return sum(first_expressways(group, some).num_rows for group in groups)

            count, figures = _measured(read)
            assert (count == made["rows"]) == (some == xways), f"{count} rows of {some} expressways"
            rows.append({"xways read": some, "rows": count, **figures, "rows/CPU s": rounded(count / figures["CPU s"])})
        report.table("Reading it, for the first expressways", rows)


def _history(options: Options, report: Report) -> None:
    config, days = TrafficConfig(seed=1, load=1 if not options.quick else 0.01), options.size(records.HISTORY_DAYS, 1)
    writers: dict[str, Callable[..., Path]] = {"tolls": generate.write_tolls, "segments": generate.write_segments}
    expected = {"tolls": history.toll_rows(config, days), "segments": history.segment_rows(config, days)}
    rows = []
    with options.folder("history") as folder:
        for name, write in writers.items():
            for format in ("parquet", "csv"):
                seen: list[Progress] = []
                path, figures = _measured(
                    lambda write=write, format=format, seen=seen: write(config, folder, format, days, seen.append)
                )
                assert _rows_in(path) == expected[name] == seen[-1].rows, f"{path.name} is not complete"
                size = rounded(path.stat().st_size / 1e6)
                rows.append({"file": path.name, "rows": expected[name], **figures, "MB": size})
                path.unlink()
    report.table(f"History of one expressway, {days} days", rows)


def _measured(action: Callable[[], Any]) -> tuple[Any, dict[str, float]]:
    wall, cpu = time.perf_counter(), time.process_time()
    result = action()
    return result, {"s": rounded(time.perf_counter() - wall), "CPU s": rounded(time.process_time() - cpu)}


def _rows_in(path: Path) -> int:
    if path.suffix == ".parquet":
        return int(pyarrow.parquet.ParquetFile(path).metadata.num_rows)
    with path.open("rb") as file:
        return sum(block.count(b"\n") for block in iter(lambda: file.read(1 << 22), b""))
