"""Bar 4: intake from files through log and Spark pipeline to the archive for five minutes; bare Spark, PostgreSQL too.

Files of position reports (eight integers) are prepared first. Then, one after the other on the same rows:
(a) millpond: the files appear in a folder (as hard links, always some ahead), a continuous INSERT takes them, the
pipeline archives them, with the index on vid and two shards. The clock starts when a warm-up file has been archived, so
Spark is there, and stops when the last row is in the archive. Memory is that of all processes together.
(a2) the same without files: `append` of 10,000-row Arrow batches from memory.
(b) a bare Spark stream that copies files to Parquet, see `bare_spark`.
(c) PostgreSQL: COPY of 10,000-row batches, each committed, into a table with B-trees on (vid, t) and (t): when it is
empty, and when it holds 50 million rows. The text is cut into batches before the clock starts.
"""

from __future__ import annotations

import json
import os
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow import csv

import millpond
from benchmarks.harness import (
    COPY,
    CREATE,
    DECLARED,
    POSTGRES_INDEXES,
    POSTGRES_TABLE,
    ROOT,
    SUMS,
    Options,
    Report,
    Watch,
    check_sums,
    command,
    median,
    p95,
    pieces,
    postgres,
    shifted,
    sums,
    timed,
    traffic,
    tree_megabytes,
)
from millpond.pond import Pond

BATCH = 10_000
COPY_SECONDS = 100_000
INTERVAL = 10
"""Seconds over which a rate is taken."""


@dataclass(frozen=True)
class Prepared:
    path: Path
    rows: int
    sums: Any


def run(options: Options, report: Report) -> None:
    with options.folder("prepared") as folder:
        files = _prepare(folder, options)
        report.say(f"{len(files)} files with {sum(f.rows for f in files):,} rows are ready")
        watch = _from_folder(files, options, report)
        kept = files[: len(files) // options.size(9, 2)]  # the others are not needed any more
        for file in files[len(kept) :]:
            file.path.unlink()
        files = kept
        _appends(files, options, report)
        rates = {"millpond": report.values["millpond_rows_per_s"]}
        rates["bare Spark"] = _bare_spark(files, options, report)
        if options.files == "csv":
            rates |= _postgres(files, options, report)
    ours = rates["millpond"]
    rows = [{"system": s, "rows/s": int(r), "millpond to it": round(ours / r, 2)} for s, r in rates.items()]
    report.table("Rows a second", rows)
    report.bar(4, "rows/s from files to the archive", ours, ">=", 200_000)
    report.bar(4, "sustained for, s", watch.seen[-1]["at"], ">=", 300)
    report.bar(4, "to a bare Spark stream", ours / rates["bare Spark"], ">=", 0.5)
    for name in [n for n in rates if n.startswith("PostgreSQL")]:
        report.bar(4, f"to {name}", ours / rates[name], ">=", 1)
    report.bar(4, "memory, last minute to second minute", report.values["memory_growth"], "<=", 1.1)
    _chart(report, watch)


# -- the files --------------------------------------------------------------------------------------------------------


def _prepare(folder: Path, options: Options) -> list[Prepared]:
    """Enough files for the whole run: 1.8 million rows for each second of it. The first is for warming up.

    One stretch of traffic is written, with times of six digits; in its later copies the first digit is greater, so that
    time moves on by 100,000 s a copy.
    """
    limit = options.size(60_000_000, 300_000)
    files: list[Prepared] = []
    for table in pieces(traffic(xways=options.size(10, 1)), options.size(400_000, 20_000)):
        files.append(_write(folder, len(files), shifted(table, COPY_SECONDS), options.files))
        if sum(f.rows for f in files) >= limit:
            break
    first = list(files)
    for number in range(2, options.size(9, 2) + 1):
        for file in first:
            files.append(_copy_later(file, folder, len(files), number))
    os.sync()  # so that nobody's fsync has to wait for these
    return files


def _write(folder: Path, number: int, table: pa.Table, kind: str) -> Prepared:
    path = folder / f"{number:06d}.{kind}"
    if kind == "parquet":
        pq.write_table(table, path)
    else:
        csv.write_csv(table, path, csv.WriteOptions(include_header=False))
    return Prepared(path, table.num_rows, sums(table))


def _copy_later(file: Prepared, folder: Path, number: int, copy: int) -> Prepared:
    """The same rows, with the first digit of their times being `copy` instead of 1."""
    later = (copy - 1) * COPY_SECONDS
    if file.path.suffix == ".parquet":
        return _write(folder, number, shifted(_read(file), later), "parquet")
    data = np.fromfile(file.path, np.uint8)
    data[np.flatnonzero(data == ord("\n")) - 6] = ord(str(copy))
    path = folder / f"{number:06d}.csv"
    data.tofile(path)
    total = file.sums.copy()
    total[-1] += file.rows * later
    return Prepared(path, file.rows, total)


def _total(files: list[Prepared]) -> Any:
    return sum(f.sums for f in files)


# -- (a) and (a2) millpond --------------------------------------------------------------------------------------------


def _pond(folder: Path) -> Pond:
    db = millpond.connect(folder, spark_master="local[2]")
    db.sql(CREATE)
    return db


def _state(db: Pond) -> dict[str, float]:
    table = db._workspace.stream("posreports")
    return {
        "accepted": table.next_row,
        "archived": table.rows.tail.start,
        "tail_rows": table.rows.tail.rows,
        "tail_mb": table.rows.tail.bytes / 1e6,
        "memory_mb": tree_megabytes(),
    }


def _from_folder(files: list[Prepared], options: Options, report: Report) -> Watch:
    seconds = options.size(300, 6)
    with options.folder("arriving") as arriving, options.folder("pond") as home, _pond(home / "pond") as db:
        table = db._workspace.stream("posreports")
        db.sql(f"CREATE SOURCE reports ({DECLARED}) FROM FILES '{arriving}' FORMAT {options.files}")
        db.start()
        db.sql("INSERT INTO posreports SELECT * FROM reports")
        waiting = iter(files)
        linked = 0

        def arrive() -> bool:
            nonlocal linked
            file = next(waiting, None)
            if file is None:
                return False
            os.link(file.path, arriving / file.path.name)
            linked += file.rows
            return True

        def settle() -> None:
            while table.next_row + table.next_rejected < linked:
                _check_alive(db)
                time.sleep(0.02)
            db.archive()

        arrive()
        settle()
        report.say("the pipeline is warm")
        before, begin = linked, time.monotonic()
        dry = 0.0
        with Watch(lambda: _state(db), 0.1 if options.quick else 1.0) as watch:
            while time.monotonic() - begin < seconds:
                ahead = linked - table.next_row
                if ahead < 4 * files[0].rows and not arrive():
                    dry = time.monotonic() - begin
                    break
                time.sleep(0.02)
            settle()
            took = time.monotonic() - begin
        used = files[: next(i for i in range(1, len(files) + 1) if sum(f.rows for f in files[:i]) == linked)]
        assert table.next_rejected == 0, f"{table.next_rejected} rows were rejected"
        check_sums("millpond", db.sql(SUMS).rows()[0], _total(used))
        version = table.rows.manifest.current
        assert version.rows == linked, "not everything is in the archive"
        report.say(
            f"{linked - before:,} rows in {took:.0f} s" + (f"; the files ran out after {dry:.0f} s" if dry else "")
        )
        _tell(report, watch, linked - before, took, version)
    return watch


def _check_alive(db: Pond) -> None:
    error = next((f.error for f in db._workspace.feeds._running.values() if f.error), None)
    assert error is None, f"the feed stopped: {error}"


def _tell(report: Report, watch: Watch, rows: int, took: float, version: Any) -> None:
    at, memory = np.array(watch.column("at")), np.array(watch.column("memory_mb"))
    fifth = took / 5  # of five minutes, a minute
    second = memory[(at >= fifth) & (at < 2 * fifth)]
    last = memory[(at >= 4 * fifth) & (at < took)]
    intervals = _intervals(watch)
    report.add(
        millpond_rows_per_s=rows / took,
        memory_growth=float(np.median(last) / np.median(second)),
        intervals=intervals,
        watched=watch.seen,
    )
    steady = [i["archived rows/s"] for i in intervals[:-1]] or [rows / took]
    report.table(
        "millpond, from files",
        [
            {
                "rows": rows,
                "seconds": round(took, 1),
                "rows/s": int(rows / took),
                "archived rows/s in 10 s, median": int(np.median(steady)),
                "memory MB, median of the second fifth": int(np.median(second)),
                "of the last": int(np.median(last)),
                "most": int(memory.max()),
                "tail rows, median": int(np.median(watch.column("tail_rows"))),
                "most tail rows": int(max(watch.column("tail_rows"))),
            }
        ],
    )
    sizes = np.array([f.size for f in version.files.values()]) / 1e6
    edges = [0, 0.1, 1, 2, 4, 8, 16, 32, 1000]
    counts = np.histogram(sizes, edges)[0]
    report.add(file_bytes=[f.size for f in version.files.values()])
    named = [f"{a:g}-{b:g} MB" if b < 1000 else f"over {a:g} MB" for a, b in pairwise(edges)]
    report.table(
        "Archive files by size", [{"size": n, "files": int(c)} for n, c in zip(named, counts, strict=True) if c]
    )


def _intervals(watch: Watch) -> list[dict[str, float]]:
    """Rates over each ten seconds, from what was seen at its ends."""
    seen = watch.seen
    marks = [min(seen, key=lambda s, t=t: abs(s["at"] - t)) for t in range(0, int(seen[-1]["at"]) + 1, INTERVAL)]
    return [
        {
            "from s": round(a["at"]),
            "row": int(a["archived"]),
            "accepted rows/s": int((b["accepted"] - a["accepted"]) / (b["at"] - a["at"])),
            "archived rows/s": int((b["archived"] - a["archived"]) / (b["at"] - a["at"])),
        }
        for a, b in pairwise(marks)
        if b["at"] > a["at"]
    ]


def _appends(files: list[Prepared], options: Options, report: Report) -> None:
    """(a2): the rows of some files, again and again, each time later."""
    batches = list(pieces((_read(f) for f in files[1 : options.size(13, 4)]), BATCH))
    step = batches[-1]["t"][-1].as_py() - batches[0]["t"][0].as_py() + 1
    seconds = options.size(60, 3)
    base = [sums(batch) for batch in batches]
    with options.folder("appends") as home, _pond(home / "pond") as db:
        db.start()
        db.append("posreports", shifted(batches[0], -step))
        db.archive()  # Spark is there now
        expected = sums(shifted(batches[0], -step))
        rows, begin = 0, time.monotonic()
        took: list[float] = []
        with Watch(lambda: _state(db)) as watch:
            while time.monotonic() - begin < seconds:
                lap, number = divmod(len(took), len(batches))
                table = shifted(batches[number], lap * step)
                took.append(timed(lambda table=table: db.append("posreports", table))[0])
                rows += table.num_rows
                expected = expected + base[number]
                expected[-1] += lap * step * table.num_rows
            accepted = time.monotonic() - begin
            db.archive()
        everything = time.monotonic() - begin
        check_sums("append", db.sql(SUMS).rows()[0], expected)
    report.add(append_watched=watch.seen)
    report.table(
        "millpond, append of 10,000-row batches",
        [
            {
                "rows": rows,
                "accepted rows/s": int(rows / accepted),
                "archived rows/s": int(rows / everything),
                "append median ms": median(took),
                "p95 ms": p95(took),
                "most tail rows": int(max(watch.column("tail_rows"))),
            }
        ],
    )


def _read(file: Prepared) -> pa.Table:
    if file.path.suffix == ".parquet":
        return pq.read_table(file.path)
    names = [c.split()[0] for c in DECLARED.split(", ")]
    types = {n: pa.int64() if n == "t" else pa.int32() for n in names}
    return csv.read_csv(
        file.path, csv.ReadOptions(column_names=names), convert_options=csv.ConvertOptions(column_types=types)
    )


# -- (b) bare Spark ---------------------------------------------------------------------------------------------------


def _bare_spark(files: list[Prepared], options: Options, report: Report) -> float:
    chosen = files[1 : options.size(26, 5)]
    with options.folder("spark") as folder:
        for name, some in (("warm", files[:1]), ("in", chosen)):
            (folder / name).mkdir()
            for file in some:
                os.link(file.path, folder / name / file.path.name)
        words = [str(folder / n) for n in ("warm", "in", "out")]
        done = subprocess.run(
            command("-m", "benchmarks.bare_spark", *words, options.files, str(options.size(3, 1))),
            cwd=ROOT, capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        seconds = json.loads(done.stdout.splitlines()[-1])
        copied = f"read_parquet('{folder}/out/*.parquet')"
        check_sums("bare Spark", duckdb.sql(SUMS.replace("posreports", copied)).fetchall()[0], _total(chosen))
    rows = sum(f.rows for f in chosen)
    report.say(f"bare Spark copied {rows:,} rows in {', '.join(f'{s:.1f}' for s in seconds)} s")
    report.add(bare_spark={"rows": rows, "seconds": seconds})
    return rows / float(np.median(seconds))


# -- (c) PostgreSQL ---------------------------------------------------------------------------------------------------


def _postgres(files: list[Prepared], options: Options, report: Report) -> dict[str, float]:
    measured = options.size(2_000_000, 100_000)
    full = options.size(50_000_000, 200_000)
    rates = {}
    with options.folder("postgres") as folder, postgres(folder) as connection:
        version = connection.execute("SHOW server_version").fetchone()[0]
        report.machine["versions"]["postgresql"] = version
        connection.execute(POSTGRES_TABLE)
        for statement in POSTGRES_INDEXES:
            connection.execute(statement)
        _copy(connection, list(_batches(files, 0, files[0].rows)), report)  # the warm-up file
        connection.execute("TRUNCATE posreports")
        connection.execute("CHECKPOINT")
        batches = list(_batches(files, 0, measured))
        rates["PostgreSQL COPY at row 0"] = _copy(connection, batches, report)
        connection.execute("DROP TABLE posreports")
        loaded = 0
        used: list[Prepared] = []
        with connection.transaction():
            connection.execute(POSTGRES_TABLE)
            with connection.cursor() as cursor, cursor.copy(COPY) as copy:
                for file in files:
                    if loaded >= full:
                        break
                    copy.write(file.path.read_bytes())
                    loaded += file.rows
                    used.append(file)
        for statement in (*POSTGRES_INDEXES, "VACUUM ANALYZE posreports", "CHECKPOINT"):
            connection.execute(statement)
        check_sums("PostgreSQL", connection.execute(SUMS).fetchone(), _total(used))
        report.say(f"PostgreSQL holds {loaded:,} rows with their indexes")
        batches = list(_batches(files, len(used), measured))
        rates[f"PostgreSQL COPY at row {loaded:,}"] = _copy(connection, batches, report)
        rows = connection.execute("SELECT COUNT(*) FROM posreports").fetchone()[0]
        assert rows == loaded + len(batches) * BATCH, "PostgreSQL lost rows"
    return rates


def _batches(files: list[Prepared], first: int, rows: int) -> Iterator[bytes]:
    """The text of the files from number `first` on, in batches of 10,000 lines, `rows` in all."""
    for file in files[first:]:
        lines = file.path.read_bytes().splitlines(keepends=True)
        for start in range(0, len(lines) - BATCH + 1, BATCH):
            yield b"".join(lines[start : start + BATCH])
            rows -= BATCH
            if rows < BATCH:
                return
    raise AssertionError("there are not that many rows")


def _copy(connection: Any, batches: list[bytes], report: Report) -> float:
    begin = time.perf_counter()
    for batch in batches:
        with connection.cursor() as cursor, cursor.copy(COPY) as copy:  # autocommit: a transaction each
            copy.write(batch)
    took = time.perf_counter() - begin
    report.say(f"PostgreSQL took {len(batches) * BATCH:,} rows in {took:.1f} s")
    return len(batches) * BATCH / took


def _chart(report: Report, watch: Watch) -> None:
    axes = report.draw(4)
    if axes is None:
        return
    intervals = report.values["intervals"]
    for name in ("accepted rows/s", "archived rows/s"):
        axes[0].plot([i["from s"] for i in intervals], [i[name] / 1000 for i in intervals], label=name.split()[0])
    axes[0].set(title="thousand rows/s, each 10 s", xlabel="s", ylim=(0, None))
    axes[0].legend()
    axes[1].plot(watch.column("at"), watch.column("memory_mb"))
    axes[1].set(title="memory of all processes, MB", xlabel="s", ylim=(0, None))
    axes[2].plot(watch.column("at"), [r / 1e6 for r in watch.column("tail_rows")])
    axes[2].set(title="tail, million rows", xlabel="s", ylim=(0, None))
    axes[3].hist([b / 1e6 for b in report.values["file_bytes"]], bins=30)
    axes[3].set(title="archive files by size, MB", ylabel="files")
