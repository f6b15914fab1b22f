"""Bar 5: three questions over 12 M archived rows and a live tail while 50,000 rows/s flow in; DuckDB and PostgreSQL too.

All three systems get the same SQL text about the same random period of the history and must give the same rows. Bare
DuckDB reads all live files of the archive (a view over `read_parquet`, footers cached) in this very process; PostgreSQL
has the same rows with B-trees on (vid, t) and (t), vacuumed and warm. Neither sees the live rows, so the last ten minutes
(the last hour) are asked of millpond alone, and its counts are compared with what was appended.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from io import BytesIO
from typing import Any

import duckdb
import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pyarrow import csv

import millpond
from benchmarks.harness import (
    COPY,
    CREATE,
    HOUR,
    POSTGRES_INDEXES,
    POSTGRES_TABLE,
    QUESTIONS,
    SUMS,
    TEN_MINUTES,
    Asker,
    Options,
    Report,
    Watch,
    check_sums,
    median,
    minutes,
    p95,
    pieces,
    postgres,
    shifted,
    sums,
    timed,
    traffic,
)
from millpond.pond import Pond

END = 180 * 60
"""The history is three hours; what flows in comes after it."""
RATE, PIECE = 50_000, 10_000

Times = dict[tuple[str, str], list[float]]
Counts = npt.NDArray[np.int64]


def run(options: Options, report: Report) -> None:
    load = 0.02 if options.quick else 1.0
    repeats = options.size(100, 10)
    with (
        millpond.connect(options.workdir / "pond", spark_master="local[2]") as db,
        postgres(options.workdir / "postgres") as connection,
    ):
        counts = np.zeros(1 << 20, dtype=np.int64)
        asker = _load(db, connection, load, counts, report)
        cursor = connection.cursor()
        bare = duckdb.connect()
        bare.execute("SET parquet_metadata_cache = true").fetchall()
        systems: dict[str, Callable[[str], Any]] = {
            "millpond": lambda sql: db.sql(sql).arrow(),
            "duckdb": lambda sql: bare.sql(sql).to_arrow_table(),
            "postgres": lambda sql: cursor.execute(sql, prepare=False).fetchall(),
        }
        _look_at_files(db, bare)
        _ask(db, bare, asker, systems, 3 if options.quick else 10, None)  # warms all of them up
        db.start()
        db.archive()
        quiet = _ask(db, bare, asker, systems, repeats, None)
        report.say("asked without inflow")
        inflow = Inflow(db, load, options.size(RATE, 5_000), counts)
        tail = db._workspace.stream("posreports").rows.tail
        inflow.start()
        with Watch(lambda: {"tail": tail.rows, "archived": tail.start}) as watch:
            time.sleep(options.size(5, 1))  # until there is a tail
            busy = _ask(db, bare, asker, systems, repeats, inflow)
        report.say("asked with inflow")
        inflow.stop()
        _tell_inflow(report, inflow, watch, options.size(RATE, 5_000))
    for title, times in (("Without inflow, ms", quiet), (f"While {RATE:,} rows/s flow in, ms", busy)):
        report.table(title if not options.quick else title.replace(f"{RATE:,}", "5,000"), _rows(times))
    report.add(
        times_ms={f"{mode} {q} {s}": v for mode, t in (("quiet", quiet), ("inflow", busy)) for (q, s), v in t.items()}
    )
    _judge(report, busy)
    _chart(report, busy)


# -- loading ----------------------------------------------------------------------------------------------------------


def _load(db: Pond, connection: Any, load: float, counts: Counts, report: Report) -> Asker:
    """The history into both, in pieces of a minute; a sample of its rows to ask about. `counts`: rows of each second."""
    db.sql(CREATE)
    connection.execute(POSTGRES_TABLE)
    expected: Any = 0
    sample = []
    with connection.cursor() as cursor, cursor.copy(COPY) as copy:
        for table in minutes(traffic(load=load)):
            db.append("posreports", table)
            text = BytesIO()
            csv.write_csv(table, text, csv.WriteOptions(include_header=False))
            copy.write(text.getbuffer())
            expected = expected + sums(table)
            np.add.at(counts, table["t"].to_numpy(), 1)
            sample.append(table.take(np.arange(0, table.num_rows, 97)))
    db.archive()
    for statement in (*POSTGRES_INDEXES, "VACUUM ANALYZE posreports", "CHECKPOINT"):
        connection.execute(statement)
    check_sums("millpond", db.sql(SUMS).rows()[0], expected)
    check_sums("PostgreSQL", connection.execute(SUMS).fetchone(), expected)
    version = db._workspace.stream("posreports").rows.manifest.current
    assert version.rows == expected[0]
    report.say(
        f"{version.rows:,} rows are in {len(version.files)} files, {version.bytes / 1e6:.0f} MB, and in PostgreSQL"
    )
    report.add(rows=version.rows, files=[{"rows": f.rows, "bytes": f.size} for f in version.files.values()])
    return Asker(pa.concat_tables(sample).combine_chunks())


def _look_at_files(db: Pond, bare: duckdb.DuckDBPyConnection) -> None:
    """Tell bare DuckDB which files are live now."""
    store = db._workspace.stream("posreports").rows
    paths = [str(store.folder / path) for path in store.manifest.current.files]
    bare.execute(f"CREATE OR REPLACE VIEW posreports AS SELECT * FROM read_parquet({paths})").fetchall()


class Inflow(threading.Thread):
    """Appends live traffic at a steady pace, and counts the rows of each second."""

    def __init__(self, db: Pond, load: float, rate: int, counts: Counts) -> None:
        super().__init__(daemon=True)
        self._db = db
        self._load = load
        self._pause = PIECE / rate
        self._ended = threading.Event()
        self._counts = counts
        self.rows = 0
        self.behind = 0.0
        self.took: list[float] = []
        self.until = END  # every row before this time has been acknowledged
        self.elapsed = 0.0

    def run(self) -> None:
        begin = time.monotonic()
        for number, table in enumerate(self._traffic()):
            wait = begin + number * self._pause - time.monotonic()
            self.behind = max(self.behind, -wait)
            if self._ended.wait(max(0.0, wait)):
                break
            took, receipt = timed(lambda table=table: self._db.append("posreports", table))
            assert receipt.accepted == table.num_rows, f"of {table.num_rows} rows, {receipt.accepted} were accepted"
            self.took.append(took)
            self.rows += receipt.accepted
            np.add.at(self._counts, table["t"].to_numpy(), 1)
            self.until = table["t"][-1].as_py()
        self.elapsed = time.monotonic() - begin

    def _traffic(self) -> Iterator[pa.Table]:
        """The busy two hours of a day, one day after the other, from END on."""
        for day in range(1000):
            shift = END + day * 120 * 60 - 60 * 60
            live = traffic(seed=day + 1, start_minute=60, minutes=120, load=self._load)
            yield from pieces((shifted(table, shift) for table in live), PIECE)

    def count(self, low: int, high: int) -> int:
        """Rows there are with a time in [low, high), for `high` up to `until`."""
        return int(self._counts[low:high].sum())

    def stop(self) -> None:
        self._ended.set()
        self.join()


# -- asking -----------------------------------------------------------------------------------------------------------


def _ask(
    db: Pond,
    bare: duckdb.DuckDBPyConnection,
    asker: Asker,
    systems: dict[str, Callable[[str], Any]],
    repeats: int,
    inflow: Inflow | None,
) -> Times:
    times: Times = {}
    names = list(systems)
    for repeat in range(repeats):
        _look_at_files(db, bare)
        for name in QUESTIONS:
            sql = asker.draw(name, 0, END)
            answers = {}
            for turn in range(len(names)):
                system = names[(repeat + turn) % len(names)]  # each goes first equally often
                took, answers[system] = timed(lambda system=system, sql=sql: systems[system](sql))
                times.setdefault((name, system), []).append(took)
            expected = _plain(answers["postgres"])
            for system in names:
                assert _plain(answers[system]) == expected, f"{system} gives another answer to {sql}"
            if inflow is not None:
                _ask_live(db, asker, name, inflow, times)
    return times


def _ask_live(db: Pond, asker: Asker, name: str, inflow: Inflow, times: Times) -> None:
    high = inflow.until
    low = high - (HOUR if name == "hour" else TEN_MINUTES)
    sql = asker.about(name, int(asker.random.integers(1 << 30)), low, high)
    took, answer = timed(lambda: db.sql(sql).arrow())
    times.setdefault((name, "millpond, live"), []).append(took)
    if name == "hour":
        counted = sum(answer["reports"].to_pylist())
        assert counted == inflow.count(low, high), f"{counted} rows instead of {inflow.count(low, high)}: {sql}"


def _plain(answer: Any) -> list[tuple[Any, ...]]:
    rows = [tuple(r.values()) for r in answer.to_pylist()] if isinstance(answer, pa.Table) else answer
    return sorted(rows)


# -- telling ----------------------------------------------------------------------------------------------------------


def _rows(times: Times) -> list[dict[str, Any]]:
    rows = []
    for question in QUESTIONS:
        ours = median(times[question, "millpond"])
        for (name, system), values in times.items():
            if name == question:
                ratio = None if system.startswith("millpond") else round(ours / median(values), 2)
                rows.append({"question": question, "system": system, "median": median(values), "p95": p95(values),
                             "asked": len(values), "millpond takes, times": ratio})  # fmt: skip
    return rows


def _tell_inflow(report: Report, inflow: Inflow, watch: Watch, wanted: int) -> None:
    tails = watch.column("tail")
    report.table(
        "The inflow",
        [
            {
                "rows/s wanted": wanted,
                "rows/s": int(inflow.rows / inflow.elapsed),
                "most behind s": round(inflow.behind, 2),
                "append of 10,000 rows, median ms": median(inflow.took),
                "p95 ms": p95(inflow.took),
                "tail rows, median": int(np.median(tails)),
                "tail rows, most": int(max(tails)),
                "archived meanwhile": int(watch.column("archived")[-1] - watch.column("archived")[0]),
            }
        ],
    )


def _judge(report: Report, times: Times) -> None:
    ours = {q: median(times[q, "millpond"]) for q in QUESTIONS}
    for question in QUESTIONS:
        ratio = ours[question] / median(times[question, "duckdb"])
        report.bar(5, f"{question}: median to that of bare DuckDB", ratio, "<=", 2)
    for question in ("segment", "hour"):
        ratio = ours[question] / median(times[question, "postgres"])
        report.bar(5, f"{question}: median to that of PostgreSQL", ratio, "<=", 1)
    report.bar(5, "vehicle: median, ms", ours["vehicle"], "<=", 20)


def _chart(report: Report, times: Times) -> None:
    axes = report.draw(len(QUESTIONS))
    if axes is None:
        return
    for axis, question in zip(axes, QUESTIONS, strict=True):
        mine = {system: values for (name, system), values in times.items() if name == question}
        axis.boxplot(list(mine.values()), showfliers=False)
        axis.set_xticks(range(1, len(mine) + 1), [s.replace(", ", "\n") for s in mine])
        axis.set(yscale="log", title=f"{question}, ms, with inflow")
