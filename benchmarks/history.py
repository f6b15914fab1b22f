"""Bar 6: the same ten-minute questions on 1, 10 and 100 million rows of history: medians, and bytes read.

The traffic of some minutes is appended again and again, each time later, so that a minute has as many rows in a long
history as in a short one. Periods are drawn from the whole history.
"""

from __future__ import annotations

import re
import time
from typing import Any

import pyarrow as pa

import millpond
from benchmarks.harness import (
    CREATE,
    SUMS,
    Asker,
    Options,
    Report,
    check_sums,
    median,
    minutes,
    p95,
    shifted,
    sums,
    timed,
    traffic,
)
from millpond.pond import Pond

PLANNED = re.compile(r"total: ([\d,]+) rows")
READ = re.compile(r"ran: .* ([\d,]+) bytes of files read")
NAMES = ("vehicle", "segment")


def run(options: Options, report: Report) -> None:
    lap_minutes = 65  # a million rows of a quiet road: ten minutes are a small part even of the shortest history
    load = 0.002 if options.quick else 0.17
    lap = list(minutes(traffic(minutes=lap_minutes, start_minute=100, load=load)))
    first = lap[0]["t"][0].as_py() // 60 * 60
    lap = [shifted(table, -first) for table in lap]
    lap_rows, lap_sums = sum(t.num_rows for t in lap), sum(map(sums, lap))
    whole = pa.concat_tables(lap)
    targets = [1, 10, 100] if not options.quick else [1, 3, 10]
    repeats = options.size(60, 10)
    found: list[dict[str, Any]] = []
    with millpond.connect(options.workdir / "pond", spark_master="local[2]") as db:
        db.sql(CREATE)
        done, begin = 0, time.monotonic()
        for laps in targets:
            for number in range(done, laps):
                for table in lap:
                    db.append("posreports", shifted(table, number * lap_minutes * 60))
            done = laps
            db.archive()
            rows = lap_rows * laps
            report.say(
                f"{rows:,} rows are there, {rows / (time.monotonic() - begin):,.0f} rows/s of loading and asking"
            )
            counted = db.sql(SUMS).rows()[0]
            assert counted[0] == rows, f"{counted[0]} rows instead of {rows}"
            check_sums("sums", counted[1:-1], lap_sums[1:-1] * laps)
            found += _measure(db, whole, laps, lap_minutes * 60, repeats, rows)
    report.table("Ten-minute questions", found)
    _judge(report, found)
    _chart(report, found)


def _measure(db: Pond, lap: pa.Table, laps: int, seconds: int, repeats: int, rows: int) -> list[dict[str, Any]]:
    times: dict[str, list[float]] = {n: [] for n in NAMES}
    read: dict[str, list[tuple[int, int]]] = {n: [] for n in NAMES}
    asker = Asker(lap)
    for repeat in range(repeats):
        for name in NAMES:
            sql, expected = _question(asker, lap, name, laps, seconds)
            took, answer = timed(lambda sql=sql: db.sql(sql).arrow())
            assert answer.num_rows == expected, f"{sql}: {answer.num_rows} rows instead of {expected}"
            times[name].append(took)
            if repeat < max(10, repeats // 3):
                read[name].append(_read(db, _question(asker, lap, name, laps, seconds)[0]))
    files = len(db._workspace.stream("posreports").rows.manifest.current.files)
    return [
        {
            "question": name,
            "history rows": rows,
            "files": files,
            "median ms": median(times[name]),
            "p95 ms": p95(times[name]),
            "rows looked at, median": int(median([r for r, _ in read[name]])),
            "bytes read, median": int(median([b for _, b in read[name]])),
            "bytes read, most": max(b for _, b in read[name]),
        }
        for name in NAMES
    ]


def _question(asker: Asker, lap: pa.Table, name: str, laps: int, seconds: int) -> tuple[str, int]:
    """A question within one lap, and how many rows its answer has by the lap's own rows."""
    number = int(asker.random.integers(0, laps))
    sql = asker.draw(name, 0, seconds)
    low, high = (int(v) for v in re.search(r"t >= (\d+) AND t < (\d+)", sql).groups())  # type: ignore[union-attr]
    t = lap["t"].to_numpy()
    chosen = (t >= low) & (t < high)
    for column, value in re.findall(r"(vid|seg|dir) = (\d+)", sql):
        chosen &= lap[column].to_numpy() == int(value)
    expected = len(set(lap["vid"].to_numpy()[chosen])) if name == "segment" else int(chosen.sum())
    shift = number * seconds
    return sql.replace(f"t >= {low} AND t < {high}", f"t >= {low + shift} AND t < {high + shift}"), expected


def _read(db: Pond, sql: str) -> tuple[int, int]:
    """Rows of the row groups that must be looked at, and bytes really read."""
    plan = "\n".join(line for (line,) in db.sql(f"EXPLAIN ANALYZE {sql}").rows())
    found = [pattern.search(plan) for pattern in (PLANNED, READ)]
    assert all(found), f"EXPLAIN ANALYZE does not tell what was read: {plan}"
    rows, size = (int(match[1].replace(",", "")) for match in found if match)
    return rows, size


def _judge(report: Report, found: list[dict[str, Any]]) -> None:
    for name in NAMES:
        medians = [f["median ms"] for f in found if f["question"] == name]
        sizes = [f["bytes read, median"] for f in found if f["question"] == name]
        report.bar(6, f"{name}: slowest median to fastest", max(medians) / min(medians), "<=", 1.5)
        report.bar(
            6, f"{name}: bytes read in the longest history to the shortest", sizes[-1] / max(1, sizes[0]), "<=", 1.5
        )


def _chart(report: Report, found: list[dict[str, Any]]) -> None:
    axes = report.draw(2)
    if axes is None:
        return
    for name in NAMES:
        mine = [f for f in found if f["question"] == name]
        x = [f["history rows"] / 1e6 for f in mine]
        axes[0].plot(x, [f["median ms"] for f in mine], marker="o", label=name)
        axes[1].plot(x, [f["bytes read, median"] / 1e6 for f in mine], marker="o", label=name)
    for axis, title in zip(axes, ("median, ms", "bytes read, MB"), strict=True):
        axis.set(xscale="log", xlabel="history, million rows", title=title)
        axis.set_ylim(bottom=0)
        axis.legend()
