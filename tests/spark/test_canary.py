"""Hostile statements through the front door, with Spark in reach: no file is read or written, no program is run.

A canary is a file whose reading, copying or removal would show, and a program that would leave a file behind.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import millpond
from millpond.errors import MillpondError
from millpond.sql.spark_functions import ALLOWED, REFUSED, TABLE_FUNCTIONS
from tests.unit.query.test_allow_list import HOSTILE_QUERIES, HOSTILE_RELATIONS, HOSTILE_VALUES

pytestmark = pytest.mark.spark

SECRET = "a text that no answer may hold"


@pytest.fixture(params=["spark", "auto"])
def db(request: pytest.FixtureRequest, session: Any, tmp_path: Path) -> Iterator[millpond.Pond]:
    with millpond.connect(tmp_path / "pond", engine=request.param, auto_archive=False) as pond:
        pond.sql("CREATE STREAMING TABLE s (a INT, b STRING, t BIGINT) TIMESTAMP BY t")
        pond.sql("CREATE STANDARD TABLE u (a INT, b STRING)")
        pond.append("s", [(1, "x", 5)])
        yield pond


def test_hostile_statements_touch_no_file_and_no_process(db: millpond.Pond, tmp_path: Path) -> None:
    canary = tmp_path / "canary"
    canary.mkdir()
    pq.write_table(pa.table({"secret": [SECRET]}), canary / "secret.parquet")
    (canary / "secret.csv").write_text(f"secret\n{SECRET}\n")
    trace = canary / "trace"
    run = canary / "run.sh"
    run.write_text(f"#!/bin/sh\ntouch {trace}\ncat\n")
    run.chmod(0o755)
    before = {path: (path.stat().st_atime_ns, path.read_bytes()) for path in canary.iterdir()}
    before = {path: (path.stat().st_atime_ns, content) for path, (_, content) in before.items()}
    statements = [
        f"SELECT TRANSFORM('x') USING '{run}'",
        f"SELECT TRANSFORM(a) USING '{run}' AS (b) FROM s",
        f"SELECT * FROM (SELECT TRANSFORM(a) USING '{run}' FROM s)",
        f"FROM s MAP a USING '{run}'",
        f"SELECT * FROM parquet.`{canary}/secret.parquet`",
        f"SELECT * FROM csv.`file://{canary}/secret.csv`",
        f"SELECT * FROM text.`{canary}/secret.csv`",
        f"SELECT * FROM `{canary}/secret.parquet`",
        f"SELECT * FROM '{canary}/secret.parquet'",
        f"SELECT * FROM read_parquet('{canary}/secret.parquet')",
        f"SELECT * FROM read_csv('{canary}/secret.csv')",
        f"SELECT * FROM read_text('{canary}/secret.csv')",
        f"SELECT * FROM s, parquet_scan('{canary}/secret.parquet')",
        f"SELECT reflect('java.nio.file.Files', 'readString', '{canary}/secret.csv')",
        f"SELECT reflect('java.lang.System', 'load', '{run}')",
        f"SELECT from_xml('<a>1</a>', 'a INT', map('rowValidationXSDPath', '{canary}/secret.csv'))",
        f"SELECT xpath_string('<!DOCTYPE a SYSTEM \"file://{canary}/secret.csv\"><a>1</a>', 'a')",
        f"INSERT OVERWRITE DIRECTORY '{trace}' USING csv SELECT 1",
        f"COPY s TO '{trace}'",
        f"CREATE TABLE x USING parquet LOCATION '{canary}'",
        f"ADD FILE '{canary}/secret.csv'",
        *HOSTILE_QUERIES,
        *(f"SELECT {value} FROM s" for value in HOSTILE_VALUES),
        *(f"SELECT * FROM {relation}" for relation in HOSTILE_RELATIONS),
    ]
    for sql in statements:
        with pytest.raises(MillpondError) as error:
            db.sql(sql)
        assert SECRET not in str(error.value)
    assert not trace.exists()
    assert before == {path: (path.stat().st_atime_ns, before[path][1]) for path in canary.iterdir()}
    assert db.sql("SELECT a FROM s").rows() == [(1,)]


def test_a_text_is_not_filled_in_from_settings_or_the_environment(db: millpond.Pond) -> None:
    for text in ("${env:HOME}", "${system:user.name}", "${spark.app.name}", "${hiveconf:x}"):
        assert db.sql(f"SELECT '{text}' AS x, count(*) OVER () AS n FROM s").rows() == [(text, 1)]


def test_the_session_reads_no_files_by_name(session: Any, tmp_path: Path) -> None:
    pq.write_table(pa.table({"secret": [SECRET]}), tmp_path / "secret.parquet")
    with pytest.raises(Exception, match="TABLE_OR_VIEW_NOT_FOUND"):
        session.sql(f"SELECT * FROM parquet.`{tmp_path}/secret.parquet`").collect()
    assert session.sql("SELECT '${env:HOME}'").collect()[0][0] == "${env:HOME}"


def test_numbers_of_a_user_are_never_taken_for_the_instant_on_spark(db: millpond.Pond) -> None:
    number = 4611686018427387847
    for window in ("[ROWS 1]", "[INTERVAL '1' MINUTE]"):
        asked = (
            f"SELECT {number} AS n, 'order {number}' AS o, NOW() AS i FROM s {window} WHERE t = NOW() AND {number} > a"
        )
        assert db.sql(asked).rows() == [(number, f"order {number}", 5)]


def test_every_function_of_spark_was_reviewed(session: Any) -> None:
    """A new release of Spark brings new functions: put each into one of the lists."""
    names = {row[0] for row in session.sql("SHOW ALL FUNCTIONS").collect()}
    names = {name for name in names if name.replace("_", "").isalnum()}
    listed = ALLOWED | TABLE_FUNCTIONS | set(REFUSED)
    assert sorted(names - listed) == []
    assert sorted(listed - names) == ["timestampadd", "timestampdiff", "try_cast"]
