"""Linear Road by polling, on PostgreSQL: what the paper calls System X, done well.

Every second's reports are copied into a staging table, and a fixed set of statements is run over them: batched, set-oriented, on
indexed tables. The road is split by direction over as many connections as there are cores. If a batch takes longer
than a second, the next one is larger: all that is waiting, up to half a minute.

Two of them: without recovery logging, as the paper's System X ran, so that a crash loses everything; and with it, so that a
batch whose answers are out survives a crash, as with millpond.
"""

from __future__ import annotations

import contextlib
import io
import threading
import time
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from importlib import resources
from pathlib import Path
from typing import Any, Final, Self

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.parquet

from benchmarks.linear_road.running import ROUND, Answers, in_rounds
from linear_road import records, travel
from linear_road.application import read_batches

SETTINGS: Final = {
    "shared_buffers": "2GB",
    "work_mem": "256MB",
    "temp_buffers": "128MB",
    "maintenance_work_mem": "1GB",
    "effective_cache_size": "8GB",
    "random_page_cost": "1.1",
    "max_wal_size": "8GB",
    "wal_level": "minimal",
    "max_wal_senders": "0",
    "jit": "off",  # statements of milliseconds
}
UNSAFE: Final = {"fsync": "off", "synchronous_commit": "off"}
_POLL: Final = 0.02
_PLAIN: Final = pa.csv.WriteOptions(include_header=False, quoting_style="none")
_BATCH: Final = ("VID", "Time", "Pos", "XWay", "Dir", "Seg", "Lane", "Spd")
_ASKED: Final = ("Type", "Time", "VID", "XWay", "QID", "Sinit", "Send", "DOW", "TOD", "Day")

_SHARED: Final = """
CREATE UNLOGGED TABLE accounts (vid int PRIMARY KEY, balance bigint) WITH (fillfactor = 50);
CREATE UNLOGGED TABLE toll_history (vid int, day smallint, xway smallint, tolls int);
CREATE UNLOGGED TABLE means (xway smallint, dow smallint, dir smallint, seg smallint, min smallint, lav float8, cnt float8)
"""
_INDEXES: Final = """
CREATE INDEX ON toll_history (vid, day, xway);
CREATE UNIQUE INDEX ON means (xway, dow, dir, seg, min);
ANALYZE toll_history; ANALYZE means
"""
_STAGING: Final = """
CREATE TEMP TABLE batch (vid int, t int, pos int, xway smallint, dir smallint, seg smallint, lane smallint, spd smallint)
  ON COMMIT DELETE ROWS
"""
_REQUESTS: Final = """
CREATE TEMP TABLE requests (type int, t int, vid int, xway int, qid int, sinit int, send int, dow int, tod int, day int)
"""
# A batch is new to the planner, and not as small as it may think: everything it is joined with goes into a hash table.
_PLANS: Final = "SET enable_nestloop = off; SET enable_mergejoin = off"

_TAKE: Final = """
INSERT INTO reports_{k}
SELECT b.vid, b.t, b.pos,
       CASE WHEN p.seg = b.seg THEN p.toll WHEN b.lane = 4 THEN 0 ELSE COALESCE(c.toll, 0) END,
       CASE WHEN p.seg <> b.seg AND p.lane <> 4 THEN p.toll ELSE 0 END,
       b.xway, b.dir, b.seg, b.lane, b.spd,
       CASE WHEN p.pos = b.pos AND p.lane = b.lane THEN LEAST(p.still + 1, 9) ELSE 1 END,
       p.seg IS DISTINCT FROM b.seg
FROM batch b
LEFT JOIN reports_{k} p ON p.vid = b.vid AND p.t = b.t - 30 AND p.xway = b.xway AND p.dir = b.dir
  AND p.t BETWEEN {first} - 30 AND {last} - 30
LEFT JOIN conditions_{k} c ON c.xway = b.xway AND c.dir = b.dir AND c.seg = b.seg
"""
_CHARGE: Final = """
INSERT INTO accounts AS a SELECT vid, SUM(charge) FROM reports_{k} WHERE t BETWEEN {first} AND {last} AND charge > 0
GROUP BY vid ORDER BY vid ON CONFLICT (vid) DO UPDATE SET balance = a.balance + excluded.balance
"""
_NOTIFY: Final = """
SELECT r.vid, r.t, COALESCE(c.lav, 0), r.toll, CASE WHEN r.dir = 0 THEN r.seg + c.ahead ELSE r.seg - c.ahead END
FROM reports_{k} r LEFT JOIN conditions_{k} c ON c.xway = r.xway AND c.dir = r.dir AND c.seg = r.seg
WHERE r.t BETWEEN {first} AND {last} AND r.entered AND r.lane <> 4
"""

_MINUTE: Final = """
INSERT INTO minutes_{k}
SELECT {t}, xway, dir, seg, SUM(speed) / COUNT(*), COUNT(*)
FROM (SELECT xway, dir, seg, vid, SUM(spd)::float8 / COUNT(*) AS speed
      FROM reports_{k} WHERE t >= {t} - 60 AND t < {t} GROUP BY xway, dir, seg, vid) AS cars
GROUP BY xway, dir, seg;
DELETE FROM minutes_{k} WHERE t < {t} - 240;
TRUNCATE conditions_{k};
WITH stops AS MATERIALIZED (
  SELECT vid, xway, dir, lane, pos, t FROM reports_{k} WHERE still >= 4 AND t >= {t} - 89 AND t < {t} AND lane BETWEEN 1 AND 3),
accidents AS (
  SELECT DISTINCT a.xway, a.dir, a.pos / 5280 AS seg
  FROM stops a JOIN stops b ON a.xway = b.xway AND a.dir = b.dir AND a.lane = b.lane AND a.pos = b.pos AND a.vid < b.vid
  WHERE ABS(a.t - b.t) < 30 AND LEAST(a.t, b.t) + 29 >= {t} - 60),
warnings AS (
  SELECT xway, dir, CASE WHEN dir = 0 THEN seg - d ELSE seg + d END AS seg, MIN(d) AS ahead
  FROM accidents CROSS JOIN generate_series(0, 4) AS d GROUP BY 1, 2, 3),
speeds AS (
  SELECT xway, dir, seg, FLOOR(AVG(speed) + 0.000000001)::int AS lav, MAX(CASE WHEN t = {t} THEN cars ELSE 0 END) AS cars
  FROM minutes_{k} GROUP BY xway, dir, seg)
INSERT INTO conditions_{k}
SELECT xway, dir, seg, COALESCE(lav, 0),
       CASE WHEN lav < 40 AND cars > 50 AND ahead IS NULL THEN 2 * (cars - 50) * (cars - 50) ELSE 0 END, ahead
FROM speeds FULL JOIN warnings USING (xway, dir, seg);
ANALYZE conditions_{k}
"""

_BALANCES: Final = """
SELECT q.t, {asof}, q.qid, COALESCE(a.balance, 0) FROM requests q LEFT JOIN accounts a USING (vid) WHERE q.type = 2
"""
_EXPENDITURES: Final = """
SELECT q.t, q.qid, COALESCE(SUM(h.tolls), 0)
FROM requests q LEFT JOIN toll_history h ON h.vid = q.vid AND h.day = q.day AND h.xway = q.xway
WHERE q.type = 3 GROUP BY q.t, q.qid
"""
_JOURNEYS: Final = """
WITH RECURSIVE journeys AS (
  SELECT t, qid, xway, CASE WHEN send > sinit THEN 0 ELSE 1 END AS dir, sinit AS seg, send, dow - 1 AS dow, tod - 1 AS tod,
         0::float8 AS minutes, 0::float8 AS toll
  FROM requests WHERE type = 4
  UNION ALL
  SELECT j.t, j.qid, j.xway, j.dir, j.seg + 1 - 2 * j.dir, j.send, j.dow, j.tod,
         j.minutes + CASE WHEN m.lav > 0 THEN 60 / m.lav ELSE 0 END,
         j.toll + CASE WHEN m.lav > 0 AND m.lav < 40 AND m.cnt > 50 THEN 2 * (m.cnt - 50) * (m.cnt - 50) ELSE 0 END
  FROM (SELECT *, tod + FLOOR(minutes + 0.000000001)::int AS clock FROM journeys WHERE seg <> send) AS j
  LEFT JOIN means m ON m.xway = j.xway AND m.dow = (j.dow + j.clock / 1440) % 7 AND m.dir = j.dir AND m.seg = j.seg
    AND m.min = j.clock % 1440)
SELECT t, qid, FLOOR(minutes * 60 + 0.5)::bigint, FLOOR(toll + 0.5)::bigint FROM journeys WHERE seg = send
"""


class PostgresPeer:
    name = "PostgreSQL, polling, no log"
    logged = False

    def __init__(self, shards: int = 2) -> None:
        self._shards = shards
        self._stack = contextlib.ExitStack()
        self._pool = ThreadPoolExecutor(shards + 1)
        self._ended = threading.Event()
        self._thread: threading.Thread | None = None
        self._minute = -1
        self.answered = 0
        self.batches: list[tuple[int, int, float]] = []
        self.error: BaseException | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._stop()
        self._pool.shutdown()
        self._stack.close()

    # -- before the run ---------------------------------------------------------------------------------------------------

    def load(self, folder: Path, tolls: Path | None, segments: Path | None) -> None:
        import psycopg

        from tests.postgres import running_postgres

        settings = SETTINGS if self.logged else SETTINGS | UNSAFE
        dsn = self._stack.enter_context(running_postgres(folder / "postgres", settings))
        self._roads = [self._stack.enter_context(psycopg.connect(dsn)) for _ in range(self._shards)]
        self._asker = self._stack.enter_context(psycopg.connect(dsn))
        asker = self._asker
        asker.execute(self._tables(_SHARED))
        if tolls is not None:
            _copy_in(asker, "toll_history", read_batches(tolls, records.TOLLS))
        if segments is not None:
            travel.summarise(read_batches(segments, records.SEGMENT_STATISTICS), folder / "means")
            _copy_in(asker, "means", _means(folder / "means"))
        asker.execute(_INDEXES)
        asker.execute(_REQUESTS)
        text = (resources.files("benchmarks.linear_road") / "postgres_peer.sql").read_text("utf-8")
        for k, road in enumerate(self._roads):
            asker.execute(self._tables(text.replace("{k}", str(k))))
            road.execute(_STAGING)
            road.execute(_PLANS)
            road.commit()
        asker.commit()

    def _tables(self, text: str) -> str:
        return text.replace("UNLOGGED TABLE", "TABLE") if self.logged else text

    # -- the run ----------------------------------------------------------------------------------------------------------

    def start(self, folder: Path, answers: Answers) -> None:
        self._answers = answers
        self._thread = threading.Thread(target=self._poll, args=(folder,), daemon=True)
        self._thread.start()

    def finish(self) -> int:
        self._stop()
        if self.error is not None:
            raise self.error
        counted = " + ".join(f"(SELECT COUNT(*) FROM reports_{k})" for k in range(self._shards))
        return int(self._asker.execute(f"SELECT {counted}").fetchone()[0])  # type: ignore[index]

    def _stop(self) -> None:
        self._ended.set()
        if self._thread is not None:
            self._thread.join()

    def _poll(self, folder: Path) -> None:
        taken: set[str] = set()
        try:
            while not self._ended.is_set():
                waiting = sorted(p for p in folder.glob("*.parquet") if p.name not in taken)
                if not waiting:
                    time.sleep(_POLL)
                    continue
                taken |= {p.name for p in waiting}
                rows = pa.concat_tables([pa.parquet.read_table(p) for p in waiting])
                for first, last, piece in in_rounds(rows):
                    begin = time.perf_counter()
                    self._take(first, last, piece)
                    self.batches.append((last, piece.num_rows, time.perf_counter() - begin))
                    self.answered = last + 1
                    if self._ended.is_set():
                        return
        except BaseException as error:  # the thread's end is told to who waits for it
            self.error = error

    def _take(self, first: int, last: int, rows: pa.Table) -> None:
        self._enter_minute(first // 60)
        kind = rows["Type"]
        reports = rows.filter(pc.equal(kind, records.POSITION))
        asked = rows.filter(pc.not_equal(kind, records.POSITION)).select(_ASKED)
        # A balance may be a minute old: this one is as of the second before the batch.
        self._asker.execute("TRUNCATE requests")
        _copy_in(self._asker, "requests", [asked])
        balances = _copy_out(self._asker, _BALANCES.format(asof=max(0, first - 1)), ("t", "result", "qid", "balance"))
        self._answers.put(2, balances)
        shard = pc.bit_wise_and(pc.add(pc.multiply(reports["XWay"], 2), reports["Dir"]), self._shards - 1)
        work: list[Callable[[], None]] = [self._answer_history]
        for k in range(self._shards):
            mine = reports.filter(pc.equal(shard, k)).select(_BATCH)
            work.append(lambda k=k, mine=mine: self._drive(k, mine, first, last))  # type: ignore[misc]
        for done in [self._pool.submit(w) for w in work]:
            done.result()

    def _enter_minute(self, minute: int) -> None:
        """What is known at the start of a minute, for every minute since the last; nothing before the first reports."""
        if self._minute < 0:
            self._minute = minute
        while self._minute < minute:
            self._minute += 1
            statements = [_MINUTE.format(k=k, t=self._minute * 60) for k in range(self._shards)]
            for done in [self._pool.submit(_run, r, s) for r, s in zip(self._roads, statements, strict=True)]:
                done.result()

    def _drive(self, k: int, reports: pa.Table, first: int, last: int) -> None:
        road, place = self._roads[k], {"k": k, "first": first, "last": last}
        _copy_in(road, "batch", [reports])
        road.execute(_TAKE.format(**place))
        entered = _copy_out(road, _NOTIFY.format(**place), ("vid", "t", "lav", "toll", "seg"))
        road.execute(_CHARGE.format(**place))
        road.commit()
        self._answers.put(0, entered)
        self._answers.put(1, entered.filter(pc.is_valid(entered["seg"])))

    def _answer_history(self) -> None:
        self._answers.put(3, _copy_out(self._asker, _EXPENDITURES, ("t", "qid", "tolls")))
        self._answers.put(4, _copy_out(self._asker, _JOURNEYS, ("t", "qid", "seconds", "toll")))
        self._asker.commit()


class LoggedPostgresPeer(PostgresPeer):
    name = "PostgreSQL, polling, logged"
    logged = True


def _run(connection: Any, statements: str) -> None:
    connection.execute(statements)
    connection.commit()


def _copy_in(connection: Any, table: str, batches: Iterable[pa.Table | pa.RecordBatch]) -> None:
    with connection.cursor() as cursor, cursor.copy(f"COPY {table} FROM STDIN (FORMAT csv)") as copy:
        for batch in batches:
            if batch.num_rows:
                text = io.BytesIO()
                pa.csv.write_csv(batch, text, _PLAIN)
                copy.write(text.getbuffer())


def _copy_out(connection: Any, query: str, names: tuple[str, ...]) -> pa.Table:
    with connection.cursor() as cursor, cursor.copy(f"COPY ({query}) TO STDOUT (FORMAT csv)") as copy:
        text = b"".join(copy)
    schema = pa.schema([(name, pa.int64()) for name in names])
    if not text:
        return schema.empty_table()
    return pa.csv.read_csv(
        io.BytesIO(text),
        pa.csv.ReadOptions(column_names=list(names)),
        convert_options=pa.csv.ConvertOptions(column_types=schema),
    )


def _means(folder: Path) -> Iterable[pa.Table]:
    """The means of the segment history, a table for each expressway."""
    lav, cnt = (np.load(folder / f"{name}.npy", mmap_mode="r") for name in ("lav", "cnt"))
    for xway in range(len(lav)):
        known = np.flatnonzero(~np.isnan(lav[xway].reshape(-1)))
        days, directions, segments, minutes = np.unravel_index(known, lav[xway].shape)
        yield pa.table(
            {
                "xway": np.full(len(known), xway), "dow": days, "dir": directions, "seg": segments, "min": minutes,
                "lav": lav[xway].reshape(-1)[known], "cnt": cnt[xway].reshape(-1)[known],
            }
        )  # fmt: skip


assert ROUND == 30, "the statements say 30"
