"""Linear Road in plain Spark: one Structured Streaming query over the folder of files, and Spark SQL in `foreachBatch`.

As a Spark user would do it well. The reports of the last half minute stay cached, a frame a batch; a batch is joined with the
frames that hold its vehicles' reports of 30 seconds ago. All reports are kept as Parquet, a folder a minute, and at the end of a
minute the segment statistics and the accounts are made from the files of that minute. Small things (the conditions of 200
segments an expressway, requests) are local frames. In the timed part no statement has a time in it as a literal, so that code is
generated once and not for every batch.

A balance may be a minute old: it is as of the end of the last minute. Requests about history wait some seconds for company: their
limits allow it, and a query over files costs the same for one request as for twenty.
"""

from __future__ import annotations

import contextlib
import os
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Final, Self

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame, Observation, SparkSession, functions

from benchmarks.linear_road.running import ROUND, Answers
from linear_road import records, travel
from linear_road.application import read_batches

FILES: Final = 10
"""Files of a batch at most: if one is late, the next takes more."""
PATIENCE: Final = {3: 3, 4: 10}
"""Seconds that requests about history wait for others."""

_KEPT: Final = (
    "vid INT, t INT, pos INT, toll INT, charge INT, xway INT, dir INT, seg INT, lane INT, spd INT, still INT,"
    " entered BOOLEAN, lav INT, ahead INT"
)
_TAKE: Final = """
SELECT /*+ BROADCAST(p), BROADCAST(c) */ b.VID AS vid, b.Time AS t, b.Pos AS pos,
       CASE WHEN p.seg = b.Seg THEN p.toll WHEN b.Lane = 4 THEN 0 ELSE COALESCE(c.toll, 0) END AS toll,
       CASE WHEN p.seg <> b.Seg AND p.lane <> 4 THEN p.toll ELSE 0 END AS charge,
       b.XWay AS xway, b.Dir AS dir, b.Seg AS seg, b.Lane AS lane, b.Spd AS spd,
       CASE WHEN p.pos = b.Pos AND p.lane = b.Lane THEN LEAST(p.still + 1, 9) ELSE 1 END AS still,
       p.seg IS NULL OR p.seg <> b.Seg AS entered, COALESCE(c.lav, 0) AS lav, c.ahead
FROM {batch} b
LEFT JOIN {before} p ON p.vid = b.VID AND p.t = b.Time - 30 AND p.xway = b.XWay AND p.dir = b.Dir
LEFT JOIN {conditions} c ON c.xway = b.XWay AND c.dir = b.Dir AND c.seg = b.Seg
WHERE b.Type = 0
"""
_NOTIFY: Final = """
SELECT vid, t, lav, toll, CASE WHEN dir = 0 THEN seg + ahead ELSE seg - ahead END AS seg
FROM {taken} WHERE entered AND lane <> 4
"""
_MINUTE: Final = """
SELECT xway, dir, seg, SUM(speed) / COUNT(*) AS speed, CAST(COUNT(*) AS INT) AS cars
FROM (SELECT xway, dir, seg, vid, SUM(spd) / COUNT(*) AS speed FROM {minute} GROUP BY xway, dir, seg, vid)
GROUP BY xway, dir, seg
"""
_STOPS: Final = "SELECT vid, xway, dir, lane, pos, t FROM {minute} WHERE still >= 4 AND lane BETWEEN 1 AND 3"
_CONDITIONS: Final = """
WITH accidents AS (
  SELECT DISTINCT a.xway, a.dir, a.pos DIV 5280 AS seg
  FROM {stops} a JOIN {stops} b ON a.xway = b.xway AND a.dir = b.dir AND a.lane = b.lane AND a.pos = b.pos AND a.vid < b.vid
  JOIN {now} n WHERE ABS(a.t - b.t) < 30 AND LEAST(a.t, b.t) + 29 >= n.t - 60),
warnings AS (
  SELECT xway, dir, CAST(CASE WHEN dir = 0 THEN seg - d ELSE seg + d END AS INT) AS seg, MIN(d) AS ahead
  FROM accidents CROSS JOIN (VALUES (0), (1), (2), (3), (4)) AS ahead (d) GROUP BY 1, 2, 3),
speeds AS (
  SELECT xway, dir, seg, CAST(FLOOR(AVG(speed) + 0.000000001D) AS INT) AS lav, MAX(IF(m.t = n.t, cars, 0)) AS cars
  FROM {minutes} m JOIN {now} n GROUP BY xway, dir, seg)
SELECT xway, dir, seg, COALESCE(lav, 0) AS lav,
       CASE WHEN lav < 40 AND cars > 50 AND ahead IS NULL THEN 2 * (cars - 50) * (cars - 50) ELSE 0 END AS toll, ahead
FROM speeds FULL JOIN warnings USING (xway, dir, seg)
"""
_ACCOUNTS: Final = """
SELECT vid, SUM(balance) AS balance FROM
  (SELECT vid, balance FROM {accounts} UNION ALL SELECT vid, CAST(charge AS BIGINT) AS balance FROM {minute} WHERE charge > 0)
GROUP BY vid
"""
_EXPENDITURES: Final = """
SELECT q.Time AS t, q.QID AS qid, COALESCE(SUM(h.Tolls), 0) AS tolls
FROM {asked} q LEFT JOIN {history} h ON h.VID = q.VID AND h.Day = q.Day AND h.XWay = q.XWay GROUP BY q.Time, q.QID
"""
_CONDITION: Final = pa.schema([(n, pa.int32()) for n in ("xway", "dir", "seg", "lav", "toll", "ahead")])
_STATISTIC: Final = pa.schema(
    [(n, pa.float64() if n == "speed" else pa.int32()) for n in ("xway", "dir", "seg", "speed", "cars", "t")]
)
_STOP: Final = pa.schema([(n, pa.int32()) for n in ("vid", "xway", "dir", "lane", "pos", "t")])


class SparkPeer:
    name = "plain Spark, foreachBatch"

    def __init__(self, memory: str = "4g") -> None:
        self._memory = memory
        self.session: SparkSession = None  # type: ignore[assignment]
        self._recent: list[tuple[int, int, DataFrame]] = []  # first and last second of cached batches
        self._minute = -1
        self._conditions = _CONDITION.empty_table()
        self._statistics = _STATISTIC.empty_table()
        self._stops = _STOP.empty_table()
        self._waiting: dict[int, list[pa.Table]] = {3: [], 4: []}
        self.answered = 0
        self.batches: list[tuple[int, int, float]] = []
        self.error: BaseException | None = None

    def __enter__(self) -> Self:
        os.environ["PYSPARK_PYTHON"] = sys.executable
        self._root = (
            SparkSession.builder.master("local[2]").appName("linear road")
            .config("spark.ui.enabled", "false")
            .config("spark.ui.showConsoleProgress", "false")
            .config("spark.driver.memory", self._memory)
            .config("spark.sql.shuffle.partitions", "2")
            .config("spark.default.parallelism", "2")
            .config("spark.sql.adaptive.enabled", "false")
            .config("spark.sql.execution.arrow.pyspark.enabled", "true")
            .config("spark.sql.parquet.pushdown.inFilterThreshold", "500")
            .config("spark.sql.files.openCostInBytes", "65536")
            .config("spark.sql.streaming.metricsEnabled", "false")
            .config("spark.log.level", "ERROR")
            .getOrCreate()
        )  # fmt: skip
        self._root.sparkContext.setLogLevel("ERROR")
        return self

    def __exit__(self, *_: object) -> None:
        for query in self._root.streams.active:
            with contextlib.suppress(Exception):
                query.stop()
        self._root.stop()

    # -- before the run ---------------------------------------------------------------------------------------------------

    def load(self, folder: Path, tolls: Path | None, segments: Path | None) -> None:
        """The toll history in the order of vehicles, so that most of it is not read for a request."""
        self._kept, self._means = folder / "reports", folder / "means"
        self._kept.mkdir()
        batches = read_batches(segments, records.SEGMENT_STATISTICS) if segments is not None else iter(())
        travel.summarise(batches, self._means)
        self._tolls = None if tolls is None else folder / "tolls"
        if tolls is not None:
            rows = self._root.read.parquet(str(tolls)).repartitionByRange(4, "VID").sortWithinPartitions("VID")
            rows.write.option("parquet.block.size", 4 << 20).parquet(str(self._tolls))

    def _settle(self, spark: SparkSession) -> None:
        """A stream has a session of its own, known with its first batch: all frames must be of that one."""
        self.session = spark
        empty = pa.table({"vid": pa.array([], pa.int32()), "balance": pa.array([], pa.int64())})
        self._accounts = spark.createDataFrame(empty)
        none = records.TOLLS.empty_table()
        self._history = spark.createDataFrame(none) if self._tolls is None else spark.read.parquet(str(self._tolls))

    # -- the run ----------------------------------------------------------------------------------------------------------

    def start(self, folder: Path, answers: Answers) -> None:
        self._answers = answers
        fields = ", ".join(f"{name} INT" for name in records.INPUT.names)
        stream = self._root.readStream.schema(fields).option("maxFilesPerTrigger", FILES).parquet(str(folder))
        checkpoint = str(folder.parent / "checkpoint")
        self._query = stream.writeStream.foreachBatch(self._batch).option("checkpointLocation", checkpoint).start()

    def finish(self) -> int:
        for kind in (3, 4):
            self._answer_history(kind)
        self._query.stop()
        if self.error is not None:
            raise self.error
        return self.session.read.schema(_KEPT).parquet(str(self._kept)).count()

    def _batch(self, batch: DataFrame, number: int) -> None:
        try:
            self._take_all(batch)
        except BaseException as error:  # the run is told, not only the query
            self.error = error
            raise

    def _take_all(self, batch: DataFrame) -> None:
        if self.session is None:
            self._settle(batch.sparkSession)
        seen = Observation()
        time_of = functions.col("Time")
        about = (
            functions.min(time_of).alias("first"),
            functions.max(time_of).alias("last"),
            functions.count("*").alias("rows"),
        )
        asked = batch.observe(seen, *about).where("Type <> 0").toArrow()
        found = seen.get
        if not found["rows"]:
            return
        rounds = _rounds(found["first"], found["last"])
        for first, last in rounds:
            begin = time.perf_counter()
            part = batch if len(rounds) == 1 else batch.where(f"Time BETWEEN {first} AND {last}")
            here = asked.filter(pc.and_(pc.greater_equal(asked["Time"], first), pc.less_equal(asked["Time"], last)))
            self._take(first, last, part, here)
            self.batches.append((last, found["rows"] // len(rounds), time.perf_counter() - begin))
            self.answered = last + 1

    def _take(self, first: int, last: int, batch: DataFrame, asked: pa.Table) -> None:
        self._enter_minute(first // 60)
        spark = self.session
        taken = spark.sql(
            _TAKE, batch=batch, before=self._before(first, last), conditions=self._local(self._conditions)
        )
        taken = taken.coalesce(1 if last - first < 5 else 2).persist()
        entered = spark.sql(_NOTIFY, taken=taken).toArrow()
        self._answers.put(0, entered)
        self._answers.put(1, entered.filter(pc.is_valid(entered["seg"])))
        taken.write.parquet(str(self._kept / f"minute={first // 60}"), mode="append")
        self._recent.append((first, last, taken))
        self._answer_balances(_of(asked, 2))
        for kind, patience in PATIENCE.items():
            self._waiting[kind] += [rows for rows in (_of(asked, kind),) if rows.num_rows]
            if self._waiting[kind] and last - self._waiting[kind][0]["Time"][0].as_py() >= patience:
                self._answer_history(kind)

    def _before(self, first: int, last: int) -> DataFrame:
        """The reports from 30 seconds before these; frames that nobody will ask for again are forgotten."""
        for gone in [r for r in self._recent if r[1] < first - ROUND]:
            gone[2].unpersist()
            self._recent.remove(gone)
        frames = [f for begin, end, f in self._recent if begin <= last - ROUND and end >= first - ROUND]
        found = frames[0] if frames else self.session.createDataFrame([], _KEPT)
        for frame in frames[1:]:
            found = found.unionAll(frame)
        return found

    def _local(self, rows: pa.Table) -> DataFrame:
        return self.session.createDataFrame(rows)

    # -- once a minute ----------------------------------------------------------------------------------------------------

    def _enter_minute(self, minute: int) -> None:
        """What is known at the start of a minute, for every minute since the last; nothing before the first reports."""
        if self._minute < 0:
            self._minute = minute
        while self._minute < minute:
            self._end_minute(self._minute)
            self._minute += 1

    def _end_minute(self, ended: int) -> None:
        spark, now = self.session, (ended + 1) * 60
        folder = self._kept / f"minute={ended}"
        kept = spark.read.schema(_KEPT)
        minute = kept.parquet(str(folder)) if folder.exists() else spark.createDataFrame([], _KEPT)
        found = spark.sql(_MINUTE, minute=minute).toArrow()
        stops = spark.sql(_STOPS, minute=minute).toArrow()
        accounts = spark.sql(_ACCOUNTS, accounts=self._accounts, minute=minute).localCheckpoint()
        self._accounts.unpersist()
        self._accounts = accounts
        found = found.append_column("t", pa.array([now] * found.num_rows, pa.int32())).cast(_STATISTIC)
        self._statistics = pa.concat_tables([self._statistics, found])
        self._statistics = self._statistics.filter(pc.greater_equal(self._statistics["t"], now - 240))
        self._stops = pa.concat_tables([self._stops, stops.cast(_STOP)])
        self._stops = self._stops.filter(pc.greater_equal(self._stops["t"], now - 89))
        self._conditions = spark.sql(
            _CONDITIONS, stops=self._local(self._stops), minutes=self._local(self._statistics),
            now=self._local(pa.table({"t": pa.array([now], pa.int32())})),
        ).toArrow().cast(_CONDITION)  # fmt: skip

    # -- requests ---------------------------------------------------------------------------------------------------------

    def _answer_balances(self, asked: pa.Table) -> None:
        if not asked.num_rows:
            return
        vehicles = asked["VID"].unique().to_pylist()
        found = self._accounts.where(self._accounts.vid.isin(vehicles)).toArrow()
        rows = asked.select(["Time", "VID", "QID"]).join(found, "VID", "vid")
        balance = pc.fill_null(rows["balance"], 0)
        result = pa.array([self._minute * 60 - 1] * rows.num_rows)
        columns = {"t": rows["Time"], "result": result, "qid": rows["QID"], "balance": balance}
        self._answers.put(2, pa.table(columns))

    def _answer_history(self, kind: int) -> None:
        if not self._waiting[kind]:
            return
        asked, self._waiting[kind] = pa.concat_tables(self._waiting[kind]), []
        local = self._local(asked)
        if kind == 4:
            rows = local.mapInArrow(
                _journeys(str(self._means)), "t INT, qid INT, seconds BIGINT, toll BIGINT"
            ).toArrow()
        else:
            near = self._history.where(self._history.VID.isin(asked["VID"].unique().to_pylist()))
            rows = self.session.sql(_EXPENDITURES, asked=local, history=near).toArrow()
        self._answers.put(kind, rows)


def _of(asked: pa.Table, kind: int) -> pa.Table:
    return asked.filter(pc.equal(asked["Type"], kind))


def _rounds(first: int, last: int) -> list[tuple[int, int]]:
    """The half minutes that these seconds are in: the first and the last second of each, as far as it is asked for.

    >>> _rounds(58, 61)
    [(58, 59), (60, 61)]
    """
    starts = range(first // ROUND * ROUND, last + 1, ROUND)
    return [(max(first, start), min(last, start + ROUND - 1)) for start in starts]


def _journeys(means: str) -> Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    def answer(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            given = [pa.array([means] * batch.num_rows), *(batch[n] for n in ("XWay", "Sinit", "Send", "DOW", "TOD"))]
            columns = [batch["Time"], batch["QID"], travel.seconds(*given), travel.toll(*given)]
            yield pa.RecordBatch.from_arrays(columns, names=["t", "qid", "seconds", "toll"])

    return answer
