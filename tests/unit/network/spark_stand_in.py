"""A stand-in for Spark: continuous queries take the way to Spark, and DuckDB answers there. So what lies around the answers can be
tested without Java: that they are asked for, waited for, taken in order, lost and asked for again.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping
from typing import Any

import pyarrow as pa
import pytest

from millpond.catalog import StreamingTable
from millpond.errors import EngineError
from millpond.network.engine import spark_engine
from millpond.network.engine.engine import Engine
from millpond.network.plan import prepared as preparing
from millpond.query.binding.uses import Bound
from millpond.query.deadline import Deadline
from millpond.query.instant import at_instant
from millpond.query.local import with_relations
from millpond.query.plan import ordered
from millpond.query.relation import DUCKDB, with_previous
from millpond.sql.translate import NotOnDuckDB, to_duckdb
from millpond.workspace import workspace


class StandIn:
    """`errors` are raised by the next questions, one each. Questions wait for `answering`; `asked` counts them."""

    def __init__(self) -> None:
        self.errors: list[Exception] = []
        self.no_java: EngineError | None = None
        self.runs = True
        self.answering = threading.Event()
        self.answering.set()
        self.asked = 0
        self._engines = threading.local()

    def session(self, why: str) -> Any:
        assert why
        if self.no_java is not None:
            raise self.no_java
        self.runs = True
        return None

    def ask(
        self,
        bound: Bound,
        contents: Mapping[str, pa.Table],
        instant: int,
        session: Any,
        deadline: Deadline | None = None,
        *,
        most: int | None = None,
    ) -> pa.Table:
        if most is None:
            self.asked += 1
            assert deadline is not None
            while not self.answering.wait(0.01):
                deadline.check()
            if self.errors:
                raise self.errors.pop(0)
        if not hasattr(self._engines, "engine"):
            self._engines.engine = Engine()
        parts = []
        for use in bound.uses.values():
            content = f"SELECT * FROM {use.name}_rows"
            rows = with_previous(use, content, DUCKDB) if isinstance(use.table, StreamingTable) else content
            parts.append(f"{use.name} AS NOT MATERIALIZED ({rows})")
        text = with_relations(parts, at_instant(to_duckdb(ordered(bound).tree, bound.functions), instant))
        found: pa.Table = self._engines.engine.run(text, {f"{name}_rows": rows for name, rows in contents.items()})
        return (found if most is None else found.slice(0, most)).rename_columns(list(bound.names))


def everything_on_spark(monkeypatch: pytest.MonkeyPatch) -> StandIn:
    """Let every continuous query that is made from now on run on the stand-in."""
    found = StandIn()

    def refuse(*_: Any) -> str:
        raise NotOnDuckDB("it is a test")

    monkeypatch.setattr(preparing, "to_duckdb", refuse)
    monkeypatch.setattr(spark_engine, "ask_spark", found.ask)
    monkeypatch.setattr(workspace, "Spark", lambda _: found)
    return found
