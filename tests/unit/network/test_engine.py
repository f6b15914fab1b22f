"""The engine of the network: it holds nothing of a question once it is answered."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa
import pytest

import millpond
from millpond.catalog import Function
from millpond.errors import EngineError
from millpond.network.engine import spares
from millpond.network.engine.engine import Engine
from millpond.query.deadline import Deadline
from millpond.schema import Column, DataType, Schema

TABLES = "SELECT count(*) FROM duckdb_views() WHERE NOT internal"


class ClosedMeanwhile:
    """An evaluation during which its pond is closed."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    @contextmanager
    def question(self) -> Iterator[Deadline]:
        self._engine.close()
        yield Deadline(None)


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


def test_an_instance_serves_the_next_engine_with_the_same_limits() -> None:
    spares.close_all()
    first = Engine(memory=1 << 30)
    first.run("SELECT a FROM t", {"t": pa.table({"a": [1]})})
    first.close()
    first.close()
    other, second, third = Engine(memory=2 << 30), Engine(memory=1 << 30), Engine(memory=1 << 30)
    assert second._connection is first._connection
    assert len({id(e._connection) for e in (other, second, third)}) == 3
    assert held(second) == 0
    for engine in (other, second, third):
        engine.close()


@pytest.mark.parametrize("left", ["an error", "a function", "a question"])
def test_an_instance_in_which_something_is_left_serves_nobody_else(left: str) -> None:
    spares.close_all()
    engine = Engine()
    if left == "an error":
        with pytest.raises(EngineError):
            engine.run("SELECT error('no')", {})
    elif left == "a function":
        column = Schema((Column("x", DataType("INT")),))
        engine.learn({"f": Function("f", "scalar", column, column, "operator:neg")})
    else:
        engine.evaluation = ClosedMeanwhile(engine)  # type: ignore[assignment]
        with pytest.raises(EngineError):
            engine.run("SELECT 1", {})
    engine.close()
    assert spares.take(engine._limits) is None


def test_a_forked_child_makes_its_own() -> None:
    spares.close_all()
    Engine().close()
    child = os.fork()
    if child == 0:
        code = 1
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                engine = Engine()
                code = 0 if held(engine) == 0 else 2
        finally:
            os._exit(code)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def test_a_text_that_comes_again_is_asked_of_the_tables_of_its_time() -> None:
    engine = Engine()
    text = "SELECT sum(a) AS s FROM t"
    for rows in ([1, 2], [3], [], [2.5], [4]):
        found = engine.run(text, {"t": pa.table({"a": pa.array(rows, pa.float64() if 2.5 in rows else pa.int64())})})
        assert found.column("s").to_pylist() == [sum(rows) if rows else None]
    with pytest.raises(EngineError):
        engine.run(text, {"t": pa.table({"b": [1]})})
    with pytest.raises(EngineError):
        engine.run(text, {})
    assert engine.run(text, {"t": pa.table({"a": [7]})}).column("s").to_pylist() == [7]
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
