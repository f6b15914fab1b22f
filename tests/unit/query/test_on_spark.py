"""Queries on Spark, as far as no Spark is needed to see it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from py4j.protocol import Py4JError

import millpond
from millpond.query.on_spark import run_on_spark
from millpond.sql.parser import parse
from millpond.sql.statements import Select
from millpond.statements.ask import plan_query


class Cancelled:
    """A session whose query is broken off: PySpark then asks for a result that is none."""

    def __init__(self, interrupted: bool) -> None:
        self.interrupted = interrupted

    def sql(self, _text: str) -> Cancelled:
        return self

    def toArrow(self) -> None:
        try:
            if self.interrupted:
                raise KeyboardInterrupt
        finally:
            raise Py4JError("An error occurred while calling o89.getResult")


@pytest.mark.parametrize(("interrupted", "error"), [(True, KeyboardInterrupt), (False, millpond.EngineError)])
def test_ctrl_c_is_not_taken_for_a_failed_query(interrupted: bool, error: type[BaseException], tmp_path: Path) -> None:
    session: Any = Cancelled(interrupted)
    with millpond.connect(tmp_path) as db:
        statement = parse("SELECT 1 AS one")[0]
        assert isinstance(statement, Select)
        plan = plan_query(db, statement.query, statement.sql)
        with pytest.raises(error):
            run_on_spark(plan, session)
