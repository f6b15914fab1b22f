"""The embedded DuckDB: what is not seen through the answers of queries."""

from __future__ import annotations

import os
import signal
import threading
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from millpond.errors import EngineError
from millpond.network.engine.engine import Engine
from millpond.query.local import Local
from millpond.sql.translate import NotOnDuckDB

HOURS = "SELECT count(*) FROM t a, t b, t c WHERE hash(a.i + b.i + c.i) % 7 = 1"


def test_ctrl_c_ends_a_query_at_once() -> None:
    """DuckDB 2.0 ran it to its end, and then raised RuntimeError: Query interrupted; or did not hear it, one time in five."""
    local = Local()
    before = signal.getsignal(signal.SIGINT)
    rows = pa.table({"i": range(20_000)})
    try:
        for _ in range(10):
            timer = threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT))
            timer.start()
            with pytest.raises(KeyboardInterrupt):
                local.run_over(HOURS, {"t": rows}, {})
        assert signal.getsignal(signal.SIGINT) is before
        answer = local.run_over("SELECT max(i) AS m FROM t", {"t": pa.table({"i": [1, 2]})}, {})
        assert answer.to_pylist() == [{"m": 2}]
    finally:
        timer.cancel()
        local.close()


@pytest.mark.parametrize("moment", ["prepared", "registered"])
def test_ctrl_c_is_no_error_of_duckdb_at_any_moment(monkeypatch: pytest.MonkeyPatch, moment: str) -> None:
    """DuckDB raised RuntimeError where it heard of it while a table was registered."""
    local = Local()
    made = local._cursor

    class Pressed:
        def __init__(self, cursor: duckdb.DuckDBPyConnection) -> None:
            self._cursor = cursor

        def __getattr__(self, name: str) -> Any:
            if name == ("sql" if moment == "prepared" else "register"):
                os.kill(os.getpid(), signal.SIGINT)
            return getattr(self._cursor, name)

    monkeypatch.setattr(local, "_cursor", lambda functions: Pressed(made(functions)))
    try:
        with pytest.raises(KeyboardInterrupt):
            local.run_over(HOURS, {"t": pa.table({"i": range(20_000)})}, {})
    finally:
        local.close()


def test_a_handler_that_does_not_raise_lets_the_query_end() -> None:
    local = Local()
    heard = threading.Event()
    before = signal.signal(signal.SIGINT, lambda *_: heard.set())
    timer = threading.Timer(0.05, os.kill, (os.getpid(), signal.SIGINT))
    try:
        timer.start()
        while not heard.is_set():
            rows = local.run_over("SELECT sum(i) AS n FROM t", {"t": pa.table({"i": range(100_000)})}, {})
            assert rows.to_pylist() == [{"n": 4_999_950_000}]
    finally:
        timer.join()
        signal.signal(signal.SIGINT, before)
        local.close()


def test_an_engine_reads_only_files_of_its_pond(tmp_path: Path) -> None:
    """Behind the allow-list: a text that should never have come this far."""
    for place in ("pond", "elsewhere", "pond's"):
        (tmp_path / place).mkdir()
        pq.write_table(pa.table({"a": [1]}), tmp_path / place / "x.parquet")
    for name in ("pond", "pond's"):
        quoted = str(tmp_path / name).replace("'", "''")
        local = Local(tmp_path / name)
        try:
            assert local.run_over(f"SELECT a FROM read_parquet(['{quoted}/x.parquet'])", {}, {}).num_rows == 1
            for text in (
                f"SELECT * FROM read_parquet('{tmp_path}/elsewhere/x.parquet')",
                f"SELECT * FROM '{quoted}/../elsewhere/x.parquet'",
                "SELECT * FROM read_text('/etc/hostname')",
                "SELECT * FROM glob('/*')",
                f"COPY (SELECT 1) TO '{tmp_path}/out.csv'",
                f"ATTACH '{tmp_path}/out.db'",
                "INSTALL httpfs",
                "LOAD httpfs",
                "SET GLOBAL enable_external_access = true",
                "SET GLOBAL allowed_directories = ['/']",
            ):
                with pytest.raises(EngineError):
                    local.run_over(text, {}, {})
        finally:
            local.close()
    assert {path.name for path in tmp_path.iterdir()} == {"pond", "elsewhere", "pond's"}


def test_the_network_reads_no_files() -> None:
    engine = Engine()
    try:
        with pytest.raises(EngineError):
            engine.run("SELECT * FROM read_text('/etc/hostname')", {})
        assert engine.run("SELECT a FROM t", {"t": pa.table({"a": [1]})}).num_rows == 1
    finally:
        engine.close()


@pytest.mark.parametrize(
    "text", ["SELECT x FROM nowhere", "SELECT", "SELECT t2.a FROM (SELECT 1 AS a) AS t1", "SELECT frob(1)"]
)
def test_a_text_that_duckdb_does_not_understand_is_left_to_spark(text: str) -> None:
    """The translation is wrong then, not the query: a semi join USING made one that named a table DuckDB had let go."""
    local = Local()
    with pytest.raises(NotOnDuckDB, match="DuckDB does not understand it"):
        local.run_over(text, {}, {})
    local.close()


def test_what_is_too_deep_for_duckdb_is_said_in_our_words() -> None:
    """DuckDB says which of its settings to change."""
    local = Local()
    joined = " ".join(f"JOIN t a{i} ON a{i}.i = a{i - 1}.i" for i in range(1, 1100))
    try:
        with pytest.raises(NotOnDuckDB, match="nested more deeply, or joins more, than DuckDB can take"):
            local.run_over(f"SELECT count(*) FROM t a0 {joined}", {"t": pa.table({"i": [1]})}, {})
    finally:
        local.close()
