"""Law 2 through the whole product: the corpus gives the same rows whatever tier, index or engine answers.

The streaming tables' rows are hot, cold, or half and half, with and without indexes. DuckDB runs every statement marked for it
on all six, Spark over half and half; the reference is DuckDB over hot rows.

What a statement means to Spark is proved in test_translation.py, one by one. What is new here is where Spark finds the rows, so
that `make test` asks it one statement in eight, and DuckDB over all tiers every second; `make check` all.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import millpond
from millpond.errors import EngineError, MillpondError
from tests.corpus import Case, load_corpus
from tests.corpus.compare import assert_same
from tests.corpus.tables import SCHEMA, TABLES

pytestmark = pytest.mark.spark

STREAMS = {"posreports": "t", "readings": "at"}
# The forms of queries are many, and most read small standard tables, which have no tiers.
CORPUS = [case for case in load_corpus() if case.file != "forms" or any(name in case.sql for name in STREAMS)]
INDEXES = (("posreports", "vid"), ("posreports", "seg"), ("readings", "sensor"), ("readings", "n"))
TIERS = ("hot", "cold", "half")


def _case(title: str, sql: str, *, ordered: bool = True) -> Case:
    return Case("windows", title, sql, "duckdb", error=False, ordered=ordered, our_names=False)


# What the corpus cannot hold, because only a pond has it.
WINDOWS = [
    _case("newest rows", "SELECT * FROM posreports [ROWS 40]"),
    _case("newest rows by a condition", "SELECT vid, t FROM posreports [ROWS 40] WHERE seg > 3"),
    _case("newest of each", "SELECT * FROM posreports [vid ROWS 1]"),
    _case("newest of each pair", "SELECT vid, seg, t FROM posreports [vid, seg ROWS 2]"),
    _case("newest of each by key", "SELECT t, spd FROM posreports [vid ROWS 3] WHERE vid IN (101, 104)"),
    _case("interval", "SELECT vid, t FROM posreports [INTERVAL '2' MINUTE]"),
    _case("within", "SELECT vid, t FROM posreports [vid ROWS 2 WITHIN INTERVAL '1' MINUTE]"),
    _case("now", "SELECT * FROM posreports [NOW]"),
    _case("since", "SELECT vid, t FROM posreports [SINCE 550]"),
    _case("since a timestamp", "SELECT sensor, n FROM readings [SINCE '2024-03-01 00:00:00']"),
    _case("landmark", "SELECT vid, t FROM posreports [LANDMARK MINUTE]"),
    _case("landmark of timestamps", "SELECT at, n FROM readings [LANDMARK DAY]"),
    _case(
        "correlated aggregates",
        "SELECT seg, CORRELATED_COUNT(spd > AVG(spd)) AS n, CORRELATED_SUM(pos WHERE spd >= 0.9 * MAX(spd)) AS s, "
        "CORRELATED_AVG_UPPER(spd BETWEEN 0.9 * AVG(spd) AND 1.1 * AVG(spd)) AS a FROM posreports "
        "GROUP BY seg HAVING CORRELATED_COUNT(spd <= 2 * MIN(spd) + 3) > 0 ORDER BY seg",
    ),
    _case(
        "correlated aggregates of computed groups",
        "SELECT UPPER(sensor) AS u, CORRELATED_SUM(amount < AVG(amount) / 2) AS s FROM readings WHERE sensor < 'b' "
        "GROUP BY UPPER(sensor)",
        ordered=False,
    ),
    _case(
        "norms",
        "SELECT seg, APPROX_NORM(vid, 2, 0.1) AS n, FLOOR(1000 * APPROX_NORM_UPPER(spd % 7, 1.5, 0.1)) AS m, "
        "APPROX_NORM(t, 1, 0.1) AS c, COUNT(*) AS all, CORRELATED_COUNT(spd > AVG(spd)) AS b "
        "FROM posreports GROUP BY seg HAVING APPROX_NORM(vid, 2, 0.1) > 1 ORDER BY seg",
    ),
    _case(
        "norms of computed groups",
        "SELECT UPPER(sensor) AS u, APPROX_NORM(LOWER(sensor), 2, 0.1) AS n FROM readings GROUP BY UPPER(sensor)",
        ordered=False,
    ),
    _case("interval of timestamps", "SELECT at, sensor FROM readings [INTERVAL '3' HOUR]"),
    _case("newest of each text", "SELECT * FROM readings [sensor ROWS 1]"),
    _case("period", "SELECT * FROM posreports WHERE VALID(posreports) OVERLAPS PERIOD(100, 200)", ordered=False),
    _case(
        "period of timestamps",
        "SELECT at, n FROM readings r WHERE VALID(r) OVERLAPS PERIOD('2024-02-28 00:00:00', '2024-02-28 12:00:00') "
        "ORDER BY at",
    ),
    _case(
        "windows joined",
        "SELECT a.vid, b.t, c.name FROM posreports [vid ROWS 1] AS a JOIN posreports [INTERVAL '5' MINUTE] AS b "
        "ON a.vid = b.vid JOIN criticalsegs c ON c.seg = b.seg",
        ordered=False,
    ),
    _case("a text cast to a number", "SELECT n FROM readings WHERE sensor = CAST('42' AS STRING) ORDER BY at"),
    _case("a day and a timestamp", "SELECT at FROM readings WHERE at < DATE '2024-02-28' ORDER BY at"),
    _case("rejected rows", "SELECT reason, row FROM posreports_rejected", ordered=False),
    _case("added column", "SELECT vid, note FROM posreports WHERE note IS NULL OR note = 'new'", ordered=False),
]


def fill(folder: Path, tier: str, *, indexed: bool) -> None:
    with millpond.connect(folder, auto_archive=False, shards=2) as db:
        for name, make in TABLES.items():
            columns = ", ".join(f"{c} {kind}" for c, kind in SCHEMA[name].items())
            if name not in STREAMS:
                db.sql(f"CREATE STANDARD TABLE {name} ({columns})")
                db.append(name, make())
                continue
            shard = "vid" if name == "posreports" else "sensor"
            clauses = f"TIMESTAMP BY {STREAMS[name]} SHARD BY {shard} WITH (late = 'keep')"
            db.sql(f"CREATE STREAMING TABLE {name} ({columns}) {clauses}")
        if indexed:
            for table, column in INDEXES:
                db.sql(f"CREATE INDEX ON {table} ({column})")
        for first in (True, False):
            for name in STREAMS:
                rows = TABLES[name]()
                half = rows.num_rows // 2
                db.append(name, rows.slice(0, half) if first else rows.slice(half))
            if tier == "cold" or (tier == "half" and first):
                db.archive()
        # A column of a time after the rows, and rejected rows, in every tier.
        with pytest.warns(millpond.RowsRejected):
            db.append("posreports", [(1, 2, 3, 4, 5, 6, 7, None)])
        db.sql("ALTER TABLE posreports ADD COLUMN note STRING")
        db.append("posreports", [(500, 1, 0, 0, 0, 1, 1, 620, "new")])
        if tier == "cold":
            db.archive()


Ponds = dict[str, millpond.Pond]
REFERENCE = "hot"


@pytest.fixture(scope="module")
def ponds(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ponds]:
    """A reader on each pond, for DuckDB."""
    root = tmp_path_factory.mktemp("ponds")
    opened = {}
    for tier in TIERS:
        for indexed in (True, False):
            name = f"{tier}{' indexed' if indexed else ''}"
            fill(root / name, tier, indexed=indexed)
            opened[name] = millpond.connect(root / name, create=False, engine="duckdb")
    yield opened
    for pond in opened.values():
        pond.close()


@pytest.fixture(scope="module")
def on_spark(ponds: Ponds, session: Any) -> Iterator[millpond.Pond]:
    """A reader on half and half, for Spark."""
    folder = ponds["half indexed"].folder
    with millpond.connect(folder, create=False, engine="spark", spark_master="local[2]") as pond:
        yield pond


def answer(pond: millpond.Pond, sql: str) -> pa.Table | MillpondError:
    try:
        return pond.sql(sql).arrow()
    except MillpondError as error:
        return error


EVERY = [replace(case, our_names=False) for case in (*CORPUS, *WINDOWS)]


def sampled(one_in: int) -> list[Any]:
    """All of those that only a pond has, and a part of the corpus, which are some of every file; the others are slow."""
    return [
        pytest.param(case, id=case.id, marks=[] if number >= len(CORPUS) or number % one_in == 0 else pytest.mark.slow)
        for number, case in enumerate(EVERY)
    ]


@pytest.mark.parametrize("case", sampled(2))
def test_tiers_and_indexes_are_invisible(case: Case, ponds: Ponds) -> None:
    reference = answer(ponds[REFERENCE], case.sql)
    for name, pond in ponds.items():
        found = reference if name == REFERENCE else answer(pond, case.sql)
        if case.where == "spark":
            assert isinstance(found, EngineError | millpond.SqlError), f"{name}: DuckDB answered"
        elif case.error:
            assert isinstance(found, MillpondError), f"{name}: DuckDB gives rows"
        else:
            assert isinstance(found, pa.Table), f"{name}: DuckDB raises {found}"
            assert isinstance(reference, pa.Table), f"{REFERENCE}: DuckDB raises {reference}"
            try:
                assert_same(case, found, reference)
            except AssertionError as error:
                raise AssertionError(f"{name} differs from {REFERENCE}: {error}") from error


@pytest.mark.parametrize("case", sampled(8))
def test_spark_gives_the_same(case: Case, ponds: Ponds, on_spark: millpond.Pond) -> None:
    found = answer(on_spark, case.sql)
    if case.error:
        assert isinstance(found, MillpondError), "Spark gives rows"
        return
    assert isinstance(found, pa.Table), f"Spark raises {found}"
    if case.where == "duckdb":
        reference = answer(ponds[REFERENCE], case.sql)
        assert isinstance(reference, pa.Table), f"DuckDB raises {reference}"
        assert_same(case, reference, found)


@pytest.mark.usefixtures("session")
def test_what_duckdb_meets_at_run_time_goes_to_spark(tmp_path: Path) -> None:
    """A value on which the engines would differ is only seen when the query runs; the choice is then made again."""
    statement = "SELECT CAST(x AS INT) AS y FROM VALUES ('7'), (' 8 ') AS t(x)"
    with millpond.connect(tmp_path / "pond") as db:
        assert sorted(db.sql(statement).rows()) == [(7,), (8,)]


# -- the pipeline -----------------------------------------------------------------------------------------------------


@pytest.fixture
def traffic(tmp_path: Path) -> Iterator[millpond.Pond]:
    settings = {"spark_master": "local[2]", "block_rows": 1000, "tick": "100ms", "auto_archive": False, "shards": 2}
    with millpond.connect(tmp_path / "pond", **settings) as db:
        db.sql("CREATE STREAMING TABLE r (k INT, name STRING, t BIGINT) TIMESTAMP BY t SHARD BY k")
        db.sql("CREATE INDEX ON r (k)")
        yield db


def rows(start: int, count: int) -> pa.Table:
    numbers = range(start, start + count)
    return pa.table(
        {"k": [i % 97 for i in numbers], "name": [f"n{i % 5}" for i in numbers], "t": [i // 10 for i in numbers]}
    )


def totals(db: millpond.Pond) -> tuple[int, ...]:
    return tuple(db.sql("SELECT count(*), sum(k), min(t), max(t), count(DISTINCT name) FROM r").rows()[0])


def wait_until(what: Callable[[], object]) -> None:
    pause = threading.Event()
    for _ in range(12_000):
        if what():
            return
        pause.wait(0.01)
    pytest.fail("nothing happened in two minutes")


@pytest.mark.usefixtures("session")
def test_the_pipeline_archives(traffic: millpond.Pond) -> None:
    traffic.start()
    for start in range(0, 5000, 500):
        traffic.append("r", rows(start, 500))
        assert totals(traffic)[0] == start + 500
    before = totals(traffic)
    traffic.append("r", [(1, "late", -1)])
    traffic.archive()
    state = traffic.status()
    assert totals(traffic) == before
    assert (state["tables"]["r"]["tail_rows"], state["tables"]["r"]["archived_rows"]) == (0, 5000)
    assert state["pipeline"]["ticks"] > 0
    assert state["pipeline"]["problem"] is None
    assert traffic.sql("SELECT count(*) FROM r_rejected").rows() == [(1,)]
    assert traffic.sql("SELECT count(*) FROM r WHERE k = 5").rows() == [(52,)]


@pytest.mark.usefixtures("session")
def test_a_task_that_fails_is_run_again(traffic: millpond.Pond) -> None:
    """Something stands where the block's folder should be made; it is put away once the tick has failed."""
    traffic.start()
    pipeline = traffic._workspace._pipeline
    assert pipeline is not None
    wait_until(pipeline.ready.is_set)
    archive = traffic._workspace.stream("r").rows.folder
    obstacle = archive / "c0"
    obstacle.write_text("in the way")
    traffic.append("r", rows(0, 3000))
    before = totals(traffic)
    wait_until(lambda: pipeline.problem is not None)
    assert totals(traffic) == before
    obstacle.unlink()
    traffic.archive()
    assert totals(traffic) == before
    assert traffic.status()["tables"]["r"]["tail_rows"] == 0


@pytest.mark.usefixtures("session")
def test_the_pipeline_survives_spark(traffic: millpond.Pond) -> None:
    """The streaming query dies under it; it starts another and nothing is lost or doubled."""
    traffic.start()
    traffic.append("r", rows(0, 2000))
    traffic.archive()
    pipeline = traffic._workspace._pipeline
    assert pipeline is not None
    pipeline._query.stop()
    traffic.append("r", rows(2000, 2000))
    before = totals(traffic)
    traffic.archive()
    assert totals(traffic) == before
    assert before[0] == 4000
    assert traffic.status()["tables"]["r"]["tail_rows"] == 0
