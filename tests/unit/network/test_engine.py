"""The engine of the network: it holds nothing of a question once it is answered."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

import millpond
from millpond.errors import EngineError
from millpond.network.engine.engine import Engine

TABLES = "SELECT count(*) FROM duckdb_views() WHERE NOT internal"


def held(engine: Engine) -> int:
    return engine.run(TABLES, {}).column(0)[0].as_py()  # type: ignore[no-any-return]


def test_tables_are_let_go_after_a_question() -> None:
    engine = Engine()
    before = held(engine)
    rows = pa.table({"a": [1, 2]})
    assert engine.run("SELECT sum(a) AS s FROM t", {"t": rows}).column("s").to_pylist() == [3]
    with pytest.raises(EngineError):
        engine.run("SELECT error('no')", {"t": rows})
    assert held(engine) == before
    engine.close()


def test_windows_of_dropped_queries_are_let_go(tmp_path: Path) -> None:
    with millpond.connect(tmp_path, auto_archive=False) as db:
        db.sql("CREATE STREAMING TABLE p (v INT, t BIGINT) TIMESTAMP BY t")
        db.sql("CREATE CONTINUOUS QUERY stays AS SELECT COUNT(*) AS n FROM p [INTERVAL 9] SAMPLE INTERVAL 1")
        db.append("p", [(1, 1)])
        db.tick()
        evaluator = db._workspace.network.evaluator
        assert evaluator is not None
        before = held(evaluator.engine)
        for number in range(3):
            db.sql(
                f"CREATE CONTINUOUS QUERY q{number} AS SELECT ISTREAM a.v FROM p [INTERVAL 9] AS a, p [INTERVAL 5] AS b"
                " WHERE a.v > b.v SAMPLE INTERVAL 1"
            )
            db.append("p", [(number, number + 5)])
            db.advance("p", number + 6)
            db.tick()
            db.sql(f"DROP CONTINUOUS QUERY q{number}")
        assert db._workspace.network.evaluator is evaluator
        assert held(evaluator.engine) == before
