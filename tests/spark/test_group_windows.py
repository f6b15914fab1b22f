"""Group windows give what plain PySpark gives for window() and session_window(): asked once, on either engine, and continuously,
once every window is closed."""

from __future__ import annotations

import datetime as dt
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pytest

import millpond

pytestmark = pytest.mark.spark

START = dt.datetime(2026, 2, 28, 23, 59, tzinfo=dt.UTC)
END = START + dt.timedelta(days=2)
SCHEMA = pa.schema([("k", pa.string()), ("v", pa.int32()), ("at", pa.timestamp("us", "UTC"))])

VALUES = "COUNT(*) AS n, SUM(v) AS s, MIN(at) AS first"
CALLS = [
    "window(at, '10 seconds')",
    "window(at, '1 minute', '10 seconds')",
    "window(at, '25 seconds', '10 seconds')",
    "window(at, '10 seconds', '10 seconds', '3 seconds')",
    "window(at, '30 seconds', '7 seconds', '2 seconds 500 milliseconds')",
    "window(at, '1 hour')",
    "session_window(at, '3 seconds')",
    "session_window(at, '1 minute')",
]
TABLES = {  # as a table function, and as Spark says it
    "TUMBLE(TABLE r, DESCRIPTOR(at), INTERVAL '10' SECOND)": "window(at, '10 seconds')",
    "TUMBLE(TABLE r, DESCRIPTOR(at), INTERVAL '10' SECOND, INTERVAL '3' SECOND)": "window(at, '10 seconds', '10 seconds', '3 seconds')",
    "HOP(TABLE r, DESCRIPTOR(at), INTERVAL '10' SECOND, INTERVAL '1' MINUTE)": "window(at, '1 minute', '10 seconds')",
    "HOP(TABLE r, DESCRIPTOR(at), INTERVAL '10' SECOND, INTERVAL '25' SECOND)": "window(at, '25 seconds', '10 seconds')",
    "SESSION(TABLE r PARTITION BY k, DESCRIPTOR(at), INTERVAL '3' SECOND)": "session_window(at, '3 seconds')",
}


def grouped(call: str) -> str:
    name = call.partition("(")[0]
    return f"SELECT k, {name}.start AS a, {name}.end AS b, {VALUES} FROM r GROUP BY k, {call}"


def of_table(function: str) -> str:
    return (
        f"SELECT k, window_start AS a, window_end AS b, {VALUES} FROM {function} GROUP BY k, window_start, window_end"
    )


PAIRS = [(grouped(call), grouped(call)) for call in CALLS]
PAIRS += [(of_table(function), grouped(call)) for function, call in TABLES.items()]


@pytest.fixture(scope="module")
def rows() -> pa.Table:
    """Rows on edges, a microsecond before them, at equal times, with gaps as long as a session's; keys and values that are NULL."""
    random, time, found = Random(7), START, []
    for _ in range(300):
        step = random.choice([0, 0, 1, 2, 3, 3.000001, 5, 10, 60])
        time += dt.timedelta(seconds=step)
        edge = time if random.random() < 0.7 else time.replace(second=time.second // 10 * 10, microsecond=0)
        less = dt.timedelta(microseconds=random.choice([0, 0, 0, 1]))
        found.append(
            {"k": random.choice([None, "a", "b"]), "v": random.choice([None, 1, 2]), "at": max(edge - less, START)}
        )
    found.sort(key=lambda row: row["at"])
    return pa.Table.from_pylist(found, SCHEMA)


@pytest.fixture(scope="module")
def plain(session: Any, rows: pa.Table) -> Any:
    own = session.newSession()
    own.createDataFrame(rows).coalesce(1).createOrReplaceTempView("r")
    return own


@pytest.fixture(scope="module")
def pond(tmp_path_factory: pytest.TempPathFactory, session: Any, rows: pa.Table) -> Iterator[millpond.Pond]:
    """With a continuous query for each pair, to which all was sent."""
    folder: Path = tmp_path_factory.mktemp("windows") / "pond"
    with millpond.connect(folder, auto_archive=False, engine="duckdb", spark_master="local[2]") as db:
        db.sql("CREATE STREAMING TABLE r (k STRING, v INT, at TIMESTAMP) TIMESTAMP BY at AHEAD UNBOUNDED")
        for number, (asked, _) in enumerate(PAIRS):
            db.sql(f"CREATE CONTINUOUS QUERY q{number} RANGE UNBOUNDED AS {asked}")
        for begin in range(0, rows.num_rows, 70):
            db.append("r", rows.slice(begin, 70))
            db.tick()
        db.advance("r", END)
        db.tick()
        yield db


def counted(found: pa.Table) -> Counter[tuple[Any, ...]]:
    names = [f"c{i}" for i in range(found.num_columns)]
    return Counter(tuple(row.values()) for row in found.rename_columns(names).to_pylist())


@pytest.mark.parametrize("number", range(len(PAIRS)))
def test_windows_are_those_of_spark(number: int, pond: millpond.Pond, plain: Any) -> None:
    asked, in_spark = PAIRS[number]
    wanted = counted(plain.sql(in_spark).toArrow())
    assert len(wanted) > 2
    assert counted(pond.sql(asked).arrow()) == wanted, "asked once, on DuckDB"
    sent = pond.sql(f"SELECT k, a, b, n, s, first, instant FROM q{number}").arrow()
    assert sent.column("instant").equals(sent.column("b"))
    assert counted(sent.drop_columns(["instant"])) == wanted, "continuously"


def test_windows_are_those_of_spark_on_spark(pond: millpond.Pond, plain: Any) -> None:
    with millpond.connect(pond.folder, engine="spark", spark_master="local[2]") as other:
        for asked, in_spark in PAIRS:
            assert counted(other.sql(asked).arrow()) == counted(plain.sql(in_spark).toArrow()), asked
